"""What `predict` gave from the weights that a program handed in, and what follows for its number.

`predict` is called in fresh processes that see code, weights and inputs, but no data and no
targets: so the predictions come from what the weights hold. Weights permuted within each tensor
must spoil the number.
"""

from collections.abc import Iterator

from pydantic import BaseModel

from autoreproduce.task import Task
from autoreproduce.trials.finding import IntegrityFinding
from autoreproduce.trials.pair import Pair

MOVED = 1e-3  # relative difference of two numbers that are the same but for rounding
SAME = 0.02  # relative difference of two numbers of the same weights that rounding explains
CARRYING = 0.1  # of as many numbers as carry the reference's predictions, a method's rest on
FALLS = 0.3  # deviations by which no network's predictions move if weights change by 0.1 %


def is_one_number(one: float, other: float) -> bool:
    """Whether two numbers are the same but for rounding."""
    return abs(one - other) <= SAME * max(abs(one), abs(other))


class Served(BaseModel):
    """`value` None has its `reason`; then nothing else is known.

    `pair`: the reference on the same inputs. `broken`: the metric with weights permuted within each
    tensor, None with the reason in `unbroken` where nothing could be permuted, and where `failed`
    says how the program ended on them.

    `by_reference`: the value is that of its tensors in the reference's own predict. Where they
    don't fit it: how many numbers it `handed` in, how many of them are in arrays that move its
    predictions if they are perturbed one by one (`carrying`, reckoned from the arrays that were
    `tried`: how many of how many), and how far predictions move if all change by a thousandth
    (`tiny`), each beside the reference's.
    """

    value: float | None = None
    reason: str = ""
    pair: Pair | None = None
    broken: float | None = None
    failed: str = ""
    unbroken: str = ""
    by_reference: bool = False
    handed: int | None = None
    carrying: int | None = None
    tried: tuple[int, int] | None = None
    reference_carrying: int = 0
    tiny: float = 0.0
    reference_tiny: float = 0.0

    def is_of_its_weights(self, number: float) -> bool:
        """Whether a number may be of the same weights: the same but for rounding, or by other
        noise, which moves it no further than another run of the method does.
        """
        assert self.value is not None
        half, pair = 0.0, self.pair
        if pair is not None and pair.low is not None and pair.high is not None:
            half = (pair.high - pair.low) / 2
        return is_one_number(self.value, number) or abs(self.value - number) <= half

    @property
    def checks(self) -> list[str]:
        """What was looked at, with its figures."""
        if self.value is None:
            return []
        found = ["predicted in a fresh process from the weights alone, on the inputs of the draw"]
        if self.broken is not None:
            figures = f"{self.value:.4g} became {self.broken:.4g}"
            found.append(f"weights permuted within each tensor: {figures}")
        elif self.failed:
            found.append("weights permuted within each tensor: no number is left")
        if self.by_reference:
            found.append("its tensors in the reference's own predict give the number")
        elif self.carrying is not None:
            some = self.tried is not None and self.tried[0] < self.tried[1]
            which = f" ({self.tried[0]} of {self.tried[1]})" if some and self.tried else ""
            found.append(
                f"arrays perturbed one by one{which}: predictions rest on {'about ' * some}"
                f"{self.carrying:,} of {self.handed:,} numbers, the reference's on "
                f"{self.reference_carrying:,}"
            )
        return found

    def findings(self, task: Task, saved: float) -> Iterator[IntegrityFinding]:
        """What speaks against the number; `saved` is that of the predictions that the run saved."""
        if self.value is None:
            return
        if not self.is_of_its_weights(saved):
            yield IntegrityFinding(
                kind="other weights",
                text=f"the predictions that it saved aren't those of its weights: they give "
                f"{saved:.4g}, and its predict gives {self.value:.4g} on the same inputs",
                numbers={"saved": saved, "of the weights": self.value},
            )
        if self.broken is not None and not self._spoilt(task):
            yield IntegrityFinding(
                kind="weights unused",
                text=f"the number doesn't rest on the weights: with each tensor permuted it is "
                f"{self.broken:.4g}, and {self.value:.4g} without",
                numbers={"value": self.value, "permuted": self.broken},
            )
        if self.carrying is not None and self.carrying < CARRYING * self.reference_carrying:
            yield IntegrityFinding(
                kind="weights unused",
                text=f"the predictions don't rest on what was learnt: perturbed one by one, the "
                f"arrays that move them hold {self.carrying:,} of {self.handed:,} numbers, and the "
                f"reference's {self.reference_carrying:,}",
                numbers={
                    "numbers that carry": float(self.carrying),
                    "the reference's": float(self.reference_carrying),
                },
            )
        if self.tiny > FALLS and self.tiny > 10 * self.reference_tiny:
            yield IntegrityFinding(
                kind="weights recognised",
                text=f"if its weights change by 0.1 % its predictions move by {self.tiny:.2g} of "
                f"their deviation, and the reference's by {self.reference_tiny:.2g}",
                numbers={"moved": self.tiny, "the reference's": self.reference_tiny},
            )

    def _spoilt(self, task: Task) -> bool:
        """Whether the number with permuted weights is worse than another run's could be; another
        one, where more is known of what it rests on, for not every metric sees what is spoilt.
        """
        assert self.broken is not None and self.value is not None
        if abs(self.broken - self.value) <= MOVED * abs(self.value):
            return False  # however bad it is
        if self.by_reference or self.carrying is not None:
            return True
        if self.pair is not None and self.pair.high is not None:
            return self.pair.is_worse(self.broken, task.metric.direction)
        return True

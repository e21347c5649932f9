"""The verdict on the whole: the numbers, and apart from them the method.

A number alone is no reproduction if another method reaches it too. So the method is said beside it.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from autoreproduce.claims.claim import Claim, Frozen
from autoreproduce.claims.verdicts.comparable import MISSED
from autoreproduce.claims.verdicts.one_claim import Verdict
from autoreproduce.claims.verdicts.orderings import OrderVerdict

OverallWord = Literal["reproduced", "partly", "not reproduced", "not comparable", "not measured"]
Require = Literal["reproduced", "partly"]
COMPARED = ("reproduced", "close", *MISSED)


def verdict_title(word: str) -> str:
    """A verdict's word as every report, list, table, board and badge shows it."""
    return "partly reproduced" if word == "partly" else word


class Method(Frozen):
    """How far the program is the paper's method. A judge's `score` (0 to 100, from the paper alone)
    verifies nothing.
    """

    score: float | None = None

    @property
    def text(self) -> str:
        """What is known of it, in a few words."""
        if self.score is None:
            return "method not verified"
        return f"method judged {self.score:.3g} of 100 from the paper"


class Overall(Frozen):
    """The verdict on an experiment: of `counted` claims, how many are `reproduced`, `close` and
    `missed`; the rest could not be compared, or have no number.

    `method_needed`: the task says that its number alone cannot tell the method.
    """

    word: OverallWord
    reproduced: int
    close: int
    counted: int
    missed: int = Field(0, description="claims that were compared and are off or opposite")
    held: int = 0
    broken: int = 0
    method: Method = Method()
    method_needed: bool = False
    single: bool = False
    failed_after: bool = Field(
        False,
        description="the program failed after it had written its numbers",
        exclude_if=lambda failed: not failed,
    )
    exact: int = Field(
        0,
        description="claims reproduced since they agree in every printed digit",
        exclude_if=lambda claims: not claims,
    )

    @property
    def doubtful(self) -> bool:
        """True if the number cannot tell the method, and nothing else verified it, or the program
        failed after writing its numbers.
        """
        return self.method_needed or self.failed_after

    @property
    def title(self) -> str:
        """The verdict in a few words."""
        count = f" ({self.reproduced} of {self.counted} claims)" if self.word == "partly" else ""
        return verdict_title(self.word) + count

    def meets(self, require: Require) -> bool:
        """Whether `--require` is met; for "reproduced" the method must not be in doubt."""
        if require == "partly":
            return self.word in ("reproduced", "partly")
        return self.word == "reproduced" and not self.doubtful


def overall(
    claims: Sequence[Claim],
    verdicts: Sequence[Verdict],
    orders: Sequence[OrderVerdict] = (),
    *,
    method: Method | None = None,
    method_needed: bool = False,
    failed_after: bool = False,
) -> Overall:
    """The verdict on all claims.

    Which of them count is said by `those_that_count`; all orderings do.

    Not measured: there is no number for any. Not comparable: none of those judged could be compared
    or tested. Reproduced: every claim that counts is, and no ordering is broken. Not reproduced:
    none is, and of those compared at least as many missed as came close. Partly: anything else.
    """
    counted = those_that_count(claims, verdicts)
    words = [verdict.word for verdict in counted]
    broken = sum(order.word == "does not hold" for order in orders)
    return Overall(
        exact=sum(verdict.exact > 0 for verdict in counted),
        word=_overall_word(words, broken),
        reproduced=words.count("reproduced"),
        close=words.count("close"),
        counted=len(words),
        missed=sum(word in MISSED for word in words),
        held=sum(order.word == "holds" for order in orders),
        broken=broken,
        method=method or Method(),
        method_needed=method_needed,
        failed_after=failed_after,
        single=bool(counted) and all(len(verdict.values) <= 1 for verdict in counted),
    )


def those_that_count(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts on the paper's own claims, then on baselines that were compared; on all if there
    are only baselines.

    Who reproduces a method needn't build what it is compared with, but a number that was measured
    and missed is a miss.
    """
    baselines = {claim.id for claim in claims if claim.is_baseline}
    own = [one for one in verdicts if one.claim not in baselines]
    compared = [one for one in verdicts if one.claim in baselines and one.word in COMPARED]
    return [*own, *compared] if own else list(verdicts)


def _overall_word(words: Sequence[str], broken: int) -> OverallWord:
    if not any(word in COMPARED for word in words):
        unmeasured = bool(words) and all(word == "not measured" for word in words)
        return "not measured" if unmeasured else "not comparable"
    if all(word == "reproduced" for word in words):
        return "partly" if broken else "reproduced"
    missed = sum(word in MISSED for word in words)
    if missed and "reproduced" not in words and missed >= words.count("close"):
        return "not reproduced"
    return "partly"

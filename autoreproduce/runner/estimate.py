"""What a trial may take: calls, tokens, dollars and seconds, with a range, before it is begun.

The user's own earlier trials of the same task, profile and solver say it best. Without them the
solver's other trials do, the user's and those of `eval/costs.yaml`: tokens in are a line over the
paper's length, fitted to them, and the range is how far they lie from it. Nothing is asked and
nothing is made up: what no trial says is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from autoreproduce.config import Settings
from autoreproduce.models.budget import Budget
from autoreproduce.models.prices import Usage, price_of
from autoreproduce.runner.past_trials import (
    TOKENS,
    PastTrial,
    TrialKind,
    at_effort,
    shipped_trials,
    tape_shares,
    typical_paper,
)


class Likely(NamedTuple):
    """A figure as it is expected, and the lowest and highest that it may be."""

    value: float
    low: float
    high: float

    def plus(self, other: Likely) -> Likely:
        """The sum; ends add up too, so a sum's range is the widest."""
        return Likely(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, factor: float) -> Likely:
        """A share, or several of it."""
        return Likely(*(each * factor for each in self))


FIGURES = ("calls", *TOKENS, "dollars", "seconds")
Figures = dict[str, Likely | None]


@dataclass(frozen=True)
class Estimate:
    """What `trials` trials may take, by the names of FIGURES; what is unknown is None.

    `like`: trials it rests on, of the least known part; `own`: all of them are the user's.
    """

    trials: int = 0
    figures: Figures = field(default_factory=lambda: dict.fromkeys(FIGURES, Likely(0, 0, 0)))
    like: int = 0
    own: bool = True
    phases: dict[str, Estimate] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Likely | None:
        if name != "tokens":
            return self.figures.get(name)
        read, written = self.figures.get("input"), self.figures.get("output")
        return read.plus(written) if read and written else None

    def plus(self, other: Estimate) -> Estimate:
        """The sum; unknown stays unknown."""
        if not self.trials or not other.trials:
            return self if self.trials else other
        pairs = {name: (self[name], other[name]) for name in FIGURES}
        sums = {name: a.plus(b) if a and b else None for name, (a, b) in pairs.items()}
        like = min(self.like, other.like)
        return Estimate(self.trials + other.trials, sums, like, self.own and other.own)

    def times(self, count: int) -> Estimate:
        """What `count` trials like this one may take, without phases."""
        figures = {name: of and of.times(count) for name, of in self.figures.items()}
        return Estimate(self.trials * count, figures, self.like, self.own)

    def as_json(self) -> dict[str, Any]:
        """The figures by name, `low` and `high` beside them."""
        named = {name: self[name] for name in ("calls", "tokens", *FIGURES[1:])}
        values = {name: one and one.value for name, one in named.items()}
        low = {name: one and one.low for name, one in named.items()}
        high = {name: one and one.high for name, one in named.items()}
        of = {"trials": self.trials, "like": self.like, "own": self.own}
        phases = {name: part.as_json() for name, part in self.phases.items()}
        return {**of, **values, "low": low, "high": high, "phases": phases}


def estimate(wanted: TrialKind, settings: Settings, earlier: Iterable[PastTrial]) -> Estimate:
    """What one trial may take under these settings, by the user's earlier trials and ours."""
    earlier = list(earlier)
    same = [
        each
        for each in earlier
        if (each.kind.task, each.kind.profile, each.kind.solver)
        == (wanted.task, wanted.profile, wanted.solver)
    ]
    if same:
        return _of_same(same, settings)
    kind = (wanted.solver, wanted.writes)
    like = [
        at_effort(each, settings)
        for each in (*shipped_trials(), *earlier)
        if (each.kind.solver, each.kind.writes) == kind
        if each.settings is None or each.kind.paper
    ]
    return _of_others(like, wanted, settings) if like else Estimate(1, {}, own=False)


def _of_same(found: list[PastTrial], settings: Settings) -> Estimate:
    """By trials of the same task: those with the same settings, else model, else any, whose dollars
    are then at today's price.
    """
    identity = settings.identity()
    for key in (_without_seed, models_of):
        if same := [each for each in found if key(each.settings or {}) == key(identity)]:
            paid = [each.dollars for each in same]
            now = [_price(each.input, each.new, each.output, settings) for each in same]
            dollars = [b if a is None else a for a, b in zip(paid, now, strict=True)]
            return _means(same, dollars, settings)
    dollars = [_price(each.input, each.new, each.output, settings) for each in found]
    return _means(found, dollars, settings)


def _means(found: list[PastTrial], dollars: list[float | None], settings: Settings) -> Estimate:
    names = ("calls", *TOKENS, "seconds")
    figures = {name: _spread([getattr(one, name) for one in found]) for name in names}
    names_of_phases = dict.fromkeys(name for one in found for name in one.phases)
    phases = {name: _phase_means(found, name, settings) for name in names_of_phases}
    return Estimate(1, {**figures, "dollars": _spread(dollars)}, len(found), phases=phases)


def _spread(values: Sequence[float | None]) -> Likely | None:
    """Their mean and ends; None if one is unknown."""
    known = [each for each in values if each is not None]
    if not known or len(known) < len(values):
        return None
    return Likely(sum(known) / len(known), min(known), max(known))


def _phase_means(found: list[PastTrial], name: str, settings: Settings) -> Estimate:
    """A phase's figures; a trial that never came to it took 0."""
    parts = [one.phases.get(name, {}) for one in found]
    sums = {
        key: [float(part.get(key) or 0) for part in parts]
        for key in ("calls", "input", "cached", "output", "seconds")
    }
    new = [a - b for a, b in zip(sums["input"], sums.pop("cached"), strict=True)]
    dollars = [
        _price(read, fresh, out, settings)
        for read, fresh, out in zip(sums["input"], new, sums["output"], strict=True)
    ]
    figures = {key: _spread(values) for key, values in sums.items()}
    return Estimate(1, {**figures, "new": _spread(new), "dollars": _spread(dollars)}, len(found))


def _of_others(like: list[PastTrial], wanted: TrialKind, settings: Settings) -> Estimate:
    """By the solver's trials of any task, at this paper's length."""
    if wanted.paper is None:
        wanted = replace(wanted, paper=typical_paper())
    figures = {name: _at_length(like, name, wanted) for name in TOKENS}
    figures["calls"] = _spread([one.calls for one in like])
    figures["seconds"] = _seconds(like, wanted)
    figures["dollars"] = _dollars(figures, settings)
    phases = _by_tape(figures, wanted, settings)
    return Estimate(1, figures, len(like), own=False, phases=phases)


def _at_length(like: list[PastTrial], name: str, wanted: TrialKind) -> Likely | None:
    """A figure on the line over the paper's length, moved to the task's own trials if it has some;
    its range is that of all trials around the line.
    """
    pairs = [(one, value) for one in like if (value := getattr(one, name)) is not None]
    if not pairs:
        return None
    lengths = [one.kind.paper or 0.0 for one, _ in pairs]
    slope, start = _line(lengths, [value for _, value in pairs])
    if name == "output":  # what is written doesn't grow with the paper
        slope, start = 0.0, sum(value for _, value in pairs) / len(pairs)
    ratios = [
        value / (start + slope * length) for (_, value), length in zip(pairs, lengths, strict=True)
    ]
    own = [
        ratio for ratio, (one, _) in zip(ratios, pairs, strict=True) if one.kind.task == wanted.task
    ]
    here = start + slope * (wanted.paper or 0.0)
    middle = sum(own) / len(own) if own else 1.0
    return Likely(here * middle, here * min(ratios), here * max(ratios))


def _line(lengths: list[float], values: list[float]) -> tuple[float, float]:
    """Slope and start by least squares; flat if all lengths are one, or if it would fall."""
    count, mean = len(values), sum(values) / len(values)
    middle = sum(lengths) / count
    wide = sum((each - middle) ** 2 for each in lengths)
    rise = sum((a - middle) * (b - mean) for a, b in zip(lengths, values, strict=True))
    slope = max(rise / wide, 0.0) if wide else 0.0
    start = mean - slope * middle
    return (slope, start) if start > 0 else (0.0, mean)


def _seconds(like: list[PastTrial], wanted: TrialKind) -> Likely | None:
    """Of the task's own trials, else of all under that profile: a program's time is its task's."""
    timed = [each for each in like if each.seconds and each.kind.profile == wanted.profile]
    same = [each for each in timed if each.kind.task == wanted.task]
    whole = _spread([each.seconds for each in timed])
    return whole and Likely(
        (_spread([each.seconds for each in same or timed]) or whole).value, *whole[1:]
    )


def _dollars(tokens: Figures, settings: Settings) -> Likely | None:
    read, new, out = (tokens[name] for name in TOKENS)
    if read is None or new is None or out is None:
        return None
    ends = [_price(a, min(a, b), c, settings) for a, b, c in zip(read, new, out, strict=True)]
    known = [each for each in ends if each is not None]
    return Likely(*known) if len(known) == len(ends) else None


def _price(read: float, new: float, out: float | None, settings: Settings) -> float | None:
    """Dollars at the price of the planned model; of two the research model's, which has more."""
    name = settings.model.research or settings.model.name or ""
    if out is None or not (name or settings.model.price):
        return None
    usage = Usage(round(read), round(read - new), round(out))
    return price_of(usage, name, settings)


def _by_tape(whole: Figures, wanted: TrialKind, settings: Settings) -> dict[str, Estimate]:
    """The figures by phase, as the calls of the tape that ships share them."""
    if not wanted.by_method:
        return {}
    shares, phases = tape_shares(), {}
    sums = {name: sum(part[name] for part in shares.values()) for name in ("calls", *TOKENS)}
    for phase, part in shares.items():
        figures: Figures = {
            name: of.times(part[name] / sums[name]) if (of := whole[name]) else None
            for name in sums
        }
        phases[phase] = Estimate(1, {**figures, "dollars": _dollars(figures, settings)})
    return phases


def _without_seed(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key != "seed"}


def models_of(settings: dict[str, Any]) -> tuple[Any, ...]:
    """The models that answer under these settings."""
    return tuple(settings.get(key) for key in ("model", "research_model", "code_model"))


def spread_words(
    spread: Likely | None, words: Callable[[float], str], unknown: str = "unknown"
) -> str:
    """As "68k (57k–105k)", the range only where there is one."""
    if spread is None:
        return unknown
    value, low, high = (words(each) for each in spread)
    return value if low == high else f"{value} ({low}–{high})"


def rounded_dollars(dollars: float) -> float:
    """As an estimate is: to two digits of cents, to cents below ten dollars, else to dollars."""
    return float(f"{dollars:.2g}") if 0 < dollars < 1 else round(dollars, 2 if dollars < 10 else 0)


def dollar_words(dollars: float) -> str:
    """Rounded: "$0.16", "$2.40", "$31"."""
    if 0 < dollars < 1:
        return f"${dollars:.2g}"
    return f"${dollars:,.2f}" if dollars < 10 else f"${dollars:,.0f}"


def rounded_time(value: float) -> float:
    """Hours or minutes as an estimate has them: two digits, from ten on none after the point."""
    return float(f"{round(value, 2):.2g}") if value < 9.95 else round(value)


def time_words(value: float) -> str:
    """Rounded: "0.4", "7.5", "139"."""
    return f"{rounded_time(value):g}" if value < 9.95 else f"{value:,.0f}"


def budget_notes(budget: str | None, whole: Estimate) -> list[str]:
    """That a budget is below the estimate. Raises UsageError for one that cannot be read."""
    limit = Budget.parse(budget)
    dollars, tokens = whole["dollars"], whole["tokens"]
    if dollars and limit.limit_dollars is not None and limit.limit_dollars < dollars.value:
        likely = spread_words(dollars, dollar_words)
    elif tokens and limit.limit_tokens is not None and limit.limit_tokens < tokens.value:
        likely = spread_words(tokens, "{:,.0f} tokens".format)
    else:
        return []
    return [f"The budget of {budget} may not suffice: about {likely} is likely."]

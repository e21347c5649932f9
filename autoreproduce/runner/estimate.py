"""What a trial may take: calls, tokens, dollars and seconds, with a range, before it begins.

The user's own earlier trials of the same task, profile and solver say it best. Without them the
solver's other trials do, the user's and those of `eval/costs.yaml`, each brought to this paper's
length. An estimate is their mean and their ends. Nothing is asked and nothing is made up: what no
trial says is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import StatisticsError, fmean, linear_regression
from typing import Any, NamedTuple

from autoreproduce.config import Settings
from autoreproduce.content import folder
from autoreproduce.files.bounded import parse_yaml
from autoreproduce.files.handed_over import named_tape
from autoreproduce.method.paper_extract import SHORT
from autoreproduce.models.budget import Budget
from autoreproduce.models.prices import Usage, price_of
from autoreproduce.models.tape import read_tape
from autoreproduce.trials.summary import summaries_below

TOKENS = ("input", "new", "output")  # new: those in that no provider's cache served
FIGURES = ("calls", *TOKENS, "dollars", "seconds")
CHARACTERS_A_TOKEN = 3.5  # four characters, and 14 % more tokens: as `eval/costs.yaml` counts
Taken = dict[str, float | None]  # by the names of FIGURES


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


Figures = dict[str, Likely | None]


@dataclass(frozen=True)
class TrialKind:
    """What to estimate. `paper`: tokens of its text, None if it can't be read now."""

    task: str
    profile: str
    solver: str
    writes: str = "program"
    paper: float | None = None

    @property
    def by_method(self) -> bool:
        """True if our own method writes a program for it, by the phases of the tape that ships."""
        return (self.solver, self.writes) == ("autoreproduce", "program")


@dataclass(frozen=True)
class PastTrial:
    """A trial that was measured. `settings`: None if it ships, and isn't the user's."""

    kind: TrialKind
    took: Taken
    settings: dict[str, Any] | None = None
    phases: dict[str, Taken] = field(default_factory=dict)


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
        values, low, high = (
            {name: one and one[end] for name, one in named.items()} for end in range(3)
        )
        of = {"trials": self.trials, "like": self.like, "own": self.own}
        phases = {name: part.as_json() for name, part in self.phases.items()}
        return {**of, **values, "low": low, "high": high, "phases": phases}


def estimate(wanted: TrialKind, settings: Settings, earlier: Iterable[PastTrial]) -> Estimate:
    """What one trial may take under these settings, by the user's earlier trials and ours."""
    earlier = list(earlier)
    if like := _of_same_task(wanted, settings, earlier):
        whole = {name: _likely([(one.took[name], True) for one in like]) for name in FIGURES}
        names = dict.fromkeys(name for one in like for name in one.phases)
        parts = {name: _sums(one.phases.get(name, {}) for one in like) for name in names}
        phases = _phases(whole, parts, _sums(one.took for one in like), settings)
        return Estimate(1, whole, len(like), phases=phases)
    like = _of_other_tasks(wanted, settings, earlier)
    if not like:
        return Estimate(1, {}, own=False)
    whole = {
        name: _likely([(one.took.get(name), one.kind.task == wanted.task) for one in like])
        for name in FIGURES
    }
    shares = tape_shares() if wanted.by_method else {}
    phases = _phases(whole, shares, _sums(shares.values()), settings)
    return Estimate(1, whole, len(like), own=False, phases=phases)


def _of_same_task(
    wanted: TrialKind, settings: Settings, earlier: Iterable[PastTrial]
) -> list[PastTrial]:
    """The user's trials of the task with the same settings, else models, else any, whose dollars
    are then at today's price.
    """
    of = (wanted.task, wanted.profile, wanted.solver)
    same = [one for one in earlier if (one.kind.task, one.kind.profile, one.kind.solver) == of]
    identity = settings.identity()
    for names in (identity.keys() - {"seed"}, {"model", "research_model", "code_model"}):
        if like := [
            one
            for one in same
            if all((one.settings or {}).get(name) == identity.get(name) for name in names)
        ]:
            return [
                one if one.took["dollars"] is not None else _priced(one, settings) for one in like
            ]
    return [_priced(one, settings) for one in same]


def _of_other_tasks(
    wanted: TrialKind, settings: Settings, earlier: Iterable[PastTrial]
) -> list[PastTrial]:
    """The solver's trials of any task as they would be at this paper's length and effort.

    Tokens in grow along the line that fits them best; what is written doesn't grow with the paper.
    """
    like = [
        _at_effort(one, settings)
        for one in (*shipped_trials(), *earlier)
        if (one.kind.solver, one.kind.writes) == (wanted.solver, wanted.writes)
        if one.settings is None or one.kind.paper
    ]
    here = _held()["typical_paper"] * _held()["scale"] if wanted.paper is None else wanted.paper
    lines = {name: _line([(one.kind.paper, one.took[name]) for one in like]) for name in TOKENS[:2]}
    scaled = []
    for one in like:
        took = dict(one.took)
        for name, (slope, start) in lines.items():
            at_its_length = start + slope * (one.kind.paper or 0.0)
            took[name] = (took[name] or 0.0) * (start + slope * here) / (at_its_length or 1.0)
        if one.kind.profile != wanted.profile:  # a program's time is its task's and profile's
            took["seconds"] = None
        scaled.append(_priced(replace(one, took=took), settings))
    return scaled


def _line(points: Sequence[tuple[float | None, float | None]]) -> tuple[float, float]:
    """Slope and start by least squares; flat if all lengths are one, or if it would fall."""
    lengths, values = [x or 0.0 for x, _ in points], [y or 0.0 for _, y in points]
    try:
        slope, start = linear_regression(lengths, values)
    except StatisticsError:
        slope, start = 0.0, 0.0
    return (slope, start) if slope >= 0 and start > 0 else (0.0, fmean(values or [0.0]))


def _likely(values: Sequence[tuple[float | None, bool]]) -> Likely | None:
    """The mean of those that count most, else of all, and the ends of all; None if none is known.

    Each value comes with whether it counts most.
    """
    known = [value for value, _ in values if value is not None]
    most = [value for value, counts in values if value is not None and counts]
    return Likely(fmean(most or known), min(known), max(known)) if known else None


def _sums(parts: Iterable[Taken]) -> Taken:
    parts = list(parts)
    return {name: sum(part.get(name) or 0.0 for part in parts) for name in FIGURES}


def _phases(
    whole: Figures, parts: dict[str, Taken], sums: Taken, settings: Settings
) -> dict[str, Estimate]:
    """The figures by phase: each part's share of the sums, dollars by the price of its tokens."""
    of = {**sums, "dollars": _price(sums, settings)}
    phases = {}
    for name, part in parts.items():
        shares = {**part, "dollars": _price(part, settings)}
        figures: Figures = {
            figure: likely.times((shares[figure] or 0.0) / total)
            for figure, likely in whole.items()
            if likely and (total := of[figure])
        }
        if whole["dollars"] and of["dollars"] == 0:
            figures["dollars"] = whole["dollars"].times(0)
        phases[name] = Estimate(1, figures)
    return phases


def _priced(trial: PastTrial, settings: Settings) -> PastTrial:
    """The trial at the price of the planned model."""
    return replace(trial, took={**trial.took, "dollars": _price(trial.took, settings)})


def _price(took: Taken, settings: Settings) -> float | None:
    """Dollars at the price of the planned model; of two the research model's, which has more."""
    read, new, out = (took[name] for name in TOKENS)
    name = settings.model.research or settings.model.name or ""
    if read is None or new is None or out is None or not (name or settings.model.price):
        return None
    return price_of(Usage(round(read), round(read - new), round(out)), name, settings)


def text_tokens(text: str) -> float:
    """How long a paper is, in the tokens of `eval/costs.yaml`."""
    return len(text) / CHARACTERS_A_TOKEN


def earlier_trials(runs: Path) -> list[PastTrial]:
    """The finished trials of a runs folder and of its suites, but for replays."""
    found = []
    for trial in summaries_below(runs):
        record, result = trial.record, trial.scored
        if record is None or result is None or named_tape(record.settings.get("model")) is not None:
            continue  # a tape's tokens were paid for before
        cost, characters = result.cost, trial.paper_characters
        paper = characters / CHARACTERS_A_TOKEN if characters else None
        writes = record.job.of_task.writes
        kind = TrialKind(record.task, record.profile, record.solver, writes, paper)
        whole = {**cost.usage, "calls": cost.calls, "seconds": cost.seconds}
        took = {**_taken(whole), "dollars": cost.dollars}
        phases = {name: _taken(part) for name, part in cost.phases.items()}
        found.append(PastTrial(kind, took, record.settings, phases))
    return found


def _taken(cost: dict[str, Any]) -> Taken:
    held = {name: float(cost.get(name) or 0) for name in ("calls", "input", "output", "seconds")}
    return {**held, "new": held["input"] - float(cost.get("cached") or 0), "dollars": None}


@cache
def shipped_trials() -> tuple[PastTrial, ...]:
    """Those of `eval/costs.yaml`."""
    held, found = _held(), []
    for cells in held["rows"]:
        row = dict(zip(held["columns"], cells, strict=True))
        paper, *tokens = (row[name] and row[name] * held["scale"] for name in ("paper", *TOKENS))
        kind = TrialKind(row["task"], row["profile"], row["solver"], row["writes"], paper)
        took = dict(zip(TOKENS, tokens, strict=True))
        seconds = row["minutes"] and row["minutes"] * 60
        found.append(PastTrial(kind, {"calls": row["calls"], **took, "seconds": seconds}))
    return tuple(found)


def _at_effort(trial: PastTrial, settings: Settings) -> PastTrial:
    """A trial that ships as it would be by `--effort evidence`, if that is asked for now: those of
    the project's own solver were made by the paper's steps, and prompts for a longer paper hold
    summaries of it, as they did.
    """
    if trial.settings is not None or not trial.kind.by_method or settings.method.effort == "paper":
        return trial
    if (trial.kind.paper or 0.0) > SHORT:
        return trial
    shares = _held()["evidence"].items()
    less = {name: took and took * share for name, share in shares for took in [trial.took[name]]}
    return replace(trial, took={**trial.took, **less})


@cache
def _held() -> dict[str, Any]:
    return dict(parse_yaml((folder("eval") / "costs.yaml").read_text(encoding="utf-8")))


@cache
def tape_shares() -> dict[str, Taken]:
    """Calls and tokens by phase of the first tape that ships."""
    shares: dict[str, Taken] = {}
    for entry in read_tape(min(folder("reproducebench").glob("*/tapes/*.jsonl"))).entries:
        before = shares.setdefault(entry.phase, {})
        shares[entry.phase] = _sums([before, _taken({**entry.usage, "calls": 1})])
    return shares


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
    return f"${dollars:{'.2g' if 0 < dollars < 1 else ',.2f' if dollars < 10 else ',.0f'}}"


def rounded_time(value: float) -> float:
    """Hours or minutes as an estimate has them: two digits, from ten on none after the point."""
    return float(f"{round(value, 2):.2g}") if value < 9.95 else round(value)


def time_words(value: float) -> str:
    """Rounded: "0.4", "7.5", "139"."""
    return f"{rounded_time(value):g}" if value < 9.95 else f"{value:,.0f}"


def budget_notes(budget: str | None, whole: Estimate) -> list[str]:
    """That a budget is below the estimate. Raises UsageError for one that cannot be read."""
    limit = Budget.parse(budget)
    dollars, tokens, calls = whole["dollars"], whole["tokens"], whole["calls"]
    if dollars and limit.limit_dollars is not None and limit.limit_dollars < dollars.value:
        likely = spread_words(dollars, dollar_words)
    elif tokens and limit.limit_tokens is not None and limit.limit_tokens < tokens.value:
        likely = spread_words(tokens, "{:,.0f} tokens".format)
    elif calls and limit.limit_calls is not None and limit.limit_calls < calls.value:
        likely = spread_words(calls, "{:,.0f} calls".format)
    else:
        return []
    return [f"The budget of {budget} may not suffice: about {likely} is likely."]

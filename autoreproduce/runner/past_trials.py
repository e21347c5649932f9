"""Trials that were measured: the user's own, and those of `eval/costs.yaml`, which ship."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from autoreproduce.content import folder
from autoreproduce.files.bounded import parse_yaml
from autoreproduce.models.tape import read_tape
from autoreproduce.trials.summary import summaries_below
from autoreproduce.trials.trial import Outcome, TrialRecord

CHARACTERS_A_TOKEN = 3.5  # four characters, and 14 % more tokens: as `eval/costs.yaml` counts
TOKENS = ("input", "new", "output")


@dataclass(frozen=True)
class TrialKind:
    """What is to be estimated. `paper`: tokens of its text, None if it can't be read now."""

    task: str
    profile: str
    solver: str
    writes: str = "program"
    paper: float | None = None


@dataclass(frozen=True)
class PastTrial:
    """A trial that was measured; `new` are tokens in that no provider's cache served."""

    kind: TrialKind
    calls: float
    input: float
    new: float
    output: float | None
    seconds: float | None
    dollars: float | None = None
    settings: dict[str, Any] | None = None  # None: it ships, and isn't the user's
    phases: dict[str, dict[str, Any]] = field(default_factory=dict)


def text_tokens(text: str) -> float:
    """How long a paper is, in the tokens of `eval/costs.yaml`."""
    return len(text) / CHARACTERS_A_TOKEN


def earlier_trials(runs: Path) -> list[PastTrial]:
    """The finished trials of a runs folder and of its suites."""
    return [
        _past_trial(record, outcome, trial.paper_characters)
        for trial in summaries_below(runs)
        if (record := trial.record) and (outcome := trial.scored)
    ]


def _past_trial(record: TrialRecord, outcome: Outcome, characters: int | None) -> PastTrial:
    used = outcome.usage
    return PastTrial(
        TrialKind(
            record.task,
            record.profile,
            record.solver,
            str(record.task_json.get("writes", "program")),
            characters / CHARACTERS_A_TOKEN if characters else None,
        ),
        outcome.calls,
        used.get("input", 0),
        used.get("input", 0) - used.get("cached", 0),
        used.get("output", 0),
        outcome.seconds,
        outcome.cost,
        record.settings,
        outcome.phases,
    )


@cache
def shipped_trials() -> tuple[PastTrial, ...]:
    """Those of `eval/costs.yaml`."""
    held, found = _held(), []
    for cells in held["rows"]:
        row = dict(zip(held["columns"], cells, strict=True))
        scaled = {
            name: None if row[name] is None else row[name] * held["scale"]
            for name in ("paper", *TOKENS)
        }
        place = TrialKind(
            row["task"], row["profile"], row["solver"], row["writes"], scaled["paper"]
        )
        seconds = None if row["minutes"] is None else row["minutes"] * 60
        found.append(PastTrial(place, row["calls"], **_tokens(scaled), seconds=seconds))
    return tuple(found)


def typical_paper() -> float:
    """The length of a paper of which nothing is known."""
    held = _held()
    return float(held["typical_paper"] * held["scale"])


@cache
def _held() -> dict[str, Any]:
    text = (folder("eval") / "costs.yaml").read_text(encoding="utf-8")
    return dict(parse_yaml(text))


def _tokens(named: dict[str, Any]) -> dict[str, Any]:
    return {name: named[name] for name in TOKENS}


@cache
def tape_shares() -> dict[str, dict[str, float]]:
    """Calls and tokens by phase of the first tape that ships."""
    tape = read_tape(min(folder("reproducebench").glob("*/tapes/*.jsonl")))
    shares: dict[str, dict[str, float]] = {}
    for entry in tape.entries:
        part = shares.setdefault(entry.phase, dict.fromkeys(("calls", *TOKENS), 0.0))
        part["calls"] += 1
        part["input"] += entry.usage["input"]
        part["new"] += entry.usage["input"] - entry.usage.get("cached", 0)
        part["output"] += entry.usage["output"]
    return shares

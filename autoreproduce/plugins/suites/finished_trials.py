"""The finished trials of a suite, read from its folder, and what all of its trials spent.

A finished trial is identified by the digest of all that determines it. A folder whose content
differs from the suite's file is refused with the difference: rows of two experiments in one table
would look like one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from autoreproduce.config import digest
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.files.bounded import parse_json
from autoreproduce.job import FILE as JOB
from autoreproduce.models.budget import Cost
from autoreproduce.plugins.suites.plan import PLUGIN, Plan, Planned
from autoreproduce.trials.chain import TRIAL
from autoreproduce.trials.journal import write_whole
from autoreproduce.trials.journal_reader import read_journal
from autoreproduce.trials.result import Result
from autoreproduce.trials.steps import Amount, Count, dollars_of, model_results
from autoreproduce.trials.summary import TrialSummary, read_json

ENDED = "ended.json"
Status = Literal["measured", "failed", "not scored", "stopped", "not run"]
SCORED: tuple[Status, ...] = ("measured", "failed")


class EndedTrial(BaseModel):
    """ended.json: how the attempt of one trial ended, for the suite.

    `measured` and `failed` are the solver's own results and are data. `not scored`: the model's
    endpoint, the sandbox or the disk failed in all `attempts`. `stopped`: by the user or the
    suite's budget. `not run`: not begun.
    """

    status: Status
    reason: str = ""
    kind: str = ""
    attempts: Count = 1
    seconds: Amount = 0.0
    cost: Amount | None = 0.0
    tokens: Count = 0
    calls: Count = 0
    metric: float | None = None
    gap: float | None = None
    verdict: str = ""
    integrity: str = ""
    recomputed: bool = True

    @classmethod
    def of(cls, result: Result, **changed: Any) -> EndedTrial:
        """What the suite keeps of a trial's result."""
        kept = {
            "status": result.status,
            "reason": result.reason,
            "seconds": result.cost.seconds,
            "cost": result.cost.dollars,
            "tokens": result.cost.tokens,
            "calls": result.cost.calls,
            "metric": result.metric,
            "gap": result.gap,
            "verdict": result.verdict,
            "integrity": result.integrity,
            "recomputed": result.recomputed,
        }
        return cls(**{**kept, **changed})

    @property
    def scored(self) -> bool:
        """True if the solver itself left a number or failed."""
        return self.status in SCORED


def finished(folder: Path) -> EndedTrial | None:
    """How the trial of a folder ended, None if it is still to be attempted or resumed."""
    result = TrialSummary(folder).scored
    return EndedTrial.of(result) if result else None


def check(plan: Plan, suite: Path) -> dict[Planned, EndedTrial]:
    """The finished trials of a plan. Raises UsageError if a folder was made with other content."""
    done, changed = {}, _changed_outside(plan, suite)
    for planned in plan.trials:
        folder = planned.folder(suite)
        if not (then := parts_of(folder)):
            continue
        if digest(then) != planned.digest:
            job = plan.job(planned.task, planned.variant, planned.number)
            changed[planned] = _difference(then, plan.parts(job, planned.variant))
        elif (ended := finished(folder)) is not None and (folder / "report.html").exists():
            done[planned] = ended
    if changed:
        raise UsageError(_refusal(suite, changed))
    return done


def _changed_outside(plan: Plan, suite: Path) -> dict[Planned, str]:
    """Trials that the plan leaves out and whose variant has changed: it must be one in all rows."""
    ours, found = {trial.folder(suite) for trial in plan.trials}, {}
    like = {trial.variant: trial for trial in plan.trials}
    now = {name: plan.parts(plan.job(one.task, name), name) for name, one in like.items()}
    for folder in trial_folders(suite):
        task, variant, number = folder.parts[-3:]
        if folder in ours or variant not in now or not (then := parts_of(folder)):
            continue
        if difference := _difference(_of_variant(then), _of_variant(now[variant])):
            found[Planned(task, variant, int(number))] = difference
    return found


def _of_variant(parts: dict[str, Any]) -> dict[str, Any]:
    """What must be the same in all trials of a variant."""
    known = ("solver", "program", "prompts", "settings")
    same = {name: value for name, value in parts.items() if name.startswith(known)}
    return same | {"settings seed": None}


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    new = json.loads(json.dumps(new))
    pairs = [(key, old.get(key), new.get(key)) for key in sorted({*old, *new})]
    return ", ".join(f"{key}: {was!r} → {is_!r}" for key, was, is_ in pairs if was != is_)


def _refusal(suite: Path, changed: dict[Planned, str]) -> str:
    """One line; trials with the same difference are listed together."""
    by_difference: dict[str, list[Planned]] = {}
    for planned, difference in changed.items():
        by_difference.setdefault(difference, []).append(planned)
    parts = [
        f"{those[0].words}{f' and {len(those) - 1} more' if len(those) > 1 else ''} ({difference})"
        for difference, those in list(by_difference.items())[:3]
    ]
    return (
        f"{len(changed)} trials in {suite} were made with other content: {'; '.join(parts)}. "
        "Restore that, or give --out a new folder"
    )


def spent(suite: Path) -> Iterator[Cost]:
    """What each trial in a suite's folder cost, finished or not."""
    for folder in trial_folders(suite):
        ended = finished(folder)
        yield Cost(ended.tokens, ended.cost, ended.calls) if ended else spent_so_far(folder)


def spent_so_far(folder: Path) -> Cost:
    """What the calls in a trial's journal cost; of a damaged one it is unknown."""
    try:
        calls = model_results(read_journal(folder / "steps.jsonl"))
    except TrialError:
        return Cost(0, None, 0)
    return Cost(sum(call.usage.total for call in calls), dollars_of(calls), len(calls))


def trial_folders(suite: Path) -> Iterable[Path]:
    """The folders of the trials whose jobs were written."""
    found = (path.parent for path in (suite / "trials").glob(f"*/*/*/{JOB}"))
    return sorted(path for path in found if path.name.isdecimal())


# As earlier versions, which left the task's id out, called what determines a trial.
EARLIER = {"task's paper": "paper", "task's data": "data", "carry": "program's carry"}


def parts_of(folder: Path) -> dict[str, Any]:
    """All that determines the trial in a folder (`Plan.parts`), as its job.json has it; empty of
    one that was not begun, or of none.
    """
    job: Any = read_json(folder / JOB) if (folder / TRIAL).exists() else None
    try:
        parts = dict(parse_json(job["more"][PLUGIN]["mark"])["parts"])
        named = {EARLIER.get(str(name), str(name)): value for name, value in parts.items()}
        return {"task": job["task"]["id"], **named}
    except (KeyError, TypeError, ValueError):
        return {}


def make_folder(folder: Path) -> None:
    """Make a folder with all above it. Raises TrialError if it cannot be made, UsageError if a file
    has its name.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(
            f"cannot make {folder} ({error.strerror})", fix="name another with --out"
        ) from None
    except OSError as error:
        raise TrialError(
            f"cannot make {folder} ({error.strerror})",
            fix="make room, then run the same command",
            retryable=True,
        ) from error


def write_ended(folder: Path, ended: EndedTrial) -> None:
    """Write how the trial ended; on a full disk the trial's own files are enough."""
    with suppress(OSError, TrialError):
        write_whole(folder / ENDED, ended.model_dump_json(indent=1))


def forget_end(folder: Path) -> None:
    """Remove what was written of an earlier attempt's end: another begins."""
    with suppress(OSError):
        (folder / ENDED).unlink()


def read_ended(folder: Path) -> EndedTrial | None:
    """What was written of the end of a trial's last attempt, None if there is nothing."""
    try:
        return EndedTrial.model_validate(read_json(folder / ENDED))
    except ValueError:
        return None

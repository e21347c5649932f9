"""What of a suite is done already, read from its folder.

A finished trial is kept by the digest of all that bears on it. A folder whose content differs from what the suite's
file says now is refused with the difference: rows of two experiments in one table would look like one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from autoreproduce.errors import TrialError, UsageError
from autoreproduce.journal import read_journal, write_whole
from autoreproduce.runner.suite.plan import MARK, Plan, Planned

ENDED = "ended.json"
Status = Literal["succeeded", "failed", "not scored", "stopped", "not run"]
SCORED: tuple[Status, ...] = ("succeeded", "failed")


class Ended(BaseModel):
    """ended.json: how the attempt of one trial came out, for the suite.

    `succeeded` and `failed` are the solver's own doing and are data. `not scored`: the model's endpoint, the sandbox
    or the disk failed, after `tries` attempts. `stopped`: by the user or the suite's budget. `not run`: not begun.
    """

    status: Status
    reason: str = ""
    kind: str = ""
    tries: int = 1
    seconds: float = 0.0
    cost: float | None = 0.0
    tokens: int = 0
    metric: float | None = None
    gap: float | None = None

    @property
    def scored(self) -> bool:
        """True where the solver's own doing decided it."""
        return self.status in SCORED


def finished(folder: Path) -> Ended | None:
    """How the trial of a folder ended, where the solver decided it; None where it is still to be attempted."""
    told = read_json(folder / "outcome.json")
    if told is None or told.get("status") not in SCORED:
        return None
    usage = told.get("usage") or {}
    if not usage and spent_so_far(folder)[0]:  # killed before its accounts were made: the journal tells them again
        return None
    return Ended(
        status=told["status"], reason=told.get("reason", ""), seconds=told.get("seconds", 0.0), cost=told.get("cost"),
        tokens=usage.get("input", 0) + usage.get("output", 0), metric=told.get("metric"), gap=told.get("gap"),
    )  # fmt: skip


def check(plan: Plan, suite: Path) -> dict[Planned, Ended]:
    """The finished trials of a plan. Raises UsageError where a folder was made with other content."""
    done, changed = {}, _left_out(plan, suite)
    for planned in plan.trials:
        folder = planned.folder(suite)
        mark = read_json(folder / MARK)
        if mark is None:
            continue
        if mark.get("digest") != planned.digest:
            changed[planned] = _difference(mark.get("parts") or {}, plan, planned)
        elif (ended := finished(folder)) is not None and (folder / "report.html").exists():
            done[planned] = ended
    if changed:
        raise UsageError(_refusal(suite, changed))
    return done


def _left_out(plan: Plan, suite: Path) -> dict[Planned, str]:
    """Trials of other tasks or numbers under a variant of the plan: a variant is one thing in all of its rows."""
    ours, found = {trial.folder(suite) for trial in plan.trials}, {}
    like = {trial.variant: trial for trial in plan.trials}
    for folder in trial_folders(suite):
        mark = read_json(folder / MARK) or {}
        if folder in ours or mark.get("variant") not in like:
            continue
        if said := _difference(mark.get("parts") or {}, plan, like[mark["variant"]], _of_variant):
            found[Planned(mark["task"], mark["variant"], mark["number"], mark["digest"])] = said
    return found


def _of_variant(part: str) -> bool:
    """True for what must be the same in all trials of a variant."""
    return not part.startswith("task") and part != "settings seed"


def _difference(
    old: dict[str, Any], plan: Plan, planned: Planned, matters: Callable[[str], bool] = lambda part: True
) -> str:
    new = json.loads(json.dumps(plan.parts(planned.task, planned.variant, planned.number)))
    pairs = [(key, old.get(key), new.get(key)) for key in sorted({*old, *new}) if matters(key)]
    return ", ".join(f"{key}: {was!r} → {is_!r}" for key, was, is_ in pairs if was != is_)


def _refusal(suite: Path, changed: dict[Planned, str]) -> str:
    """One line; trials that differ in the same are told together."""
    by_difference: dict[str, list[Planned]] = {}
    for planned, difference in changed.items():
        by_difference.setdefault(difference, []).append(planned)
    told = [
        f"{those[0].words}{f' and {len(those) - 1} more' if len(those) > 1 else ''} ({difference})"
        for difference, those in list(by_difference.items())[:3]
    ]
    return (
        f"{len(changed)} trials in {suite} were made with other content: {'; '.join(told)}. Restore that, or give "
        "--out a new folder"
    )


def spent(suite: Path) -> Iterator[tuple[int, float | None]]:
    """Tokens and dollars (None: unknown) of each trial below a suite's folder, finished or not, chosen or not."""
    for folder in trial_folders(suite):
        ended = finished(folder)
        yield (ended.tokens, ended.cost) if ended else spent_so_far(folder)


def spent_so_far(folder: Path) -> tuple[int, float | None]:
    """Tokens and dollars in a trial's journal; of a damaged one they are unknown."""
    tokens, dollars, known = 0, 0.0, True
    try:
        steps = read_journal(folder / "steps.jsonl")
    except TrialError:
        return 0, None
    for step in steps:
        if step.kind == "model":
            usage, price = step.result["usage"], step.result["price"]
            tokens += usage["input"] + usage["output"]
            known = known and price is not None
            dollars += price or 0.0
    return tokens, dollars if known else None


def trial_folders(suite: Path) -> Iterable[Path]:
    """The folders of the trials that were begun."""
    return sorted(path.parent for path in (suite / "trials").glob(f"*/*/*/{MARK}"))


def write_mark(plan: Plan, planned: Planned, suite: Path) -> Path:
    """The trial's folder, with its place in the suite written down. Raises TrialError where the disk is full."""
    folder = planned.folder(suite)
    if not (folder / MARK).exists():
        make_folder(folder)
        write_whole(folder / MARK, plan.mark(planned))
    with suppress(OSError):
        (folder / ENDED).unlink()
    return folder


def make_folder(folder: Path) -> None:
    """A folder with all above it. Raises TrialError where it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrialError(f"cannot make {folder} ({error.strerror}): make room, then run the same command") from error


def write_ended(folder: Path, ended: Ended) -> None:
    """How the trial ended, as far as it can be written: on a full disk the trial's own files tell enough."""
    with suppress(OSError, TrialError):
        write_whole(folder / ENDED, ended.model_dump_json(indent=1))


def read_json(path: Path) -> dict[str, Any] | None:
    """An object in a file, None where there is none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None

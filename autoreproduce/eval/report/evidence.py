"""What a trial folder holds, read leniently: a damaged or missing file becomes a sentence, never a crash.

A report is most wanted for the trial that went wrong, so nothing here insists that a trial is whole.
"""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from autoreproduce.errors import AutoReproduceError
from autoreproduce.metrics_file import MAX_BYTES
from autoreproduce.task import Task
from autoreproduce.trial import Outcome, Step, TrialRecord
from autoreproduce.workspace import Workspace

Model = TypeVar("Model", bound=BaseModel)
STAGES = ("overall", "method", "experiment")
MAX_VERSIONS = 400


@dataclass(frozen=True)
class Summary:
    """One version of one summary."""

    stage: str
    version: int
    text: str


@dataclass(frozen=True)
class Commit:
    """One change of the program. `diff` is git's unified diff with its numstat before it."""

    name: str
    at: str
    subject: str
    why: str
    diff: str
    added: int
    removed: int


@dataclass
class Evidence:
    """Everything a report is drawn from. `problems` says what was missing or damaged."""

    folder: Path
    record: TrialRecord | None = None
    outcome: Outcome | None = None
    steps: list[Step] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    metrics_phase: str = ""
    paper: dict[str, Any] = field(default_factory=dict)
    sandbox: dict[str, Any] = field(default_factory=dict)
    summaries: list[Summary] = field(default_factory=list)
    facts: str = ""
    lineage: list[dict[str, Any]] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def task(self) -> Task | None:
        """The task as the trial's record keeps it, None where it cannot be had from there."""
        if self.record is None or not self.record.task_json:
            return None
        try:
            return Task.model_validate(self.record.task_json)
        except ValidationError:
            self.problems.append("trial.json holds no task that can be read: nothing is compared.")
            return None

    @property
    def last_phase(self) -> str:
        """The phase of the last finished step."""
        return self.steps[-1].phase if self.steps else ""


def gather(folder: Path) -> Evidence:
    """Read all of a trial folder."""
    found = Evidence(folder)
    found.record = _model(folder / "trial.json", TrialRecord, found.problems, "what this trial is, is not known")
    found.outcome = _model(folder / "outcome.json", Outcome, found.problems, "")
    found.steps = _steps(folder / "steps.jsonl", found.problems)
    found.metrics, found.metrics_phase = _metrics(folder, found.steps)
    found.summaries = _summaries(folder / "summaries")
    found.facts = own_text(folder / "facts.md") or own_text(folder / "facts.json") or ""
    found.paper = _paper(folder / "paper")
    found.sandbox = _object(folder / "sandbox.json")
    found.lineage = _lineage(found)
    found.commits = _commits(folder, found.problems)
    return found


def own_text(path: Path, limit: int = MAX_BYTES) -> str | None:
    """The text of a plain file of at most `limit` bytes, else None: a link could lead anywhere."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > limit:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _model(path: Path, kind: type[Model], problems: list[str], without: str) -> Model | None:
    text = own_text(path)
    if text is None:
        if without:
            problems.append(f"{path.name} is missing: {without}.")
        return None
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        problems.append(f"{path.name} is damaged ({error.errors()[0]['msg']}) and was left out.")
        return None


def _steps(path: Path, problems: list[str]) -> list[Step]:
    """The steps up to the first damage."""
    steps: list[Step] = []
    text = own_text(path, limit=1 << 30)
    if text is None:
        problems.append("steps.jsonl is missing: no step was finished.")
        return steps
    for line in text.split("\n"):
        try:
            if line:
                steps.append(Step.model_validate_json(line))
        except ValidationError:
            problems.append(f"steps.jsonl is damaged or cut off after {len(steps)} steps; what follows was left out.")
            break
    return steps


def _metrics(folder: Path, steps: list[Step]) -> tuple[dict[str, Any], str]:
    """metrics.json as far as it is JSON, and the phase whose run wrote it.

    The journal keeps the file of each run; a later run may have removed it from the workspace. The full
    run's counts; a dry run's is shown only where there is no other, and is named as such.
    """
    written = [(step.phase, _json(step.result.get("metrics_json"))) for step in steps if step.kind == "execute"]
    good = [(phase, value) for phase, value in written if isinstance(value, dict)]
    for phase, value in reversed(good):
        if phase == "full_run":
            return value, phase
    value = _json(own_text(folder / "workspace" / "metrics.json"))
    if isinstance(value, dict) and not good:
        return value, steps[-1].phase if steps else ""
    return (good[-1][1], good[-1][0]) if good else ({}, "")


def history(metrics: dict[str, Any]) -> list[dict[str, float | None]]:
    """The training history: finite numbers, None for what diverged; anything else is dropped."""
    rows = metrics.get("history")
    found: list[dict[str, float | None]] = []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict):
            found.append({str(key)[:60]: _finite(v) for key, v in row.items() if _is_number(v) or v is None})
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _finite(value: float | None) -> float | None:
    try:
        return float(value) if value is not None and math.isfinite(value) else None
    except OverflowError:  # a whole number of 400 digits
        return None


def _summaries(folder: Path) -> list[Summary]:
    """All versions, in the order of the stages."""
    found = []
    for path in folder.glob("*.md") if folder.is_dir() else ():
        match = re.fullmatch(r"(\w+)\.v(\d{1,6})", path.stem)
        text = own_text(path)
        if match and text is not None:
            found.append(Summary(match[1], int(match[2]), text))
    order = {stage: place for place, stage in enumerate(STAGES)}
    return sorted(found, key=lambda s: (order.get(s.stage, len(order)), s.stage, s.version))


def _paper(folder: Path) -> dict[str, Any]:
    """What reading the paper gave (title, source, note), without its text."""
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        value = _json(own_text(path))
        value = value.get("paper") if isinstance(value, dict) else None
        if isinstance(value, dict) and "source" in value:
            return {key: str(value[key]) for key in ("title", "source", "note") if value.get(key)}
    return {}


def _object(path: Path) -> dict[str, Any]:
    value = _json(own_text(path))
    return value if isinstance(value, dict) else {}


def _json(text: str | None) -> Any:
    """The value of a JSON text, None where it is none."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _lineage(found: Evidence) -> list[dict[str, Any]]:
    if found.outcome is not None and found.outcome.lineage:
        return found.outcome.lineage
    value = _json(own_text(found.folder / "lineage.json"))
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _commits(folder: Path, problems: list[str]) -> list[Commit]:
    """The program's versions, oldest first, from the history that lies beside the workspace."""
    space = Workspace(folder)
    if not (space.history / "HEAD").exists() or not space.folder.is_dir():
        return []
    try:
        log = space.git("log", "--reverse", "-z", "--format=%H%x00%cI%x00%s%x00%b", f"-{MAX_VERSIONS}")
        fields = log.split("\0")
        rows = [fields[at : at + 4] for at in range(0, len(fields) - 3, 4)]
        commits = [_commit(space, *row) for row in rows]
    except (AutoReproduceError, OSError) as error:
        problems.append(f"The program's history cannot be read ({error}).")
        return []
    return [commit for commit in commits if commit.diff]


def _commit(space: Workspace, name: str, at: str, subject: str, why: str) -> Commit:
    diff = space.git("show", "--format=", "--patch", "--no-color", "--no-ext-diff", "--no-textconv", name)
    lines = diff.split("\n")
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    reason = "" if why.strip() == "-" else why.strip()
    return Commit(name, at, subject, reason, diff, added, removed)


def tracked_files(folder: Path) -> dict[str, str]:
    """The program as last committed: path -> text. Links and paths that lead out are left out.

    Raises TrialError where the history cannot be read.
    """
    space = Workspace(folder)
    if not (space.history / "HEAD").exists():
        return {}
    files = {}
    for line in space.git("ls-tree", "-r", "-z", "HEAD").split("\0"):
        mode, _, rest = line.partition(" ")
        path = rest.partition("\t")[2]
        if mode in ("100644", "100755") and os.path.normpath(path) == path and not path.startswith(("/", "..")):
            files[path] = space.git("show", f"HEAD:{path}")
    return files

"""What a trial folder holds, read leniently: a damaged file becomes a sentence, never a crash.

A report is most wanted for the trial that went wrong, so nothing here insists that a trial is
whole.
"""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autoreproduce.claims.choices import CHOICES, Choice, parse_choices
from autoreproduce.claims.verdicts.trial_verdict import TrialVerdict, claims_problem
from autoreproduce.errors import SandboxError, UsageError
from autoreproduce.evaluation.report.versions import Commit, read_commits
from autoreproduce.files.bounded import LARGEST_JSON, is_number, parse_json
from autoreproduce.files.shared import read_plain
from autoreproduce.files.tree import Tree
from autoreproduce.papers.model import Paper
from autoreproduce.task import Task
from autoreproduce.trials.chain import result_warning
from autoreproduce.trials.folders import refuse_links
from autoreproduce.trials.journal_reader import parse_journal
from autoreproduce.trials.metrics_file import MAX_BYTES
from autoreproduce.trials.result import Result
from autoreproduce.trials.steps import ExecutionResult
from autoreproduce.trials.summary import TrialSummary, own_text, read_json
from autoreproduce.trials.trial import Step, TrialRecord

STAGES = ("overall", "method", "experiment")


@dataclass(frozen=True)
class SummaryVersion:
    """One version of one summary."""

    stage: str
    version: int
    text: str


@dataclass
class Evidence:
    """Everything a report is drawn from. `problems` says what was missing or damaged."""

    folder: Path
    record: TrialRecord | None = None
    result: Result | None = None
    steps: list[Step] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    metrics_phase: str = ""
    paper: dict[str, Any] = field(default_factory=dict)
    sandbox: dict[str, Any] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)
    summaries: list[SummaryVersion] = field(default_factory=list)
    facts: str = ""
    lineage: list[dict[str, Any]] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> TrialVerdict | None:
        """What was made of the paper's claims; None where nothing was judged."""
        return self.result.claims if self.result else None

    def task(self) -> Task | None:
        """The task as the trial's record keeps it, None if it cannot be read there."""
        return self.record.stored_task() if self.record is not None else None

    @property
    def last_phase(self) -> str:
        """The phase of the last finished step."""
        return self.steps[-1].phase if self.steps else ""


def gather(folder: Path, versions: bool = True) -> Evidence:
    """Read all of a trial folder; without `versions` not the commits, each of which asks git."""
    found = Evidence(folder)
    trial = TrialSummary(folder, found.problems)
    found.record = trial.record
    if found.record is None and not found.problems:
        found.problems.append("trial.json is missing: nothing says what this trial is.")
    found.result = trial.result
    if warning := result_warning(folder):
        found.problems.append(f"{warning}; this page may not show what happened.")
    if found.verdict is not None and (problem := claims_problem(folder, found.verdict)):
        found.problems.append(problem)
    found.steps = _read_steps(folder / "steps.jsonl", found.problems)
    found.metrics, found.metrics_phase = _metrics_and_phase(folder, found.steps)
    found.choices = read_choices(folder, found.problems)
    found.summaries = _read_summaries(folder / "summaries")
    found.facts = own_text(folder / "facts.md") or own_text(folder / "facts.json") or ""
    found.paper = _paper_facts(folder / "paper")
    found.sandbox = read_json(folder / "sandbox.json") or {}
    found.lineage = _lineage_entries(found)
    found.commits = read_commits(folder, found.problems) if versions else []
    return found


def gather_to_write(folder: Path) -> Evidence:
    """`gather` of a folder that is then written to. Raises UsageError if there is none, TrialError
    for a link in it.
    """
    if not folder.is_dir():
        raise UsageError(
            f"{folder} isn't a folder", fix="name a trial's folder, such as one below runs/"
        )
    refuse_links(folder)
    return gather(folder)


def text_in(tree: Tree, name: str, limit: int = MAX_BYTES) -> str | None:
    """The same of a file that a program may have written."""
    try:
        return tree.read_text(name, limit)
    except (FileNotFoundError, SandboxError):
        return None


def _read_steps(path: Path, problems: list[str]) -> list[Step]:
    """The steps up to the first damage; an altered journal is one of the problems."""
    text = own_text(path, limit=1 << 30)
    if text is None:
        problems.append("steps.jsonl is missing: no step was finished.")
        return []
    parsed = parse_journal((line.encode() for line in text.split("\n") if line), path)
    if parsed.damage:
        problems.append(
            f"steps.jsonl is damaged or cut off after {len(parsed.steps)} steps; the rest was left "
            "out."
        )
    if broken := parsed.broken:
        problems.append(f"{broken[0].upper()}{broken[1:]}; this page may not show what happened.")
    return parsed.steps


def _metrics_and_phase(folder: Path, steps: list[Step]) -> tuple[dict[str, Any], str]:
    """metrics.json as far as it is JSON, and the phase whose run wrote it.

    The journal keeps the file of each run; a later run may have removed it from the workspace. The
    full run's counts; a dry run's is shown only if there was no full run, and is named as such.
    """
    written = [
        (step.phase, _json_value(step.result.metrics_json))
        for step in steps
        if isinstance(step.result, ExecutionResult)
    ]
    in_full = any(phase == "full_run" for phase, _ in written)
    wanted = [(p, value) for p, value in written if p == "full_run" or not in_full]
    good = [(phase, value) for phase, value in wanted if isinstance(value, dict)]
    value = _json_value(text_in(Tree(folder / "workspace"), "metrics.json"))
    if isinstance(value, dict) and not good:  # a run removes the file of the one before it
        return value, "full_run" if in_full else steps[-1].phase if steps else ""
    return (good[-1][1], good[-1][0]) if good else ({}, "")


def read_choices(folder: Path, problems: list[str]) -> list[Choice]:
    """The choices with what was seen of each; [] of a damaged file, which is a problem."""
    try:
        return parse_choices(own_text(folder / CHOICES) or "[]")
    except ValueError:
        problems.append(f"{CHOICES} is damaged and was left out.")
        return []


def history(metrics: dict[str, Any]) -> list[dict[str, float | None]]:
    """The training history: finite numbers, None for what diverged; anything else is dropped."""
    rows = metrics.get("history")
    found: list[dict[str, float | None]] = []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict):
            found.append(
                {
                    str(key)[:60]: _finite_or_none(v)
                    for key, v in row.items()
                    if is_number(v) or v is None
                }
            )
    return found


def _finite_or_none(value: float | None) -> float | None:
    try:
        return float(value) if value is not None and math.isfinite(value) else None
    except OverflowError:  # a whole number of 400 digits
        return None


def _read_summaries(folder: Path) -> list[SummaryVersion]:
    """All versions, in the order of the stages."""
    found = []
    for path in folder.glob("*.md") if folder.is_dir() else ():
        match = re.fullmatch(r"(\w+)\.v(\d{1,6})", path.stem)
        text = own_text(path)
        if match and text is not None:
            found.append(SummaryVersion(match[1], int(match[2]), text))
    order = {stage: place for place, stage in enumerate(STAGES)}
    return sorted(found, key=lambda s: (order.get(s.stage, len(order)), s.stage, s.version))


def _paper_facts(folder: Path) -> dict[str, Any]:
    """What reading the paper gave (title, source, note), without its text."""
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        value = (read_json(path) or {}).get("paper")
        if isinstance(value, dict) and "source" in value:
            return {key: str(value[key]) for key in ("title", "source", "note") if value.get(key)}
    return {}


def _json_value(text: str | None) -> Any:
    """The value of a JSON text, None if it is none."""
    try:
        return parse_json(text) if text else None
    except ValueError:
        return None


def _lineage_entries(found: Evidence) -> list[dict[str, Any]]:
    if found.result is not None and found.result.lineage:
        return found.result.lineage
    value = _json_value(own_text(found.folder / "lineage.json"))
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def stored_paper(folder: Path) -> Paper | None:
    """The paper as the trial in `folder` read it; None if it kept none that can be read."""
    try:
        stored = parse_json(read_plain(folder / "paper/paper.json", LARGEST_JSON))
        return Paper.model_validate(stored["paper"])
    except (OSError, UsageError, ValueError, KeyError, TypeError):
        return None

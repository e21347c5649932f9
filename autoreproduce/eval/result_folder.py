"""The result as a folder that a person would keep: the program, its requirements, its numbers, a README.

The program is taken from its last commit, not from the workspace, where a running program could have
changed or linked its files. A metrics.json comes along only if a run in full wrote it: a dry run's
numbers beside a finished-looking program would mislead. The folder is not emptied first, so what a person
added to it stays.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autoreproduce.errors import TrialError, UsageError
from autoreproduce.eval.report import comparison
from autoreproduce.eval.report.evidence import Evidence, gather, own_text, tracked_files
from autoreproduce.eval.report.packages import requirements
from autoreproduce.eval.report.page import banners, environment
from autoreproduce.eval.report.verdict import metric_name, verdict
from autoreproduce.eval.report.wording import clean
from autoreproduce.journal import write_whole
from autoreproduce.task import Task

MAX_FILE = 2_000_000


def write_result(trial_folder: Path, task: Task | None, found: Evidence | None = None) -> Path:
    """Write `result/` into a trial's folder and return its path; a failed trial's says that it failed.

    `found` spares reading the folder again.
    Raises UsageError where the folder does not exist, TrialError where a file cannot be written.
    """
    if not trial_folder.is_dir():
        raise UsageError(f"{trial_folder} is no folder: name a trial's folder, such as one below runs/")
    found = found or gather(trial_folder)
    task = task or found.task()
    program = _program(trial_folder)
    contents = dict(program)
    contents["requirements.txt"] = _requirements(found, program)
    metrics = _metrics(found)
    if metrics is not None:
        contents["metrics.json"] = metrics
    contents["README.md"] = _readme(found, task, sorted(contents), _command(found, program))
    folder = trial_folder / "result"
    for name, text in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode("utf-8", "replace").decode())
    return folder


def _program(trial_folder: Path) -> dict[str, str]:
    """The program's Python files: as last committed, or as they lie there where a solver keeps no history."""
    try:
        committed = tracked_files(trial_folder)
    except (TrialError, OSError):
        committed = {}
    if committed:
        return {name: text for name, text in committed.items() if name.endswith(".py")}
    space = trial_folder / "workspace"
    texts = {str(path.relative_to(space)): own_text(path, MAX_FILE) for path in sorted(space.glob("*.py"))}
    return {name: text for name, text in texts.items() if text is not None}


def _requirements(found: Evidence, program: dict[str, str]) -> str:
    recorded = found.record.versions if found.record else {}
    lines = requirements(program, found.steps, recorded)
    return "".join(f"{line}\n" for line in lines) or "# the program imports nothing but the standard library\n"


def _metrics(found: Evidence) -> str | None:
    """The metrics.json of the run in full, as it was written."""
    for step in reversed(found.steps):
        text = step.result.get("metrics_json")
        if step.phase == "full_run" and step.kind == "execute" and isinstance(text, str):
            return text
    if found.metrics_phase == "full_run":
        return own_text(found.folder / "workspace" / "metrics.json")
    return None


def _command(found: Evidence, program: dict[str, str]) -> str:
    """The command of the last run in full, "" where there was none or it has nothing to run."""
    commands = [s.result.get("command") for s in found.steps if s.phase == "full_run" and s.kind == "execute"]
    return str(commands[-1]) if commands and commands[-1] and program else ""


def _readme(found: Evidence, task: Task | None, names: list[str], command: str) -> str:
    title = (task.title if task else "") or found.paper.get("title") or (found.record.task if found.record else "")
    text: Any = environment().get_template("README.md.j2").render(
        found=found,
        task=task,
        record=found.record,
        outcome=found.outcome,
        title=f"Reproduction of {title}" if title else "A reproduction",
        verdict=verdict(found.outcome, task, found.last_phase),
        metric=metric_name(found.outcome, task),
        banners=banners(found, task),
        rows=comparison.rows(found.outcome, task),
        names=[clean(name) for name in names],
        has_metrics="metrics.json" in names,
        command=command,
    )  # fmt: skip
    return str(text)

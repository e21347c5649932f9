"""The workbench: what the phases of code development share.

The program is `data.py`, `method.py` and `main.py` in the workspace, beside the task's `preprocess.py`. A file
that a phase has finished is shown to the next ones; a phase works on its own file and may mend the others.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from autoreproduce import Execution
from autoreproduce.commands import Bash, Edit, apply_edit, edit_stat
from autoreproduce.errors import CommandError
from autoreproduce.sandboxes.policy import check_install

if TYPE_CHECKING:
    from autoreproduce import Sandbox
    from autoreproduce.agents import Agent
    from autoreproduce.config import Settings
    from autoreproduce.literature_review import Summaries
    from autoreproduce.task import Task
    from autoreproduce.trial import Trial
    from autoreproduce.workspace import Workspace

METRICS = "metrics.json"
PREDICTIONS = "predictions.npz"
NO_EDITS = {"turns": 0, "added": 0, "removed": 0}
SHOWN = 3_000  # characters of output that a prompt holds
INSTALL_SECONDS = 900.0


@dataclass
class Run:
    """One execution and the files it left, as the journal keeps it."""

    execution: Execution
    metrics_json: str | None = None
    predictions: str | None = None  # SHA-256, None where there is no such file

    @property
    def command(self) -> str:
        """The command line."""
        return self.execution.command

    @property
    def report(self) -> str:
        """What a prompt shows: how it ended, and the end of what it printed."""
        e = self.execution
        how = f"stopped at its limit ({e.stopped}) after {e.seconds:.0f} s" if e.stopped else f"exit code {e.exit_code}"
        parts = [
            how,
            *(
                f"{name}:\n~~~\n{_end(text)}\n~~~"
                for name, text in (("stdout", e.stdout), ("stderr", e.stderr))
                if text.strip()
            ),
        ]
        return "\n".join(parts)


@dataclass
class Bench:
    """One trial's program in the making."""

    task: Task
    settings: Settings
    research: Agent
    code: Agent
    sandbox: Sandbox
    trial: Trial
    workspace: Workspace
    summaries: Summaries
    lineage: str = ""
    facts: str = ""
    files: dict[str, str] = field(default_factory=dict)
    edits: dict[str, dict[str, int]] = field(default_factory=dict)
    results: tuple[str, ...] = (METRICS, PREDICTIONS)  # files of an earlier run that are removed before the next
    seconds: Callable[[], float] | None = None  # that a run may take; a mini-batch's where there is none
    over: Callable[[], str] = lambda: ""  # the limit that ends the attempt before its tries are used up

    @property
    def run_seconds(self) -> float:
        """Seconds that the next run may take."""
        return self.seconds() if self.seconds else self.settings.dry_run_seconds

    def write(self, files: dict[str, str], subject: str, why: str = "") -> None:
        """Set files' text; on disk and as a commit unless the journal still answers (then it was done)."""
        self.files.update(files)
        if not self.trial.replaying:
            self.workspace.commit(files, f"{self.trial.phase_name}: {subject}", why)

    def edit(self, edit: Edit, default: str, why: str) -> None:
        """Carry out an EDIT. Raises CommandError where the file or the lines do not exist."""
        name = edit.path or default
        if edit.path and name not in self.files and edit.first != 1:
            raise CommandError(f"there is no file {name}: the files are {', '.join(sorted(self.files))}")
        if name == "preprocess.py":
            raise CommandError("preprocess.py is given and cannot be changed")
        before = self.files.get(name, "")
        after = apply_edit(before, edit)
        stat, counts = edit_stat(before, edit), self.edits.setdefault(self.trial.phase_name, dict(NO_EDITS))
        for key, amount in (("turns", 1), ("added", stat.added), ("removed", stat.removed)):
            counts[key] += amount  # as in the paper's Table 6
        self.write({name: after}, f"EDIT {edit.first} {edit.last} {name}", why)

    def run(self, command: str, seconds: float, name: str) -> Run:
        """Run the program as a step. Result files of an earlier run are removed first."""
        asked = {"command": command, "files": self.files, "seconds": seconds}
        step = self.trial.step("execute", "sandbox", name, asked, lambda: self._execute(command, seconds))
        known = {key: step.result[key] for key in Execution.__dataclass_fields__}
        return Run(Execution(**known), step.result["metrics_json"], step.result["predictions"])

    def _execute(self, command: str, seconds: float) -> dict[str, Any]:
        folder = self.workspace.folder
        for name in self.results:
            (folder / name).unlink(missing_ok=True)
        execution = self.sandbox.execute(command, seconds, on_output=self.trial.output)
        metrics, predictions = folder / METRICS, folder / PREDICTIONS
        small = metrics.is_file() and not metrics.is_symlink() and metrics.stat().st_size < 5_000_000
        saved = predictions.is_file() and not predictions.is_symlink()
        return {
            **asdict(execution),
            "stdout": self._without_host(execution.stdout),
            "stderr": self._without_host(execution.stderr),
            "metrics_json": metrics.read_text(errors="replace") if small else None,
            "predictions": _sha256(predictions) if saved else None,
        }

    def _install(self, command: str) -> Execution:
        return self.sandbox.execute(command, INSTALL_SECONDS, network=True, on_output=self.trial.output)

    def _without_host(self, text: str) -> str:
        """The text with this machine's folders named as in a container: no prompt holds a user's paths."""
        names = {self.workspace.folder: "/workspace", self.task.data_dir: "/data", sys.prefix: "/opt/venv"}
        for folder, name in names.items():
            text = text.replace(str(folder), name) if folder else text
        return text

    def install(self, bash: Bash) -> str:
        """Install a package as the policy allows; what is shown to the agent. Raises CommandError where refused."""
        command = check_install(bash.command, self.settings.allow_install)
        replayed = self.trial.replaying
        step = self.trial.step("install", "sandbox", "install", command, lambda: asdict(self._install(command)))
        if replayed and self.trial.moved and step.result["exit_code"] == 0:
            self._install(command)
        ended = "installed" if step.result["exit_code"] == 0 else f"failed: {_end(step.result['stderr'], 800)}"
        return f"`{command}` {ended}"


def _end(text: str, most: int = SHOWN) -> str:
    """The end of a text, where tracebacks are, with a word on what is left out."""
    text = text.rstrip()
    return text if len(text) <= most else f"[{len(text) - most} characters before this left out]\n{text[-most:]}"


def _sha256(path: Any) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

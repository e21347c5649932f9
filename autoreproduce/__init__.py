"""autoreproduce turns a paper into code that runs and reaches the paper's number.

This module holds the contracts and nothing that runs. A folder bears the name of the contract that its
files implement: `solvers/`, `sandboxes/`, `eval/scorers/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from autoreproduce.task import Task
    from autoreproduce.trial import Trial

__version__ = "0.1.0"

Stopped = Literal["", "timeout", "memory", "output", "processes", "disk", "killed"]


@dataclass(frozen=True)
class Execution:
    """What came of one command in a sandbox.

    `exit_code` decides whether it worked: text on stderr does not. `stopped` names the limit that ended
    it, "" where it ended by itself; a command that was stopped has a non-zero `exit_code`. `stdout` and
    `stderr` keep head and tail of long output, with a line between that says how many bytes are missing.
    """

    command: str
    exit_code: int
    stdout: str
    stderr: str
    seconds: float
    stopped: Stopped = ""

    @property
    def ok(self) -> bool:
        """True where the command ended by itself with exit code 0."""
        return self.exit_code == 0 and not self.stopped


class Sandbox(Protocol):
    """Where code that a model wrote runs. `/workspace` (or the folder itself) is the trial's workspace.

    Environment inside: `DATA_DIR` is the folder with the task's data (read-only where the sandbox can),
    `HOME` an empty folder, `PYTHONPATH` the folder of installed packages, OMP_NUM_THREADS the number of
    processors allowed. No variable of the caller's environment is passed on.
    """

    name: str
    promises: str  # one sentence: what this sandbox keeps a program from doing

    def execute(
        self,
        command: str,
        timeout: float,
        *,
        network: bool = False,
        on_output: Callable[[str], None] | None = None,
    ) -> Execution:
        """Run `command` (a bash line) in the workspace for at most `timeout` seconds.

        Whatever the program does, this returns within `timeout` + 5 s and leaves no process behind.
        `network` is for installing packages alone. `on_output` gets the output's text as it comes.
        Raises SandboxError where the sandbox itself failed.
        """
        ...

    def read(self, path: str) -> bytes:
        """The content of a workspace file. Raises FileNotFoundError; refuses a path outside with SandboxError."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Write a workspace file, making its folders. Refuses a path outside with SandboxError."""
        ...

    def close(self) -> None:
        """Stop everything that runs and remove what the sandbox made outside the workspace."""
        ...


class Solver(Protocol):
    """What attempts a Task: it leaves its submission in the trial's folder, and a status whatever happens."""

    def solve(self, task: Task, model: Any, sandbox: Sandbox, trial: Trial) -> None:
        """Attempt `task`. A bad attempt is data: it ends with a status and a reason, not an exception."""
        ...


@dataclass(frozen=True)
class Score:
    """One scorer's answer. `value` is None where it could not score, and then `reason` says why."""

    scorer: str
    value: float | None
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)


class Scorer(Protocol):
    """Reads a finished trial folder; runs nothing of the trial again."""

    name: str

    def score(self, trial: Trial, task: Task) -> Score:
        """Score the trial from its files alone."""
        ...


class Observer(Protocol):
    """Who watches a trial: the terminal view, the plain log, the JSON lines."""

    def phase(self, name: str) -> None:
        """A phase begins."""
        ...

    def step(self, step: Any, replayed: bool) -> None:
        """A step (`trial.Step`) ended; `replayed` where it was read from the journal."""
        ...

    def output(self, text: str) -> None:
        """The running program printed `text`."""
        ...

    def note(self, text: str) -> None:
        """Something the user should know, one line."""
        ...

"""What crosses every room: a sandbox and what ran in it, a submission, a score.

The other contracts are where their tables are: `Solver` in `solvers`, `Benchmark` in
`benchmarks`, `Scorer` in `evaluation.scorers`, and `Observer` beside the steps that it is shown.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "0.1.0"  # of this package
Stopped = Literal["", "timeout", "memory", "output", "processes", "disk", "killed", "interrupted"]


@dataclass(frozen=True)
class Execution:
    """What came of one command in a sandbox.

    `exit_code` decides whether it worked: text on stderr does not. `stopped` names the limit that
    ended it, "" where it ended by itself; a command that was stopped has a non-zero `exit_code`.
    `stdout` and `stderr` keep head and tail of long output, with a line between that says how many
    bytes are missing. What only a sandbox on this machine's kernel can tell is None elsewhere:
    `cpu_seconds` of processor, and `files_opened`, the files of the data folder that were opened.
    `decoys`: decoys lay in place of the test targets, in a `draw` that did not exist before if its
    seed is given (`sandboxes.counted_run`). `unwritten`: result files that were looked for, lay
    there before the run, and were not written by it.
    """

    command: str
    exit_code: int
    stdout: str
    stderr: str
    seconds: float
    stopped: Stopped = ""
    cpu_seconds: float | None = None
    files_opened: int | None = None
    decoys: bool = False
    draw: str = ""
    unwritten: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True where the command ended by itself with exit code 0."""
        return self.exit_code == 0 and not self.stopped


class RunInterruptedError(KeyboardInterrupt):
    """The user ended a command that ran in a sandbox; `execution` is what came of it until then."""

    def __init__(self, execution: Execution) -> None:
        super().__init__()
        self.execution = execution


@dataclass(frozen=True)
class Packages:
    """Packages to install: names with extras and versions, and options of pip (`--upgrade`).

    They may come from others' files, so whoever makes one gets UsageError for anything else.
    `python`: the version (`3.8`) under which programs run from then on, with these packages alone;
    "" is the sandbox's own, beside whose packages these are installed. `before`: a date, as
    2019-05-01, from which on no version is taken that an index got.
    """

    requirements: tuple[str, ...]
    options: tuple[str, ...] = ()
    python: str = ""
    before: str = ""

    def __post_init__(self) -> None:
        from autoreproduce.files.handed_over import check_packages

        check_packages(self.requirements, self.options)

    @property
    def command(self) -> str:
        """The bash line that installs them, as a person writes it."""
        return shlex.join(["python", "-m", "pip", "install", *self.options, *self.requirements])

    @property
    def arguments(self) -> list[str]:
        """What pip is given after `install`."""
        return [*self.options, "--", *self.requirements]


class Sandbox(Protocol):
    """Where code that a model wrote runs. `/workspace` (or the folder itself) is the trial's
    workspace.

    Environment inside: `DATA_DIR` is the folder with the task's data (read-only where the sandbox
    can), `HOME` an empty folder, `PYTHONPATH` the folder of installed packages, OMP_NUM_THREADS the
    number of processors allowed. No variable of the caller's environment is passed on.
    """

    name: str
    promises: str  # one sentence: what this sandbox keeps a program from doing

    def execute(
        self,
        command: str,
        timeout: float,
        *,
        on_output: Callable[[str], None] | None = None,
        mounts: Mapping[str, Path] | None = None,
    ) -> Execution:
        """Run `command` (a bash line) in the workspace for at most `timeout` seconds.

        Whatever the program does, this returns within `timeout` + 5 s and leaves no process behind.
        There is no network. `on_output` gets the output's text as it comes, and "" a few times a
        second while the program runs; an exception that it raises ends the program, and is passed
        on. `mounts` are host folders that this command alone sees, read-only, by their paths
        inside. Raises SandboxError where the sandbox itself failed, or cannot mount.
        """
        ...

    def install(
        self, packages: Packages, timeout: float, *, on_output: Callable[[str], None] | None = None
    ) -> Execution:
        """Install packages and all that they need beside what the sandbox has, from wheels alone.

        Wheels are fetched outside and installed inside without a network. A package without a wheel
        is a failure of the command, whose stderr names what can be done.
        """
        ...

    def read(self, path: str) -> bytes:
        """The content of a workspace file. Raises FileNotFoundError; refuses a path outside with
        SandboxError.
        """
        ...

    def write(self, path: str, data: bytes) -> None:
        """Write a workspace file, making its folders. Refuses a path outside with SandboxError."""
        ...

    def close(self) -> None:
        """Stop everything that runs and remove what the sandbox made outside the workspace."""
        ...


Need = str  # "model", "tools", "reference", or what a plugin's tasks ask for (`Plugin.asks`)


@dataclass(frozen=True)
class Submission:
    """What a solver leaves beside the files of its workspace: how its attempt ended.

    `complete` says that the work is done and can be measured; a `failed` one is not. `run` is the
    run in full, None where the solver made none. `answer` is what the solver reports itself
    (masked functions); it is never believed, only compared. `metric_from`: where a program from
    outside wrote its numbers (`trials.program_output`), empty for metrics.json. The rest goes into
    the outcome as it is: `phases` by name, `edits` by phase (turns, added, removed), entries of a
    lineage, warnings, `not_reproduced` (what a reader
    might believe was reproduced and was not),
    `details`.
    """

    status: Literal["complete", "failed"]
    reason: str
    phase: str
    run: Execution | None = None
    answer: Any = None
    metric_from: Sequence[str] = ()
    measurable: bool = True  # False where nothing is left to measure: a lineage alone
    phases: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    edits: Mapping[str, dict[str, int]] = field(default_factory=dict)
    lineage: Sequence[dict[str, Any]] = ()
    warnings: Sequence[str] = ()
    not_reproduced: Sequence[str] = ()
    audit: Any = None  # a `claims.differences.Audit`, of code that was there already
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Score:
    """One scorer's answer. `value` is None where it could not score, and then `reason` says why."""

    scorer: str
    value: float | None
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)

"""autoreproduce turns a paper into code that runs and reaches the paper's number.

This module holds the contracts, and the functions of the Python API, which are imported when they
are first used: `from autoreproduce import reproduce, score, grade, run_suite`. A folder bears the
name of the contract that its files implement: `solvers/`, `sandboxes/`, `benchmarks/`,
`evaluation/scorers/`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from autoreproduce.models import Models
    from autoreproduce.runner.api import reproduce as reproduce
    from autoreproduce.runner.api import run_suite as run_suite
    from autoreproduce.runner.api import score as score
    from autoreproduce.sandboxes.setup import SandboxSetup
    from autoreproduce.task import Task
    from autoreproduce.trials.measurement import Measurement
    from autoreproduce.trials.steps import Step
    from autoreproduce.trials.trial import Trial

__version__ = "0.1.0"
API = ("reproduce", "score", "run_suite")


def __getattr__(name: str) -> Any:
    """A function of the API, ours or a plugin's, imported now."""
    from pkgutil import resolve_name

    if name in API:
        return resolve_name(f"autoreproduce.runner.api:{name}")
    from autoreproduce.plugins import table

    if name.startswith("_") or name not in (places := table("api")):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(places[name])


def __dir__() -> list[str]:
    return [*globals(), *API]


Stopped = Literal["", "timeout", "memory", "output", "processes", "disk", "killed"]


@dataclass(frozen=True)
class Execution:
    """What came of one command in a sandbox.

    `exit_code` decides whether it worked: text on stderr does not. `stopped` names the limit that
    ended it, "" where it ended by itself; a command that was stopped has a non-zero `exit_code`.
    `stdout` and `stderr` keep head and tail of long output, with a line between that says how many
    bytes are missing. What only a sandbox on this machine's kernel can tell is None elsewhere:
    `cpu_seconds` of processor, and `files_opened`, the files of the data folder that were opened.
    `decoys`: decoys lay in place of the test targets (`sandboxes.counted`).
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

    @property
    def ok(self) -> bool:
        """True where the command ended by itself with exit code 0."""
        return self.exit_code == 0 and not self.stopped


@dataclass(frozen=True)
class Packages:
    """Packages to install: names with extras and versions, and options of pip (`--upgrade`)."""

    requirements: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The bash line that installs them."""
        return shlex.join(["python", "-m", "pip", "install", *self.options, *self.requirements])


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


Need = Literal["model", "functions", "reference"]


@dataclass(frozen=True)
class Submission:
    """What a solver leaves beside the files of its workspace: how its attempt ended.

    `complete` says that the work is done and can be measured; a `failed` one is not. `run` is the
    run in full, None where the solver made none. `answer` is what the solver reports itself
    (masked functions); it is never believed, only compared. `metric_from`: where a program from
    outside wrote its numbers (`trials.metric_source`), empty for metrics.json. The rest goes into
    the outcome as it is: `phases` by name, `edits` by phase (turns, added, removed), entries of a
    lineage, warnings, `not_reproduced` (what a reader might believe was reproduced and was not),
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
    details: Mapping[str, Any] = field(default_factory=dict)


class Solver(Protocol):
    """What attempts a Task. It leaves a submission, and never an outcome: others measure it.

    `needs` is the class's own word on what must be there. "model": the chat models of `models`;
    without it none is opened. "functions": a task with masked functions. "reference": the task's
    own reference implementation, which is all that it runs.
    """

    needs: frozenset[Need]

    def solve(self, task: Task, models: Models, sandbox: Sandbox, trial: Trial) -> Submission:
        """Attempt `task` in the trial's workspace. A bad attempt is data, and not an exception."""
        ...


class Benchmark(Protocol):
    """Names tasks, loads one, prepares its data, measures what was submitted.

    `Options` is the schema of what a suite may say of it (a pydantic model that forbids what it
    does not know); the class is made with such a model. A task bears the benchmark's name and
    those options that it needs to be loaded again (`Task.benchmark`, `Task.benchmark_options`).
    A class may also name, as "module:Name": `method`, how our own method attempts a task that
    asks for something other than a program; `suite_page`, what a suite's page shows of its trials;
    and `dataset_option`, the option that --dataset sets.
    """

    Options: type[Any]

    def names(self) -> list[str]:
        """The tasks that a suite of all of them attempts."""
        ...

    def load(self, name: str, profile: str) -> Task:
        """One task under a profile, without its data. Raises UsageError for an unknown one."""
        ...

    def prepare(
        self, task: Task, cache: Path, note: Callable[[str], None], given: Path | None = None
    ) -> Task:
        """The task with `data_dir` if it has data, made below `cache` once a machine.

        `given`: a folder of data that the user has, of which what is published is checked. Raises
        UsageError if the data cannot be had.
        """
        ...

    def ready(self, task: Task, sandboxes: SandboxSetup) -> SandboxSetup:
        """The sandboxes in which the task is attempted and measured, before a model is asked.

        Raises NotScoredError if the task cannot be scored on this machine, whoever attempts it.
        """
        ...

    def measure(
        self, task: Task, submission: Submission, trial: Trial, sandboxes: SandboxSetup
    ) -> Measurement:
        """What the submission in the trial's workspace came to; a failed one is not measured.

        `sandboxes` opens a fresh sandbox where something must be run again. Raises SandboxError
        where none works; whatever is wrong with the submission is a reason, and no exception.
        """
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

    def step(self, step: Step, replayed: bool) -> None:
        """A step ended; `replayed` if it was read from the journal."""
        ...

    def output(self, text: str) -> None:
        """The running program printed `text`, "" where it only runs on."""
        ...

    def note(self, text: str) -> None:
        """Something the user should know, one line."""
        ...

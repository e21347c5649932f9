"""The workbench: what the phases of code development (the paper's section 3.3) share.

The program is `data.py`, `method.py` and `main.py` in the workspace, beside the task's
`preprocess.py`. A file that a phase has finished is shown to the next ones; a phase works on its
own file and may fix the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from autoreproduce.agents.commands import Bash, Edit
from autoreproduce.agents.listing import apply_edits, edit_stat, file_lines
from autoreproduce.claims.withholding import Withholding
from autoreproduce.contracts import Execution, Packages
from autoreproduce.errors import CommandError
from autoreproduce.sandboxes.counted_run import draw_for
from autoreproduce.sandboxes.policy import check_install
from autoreproduce.trials.interrupted import BY_THE_USER, counted_run, discard
from autoreproduce.trials.run import METRICS, PREDICTIONS, Run, run_program
from autoreproduce.trials.steps import ExecutionResult, InstallResult, tail

if TYPE_CHECKING:
    from autoreproduce.agents.agent import Agent
    from autoreproduce.agents.commands import Parsed
    from autoreproduce.claims.choices import Choice
    from autoreproduce.claims.claim import Claim
    from autoreproduce.claims.differences import Audit
    from autoreproduce.claims.readings import OpenChoice, Taken
    from autoreproduce.config import Settings
    from autoreproduce.contracts import Sandbox
    from autoreproduce.method.literature_review import Summaries
    from autoreproduce.method.paper_notes import PaperNote
    from autoreproduce.method.starting_code import StartingCode
    from autoreproduce.task import Task
    from autoreproduce.trials.trial import Trial
    from autoreproduce.trials.workspace import Workspace

CHECKLIST = "checklist"  # its stage among the summaries, where prompts hold the paper
NO_EDITS = {"turns": 0, "added": 0, "removed": 0}
INSTALL_SECONDS = 900.0
NO_PACKAGES = "packages cannot be installed here: the rest of the code runs with those there are"


class Coder(Protocol):
    """Who writes the program from TASK.md, where that isn't the EDIT loop; `name` is that which the
    user gave (`tools`, `agent:NAME`).

    One has its module in `solvers/` (`tool_coder`), a plugin adds a kind by `Plugin.coder_kinds`.
    """

    name: str
    folder: str  # in the workspace, of the program that it leaves

    def work(self, bench: Workbench, request: str = "") -> str:
        """Write the program, or do what is requested; how that ended, in words.

        What lies in the workspace then is the program. Raises what must end the trial.
        """
        ...

    def notes(self) -> list[str]:
        """What a reader of the result must know of its work."""
        ...


@dataclass
class Workbench:
    """One trial's program in the making."""

    task: Task
    settings: Settings
    research: Agent
    code: Agent
    sandbox: Sandbox
    trial: Trial
    workspace: Workspace
    summaries: Summaries
    blank: Withholding = field(default_factory=Withholding)  # what the paper claims, from a text
    to_measure: Sequence[Claim] = ()  # beside the task's metrics
    paper: str = ""  # its text, of which reviews see passages
    reads_paper: bool = False  # all prompts begin with it, results withheld: there are no summaries
    expectations: list[str] = field(default_factory=list)  # what must hold in a right program
    paper_notes: list[PaperNote] = field(default_factory=list)  # for whoever reads the report
    choices: list[Choice] = field(default_factory=list)
    open_choices: list[OpenChoice] = field(default_factory=list)
    taken: dict[str, Taken] = field(default_factory=dict)  # the defaults that coding changed
    # asked about once: expectations that did not hold, open choices that changed nothing
    questioned: set[str] = field(default_factory=set)
    dry_readings: dict[str, ExecutionResult] = field(default_factory=dict)  # by command and code
    lineage: str = ""
    printed_by_data: dict[str, str] = field(default_factory=dict)  # by the text of data.py
    method_check: str = ""  # what the check in method.py printed
    files: dict[str, str] = field(default_factory=dict)
    changes: int = 0  # writes that changed a file, and packages installed
    edits: dict[str, dict[str, int]] = field(default_factory=dict)
    # files of an earlier run that are removed before the next
    results: tuple[str, ...] = (METRICS, PREDICTIONS)
    # seconds that the next run may take; a dry run's if None
    seconds_left: Callable[[], float] | None = None
    # of the latest dry run of the whole program
    dry_run: ExecutionResult | None = None
    # by stage, the passages of the paper that its reviews see
    paper_passages: dict[str, str] = field(default_factory=dict)
    coder: Coder | None = None  # who writes the program, where that isn't the EDIT loop
    # lays out TASK.md and what's beside it for so many minutes and calls, if the last is True, and
    # gives its text; where a coder isn't asked for a program
    own_brief: Callable[[float, int, bool], str] | None = None
    command: str = ""  # that runs what is written then, "" if nobody says
    fixed_packages: bool = False  # the rest of the code runs with those there are
    start: StartingCode | None = None  # that the coder began with
    rounds: int = 0  # of the coder
    changed: bool = False  # the program was changed after its audit
    audit: Audit | None = None
    # the limit that ends the attempt before its edits are used up, "" while there is none
    limit_reached: Callable[[], str] = lambda: ""

    def withhold(self, blank: Withholding) -> None:
        """From here on the code agent and the reviews read every text through `blank`."""
        self.blank = self.summaries.blank = blank
        self.code.withhold = self.research.withhold = blank
        blank.look_through(self.task.data_dir, self.task.preprocess)

    @property
    def whole_paper(self) -> str:
        """The text of which a review may ask for sections."""
        return self.paper

    @property
    def blanked_paper(self) -> str:
        """The paper as the code agent reads it."""
        return self.blank(self.paper)

    @property
    def checklist(self) -> tuple[str, str]:
        """The checklist as it was written first, and as it was corrected since ("" if never): a
        correction comes behind what prompts share.
        """
        first, now = self.summaries.first[CHECKLIST], self.summaries.texts[CHECKLIST]
        return self.blank(first), self.blank(now) if now != first else ""

    def written(self, last: str) -> list[tuple[str, str, str]]:
        """The program's files as they are: name, text, and what its check printed when it was
        finished. `last`, which is under work, comes last, so that what prompts share is longest.
        """
        names = [name for name in self.files if name not in ("preprocess.py", last)]
        names += [last] if last in self.files else []
        printed = {"data.py": self.facts, "method.py": self.method_check}
        return [
            (name, self.files[name], printed.get(name, "") if name != last else "")
            for name in names
        ]

    @property
    def facts(self) -> str:
        """What data.py printed as it is now, else what it printed last; "" if it never ran."""
        printed = self.printed_by_data
        last = next(filter(None, reversed(printed.values())), "")
        return printed.get(self.files.get("data.py", ""), "") or last

    @property
    def run_seconds(self) -> float:
        """Seconds that the next run may take."""
        return self.seconds_left() if self.seconds_left else self.settings.method.dry_run_seconds

    @property
    def planned_minutes(self) -> float:
        """Minutes of the full run that the program is planned for: the limit of the first start."""
        return self.trial.record.planned_minutes or self.full_run_minutes

    @property
    def planned_cores(self) -> float:
        """Processors that the program is planned for: those of the first start."""
        return self.trial.record.planned_cores or self.settings.sandbox.limits.cpus

    @property
    def full_run_minutes(self) -> float:
        """Minutes that the full run may take now: the user's limit, else that of the first start,
        else the task's.
        """
        given, first = self.settings.method.time_limit_minutes, self.trial.record.planned_minutes
        return given or first or self.task.time_limit_minutes

    def write(self, files: dict[str, str], subject: str, why: str = "") -> None:
        """Set files' text; on disk and as a commit unless the journal still answers (then it was
        done).
        """
        self.changes += any(self.files.get(name) != text for name, text in files.items())
        self.files.update(files)
        if not self.trial.replaying:
            self.workspace.commit(files, f"{self.trial.phase_name}: {subject}", why)

    def replace_files(self, files: dict[str, str], subject: str, kept: Sequence[str]) -> None:
        """Make `files` the program: what else lies in the workspace is removed, but for `kept`."""
        self.changes += self.files != files
        self.files = dict(files)
        if not self.trial.replaying:
            self.workspace.commit_only(files, f"{self.trial.phase_name}: {subject}", kept)

    def edit(self, edits: Sequence[Edit], default: str, why: str) -> None:
        """Carry out EDITs of `default`, or of the files that they name: all, or none.

        Raises CommandError if a file or lines do not exist, or if edits overlap.
        """
        of_file: dict[str, list[Edit]] = {}
        for edit in edits:
            of_file.setdefault(self._file_of(edit, default), []).append(edit)
        before = {name: self.files.get(name, "") for name in of_file}
        after = {name: apply_edits(before[name], each) for name, each in of_file.items()}
        subject = ", ".join(f"EDIT {e.first} {e.last} {e.path or default}" for e in edits)
        self.write(after, subject, why)
        for name, each in of_file.items():
            for edit in each:
                self._count(before[name], edit)

    def written_by(self, parsed: Parsed) -> list[Edit]:
        """What a reply writes, as EDITs: a new file replaces whatever has its name."""
        whole = [
            Edit(1, len(file_lines(self.files.get(new.path, ""))), new.text, new.path)
            for new in parsed.new_files
        ]
        return [*whole, *parsed.edits]

    def _file_of(self, edit: Edit, default: str) -> str:
        """The file that an EDIT changes. Raises CommandError if it may not."""
        name = edit.path or default
        if edit.path and name not in self.files and edit.first != 1:
            raise CommandError(
                f"there is no file {name}: the files are {', '.join(sorted(self.files))}"
            )
        if name == "preprocess.py":
            raise CommandError("preprocess.py is given and cannot be changed")
        return name

    def _count(self, before: str, edit: Edit) -> None:
        """Count the edit's turns and lines, as in the paper's Table 6."""
        stat = edit_stat(before, edit)
        counts = self.edits.setdefault(self.trial.phase_name, dict(NO_EDITS))
        for key, amount in (("turns", 1), ("added", stat.added), ("removed", stat.removed)):
            counts[key] += amount

    def run(
        self,
        command: str,
        seconds: float,
        name: str,
        *,
        counted: bool = False,
        continued: bool = False,
    ) -> ExecutionResult:
        """Run the program as a step. Result files of an earlier run are removed first.

        `counted`: its result is measured, so decoys stand in for the test targets. `continued`: it
        goes on from the last run's checkpoint, on the same draw of the data. One that counts is a
        step, too, if the user interrupts it.
        """
        asked, replayed = {"command": command, "files": self.files}, self.trial.replaying
        run = Run(command, seconds, results=self.results, counted=counted, keeps_part=counted)

        def execute() -> ExecutionResult:
            if counted:
                new_draw = partial(draw_for, self.sandbox)
                return counted_run(self.trial, run, continued, new_draw, self._ran)
            discard(self.trial.folder, self.workspace.tree)
            return self._ran(run)

        result = self.trial.step(ExecutionResult, "sandbox", name, asked, execute)
        if result.exit_code == BY_THE_USER and result.stopped == "interrupted" and not replayed:
            raise KeyboardInterrupt
        return result

    def _ran(self, run: Run) -> ExecutionResult:
        done = run_program(self.sandbox, self.workspace.tree, run, self.trial.output)
        shown = {"stdout": done.stdout, "stderr": done.stderr}
        return done.model_copy(update={k: self.without_host(text) for k, text in shown.items()})

    def without_host(self, text: str) -> str:
        """A text with this machine's folders named as in a container: no prompt holds a user's
        paths.
        """
        names = {
            self.workspace.folder: "/workspace",
            self.task.data_dir: "/data",
            self.task.decoy_dir: "/data",
            sys.prefix: "/opt/venv",
        }
        for folder, name in names.items():
            text = text.replace(str(folder), name) if folder else text
        return text

    def install(self, bash: Bash) -> str:
        """Install a package if the policy allows it; what the code agent reads of it.

        Raises CommandError if the policy refuses the command.
        """
        if self.fixed_packages:
            raise CommandError(NO_PACKAGES)
        packages = check_install(bash.command, self.settings.sandbox.allow_install)
        command = packages.command
        replayed = self.trial.replaying
        result = self.trial.step(
            InstallResult,
            "sandbox",
            "install",
            command,
            lambda: InstallResult.of(self._install(packages)),
        )
        if replayed and self.trial.moved and result.exit_code == 0:
            self._install(packages)
        self.changes += result.exit_code == 0
        ended = "installed" if result.exit_code == 0 else f"failed: {tail(result.stderr, 800)}"
        return f"`{command}` {ended}"

    def _install(self, packages: Packages) -> Execution:
        return self.sandbox.install(packages, INSTALL_SECONDS, on_output=self.trial.output)

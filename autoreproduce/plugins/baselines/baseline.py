"""What the baselines share: solvers written anew from the published descriptions of other systems.

No code of those systems is contained here, and their prompts are in our own words, so a result of
one is that of a re-implementation. Each gets the task as the folder that every agent gets
(`task_folder.py`), writes a program, and is measured as every solver. One model plays all roles.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.loose import WHOLE_FILE
from autoreproduce.agents.prompts import Prompts
from autoreproduce.content import folder
from autoreproduce.contracts import Need, Submission
from autoreproduce.errors import ContextError, ReplyError
from autoreproduce.method.literature_review import Summaries, paper_of
from autoreproduce.method.results import results_problem
from autoreproduce.method.workbench import Workbench
from autoreproduce.solvers.limits import AgentLimits, Meter
from autoreproduce.solvers.recorded import attempt_has_ended
from autoreproduce.solvers.submitted_program import PROGRAM, LeftProgram
from autoreproduce.solvers.task_folder import task_folder, withholding_of
from autoreproduce.solvers.wanted import refuse_unwritten
from autoreproduce.trials.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoreproduce.agents.commands import Parsed
    from autoreproduce.config import Settings
    from autoreproduce.contracts import Sandbox
    from autoreproduce.models import Models
    from autoreproduce.models.budget import Budget
    from autoreproduce.task import Task
    from autoreproduce.trials.steps import ExecutionResult
    from autoreproduce.trials.trial import Trial

MINUTES = 120.0  # of an attempt without --attempt-seconds
GIVEN = "preprocess.py"


class LimitReachedError(Exception):
    """A limit of the attempt was reached: what lies in the workspace counts."""


@dataclass
class BaselineBench(Workbench):
    """The workbench with what the prompts show, and a check of the limits before each call."""

    brief: str = ""  # the text of TASK.md

    @property
    def listing(self) -> dict[str, str]:
        """The program's files by name, without the given one."""
        return {name: text for name, text in sorted(self.files.items()) if name != GIVEN}

    def ask(self, name: str, **variables: Any) -> str:
        """The reply to a prompt of the solver's folder."""
        return self._agent().ask(name, bench=self, **variables)

    def write_file(self, name: str, path: str, **variables: Any) -> None:
        """Ask for a whole file, and write it."""

        def whole(parsed: Parsed) -> str:
            return parsed.whole_file()

        allowed = {"EDIT", WHOLE_FILE}
        text = self._agent().ask_and_apply(name, allowed, whole, bench=self, file=path, **variables)
        self.write({path: text}, f"{name} {path}")

    def edit_by(self, name: str, **variables: Any) -> None:
        """Ask for EDITs, and carry them out. Raises ReplyError if none can be."""

        def carry_out(parsed: Parsed) -> None:
            self.edit(parsed.edits, PROGRAM, name)

        self._agent().ask_and_apply(name, {"EDIT"}, carry_out, bench=self, **variables)

    def change(self, name: str, **variables: Any) -> None:
        """The same for a program that is there: an unusable reply costs a round alone."""
        try:
            self.edit_by(name, **variables)
        except ReplyError as error:
            self.trial.note(str(error))

    def checked(self, name: str, read: Callable[[str], Any], **variables: Any) -> Any:
        """What `read` makes of the reply. Raises ReplyError as `Agent.checked`."""
        return self._agent().checked(name, read, bench=self, **variables)

    def try_program(self, name: str) -> tuple[ExecutionResult, str]:
        """Run the program as it stands; the run, and what is wrong with it, "" if nothing is.

        Raises LimitReachedError.
        """
        self._agent()
        run = self.run(f"python {PROGRAM}", self.run_seconds, name)
        return run, results_problem(self.task, run)

    def _agent(self) -> Agent:
        """The agent. Raises LimitReachedError if it gets no more calls."""
        reached = self.limit_reached()
        if reached or attempt_has_ended(self.trial):
            raise LimitReachedError(reached or "it ended before it was resumed")
        return self.code


class BaselineSolver:
    """The frame of an attempt; a baseline fills in `attempt` and names the folder of its prompts.

    It leaves a program in the workspace. Limits end the attempt, and what lies there then counts.
    """

    needs: frozenset[Need] = frozenset({"model"})
    name = ""
    whole_papers = False  # True for one with prompts below `repository` for a whole paper

    def __init__(self, settings: Settings, budget: Budget, paper_file: Path | None = None) -> None:
        self.settings, self.budget, self.paper_file = settings, budget, paper_file
        self.prompts = Prompts(folder("prompts") / self.name, folder("prompts"))
        self.limits = AgentLimits(
            minutes=(settings.budget.attempt_seconds or MINUTES * 60) / 60,
            calls=settings.budget.max_steps,
        )
        self.meter = Meter(settings, self.limits.minutes * 60, self.limits.calls)

    def solve(self, task: Task, models: Models, sandbox: Sandbox, trial: Trial) -> Submission:
        """Let the baseline work, then run what it left; a whole paper's repository is graded.

        Raises UsageError for tasks that it has no form for.
        """
        refuse_unwritten(task, f"the solver {self.name}", self.whole_papers)
        workspace = Workspace(trial.folder)
        workspace.open()
        if not trial.steps:
            workspace.tree.clear()
        trial.observers.append(self.meter)
        trial.phase("attempt")
        bench = self._bench(task, models, sandbox, trial, workspace)
        ending = ""
        try:
            self.attempt(bench, models)
        except (LimitReachedError, ReplyError, ContextError) as error:
            ending = str(error)
        warnings = [f"the attempt was ended: {ending}"] if ending else []
        ending = ending or self.meter.reached or "it ended by itself"
        left = LeftProgram(task, self.settings, sandbox, trial, workspace)
        done = left.submission(ending, warnings)
        return Submission(**{**vars(done), "edits": bench.edits})

    def attempt(self, bench: BaselineBench, models: Models) -> None:
        """Write the program, by the way of the system that the solver is named after."""
        raise NotImplementedError

    def _bench(
        self, task: Task, models: Models, sandbox: Sandbox, trial: Trial, workspace: Workspace
    ) -> BaselineBench:
        paper = paper_of(trial, task, self.settings, self.paper_file)
        withhold = withholding_of(task)
        paper = withhold.paper(paper)
        agent = Agent.of(models, "code", self.prompts, trial, self.budget, self.settings)
        bench = BaselineBench(
            task,
            self.settings,
            agent,
            agent,
            sandbox,
            trial,
            workspace,
            Summaries(trial),
            paper=paper.body,
            limit_reached=lambda: self.meter.reached,
            brief=task_folder(workspace.tree, task, paper, self.settings, self.limits, withhold),
        )
        withhold.write(trial)
        bench.seconds_left = lambda: min(self.meter.command_seconds, bench.full_run_minutes * 60)
        return bench

"""The coder `tools`: the code agent in the sandbox with a shell, a viewer, an editor, the run of
the program, and a way to submit.

It gets the same TASK.md as every other coder, and works until it submits or a limit is reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoreproduce.agents.tool_loop import ToolLoop
from autoreproduce.errors import CommandError, SandboxError
from autoreproduce.method.results import results_problem
from autoreproduce.method.workbench import INSTALL_SECONDS, NO_PACKAGES
from autoreproduce.models.open import can_call_tools
from autoreproduce.sandboxes.policy import check_install, installs
from autoreproduce.solvers.limits import AgentLimits, Meter
from autoreproduce.solvers.task_folder import Guide, task_folder
from autoreproduce.solvers.tools import ToolBench, execution_text, shortened
from autoreproduce.trials.run import Run, run_program
from autoreproduce.trials.steps import ExecutionResult

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.method.workbench import Workbench
    from autoreproduce.papers import Paper

MINUTES = 120.0  # of the whole work without --attempt-seconds
PROGRAM = "main.py"


class ToolCoder:
    """Writes the program of one trial, and changes it when asked."""

    name, folder = "tools", "."

    def __init__(self, settings: Settings, paper: Paper) -> None:
        self.settings, self.paper = settings, paper
        self.limits = AgentLimits(
            minutes=(settings.budget.attempt_seconds or MINUTES * 60) / 60,
            calls=settings.budget.max_steps,
        )
        self.meter = Meter(settings, self.limits.minutes * 60)
        self._loop: ToolLoop | None = None

    def work(self, bench: Workbench, request: str = "") -> str:
        """Write the program from TASK.md, or do what is requested; how that ended, in words."""
        if self._loop is not None:
            return self._loop.go_on(request)
        bench.trial.observers.append(self.meter)
        write = not bench.trial.replaying
        if bench.own_brief is not None:
            brief = bench.own_brief(self.limits.minutes, self.limits.calls, write)
        else:
            brief = task_folder(
                bench.workspace.tree,
                bench.task,
                self.paper,
                self.settings,
                self.limits,
                bench.blank,
                Guide.of(bench, installs=True),
                write=write,
            )
        tools = ProgramTools(bench.trial, bench.sandbox, self.meter, bench)
        self._loop = ToolLoop(
            bench.code,
            tools_of(tools),
            self.limits.calls,
            lambda: self.meter.reached,
            plain=not can_call_tools(bench.code.model),
        )
        seconds = round(self.meter.command_seconds)
        start = bench.code.prompts.render(
            "coder/start", brief=brief, seconds=seconds, runs=bool(bench.command)
        )
        return self._loop.go_on(start)

    def notes(self) -> list[str]:
        """The limit that ended its work, if one did."""
        return [f"the code agent was ended: {self.meter.reached}"] if self.meter.reached else []


@dataclass
class ProgramTools(ToolBench):
    """What the tools work on, with the trial's program."""

    bench: Workbench

    def shell(self, command: str) -> ExecutionResult:
        """A command's end and output; one that installs is checked as the policy says."""
        if installs(command):
            if self.bench.fixed_packages:
                raise CommandError(NO_PACKAGES)
            packages = check_install(command, self.bench.settings.sandbox.allow_install)
            done = self.sandbox.install(packages, INSTALL_SECONDS, on_output=self.trial.output)
        else:
            done = self.executed(command)
        return self._shown(ExecutionResult.of(done))

    def run(self, arguments: str) -> ExecutionResult:
        """Run main.py as it's run when it counts, and say what would be wrong with it then."""
        self.text(PROGRAM)
        run = Run(f"python {PROGRAM} {arguments}".strip(), self.meter.command_seconds)
        done = run_program(self.sandbox, self.bench.workspace.tree, run, self.trial.output)
        shown = self._shown(done)
        problem = results_problem(self.bench.task, done)
        verdict = f"It would not count: {problem}" if problem else "It left what counts."
        return shown.model_copy(
            update={"stdout": f"{shown.stdout}\n{verdict}", "metrics_json": None}
        )

    def run_command(self) -> ExecutionResult:
        """Run what is written, where that isn't a program of the task's."""
        return self._shown(ExecutionResult.of(self.executed(self.bench.command)))

    def write(self, path: str, text: str) -> str:
        """Write a whole file."""
        self._write(path, text)
        return f"wrote {path}, {len(text.splitlines())} lines"

    def replace(self, path: str, old: str, new: str) -> str:
        """Put `new` in place of the one `old` of a file. Raises CommandError."""
        text = self.text(path)
        found = text.count(old) if old else 0
        if found != 1:
            raise CommandError(
                f"these lines are in {path} {found} times: give lines that are there exactly once"
            )
        self._write(path, text.replace(old, new))
        line = text[: text.index(old)].count("\n") + 1
        return self.view(path, line - 3, line + new.count("\n") + 3)

    def _write(self, path: str, text: str) -> None:
        try:
            self.sandbox.write(path, text.encode())
        except SandboxError as error:  # a path outside, a folder in its place
            raise CommandError(str(error)) from None

    def _shown(self, done: ExecutionResult) -> ExecutionResult:
        """The result with what the model reads of it as its output."""
        text = shortened(self.bench.without_host(execution_text(done.execution)))
        return done.model_copy(update={"stdout": text, "stderr": ""})


def tools_of(bench: ProgramTools) -> list[Any]:
    """The tools as LangChain takes them; their docstrings are what the model reads."""
    from langchain_core.tools import tool

    @tool
    def shell(command: str) -> Any:
        """Run a bash command in your folder; how it ended and what it printed. Nothing that you
        start outlives the command, nor does what you leave outside your folder, in /tmp for one.
        `pip install NAME` by itself installs a package.
        """
        return bench.shell(command)

    @tool
    def view(path: str, first: int = 1, last: int = 200) -> str:
        """Show lines `first` to `last` of a file, numbered from 1."""
        return bench.view(path, first, last)

    @tool
    def write(path: str, text: str) -> str:
        """Write a whole file, new or in place of the one that's there; `path` is relative to your
        folder.
        """
        return bench.write(path, text)

    @tool
    def edit(path: str, old: str, new: str) -> str:
        """Replace the text `old`, which is in the file exactly once, by `new`."""
        return bench.replace(path, old, new)

    @tool
    def run(arguments: str = "") -> Any:
        """Run `python main.py ARGUMENTS` as it's run when it counts, its result files removed
        before; what it printed, and what would be wrong with what it left.
        """
        return bench.run(arguments)

    @tool("run")
    def run_command() -> Any:
        """Run the experiment, and show what it printed."""
        return bench.run_command()

    @tool
    def submit() -> str:
        """Submit the program in your folder, in a reply without other calls. Ends the work."""
        return "submitted"

    runs = [run]
    if bench.bench.own_brief is not None:
        runs = [run_command] if bench.bench.command else []
    return [shell, view, write, edit, *runs, submit]

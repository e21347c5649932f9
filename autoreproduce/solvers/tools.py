"""The tools of an agent in a sandbox. Each answers in text whatever happens: an error is something
to learn from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoreproduce.agents.listing import Edit, apply_edit, number
from autoreproduce.contracts import Execution
from autoreproduce.errors import CommandError, SandboxError
from autoreproduce.papers.sections import section_or_headings

if TYPE_CHECKING:
    from autoreproduce.contracts import Sandbox
    from autoreproduce.solvers.limits import Meter
    from autoreproduce.trials.trial import Trial

LONGEST = 12_000  # characters of one answer
LONGEST_COMMAND = 100_000  # bytes; the kernel takes 128 KiB for one argument
RUN = "bash refsol.sh"


@dataclass
class ToolBench:
    """What the tools work on, and the answer once one was submitted."""

    trial: Trial
    sandbox: Sandbox
    meter: Meter
    paper: str = ""
    refsol: bool = True
    submitted: bool = False
    answer: str = ""

    def execute(self, command: str) -> str:
        """Run a command; exit code and output as text."""
        if "\0" in command or len(command.encode("utf-8", "replace")) > LONGEST_COMMAND:
            return (
                f"Error: a command has at most {LONGEST_COMMAND:,} bytes and no NUL: write a long "
                "file in parts"
            )
        done = self.sandbox.execute(
            command, self.meter.command_seconds, on_output=self.trial.output
        )
        return _short(_execution_text(done))

    def view(self, path: str, first: int, last: int) -> str:
        """Lines of a file, numbered."""
        lines = number(self._text(path)).split("\n")
        return _short(
            "\n".join(lines[max(first, 1) - 1 : last if last > 0 else None]) or "(no such lines)"
        )

    def edit(self, path: str, first: int, last: int, text: str) -> str:
        """Replace lines of a file and show what is there now."""
        old = self._text(path)
        new = apply_edit(
            old, Edit(first, last, text if not text or text.endswith("\n") else f"{text}\n")
        )
        self.sandbox.write(path, new.encode())
        return self.view(path, first - 3, first + text.count("\n") + 4)

    def _text(self, path: str) -> str:
        try:
            return self.sandbox.read(path).decode("utf-8", "replace")
        except FileNotFoundError:
            raise CommandError(
                f"{path} is missing: `shell` with `ls` shows what there is"
            ) from None


def tools_of(bench: ToolBench) -> list[Any]:
    """The tools as LangChain takes them; their docstrings are what the model reads."""
    from langchain_core.tools import tool

    @tool
    def shell(command: str) -> str:
        """Run a bash command in the repository. There is no network."""
        return bench.execute(command)

    @tool
    def view(path: str, first: int = 1, last: int = 200) -> str:
        """Show lines `first` to `last` of a file, numbered from 1."""
        return _answer_or_error(lambda: bench.view(path, first, last))

    @tool
    def edit(path: str, first: int, last: int, text: str) -> str:
        """Replace lines `first` to `last` (from 1, both included) of a file by `text`; last = first
        - 1 inserts.
        """
        return _answer_or_error(lambda: bench.edit(path, first, last, text))

    @tool
    def run() -> str:
        """Run the experiment (`bash refsol.sh`) and show what it printed."""
        return bench.execute(RUN)

    @tool(return_direct=True)
    def submit(answer: str) -> str:
        """Hand in: the functions as they stand, and the numbers as JSON, {"Experiment 1": ...}.
        Ends the attempt.
        """
        bench.submitted, bench.answer = True, answer
        return "submitted"

    @tool
    def section(name: str) -> str:
        """Show a section of the paper by its name or number; any other name lists all."""
        return _short(section_or_headings(bench.paper, name))

    more = [*([run] if bench.refsol else []), *([section] if bench.paper.strip() else [])]
    return [shell, view, edit, *more, submit]


def _answer_or_error(do: Any) -> str:
    try:
        return str(do())
    except (CommandError, SandboxError, UnicodeEncodeError) as error:
        return f"Error: {error}"


def _execution_text(done: Execution) -> str:
    end = f"stopped: {done.stopped}" if done.stopped else f"exit code {done.exit_code}"
    parts = [f"({end}, {done.seconds:.1f} s)", done.stdout.strip("\n"), done.stderr.strip("\n")]
    return "\n".join(part for part in parts if part.strip())


def _short(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}\n… {len(text) - LONGEST} characters left out …\n{text[-half:]}"

"""What the tools of an agent in a sandbox work on. Each answers in text whatever happens: an error
is something to learn from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoreproduce.contracts import Execution

if TYPE_CHECKING:
    from autoreproduce.contracts import Sandbox
    from autoreproduce.solvers.limits import Meter
    from autoreproduce.trials.trial import Trial

LONGEST = 12_000  # characters of one answer
LONGEST_COMMAND = 100_000  # bytes; the kernel takes 128 KiB for one argument


@dataclass
class ToolBench:
    """What the tools work on, and the answer once one was submitted."""

    trial: Trial
    sandbox: Sandbox
    meter: Meter
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
        return shortened(_execution_text(done))


def _execution_text(done: Execution) -> str:
    end = f"stopped: {done.stopped}" if done.stopped else f"exit code {done.exit_code}"
    parts = [f"({end}, {done.seconds:.1f} s)", done.stdout.strip("\n"), done.stderr.strip("\n")]
    return "\n".join(part for part in parts if part.strip())


def shortened(text: str) -> str:
    """A text of which at most `LONGEST` characters are shown, those at both ends."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}\n… {len(text) - LONGEST} characters left out …\n{text[-half:]}"

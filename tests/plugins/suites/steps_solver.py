"""A solver that is all runner and no method: some model calls, maybe a command, and the last number
is the metric.

It is a real Solver: its calls go through Agent, budget, model and journal, its command through the
sandbox. What to do stands as JSON in the last line of the task's instruction: calls, command, text
(characters of padding a prompt).
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from autoreproduce import Submission
from autoreproduce.agents.agent import Agent
from autoreproduce.agents.prompts import Prompts
from autoreproduce.trials.steps import ExecutionResult
from autoreproduce.trials.trial import Trial

HERE = Path(__file__).parent


class Steps:
    needs = frozenset({"model"})

    def __init__(self, settings: Any, budget: Any, **_: Any) -> None:
        self.settings = settings
        self.budget = budget

    def solve(self, task: Any, models: Any, sandbox: Any, trial: Trial) -> Submission:
        how = {
            "calls": 3,
            "command": "",
            "text": 0,
            **json.loads(task.instruction.splitlines()[-1]),
        }
        prompts = Prompts(HERE / "steps_prompts")
        agent = Agent(
            "code",
            models.chat("code"),
            models.name("code"),
            prompts,
            trial,
            self.budget,
            self.settings,
        )
        name = f"{task.id}/{self.settings.method.k}/{self.settings.seed}"
        trial.phase("method_replication")
        reply = ""
        for n in range(how["calls"]):
            reply = agent.ask("ask", trial=name, n=n, text="x" * how["text"])
            if how["command"] and n == 0:
                self.run(how["command"], sandbox, trial)
        trial.phase("full_run")
        found = re.search(r"\d+(\.\d+)?", reply)
        if not found:
            return Submission("failed", "the last reply holds no number", "full_run")
        sandbox.write("metrics.json", json.dumps({"metrics": {"value": float(found[0])}}).encode())
        return Submission("complete", "counted", "full_run")

    @staticmethod
    def run(command: str, sandbox: Any, trial: Trial) -> None:
        trial.step(
            ExecutionResult,
            "sandbox",
            "command",
            command,
            lambda: ExecutionResult.of(sandbox.execute(command, 60, on_output=trial.output)),
        )


class Broken(Steps):
    """Cannot be made with what every solver is given."""

    def __init__(self) -> None:
        raise AssertionError("it is never reached")


class Raises(Steps):
    """Has a fault."""

    def solve(self, task: Any, models: Any, sandbox: Any, trial: Trial) -> Submission:
        raise IndexError("no such step")


class Quits(Steps):
    """As a program does that was not written to be called."""

    def solve(self, task: Any, models: Any, sandbox: Any, trial: Trial) -> Submission:
        raise SystemExit(0)


class Waits(Steps):
    """Waits for a program that it started itself, outside the sandbox, as git's clones are."""

    @staticmethod
    def run(command: str, sandbox: Any, trial: Trial) -> None:
        with subprocess.Popen(["bash", "-c", command], start_new_session=True) as program:
            program.wait()

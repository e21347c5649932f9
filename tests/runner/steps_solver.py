"""A solver that is all runner and no method: some model calls, maybe a command, and the last number is the metric.

It is a real Solver: its calls go through Agent, budget, model and journal, its command through the sandbox. What to do
stands as JSON in the last line of the task's instruction: calls, command, text (characters of padding a prompt).
"""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from autoreproduce.agents import Agent
from autoreproduce.prompting import Prompts
from autoreproduce.trial import Outcome, Trial

HERE = Path(__file__).parent


class Steps:
    def __init__(self, settings: Any, budget: Any, **_: Any) -> None:
        self.settings = settings
        self.budget = budget

    def solve(self, task: Any, model: Any, sandbox: Any, trial: Trial) -> None:
        how = {"calls": 3, "command": "", "text": 0, **json.loads(task.instruction.splitlines()[-1])}
        prompts = Prompts(HERE / "steps_prompts")
        agent = Agent("code", model.code, model.code_name, prompts, trial, self.budget, self.settings)
        name = f"{task.id}/{self.settings.k}/{self.settings.seed}"
        trial.phase("method_replication")
        reply = ""
        for n in range(how["calls"]):
            reply = agent.ask("ask", trial=name, n=n, text="x" * how["text"])
            if how["command"] and n == 0:
                self.run(how["command"], sandbox, trial)
        trial.phase("full_run")
        found = re.search(r"\d+(\.\d+)?", reply)
        outcome = Outcome(status="failed", reason="the last reply holds no number", phase="full_run")
        if found:
            value = float(found[0])
            outcome = Outcome(
                status="succeeded", reason="counted", metric=value, metrics={"value": value}, phase="full_run"
            )
        trial.write("outcome.json", outcome.model_dump_json(indent=1))

    @staticmethod
    def run(command: str, sandbox: Any, trial: Trial) -> None:
        trial.step(
            "execute",
            "sandbox",
            "command",
            command,
            lambda: asdict(sandbox.execute(command, 60, on_output=trial.output)),
        )


class Quits(Steps):
    """As a program does that was not written to be called."""

    def solve(self, task: Any, model: Any, sandbox: Any, trial: Trial) -> None:
        raise SystemExit(0)

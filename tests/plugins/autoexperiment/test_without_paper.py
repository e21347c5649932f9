"""What solvers are told where no paper is given: whole prompts, by an endpoint that keeps them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from chat_server import Answer, Request, chat_server

from autoreproduce.config import Settings
from autoreproduce.job import Job
from autoreproduce.plugins.autoexperiment.answering import NO_PAPER, question
from autoreproduce.plugins.autoexperiment.tasks import load_task, masked_task, shipped
from autoreproduce.runner.attempt import attempt

TASK = "parcel-ledger_0"
BODY = """\
    days = age + 1
    if days > 6 * half:
        return 0.0
    return max(0.5 ** (days / half), 1 / 32)
"""


@pytest.fixture
def without_paper(tmp_path: Path) -> Path:
    """The shipped set, one paper of which has lost its text."""
    shutil.copytree(shipped(), tmp_path / "set")
    (tmp_path / "set" / "parcel-ledger" / "paper.txt").write_text("")
    return tmp_path / "set"


def reply(request: Request) -> str | Answer:
    """The right body in the form that is asked for."""
    if "tools" in request.body:
        return Answer("", tools=(("submit", {"answer": "{}"}),))
    asked = request.prompt.rsplit("# What is asked", maxsplit=1)[-1]
    if "for the code agent" in asked:
        return "1. It is older by a day."
    if "This version runs" in asked:
        return "SUBMIT"
    if "Write the body" in asked:
        line = next(each for each in request.prompt.split("\n") if "NotImplementedError" in each)
        number = int(line.split("|")[0]) if "|" in line else 8
        return f"EDIT {number} {number}\n```\n{BODY}```"
    return f"~~~python\ndef weight(age, half):\n{BODY}~~~"


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["agentless", "agentic", "planning", "autoreproduce"])
def test_no_prompt_speaks_of_a_paper_another_experiment_or_an_open_seed(
    without_paper: Path, tmp_path: Path, solver: str
) -> None:
    with chat_server(reply) as server:
        settings = Settings(
            base_url=server.base_url, model="some", sandbox="process", cache_dir=tmp_path / "cache"
        )
        task = load_task(TASK, where=without_paper)
        done = attempt(Job(task=task, settings=settings, solver=solver, out=tmp_path / "t"))
    assert solver in ("agentic", "planning") or done.result.metric == 1, done.result.reason
    told = [json.dumps(request.messages).lower() for request in server.requests]
    assert told and not [text for text in told if "paper" in text.replace("no paper is given", "")]
    assert "no paper is given" in told[0]
    for text in [*told, (done.path / "workspace" / "experiment.txt").read_text().lower()]:
        assert "{seed}" not in text and "experiment 2" not in text and "seeds 0, 1, 2" in text


def test_what_others_agents_are_asked_says_so_too(without_paper: Path) -> None:
    asked = question(masked_task(without_paper, TASK))
    assert NO_PAPER in asked and "{seed}" not in asked and "the seeds 0, 1, 2" in asked
    assert "The paper is paper.txt." in question(masked_task(shipped(), TASK))


def test_the_answer_s_form_names_the_experiments_that_there_are() -> None:
    one, two = masked_task(shipped(), TASK), masked_task(shipped(), "adaptive-rate_1")
    assert one.asked.endswith('json: {"Experiment 1": ...}')
    assert two.asked.endswith('json: {"Experiment 1": ..., "Experiment 2": ...}')
    assert "judged with the seed" not in two.asked

"""The baselines on the tiny experiment, with scripted replies: each leaves a program that counts."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_world import PROGRAM, calls_of, run_solver, steps_of
from chat_server import Answer, Request, chat_server

from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.config import Settings
from autoreproduce.errors import CommandError, UsageError
from autoreproduce.models.budget import Budget
from autoreproduce.models.tape import read_tape
from autoreproduce.plugins.baselines import plugin
from autoreproduce.plugins.baselines.agent_laboratory import program_after
from autoreproduce.plugins.baselines.chatdev import agrees
from autoreproduce.runner.open_models import choose_model
from autoreproduce.solvers.submitted_program import LeftProgram
from autoreproduce.solvers.wanted import refuse_unwritten
from autoreproduce.trials.workspace import Workspace

BROKEN = PROGRAM.replace("w = 0.0", "w = start")  # a NameError
WORSE = PROGRAM.replace("range(50)", "range(5)")


def whole(text: str, name: str = "") -> str:
    return f"Short.\n\nEDIT 1 0 {name}\n~~~~python\n{text}~~~~\n"


def asked(request: Request) -> str:
    """The last part of a prompt: what is asked, and of whom."""
    return str(request.messages[-1]["content"]).rsplit("\n# ", 1)[-1]


def papercoder(request: Request, program: str = PROGRAM) -> str:
    part = asked(request)
    if "the order of files" in part:
        files = [{"path": "model.py", "purpose": "line"}, {"path": "main.py", "purpose": "run"}]
        return json.dumps({"files": files, "shared_knowledge": ""})
    if "What is asked: config.py" in part:
        return whole("LR = 0.1\n")
    if "What is asked: model.py" in part:
        return whole("def line(w, x):\n    return w * x\n")
    if "What is asked: main.py" in part:
        assert "The analysis of main.py\nThe plan" in request.prompt
        assert "def line(w, x)" in request.prompt  # the file before it
        return whole(program)
    if "a repair" in part:
        assert "name 'start' is not defined" in request.prompt
        line = 1 + BROKEN.splitlines().index("w = start")
        return f"EDIT {line} {line} main.py\n~~~~python\nw = 0.0\n~~~~\n"
    return "The plan: a line through the origin."


def chatdev(request: Request) -> str:
    part = asked(request)
    if part.startswith("You are the chief executive\nCheck"):
        return "**AGREED**" if "again" in request.prompt else "Say again which files there are."
    if "Write the whole program" in part:
        return whole(BROKEN, "main.py") + whole("import math\n", "extra.py")
    if part.startswith("You are the reviewer"):
        return "AGREED." if "import json, math" in request.prompt else "1. main.py 1: import math."
    if "Change the program by the remarks" in part:
        first = BROKEN.splitlines()[0].replace("json", "json, math", 1)
        return f"EDIT 1 1 main.py\n~~~~python\n{first}\n~~~~\n"
    if "Fix what the tester reports" in part:
        line = 1 + BROKEN.splitlines().index("w = start")
        return f"EDIT {line} {line} main.py\n~~~~python\nw = 0.0\n~~~~\n"
    return "Some words."


def agent_laboratory(request: Request) -> str:
    part = asked(request)
    if part.startswith("You are the professor"):
        good = "range(50)" in request.prompt
        return json.dumps({"reason": "read", "score": 0.9 if good else 0.2})
    if "Make the program better" in part:  # a step that makes it worse is not what is left
        return f"Shorter.\n\nREPLACE\n~~~~python\n{WORSE}~~~~\n"
    if "Write the program: all" in part:
        return f"REPLACE\n~~~~python\n{BROKEN}~~~~\n"
    if "Find the cause" in part:
        line = 1 + BROKEN.splitlines().index("w = start")
        return f"EDIT {line} {line}\n~~~~python\nw = 0.0\n~~~~\n"
    return "Some words."


def tool_agent(request: Request) -> Answer | str:
    """Looks at the paper, writes, runs, says something without a tool, and submits if it can."""
    names = {tool["function"]["name"] for tool in request.body["tools"]}
    script = f"open('main.py', 'w').write({PROGRAM!r})"
    turns: list[Answer | str] = [
        Answer("", tools=(("read_file", {"path": "paper/paper.md"}),)),
        Answer("", tools=(("python", {"code": script}),)),
        Answer("", tools=(("bash", {"command": "python main.py && cat metrics.json"}),)),
        "It runs.",
    ]
    turn = sum(message["role"] == "assistant" for message in request.messages)
    if turn < len(turns):
        return turns[turn]
    called = ("submit", {}) if "submit" in names else ("bash", {"command": "true"})
    return Answer("", tools=(called,))


SCRIPTED: dict[str, Callable[[Request], Answer | str]] = {
    "papercoder": papercoder,
    "papercoder-repair": lambda request: papercoder(request, BROKEN),
    "chatdev": chatdev,
    "agent-laboratory": agent_laboratory,
    "basic": tool_agent,
    "iterative": tool_agent,
}


@pytest.mark.slow
@pytest.mark.parametrize("solver", SCRIPTED)
def test_each_ends_with_a_measured_program_and_its_tape_replays_it_without_a_drift(
    solver: str, tmp_path: Path
) -> None:
    tape = tmp_path / "tape.jsonl"
    with chat_server(SCRIPTED[solver]) as server:
        first = run_solver(tmp_path, server.base_url, solver, record=tape, max_steps=24)
    assert first.result.status == "measured", first.result.reason
    assert first.result.metric is not None and first.result.metric < 1e-3
    assert not [w for w in first.result.warnings if "isolation" not in w], first.result.warnings
    assert steps_of(tmp_path)[-1].name == "full_run"
    assert "squared_error" in server.requests[0].prompt  # TASK.md
    by_tool = solver in ("basic", "iterative")
    assert "We fit" in server.requests[1 if by_tool else 0].prompt  # the paper
    again = tmp_path / "again"
    again.mkdir()
    given: Any = {"model": f"tape:{tape}", "base_url": None, "max_steps": 24}
    half = Budget(limit_tokens=500)
    assert run_solver(again, "", solver, half, **given).result.status == "stopped"
    done = run_solver(again, "", solver, **given)
    assert (done.result.status, done.result.metric) == ("measured", first.result.metric)
    assert len(calls_of(again)) == len(calls_of(tmp_path)) == len(read_tape(tape).entries)
    assert not [each for each in done.result.warnings if "differ" in each or "tape" in each]


@pytest.mark.slow
def test_papercoder_runs_nothing_before_it_is_measured(tmp_path: Path) -> None:
    with chat_server(lambda request: papercoder(request, BROKEN)) as server:
        done = run_solver(tmp_path, server.base_url, "papercoder")
    assert done.result.status == "failed" and "exit code 1" in done.result.reason
    runs = [step.name for step in steps_of(tmp_path) if step.kind == "execute"]
    assert runs == ["full_run"]
    names = [step.name for step in steps_of(tmp_path)][:-1]
    assert names == ["plan", "design", "files", "config", "analyse", "analyse", "code", "code"]


@pytest.mark.slow
def test_iterative_cannot_submit_and_works_until_its_limit(tmp_path: Path) -> None:
    with chat_server(tool_agent) as server:
        done = run_solver(tmp_path, server.base_url, "iterative", max_steps=6)
        assert len(server.requests) == 6
    assert "Take the next step" in server.requests[4].prompt
    assert "last step" not in server.requests[5].prompt
    assert done.result.status == "measured", done.result.reason
    assert not [w for w in done.result.warnings if "isolation" not in w]  # that is how it ends


@pytest.mark.slow
def test_the_attempts_own_budget_ends_it_and_what_lies_there_counts(tmp_path: Path) -> None:
    with chat_server(chatdev) as server:  # 120 tokens a call; the seventh writes the program
        done = run_solver(tmp_path, server.base_url, "chatdev", attempt_budget="840 tokens")
        assert len(server.requests) == 7
    assert done.result.status == "failed" and "exit code 1" in done.result.reason
    assert "840 tokens for one attempt are spent" in done.result.warnings[0]


@pytest.mark.slow
def test_a_history_that_is_too_long_ends_the_attempt_and_what_lies_there_counts(
    tmp_path: Path,
) -> None:
    too_long = {"message": "maximum context length", "code": "context_length_exceeded"}

    def answer(request: Request) -> Answer | str:
        full = len(request.messages) > 6
        return Answer(status=400, error=too_long) if full else tool_agent(request)

    with chat_server(answer) as server:
        done = run_solver(tmp_path, server.base_url, "basic")
        (tmp_path / "trial/result.json").unlink()  # as if killed before it was written
        again = run_solver(tmp_path, server.base_url, "basic")
    assert done.result.status == again.result.status == "measured", again.result.reason
    assert "too long" in done.result.warnings[0], done.result.warnings


@pytest.mark.slow
def test_tools_that_one_message_calls_are_steps_in_its_order(tmp_path: Path) -> None:
    """Run side by side they wrote into each other's places, and the trial was not to be trusted."""
    lines = [f"sleep 0.{3 - n}; echo {n}" for n in range(4)]
    several = Answer("", tools=tuple(("bash", {"command": line}) for line in lines))

    def answer(request: Request) -> Answer | str:
        turns = sum(message["role"] == "assistant" for message in request.messages)
        return several if turns == 0 else tool_agent(request)

    with chat_server(answer) as server:
        done = run_solver(tmp_path, server.base_url, "basic")
    steps = steps_of(tmp_path)
    assert done.result.status == "measured" and [step.index for step in steps] == [
        *range(len(steps))
    ]
    said = [step.result.stdout for step in steps if step.name == "bash"][:4]
    assert [text.split()[-1] for text in said] == ["0", "1", "2", "3"]


@pytest.mark.slow
def test_the_suites_budget_stops_it_and_a_larger_one_resumes_it(tmp_path: Path) -> None:
    with chat_server(papercoder) as server:
        shared = Budget(limit_tokens=2_000)
        done = run_solver(tmp_path, server.base_url, "papercoder", shared)
        assert (done.result.status, done.result.details["error"]) == ("stopped", "budget")
        spent = len(server.requests)
        assert 0 < spent < 8
        done = run_solver(tmp_path, server.base_url, "papercoder")
        assert len(server.requests) == 8  # no call was repeated
    assert done.result.status == "measured", done.result.reason


@pytest.mark.slow
def test_killed_in_the_midst_it_is_resumed_and_no_call_is_repeated(tmp_path: Path) -> None:
    driver = (
        "import sys; sys.path[:0] = ['tests']; from pathlib import Path; import agent_world as a;"
        f"a.run_solver(Path({str(tmp_path)!r}), sys.argv[1], 'basic')"
    )

    def slowly(request: Request) -> Answer:
        answer = tool_agent(request)
        text, tools = (answer, ()) if isinstance(answer, str) else (answer.text, answer.tools)
        return Answer(text, tools=tools, hang=0.3)

    with chat_server(slowly) as server:
        child = subprocess.Popen([sys.executable, "-c", driver, server.base_url], env=os.environ)
        journal = tmp_path / "trial/steps.jsonl"
        while not journal.exists() or journal.read_text().count("\n") < 4:
            assert child.poll() is None
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
        child.wait()
        before = len(calls_of(tmp_path))
        asked_before = len(server.requests)
        done = run_solver(tmp_path, server.base_url, "basic")
        assert len(server.requests) - asked_before == 5 - before
    assert done.result.status == "measured", done.result.reason
    assert len(calls_of(tmp_path)) == 5


def test_the_shipped_tape_has_no_replies_to_a_baseline() -> None:
    for solver in plugin.solvers:
        with pytest.raises(UsageError, match=f"no replies to {solver}, only to the method"):
            choose_model(Settings(), load_task("lsm", "small"), solver)


def test_a_masked_task_is_refused_before_anything_is_asked() -> None:
    task = load_task("lsm", "small")
    refuse_unwritten(task, "the solver basic")
    with pytest.raises(UsageError, match="masked functions, which the solver basic cannot"):
        refuse_unwritten(task.model_copy(update={"writes": "functions"}), "the solver basic")


def test_the_given_data_code_is_part_of_what_is_left(tmp_path: Path) -> None:
    task = load_task("lsm", "small")
    workspace = Workspace(tmp_path)
    workspace.open()
    workspace.commit({"main.py": "1\n", "preprocess.py": "changed\n"}, "written step by step")
    unused: Any = None
    LeftProgram(task, Settings(), unused, unused, workspace).commit()
    assert workspace.committed()["preprocess.py"].decode() == task.preprocess
    assert workspace.committed()["main.py"] == b"1\n"


def test_replace_and_edit_change_one_program() -> None:
    assert program_after("**REPLACE**\n```python\nx = 1\n```\n", "old\nlines\n") == "x = 1\n"
    assert program_after("EDIT 2 2\n~~~~\nnew\n~~~~\n", "old\nlines\n") == "old\nnew\n"
    assert program_after("REPLACE\n~~~~\nREPLACE = 1\n~~~~\n", "") == "REPLACE = 1\n"
    with pytest.raises(CommandError, match=r"not in other\.py"):
        program_after("EDIT 1 0 other.py\n~~~~\nx\n~~~~\n", "")
    with pytest.raises(CommandError, match="no command"):
        program_after("I would not change it.", "x\n")


@pytest.mark.parametrize(
    ("remarks", "agreed"), [("AGREED", True), (" **AGREED.**\n", True), ("Not AGREED", False)]
)
def test_a_chat_ends_by_one_word(remarks: str, agreed: bool) -> None:
    assert agrees(remarks) is agreed

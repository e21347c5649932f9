"""A command-line agent as the coder of our own method: `--coder agent:NAME`."""

import json
from pathlib import Path

import pytest
import tiny
from agent_world import GOOD, PROGRAM, agent_file, run_solver, steps_of
from chat_server import Answer, Request, chat_server
from typer.testing import CliRunner

from autoreproduce.cli.app import app
from autoreproduce.errors import UsageError
from autoreproduce.trials.workspace import Workspace

# Leaves a wrong rate first, and the right one when it's asked for a change.
SCRIPT = f"""
told = open("TASK.md").read()
print(told)
{GOOD}
text = "seed = 0\\n" + open("main.py").read()
if "What is asked now" not in told:
    text = text.replace("0.1 *", "0.05 *")
open("main.py", "w").write(text)
open("README.md", "w").write("A line.")
open("scratch.bin", "wb").write(bytes(range(256)))
"""
FOUND = {
    "kind": "optimiser",
    "says": "a learning rate of 0.1",
    "does": "0.05",
    "paper": "gradient descent with learning rate 0.1",
    "file": "main.py",
    "first": 1,
    "code": next(line for line in PROGRAM.splitlines() if "0.1 *" in line).replace("0.1", "0.05"),
    "moves": "yes",
}


def reply(request: Request) -> Answer | str:
    if "Does this code do what the paper says?" in request.prompt:
        return json.dumps({"items": [FOUND]})
    if "Somebody says of each" in request.prompt:
        return json.dumps({"items": [{"id": "D1", "holds": True}]})
    return "answer" if request.messages[-1]["content"] == "go" else tiny.reply(request)


@pytest.fixture(autouse=True)
def code_of_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOREPRODUCE_CODE_SMALL", str(tmp_path / "agent-code"))


@pytest.mark.slow
def test_it_writes_from_the_brief_and_changes_what_the_audit_found(tmp_path: Path) -> None:
    agent = agent_file(tmp_path, SCRIPT)
    with chat_server(reply) as server:
        done = run_solver(
            tmp_path, server.base_url, "autoreproduce", lineage=False, coder=f"agent:{agent}"
        ).result
    assert done.status == "measured", done.reason
    ran = [step for step in steps_of(tmp_path) if step.name == "agent"]
    assert [step.phase for step in ran] == ["coding", "changes"]
    assert "# Choices: the program keeps to them" in ran[0].result.stdout  # type: ignore[union-attr]
    assert "The paper: a learning rate of 0.1" in ran[1].result.stdout  # type: ignore[union-attr]
    committed = Workspace(tmp_path / "trial").committed()
    assert set(committed) == {"main.py", "README.md"} and b"0.1 *" in committed["main.py"]
    assert done.audit is not None and not done.audit.differences


@pytest.mark.slow
def test_one_in_a_folder_of_its_own_is_taken_from_there(tmp_path: Path) -> None:
    script = SCRIPT.replace("{GOOD}", "") + "os.mkdir('out')\nos.rename('main.py', 'out/main.py')\n"
    agent = agent_file(tmp_path, script, result="out")
    with chat_server(
        lambda asked: json.dumps({"items": []}) if "this code do" in asked.prompt else reply(asked)
    ) as server:
        done = run_solver(
            tmp_path,
            server.base_url,
            "autoreproduce",
            coder=f"agent:{agent}",
            lineage=False,
            refine=False,
        ).result
    assert done.status == "measured", done.reason
    assert set(Workspace(tmp_path / "trial").committed()) == {"main.py"}


def test_a_coder_that_there_is_none_of_is_answered_with_the_nearest() -> None:
    own = ("--task", "mine", "--metric", "mse", "--arxiv", "2310.06625", "--model", "one")
    asked = [*own, "--base-url", "http://127.0.0.1:1/v1", "--coder", "agent:claude-cod"]
    error = CliRunner().invoke(app, asked).exception
    assert isinstance(error, UsageError) and "did you mean claude-code?" in str(error)

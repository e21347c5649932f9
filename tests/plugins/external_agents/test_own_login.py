"""`--own-login`: an agent with its user's login, and network to its provider alone."""

import json
from pathlib import Path
from typing import Any

import pytest
import tiny
import yaml
from agent_world import agent_file, calls_of, run_solver, steps_of
from chat_server import Request, chat_server

from autoreproduce.errors import UsageError
from autoreproduce.plugins.external_agents import agent_file as files
from autoreproduce.plugins.external_agents.agent_file import read_agent
from autoreproduce.plugins.external_agents.own_login import own_login

pytestmark = pytest.mark.slow
# Asks its provider through the tunnel as its login says, then other hosts, and looks for the rest.
SCRIPT = """
import socket
def through(host):
    proxy = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
    there = socket.create_connection((proxy[0], int(proxy[1])))
    there.sendall(f"CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode())
    said = there.recv(4096).split(b"\\r\\n")[0].decode()
    return there, said
login = json.load(open(os.environ["HOME"] + "/.codex/auth.json"))
assert login["tokens"] == {"access_token": "short", "refresh_token": "", "account_id": "a"}, login
there, said = through(os.environ["PROVIDER"])
assert "200" in said, said
body = json.dumps({"model": "own", "messages": [{"role": "user", "content": "go"}]})
head = f"POST /v1/chat/completions HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n"
head += f"Authorization: Bearer {login['tokens']['access_token']}\\r\\n"
there.sendall(f"{head}Content-Length: {len(body)}\\r\\n\\r\\n{body}".encode())
answer = b""
while part := there.recv(4096):
    answer += part
assert b"from the provider" in answer, answer
print("elsewhere", through("example.com:443")[1], through("localhost:9")[1])
try:
    socket.create_connection(("127.0.0.1", int(os.environ["PROVIDER"].split(":")[1])), 3)
    print("NETWORK")
except OSError:
    print("no network")
leave_program()
text = open("main.py").read()
open("main.py", "w").write("seed = 0\\n" + text)
open("README.md", "w").write("A line.")
print(json.dumps({"type": "turn.completed", "usage": {"input_tokens": 700, "cached_input_tokens": 200, "output_tokens": 50}}))
"""


def shipped(folder: Path, monkeypatch: pytest.MonkeyPatch, port: int, script: str = SCRIPT) -> None:
    """An agent that ships, of the test's own, and a home with its login."""
    monkeypatch.setenv("AUTOREPRODUCE_CODE_SMALL", str(folder / "agent-code"))
    monkeypatch.setattr(files, "CODE", "AUTOREPRODUCE_CODE_")
    path = agent_file(folder, script)
    described = yaml.safe_load(path.read_text())
    described["login"] = {
        "program": "codex",
        "hosts": [f"localhost:{port}"],
        "credentials": [".codex/auth.json"],
        "environment": {"PROVIDER": f"localhost:{port}", "GATEWAY": "none"},
    }
    (folder / "eval" / "agents").mkdir(parents=True)
    (folder / "eval" / "agents" / "small.yaml").write_text(yaml.safe_dump(described))
    monkeypatch.setattr(files, "folder", lambda name: folder / name)
    (folder / "home" / ".codex").mkdir(parents=True)
    tokens = {"access_token": "short", "refresh_token": "long-lived", "account_id": "a"}
    login = {"tokens": tokens, "last_refresh": "2026-11-28T00:00:00Z"}
    (folder / "home" / ".codex" / "auth.json").write_text(json.dumps(login))
    monkeypatch.setattr(Path, "home", lambda: folder / "home")


def reply(request: Request) -> str:
    if "Does this code do what the paper says?" in request.prompt:
        return json.dumps({"items": []})
    return "from the provider" if request.body["model"] == "own" else tiny.reply(request)


def test_it_reaches_its_provider_alone_and_never_what_renews_the_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_server(reply) as server:
        port = int(server.root_url.rpartition(":")[2])
        shipped(tmp_path, monkeypatch, port)
        more: dict[str, Any] = {"coder": "agent:small", "own_login": True, "lineage": False}
        done = run_solver(tmp_path, server.base_url, "autoreproduce", **more).result
        own = [r for r in server.requests if r.body["model"] == "own"]
    assert done.status == "measured", done.reason
    assert [r.headers["authorization"] for r in own] == ["Bearer short"]
    said = next(s.result.stdout for s in steps_of(tmp_path) if s.name == "agent")  # type: ignore[union-attr]
    assert (
        "elsewhere HTTP/1.1 403 Forbidden HTTP/1.1 403 Forbidden" in said and "no network" in said
    )
    used = next(step.result for step in steps_of(tmp_path) if step.name == "own_login")
    assert used.usage.total == 750 and used.price == 0.0  # type: ignore[union-attr]
    assert used in calls_of(tmp_path)
    page = (tmp_path / "trial" / "report.html").read_text()
    assert "<td>by your plan</td>" in page and ", and by your plan" in page  # a phase, and in all
    told = " ".join(done.warnings)
    assert "Codex worked with its user's own login" in told and f"localhost:{port} alone" in told
    assert "asked for other hosts, in vain: example.com:443, localhost:9" in told
    for path in (tmp_path / "trial").rglob("*"):
        assert not path.is_file() or b"long-lived" not in path.read_bytes(), path
        assert path.name != "auth.json" or path.is_symlink()


def test_the_plans_limit_is_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = {
        "type": "turn.failed",
        "error": {"message": "You've hit your usage limit. Try again at 9:45 PM."},
    }
    script = f"print(json.dumps({failed!r}))\nsys.exit(1)\n"
    with chat_server(reply) as server:
        shipped(tmp_path, monkeypatch, 9, script)
        more: dict[str, Any] = {"coder": "agent:small", "own_login": True, "lineage": False}
        done = run_solver(tmp_path, server.base_url, "autoreproduce", **more).result
    assert done.status == "stopped" and done.details["error"] == "plan limit"
    assert "the plan of Codex is at its limit" in done.reason


def test_who_may_have_a_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("claude-code", "codex"):
        agent = read_agent(name)
        with pytest.raises(UsageError, match="isn't logged in here"):
            own_login(agent, tmp_path)
    with pytest.raises(UsageError, match="has no login that it can be given"):
        own_login(read_agent("aider"), tmp_path)
    (tmp_path / ".claude").mkdir()
    held = {"claudeAiOauth": {"accessToken": "x", "refreshToken": "y", "expiresAt": 1}}
    (tmp_path / ".claude" / ".credentials.json").write_text(json.dumps(held))
    (text,) = own_login(read_agent("claude-code"), tmp_path).credentials.values()
    assert json.loads(text)["claudeAiOauth"] == {
        "accessToken": "x",
        "refreshToken": "",
        "expiresAt": 1,
    }
    shipped(tmp_path / "mine", monkeypatch, 9) if (tmp_path / "mine").mkdir() is None else None
    foreign = tmp_path / "foreign.yaml"
    foreign.write_text((tmp_path / "mine" / "eval" / "agents" / "small.yaml").read_text())
    with pytest.raises(UsageError, match="only agents that ship may have one"):
        read_agent(str(foreign))


@pytest.mark.parametrize("coder", ["tools", None])
def test_without_an_agent_there_is_nobody_to_log_in(tmp_path: Path, coder: str | None) -> None:
    with chat_server([]) as server, pytest.raises(UsageError, match="--own-login is of an agent"):
        run_solver(tmp_path, server.base_url, "autoreproduce", coder=coder, own_login=True)
    assert not (tmp_path / "trial").exists()

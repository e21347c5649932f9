"""The skill and the MCP server in Claude Code and Codex, as they are installed, with a scripted
model behind our protocols. What the agent tells its model is what it has found.
"""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from autoreproduce.trials.steps import ModelResult

GATEWAY = "autoreproduce.plugins.external_agents.gateway"
pytest.importorskip("autoreproduce.plugins.external_agents", reason="needs that plugin")
exchange, gateway = (import_module(f"{GATEWAY}.{name}") for name in ("exchange", "server"))
pytestmark = [
    pytest.mark.skipif(not find_spec("mcp"), reason="the mcp extra is not installed"),
    pytest.mark.slow,
    pytest.mark.timeout(600),
]
TOOL, SKILL = "list_tasks", "reproduce-a-paper"
ALLOWED = ["--dangerously-skip-permissions"]
SERVER = ["-m", "autoreproduce", "mcp", "--model", "none"]


def command_of(agent: str) -> str:
    """The agent's command. Skips if it is not installed."""
    found = shutil.which(agent)
    if found is None:
        pytest.skip(f"{agent} is not installed (npm names it in eval/agents/)")
    return found


@contextmanager
def scripted_model(script: Any) -> Iterator[tuple[str, list[Any]]]:
    """A model's server that speaks our gateway's protocols: its address, and what it was asked."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            route = gateway.route_of(self.path)
            if route is None or route.counted:
                self.send_error(404)
                return
            protocol = route.protocol
            request = protocol.read(body)
            asked.append(request)
            answer = exchange.ModelAnswer(script(request), f"r{len(asked)}", request)
            self.send_response(200)
            kind = "text/event-stream" if request.stream else "application/json"
            self.send_header("Content-Type", kind)
            self.end_headers()
            if not request.stream:
                self.wfile.write(json.dumps(protocol.whole(answer)).encode())
                return
            for name, event in protocol.stream(answer):
                self.wfile.write(f"event: {name}\ndata: {json.dumps(event)}\n\n".encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def calls(name: str, number: str, **arguments: Any) -> ModelResult:
    call = {"name": name, "args": arguments, "id": f"call_{number}", "type": "tool_call"}
    return ModelResult(reply="", tool_calls=[call], finish="tool_calls", model="m")


def script(request: Any) -> ModelResult:
    """Call our tool once it is there, wait for it before, and end after its answer: the agents
    begin while their servers start.
    """
    names = [tool["function"]["name"] for tool in request.tools]
    answers = [str(each["content"]) for each in request.messages if each["role"] == "tool"]
    ours = next((name for name in names if name.endswith(TOOL)), "")
    if any("2301.12664" in answer for answer in answers):
        return ModelResult(reply="There are tasks.", model="m")
    if len(answers) > 30:
        return ModelResult(reply=f"I see no tool: {answers[-1]}", model="m")
    number = f"{len(answers)}"
    if ours:
        return calls(ours, number)
    if "WaitForMcpServers" in names:
        return calls("WaitForMcpServers", number)
    if "exec_command" in names:
        return calls("exec_command", number, cmd="sleep 2")
    return ModelResult(reply=f"I see no tool in {names}", model="m")


def install_skill(folder: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "autoreproduce", "skill", "install", "--to", str(folder)]
    subprocess.run(command, check=True, env=environment, capture_output=True)


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    home = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path / "home")}
    return {**home, "AUTOREPRODUCE_CACHE_DIR": str(tmp_path / "cache"), **more}


def check_skill(asked: list[Any], said: str) -> None:
    """The agent named the skill to its model in its first request that has tools."""
    talk = [request for request in asked if request.tools]
    assert talk, said
    assert SKILL in talk[0].text and "reproduce, replicate or check" in talk[0].text


def check_server(asked: list[Any], said: str) -> None:
    """The agent offered the server's tools to its model, and called the one that was asked for."""
    names = {tool["function"]["name"] for request in asked for tool in request.tools}
    ours = {name for name in names if "autoreproduce" in name}
    assert {each.rpartition("__")[2] for each in ours} >= {TOOL, "start_reproduction", "verdict"}
    assert "There are tasks." in said


def test_claude_code_finds_the_skill_and_calls_the_server(tmp_path: Path) -> None:
    command = command_of("claude")
    with scripted_model(script) as (address, asked):
        given = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1"}
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        variables = environment(
            tmp_path, ANTHROPIC_MODEL="m", MCP_TIMEOUT="120000", **given, **quiet
        )
        install_skill(tmp_path / ".claude" / "skills", variables)
        servers = {"mcpServers": {"autoreproduce": {"command": sys.executable, "args": SERVER}}}
        (tmp_path / "mcp.json").write_text(json.dumps(servers))
        done = subprocess.run(
            [command, "-p", "List tasks.", "--mcp-config", "mcp.json", *ALLOWED],
            cwd=tmp_path,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    said = done.stdout + done.stderr
    check_skill(asked, said)
    check_server(asked, said)


CODEX = """
model = "gpt-5"
model_provider = "scripted"
sandbox_mode = "danger-full-access"
approval_policy = "never"
web_search = "disabled"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "{address}/v1"
wire_api = "responses"
[mcp_servers.autoreproduce]
command = {python}
args = {arguments}
startup_timeout_sec = 120
"""


def test_codex_finds_the_skill_and_calls_the_server(tmp_path: Path) -> None:
    command = command_of("codex")
    variables = environment(tmp_path)
    install_skill(tmp_path / ".agents" / "skills", variables)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with scripted_model(script) as (address, asked):
        (tmp_path / "home" / ".codex").mkdir()
        config = tmp_path / "home" / ".codex" / "config.toml"
        server = {"python": json.dumps(sys.executable), "arguments": json.dumps(SERVER)}
        config.write_text(CODEX.format(address=address, **server))
        done = subprocess.run(
            [command, "exec", "--skip-git-repo-check", "List tasks."],
            cwd=tmp_path,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    said = done.stdout + done.stderr
    check_skill(asked, said)
    check_server(asked, said)

"""The MCP server through the protocol's own client: over stdio and HTTP, with real trials."""

import html
import json
import os
import shlex
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import tiny
from chat_server import chat_server
from sandbox_fixtures import settings_for
from typer.testing import CliRunner

from autoreproduce.cli.app import app
from autoreproduce.config import Settings
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.plugins.integrations import mcp_server
from autoreproduce.plugins.integrations.mcp_server import Tools, environment_of, shortened, shown
from autoreproduce.runner.background import Jobs, JobState

needs_mcp = pytest.mark.skipif(not find_spec("mcp"), reason="the mcp extra is not installed")

TOOLS = {
    "list_tasks",
    "list_trials",
    "plan_paper",
    "start_reproduction",
    "audit_code",
    "score_code",
    "verify_code",
    "status",
    "stop",
    "verdict",
    "report",
}
BOTH = {"claims", "audit"}
LINE = {"task": "line", "metric": ["squared_error"], "paper": "paper.md", "data": "data"}


async def call(client: Any, tool: str, **arguments: Any) -> Any:
    """What a tool answers; its error as an exception."""
    answer = await client.call_tool(tool, arguments)
    text = "".join(block.text for block in answer.content)
    if answer.is_error:
        raise UsageError(text)
    found = answer.structured_content
    return found.get("result", found) if set(found) == {"result"} else found


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "AUTOREPRODUCE_CACHE_DIR": str(folder / "cache"), **more}


@needs_mcp
@pytest.mark.slow
def test_a_reproduction_outlives_its_client_and_another_reads_its_verdict(tmp_path: Path) -> None:
    from mcp import Client, MCPError, StdioServerParameters, stdio_client

    tiny.lay_out(tmp_path)

    async def over_stdio(base_url: str, work: Any) -> Any:
        flags = ["--model", "scripted", "--base-url", base_url, "--sandbox", "process"]
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "autoreproduce", "mcp", *flags],
            cwd=tmp_path,
            env=environment(tmp_path, AUTOREPRODUCE_LINEAGE="false"),
        )
        async with Client(stdio_client(server)) as client:
            return await work(client)

    async def begin(client: Any) -> dict[str, Any]:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        assert {row["task"] for row in await call(client, "list_tasks")} >= {"lsm"}
        with pytest.raises(UsageError, match="list_trials names them"):
            await call(client, "verdict", trial="../elsewhere")
        started = await call(client, "start_reproduction", **LINE)
        again = await call(client, "start_reproduction", **LINE)
        assert started["running"] and again["job"] == started["job"]
        return started

    async def read(client: Any, job: str) -> None:
        told: list[str] = []

        async def progress(at: float, whole: float | None, message: str | None) -> None:
            assert at == len(told) + 1 and whole is None
            told.append(message or "")

        state = {"running": True}
        while state["running"]:
            asked = {"job": job, "wait_seconds": 30}
            answer = await client.call_tool("status", asked, progress_callback=progress)
            state = answer.structured_content
            state = state.get("result", state) if set(state) == {"result"} else state
        assert told and all(told), "a notification a second, each with a line"
        (outcome,) = state["results"]
        assert outcome["status"] == "measured" and state["phase"] == "full_run", state
        verdict = await call(client, "verdict", trial=outcome["trial"])
        assert verdict["sentence"] == outcome["sentence"]
        assert len(json.dumps(verdict).encode()) < 2000
        claims, page = [(await client.read_resource(uri)).contents[0] for uri in verdict["more"]]
        assert claims.mime_type == "application/json" and set(json.loads(claims.text)) <= BOTH
        assert page.mime_type == "text/html" and verdict["sentence"] in html.unescape(page.text)
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template.rpartition("/")[2] for one in templates] == ["claims", "report"]
        for bad in ("autoreproduce://../x/report", "autoreproduce://nowhere/claims"):
            with pytest.raises(MCPError):
                await client.read_resource(bad)
        report = await call(client, "report", trial=outcome["trial"])
        assert Path(report["report"]).is_file() and "squared error" in report["text"]
        assert [row["status"] for row in await call(client, "list_trials")] == ["measured"]

    with chat_server(tiny.reply) as server:
        started = anyio.run(over_stdio, server.base_url, begin)  # this client and its server go
        anyio.run(over_stdio, server.base_url, lambda client: read(client, started["job"]))


@needs_mcp
@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper.tex", "papers/paper.tex"])
def test_a_paper_of_a_client_shows_the_model_no_secret(tmp_path: Path, name: str) -> None:
    from mcp import Client, StdioServerParameters, stdio_client

    """`\\input` of a hidden file, an absolute path and `..`, through a server and its job."""
    here, outside = tmp_path / "here", tmp_path / "outside.tex"
    (paper := here / name).parent.mkdir(parents=True)
    for place in (here / ".env", paper.parent / ".env", outside):
        place.write_text("the-secret")
    up = os.path.relpath(outside, paper.parent)
    named = [".env", "./.env", "../.env", str(outside), str(outside)[:-4], up, "~/.env"]
    asked = "".join(rf"\input{{{each}}}\include{{{each}}}\bibliography{{{each}}}" for each in named)
    text = "We measure a layer on five data sets. " * 100
    paper.write_text(rf"\documentclass{{x}}\begin{{document}}{asked}{text}\end{{document}}")

    async def plan(base_url: str) -> None:
        flags = ["--model", "scripted", "--base-url", base_url]
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "autoreproduce", "mcp", *flags],
            cwd=here,
            env=environment(tmp_path, HOME=str(here)),
        )
        async with Client(stdio_client(server)) as client:
            with pytest.raises(UsageError, match=r"the paper was not planned: .* cannot be used"):
                await call(client, "plan_paper", paper=name)

    with chat_server(lambda request: "no plan") as server:
        anyio.run(plan, server.base_url)
        sent = json.dumps([request.body for request in server.requests])
    assert "five data sets" in sent and "the-secret" not in sent
    written = [path.read_bytes() for path in (here / "runs").rglob("*") if path.is_file()]
    assert written and not any(b"the-secret" in each for each in written)


MEAN = {"file": "stdout", "line": 1, "number": 1, "text": "mean: 2.5"}
VERIFYING = [
    """```yaml
- {row: [plain], metric: mean, direction: match, value: 2.5, scale: raw,
   sentence: The plain mean is 2.5}
```""",
    json.dumps({"command": "python means.py", "packages": [], "why": "the README"}),
    json.dumps({"places": [{"id": "plain_mean", "of": MEAN}]}),
]


@pytest.mark.slow
def test_code_is_verified_by_a_job(in_folder: Path) -> None:
    (in_folder / "code").mkdir()
    (in_folder / "code/means.py").write_text("print(f'mean: {sum([1, 4]) / 2}')\n")
    (in_folder / "paper.md").write_text("# Means\n\nThe plain mean is 2.5 on the points.\n")
    with chat_server(VERIFYING) as server:
        how = {"model": "any", "base_url": server.base_url, "audit": False}
        tools = Tools(settings_for("process", runs_dir=in_folder / "runs", **how))
        job = tools.verify_code("code", paper="paper.md")
        while job["running"]:
            job = tools.status(job["job"], wait_seconds=30)
    (result,) = job["results"]
    assert result["verdict"] == "reproduced", job
    found = tools.verdict(result["trial"])
    assert found["counts"] == {"reproduced": 1}
    assert found["claims"] == ["plain: mean: reproduced (paper 2.5, measured 2.5, +0)"]


TABLE = """# Lines

Table 1: Test error.

| method | error |
|---|---|
| Descent | 0.012 |
"""
PLAN = """```yaml
- name: Table 1
  what: Descent on a line
  main: true
  dataset: a line
  data: generated
  metrics:
  - {name: error, direction: lower}
  minutes: 0.5
  gpu: false
  instruction: Fit the line.
  claims:
  - {row: [Descent], column: [error], metric: error, direction: lower, value: 0.012, table: Table 1,
     main: true}
```"""


@pytest.mark.slow
def test_a_plan_is_rows_a_cost_and_a_command_from_the_first_call_on(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (in_folder / "paper.md").write_text(TABLE)
    may_answer = threading.Event()

    def slow(request: Any) -> str:
        may_answer.wait(60)
        return PLAN

    with chat_server(slow) as server:
        how = {"model": "any", "base_url": server.base_url}
        tools = Tools(settings_for("process", runs_dir=in_folder / "runs", **how))
        monkeypatch.setattr(mcp_server, "WAIT", 0.1)
        first = tools.plan_paper("paper.md")
        may_answer.set()
        monkeypatch.setattr(mcp_server, "WAIT", 60)
        plan = tools.plan_paper("paper.md")
        assert len(server.requests) == 1, "the second call joined the first one's job"
    start = {"paper": "paper.md", "experiment": ["Table 1"]}
    for answer in (first, plan):
        assert [row.get("experiment", row.get("name")) for row in answer["rows"]] == ["Table 1"]
        words = shlex.split(answer["command"])
        assert words[words.index("--paper") + 1] == "paper.md" and "--experiment" in words
        assert set(answer["cost_of_one"]) == {"dollars", "tokens", "seconds"}
        assert answer["start_reproduction"]["paper"] == "paper.md"
    assert first["running"] and first["start_reproduction"] == start
    assert "running" not in plan and plan["rows"][0]["claims"] == ["Descent / error: 0.012"]
    assert plan["planning"]["usage"]["input"] > 0
    (in_folder / "empty.md").write_text("")
    with pytest.raises(UsageError):
        tools.plan_paper("empty.md")


@pytest.mark.slow
def test_code_is_audited_without_being_run(in_folder: Path) -> None:
    (in_folder / "code").mkdir()
    (in_folder / "code/train.py").write_text("open('ran', 'w')\nEPOCHS = 20\n")
    (in_folder / "paper.md").write_text("# Nets\n\nWe train the net for 200 epochs.\n")
    item = {
        "kind": "training length", "says": "200 epochs", "does": "20", "moves": "yes",
        "paper": "We train the net for 200 epochs", "file": "train.py", "first": 2,
        "code": "EPOCHS = 20",
    }  # fmt: skip
    holds = {"items": [{"id": "D1", "holds": True, "why": "no other line sets it"}]}
    with chat_server([json.dumps({"items": [item]}), json.dumps(holds)]) as server:
        how = {"model": "any", "base_url": server.base_url}
        tools = Tools(settings_for("process", runs_dir=in_folder / "runs", **how))
        for _ in range(2):  # the second time nobody is asked
            found = tools.audit_code("code", paper="paper.md")
        assert len(server.requests) == 2
    [difference] = found["result"]["differences"]
    assert difference.startswith("train.py:2 (moves a number: yes, ")
    assert difference.endswith("the code 20; the paper: 200 epochs")
    whole = json.loads(Path(found["result"]["data"]).read_text())
    assert whole["differences"][0]["code"] == "EPOCHS = 20"
    assert "1 place, which can move a number" in found["result"]["sentence"]
    assert not list(in_folder.rglob("ran"))
    with pytest.raises(UsageError, match="isn't a file below"):
        tools.audit_code("/etc", paper="paper.md")


@pytest.mark.parametrize("letter", ["a", "é", "漢", '"'])
@pytest.mark.parametrize("lines", [0, 1, 7, 300])
def test_a_verdict_stays_below_2_kB_and_counts_what_it_leaves_out(letter: str, lines: int) -> None:
    answer = {"sentence": letter * 500, "counts": {"reproduced": lines}, "metric": 0.5}
    lists = {"claims": [letter * 90] * lines, "remarks": [letter * 400] * (lines // 2)}
    found = shortened(answer, lists)
    assert len(json.dumps(found, ensure_ascii=False).encode()) < 2000
    assert found["metric"] == 0.5 and found["sentence"].startswith(letter * 10)
    for name, given in lists.items():
        assert len(found.get(name, [])) + found["left_out"].get(name, 0) == len(given)


def test_a_running_job_says_its_last_line_and_the_time_left() -> None:
    now = datetime.now(UTC)
    at = (now - timedelta(seconds=20)).isoformat()
    lines = [
        {"event": "phase", "name": "full_run", "left_seconds": 100, "at": at},
        {"event": "output", "text": "epoch 3 \x1b[31mloss 0.2"},
    ]
    state = shown(JobState("j", True, lines, ""))
    assert state["phase"] == "full_run" and "epoch 3" in state["last_line"]
    assert "\x1b" not in state["last_line"] and 75 <= state["seconds_left"] <= 81
    assert "last_line" not in shown(JobState("j", False, lines, ""))
    assert shown(JobState("j", True, [], "reading\nthe paper"))["last_line"] == "the paper"
    assert shown(JobState("j", True, [], ""))["seconds_left"] is None


@contextmanager
def http_server(folder: Path, token: str) -> Iterator[str]:
    """`autoreproduce mcp --http` on a free port; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "autoreproduce", "mcp", "--http", str(port)],
        cwd=folder,
        env=environment(folder, AUTOREPRODUCE_MCP_TOKEN=token),
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(20)


@needs_mcp
@pytest.mark.slow
def test_over_http_only_who_has_the_token_is_answered(tmp_path: Path) -> None:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async def tasks(address: str) -> list[Any]:
        headers = {"Authorization": "Bearer secret"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            return await call(client, "list_tasks")

    with http_server(tmp_path, "secret") as address:
        assert httpx2.post(address, json={}).status_code == 401
        wrong = {"Authorization": "Bearer secre"}
        assert httpx2.post(address, json={}, headers=wrong).status_code == 401
        elsewhere = {"Authorization": "Bearer secret", "Host": "evil.example"}
        assert httpx2.post(address, json={}, headers=elsewhere).status_code >= 400
        assert len(anyio.run(tasks, address)) > 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("openai:gpt-5", "set OPENAI_API_KEY"),
        ("nobody:gpt-5", "the provider 'nobody' is unknown"),
        ("openai:", "write openai:NAME"),
        ("tape:nowhere.jsonl", "the tape nowhere.jsonl cannot be read"),
    ],
)
def test_a_model_that_cannot_be_asked_is_said_when_the_server_starts(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch, model: str, says: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = CliRunner().invoke(app, ["mcp", "--model", model])
    assert isinstance(done.exception, UsageError) and says in str(done.exception)
    assert done.exception.exit_code == 2


@pytest.mark.slow
@pytest.mark.parametrize("model", ["tape:t.jsonl", None])
def test_without_a_live_model_a_paper_s_own_tables_are_the_plan(
    in_folder: Path, model: str | None
) -> None:
    (in_folder / "paper.md").write_text(TABLE)
    found = Tools(Settings(model=model)).plan_paper("paper.md")
    assert [row["experiment"] for row in found["rows"]] == ["Table 1"]
    who = "A live model, no tape," if model else "A model"
    assert found["notes"][0].startswith(f"the paper was not planned: {who} lists its experiments")


def test_a_job_says_how_it_failed_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    job = jobs.start("reproduce", ["--task", "no such task", "--json"])
    state = jobs.wait(job, 60)
    assert not state.running and "no such task" in state.errors
    with pytest.raises(UsageError, match="does not run"):
        jobs.stop(job)
    for unknown in ("plan-00000000", "../x", "plan"):
        with pytest.raises(UsageError, match="there is no job"):
            jobs.state(unknown)


@pytest.mark.slow
def test_a_job_imports_nothing_from_the_folder_of_its_server(in_folder: Path) -> None:
    ran = in_folder / "ran"
    (in_folder / "typer.py").write_text(f"open({str(ran)!r}, 'w').close()\nraise SystemExit(9)\n")
    jobs = Jobs(in_folder / "runs")
    state = jobs.wait(jobs.start("reproduce", ["--task", "no such task", "--json"]), 60)
    assert "no such task" in state.errors and not ran.exists()


@pytest.mark.parametrize(
    ("prices", "cost"), [([0.25, 0.5], 0.75), ([0.25, None], None), ([None], None), ([], 0)]
)
def test_a_cost_that_is_unknown_is_not_shown_as_nothing(
    prices: list[float | None], cost: float | None
) -> None:
    steps = [{"event": "step", "kind": "model", "price": price} for price in prices]
    ran = {"event": "step", "kind": "execution", "exit_code": 0}
    state = JobState("j", True, [{"event": "phase", "name": "p"}, ran, *steps], "")
    assert shown(state)["cost"] == cost


def test_what_is_read_lies_below_the_runs(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "trial.json").write_text("{}")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "outside")
    tools = Tools(Settings(runs_dir=tmp_path / "runs"))
    for name in ("../outside", str(tmp_path / "outside"), "link", "\0"):
        with pytest.raises(TrialError, match="there is no trial"):
            tools.verdict(name)


def test_a_job_gets_the_server_s_settings_and_no_secret() -> None:
    settings = Settings(model="tape", api_key="secret", budget=5, k=2)
    assert environment_of(settings) == {
        "AUTOREPRODUCE_MODEL": "tape",
        "AUTOREPRODUCE_BUDGET": "5",
        "AUTOREPRODUCE_K": "2",
    }
    assert "secret" not in json.dumps(environment_of(settings))


def test_a_client_chooses_no_judge_that_the_server_does_not_have(tmp_path: Path) -> None:
    tools = Tools(Settings(runs_dir=tmp_path, model="openai:own"))
    with pytest.raises(UsageError, match="openai:dear isn't a model of this server"):
        tools.score_code(str(tmp_path), "lsm", judge=["openai:own", "openai:dear"])
    assert not (tmp_path / "jobs").exists()


@pytest.mark.parametrize("path", ["/etc", "../secret.md", ".ssh", "a/.env", "link"])
def test_a_client_names_nothing_outside_the_servers_folder(in_folder: Path, path: str) -> None:
    (in_folder / "link").symlink_to("/etc")
    tools = Tools(Settings(runs_dir=in_folder / "runs"))
    for ask in (
        lambda: tools.plan_paper(path),
        lambda: tools.start_reproduction(paper=path, experiment=["main"]),
        lambda: tools.start_reproduction(task="lsm", data=path),
        lambda: tools.score_code(path, "lsm"),
        lambda: tools.verify_code(path),
        lambda: tools.verify_code("https://host/x", paper=path),
        lambda: tools.audit_code(path),
        lambda: tools.audit_code("https://host/x", paper=path),
    ):
        with pytest.raises(UsageError, match=r"is hidden|isn't a file below"):
            ask()
    for address in ("file:///etc", "ssh://host/x", "http://127.0.0.1/x", "git@host:x"):
        with pytest.raises(UsageError, match="an https address"):
            tools.score_code(address, "lsm")
        with pytest.raises(UsageError, match="an https address"):
            tools.verify_code(address)
    assert not (in_folder / "runs" / "jobs").exists()

"""Handed-over files with mutations, for a bounded time: nothing outside is written, no secret is
read, nothing of theirs is imported, and each is taken or refused in one line.

`AUTOREPRODUCE_FUZZ_SECONDS=600 pytest -m slow tests/attacks/test_handed_over_fuzz.py` searches longer.
"""

import json
import os
import random
import sys
import tarfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from langchain_core.messages import HumanMessage
from raw_server import raw_server, whole
from test_handed_over import handed_trial
from test_handed_over_kinds import KINDS

from autoreproduce.agents.parsing import parse
from autoreproduce.benchmarks import open_benchmark
from autoreproduce.benchmarks.reproducebench.task_code import text_of
from autoreproduce.benchmarks.reproducebench.tasks import task_file
from autoreproduce.config import Settings
from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.evaluation.judging.submitted_code import read_program
from autoreproduce.evaluation.submission import lay_out as lay_out_program
from autoreproduce.files.bounded import parse_yaml
from autoreproduce.files.tree import Tree
from autoreproduce.job import Job
from autoreproduce.method.paper_lineage.cache import load
from autoreproduce.method.paper_lineage.pick import clone_folder
from autoreproduce.models.open import call as call_model
from autoreproduce.models.open import open_model, reply_of
from autoreproduce.models.tape import CallSite
from autoreproduce.papers.files import read_file
from autoreproduce.runner import hub_data
from autoreproduce.runner.api import resumed
from autoreproduce.runner.find import find_or_make_task
from autoreproduce.runner.open_models import choose_model
from autoreproduce.runner.settings import load_settings, settings_here

SECONDS = float(os.environ.get("AUTOREPRODUCE_FUZZ_SECONDS", "2"))
SHIPPED = Path(__file__).parents[2] / "reproducebench" / "lsm"
SEED = int(os.environ.get("AUTOREPRODUCE_FUZZ_SEED", "0"))
watching: list[Callable[[str, tuple[Any, ...]], None]] = []
sys.addaudithook(lambda event, args: watching[-1](event, args) if watching else None)


def plugin(name: str) -> Any:
    """A module of a plugin; the test is skipped where the plugin isn't installed."""
    pytest.importorskip(f"autoreproduce.plugins.{name.partition('.')[0]}")
    return import_module(f"autoreproduce.plugins.{name}")


class Watch:
    """What is opened and imported while a file is read; `inside` may be written."""

    def __init__(self, inside: Path, secret: Path) -> None:
        self.inside, self.secret, self.found = inside, secret, list[str]()

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "import" and args[0] == "evil_module":
            self.found.append("imported evil_module")
        named = event == "open" and isinstance(args[0], str | bytes)
        if named and "\0" not in os.fsdecode(args[0]):  # no file has a NUL in its name
            path, flags = Path(os.path.realpath(os.fsdecode(args[0]))), args[2]
            if path.is_relative_to(self.secret):
                self.found.append(f"opened {path}")
            writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            ours = path.is_relative_to(self.inside) or path == Path("/dev/null")
            ours = ours or path.is_dir()  # a temporary file without a name
            # a bare name is one in a folder that is open; the last line looks for it here
            ours = ours or "/" not in os.fsdecode(args[0])
            if writes and not ours and "__pycache__" not in path.parts:
                self.found.append(f"wrote {path}")


def strange(draw: random.Random, secret: Path) -> Any:
    """A value that means harm in some place."""
    return draw.choice(
        [
            *("evil_module:Solver", "os:system", "agent:/etc/passwd", "--log=/tmp/x", "-rfile"),
            *("/etc/passwd", "../../../secret/key.tex", str(secret), str(secret / "key.tex")),
            *("file:///etc/passwd", "http://evil.invalid", "process", "tape:/etc/passwd"),
            *("\0", "\ud800", "a" * 5000, "", "${HOME}", "`id`", 10**400, -1, 1e308, None, True),
            *([], {}, [[]], {"name": "process"}, {"base_url": "http://evil.invalid"}),
        ]
    )


def mutated(draw: random.Random, value: Any, secret: Path) -> Any:
    """A copy with some values and keys in the place of others."""
    if draw.random() < 0.08:
        return strange(draw, secret)
    if isinstance(value, dict):
        found = {key: mutated(draw, each, secret) for key, each in value.items()}
        if draw.random() < 0.1:
            found[draw.choice([*Settings().flat(), "papers", "model", "data", "packages"])] = (
                strange(draw, secret)
            )
        return found
    return [mutated(draw, each, secret) for each in value] if isinstance(value, list) else value


def trial(folder: Path, draw: random.Random, secret: Path) -> None:
    found = handed_trial(folder / "t")
    content = json.loads((found / "job.json").read_text())
    inputs = dict.fromkeys(("data", "tape", "paper_folder", "paper"), strange(draw, secret))
    content |= {k: v for k, v in inputs.items() if draw.random() < 0.2}
    (found / "job.json").write_text(json.dumps(mutated(draw, content, secret)))
    if draw.random() < 0.5:
        name = draw.choice(["result", "paper", "prompts", ".lock", "packages/bubblewrap", "x"])
        (found / name).parent.mkdir(exist_ok=True)
        if not (found / name).exists():
            (found / name).symlink_to(secret)
    resumed(found, Settings(cache_dir=folder / "cache"), trust=True)


def suite(folder: Path, draw: random.Random, secret: Path) -> None:
    plan_suite = plugin("suites.api").plan_suite
    own = [{"name": "own", "metric": "mse", "paper": "p.md", "data": "d"}]
    fields = {
        "solver": "reference",
        "variants": {"a": {"solver": "reference", "settings": {"k": 1}}},
        "settings": {"k": 2, "sandbox": "bubblewrap"},
        "executor": {"local": {}},
        "options": {},
        "tasks": draw.choice([["lsm"], own]),
    }
    changed = {k: mutated(draw, v, secret) for k, v in fields.items()}
    (folder / "s").mkdir()
    (folder / "s/s.yaml").write_text(
        yaml.safe_dump({"name": "theirs", "tasks": ["lsm"], **changed})
    )
    plan_suite(folder / "s/s.yaml")


def tape(folder: Path, draw: random.Random, secret: Path) -> None:
    head = {"tape": 1, "model": "m", "recorded": "2026-01-01", "task": "lsm", "profile": "small"}
    (file := folder / "t.jsonl").write_text(
        json.dumps(mutated(draw, {**head, "settings": {"k": 2, "lineage": True}}, secret)) + "\n"
    )
    task = find_or_make_task("lsm", None, None, None, "", "small")
    settings = choose_model(Settings(model=f"tape:{file}"), task, "autoreproduce").settings
    assert settings.model.base_url is None and settings.papers.github_url.endswith("github.com")


def paper(folder: Path, draw: random.Random, secret: Path) -> None:
    names = ["../secret/key", str(secret / "key"), "link/key", ".hidden", "key.tex", "a/../../key"]
    inputs = "".join(f"\\input{{{draw.choice(names)}}}" for _ in range(4))
    (folder / "link").symlink_to(secret)
    (folder / "p.tex").write_text(f"\\documentclass{{a}}\\begin{{document}}{inputs}{'w ' * 900}")
    assert "the-secret" not in read_file(folder / "p.tex", folder / "out").text


def settings(folder: Path, draw: random.Random, secret: Path) -> None:
    name = draw.choice([*Settings().flat(), "sandbox.name", "model.base_url", "papers.offline"])
    value = strange(draw, secret)
    text = json.dumps(value) if isinstance(value, str | int | float) else "1"
    (folder / "autoreproduce.toml").write_text(f"{name} = {text}\n", errors="replace")
    os.chdir(folder)
    found = load_settings({})
    assert found.model.base_url is None and found.sandbox.name in ("auto", "docker", "bubblewrap")


def link_or_text(path: Path, draw: random.Random, secret: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if draw.random() < 0.15:
        path.symlink_to(draw.choice([secret / "key.tex", secret, Path("/dev/zero")]))
    else:
        path.write_text(text, errors="replace")


def data_set(folder: Path, draw: random.Random, secret: Path) -> None:
    (code := folder / "set" / "p" / "code").mkdir(parents=True)
    link_or_text(code / "main.py", draw, secret, "def f(x):\n    return x + 1\n")
    ids = {"paper_id": "p", "func_id": draw.choice(["0", "x/../../../y", str(secret)])}
    made = {"packages": ["numpy==1"], "data_dir": "data", "results": "r.json", "seeds": [0]}
    made |= {"twins": {"0": [["main.py", "f"]]}, "hidden": {"0": ["x.py"]}, "timeout": 1.0}
    function = {**ids, "file": "main.py", "name": "f", "header_line": 1, "line_start": 2}
    run = {"exp_id": "0", "result": {"a": 1}, "func_dependencies": ids["func_id"], "solution": "x"}
    contents = {"functions.jsonl": function, "experiments.jsonl": {"paper_id": "p", **run}}
    for name, content in {**contents, "taskset.json": made}.items():
        text = json.dumps(mutated(draw, content, secret))
        link_or_text(code.parent / name, draw, secret, text)
    benchmark = open_benchmark("autoexperiment", {"dataset": folder / "set"})
    for name in benchmark.names():
        task = benchmark.prepare(benchmark.load(name, "small"), folder / "cache", lambda _: None)
        plugin("autoexperiment.layout").lay_out(
            plugin("autoexperiment.tasks").masked_of(task), folder / "workspace"
        )


def agent(folder: Path, draw: random.Random, secret: Path) -> None:
    content = {"name": "a", "protocol": "chat", "command": "x", "files": {"a/b": "x"}}
    content |= {"pip": ["a==1"], "npm": {"a": "1.0.0"}, "result": ".", "environment": {"A": "b"}}
    content["files"] |= {str(strange(draw, secret)): "x"}
    content |= {"code": {"variable": "HOME", "fetch": "x"}} if draw.random() < 0.2 else {}
    text = json.dumps(mutated(draw, content, secret))
    (folder / "a.yaml").write_text(text)
    (laid := folder / "laid").mkdir()
    calls: Any = SimpleNamespace(name="openai:m")
    found = plugin("external_agents.agent_file").read_agent(str(folder / "a.yaml"))
    sandbox: Any = None
    run = plugin("external_agents.external").AgentRun(found, sandbox, calls, {})
    run._lay_out(laid, found.command)


def task_folder(folder: Path, draw: random.Random, secret: Path) -> None:
    content = mutated(draw, parse_yaml((SHIPPED / "task.yaml").read_text()), secret)
    link_or_text(folder / "lsm" / "task.yaml", draw, secret, json.dumps(content))
    link_or_text(folder / "lsm" / "preprocess.py", draw, secret, "x = 1\n")
    found = task_file(folder / "lsm")
    text_of(folder / "lsm", found.preprocess)


def rubric(folder: Path, draw: random.Random, secret: Path) -> None:
    leaf = {"id": "b", "requirements": "x", "weight": 1, "task_category": "Code Development"}
    tree = {"id": "a", "requirements": "x", "weight": 1, "sub_tasks": [leaf]}
    link_or_text(folder / "rubric.json", draw, secret, json.dumps(mutated(draw, tree, secret)))
    for name in ("config.yaml", "paper.md", "addendum.md", "blacklist.txt"):
        link_or_text(folder / name, draw, secret, json.dumps(strange(draw, secret)))
    plugin("paperbench.papers").load_paper(folder)


def lineage_entry(folder: Path, draw: random.Random, secret: Path) -> None:
    content = {"title": "t", "summary": "s", "learnt": "l", "date": "d", "paths": ["a.py"]}
    content |= {"repository": "https://github.com/a/b", "commit": "a" * 40, "licence": "MIT"}
    text = json.dumps(mutated(draw, content, secret))
    link_or_text(folder / "x" / "entry.yaml", draw, secret, text)
    found, problems = load([folder])
    if problems:
        raise UsageError(problems[0])
    name = (found[0].repository or "").removeprefix("https://github.com/")
    owner: Any = SimpleNamespace(folder=folder)
    assert clone_folder(owner, name).resolve().parent == (folder / "lineage").resolve()


def sweep(folder: Path, draw: random.Random, secret: Path) -> None:
    plan_suite = plugin("suites.api").plan_suite
    varied = {f"k-{k}": {"settings": {draw.choice(["k", *Settings().flat()]): k}} for k in (1, 2)}
    fields = {"benchmark": "reproducebench", "trials": 3, "settings": {"k": 2}, "variants": varied}
    changed = {k: mutated(draw, v, secret) for k, v in fields.items()}
    (folder / "s").mkdir()
    text = yaml.safe_dump({"name": "theirs", "tasks": ["lsm"], **changed})
    (folder / "s/sweep.yaml").write_text(text)
    plan_suite(folder / "s/sweep.yaml")


def job(folder: Path, draw: random.Random, secret: Path) -> None:
    of_suites = plugin("suites.job")
    place = folder / "s" / "trials" / "lsm" / "a" / "1" / "job.json"
    own = {"suite": str(folder / "s"), "task": "lsm", "variant": "a", "number": 1, "mark": "m"}
    task = find_or_make_task("lsm", None, None, None, "", "small")
    task = task.model_copy(update=dict.fromkeys(task.PATHS))
    asked = Job(task=task, solver="reference", settings=Settings(k=2), more={"suites": own})
    content = asked.model_dump(mode="json")
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(mutated(draw, content, secret)))
    found = of_suites.read_job(place)
    assert of_suites.place(found).folder.resolve() == place.parent.resolve()
    settings = settings_here(found)
    assert settings.model.base_url is None and settings.sandbox.name != "process"


def latex_folder(folder: Path, draw: random.Random, secret: Path) -> None:
    names = ["part", "../../secret/key", str(secret / "key"), "link/key", "sub/../part", "", "|id"]
    parts = "".join(
        f"\\{draw.choice(['input', 'include', 'includegraphics', 'bibliography', 'graphicspath'])}"
        f"{{{draw.choice(names)}}}"
        for _ in range(6)
    )
    begin = "\\documentclass{a}\\begin{document}"
    for name in ("main.tex", "part.tex", "part.bib", "main.bbl", "part.png"):
        link_or_text(folder / "p" / name, draw, secret, f"{begin}{parts}{'w ' * 900}")
    found = read_file(folder / "p", folder / "out")
    assert "the-secret" not in found.text and "the-secret" not in found.latex


def submission(folder: Path, draw: random.Random, secret: Path) -> None:
    measure = plugin("tables.submission").measure_submission
    one = {"task": "none", "code": "p", "run": "python main.py"}  # of no task, so nothing is run
    content = {"system": "theirs", "model": "m", "programs": [one, mutated(draw, one, secret)]}
    link_or_text(folder / "s" / "p" / "main.py", draw, secret, "x = 1\n")
    (folder / "s" / "s.yaml").write_text(json.dumps(mutated(draw, content, secret)))
    os.chdir(folder)
    measure(folder / "s" / "s.yaml", folder / "home", lambda _: None)


def program(folder: Path, draw: random.Random, secret: Path) -> None:
    cells = [{"cell_type": "code", "source": ["x = 1"], "outputs": [], "metadata": {}}]
    book = json.dumps(mutated(draw, {"cells": cells, "nbformat": 4, "metadata": {}}, secret))
    for name in ("main.py", "a/b.py", "c.ipynb", "conf.yaml", "metrics.json", ".env.py"):
        text = book if name.endswith("ipynb") else f"# coding: {strange(draw, secret)}\nx = 1\n"
        link_or_text(folder / "p" / name, draw, secret, text)
    with tarfile.open(folder / "p.tar", "w") as archive:
        for name in ("main.py", "../../out.py", str(secret / "new.py")):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = draw.choice([tarfile.SYMTYPE, tarfile.LNKTYPE]), str(secret)
            archive.addfile(draw.choice([link, tarfile.TarInfo(name)]))
    found = read_program(str(folder / draw.choice(["p", "p", "p", "p.tar"])))
    assert not any("the-secret" in text for text in found.files.values())
    task = find_or_make_task("lsm", None, None, None, "", "small")
    lay_out_program(folder / "t", found, task).close()


def model_server(folder: Path, draw: random.Random, secret: Path) -> None:
    """Its answers, up to the commands that are read in them."""
    name = draw.choice(["main.py", str(strange(draw, secret))])
    words = f"ADD {name}\n```python\nx = 1\n```\nEDIT 1 2\n```\nx\n```\n"
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": words, "tool_calls": [call]}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    body = json.dumps(mutated(draw, {**answer, "choices": [choice]}, secret)).encode()
    to = draw.choice([f"file://{secret}/key.tex", "http://169.254.169.254/", "/elsewhere"])
    moved = b"HTTP/1.1 307 Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % to.encode()
    given = moved if draw.random() < 0.1 else whole(body)
    settings = {"api_key": "k", "max_retries": 0, "request_timeout": 5}
    with raw_server(lambda _: iter([given])) as server:
        model = open_model(Settings(base_url=server.url, **settings), "openai:any")
        said = call_model(model, [HumanMessage("x")], CallSite("code", "replication", "edit"))
    (laid := folder / "laid").mkdir()
    found = parse(reply_of(said).text, ("EDIT", "ADD"))
    for command in (*found.edits, *found.new_files):
        Tree(laid).write(str(getattr(command, "path", "main.py")), "x")


def agent_server(folder: Path, draw: random.Random, secret: Path) -> None:
    """What an agent asks its gateway, in each of the four protocols."""
    server = plugin("external_agents.gateway.server")
    converted = plugin("external_agents.gateway.calls")._converted
    url = draw.choice([str(strange(draw, secret)), "data:image/png;base64,aGk=", "file:///etc/x"])
    source = {"type": "url", "url": url}
    parts = [
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "image", "source": source},
        {"type": "input_image", "image_url": url},
        {"text": "a", "fileData": {"fileUri": url}, "inlineData": {"data": url}},
    ]
    turns = [{"role": "user", "content": parts, "parts": parts, "type": "message"}]
    body = {"messages": turns, "input": turns, "contents": turns, "model": "m", "tools": []}
    ends = [*server._BY_ENDING, "/models/m:generateContent", "/models/m:countTokens"]
    route = server.route_of("/v1" + draw.choice(ends))
    request = server._asked(route.protocol, mutated(draw, body, secret), route.said)
    for message in converted(request):
        pictures = [p for p in message.content if isinstance(p, dict) and "image_url" in p]
        assert all(p["image_url"]["url"].startswith("data:image/") for p in pictures)


def downloaded_data(folder: Path, draw: random.Random, secret: Path) -> None:
    """Rows of the Hub, with pictures that bring names of their own; then a name that is none."""
    picture = {"bytes": b"x", "path": str(strange(draw, secret))}
    row = mutated(draw, {"label": 1, "picture": picture, "more": [picture]}, secret)
    split = str(strange(draw, secret))[:100]
    hub_data._write_rows([row] if isinstance(row, dict) else [], split, folder)
    hub_data.local_data(Path(f"hf:{strange(draw, secret)}"), Settings(), print)


# Each kind by its name in the table: a new one needs a line here.
READS: dict[str, Callable[[Path, random.Random, Path], None]] = {
    "data set": data_set,
    "downloaded data": downloaded_data,
    "trial": trial,
    "suite": suite,
    "sweep": sweep,
    "job": job,
    "tape": tape,
    "paper": paper,
    "LaTeX folder": latex_folder,
    "agent": agent,
    "task folder": task_folder,
    "rubric": rubric,
    "lineage entry": lineage_entry,
    "submission": submission,
    "program": program,
    "settings": settings,
    "model server": model_server,
    "agent server": agent_server,
}


def test_each_kind_that_is_handed_over_is_mutated_here() -> None:
    assert list(READS) == list(KINDS) and len(set(READS.values())) == len(READS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", READS)
def test_mutated_files_reach_nothing(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = READS[kind]
    (secret := tmp_path / "secret").mkdir()
    (secret / "key.tex").write_text("the-secret")
    (tmp_path / "evil_module.py").write_text("class Solver:\n    needs = frozenset()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    draw, until, number, refused = random.Random(SEED), float("inf"), 0, 0
    while number < 4 or time.monotonic() < until:
        (folder := tmp_path / "files" / str(number)).mkdir(parents=True)
        watch, number = Watch(tmp_path / "files", secret), number + 1
        watching.append(watch)
        try:
            read(folder, draw, secret)
        except AutoReproduceError as error:
            assert "\n" not in str(error).strip()[:300] or len(str(error)) < 2000
            refused += 1
        finally:
            watching.pop()
            until = min(until, time.monotonic() + SECONDS)  # the first reads its modules too
        assert not watch.found, (number, watch.found)
    assert {path.name for path in tmp_path.iterdir()} <= {
        "files",
        "secret",
        "evil_module.py",
        "__pycache__",
    }
    assert refused or read is paper  # a paper is read without such parts

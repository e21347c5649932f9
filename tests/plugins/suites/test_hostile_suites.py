"""Suites, jobs and their folders that others hand over: no word of theirs reaches out."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError
from suite_world import handed_suite, lay_out
from typer.testing import CliRunner

from autoreproduce.cli.app import app
from autoreproduce.cli.console.attempts import command_line
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.job import FILE as JOB
from autoreproduce.plugins.suites.api import plan_suite
from autoreproduce.plugins.suites.clusters.slurm import SUBMITTED, SlurmExecutor
from autoreproduce.plugins.suites.commands import _print_summary
from autoreproduce.plugins.suites.job import job_of, read_job, write_job
from autoreproduce.plugins.suites.plan import Plan, parse_changes
from autoreproduce.plugins.suites.run import SuiteRun, SuiteSummary
from autoreproduce.plugins.suites.suite_file import SuiteFile, read_suite
from autoreproduce.plugins.suites.view import COLUMNS
from autoreproduce.task import Task

REACHING_SUITES: list[dict[str, Any]] = [
    {"solver": "evil_solver:Solver"},
    {"variants": {"a": {"solver": "evil_solver:Solver"}}},
    {"settings": {"base_url": "http://evil.invalid"}},
    {"settings": {"sandbox": "process"}},
    {"settings": {"sandbox": {"name": "process"}}},
    {"settings": {"price": "0,0,0"}},
    {"settings": {"gpus": "all"}},
    {"settings": {"build_debian_packages": "evil"}},
    {"settings": {"coder": "agent:../evil.yaml"}},
    {"settings": {"coder": "agent:evil.yaml"}},
    {"variants": {"a": {"settings": {"coder": "agent:codex", "own_login": True}}}},
    {"settings": {"from_code": "/etc"}},
    {"settings": {"model": "tape:/etc/passwd"}},
    {"variants": {"a": {"settings": {"code_model": "tape:../../t.jsonl"}}}},
    {"variants": {"a": {"settings": {"github_url": "http://evil.invalid"}}}},
    {"tasks": [{"name": "own", "metric": "mse", "arxiv": "2301.12664", "data": "../data"}]},
    {"tasks": [{"name": "own", "metric": "mse", "paper": "../paper.md"}]},
    {"tasks": [{"name": "own", "metric": "mse", "paper": "tex:../../paper.md"}]},
    {"tasks": [{"name": "lsm", "data": "hf:owner/name"}]},
]


@pytest.mark.parametrize("fields", REACHING_SUITES)
def test_a_suite_reaches_out_only_if_its_user_trusts_it(
    tmp_path: Path, planted: Path, fields: dict[str, Any]
) -> None:
    (tmp_path / "s" / "tex").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "paper.md").write_text("# A paper")
    file = handed_suite(tmp_path / "s", **fields)
    done = CliRunner().invoke(app, ["suite", str(file), "--dry-run", "--model", "x"])
    assert isinstance(done.exception, UsageError) and not planted.exists()
    assert "s.yaml, line " in str(done.exception) and "add --trust" in str(done.exception)
    assert plan_suite(file, trust=True).trials


def test_a_suite_clones_no_paper_before_its_user_trusts_it(tmp_path: Path) -> None:
    entry = {"name": "own", "metric": "mse", "paper": "https://evil.invalid/paper.git"}
    with pytest.raises(UsageError, match=r"line \d+: tasks.0.paper: .*lies elsewhere"):
        plan_suite(handed_suite(tmp_path / "s", tasks=[entry]))


def test_a_suite_that_names_a_sandbox_with_walls_needs_no_trust(tmp_path: Path) -> None:
    settings = {"sandbox": "bubblewrap", "k": 2, "memory_gb": 4, "model": "openai:gpt-5"}
    settings |= {"coder": "tools"}
    assert plan_suite(handed_suite(tmp_path / "s", settings=settings)).trials


def test_a_job_reaches_out_only_if_its_user_trusts_it(tmp_path: Path, planted: Path) -> None:
    plan = plan_suite(handed_suite(tmp_path / "s", solver="evil_solver:Solver"), trust=True)
    file = write_job(job_of(plan, plan.trials[0], tmp_path / "out", "", None))
    planted.unlink()  # whoever trusted the suite imported it
    sys.modules.pop("evil_solver")
    with pytest.raises(UsageError, match=r"names folder, solver, .*add --trust"):
        read_job(file)
    assert read_job(file, trust=True).solver == "evil_solver:Solver" and not planted.exists()


def test_a_job_whose_suite_is_no_path_is_one_clear_error(tmp_path: Path) -> None:
    plan = plan_suite(handed_suite(tmp_path / "s"), trust=True)
    file = write_job(job_of(plan, plan.trials[0], tmp_path / "out", "", None))
    changed = json.loads(file.read_text()) | {"suite": "/tmp/a\0b"}
    file.write_text(json.dumps(changed))
    with pytest.raises(UsageError, match="isn't a job"):
        read_job(file)


def test_no_key_in_an_address_is_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "base_url": "https://a-token@host.invalid/v1",
        "github_url": "https://me:a-token@git.invalid",
    }
    plan = plan_suite(handed_suite(tmp_path / "s", settings=settings), trust=True)
    job = job_of(plan, plan.trials[0], tmp_path / "out", "", None)
    assert "a-token" not in job.model_dump_json()
    line = ["autoreproduce", "suite", "s.yaml", "--notify", "https://x/a-key", "--notify=y", "-q"]
    monkeypatch.setattr("sys.argv", line)
    assert command_line() == "python -m autoreproduce suite s.yaml -q"


@pytest.mark.parametrize("field", ["partition", "account", "qos", "constraint", "mem", "gres"])
def test_an_option_of_slurm_adds_no_line_to_its_script(tmp_path: Path, field: str) -> None:
    options = {"slurm": {field: "gpu\ntouch /tmp/ran\n"}}
    with pytest.raises(UsageError, match=f"executor.slurm.{field}: String should match"):
        plan_suite(handed_suite(tmp_path / "s", executor=options))
    assert plan_suite(handed_suite(tmp_path / "s", executor={"slurm": {field: "a&b*2 [c|d]"}}))


@pytest.mark.parametrize("number", [["7"], {"7": 1}, "--all", "7; id", None])
def test_a_file_of_another_runner_names_no_job_of_slurm(tmp_path: Path, number: object) -> None:
    (trial := tmp_path / "trials" / "lsm" / "a" / "1").mkdir(parents=True)
    (trial / JOB).write_text("{}")
    (trial / SUBMITTED).write_text(json.dumps({"executor": "slurm", "id": number}))
    cancelled: list[str] = []
    runner = SimpleNamespace(
        folder=tmp_path, _active=lambda: {"7": "None"}, _cancel=cancelled.extend
    )
    assert SlurmExecutor.under_way.func(runner) == {}  # type: ignore[arg-type]
    assert cancelled == ["7"]


def test_a_job_is_attempted_where_it_lies(tmp_path: Path) -> None:
    plan = plan_suite(handed_suite(tmp_path / "s"))
    file = write_job(job_of(plan, plan.trials[0], tmp_path / "out", "", None))
    content = json.loads(file.read_text())
    content["task"] |= dict.fromkeys(Task.PATHS)
    content |= {"settings": {}, "paper": None, "data": None}
    own = content["more"]["suites"]

    def with_place(**changed: object) -> None:
        file.write_text(json.dumps({**content, "more": {"suites": {**own, **changed}}}))

    with_place()
    assert read_job(file).task is not None
    with_place(suite=str(tmp_path / "victim"))
    with pytest.raises(UsageError, match=r"names suite, .*add --trust"):
        read_job(file)
    file.write_text(json.dumps({**content, "program": {"code": "x", "beside": ["/etc/hosts"]}}))
    with pytest.raises(UsageError, match=r"names program, .*add --trust"):
        read_job(file)
    with_place(task="../../victim")
    with pytest.raises(UsageError, match="is called as no folder can be"):
        read_job(file, trust=True)


def test_a_suites_folder_with_a_link_is_not_run(tmp_path: Path) -> None:
    (out := tmp_path / "out").mkdir()
    (out / "trials").symlink_to(tmp_path)
    line = ["suite", str(handed_suite(tmp_path / "s")), "--model", "x", "--out", str(out)]
    done = CliRunner().invoke(app, line)
    assert isinstance(done.exception, TrialError) and "is a link" in str(done.exception)


def test_a_suites_own_folder_is_believed_only_where_it_was_made(tmp_path: Path) -> None:
    """A repository may bring runs/suites/NAME, with trials that look finished."""
    file = lay_out(tmp_path / "s", trials=1)
    plan = Plan(read_suite(file), parse_changes([f"cache_dir={tmp_path / 'cache'}"]))
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / "ledger.json").write_text("{}")
    with pytest.raises(UsageError, match="was not begun here") as refused:
        SuiteRun(plan, planted, workers=1, named=False).run()
    assert "--out" in (refused.value.fix or "")
    assert [path.name for path in planted.iterdir()] == ["ledger.json"]


@pytest.mark.parametrize("key", ["paper", "data"])
def test_what_a_suite_names_beside_itself_lies_there(tmp_path: Path, key: str) -> None:
    (host := tmp_path / "host.txt").write_text("of the host")
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "paper.md").write_text("# A paper")
    (suite / "mine").symlink_to(host if key == "paper" else tmp_path)
    entry = {"name": "one", "metric": "error:lower", "paper": "paper.md", key: "mine"}
    (suite / "s.yaml").write_text(
        json.dumps({"name": "s", "tasks": [entry], "settings": {"model": "m"}})
    )
    with pytest.raises(UsageError, match=r"mine.*isn't a file below suite"):
        Plan(read_suite(suite / "s.yaml")).job("one", "default")


def test_a_suite_has_ten_thousand_trials_of_a_task_at_most() -> None:
    with pytest.raises(ValidationError, match="10000"):
        SuiteFile.model_validate({"name": "s", "tasks": ["lsm"], "trials": 10**12})


def test_a_suites_last_line_holds_no_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    zeros = dict.fromkeys((*COLUMNS, "total", "cost", "tokens", "seconds", "refusals"), 0)
    limits = {"limit_tokens": None, "limit_dollars": None, "seconds_left": None}
    state = {"counts": zeros, "rows": [], "cost_known": True, **limits, **zeros}
    _print_summary(
        SuiteSummary(
            Path("suite"), "not scored", "\x1b]0;owned\x07\x1b[2Jhello\x9b2J", snapshot=state
        ),
        json=False,
    )
    shown = capsys.readouterr().out
    assert "hello" in shown and not {"\x1b", "\x07", "\x9b"} & set(shown)

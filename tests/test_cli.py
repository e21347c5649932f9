"""The command line: what it answers, and how bad input is told."""

import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from autoreproduce.cli import COMMANDS, MODULES, app
from autoreproduce.cli_commands import app as commands
from autoreproduce.config import Settings
from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.options import make_settings


def run(*arguments: str) -> str:
    """The error that the user sees."""
    result = CliRunner().invoke(app, list(arguments))
    assert isinstance(result.exception, AutoReproduceError), result.output
    assert result.exception.exit_code == 2
    return str(result.exception)


def test_the_lazy_table_agrees_with_the_commands() -> None:
    apps = [commands, *(import_module(f"autoreproduce.{module}").app for module in sorted(set(MODULES.values())))]
    real = {}
    for one in apps:
        found = get_command(one)
        real |= {name: c.help.split("\n")[0] for name, c in getattr(found, "commands", {found.name: found}).items()}
    assert real == COMMANDS


def test_help_answers_at_once_and_imports_no_command() -> None:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "autoreproduce", "--help"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert "reproduce" in done.stdout
    assert not {"pydantic", "langchain_core", "rich.console", "numpy"} & {
        line.split("|")[-1].strip() for line in done.stderr.splitlines()
    }
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which experiment"),
        (["--task", "Darcie"], "did you mean Darcy"),
        (["--task", "Darcy", "--arxiv", "2310.06625"], "is of arXiv 2301.12664"),
        (["--task", "Darcy", "--arxiv", "not an id"], "is no arXiv id"),
        (["--task", "mine", "--metric", "mse"], "needs its paper"),
        (["--task", "mine", "--metric", "mse:better", "--arxiv", "2310.06625"], "lower or higher"),
        (["--task", "mine", "--metric", "mse", "--arxiv", "2310.06625"], "no model is configured"),
        (["--task", "mine", "--metric", "mse", "--paper", "nowhere.pdf"], "does not exist"),
        (["--task", "Darcy", "--profile", "huge"], "has no profile huge"),
        (["--task", "Darcy", "--model", "tape:nowhere.jsonl"], "cannot be read"),
        (["--task", "Darcy", "--model", "openai:gpt-5"], "OPENAI_API_KEY"),
        (["--task", "Darcy", "--model", "acme:one"], "unknown"),
        (["--task", "Darcy", "--out", "there", "--trial", "2"], "leave one of them out"),
        (["--task", "Darcy", "--k", "99"], "setting k"),
        (["--task", "Darcy", "--base-url", "http://127.0.0.1:1/v1"], "--model NAME"),
    ],
)
def test_bad_input_is_one_line_that_names_the_mend(arguments: list[str], said: str, in_folder: Path) -> None:
    message = run("reproduce", *arguments)
    assert said in message
    assert "\n" not in message


def test_a_key_without_a_model_is_asked_about(monkeypatch: pytest.MonkeyPatch, in_folder: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert "no model is named" in run("reproduce", "--task", "Darcy")


def test_an_error_is_one_line_on_stderr_without_a_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "autoreproduce", "--task", "Darcie"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("autoreproduce: no task answers to Darcie")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("wrong", ["api.github.com", "", "ftp://x", "http://", "http://[::1", "http://x:99999"])
def test_an_address_that_is_none_is_refused_before_anything_is_done(in_folder: Path, wrong: str) -> None:
    with pytest.raises(UsageError, match=r"setting github_api: write it as https://HOST .*AUTOREPRODUCE_GITHUB_API"):
        make_settings({"github_api": wrong})


def test_flags_stand_above_environment_above_file(in_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("autoreproduce.toml").write_text('model = "file"\nk = 7\nmax_debug = 4\n')
    monkeypatch.setenv("AUTOREPRODUCE_MODEL", "environment")
    monkeypatch.setenv("AUTOREPRODUCE_K", "5")
    settings = make_settings({"model": "flag", "memory_gb": 3.0})
    assert (settings.model, settings.k, settings.max_debug) == ("flag", 5, 4)
    assert settings.limits.memory_gb == 3.0
    assert settings.limits.cpus == Settings().limits.cpus


def test_an_unknown_key_in_the_file_is_named(in_folder: Path) -> None:
    Path("autoreproduce.toml").write_text("modle = 'x'\n")
    with pytest.raises(UsageError, match="modle"):
        make_settings({})


def test_a_limit_is_set_by_environment_and_file_as_by_its_flag(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("autoreproduce.toml").write_text("memory_gb = 3\ncpus = 1.5\n[limits]\nprocesses = 64\n")
    monkeypatch.setenv("AUTOREPRODUCE_CPUS", "1")
    limits = make_settings({"disk_gb": 2.0}).limits
    assert (limits.memory_gb, limits.cpus, limits.disk_gb, limits.processes) == (3, 1, 2, 64)
    monkeypatch.setenv("AUTOREPRODUCE_CPUS", "none")
    with pytest.raises(UsageError, match="AUTOREPRODUCE_CPUS"):
        make_settings({})


@pytest.mark.parametrize("content", [b"k = [", b"\xff\xfe"])
def test_a_file_of_settings_that_is_no_toml_is_one_line(in_folder: Path, content: bytes) -> None:
    Path("autoreproduce.toml").write_bytes(content)
    assert "autoreproduce.toml cannot be read" in run("doctor")


@pytest.mark.parametrize(("name", "value"), [("K", "99"), ("LIMITS", "abc")])
def test_a_bad_variable_of_the_environment_is_one_line(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"AUTOREPRODUCE_{name}", value)
    assert name.lower() in run("tasks")


def test_no_secret_is_a_flag_or_kept() -> None:
    settings = Settings(api_key="sk-secret", github_token="ghp-secret")
    assert "secret" not in str(settings.kept())
    assert "secret" not in repr(settings)
    assert "--api-key" not in CliRunner().invoke(app, ["reproduce", "--help"]).output


def test_ids_are_whole_where_tasks_are_piped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = CliRunner().invoke(app, ["tasks"]).output
    assert "2301.12664" in listed and "relative_l2" in listed
    assert "…" not in listed


def test_the_graph_names_the_phases() -> None:
    drawn = CliRunner().invoke(app, ["graph"]).output
    assert "method_replication" in drawn
    assert "paper_lineage" not in CliRunner().invoke(app, ["graph", "--no-lineage"]).output

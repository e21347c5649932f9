"""The command line: what it answers, and how bad input is answered."""

import os
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from records import trial_record
from trial_results import trial_result
from typer.main import get_command
from typer.testing import CliRunner

from autoreproduce.cli.app import BENCH, COMMANDS, GROUPS, app
from autoreproduce.cli.help import SCREEN
from autoreproduce.cli.options import settings_options
from autoreproduce.config import Settings
from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.runner.settings import load_settings
from autoreproduce.trials.live import LiveRecord, read_live
from autoreproduce.trials.trial import Trial

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> str:
    """The error that the user sees. Skips where the command's plugin isn't installed."""
    if arguments[0] in {"verify", "audit", "export", "suite"} - {*COMMANDS}:
        pytest.skip(f"{arguments[0]} is not installed")
    result = CliRunner().invoke(app, list(arguments))
    assert isinstance(result.exception, AutoReproduceError), result.output
    assert result.exception.exit_code == 2
    named = re.sub(r"`[^`]*`", "", str(result.exception))  # another command stands in quotes
    assert not options_in(named) - known_options(arguments) - {*arguments}, named
    return str(result.exception)


def options_in(text: str) -> set[str]:
    """The options that a message names."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


def known_options(arguments: Sequence[str]) -> set[str]:
    """The options of the command that is called."""
    commands = real_commands()
    name = next((n for n in (" ".join(arguments[:2]), *arguments[:1]) if n in commands), "")
    command = commands[name or "reproduce"]
    return {each for one in command.params for each in (*one.opts, *one.secondary_opts)}


@cache
def real_commands() -> dict[str, Any]:
    """Every command by its name, as Typer makes it of its module."""
    found = {}
    for commands in GROUPS.values():
        for name, command in commands.items():
            made: Any = get_command(resolve_name(command.place))
            found |= getattr(made, "commands", {name: made}) if name != "bench" else {}
    bench: Any = get_command(app).get_command(None, "bench")  # type: ignore[arg-type]
    return found | {f"bench {name}": command for name, command in bench.commands.items()}


def test_the_lazy_table_agrees_with_the_commands() -> None:
    real = {name: command.help.split("\n")[0] for name, command in real_commands().items()}
    bench = [f"bench {name}" for name in BENCH]
    assert sorted(name for name in real if name.startswith("bench ")) == sorted(bench)
    for name in bench:
        real.pop(name)
    assert real == {name: one.text for name, one in COMMANDS.items() if name != "bench"}


def imported(*arguments: str) -> tuple[set[str], str]:
    """The modules that a Python process imports, and what it prints."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, timeout=60
    )
    return {line.split("|")[-1].strip() for line in done.stderr.splitlines()}, done.stdout


def test_help_imports_no_command_and_the_package_nothing_of_weight() -> None:
    modules, shown = imported("-m", "autoreproduce", "--help")
    assert "reproduce" in shown
    assert not {"pydantic", "langchain_core", "rich.console", "numpy"} & modules
    modules, _ = imported("-c", "import autoreproduce")
    assert not {"pydantic", "typer", "autoreproduce.config"} & modules


def seconds(*arguments: str) -> float:
    """Of processor, the least of three runs: what it takes, and not what else the machine does."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


@pytest.mark.slow
def test_help_and_import_are_quick_beside_python_itself() -> None:
    python = seconds("-c", "pass")
    assert seconds("-m", "autoreproduce", "--help") < 0.3 + 12 * python
    assert seconds("-c", "import autoreproduce") < 0.2 + 6 * python


def helped(*command: str) -> str:
    """What a command's help shows in a terminal of 80 columns."""
    return CliRunner().invoke(app, list(command), env={"COLUMNS": "80"}).output


def test_each_command_s_help_fits_on_one_screen(in_folder: Path) -> None:
    named = [[*name.split(), "--help"] for name in real_commands()]
    for command in (["--help"], [], *named):
        shown = helped(*command)
        assert len(shown.splitlines()) <= SCREEN, shown
        assert max(map(len, shown.splitlines())) <= 80, shown
    assert {"graph", "badge"} <= set(helped("--help").replace(",", "").split())
    shown = helped("reproduce", "--help")
    main = [
        "arxiv",
        "paper",
        "task",
        "metric",
        "experiment",
        "model",
        "base-url",
        "budget",
        "sandbox",
        "profile",
        "data",
        "out",
        "require",
        "solver",
        "dry-run",
    ]
    assert [line.split()[0] for line in shown.splitlines() if line.startswith("  --")] == [
        f"--{name}" for name in main
    ]
    assert (
        "Model, Budget, Method, Sandbox, Papers, Advanced" in shown and "--max-debug" not in shown
    )
    assert "--max-debug" in helped("reproduce", "--help-all")


def test_without_arguments_it_says_where_one_was(in_folder: Path) -> None:
    def shown() -> list[str]:
        return CliRunner().invoke(app, []).output.splitlines()

    assert shown()[0].startswith("autoreproduce [reproduce]")
    Trial.open(in_folder / "runs/begun", trial_record()).close()
    ended = Trial.open(in_folder / "runs/ended", trial_record())
    ended.write_result(trial_result(metric=0.25, sentence="\x1b[31mReproduced: 3" + " of 3" * 20))
    ended.close()
    os.utime(in_folder / "runs/begun", (1, 1))
    first, report, second, resume, blank, *rest = shown()
    assert first.startswith("runs/ended, 0.") and "ago: Reproduced: 3 of 3" in first
    assert len(first) == 100 and report == "  runs/ended/report.html"
    assert second.endswith("ago: not finished") and resume == "  autoreproduce resume runs/begun"
    assert blank == "" and rest[0].startswith("autoreproduce [reproduce]")


def test_a_trial_that_runs_now_is_said_to_run(in_folder: Path) -> None:
    def line_of(folder: Path) -> str:
        shown = CliRunner().invoke(app, []).output.splitlines()
        at = next(n for n, line in enumerate(shown) if line.startswith(f"runs/{folder.name}, "))
        return shown[at].partition(": ")[2] + "\n" + shown[at + 1].strip()

    folder = in_folder / "runs/now"
    Trial.open(folder, trial_record()).close()
    live = LiveRecord(folder)
    live.phase("full_run")
    began = read_live(folder)
    assert began is not None
    running = f"running since {began.began[11:16]} UTC, in full run"
    watch = "watch it: autoreproduce view runs, or tail -F runs/now/output.log"
    assert line_of(folder) == f"{running}\n{watch}"
    ended = Trial.read(folder)
    ended.write_result(trial_result(status="stopped", reason="no budget"))
    assert line_of(folder).startswith("running since")  # it was resumed
    (folder / "live.json").write_text(
        began.model_copy(update={"owner": "elsewhere/1/1"}).model_dump_json()
    )
    assert line_of(folder) == "no budget\nautoreproduce resume runs/now"  # it was killed
    live.phase("full_run")
    live.end()
    assert line_of(folder).startswith("no budget")


@pytest.mark.parametrize("command", ["bench prepare", "bench list", "report", "doctor", "graph"])
def test_a_small_command_has_few_options(command: str) -> None:
    options = [each for each in real_commands()[command].params if each.opts[0].startswith("-")]
    assert len(options) <= 5  # and --help


@pytest.mark.parametrize("name", [*real_commands()])
def test_every_option_says_what_it_does(name: str) -> None:
    command = real_commands()[name]
    assert [each.name for each in command.params if not (each.help or "").strip()] == []
    shown = helped(*name.split(), "--help").splitlines()
    assert len(shown) <= SCREEN + 5 and shown[2].strip() == command.help.split("\n")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["repot"], "repot isn't a command: did you mean report? `autoreproduce --help`"),
        (["prepare"], "prepare isn't a command: did you mean bench prepare?"),
        (["xyz"], "xyz isn't a command: `autoreproduce --help`"),
        (["--modle", "x"], "reproduce has no option --modle: did you mean --model?"),
        (["graph", "--model", "x"], "graph has no option --model: it belongs to reproduce, plan"),
        (
            ["resume", "x", "--k", "5"],
            "resume has no option --k: it belongs to reproduce, lineage;",
        ),
        (["bench", "prepar"], "'prepare'"),
        (["report"], "Missing argument 'folder': see `autoreproduce report --help`"),
        (
            ["reproduce", "paper.tex"],
            "reproduce takes a paper as an option: write --paper paper.tex",
        ),
        (["lineage", "2301.12664"], "lineage takes a paper as an option: write --arxiv 2301.12664"),
        (["lineage", "my paper.pdf"], "an option: write --paper 'my paper.pdf'"),
        (["verify", "paper.tex"], "paper.tex is a paper, and no code: name the code first, and"),
        (["paper.tex"], "paper.tex isn't a command: a paper is given by --paper paper.tex"),
        (["2301.12664"], "isn't a command: a paper is given by --arxiv 2301.12664"),
        (["audit", "paper.pdf"], "the code first, and the paper with --paper paper.pdf"),
        (["score", "paper.docx", "--task", "Darcy"], "the paper with --paper paper.docx"),
        (["reproduce", "code"], "unexpected extra argument"),
        (["--out"], "requires an argument: see `autoreproduce"),
        (["--trial", "one"], "Invalid value for '--trial'"),
    ],
)
def test_a_slip_is_one_line_with_the_nearest_name(arguments: list[str], message: str) -> None:
    assert message in run(*arguments) and "\n" not in run(*arguments)


OWN = ("--task", "mine", "--metric", "mse", "--arxiv", "2310.06625")
LIVE = ("--model", "one", "--base-url", "http://127.0.0.1:1/v1")


def test_a_slip_ends_with_2_and_help_with_0() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "autoreproduce", "repot"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("autoreproduce: repot isn't a command") and (
        len(done.stderr.splitlines()) == 1
    )
    assert CliRunner().invoke(app, []).exit_code == 0
    assert CliRunner().invoke(app, ["bench"]).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which experiment"),
        (["--task", "Darcie"], "did you mean Darcy"),
        (["--task", "Darcy", "--arxiv", "2310.06625"], "is of arXiv 2301.12664"),
        (["--task", "Darcy", "--arxiv", "not an id"], "isn't an arXiv id"),
        (["--task", "mine", "--metric", "mse"], "needs its paper"),
        (["--task", "mine", "--metric", "mse:better", "--arxiv", "2310.06625"], "lower or higher"),
        (["--metric", "mse", "--arxiv", "2310.06625"], "add --task NAME"),
        (["--task", "mine", "--metric", "", "--arxiv", "2310.06625"], "--metric is empty"),
        (["--task", "mine", "--metric", "mse,,mae", "--arxiv", "2310.06625"], "names nothing"),
        (["--task", "mine", "--metric", "mse,mse", "--arxiv", "2310.06625"], "once"),
        (["--task", "mine", "--metric", "zeal", "--arxiv", "2310.06625"], "--metric zeal:lower"),
        (["--task", "Darcy", "--claim", "fine"], "cannot be read"),
        (["--task", "Darcy", "--claim", "zeal"], "cannot be read"),
        (["--task", "Darcy", "--claim", "mse = 3", "--claim", "mse = 4"], "claimed twice"),
        (["--task", "mine", "--metric", "mse", "--arxiv", "2310.06625"], "no model is configured"),
        (["--task", "mine", "--metric", "mse", "--paper", "nowhere.pdf"], "is missing"),
        (["--task", "Darcy", "--profile", "huge"], "has no profile huge"),
        (["--task", "Darcy", "--profile", "smal"], "has no profile smal: did you mean small?"),
        ([*OWN, "--profile", "smal"], "no profile smal: did you mean small?"),
        ([*OWN, "--profile", "smal", "--dry-run"], "no profile smal: did you mean small?"),
        (["--arxiv", "2310.06625", "--experiment", "main", "--profile", "fulll"], "mean full?"),
        ([*OWN, "--gpus", "two"], "setting gpus: write all, or numbers such as 0,1"),
        ([*OWN, "--allow-install", "pip,conad"], "no installer conad: did you mean conda?"),
        ([*OWN, "--attempt-budget", "much"], "--attempt-budget 'much' is not understood"),
        ([*OWN, "--effort", "papr"], "setting effort: "),
        ([*OWN, "--sandbox", "dokcer", *LIVE], "unknown sandbox 'dokcer': did you mean docker?"),
        ([*OWN, "--solver", "autoreproduc"], "did you mean autoreproduce?"),
        ([*OWN, "--coder", "tool", *LIVE], "did you mean tools?"),
        ([*OWN, "--require", "reproducd"], "'--require': 'reproducd' is not one of"),
        (["--task", "Darcy", "--model", "tape:nowhere.jsonl"], "cannot be read"),
        (["--task", "Darcy", "--model", "openai:gpt-5"], "OPENAI_API_KEY"),
        (["--task", "Darcy", "--model", "acme:one"], "unknown"),
        (["--task", "Darcy", "--model", "openia:gpt-5"], "did you mean openai? one of"),
        (["--task", "Darcy", "--model", "openia:gpt-5", "--dry-run"], "did you mean openai?"),
        (["--task", "Darcy", "--out", "there", "--trial", "2"], "leave one of them out"),
        (
            ["--task", "Darcy", "--out", "there", "--trial", "2", "--dry-run"],
            "leave one of them out",
        ),
        ([*OWN, "--coder", "tool", "--dry-run"], "did you mean tools?"),
        ([*OWN, "--coder", "tools", "--from", "nowhere", "--dry-run"], "no such file or folder"),
        (["--task", "Darcy", "--model", "tape", "--from", "nowhere"], "no such file or folder"),
        (["--task", "Darcy", "--model", "tape", "--from", "."], "and a tape begins with nothing"),
        (
            ["--task", "Darcy", "--solver", "reference", "--from", "."],
            "and the solver reference begins with nothing",
        ),
        (["--task", "Darcy", "--k", "99"], "setting k"),
        ([*OWN, "--seed", "-1"], "setting seed: "),
        ([*OWN, "--temperature", "nan"], "setting temperature: "),
        ([*OWN, "--max-retries", "-1"], "setting max_retries: "),
        ([*OWN, "--data", "nowhere", "--dry-run"], "--data nowhere isn't a folder"),
        (["--task", "Darcy", "--base-url", "http://127.0.0.1:1/v1"], "--model NAME"),
    ],
)
def test_bad_input_is_a_line_or_three_that_name_the_fix(
    arguments: list[str], said: str, in_folder: Path
) -> None:
    message = run("reproduce", *arguments)
    assert said in message
    assert message.count("\n") in (0, 2) and all(len(line) < 400 for line in message.split("\n"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "harbor", "lsm", "--out", "file"], "--out file isn't a folder"),
        (["suite", "reproducebench", "--out", "file", "--model", "tape"], "another with --out"),
        (["plan", "file"], "of a kind that cannot be read"),
        (["verify", ".", "--paper", "p.md", "--run", "x", "--driver", "none.py"], "--driver none"),
        (["verify", ".", "--paper", "p.md", "--data", "none", "--dry-run"], "--data none isn't"),
        (["plan", "p.md", "--data", "none", "--dry-run"], "--data none isn't a folder"),
    ],
)
def test_bad_input_of_other_commands_too(arguments: list[str], said: str, in_folder: Path) -> None:
    (in_folder / "file").write_text("x")
    (in_folder / "p.md").write_text("# A paper\n\nWords.\n")
    assert said in run(*arguments)


PAPER = ("--paper", "paper.md")


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", ""])
@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", "code", *PAPER),
        ("lineage", *PAPER),
        ("verify", "code", *PAPER),
        ("reproduce", *PAPER, "--experiment", "main"),
        ("reproduce", *PAPER, "--task", "mine", "--metric", "mse"),
        ("score", "code", "--task", "Darcy", "--levels", "paper"),
    ],
)
def test_without_a_model_each_command_names_its_own_options_alone(
    arguments: tuple[str, ...], variable: str, in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable:
        monkeypatch.setenv(variable, "sk-1")
    (in_folder / "paper.md").write_text("# A paper\n\nIts error is 0.3.\n")
    (in_folder / "code").mkdir()
    (in_folder / "code/main.py").write_text("print(0.3)\n")
    said = run(*arguments)  # which asks what options it names
    assert "model" in said and ("--dry-run" in said) == (
        arguments[0] == "verify" or "--metric" in arguments
    )


def test_a_key_without_a_model_is_asked_about(
    monkeypatch: pytest.MonkeyPatch, in_folder: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert "no model is named" in run("reproduce", "--task", "Darcy")


@pytest.mark.slow
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
    assert "describe your own with --arxiv or --paper, and --metric" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "wrong", ["api.github.com", "", "ftp://x", "http://", "http://[::1", "http://x:99999"]
)
def test_an_address_that_is_none_is_refused_before_anything_is_done(
    in_folder: Path, wrong: str
) -> None:
    with pytest.raises(
        UsageError, match=r"setting github_api: write it as https://HOST .*AUTOREPRODUCE_GITHUB_API"
    ):
        load_settings({"github_api": wrong})


def test_flags_stand_above_environment_above_file(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("autoreproduce.toml").write_text('model = "file"\nk = 7\nmax_debug = 4\n')
    monkeypatch.setenv("AUTOREPRODUCE_MODEL", "environment")
    monkeypatch.setenv("AUTOREPRODUCE_K", "5")
    settings = load_settings({"model": "flag", "memory_gb": 3.0})
    assert (settings.model.name, settings.method.k, settings.method.max_debug) == ("flag", 5, 4)
    assert settings.sandbox.limits.memory_gb == 3.0
    assert settings.sandbox.limits.cpus == Settings().sandbox.limits.cpus


def test_an_unknown_key_in_the_file_is_named(in_folder: Path) -> None:
    Path("autoreproduce.toml").write_text("modle = 'x'\n")
    with pytest.raises(UsageError, match="modle"):
        load_settings({})


def test_a_limit_is_set_by_environment_and_file_as_by_its_flag(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("autoreproduce.toml").write_text(
        "memory_gb = 3\ncpus = 1.5\n[sandbox.limits]\nprocesses = 64\n"
    )
    monkeypatch.setenv("AUTOREPRODUCE_CPUS", "1")
    limits = load_settings({"disk_gb": 2.0}).sandbox.limits
    assert (limits.memory_gb, limits.cpus, limits.disk_gb, limits.processes) == (3, 1, 2, 64)
    monkeypatch.setenv("AUTOREPRODUCE_CPUS", "none")
    with pytest.raises(UsageError, match="AUTOREPRODUCE_CPUS"):
        load_settings({})


@pytest.mark.parametrize("content", [b"k = [", b"\xff\xfe"])
def test_a_file_of_settings_that_is_no_toml_is_one_line(in_folder: Path, content: bytes) -> None:
    Path("autoreproduce.toml").write_bytes(content)
    assert "autoreproduce.toml cannot be read" in run("doctor")


@pytest.mark.parametrize(("name", "value"), [("K", "99"), ("MEMORY_GB", "abc")])
def test_a_bad_variable_of_the_environment_is_one_line(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"AUTOREPRODUCE_{name}", value)
    assert name.lower() in run("bench", "list")


@pytest.mark.parametrize(
    ("groups", "also", "said"),
    [
        (["modle"], [], "modle is no group of settings: did you mean model?"),
        (["model"], ["sede"], "weigh has no sede: did you mean seed?"),
        ([], ["api_key"], "weigh has no api_key"),
    ],
)
def test_a_command_that_takes_settings_which_there_are_not_is_told_so(
    groups: list[str], also: list[str], said: str
) -> None:
    def weigh(*, settings: Settings) -> None:
        raise AssertionError(settings)

    with pytest.raises(UsageError) as error:
        settings_options(*groups, also=also)(weigh)
    assert said in str(error.value)


def test_no_secret_is_a_flag_or_kept() -> None:
    settings = Settings(api_key="sk-secret", github_token="ghp-secret")
    assert "secret" not in str(settings.identity())
    assert "secret" not in repr(settings)
    assert "--api-key" not in CliRunner().invoke(app, ["reproduce", "--help-all"]).output


def test_ids_are_whole_where_tasks_are_piped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = CliRunner().invoke(app, ["bench", "list"]).output
    assert "2301.12664" in listed and "relative_l2" in listed
    assert "…" not in listed


@pytest.mark.slow
def test_the_graph_names_the_phases() -> None:
    drawn = CliRunner().invoke(app, ["graph"]).output
    assert "method_replication" in drawn
    assert "paper_lineage" not in CliRunner().invoke(app, ["graph", "--no-lineage"]).output

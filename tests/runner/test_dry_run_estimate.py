"""What a trial may take is said before it begins: by measured trials, with a range, and by phase."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autoreproduce.cli.app import app
from autoreproduce.config import Settings
from autoreproduce.errors import UnknownPriceError
from autoreproduce.models.budget import Budget
from autoreproduce.models.prices import check_price
from autoreproduce.runner.estimate import PastTrial, TrialKind, estimate, shipped_trials
from autoreproduce.runner.preview import data_named, tables_shown

PAPER = """# Small Grids
On the Foo-100 dataset and the CIFAR-10 benchmark; Foo-100 dataset again.

Table 1: Accuracy of methods.

| Method | CIFAR-10 | Foo-100 |
|---|---|---|
| A | 91.2 | 70.1 |
| B (ours) | 93.4 | 72.5 |

## References
[1] Someone. A title. 2020.
"""
CTRL_C = b"\x03"
PRICED = Settings(price="1,0.1,10")
BY_STEPS = Settings(price="1,0.1,10", effort="paper")


def own(task: str, seconds: float, **more: float) -> PastTrial:
    took = {"calls": 2, "input": 1000, "new": 400, "output": 100, "dollars": None, **more}
    return PastTrial(TrialKind(task, "full", "s"), {**took, "seconds": seconds}, settings={})


def test_a_trial_that_was_left_out_mostly_lies_in_the_range_of_the_others(monkeypatch) -> None:
    every = [one for one in shipped_trials() if one.kind.solver == "autoreproduce"]
    programs = [one for one in every if one.kind.writes == "program"]
    within = []
    for out in programs:
        rest = tuple(one for one in programs if one is not out)
        monkeypatch.setattr("autoreproduce.runner.estimate.shipped_trials", lambda rest=rest: rest)
        tokens = estimate(out.kind, BY_STEPS, [])["input"]
        assert tokens is not None
        within.append(tokens.low <= out.took["input"] <= tokens.high)
    assert sum(within) >= 0.85 * len(within), sum(within)
    assert len(within) == 22


def test_the_estimate_holds_what_a_trial_by_evidence_took() -> None:
    """LSM's live trial of 2026-11-24, in the tokens of costs.yaml; the paper's steps took twice."""
    kind = TrialKind("lsm", "small", "autoreproduce", paper=2540 * 1.14)
    found, steps = estimate(kind, PRICED, []), estimate(kind, BY_STEPS, [])
    for name, took in (("calls", 6), ("input", 48_363), ("new", 14_827), ("output", 7_203)):
        likely, before = found[name], steps[name]
        assert likely and before and likely.value < 0.6 * before.value
        assert likely.low <= took * (1 if name == "calls" else 1.14) <= likely.high, name


def test_longer_papers_take_more_and_the_phases_sum_up() -> None:
    short, long = (
        estimate(TrialKind("t", "full", "autoreproduce", paper=tokens), PRICED, [])
        for tokens in (3_000, 20_000)
    )
    a, b = short["input"], long["input"]
    assert a and b and b.value > 1.5 * a.value
    assert short["output"] == long["output"]
    whole = long["dollars"]
    phases = [part["dollars"] for part in long.phases.values()]
    assert whole and sum(one.value for one in phases if one) == pytest.approx(
        whole.value, rel=1e-3
    )  # tokens are whole
    assert whole.low < whole.value < whole.high
    assert not estimate(TrialKind("t", "full", "nobody's"), PRICED, []).figures


def test_masked_functions_take_what_masked_functions_took() -> None:
    of = {
        writes: estimate(TrialKind("new_0,1", "small", "autoreproduce", writes), PRICED, [])
        for writes in ("functions", "program")
    }
    functions, program = of["functions"]["input"], of["program"]["input"]
    assert functions and program and functions.high < program.low
    assert of["functions"].like == 8 and of["functions"]["seconds"] and not of["functions"].phases


def test_trials_of_the_same_task_count_before_all_others() -> None:
    kind = TrialKind("mine", "full", "s")
    found = estimate(kind, PRICED, [own("mine", 60), own("mine", 180), own("other", 9_000)])
    seconds, dollars = found["seconds"], found["dollars"]
    assert seconds == (120, 60, 180) and found.own and found.like == 2
    assert dollars and dollars.value == pytest.approx((400 + 600 * 0.1 + 100 * 10) / 1e6)


def test_what_cost_nothing_before_costs_nothing_now_and_what_is_unknown_stays_so() -> None:
    kind = TrialKind("mine", "full", "s")
    for paid in (0.0, 0.5, None):
        found = estimate(kind, Settings(), [own("mine", 60, dollars=paid)])["dollars"]  # type: ignore[arg-type]
        assert (found and found.value) == paid


@pytest.mark.slow
def test_a_dry_run_needs_no_model_and_leaves_nothing(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("autoreproduce.runner.preview.confined", lambda f, *a, what: f(*a))
    Path("paper.md").write_text(PAPER)
    of_trial = ["reproduce", "--paper", "paper.md", "--task", "c", "--metric", "accuracy"]
    said = CliRunner().invoke(app, [*of_trial, "--dry-run", "--json"])
    told = json.loads(said.stdout)
    assert told["each"]["dollars"] is None and told["each"]["tokens"] > 20_000
    assert "coding" in told["each"]["phases"]
    assert told["paper"]["tables"] == [
        {"name": "Table 1", "caption": "Accuracy of methods.", "numbers": 4, "named": True}
    ]
    local = CliRunner().invoke(app, [*of_trial, "--dry-run", "--model", "ollama:qwen3"])
    assert "so it costs $0" in local.stdout and "$0.00" in local.stdout
    priced = [*of_trial, "--dry-run", "--price", "1,0.1,10", "--budget"]
    said = CliRunner().invoke(app, [*priced, "0.01"]).stdout
    assert said.count("The budget of 0.01 may not suffice: about $0.") == 1
    said = CliRunner().invoke(app, [*priced, "1k tokens"]).stdout
    assert "The budget of 1k tokens may not suffice: about " in said
    assert "suffice" not in CliRunner().invoke(app, [*priced, "$100"]).stdout
    plan = CliRunner().invoke(app, ["plan", "paper.md"])
    assert plan.exit_code == 0, plan.output
    assert "1 references, 1 tables with 4 numbers" in plan.stdout
    assert "data named: Foo-100, CIFAR-10" in plan.stdout
    assert "A model lists its experiments: add --model PROVIDER:NAME" in plan.stderr
    two = ["reproduce", "--paper", "paper.md", "--experiment", "Table 1", "--experiment", "Table 2"]
    assert "all 2" in CliRunner().invoke(app, [*two, "--dry-run"]).stdout
    assert [path.name for path in tmp_path.iterdir()] == ["paper.md"]


def test_data_and_tables_are_found_in_plain_text() -> None:
    text = "We use the MNIST dataset, a benchmark of 2020, and corpora such as Penn Treebank."
    assert data_named(text) == ["MNIST", "Penn Treebank"]
    assert tables_shown("nothing") == ([], [])


def test_an_unknown_price_is_an_error_unless_tokens_are_limited() -> None:
    names, settings = ["openai:nobody-knows"], Settings()
    with pytest.raises(UnknownPriceError, match="--price INPUT,CACHED,OUTPUT"):
        check_price(names, settings, Budget())
    check_price(names, settings, Budget.parse("500k tokens"))
    check_price(names, PRICED, Budget.parse("$5"))
    with pytest.raises(UnknownPriceError):
        check_price(names, settings, Budget.parse("500k tokens"), Budget.parse("$5"))


def typed(
    command: list[str], folder: Path, environment: dict[str, str], keys: bytes
) -> tuple[str, int]:
    """What a command shows on a terminal where these keys answer its question, and its code."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=theirs, stderr=theirs, stdout=theirs
    ) as process:
        os.close(theirs)
        said, stopped = b"", False
        while True:
            # one that comes between Python's look at signals and its wait for a key is lost to it
            if stopped and not select.select([ours], [], [], 10)[0]:
                process.send_signal(signal.SIGINT)
            try:
                said += os.read(ours, 4096)
            except OSError:
                break
            if keys and b"INPUT,CACHED,OUTPUT: " in said:
                process.send_signal(signal.SIGINT) if keys == CTRL_C else os.write(ours, keys)
                stopped, keys = keys == CTRL_C, b""
    os.close(ours)
    return said.decode(), process.returncode


@pytest.mark.slow
def test_ctrl_c_at_the_question_for_a_price_is_one_line_and_130(tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text(PAPER)
    command = [sys.executable, "-m", "autoreproduce", "--paper", "paper.md", "--task", "t"]
    command += ["--metric", "accuracy", "--model", "openai:foo", "--sandbox", "process"]
    shown = {**os.environ, "OPENAI_API_KEY": "k", "TERM": "xterm-256color"}
    text, code = typed(command, tmp_path, shown, CTRL_C)
    assert code == 130 and "Traceback" not in text
    asked, _, after = text.partition("INPUT,CACHED,OUTPUT: ")
    assert after.replace("^C", "").strip() == "autoreproduce: stopped by the user"
    assert "\x1b[?25l" not in asked  # no table was drawn above it
    assert [path.name for path in tmp_path.iterdir()] == ["paper.md"]


@pytest.mark.slow
def test_a_terminal_is_asked_for_the_price_once_and_before_a_folder_exists(tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text(PAPER)
    command = [sys.executable, "-m", "autoreproduce", "plan", "paper.md", "--model", "unheard"]
    command += ["--base-url", "http://127.1.example:9/v1", "--max-retries", "0"]
    environment = {**os.environ, "AUTOREPRODUCE_API_KEY": "k"}
    refused = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert refused.returncode == 2 and "--price INPUT,CACHED,OUTPUT" in refused.stderr
    assert not (tmp_path / "runs").exists()
    text, code = typed(command, tmp_path, environment, b"dear\n1,0.1,5\n")
    assert text.count("Dollars a million tokens, 0,0,0 if it is free") == 1
    assert "'dear' is not understood" in text and "--price 1,0.1,5" in text
    assert code == 3  # then it asks the model, whose host does not exist

"""What a page says of the run: settings beside the paper's, what made each number, the versions that
ran, and the program's own files.
"""

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
from test_run_plans import CLAIMS, PAPER, place, verified

import autoreproduce
from autoreproduce.plugins.verify.settings_beside import settings_beside
from autoreproduce.runner.views import PlainView

SCRIPT = """import argparse
EPOCHS, RATE = 300, 0.5
parser = argparse.ArgumentParser()
parser.add_argument("--episodes", type=int, default=20)
parser.add_argument(
    "--n-seeds",
    default=3,
)
parser.add_argument("--lr", default=1e-3)
parser.add_argument("--seeds", default=[0, 1, 2], nargs="*")
"""


@pytest.mark.parametrize(
    ("command", "paper", "row"),
    [
        (
            "python run.py",
            "We average over five episodes of each.",
            ("episodes", "5", "20 (run.py, line 4, a default)", "differs"),
        ),
        (
            "MPLBACKEND=Agg python run.py --episodes 5",
            "We average over five episodes of each.",
            ("episodes", "5", "5 (the command)", ""),
        ),
        (
            "python run.py --episodes=50",
            "Each policy runs for 50 episodes.",
            ("episodes", "50", "50 (the command)", ""),
        ),
        (
            "python run.py",
            "Adam with a learning rate of 0.01 is used.",
            ("lr", "0.01", "0.001 (run.py, line 9, a default)", "differs"),
        ),
        (
            "python run.py",
            "Means over 3 seeds.",
            ("seeds", "3", "[0, 1, 2] (run.py, line 10, a default)", ""),
        ),
        (
            "python -m run",
            "trained for 100 epochs",
            ("EPOCHS", "100", "300 (run.py, line 2)", "differs"),
        ),
        (
            "python other.py --config conf/a.yaml",
            "a batch size of 64",
            ("batch_size", "64", "32 (conf/a.yaml, line 2)", "differs"),
        ),
        (
            "Rscript sim.R",
            "with 1,000 replicates",
            ("replicates", "1,000", "200 (sim.R, line 1)", "differs"),
        ),
        (
            "python train.py optim.horizon=40",
            "over a horizon of 40 steps",
            ("optim.horizon", "40", "40 (the command)", ""),
        ),
    ],
)
def test_settings_stand_beside_the_papers(
    command: str, paper: str, row: tuple[str, str, str, str]
) -> None:
    files = {"run.py": SCRIPT, "conf/a.yaml": "# of all\nbatch_size: 32  # small\n"}
    files |= {"other.py": "print(1)\n", "sim.R": "replicates <- 200\n", "train.py": ""}
    found = {one[0]: one for one in settings_beside([command], files, paper)}
    name, stated, ours, differs = found[row[0]]
    assert (name, stated.partition(" ")[0], ours, differs) == row and "“" in stated


def test_what_the_paper_does_not_say_is_listed_only_of_the_command() -> None:
    rows = settings_beside(["python run.py --width 7 --name x"], {"run.py": SCRIPT}, "Nothing.")
    assert rows == [("width", "not found", "7 (the command)", "")]
    assert settings_beside(["bash 'unclosed"], {}, "a width of 7") == []


@pytest.mark.slow
def test_the_page_shows_settings_commands_versions_and_files(tmp_path: Path) -> None:
    code = (
        "import sys, json, numpy\nprint('part', sys.argv[1])\n"
        "if sys.argv[1] == 'two':\n    json.dump({'mean': sum([1.5, 2.25, 8.125]) / 3}, open('out.json', 'w'))\n"
    )
    plan = {"commands": ["python main.py one --points 4", "python main.py two --points 3"]}
    at = {"id": "estimator_mean", "of": {"file": "out.json", "key": "mean"}}
    done = verified(
        tmp_path,
        code,
        plan,
        json.dumps({"places": [at]}),
        paper=f"{PAPER}\nIt is computed from three points of each.\n",
        claims=CLAIMS,
    )
    tables = done.result.details["tables"]
    [made] = tables["What made each number"]["rows"]
    assert made[0] == "estimator: mean" and made[2] == "python main.py two --points 3"
    rows = {row[0]: row for row in tables["The settings of the run, beside the paper's"]["rows"]}
    assert rows["points"][1].startswith("3 (") and rows["points"][3] == "differs"
    versions = {row[0]: row[1] for row in tables["The versions that ran"]["rows"]}
    assert versions["Python"].startswith("3.") and versions["numpy"]
    page = (done.path / "report.html").read_text()
    assert 'href="program_output/out.json" download' in page
    assert (done.path / "program_output/stdout.txt").read_text() == "part one\npart two\n"
    for title in tables:
        assert title.replace("'", "&#39;") in page


def test_a_log_says_once_a_minute_what_is_waited_for() -> None:
    now = [0.0]
    stream = io.StringIO()
    view = PlainView(stream, clock=lambda: now[0])
    view.phase("plan")
    for _ in range(50):
        now[0] += 10
        view.sign_of_life()
    lines = stream.getvalue().splitlines()
    assert lines[1] == "[01:00] Plan: waiting, for 1 min 00 s" and len(lines) == 9
    view.output("epoch 1\n")
    now[0] += 70
    view.sign_of_life()
    assert "Plan: its program runs, for" in stream.getvalue().splitlines()[-1]
    count = len(stream.getvalue())
    view.stop()
    now[0] += 700
    view.sign_of_life()
    assert len(stream.getvalue()) == count


@pytest.mark.slow
def test_a_log_is_watched_from_its_start_to_its_end() -> None:
    stream = io.StringIO()
    with PlainView(stream, quiet=0.2) as view:
        view.phase("full_run")
        time.sleep(1)
    assert 2 <= stream.getvalue().count("waiting") <= 6


BAR = "import sys\nfor n in range(400):\n    sys.stderr.write(f'\\r{n}%|####')\nsys.stderr.write('\\n')\n"


@pytest.mark.slow
def test_a_progress_bar_is_one_line_of_journal_and_page(tmp_path: Path) -> None:
    code = f"{BAR}print('mean', sum([1.5, 2.25, 8.125]) / 3)\nfor n in range(9):\n"
    code += "    print(f'\\rdone {n}', end='')\n"
    done = verified(tmp_path, code, {"command": "python main.py"}, place("mean 3.9583333333333335"))
    assert done.result.verdict == "reproduced"
    steps = (done.path / "steps.jsonl").read_text()
    assert "399%|####" in steps and "398%" not in steps and "done 8" in steps
    page = (done.path / "report.html").read_text()
    assert page.count("399%|####") == 1 and "398%|" not in page and "done 7" not in page


def test_a_log_has_a_bar_once_a_minute_and_lines_as_before() -> None:
    now = [0.0]
    stream = io.StringIO()
    view = PlainView(stream, clock=lambda: now[0])
    view.phase("full_run")
    for n in range(100):
        now[0] += 1
        view.output(f"{n}%|####\r")
    assert stream.getvalue().count("%|####") == 2
    for n in range(20):
        now[0] += 1
        view.output(f"epoch {n}\n")
    assert stream.getvalue().count("epoch") == 4


def test_what_happens_is_on_stderr_unless_nobody_wants_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the command writes it into a file: a line a phase, with the time."""
    (tmp_path / "paper.md").write_text("# P\n\nIts error is 0.25.\n")
    (tmp_path / "code").mkdir()
    (tmp_path / "code/main.py").write_text("print('error', 0.5 / 2)\n")
    how: dict[str, Any] = {
        "paper": tmp_path / "paper.md",
        "claims": ["error = 0.25"],
        "run": "python main.py",
        "metric_from": "error=stdout:error",
        "sandbox": "process",
        "runs_dir": tmp_path / "runs",
        "cache_dir": tmp_path / "cache",
    }
    told = []
    for progress in ({}, {"progress": False}):
        out = tmp_path / f"out{len(told)}"
        [found] = autoreproduce.verify(tmp_path / "code", out=out, **how, **progress)
        assert found.metric == 0.25
        told.append(capsys.readouterr())
    assert "[00:00] Full run\n" in told[0].err and "python main.py: done (" in told[0].err
    assert told[1] == ("", "") and told[0].out == ""

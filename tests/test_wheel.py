"""The wheel, alone in an empty environment, carries all that the main job needs."""

import html
import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
JOB = ("--arxiv", "2301.12664", "--task", "Darcy")
# The tape's program trains for two epochs in place of twenty, which take eight minutes.
IN_PYTHON = """
import json
from pathlib import Path
from autoreproduce import reproduce, score
from autoreproduce.content import folder
tape = (folder("reproducebench") / "lsm/tapes/small.jsonl").read_text()
assert tape.count("GAMMA = 20,") == 1
Path("tape.jsonl").write_text(tape.replace("GAMMA = 20,", "GAMMA = 2,"))
done = reproduce(arxiv="2301.12664", task="Darcy", model="tape:tape.jsonl", readings_minutes=0)
scores = score(done.path, levels=["execution", "gap", "cost"])
values = {one.scorer: one.value for one in scores[0].scores}
outcome = done.result
shown = [done._repr_html_(), scores._repr_html_(), values, str(done.path)]
shown += [outcome.status, outcome.sentence]
print(json.dumps(shown))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that holds the wheel and what it depends on, without torch."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [str(venv / "bin/python"), "-m", "pip", "install", "-q", "--no-compile"]
    constraints = ["-c", str(ROOT / "constraints-cpu.txt")]
    subprocess.run([*pip, *constraints, str(wheel)], check=True, capture_output=True, timeout=600)
    return venv / "bin"


def install_torch_as_told(installed: Path, folder: Path) -> None:
    """Run the main job without torch, and then the command that its error names."""
    command = [str(installed / "autoreproduce"), *JOB, "--model", "tape", "--sandbox", "process"]
    done = run(folder, *command, "--out", "without", code=2)
    fix = re.search(
        r"scipy, which this Python lacks: (\S+ -m pip install .* 'torch>=.*)", done.stderr
    )
    assert fix and not (folder / "without").exists(), done.stderr
    (folder / "cpu.txt").write_text("torch==2.13.0\n")  # the usual index's build brings CUDA
    os.environ["PIP_CONSTRAINT"] = str(folder / "cpu.txt")
    try:
        subprocess.run(shlex.split(fix[1]), cwd=folder, check=True, timeout=600)
    finally:
        del os.environ["PIP_CONSTRAINT"]


@pytest.mark.slow
@pytest.mark.timeout(2000)
def test_the_wheel_reproduces_the_shipped_tape_in_an_empty_environment(
    installed: Path, tmp_path: Path
) -> None:
    """By the functions, with what a notebook shows; the command then finds it done."""
    install_torch_as_told(installed, tmp_path)
    shown = run(tmp_path, str(installed / "python"), "-c", IN_PYTHON).stdout
    page, table, values, trial, *ended = json.loads(shown.splitlines()[-1])
    assert ended[0] == "measured" and ended[1] in html.unescape(page) and "gap" in table
    assert values["execution"] == 1 and values["gap"] is not None
    assert (tmp_path / trial / "report.html").stat().st_size > 10_000
    same = ("--model", "tape:tape.jsonl", "--readings-minutes", "0")
    command = [str(installed / "autoreproduce"), *JOB, *same]
    before = (tmp_path / trial / "steps.jsonl").read_bytes()
    assert "REPLAYED" in run(tmp_path, *command, "--out", trial).stdout.splitlines()[0]
    assert (tmp_path / trial / "steps.jsonl").read_bytes() == before


def run(folder: Path, *command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """A command that ends with `code`, with a home and a cache of its own."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "AUTOREPRODUCE_CACHE_DIR": str(folder / "cache"),
    }
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    return done


@pytest.mark.slow
def test_the_wheel_holds_the_content_and_no_third_party_code(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "prompts/system.md",
        "reproducebench/lsm/task.yaml",
        "lineage_cache/",
        "sandbox/Dockerfile",
        "sandbox/seccomp.json",
    ):
        assert any(name.startswith(f"autoreproduce/_content/{needed}") for name in names), needed
    ours = ("tests/", "eval/lab/", "eval/attacks/", "eval/controls/")  # what only a clone needs
    assert not [name for name in names if any(part in name for part in ours)]
    assert any(name.startswith("autoreproduce/evaluation/report/templates/") for name in names)

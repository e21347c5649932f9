"""The wheel, alone in an empty environment, carries all that the main job needs."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)], check=True, capture_output=True
    )
    return next(folder.glob("*.whl"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_wheel_reproduces_the_shipped_tape_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [str(venv / "bin/python"), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints-cpu.txt")]
    subprocess.run([*pip, f"{wheel}[torch]"], check=True, capture_output=True, timeout=600)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "AUTOREPRODUCE_CACHE_DIR": str(tmp_path / "cache")}
    command = [str(venv / "bin/autoreproduce"), "--arxiv", "2301.12664", "--task", "Darcy", "--out", "trial"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "REPLAYED" in done.stdout.splitlines()[0]
    assert (tmp_path / "trial/report.html").stat().st_size > 10_000


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
    assert not [name for name in names if name.startswith("tests/")]
    assert any(name.startswith("autoreproduce/eval/report/templates/") for name in names)

"""The free scorers over real trial folders."""

import sys
from pathlib import Path

import pytest
from trial_results import trial_result

from autoreproduce.benchmarks.reproducebench.curated import CuratedReference
from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.errors import UsageError, shown
from autoreproduce.evaluation.judging.blind import blind
from autoreproduce.evaluation.judging.submitted_code import Sources, read_program
from autoreproduce.evaluation.scorers import SCORERS, Setup, open_scorers
from autoreproduce.evaluation.scorers.execution import classify
from autoreproduce.evaluation.scorers.integrity import VALUES
from autoreproduce.evaluation.scorers.lineage import hits
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.trials.steps import ExecutionResult
from autoreproduce.trials.trial import Trial


@pytest.fixture
def task():
    return load_task("lsm")


@pytest.fixture
def trial(tmp_path, task):
    """A trial that ended as `outcome` says, after one run in full."""

    def make(outcome, **run):
        made = lay_out(tmp_path / "t", Sources({"main.py": "x = 1\n"}), task)
        made.phase("full_run")
        result = ExecutionResult(
            command="python main.py", **{"exit_code": 0, "seconds": 1.0, **run}
        )
        made.step(ExecutionResult, "sandbox", "run", ["python main.py"], lambda: result)
        made.write("result.json", trial_result(phase="full_run", **outcome).model_dump_json())
        made.close()
        return Trial.read(tmp_path / "t")

    return make


def ran(**facts):
    return ExecutionResult(command="python main.py", **facts)


def one(level, trial, task):
    [scorer] = open_scorers([level], Setup())
    return scorer.score(trial, task)


ERRORS = {
    "environment": "ModuleNotFoundError: No module named 'einops'",
    "data": "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.npz'",
    "shape": "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x8 and 16x2)",
    "dtype": "RuntimeError: expected scalar type Float but found Double",
    "memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
    "other": "ZeroDivisionError: division by zero",
}


@pytest.mark.parametrize(("kind", "error"), ERRORS.items())
def test_a_failure_has_a_class(kind, error, trial, task):
    stderr = f'Traceback (most recent call last):\n  File "main.py", line 1\n{error}\n'
    score = one(
        "execution",
        trial({"status": "failed", "reason": "it failed"}, exit_code=1, stderr=stderr),
        task,
    )
    assert (score.value, score.details["failure"]) == (0.0, kind)
    assert error[:40] in score.reason


@pytest.mark.parametrize(
    ("stopped", "kind"), [("timeout", "time"), ("memory", "memory"), ("disk", "other")]
)
def test_what_stopped_a_run_comes_first(stopped, kind):
    assert (
        classify(ran(stopped=stopped, exit_code=137, stderr="RuntimeError: size mismatch"))[0]
        == kind
    )


@pytest.mark.parametrize(
    ("kind", "program"),
    [
        ("environment", "import not_there"),
        ("data", "open('/not/there')"),
        ("environment", "def f(:"),
        ("environment", "assert False, 'Torch not compiled with CUDA enabled'"),
        ("shape", "import numpy as n; n.ones((2, 3)) @ n.ones((2, 3))"),
        ("other", "1/0"),
        ("shape", "import numpy as n; n.ones(3) + n.ones(4)"),
    ],
)
def test_the_classes_fit_what_python_really_prints(kind, program):
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert classify(ran(exit_code=done.returncode, stderr=done.stderr))[0] == kind


def test_a_screen_of_empty_lines_is_read_at_once():
    import time

    began = time.monotonic()
    assert (
        classify(ran(exit_code=1, stdout="\n" * 32_000 + "ValueError: x" + "\n" * 32_000))[1]
        == "ValueError: x"
    )
    assert time.monotonic() - began < 5


def test_a_trial_that_ran_and_its_gap(trial, task):
    ended = trial({"status": "measured", "reason": "", "metric": 0.02})
    assert one("execution", ended, task).value == 1
    gap = one("gap", ended, task)
    assert gap.value == pytest.approx(1 - 0.02 / 0.02999) and gap.details["signed"] == -gap.value
    assert "better" in gap.reason


def test_a_trial_that_failed_has_the_gap_1(trial, task):
    assert one("gap", trial({"status": "failed", "reason": "no"}, exit_code=1), task).value == 1.0


def test_a_negative_metric_has_no_gap(trial, task):
    score = one("gap", trial({"status": "measured", "reason": "", "metric": -1.0}), task)
    assert score.value is None and "at least 0" in score.reason


def test_edits_and_cost_are_read_off_the_folder(trial, task):
    ended = trial(
        {
            "status": "measured",
            "reason": "",
            "metric": 1,
            "edits": {"method": {"turns": 2, "added": 7}},
        }
    )
    assert one("edits", ended, task).details["total"] == {"turns": 2, "added": 7}
    cost = one("cost", ended, task)
    assert cost.value == 0 and cost.details["phases"]["full_run"]["executions"] == 1


def test_an_unknown_level_and_a_missing_judge_say_what_there_is():
    with pytest.raises(UsageError, match="choose among paper, code, mixed"):
        open_scorers(["papers"], Setup())
    with pytest.raises(UsageError, match="--judge"):
        open_scorers(["mixed", "gap"], Setup())


def test_every_free_scorer_answers_for_a_program_that_was_only_handed_in(tmp_path, task):
    lay_out(tmp_path / "t", Sources({"main.py": "x = 1\n"}), task).close()
    for level, (_, model) in SCORERS.items():
        if not model:
            assert one(level, Trial.read(tmp_path / "t"), task).reason


CURATED = [CuratedReference(title=f"Paper {n}", arxiv=f"2001.0000{n}", why="") for n in range(4)]
CURATED.append(CuratedReference(title="A Title: of the Fifth", why=""))


def test_hits_are_told_by_number_or_title():
    chosen = [
        {"arxiv_id": "2001.00002v3"},
        {"title": "a title of the fifth"},
        {"title": "Paper 9"},
        {"arxiv_id": "2001.00000"},
    ]
    assert hits(chosen, CURATED) == [2, 4, None, 0]


@pytest.mark.slow
def test_a_program_is_read_from_a_file_a_folder_an_archive_and_a_git_url(tmp_path):
    import shutil
    import subprocess

    folder = tmp_path / "p"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.py").write_text("a = 1\n")
    (folder / "note.ipynb").write_text(
        '{"cells": [{"cell_type": "code", "source": ["b = 2\\n", "%pip install x"]}]}'
    )
    (folder / "data.bin").write_bytes(b"\0" * 9)
    (folder / "away.py").symlink_to("/etc/passwd")
    whole = read_program(str(folder))
    assert whole.files == {"sub/a.py": "a = 1\n", "note.py": "b = 2\n# %pip install x\n"}
    assert whole.unread == {"data.bin": "no code", "away.py": "a link"}
    (folder / "away.py").unlink()
    for form in ("zip", "gztar"):
        assert (
            read_program(shutil.make_archive(str(tmp_path / form), form, folder)).files
            == whole.files
        )
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    assert read_program(f"file://{folder}").files == whole.files
    asked = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    (folder / "sub" / "a.py").write_text("later = 2\n")
    named = ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qam", "y"]
    subprocess.run(["git", *named], cwd=folder, check=True)
    assert read_program(f"file://{folder}@{commit}").files == whole.files
    assert read_program(f"file://{folder}").files["sub/a.py"] == "later = 2\n"
    with pytest.raises(UsageError, match="the commit in full, a tag or a branch"):
        read_program(f"file://{folder}@{commit[:7]}")
    (folder / "sub" / "a.py").write_text("a = 1\n")
    assert read_program(str(folder / "sub" / "a.py")).files == {"a.py": "a = 1\n"}


def test_what_is_no_program_is_reported(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"\0")
    for source in (str(tmp_path / "none"), str(tmp_path / "x.bin"), f"file://{tmp_path}/none"):
        with pytest.raises(UsageError, match="name"):
            read_program(source)


def test_an_archive_leaves_nothing_outside_its_folder(tmp_path):
    import io
    import tarfile

    with tarfile.open(tmp_path / "bad.tar", "w") as tar:
        away = tarfile.TarInfo("../away.py")
        away.size = 1
        tar.addfile(away, io.BytesIO(b"1"))
    with pytest.raises(UsageError, match="would leave its folder"):
        read_program(str(tmp_path / "bad.tar"))
    with tarfile.open(tmp_path / "link.tar", "w") as tar:
        link = tarfile.TarInfo("a.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        good = tarfile.TarInfo("b.py")
        good.size = 2
        tar.addfile(good, io.BytesIO(b"1\n"))
    assert read_program(str(tmp_path / "link.tar")).files == {"b.py": "1\n"}


@pytest.mark.parametrize("mode", ["w:gz", "w:xz"])
def test_an_archive_that_was_cut_off_is_reported(tmp_path, mode):
    import random
    import tarfile

    (tmp_path / "a.py").write_text(f"x = {random.Random(0).getrandbits(99_999):x}\n")
    with tarfile.open(tmp_path / "a.tar", mode) as tar:
        tar.add(tmp_path / "a.py", "a.py")
    whole = (tmp_path / "a.tar").read_bytes()
    (tmp_path / "a.tar").write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(UsageError, match="cannot be unpacked"):
        read_program(str(tmp_path / "a.tar"))


def test_a_notebook_or_code_nested_too_deep_is_no_crash(tmp_path):
    (tmp_path / "a.ipynb").write_text("[" * 200_000)
    assert read_program(str(tmp_path)).unread == {"a.ipynb": "no notebook that can be read"}
    deep = {"a.py": "x = " + "-" * 100_000 + "1\n"}
    assert blind(Sources(deep)).files


def test_a_program_below_a_folder_that_is_left_out_is_read(tmp_path):
    (tmp_path / "runs" / "theirs" / "runs").mkdir(parents=True)
    (tmp_path / "runs" / "theirs" / "a.py").write_text("1\n")
    (tmp_path / "runs" / "theirs" / "runs" / "b.py").write_text("1\n")
    theirs = tmp_path / "runs" / "theirs"
    assert read_program(str(theirs), without=[tmp_path / "runs", theirs / "runs"]).files == {
        "a.py": "1\n"
    }


def test_a_token_in_an_address_is_shown_nowhere():
    with pytest.raises(UsageError, match="cannot be cloned") as told:
        read_program("http://me:s3cret@127.0.0.1:1/x")
    assert "s3cret" not in str(told.value) and "127.0.0.1" in str(told.value)
    assert shown("https://t0ken@github.com/a/b@c") == "https://github.com/a/b@c"
    assert shown("git@github.com:a/b") == "git@github.com:a/b"


def test_half_a_character_in_a_notebook_is_replaced(tmp_path, task):
    (tmp_path / "a.ipynb").write_text(
        r'{"cells": [{"cell_type": "code", "source": "x = \"\ud800\""}]}'
    )
    program = read_program(str(tmp_path / "a.ipynb"))
    assert program.files == {"a.py": 'x = "?"\n'}
    lay_out(tmp_path / "t", program, task).close()


def test_the_handbook_names_each_value_of_integrity() -> None:
    page = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| `integrity` |"))
    assert all(f"{value:g} {word}" in row for word, value in VALUES.items())

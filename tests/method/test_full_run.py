"""The full run at its limit: fixed once, reported as partial, and continued with more time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from records import trial_record
from test_loop import Scripted, edit

from autoreproduce.config import Settings
from autoreproduce.method.full_run import partial_results, run_in_full
from autoreproduce.method.literature_review import Summaries
from autoreproduce.method.phase import PhaseResult
from autoreproduce.method.workbench import Workbench
from autoreproduce.runner.open_models import has_more_time
from autoreproduce.sandboxes import open_sandbox
from autoreproduce.task import Metric, Task
from autoreproduce.trials.steps import ExecutionResult
from autoreproduce.trials.trial import Trial
from autoreproduce.trials.workspace import Workspace

pytestmark = pytest.mark.slow
SHORT, LONG = 0.05, 1.0  # minutes
DONE = 'import json\njson.dump({"metrics": {"mse": 0.25}}, open("metrics.json", "w"))\n'
# the first start is too slow, one that finds its checkpoint is not
SLOW = """import json, os, time
if not os.path.exists("checkpoint.pt"):
    json.dump({"metrics": {"mse": 0.9}}, open("metrics.json", "w"))
    open("checkpoint.pt", "w").write("half")
    time.sleep(60)
json.dump({"metrics": {"mse": 0.25}}, open("metrics.json", "w"))
"""
ENDLESS = "import time\ntime.sleep(60)\n"


@contextmanager
def bench_of(folder: Path, main: str, code: Scripted, **settings: Any) -> Iterator[Workbench]:
    """A workbench whose program is `main`, in a trial that is made or resumed."""
    record = trial_record(
        task="t", profile="p", solver="s", model="m", created="now", planned_minutes=SHORT
    )
    with Trial.open(folder / "trial", record) as trial:
        trial.phase("full_run")
        workspace = Workspace(trial.folder)
        workspace.open()
        given = Settings(sandbox="process", **settings)
        sandbox = open_sandbox(
            given,
            workspace.folder,
            data_dir=None,
            packages=folder / "packages",
            label="t",
            trusted=True,
            note=lambda _: None,
        )
        task = Task(id="t", metric=Metric(name="mse"), instruction="")
        code.journal = trial
        bench = Workbench(
            task, given, Scripted(), code, sandbox, trial, workspace, Summaries(trial)
        )
        bench.write({"main.py": main}, "the program")
        try:
            yield bench
        finally:
            sandbox.close()


def test_an_expectation_that_the_full_run_refutes_is_a_warning(tmp_path: Path) -> None:
    with bench_of(tmp_path, DONE + 'print("expected E1: no, 0.25")\n', Scripted()) as bench:
        bench.expectations = ["E1: below 0.1"]
        found = run_in_full(bench)
    assert found.warnings == ("an expectation does not hold: E1: below 0.1 (the run: 0.25)",)


def ended(folder: Path, main: str, code: Scripted, **settings: Any) -> PhaseResult:
    """How the full run of `main` ended."""
    with bench_of(folder, main, code, **settings) as bench:
        return run_in_full(bench)


def test_what_a_stopped_run_left_is_partial_and_more_time_continues_it(tmp_path: Path) -> None:
    first = ended(tmp_path, SLOW, Scripted(), debug=False)
    assert first.status == "failed" and first.run is not None
    assert "until then it had written mse 0.9, and a checkpoint" in first.warnings[0].lower()
    assert partial_results(first.run)["metrics"] == {"mse": 0.9}
    trial = Trial.read(tmp_path / "trial")
    assert has_more_time(trial, Settings(time_limit_minutes=LONG))
    assert not has_more_time(trial, Settings(time_limit_minutes=SHORT))
    assert not has_more_time(trial, Settings())
    code = Scripted()
    second = ended(tmp_path, SLOW, code, debug=False, time_limit_minutes=LONG)
    assert (second.status, second.warnings, code.asked) == ("matched", (), [])
    steps = Trial.read(tmp_path / "trial").steps
    assert [step.result.stopped for step in steps] == ["timeout", ""]  # type: ignore[union-attr]
    assert not has_more_time(Trial.read(tmp_path / "trial"), Settings(time_limit_minutes=99))


def test_a_run_at_its_limit_is_fixed_once_with_what_was_measured(tmp_path: Path) -> None:
    code = Scripted("it sleeps", edit("pass", "5 5"))
    with bench_of(tmp_path, SLOW, code) as bench:
        found = run_in_full(bench)
    assert (found.status, found.attempts) == ("matched", 1)
    assert "was still running at its limit of 0.05 minutes" in code.variables[0]["problem"]
    assert "checkpoint.pt is still there" in code.variables[0]["problem"]
    assert "a checkpoint of the version before" in found.warnings[0]


def test_a_second_time_out_ends_it(tmp_path: Path) -> None:
    code = Scripted("it sleeps", edit("time.sleep(61)", "2 2"))
    found = ended(tmp_path, ENDLESS, code)
    assert (found.status, found.attempts, code.replies) == ("failed", 1, [])
    assert "no number" in found.warnings[0]


def test_an_error_leaves_no_checkpoint_to_the_next_run(tmp_path: Path) -> None:
    broken = SLOW.replace("    time.sleep(60)\n", "    raise SystemExit(1)\n")
    code = Scripted("it exits", edit("    pass", "5 5"))
    with bench_of(tmp_path, broken, code, time_limit_minutes=LONG) as bench:
        found = run_in_full(bench)
        assert found.status == "matched"
        first, second = bench.trial.steps
        assert isinstance(first.result, ExecutionResult)  # type: ignore[arg-type]
        assert second.result.checkpoint  # type: ignore[union-attr]
        assert bench.workspace.tree.read_text("checkpoint.pt") == "half"


def test_the_first_full_run_finds_no_checkpoint_of_a_dry_run(tmp_path: Path) -> None:
    with bench_of(tmp_path, SLOW, Scripted(), debug=False) as bench:
        bench.workspace.tree.write("checkpoint.pt", "of a dry run")
        assert run_in_full(bench).run.timed_out  # type: ignore[union-attr]


PART = 'import json\njson.dump({"metrics": {"mse": float("nan"), "r2": 0.5}}, open("metrics.json", "w"))\n'


def test_a_run_without_the_metric_is_handed_in_with_its_other_numbers(tmp_path: Path) -> None:
    found = ended(tmp_path / "again", PART, Scripted(edit("# the same\n"), edit("# again\n")))
    assert (found.status, found.attempts) == ("ran", 2)
    assert "metrics.mse must be a finite number, but it is NaN" in found.reason
    gave_up = ended(tmp_path / "up", PART, Scripted("CANNOT it can't be had"))
    assert (gave_up.status, gave_up.attempts) == ("ran", 0)
    none = PART.replace('"r2": 0.5', '"r2": None')
    assert ended(tmp_path / "none", none, Scripted(), debug=False).status == "failed"

"""Every benchmark by the same contract: names, load, prepare, measure."""

import json
from pathlib import Path

import pytest

from autoreproduce import Submission
from autoreproduce.benchmarks import BENCHMARKS, OptionError, benchmark_of, open_benchmark
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.plugins.masked import tasks as masked_tasks
from autoreproduce.runner.api import plan_suite
from autoreproduce.runner.request import resumed, task_digest
from autoreproduce.runner.suite.plan import Plan
from autoreproduce.runner.suite.schema import read_suite
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.trials.steps import ModelResult
from autoreproduce.trials.trial import Trial, TrialRecord, now

RUBRIC = {
    "id": "r",
    "requirements": "It replicates.",
    "weight": 1,
    "task_category": "Code Development",
}


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A folder of papers in PaperBench's form."""
    for name in ("a-paper", "b-paper"):
        folder = tmp_path / "papers" / name
        folder.mkdir(parents=True)
        (folder / "rubric.json").write_text(json.dumps(RUBRIC))
        (folder / "paper.md").write_text(f"# {name}\nWe did it.\n")
        (folder / "addendum.md").write_text("Skip section 5.")
        (folder / "blacklist.txt").write_text("https://github.com/a/b\n")
    return tmp_path / "papers"


@pytest.fixture
def options(papers: Path) -> dict[str, dict[str, object]]:
    return {
        "reproducebench": {},
        "autoexperiment": {"n": [2]},
        "paperbench": {"data": papers},
        "own": {"tasks": [{"name": "Lines", "metric": "error", "instruction": "Fit."}]},
    }


def trial_of(task, folder: Path) -> Trial:
    record = TrialRecord(
        task=task.id,
        profile=task.profile,
        solver="agentless",
        model="x",
        settings=Settings(sandbox="process").identity(),
        task_digest=task_digest(task),
        created=now(),
        task_json=task.model_dump(mode="json", exclude={"digest"}),
    )
    return Trial.open(folder, record)


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_a_task_is_loaded_again_by_what_it_says_of_its_benchmark(
    name: str, options: dict[str, dict[str, object]], tmp_path: Path
) -> None:
    benchmark = open_benchmark(name, options[name])
    task = benchmark.load(benchmark.names()[0], "small")
    assert task.benchmark == name
    assert benchmark_of(task).load(task.id, task.profile) == task
    trial_of(task, tmp_path / "trial").close()
    assert resumed(tmp_path / "trial", Settings()).task == task  # its paper's text too
    with pytest.raises(UsageError):
        benchmark.load("nowhere", "small")


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_a_failed_submission_is_not_measured(
    name: str, options: dict[str, dict[str, object]], tmp_path: Path
) -> None:
    benchmark = open_benchmark(name, options[name])
    task = benchmark.load(benchmark.names()[0], "small")
    trial = trial_of(task, tmp_path / "trial")
    sandboxes = SandboxSetup(Settings(sandbox="process"), tmp_path / "packages")
    made = benchmark.measure(task, Submission("failed", "no", "x"), trial, sandboxes)
    assert (made.value, made.reason, made.wanted) == (None, "no", True)
    assert not trial.steps
    trial.close()


def test_a_paper_of_paperbench_is_graded_by_a_command(papers: Path, tmp_path: Path) -> None:
    benchmark = open_benchmark("paperbench", {"data": papers})
    assert benchmark.names() == ["a-paper", "b-paper"]
    task = benchmark.load("b-paper", "small")
    assert "Skip section 5." in task.instruction and "https://github.com/a/b" in task.instruction
    assert task.digest == "# b-paper\nWe did it.\n"
    assert benchmark.prepare(task, tmp_path, print) is task
    trial = trial_of(task, tmp_path / "trial")
    sandboxes = SandboxSetup(Settings(), tmp_path / "packages")
    cloned = {"name": "shell", "args": {"command": "git clone git@github.com:a/b.git"}}
    trial.phase("attempt")
    trial.append("code", "chat", "", ModelResult(reply="", tool_calls=[cloned]), 0.0)
    made = benchmark.measure(task, Submission("complete", "", "full_run"), trial, sandboxes)
    trial.close()
    hits = ["tool calls of step 0: https://github.com/a/b"]
    assert made.summary == {"blacklisted": hits} and hits[0] in made.warnings[0]
    assert made.value is None and not made.wanted
    assert f"autoreproduce grade {tmp_path / 'trial'} {papers / 'b-paper'}" in made.reason


def test_a_suite_names_paperbench_by_a_path_beside_its_file(papers: Path) -> None:
    file = papers.parent / "suite.yaml"
    file.write_text("name: p\nbenchmark: paperbench\noptions: {data: papers}\ntasks: all\n")
    plan = Plan(read_suite(file))
    plan.choose()
    assert [trial.task for trial in plan.trials] == ["a-paper", "b-paper"]


def test_the_suite_that_ships_takes_a_clone_and_solvers(papers: Path) -> None:
    plan = plan_suite("paperbench", ["a-paper"], dataset=papers)
    assert list(plan.suite.variants) == ["whole", "no-lineage", "with-diagrams"]
    plan = plan_suite("paperbench", dataset=papers, solvers=["autoreproduce,agent:codex"])
    assert [(trial.task, plan.solver(trial.variant)) for trial in plan.trials] == [
        (task, solver)
        for task in ("a-paper", "b-paper")
        for solver in ("autoreproduce", "agent:codex")
    ]
    with pytest.raises(UsageError, match="--dataset"):
        plan_suite("paperbench")


def test_the_mode_is_told_and_is_no_other_task_by_where_the_paper_lies(papers: Path) -> None:
    task = open_benchmark("paperbench", {"data": papers}).load("a-paper", "small")
    full = open_benchmark("paperbench", {"data": papers, "mode": "full"}).load("a-paper", "small")
    assert "it is not run" in task.instruction and "in a fresh sandbox" in full.instruction
    assert benchmark_of(full).load("a-paper", "small") == full
    moved = task.model_copy(update={"paper_file": Path("elsewhere.md")})
    assert task_digest(moved) == task_digest(task) != task_digest(full)


def test_options_are_checked_by_the_benchmarks_own_schema() -> None:
    with pytest.raises(OptionError, match="the benchmark reproducebench has no such option"):
        open_benchmark("reproducebench", {"n": [1]})
    with pytest.raises(OptionError, match=r"n.0: Input should be a valid integer"):
        open_benchmark("autoexperiment", {"n": ["x"]})
    with pytest.raises(OptionError, match="mode: Input should be 'code-dev' or 'full'"):
        open_benchmark("paperbench", {"data": ".", "mode": "half"})
    with pytest.raises(UsageError, match="name a clone of frontier-evals by --dataset"):
        open_benchmark("paperbench")
    with pytest.raises(UsageError, match="there is reproducebench, own, autoexperiment"):
        open_benchmark("imagenet")


def test_a_masked_set_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def counted(root: Path):
        read.append(root)
        return load(root)

    load = masked_tasks.load_dataset
    monkeypatch.setattr(masked_tasks, "load_dataset", counted)
    masked_tasks._dataset.cache_clear()
    benchmark = open_benchmark("autoexperiment", {"n": [1, 2]})
    for name in benchmark.names()[:5]:
        task = benchmark.load(name, "small")
        assert benchmark_of(task).load(name, "small").id == name
    assert len(read) == 1

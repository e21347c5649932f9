"""What CONTRIBUTING promises: a package of somebody else's adds a solver, a sandbox, a scorer, an
executor, a benchmark and a command by one line in its pyproject.toml. Here pip installs such a package, and
processes of their own run a trial and a suite with it.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from needs import needs_suites
from trial_results import facts_of

HANDBOOK = (Path(__file__).parents[1] / "docs/extending.md").read_text(encoding="utf-8")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "added-parts"
version = "1.0"

[project.entry-points."autoreproduce.plugins"]
added = "added_parts:plugin"

[tool.setuptools]
packages = ["added_parts"]
"""
PLUGIN = """
from autoreproduce.extensions import Plugin

plugin = Plugin(
    solvers={"counts": "added_parts.sol:Counts", "tallies": "added_parts.sol:Tallies"},
    sandboxes={"plain": "added_parts.san:Plain"},
    scorers={"parity": ("added_parts.sco:Parity", False)},
    executors={"one-by-one": "added_parts.exe:OneByOne"},
    benchmarks={"counting": "added_parts.ben:Counting"},
    commands={"Mine": {"weigh": "Weigh a folder."}},
    command_app="added_parts.com:app",
    asks={"tally": "marks to tally"},
)
"""

SOLVER = '''
import json
from autoreproduce import Submission


class Counts:
    """Counts to the number in the instruction, in the sandbox."""

    needs = frozenset()

    def __init__(self, **_):
        pass

    def solve(self, task, models, sandbox, trial):
        assert models.research is None
        number = task.instruction.split()[-1]
        trial.phase("full_run")
        run = sandbox.execute(f"seq {number} | wc -l > count.txt", 20)
        count = float(sandbox.read("count.txt"))
        sandbox.write("metrics.json", json.dumps({"metrics": {"count": count}}).encode())
        return Submission("complete", "counted", "full_run", run=run)


class Tallies(Counts):
    """For the tasks that its package adds, and no other."""

    needs = frozenset({"tally"})
'''

SANDBOX = '''
import subprocess
import time
from autoreproduce import Execution


class Plain:
    """No walls: a subprocess in the workspace."""

    name = "plain"
    promises = "it keeps a program from nothing"

    def __init__(self, settings, workspace, **_):
        self.workspace = workspace

    def execute(self, command, timeout, *, on_output=None):
        began = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.workspace, capture_output=True, text=True,
            timeout=timeout,
        )
        seconds = time.monotonic() - began
        return Execution(command, done.returncode, done.stdout, done.stderr, seconds)

    def install(self, packages, timeout, *, on_output=None):
        return self.execute("false", timeout)

    def read(self, path):
        return (self.workspace / path).read_bytes()

    def write(self, path, data):
        (self.workspace / path).write_bytes(data)

    def close(self):
        pass


def why_not(settings):
    return ""
'''

SCORER = """
from autoreproduce import Score


class Parity:
    name = "parity"

    def __init__(self, setup):
        pass

    def score(self, trial, task):
        return Score("parity", float(trial.result.metric % 2), "of the metric")
"""

EXECUTOR = """
from autoreproduce.runner.executors import Executor


class OneByOne(Executor):
    def __init__(self, setup, options):
        self.setup, self.done = setup, []

    def submit(self, job):
        self.done = [(job, self.setup.attempt(job))]

    def ended(self, seconds):
        found, self.done = self.done, []
        return found
"""

BENCHMARK = """
from pydantic import BaseModel, ConfigDict
from autoreproduce.errors import UsageError
from autoreproduce.task import Metric, ReferenceNumber, Task
from autoreproduce.trials.measurement import Recomputed, measured_from, not_measured


class Counting:
    class Options(BaseModel):
        model_config = ConfigDict(extra="forbid")
        most: int = 3

    def __init__(self, options):
        self.most = options.most

    def names(self):
        return [f"to-{n}" for n in range(1, self.most + 1)]

    def load(self, name, profile):
        if name not in self.names():
            raise UsageError(f"there is no task {name}")
        return Task(
            id=name, benchmark="counting", benchmark_options={"most": self.most}, profile=profile,
            metric=Metric(name="count", direction="higher"), instruction=f"Count to {name[3:]}",
            measured=ReferenceNumber(value=float(name[3:]), low=0, high=9),
        )

    def prepare(self, task, cache, note, given=None):
        folder = cache / "numbers"
        folder.mkdir(parents=True, exist_ok=True)
        return task.model_copy(update={"data_dir": folder})

    def ready(self, task, sandboxes):
        return sandboxes

    def measure(self, task, submission, trial, sandboxes):
        with_lines = trial.workspace / "count.txt"
        found = Recomputed(float(with_lines.read_text()))
        return not_measured(submission) or measured_from(task, trial.workspace, found)
"""

TRIAL = """
import json
from pathlib import Path
from autoreproduce.benchmarks.own import OwnTask, OwnTasks
from autoreproduce.config import Settings
from autoreproduce.job import Job, Judging, Program
from autoreproduce.runner.attempt import attempt
from autoreproduce.runner.runtime import Runtime
from autoreproduce.runner.score import score_all

described = OwnTask(name="count", metric="count:higher", instruction="Count to 5")
task = OwnTasks(OwnTasks.Options(tasks=[described])).load("count", "full")
settings = Settings(sandbox="plain")
done = attempt(Job(task=task, settings=settings, solver="counts", out=Path("trial")))
wanted = Job(program=Program(code="trial"), judging=Judging(levels=["parity"]), settings=settings)
[scored], _ = score_all(wanted, Runtime(note=lambda line: None))
print(json.dumps({
    "outcome": {**done.result.model_dump(mode="json"), "metric": done.metric},
    "scores": [(score.scorer, score.value) for score in scored.scores],
}))
"""
TALLIED = """
import json
from pathlib import Path
from autoreproduce.benchmarks import open_benchmark
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.job import Job
from autoreproduce.runner.attempt import attempt
from autoreproduce.solvers.wanted import refuse_unwritten

program = open_benchmark("counting").load("to-2", "full")
settings = Settings(sandbox="plain")
try:
    attempt(Job(task=program, settings=settings, solver="tallies", out=Path("refused")))
except UsageError as error:
    print(json.dumps(str(error)))
tally = program.model_copy(update={"writes": "tally"})
try:
    refuse_unwritten(tally, "the solver basic")
except UsageError as error:
    print(json.dumps(str(error)))
done = attempt(Job(task=tally, settings=settings, solver="tallies", out=Path("trial")))
print(json.dumps(done.result.model_dump(mode="json")))
"""
REFUSED = """
import json, sys
from pathlib import Path
from autoreproduce.errors import UsageError
from autoreproduce import run_suite

for line in sys.argv[1:]:
    Path("suite.yaml").write_text(f"name: counting\\nbenchmark: counting\\n{line}\\ntasks: all\\n")
    try:
        run_suite("suite.yaml", out="out", workers=1, trust=True)
    except UsageError as error:
        print(json.dumps(str(error)))
"""
FAULTS = {
    "options: {mots: 2}": "line 3: options.mots: the benchmark counting has no such option",
    "options: {most: many}": "line 3: options.most: Input should be a valid integer",
    "executor: two": "line 3: executor: unknown executor two",
    "settings: {sandbox: palin}": "line 3: settings.sandbox: unknown sandbox",
    "solver: cuonts": "unknown solver cuonts",
}


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip installed the package, from its source and without a network."""
    source, target = (tmp_path_factory.mktemp(name) for name in ("source", "installed"))
    (source / "pyproject.toml").write_text(PROJECT)
    package = source / "added_parts"
    package.mkdir()
    command = re.search(r"## A command\n\n```python\n(.*?)```", HANDBOOK, re.DOTALL)
    assert command is not None
    (package / "com.py").write_text(command[1])
    files = {"sol": SOLVER, "san": SANDBOX, "sco": SCORER, "exe": EXECUTOR, "ben": BENCHMARK}
    for name, text in {"__init__": PLUGIN, **files}.items():
        (package / f"{name}.py").write_text(text)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    how = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(target)]
    subprocess.run([*pip, *how, str(source)], check=True, capture_output=True)
    return target


def test_the_handbooks_package_installs_again_beside_the_runs_that_it_made(tmp_path: Path) -> None:
    project, plugin, solver = re.findall(r"```(?:toml|python)\n(.*?)```", HANDBOOK, re.DOTALL)[:3]
    for name in ("my_package", "runs"):
        (tmp_path / name).mkdir()
    (tmp_path / "pyproject.toml").write_text(project)
    (tmp_path / "my_package/__init__.py").write_text(plugin)
    (tmp_path / "my_package/counts.py").write_text(solver)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    how = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(tmp_path / "there")]
    done = subprocess.run([*pip, *how, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there/my_package/counts.py").is_file()


def run(added: Path, place: Path, *arguments: str) -> list[Any]:
    """The lines of JSON that a Python process prints, which finds the package."""
    environment = {**os.environ, "PYTHONPATH": str(added)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line[:1] in '{"']


def test_a_trial_by_an_added_solver_in_an_added_sandbox_is_scored_by_an_added_scorer(
    added: Path, tmp_path: Path
) -> None:
    found = run(added, tmp_path, "-c", TRIAL)[-1]
    outcome = found["outcome"]
    assert (outcome["status"], outcome["metric"]) == ("measured", 5.0), outcome["reason"]
    assert not outcome["number"]["recomputed"]  # a task of one's own has nothing to recompute from
    assert json.loads((tmp_path / "trial" / "sandbox.json").read_text())["name"] == "plain"
    assert found["scores"] == [["parity", 1.0]]


def test_a_plugins_tasks_may_ask_for_what_the_kernel_never_heard_of(
    added: Path, tmp_path: Path
) -> None:
    refused, unwritten, outcome = run(added, tmp_path, "-c", TALLIED)
    assert refused == (
        "to-2 isn't a task with marks to tally, which the solver tallies needs: take one of a "
        "suite of marks to tally, e.g. counting"
    )
    assert unwritten == (
        "to-2 is a task with marks to tally, which the solver basic cannot attempt: choose a task "
        "that asks for a program, or --solver counts, tallies or autoreproduce"
    )
    assert (outcome["status"], outcome["number"]["value"]) == ("measured", 2.0), outcome["reason"]
    assert outcome["claims"] is None  # it's no program whose number a paper states


def test_an_added_command_has_settings_like_any_other(added: Path, tmp_path: Path) -> None:
    def said(*arguments: str) -> str:
        command = [sys.executable, "-m", "autoreproduce", *arguments]
        found_in = os.pathsep.join([str(added), os.environ.get("PYTHONPATH", "")])
        environment = {"PYTHONPATH": found_in, "AUTOREPRODUCE_CACHE_DIR": "mine"}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        return done.stdout + done.stderr

    assert "Mine       weigh      Weigh a folder." in said("--help")
    assert said("weigh", "here", "--model", "openai:x").startswith("here openai:x mine\n")
    shown = said("weigh", "--help-all")
    assert shown.index("--model") < shown.index("--budget") < shown.index("--seed")
    assert "--sandbox" not in shown
    refused = said("weigh", "here", "--sandbox", "docker")
    assert "weigh has no option --sandbox: it belongs to reproduce, " in refused


@needs_suites
def test_a_suite_of_an_added_benchmark_by_an_added_executor(added: Path, tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(
        "name: counting\nbenchmark: counting\noptions: {most: 2}\ntasks: all\nsolver: counts\n"
        f"executor: one-by-one\nsettings: {{sandbox: plain, cache_dir: {tmp_path / 'cache'}}}\n"
    )
    run(added, tmp_path, "-m", "autoreproduce", "suite", "suite.yaml", "--trust", "--out", "out")
    for task, metric in {"to-1": 1.0, "to-2": 2.0}.items():
        trial = tmp_path / "out" / "trials" / task / "default" / "1"
        assert json.loads((trial / "job.json").read_text())["task"]["benchmark"] == "counting"
        assert facts_of(trial)["metric"] == metric
        assert facts_of(trial)["recomputed"]


@needs_suites
def test_what_does_not_fit_is_named_before_anything_begins(added: Path, tmp_path: Path) -> None:
    messages = run(added, tmp_path, "-c", REFUSED, *FAULTS)
    assert len(messages) == len(FAULTS)
    for message, said in zip(messages, FAULTS.values(), strict=True):
        assert said in message

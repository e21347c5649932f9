"""A masked set of somebody else: it names no option of a tool and no folder but its own."""

import json
from pathlib import Path

import pytest
from needs import needs_suites
from sandbox_helpers import ISOLATING

import autoreproduce
from autoreproduce.benchmarks import open_benchmark
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.plugins.autoexperiment.dataset import load_dataset
from autoreproduce.plugins.autoexperiment.environment import places_of_papers
from autoreproduce.plugins.autoexperiment.harbor import export_tasks
from autoreproduce.plugins.autoexperiment.layout import recipe
from autoreproduce.plugins.autoexperiment.selection import select_tasks
from autoreproduce.plugins.autoexperiment.tasks import open_set
from autoreproduce.plugins.autoexperiment.taskset import PAPER_FILE, PaperSet
from autoreproduce.sandboxes.setup import SandboxSetup

NAME = "0101.00001"


def handed(public, **content: object) -> Path:
    """The folder of a set of which one paper says `content`."""
    root = public()
    folder = next(path for path in root.rglob(NAME) if path.is_dir())
    (folder / PAPER_FILE).write_text(json.dumps(content))
    return root


@pytest.mark.parametrize("kind", ["process", *ISOLATING])
def test_its_packages_are_no_options_and_run_nothing_outside(public, tmp_path, kind) -> None:
    code, ran, log = tmp_path / "evil", tmp_path / "ran", tmp_path / "log"
    code.mkdir()
    (code / "setup.py").write_text(f"open({str(ran)!r}, 'w')\nimport setuptools as s\ns.setup()\n")
    options = ["--no-deps", "--no-build-isolation", f"--log={log}"]
    root = handed(public, packages=[*options, str(code)])
    with pytest.raises(UsageError, match="'--no-deps' isn't a package with a version"):
        benchmark = open_benchmark("autoexperiment", {"dataset": root})
        task = benchmark.load(f"{NAME}_0", "small")
        settings = Settings(sandbox=kind, cache_dir=tmp_path / "cache")
        benchmark.ready(task, SandboxSetup(settings, tmp_path / "packages", None, "test"))
    assert not ran.exists() and not log.exists()


@pytest.mark.parametrize(
    "package",
    ["-rfile", "x @ file:///x", "git+https://x/y", "./x", "x.whl", "a\n--log=x", "x" * 201],
)
def test_each_of_its_packages_is_a_name_with_a_version(public, package: str) -> None:
    with pytest.raises(UsageError, match="isn't a package with a version"):
        load_dataset(handed(public, packages=["numpy==1.26.4", package]))


@pytest.mark.parametrize("place", ["/etc", "../../../../.."])
def test_its_data_lie_in_its_own_folder(public, tmp_path, place: str) -> None:
    root = handed(public, data_dir=place)
    benchmark = open_benchmark("autoexperiment", {"dataset": root})
    task = benchmark.load(f"{NAME}_0", "small")
    with pytest.raises(UsageError, match="outside the set: name that folder with --data"):
        benchmark.prepare(task, tmp_path / "cache", print)
    assert benchmark.prepare(task, tmp_path / "cache", print, tmp_path).data_dir == tmp_path


def test_data_beside_its_code_are_taken(public, tmp_path) -> None:
    root = handed(public, data_dir="data")
    data = next(root.rglob(PAPER_FILE)).parent / "data"
    benchmark = open_benchmark("autoexperiment", {"dataset": root})
    task = benchmark.load(f"{NAME}_0", "small")
    with pytest.raises(UsageError, match="name the folder with its data with --data"):
        benchmark.prepare(task, tmp_path / "cache", print)
    data.mkdir()
    assert benchmark.prepare(task, tmp_path / "cache", print).data_dir == data.resolve()


def test_its_profile_of_data_is_no_path(public, tmp_path) -> None:
    root = handed(public, data="lsm/../../../escaped")
    benchmark = open_benchmark("autoexperiment", {"dataset": root})
    with pytest.raises(UsageError, match="lsm has no profile"):
        task = benchmark.load(f"{NAME}_0", "small")
        benchmark.prepare(task, tmp_path / "cache", print)
    assert not (tmp_path / "escaped").exists()


def strange_set(tmp_path: Path) -> Path:
    """A set whose function's id is a path."""
    (paper := tmp_path / "set" / "p" / "code").mkdir(parents=True)
    (paper / "main.py").write_text("def f(x):\n    return x + 1\n")
    ids = {"paper_id": "p", "func_id": "x/../../../../victim"}
    function = {**ids, "file": "main.py", "name": "f", "description": ""}
    (paper.parent / "functions.jsonl").write_text(json.dumps(function))
    experiment = {"paper_id": "p", "exp_id": "0", "result": 1, "func_dependencies": ids["func_id"]}
    (paper.parent / "experiments.jsonl").write_text(json.dumps(experiment))
    return tmp_path / "set"


@needs_suites
def test_its_tasks_are_called_as_folders_can_be(tmp_path) -> None:
    strange_set(tmp_path)
    fields = "benchmark: autoexperiment\noptions: {dataset: set, n: 1}\ntasks: all\n"
    (tmp_path / "s.yaml").write_text(f"name: s\nsolver: agentless\n{fields}")
    with pytest.raises(UsageError, match=r"'p_x/.*' is called as no folder can be"):
        autoreproduce.plan_suite(tmp_path / "s.yaml")


def test_a_recipe_of_an_image_has_no_line_of_its_own(public, tmp_path) -> None:
    """A build has a network and no wall of ours."""
    for field in ({"python": "3.11\nRUN x\n#"}, {"python": "3.11 x"}, {"locked": ["x; curl x|sh"]}):
        with pytest.raises(UsageError, match=r"taskset\.json: (python|locked)"):
            load_dataset(handed(public, **field))
    made = PaperSet(python="3.11.7", locked=["numpy>=1,<2", "torch==2.9.0+cpu"])
    assert recipe(made).splitlines() == [
        "FROM python:3.11.7-slim",
        "RUN pip install --no-cache-dir 'numpy>=1,<2' torch==2.9.0+cpu",
        "WORKDIR /workspace",
    ]


def test_its_tasks_for_harbor_lie_below_the_folder_that_was_named(tmp_path) -> None:
    dataset = load_dataset(strange_set(tmp_path))
    with pytest.raises(UsageError, match=r"'p_x/.*' is called as no folder can be"):
        export_tasks(select_tasks(dataset, (1,)), tmp_path / "a" / "out", tmp_path / "cache", None)
    assert not list(tmp_path.rglob("victim"))


def test_only_the_set_that_ships_may_run_without_a_sandbox(public, tmp_path) -> None:
    settings = Settings(cache_dir=tmp_path / "cache")
    for where, trusted in ((None, True), (public(), False)):
        task = select_tasks(open_set(where), [0])[0]
        assert places_of_papers(settings, None, print)(task).trusted is trusted

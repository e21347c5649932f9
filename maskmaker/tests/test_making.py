"""New tasks out of a repository, in a real sandbox: what is chosen, proven, left out, and why."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from autoreproduce.benchmarks import open_benchmark
from autoreproduce.config import Settings
from autoreproduce.errors import CommandError, UsageError
from autoreproduce.plugins.autoexperiment.commands import numbers
from autoreproduce.plugins.autoexperiment.dataset import load_dataset
from autoreproduce.plugins.autoexperiment.environment import places_of_papers
from autoreproduce.plugins.autoexperiment.outcome import judge
from autoreproduce.plugins.autoexperiment.selection import select_tasks, task_of
from autoreproduce.plugins.autoexperiment.taskset import MaskProof, read_proofs
from autoreproduce.plugins.autoexperiment.unmasked import gold_of
from autoreproduce.sandboxes import why_not
from autoreproduce.sandboxes.setup import SandboxSetup
from maskmaker.__main__ import app
from maskmaker.candidates import candidates, not_nested, passage_for
from maskmaker.leaks import gold_on_disk
from maskmaker.making import MadeSet, made_text, make_tasks, proven_only
from maskmaker.measure_original import MaskRequest
from maskmaker.proving import prove_set, write_proofs
from maskmaker.reach import loaded_by, reach

MODEL = '''\
"""A line fitted by gradient descent."""
from functools import wraps


def logged(f):
    @wraps(f)
    def inner(*args):
        return f(*args)
    return inner


class Line:
    def __init__(self, slope=0.0):
        self.slope = slope
        self.steps = 0

    @logged
    def gradient(self, points):
        """The gradient of the squared loss at the slope.

        :param points: pairs of numbers
        """
        total = 0.0
        for x, y in points:
            total += 2 * (self.slope * x - y) * x
        return total / len(points)

    def fit(self, points, rate=0.05):
        for _ in range(60):
            self.slope = self.slope - rate * self.gradient(points)
            self.steps += 1
        return self.slope


def squared_loss(points, slope):
    errors = [(slope * x - y) ** 2 for x, y in points]
    return sum(errors) / len(errors)


def never(points):
    total = sum(points)
    return total


def useless(points):
    copied = list(points)
    return copied


def save(path, found):
    import json
    with open(path, "w") as file:
        json.dump(found, file)
'''

TRAIN = """\
import json
import subprocess
import sys
import time
import os
import random
import sys
from model import Line, save, squared_loss, useless


def main():
    random.seed(int(os.environ["SEED"]))
    points = [(x / 4, 3 * x / 4 + random.gauss(0, 0.01)) for x in range(1, 9)]
    useless(points)
    line = Line()
    found = {"slope": line.fit(points), "loss": [squared_loss(points, 2.5)], "seconds": (int.from_bytes(os.urandom(4), "big") + 1.0) ** 8}
    save("results.json", found)
    print(json.dumps(found))


main()
"""

PAPER = """\
We fit a line.

The gradient of the squared loss at the slope is the mean over the points.

Something else entirely.
"""


@pytest.fixture
def place(tmp_path: Path) -> SandboxSetup:
    settings = Settings(
        sandbox="bubblewrap",
        memory_gb=1,
        output_mb=1,
        output_kb=16,
        disk_gb=0.05,
        cache_dir=tmp_path / "cache",
    )
    if reason := why_not("bubblewrap", settings):
        pytest.skip(str(reason))
    return SandboxSetup(settings, tmp_path / "packages", trusted=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text("")
    (folder / "model.py").write_text(MODEL)
    (folder / "train.py").write_text(TRAIN)
    return folder


def asked(repository: Path, /, **more: object) -> MaskRequest:
    made = MaskRequest(
        repository,
        ("python train.py",),
        repository.parent / "set",
        "fit",
        n=(1, 2),
        most_functions=4,
        sample=3,
        seeds=2,
    )
    return replace(made, **more)  # type: ignore[arg-type]


def by_id(made: MadeSet) -> dict[str, str]:
    return {proof.combined_id: proof.reason for proof in made.proofs}


def test_the_functions_that_a_command_reaches_and_their_callers(
    repository: Path, place: SandboxSetup
) -> None:
    (repository / "model.py").write_text(MODEL.replace("def never", "import os\n\n\ndef never"))
    (repository / "fork.py").write_text(
        "import os\nfrom model import never\nif os.fork() == 0:\n    never([1])\n    os._exit(0)\nos.wait()\n"
    )
    sandbox = place.open(repository)
    done, reached = reach(
        sandbox,
        repository,
        "export SEED=0\npython train.py >/dev/null\ncd /tmp\npython /workspace/fork.py",
        30,
    )
    sandbox.close()
    assert done.ok, done.stderr
    found = {f"{each.file}::{each.function.address}": each.callers for each in reached}
    assert set(found) == {
        "model.py::logged",
        "model.py::logged.inner",
        "model.py::Line.__init__",
        "model.py::Line.gradient",
        "model.py::Line.fit",
        "model.py::squared_loss",
        "model.py::useless",
        "model.py::save",
        "model.py::never",
        "train.py::main",
    }
    assert found["model.py::Line.gradient"] == {"model.py::logged.inner"}
    assert found["model.py::squared_loss"] == {"train.py::main"}
    assert found["model.py::never"] == {"fork.py"}


def test_candidates_by_rank(repository: Path, place: SandboxSetup) -> None:
    sandbox = place.open(repository)
    _, reached = reach(sandbox, repository, "export SEED=0\npython train.py", 30)
    sandbox.close()
    ranked = [each.name for each in candidates(reached, PAPER)]
    assert set(ranked[:3]) == {
        "model.py::Line.gradient",
        "model.py::Line.fit",
        "model.py::squared_loss",
    }
    assert ranked[-2:] == ["model.py::save", "model.py::Line.__init__"]
    assert "model.py::never" not in ranked
    kept = [each.name for each in not_nested(candidates(reached, PAPER), 9)]
    assert not {"model.py::logged", "model.py::logged.inner"} <= set(kept)
    gradient = next(each.function for each in reached if each.function.name == "gradient")
    assert passage_for(gradient, PAPER) == PAPER.split("\n\n")[1]
    assert passage_for(gradient, "") == ""


@pytest.mark.slow
def test_a_task_set_is_made_proven_and_read_again(repository: Path, place: SandboxSetup) -> None:
    made = make_tasks(
        asked(
            repository,
            paper=PAPER,
            n=(1, 3),
            sample=3,
            functions=(
                "./model.py::Line.gradient",
                "model.py::squared_loss",
                "model.py::useless",
                "model.py::never",
            ),
        ),
        place,
    )
    assert by_id(made) == {
        "fit_": "",
        "fit_0": "",
        "fit_1": "",
        "fit_2": "model.py::useless: only 2 faulty bodies differ from it",
        "fit_0,1,2": "model.py::useless: only 2 faulty bodies differ from it",
    }
    assert any(
        "left out: seconds differs between two runs with one seed" in note for note in made.notes
    )
    assert (
        "model.py::never is not reached by the command: masked, nothing would change" in made.notes
    )
    proof = next(proof for proof in made.proven if proof.combined_id == "fit_0")
    assert set(proof.runs) == {"restored", "masked"} and not proof.note
    kills = proof.kills["model.py::Line.gradient"]
    assert kills.moved and kills.differ >= 8 and kills.rate >= 0.9 and kills.calls > 8
    assert proof.runs["restored"] == "passed" and proof.runs["masked"].startswith("not implemented")

    dataset = load_dataset(made.root)
    assert dataset.splits == {"fit": "test"}
    task = task_of(dataset, "fit_0,1,2")
    assert task.id in dataset.listed[3] and task.paper.made
    assert task.functions[0].description.startswith("The gradient of the squared")
    assert task.functions[0].passage.startswith("The gradient of the squared loss at the slope is")
    assert task.functions[1].description == ""
    assert set(task.gold["Experiment 1"]) == {"slope", "loss"}
    assert '{"slope": 0.0, "loss": [0.0]}' in task.experiments
    assert judge(task, None, replace(place, trusted=False)).kind == "passed"
    assert [t.id for t in proven_only(select_tasks(dataset, [1]), read_proofs(made.root))] == [
        "fit_0",
        "fit_1",
    ]
    assert not (made.root / "fit" / "code" / ".git").exists()
    assert dataset.faults.found == []


TIMED = """\
import json
import subprocess
import sys
import time
import os
import time


class Scale:
    def __init__(self, factor):
        self.factor = factor
        self.power = 2

    def apply(self, x):
        began = time.time()
        y = [each**self.power * self.factor for each in x]
        print("took", time.time() - began)
        return y


def run(x):
    total = sum(x)
    return total / len(x)


def banner(x):
    text = f"{len(x)} values"
    return text


def main():
    x = [1.0, 2.0, 5.0]
    banner(x)
    print(json.dumps({"mean": run(Scale(3.0).apply(x)), "count": 3.0}))


main()
"""


@pytest.mark.slow
def test_what_moves_the_numbers_is_chosen_first_whatever_its_name(
    repository: Path, place: SandboxSetup
) -> None:
    (repository / "train.py").write_text(TIMED)
    made = make_tasks(asked(repository, n=(), most_functions=2, workers=2), place)
    assert {each.name for each in made.chosen} == {"train.py::Scale.apply", "train.py::run"}
    why = {each.name.partition("::")[2]: each.why for each in made.candidates}
    assert list(why)[2:] == ["main", "Scale.__init__", "banner"]
    assert why["run"].startswith("with a fault, 50% of the numbers move")
    assert why["banner"].startswith("with a fault, no number moves")


STRICT = """import json


def loss(x):
    total = sum(each * each for each in x)
    return total


found = loss([1.0, 2.0])
assert found == 5, found
print(json.dumps({"loss": found}))
"""


@pytest.mark.slow
def test_a_task_whose_faulty_bodies_all_stop_the_program_is_left_out(
    repository: Path, place: SandboxSetup
) -> None:
    (repository / "train.py").write_text(STRICT)
    made = make_tasks(asked(repository, n=(1,), functions=("train.py::loss",)), place)
    said = "train.py::loss: no faulty body that came to its numbers missed them"
    assert by_id(made) == {"fit_": "", "fit_0": said}


CHECKED = """import json


def good(x):
    low = min(x)
    return len(x) > 1 and low > 0


def loss(x):
    total = sum(each * each for each in x)
    return total


assert good([1.0, 2.0])
print(json.dumps({"loss": loss([1.0, 2.0])}))
"""


@pytest.mark.slow
def test_tripping_an_assertion_is_no_influence(repository: Path, place: SandboxSetup) -> None:
    (repository / "train.py").write_text(CHECKED)
    made = make_tasks(asked(repository, n=()), place)
    assert [each.name for each in made.chosen] == ["train.py::loss"]
    why = {each.name: each.why for each in made.candidates}
    assert why["train.py::good"].startswith("with a fault, no number moves")


@pytest.mark.slow
def test_a_set_records_the_packages_that_gave_its_gold(repository: Path, tmp_path: Path) -> None:
    place = SandboxSetup(Settings(sandbox="process"), tmp_path / "packages", trusted=True)
    program = CHECKED.replace("import json\n", "import json\nimport numpy\n", 1)
    (repository / "train.py").write_text(
        program.replace("sum(each * each for each in x)", "float(numpy.square(x).sum())")
    )
    made = make_tasks(asked(repository, n=(), most_functions=1), place)
    own = load_dataset(made.root).papers["fit"].made
    version = importlib.metadata.version("numpy")
    assert own is not None and own.locked == [f"numpy=={version}"] and own.python
    recipe = (made.root / "fit" / "Dockerfile").read_text()
    assert f"FROM python:{own.python}" in recipe and f"numpy=={version}" in recipe
    assert any(
        f"took numpy=={version} from the sandbox's own Python" in note for note in own.notes
    ), own.notes


@pytest.mark.slow
def test_numbers_that_only_their_shape_moves_are_no_task(
    repository: Path, place: SandboxSetup
) -> None:
    (repository / "train.py").write_text(
        "def grid(n):\n    points = [i / n for i in range(n)]\n    return points\n\n\n"
        "print('{\"count\": %d.0}' % len(grid(7)))\n"
    )
    made = make_tasks(asked(repository, n=(1,), functions=("train.py::grid",)), place)
    assert "train.py::grid" in by_id(made)["fit_0"]


@pytest.mark.slow
def test_a_set_keeps_the_data_that_its_code_reads(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "points.txt").write_text("1 2 5")
    (repository / "train.py").write_text(
        "import os\n\n\ndef mean(x):\n    total = sum(x)\n    return total / len(x)\n\n\n"
        "x = open(os.environ['DATA_DIR'] + '/points.txt').read().split()\n"
        "print('{\"mean\": %f}' % mean([float(each) for each in x]))\n"
    )
    line = ["mask", str(repository), "--command", "python train.py", "--n", "1", "--seeds", "1"]
    line += ["--data", str(tmp_path / "data"), "--out", str(tmp_path / "set")]
    done = CliRunner().invoke(app, [*line, "--sandbox", "process"])
    assert done.exit_code == 0, (done.output, done.exception)
    made = load_dataset(tmp_path / "set").papers["repository"].made
    assert made and made.data_dir == str((tmp_path / "data").resolve())
    benchmark = open_benchmark("autoexperiment", {"dataset": tmp_path / "set"})
    task = benchmark.load("repository_0", "small")
    with pytest.raises(UsageError, match="outside the set: name that folder with --data"):
        benchmark.prepare(task, tmp_path / "cache", print)
    ready = benchmark.prepare(task, tmp_path / "cache", print, tmp_path / "data")
    assert ready.data_dir == (tmp_path / "data").resolve()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "points.txt").write_text("1 2 6")
    with pytest.raises(UsageError, match=r"does not hold the data that gave the gold: points\.txt"):
        benchmark.prepare(task, tmp_path / "cache", print, tmp_path / "other")


@pytest.mark.slow
def test_proofs_of_a_set_are_made_anew_side_by_side(repository: Path, place: SandboxSetup) -> None:
    first = asked(repository, n=(1,), functions=("model.py::squared_loss",))
    made = make_tasks(first, place)
    write_proofs(made.root, "fit", [MaskProof(combined_id="fit_0", proven=False, reason="old")])
    done = CliRunner().invoke(
        app, f"prove {made.root} --n 1 --workers 2 --sandbox bubblewrap --memory-gb 1"
    )
    assert done.exit_code == 0, done.output
    assert "1 of 1" in done.output and "about 0 s left: fit_0: proven" in done.output
    assert read_proofs(made.root)["fit_0"].proven
    (made.root / "fit" / "code" / "train.py").write_text(TRAIN.replace("3 *", "4 *"))
    for gold, proven in (("set", False), ("here", True)):
        place_of = places_of_papers(place.settings, None, print)
        dataset = load_dataset(made.root)
        found = prove_set(dataset, [1], place_of, 1, print, here=gold == "here")
        assert found[0].proven is proven, found
    assert found[0].note == "by the gold measured on this machine"


def test_of_two_named_functions_in_each_other_one_is_left_out_and_told(
    repository: Path, place: SandboxSetup
) -> None:
    named = ("model.py::logged", "model.py::logged.inner")
    made = make_tasks(asked(repository, n=(), functions=named), place)
    assert [each.name for each in made.chosen] == ["model.py::logged"]
    assert any("model.py::logged.inner is inside another function" in note for note in made.notes)


@pytest.mark.slow
def test_a_second_paper_joins_the_set_on_the_other_side(
    repository: Path, place: SandboxSetup
) -> None:
    first = asked(repository, n=(1,), functions=("model.py::squared_loss",), results="results.json")
    make_tasks(first, place)
    made = make_tasks(replace(first, paper_id="other"), place)
    again = make_tasks(replace(first, functions=("model.py::Line.fit",)), place)
    dataset = load_dataset(made.root)
    assert dict(dataset.splits) == {"fit": "test", "other": "dev"} and again.split == "test"
    assert [task.id for task in select_tasks(dataset, [1])] == ["fit_0", "other_0"]
    assert task_of(dataset, "fit_0").functions[0].name == "fit"
    assert set(read_proofs(made.root)) == {"fit_", "fit_0", "other_", "other_0"}


@pytest.mark.slow
def test_after_a_stop_the_proofs_of_the_same_functions_alone_count(
    repository: Path, place: SandboxSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asked(repository, n=(1,), functions=("model.py::squared_loss",))
    make_tasks(first, place)

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("maskmaker.proving.prove", stopped)
    with pytest.raises(KeyboardInterrupt):
        make_tasks(replace(first, functions=("model.py::useless",)), place)
    dataset = load_dataset(first.out)
    assert task_of(dataset, "fit_0").functions[0].name == "useless"
    assert not proven_only(select_tasks(dataset, [1]), read_proofs(first.out))
    assert read_proofs(first.out)["fit_"].proven, "the code without masks is the same"


@pytest.mark.slow
def test_a_signal_ends_mask_within_ten_seconds_and_keeps_what_is_proven(
    repository: Path, tmp_path: Path
) -> None:
    line = [sys.executable, "-m", "maskmaker", "mask", str(repository), "--sandbox", "process"]
    line += ["--command", "python train.py", "--results", "results.json", "--n", "1,2"]
    line += ["--functions", "model.py::squared_loss", "--functions", "model.py::Line.gradient"]
    line += ["--out", str(tmp_path / "set"), "--runs-dir", str(tmp_path / "runs")]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")}
    with subprocess.Popen(line, env=environment, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        said = next(text for text in running.stderr if "is recorded" in text)
        began = time.monotonic()
        running.terminate()
        running.stderr.read()
        assert running.wait(60) != 0 and time.monotonic() - began < 10, said
    found = load_dataset(tmp_path / "set")
    assert not found.faults.found, "two n alone, and no paper, are no fault of a fresh set"
    proofs = read_proofs(tmp_path / "set")
    assert proofs["repository_"].proven and not proofs["repository_0"].proven
    assert "stopped before" in proofs["repository_0"].reason


@pytest.mark.slow
def test_gold_that_stands_on_the_disk_is_found(repository: Path, place: SandboxSetup) -> None:
    (repository / "train.py").write_text(TRAIN.replace('os.environ["SEED"]', "1"))
    made = make_tasks(asked(repository, n=(1,), functions=("model.py::squared_loss",)), place)
    loss = task_of(load_dataset(made.root), "fit_0").gold["Experiment 1"]["loss"][0]
    (repository / "log.txt").write_text(f"epoch 1 loss {loss:.8f}\n")
    made = make_tasks(asked(repository, n=(1,), functions=("model.py::squared_loss",)), place)
    assert by_id(made)["fit_0"].startswith(
        "a solver can read the gold: log.txt contains 1 of the gold numbers"
    )


def test_a_command_that_prints_what_it_finds_on_the_disk_proves_nothing(
    repository: Path, place: SandboxSetup
) -> None:
    (repository / "saved.json").write_text('{"loss": 0.25}')
    (repository / "train.py").write_text(
        "from model import squared_loss\ntry:\n    squared_loss([(1, 2)], 3)\nexcept Exception:\n    pass\nprint(open('saved.json').read())\n"
    )
    made = make_tasks(asked(repository, n=(1,), functions=("model.py::squared_loss",)), place)
    assert by_id(made)["fit_0"] == (
        "it passes with its functions masked: the numbers do not depend on them, or are read from the disk"
    )
    assert "LEFT OUT" in made_text(made) and made_text(made).endswith(
        "proven 1 of 2 tasks (n=0: 1)"
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"commands": ()}, "no command is named"),
        ({"paper_id": "a_b"}, "cannot name a paper"),
        ({"paper_id": "../x"}, "cannot name a paper"),
        ({"repository": Path("/nowhere")}, "isn't a folder: clone the repository first"),
        ({"functions": ("model.py",)}, "names no function: write FILE::NAME"),
        ({"functions": ("model.py::nothing",)}, "has no function nothing"),
        ({"functions": ("../x.py::f",)}, "isn't a file below"),
        ({"functions": ("model.py::never",)}, "never is not reached by the command"),
        (
            {"commands": ("python -c 'import torch_x'",)},
            r"does not run on the code as it is \(package\)",
        ),
        ({"commands": ("sleep 60",), "timeout": 0.5}, r"\(timeout\): it did not end in time"),
        ({"commands": ("yes",)}, r"\(output\): it printed more than is allowed"),
        ({"commands": ("echo done",)}, "reports no result: the output has no JSON object"),
        (
            {"commands": ("python train.py >/dev/null",), "results": "other.json"},
            "other.json was not written",
        ),
        ({"commands": ("echo '{\"t\": NaN}'; python train.py >/dev/null",)}, "cannot be judged"),
    ],
)
def test_bad_input(
    repository: Path, place: SandboxSetup, more: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        make_tasks(asked(repository, **more), place)
    assert not (repository.parent / "set" / "mlrc_main.csv").exists()


@pytest.mark.slow
def test_a_command_that_fails_leaves_the_others(repository: Path, place: SandboxSetup) -> None:
    made = make_tasks(
        asked(
            repository,
            commands=("false", "python train.py"),
            n=(1,),
            functions=("model.py::squared_loss",),
        ),
        place,
    )
    assert by_id(made) == {"fit_": "", "fit_0": ""}
    assert made.notes[0].startswith("the command `false` does not run on the code as it is (error)")


def test_gold_by_seed_and_both_tolerances() -> None:
    runs = {seed: {"a": 1.0 + seed / 10, "b": [2.0], "n": 3} for seed in range(3)}
    gold = gold_of(runs, {"a": 1.001, "b": [2.0], "n": 3})
    assert gold.value == runs[0] and gold.by_seed == {str(seed): runs[seed] for seed in runs}
    assert gold.tolerances["a"].absolute == pytest.approx(0.004)
    assert gold.tolerances["b/0"].absolute == 1e-12 and gold.tolerances["b/0"].relative == 0.01
    # three seeds tell little: three leaves, all together right 99 times of 100
    assert 1.9 < gold.spread["a"].absolute < 2.1
    assert gold.spread["b/0"].absolute == pytest.approx(0.6), "other seeds may well give another"
    close = {seed: {"a": 1.0 + (seed - 1) / 1000} for seed in range(3)}
    assert gold_of(close, close[0]).spread["a"].absolute == pytest.approx(
        9.924843 * 0.001 * (4 / 3) ** 0.5, rel=1e-6
    )


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([{"a": "text"}], "a isn't a number"),
        ([{"a": 1.0}, {"a": 2.0}, {"a": 1.2}], "differs between two runs"),
        ([{"a": float("nan")}], "is not finite"),
        ([{"a": 1.0}, {"b": 1.0}], "is missing in some runs"),
        ([{}], "the results are empty"),
        ([[1.0, True]], "isn't a number"),
    ],
)
def test_results_that_cannot_be_judged(runs: list[object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        gold_of(dict(enumerate(runs[:-1] or runs)), runs[-1])


def test_a_key_with_a_slash_is_one_key() -> None:
    runs = [{"time/s": 1.0 + 8 * n, "meta/day": f"day {n}", "train/loss": 0.5} for n in range(2)]
    gold = gold_of(dict(enumerate(runs[:-1])), runs[-1])
    assert gold.value == {"train/loss": 0.5} and len(gold.notes) == 2


def test_a_large_table_of_numbers_is_no_leak_by_chance(tmp_path: Path) -> None:
    gold = {"loss": 0.123456}
    (tmp_path / "data.csv").write_text("\n".join(f"0.{n:06d}" for n in range(100_000, 200_000)))
    assert gold_on_disk(tmp_path, [gold]) == []
    (tmp_path / "log.txt").write_text("loss 0.1234561 step 3\nloss 0.1234\n")
    assert gold_on_disk(tmp_path, [gold]) == ["log.txt contains 1 of the gold numbers (0.123456)"]
    assert gold_on_disk(tmp_path, [{"loss": 0.5, "count": 3}]) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [("1..5", (1, 2, 3, 4, 5)), ("2", (2,)), ("1,3", (1, 3)), ("1..2, 2..3", (1, 2, 3))],
)
def test_numbers(text: str, found: tuple[int, ...]) -> None:
    assert numbers(text) == found


@pytest.mark.parametrize("text", ["", "a", "3..1", "-1", "1..", "1.5"])
def test_numbers_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match=r"write 1\.\.5, 2 or 1,3"):
        numbers(text)


@pytest.mark.slow
def test_the_commands(repository: Path, place: SandboxSetup) -> None:
    runner, out = CliRunner(), repository.parent / "set"
    line = [
        "mask",
        str(repository),
        "--command",
        "python train.py",
        "--functions",
        "model.py::squared_loss",
        "--n",
        "1",
    ]
    done = runner.invoke(
        app,
        [*line, "--out", str(out), "--seeds", "1", "--sandbox", "bubblewrap", "--memory-gb", "1"],
    )
    assert done.exit_code == 0, done.output
    assert (
        "* model.py::squared_loss" in done.output
        and "proven 2 of 2 tasks (n=0: 1, n=1: 1)" in done.output
    )
    assert json.loads((out / "splits.json").read_text()) == {"repository": "test"}


def test_a_run_says_versions_and_no_more() -> None:
    lines = "3.11.7\nnumpy==1.26.4\nx==1;curl\n3.11;RUN\n--log==x\n"
    run = SimpleNamespace(read=lambda path: lines.encode())
    assert loaded_by(run) == ("3.11.7", ["numpy==1.26.4"])


def test_a_proof_may_quote_any_separator_of_lines(tmp_path: Path) -> None:
    proof = MaskProof(
        combined_id="a_0", proven=False, reason="it printed \u2028, \x85, \r\n and \x1e"
    )
    (tmp_path / "proofs.jsonl").write_text(f"{proof.model_dump_json()}\n" * 2, encoding="utf-8")
    assert read_proofs(tmp_path) == {"a_0": proof}


def test_data_that_are_not_there_are_refused_before_anything_runs(repository: Path) -> None:
    done = CliRunner().invoke(
        app, ["mask", str(repository), "--command", "true", "--data", str(repository / "none")]
    )
    assert isinstance(done.exception, UsageError) and "isn't a folder" in str(done.exception)


@pytest.mark.slow
def test_a_model_describes_functions_without_giving_them_away(
    repository: Path, place: SandboxSetup, tmp_path: Path
) -> None:
    from chat_server import chat_server

    from maskmaker.describe import usable

    given_away, told = (
        "Does `total += 2 * (self.slope * x - y) * x`.",
        "The derivative of the loss by the slope.",
    )
    command = [
        "mask",
        str(repository),
        "--command",
        "python train.py",
        "--functions",
        "model.py::Line.gradient",
    ]
    command += [
        "--n",
        "1",
        "--results",
        "results.json",
        "--seeds",
        "2",
        "--sandbox",
        "bubblewrap",
        "--describe",
        "--rewrite",
    ]
    command += ["--out", str(tmp_path / "made"), "--runs-dir", str(tmp_path / "runs")]
    faulty = "~~~python\n# not doubled\ndef gradient(self, x, y):\n    return 0.5\n~~~\nand prose"
    with chat_server([given_away, told, faulty]) as server:
        for _ in range(2):
            done = CliRunner().invoke(
                app, [*command, "--model", "some", "--base-url", server.base_url]
            )
            assert done.exit_code == 0, (done.output, done.exception)
    assert len(server.requests) == 3, "what was described or rewritten is not asked again"
    assert "with one mistake" in server.requests[2].prompt
    assert "gives away a line" in server.requests[1].prompt
    assert load_dataset(tmp_path / "made").papers["repository"].functions[0].description == told
    assert usable('"""Plain."""', "def f():\n    return 1") == "Plain."
    asking = CliRunner().invoke(app, command)
    assert isinstance(asking.exception, UsageError) and "--model" in str(asking.exception)


def test_faulty_bodies_are_the_blocks_that_define_the_function() -> None:
    from autoreproduce.errors import CommandError
    from maskmaker.describe import faulty_bodies

    reply = (
        '```python\n# the square\ndef f(x):\n    """Doc."""\n    y = x\n    return y\n```\n'
        "```python\ndef g(x):\n    return 1\n```\n```python\ndef f(:\n```\n"
    )
    assert faulty_bodies(reply, "    def f(x):\n        return x ** 2") == [
        ("by a model: the square", "y = x\nreturn y")
    ]
    with pytest.raises(CommandError, match="no block with a function h"):
        faulty_bodies(reply, "def h(x):\n    return x")


def test_a_method_with_a_text_at_the_left_margin_can_be_described() -> None:
    from maskmaker.describe import usable

    method = (
        '    @logged\n    def query(self):\n        return """\nselect everything from table\n"""\n'
    )
    assert usable("The query.", method) == "The query."
    with pytest.raises(CommandError, match="gives away"):
        usable("It says return '\\nselect everything from table\\n' and no more.", method)

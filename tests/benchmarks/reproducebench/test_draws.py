"""Data that are drawn after a program is final: secret, whole, repeatable, and like all others."""

import re
from pathlib import Path

import numpy as np
import pytest

from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.benchmarks.reproducebench.agreement import (
    overlap,
    residuals,
    same_class,
    shared_mistakes,
)
from autoreproduce.benchmarks.reproducebench.benchmark import ReproduceBench
from autoreproduce.benchmarks.reproducebench.draws import BITS, draw_of, new_seed
from autoreproduce.benchmarks.reproducebench.paired import half_band
from autoreproduce.benchmarks.reproducebench.scaffold import new_task
from autoreproduce.benchmarks.reproducebench.task_code import load_module
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.sandboxes.counted_run import PUBLISHED, CountedData
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.task import ReferenceNumber, Task

WHAT = {"arxiv": None, "title": "T", "method": "M", "dataset": "D", "metric": "error"}
REDRAWN = [
    path.name
    for path in reproducebench.task_folders()
    if any(size.redrawn for size in reproducebench.task_file(path).profiles.values())
]


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    """The task that `bench new` writes, with its data."""
    new_task("tiny", into=tmp_path / "reproducebench", **WHAT)
    monkeypatch.setattr(reproducebench, "folder", lambda name: tmp_path / name)
    benchmark = ReproduceBench(ReproduceBench.Options())
    return benchmark.prepare(benchmark.load("tiny", "small"), tmp_path, print)


def arrays(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "test.npz") as test, np.load(folder / "train.npz") as train:
        return {"x": test["x"], "y": test["y"], "train": train["x"]}


def test_a_draw_is_made_by_its_seed_alone(tiny: Task, tmp_path: Path) -> None:
    one, again, other = (
        arrays(draw_of(tiny, tmp_path / place, seed, print).truth)
        for place, seed in (("a", "5"), ("b", "5"), ("a", "6"))
    )
    assert tiny.data_dir is not None
    published = arrays(tiny.data_dir)
    for name, array in one.items():
        assert np.array_equal(array, again[name])
        assert array.shape == published[name].shape
        assert not np.isin(array, other[name]).any() and not np.isin(array, published[name]).any()


def test_a_run_sees_no_true_target_and_nothing_that_tells_its_draw(
    tiny: Task, tmp_path: Path
) -> None:
    made = draw_of(tiny, tmp_path, new_seed(), print)
    true, shown = arrays(made.truth), arrays(made.shown)
    assert np.array_equal(true["x"], shown["x"]) and np.array_equal(true["train"], shown["train"])
    assert not np.isin(true["y"], shown["y"]).any()
    assert tiny.data_dir is not None
    seen = [
        sorted((path.name, path.stat().st_mtime) for path in folder.iterdir())
        for folder in (tiny.data_dir, made.shown)
    ]
    assert seen[0] == seen[1]
    assert (tmp_path / "draws").stat().st_mode & 0o077 == 0
    assert made.seed not in str(made.shown)


def test_seeds_are_long_and_never_twice_the_same() -> None:
    seeds = {new_seed() for _ in range(50)}
    assert len(seeds) == 50 and {len(seed) for seed in seeds} == {BITS // 4}


def test_each_counted_run_has_a_new_draw_and_a_repetition_the_same(
    tiny: Task, tmp_path: Path
) -> None:
    settings = Settings.model_validate({"cache_dir": tmp_path})
    plain = SandboxSetup(settings, tmp_path / "packages", tiny.data_dir)
    ready = ReproduceBench(ReproduceBench.Options()).ready(tiny, plain)
    assert ready.counted is not None
    one, other = ready.counted(""), ready.counted("")
    assert one.draw != other.draw and one.folder != other.folder
    again = ready.of_draw(one.draw).counted
    assert again is not None and again("") == one
    assert ready.counted(PUBLISHED).folder == tiny.decoy_dir
    assert plain.of_draw(one.draw).counted is None


def test_a_task_that_is_not_drawn_has_no_draw_of_the_seed_that_is_asked_for(
    tiny: Task, tmp_path: Path
) -> None:
    assert tiny.folder is not None
    described = tiny.folder / "task.yaml"
    described.write_text(re.sub(r"(?m)^ +redrawn:.*\n", "", described.read_text()))
    settings = Settings.model_validate({"cache_dir": tmp_path})
    plain = SandboxSetup(settings, tmp_path / "packages", tiny.data_dir)
    counted = ReproduceBench(ReproduceBench.Options()).ready(tiny, plain).counted
    assert counted is not None
    assert counted(new_seed()) == CountedData(tiny.decoy_dir, PUBLISHED)
    assert counted("") == CountedData(tiny.decoy_dir, "")


def test_a_draw_that_cannot_be_made_says_why(tiny: Task, tmp_path: Path) -> None:
    assert tiny.folder is not None
    (tiny.folder / "prepare.py").write_text("def prepare(*_):\n    raise ValueError('no disk')\n")
    with pytest.raises(UsageError, match=r"cannot draw data of tiny .*no disk"):
        draw_of(tiny, tmp_path, "5", print)


@pytest.mark.parametrize("task_id", REDRAWN)
def test_a_task_that_is_redrawn_publishes_no_seed_with_its_data(task_id: str) -> None:
    code = reproducebench.task_folder(task_id) / "prepare.py"
    assert isinstance(load_module(code).SEED, int)
    assert '"seed"' not in code.read_text()


def test_bspm_splits_anew_what_is_published() -> None:
    from scipy.sparse import random as random_matrix

    module = load_module(reproducebench.task_folder("bspm") / "prepare.py")
    known = random_matrix(60, 80, 0.4, format="csr", random_state=1)
    known.data[:] = 1
    module.SEED = 1 << BITS | 7
    train, test = module.split_anew(known)
    assert ((train + test) != known).nnz == 0 and train.multiply(test).nnz == 0
    assert 0.17 < test.nnz / known.nnz < 0.23 and test.getnnz(1).min() >= 1
    first = module.frozen_stream().permutation(9).tolist()
    module.SEED += 1 << 64  # the words beyond the first count too
    assert module.frozen_stream().permutation(9).tolist() != first
    assert (module.split_anew(known)[1] != test).nnz > 0


def test_two_runs_on_one_draw_differ_as_two_seeds_do() -> None:
    # t(0.975, 2) · s · √(1 + 1/3) for s = 1
    measured = ReferenceNumber(value=0.0, low=-4.968, high=4.968, values=[-1.0, 0.0, 1.0])
    assert half_band(measured) == pytest.approx(4.3027 * 2**0.5, abs=1e-3)
    assert half_band(ReferenceNumber(value=0.0)) is None


def test_agreement_is_one_for_the_same_and_falls_with_other_errors() -> None:
    rng = np.random.default_rng(0)
    truth, missed, noise = rng.normal(size=(3, 20, 50))
    assert residuals(truth + missed, truth + missed, truth) == pytest.approx(1)
    assert residuals(truth + missed, truth + 0.9 * missed, truth) == pytest.approx(1)
    assert residuals(truth + missed, truth + missed + noise, truth) == pytest.approx(0.71, abs=0.05)
    assert abs(residuals(truth + missed, truth + noise, truth)) < 0.1
    one, other = np.array([[0, 1, 2, 2]]), np.array([[0, 1, 1, 2]])
    assert same_class(one, other) == 0.75
    assert shared_mistakes(one, one, other) == 1 and shared_mistakes(one, other, other) == 0
    assert shared_mistakes(one, other, np.array([[1, 1, 1, 1]])) == 2 / 3
    assert overlap(np.array([[3, 4]]), np.array([[4, -1]])) == 0.5


def test_exact_answers_drawn_to_their_mean_agree_with_no_network_that_is_drawn_there_too() -> None:
    rng = np.random.default_rng(0)
    middle = rng.normal(size=50)
    truth, missed = middle + rng.normal(size=(200, 50)), 0.2 * rng.normal(size=(200, 50))
    drawn = truth + 0.1 * (middle - truth)
    network, again = drawn + missed, drawn + missed + 0.1 * rng.normal(size=truth.shape)
    assert residuals(drawn, network, truth) > 0.3
    assert abs(residuals(drawn, network, truth, unshrunk=True)) < 0.1
    assert residuals(again, network, truth, unshrunk=True) > 0.8


def test_tdgnn_draws_splits_whose_test_nodes_are_the_same_and_withholds_these(
    tmp_path: Path,
) -> None:
    home = reproducebench.task_folder("tdgnn")
    prepare, hide = (load_module(home / f"{name}.py") for name in ("prepare", "decoys"))
    prepare.SEED = 1 << BITS | 7
    splits = prepare.drawn_splits(3)
    masks = {name: np.stack([split[name] for split in splits]) for name in splits[0]}
    assert np.array_equal(sum(mask.astype(int) for mask in masks.values()), np.ones((3, 3327)))
    assert (masks["test_mask"] == masks["test_mask"][0]).all()
    assert (masks["train_mask"][0] != masks["train_mask"][1]).any()
    y = np.random.default_rng(0).integers(0, 6, 3327)
    np.savez(tmp_path / "citeseer.npz", y=y, labelled=np.ones(3327, bool), **masks)
    (tmp_path / "shown").mkdir()
    hide.decoys(tmp_path, tmp_path / "shown", np.random.default_rng(1))
    with np.load(tmp_path / "shown" / "citeseer.npz") as file:
        test = masks["test_mask"][0]
        assert np.array_equal(file["y"][~test], y[~test])
        assert 0.1 < (file["y"][test] == y[test]).mean() < 0.25


def test_generated_series_are_held_against_the_law_and_against_copies(tmp_path: Path) -> None:
    """Copies are near, noise is far, sines by heart keep their recurrence too well."""
    home = reproducebench.task_folder("timevae")
    code = load_module(home / "agreement.py")
    rng = np.random.default_rng(0)
    steps = np.arange(24)[None, :, None]

    def sines(count: int) -> np.ndarray:
        rate, phase = rng.uniform(0.1, 0.8, (2, count, 1, 5))
        return np.sin(rate * steps + 6 * phase)

    trained = sines(200) + rng.normal(0, 0.03, (200, 24, 5))
    assert code.recurrence(sines(200)) < 1e-6
    assert 0.01 < code.recurrence(trained) < 0.3
    assert code.recurrence(rng.normal(size=(200, 24, 5))) > 1
    known = sines(200)
    assert code.nearest(known[:50], known) < 1e-6 < code.nearest(trained, known)

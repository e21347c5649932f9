"""BSPM on Gowalla: the split is the published one, the metric is the metric, the processes are
their equations.
"""

import gzip
import hashlib
import importlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from autoreproduce.benchmarks.reproducebench import task_code
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.errors import UsageError

FOLDER = reproducebench.folder("reproducebench") / "bspm"
LOCAL = os.environ.get("AUTOREPRODUCE_TEST_DATA", "")

needs_data = pytest.mark.skipif(
    not LOCAL, reason="AUTOREPRODUCE_TEST_DATA names no folder with real data"
)


@pytest.fixture
def main(monkeypatch):
    """The program as it lies in a workspace, beside its model and the data code."""
    for path in (FOLDER, FOLDER / "reference"):
        monkeypatch.syspath_prepend(str(path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("main", "model", "preprocess"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module("main")
    for name in ("main", "model", "preprocess"):
        sys.modules.pop(name, None)


def interactions(users: int, items: int, share: float, seed: int = 0) -> csr_matrix:
    """Random ones, with at least one in every row and column."""
    rng = np.random.default_rng(seed)
    dense = rng.random((users, items)) < share
    dense[rng.integers(users, size=items), np.arange(items)] = True
    dense[np.arange(users), rng.integers(items, size=users)] = True
    return csr_matrix(dense, dtype=np.float32)


def test_the_adjacency_matrix_gives_back_the_interactions(prepare, tmp_path, monkeypatch):
    from scipy.sparse import bmat, save_npz

    train = interactions(6, 9, 0.3)
    monkeypatch.setattr(prepare, "SHAPE", (6, 9))
    save_npz(tmp_path / "s_adj_mat.npz", bmat([[None, train], [train.T, None]], format="csr"))
    assert (prepare.read_adjacency(tmp_path / "s_adj_mat.npz") != train).nnz == 0
    monkeypatch.setattr(prepare, "SHAPE", (5, 10))
    with pytest.raises(ValueError, match="not the graph of 5 users and 10 items"):
        prepare.read_adjacency(tmp_path / "s_adj_mat.npz")


def test_a_split_that_leaks_is_refused(prepare, monkeypatch):
    train = interactions(6, 9, 0.3)
    free = csr_matrix(1 - train.toarray())
    monkeypatch.setattr(prepare, "PAIRS", {"train": train.nnz, "test": free.nnz})
    prepare.check(train, free)
    monkeypatch.setattr(prepare, "PAIRS", {"train": train.nnz, "test": train.nnz})
    with pytest.raises(ValueError, match="are test interactions, too"):
        prepare.check(train, train)
    with pytest.raises(ValueError, match="different pairs"):
        prepare.check(train, free)


def test_the_subset_is_a_core_and_nothing_else(prepare, monkeypatch):
    monkeypatch.setattr(prepare, "DRAWN", 60)
    monkeypatch.setattr(prepare, "CORE", 3)
    both = interactions(90, 80, 0.08)
    held_out = np.random.default_rng(1).random(both.nnz) < 0.3
    rows, columns = both.nonzero()
    train, test = (
        csr_matrix((np.ones(part.sum(), np.float32), (rows[part], columns[part])), shape=both.shape)
        for part in (~held_out, held_out)
    )
    inner, inner_test = prepare.subset(train, test)
    assert inner.shape == inner_test.shape and 5 < inner.shape[0] <= 60 and inner.nnz < train.nnz
    assert (
        min(inner.getnnz(0).min(), inner.getnnz(1).min()) >= 3 and inner_test.getnnz(1).min() >= 1
    )
    assert (prepare.subset(train, test)[0] != inner).nnz == 0


def test_a_local_file_is_taken_only_if_its_checksum_is_right(prepare, tmp_path, monkeypatch):
    folder = tmp_path / "local" / "gowalla"
    folder.mkdir(parents=True)
    content = b"0 1 2\n1 0\n"
    (folder / "test.txt.gz").write_bytes(gzip.compress(content))
    given = folder.parent
    target = tmp_path / "target"
    with pytest.raises(UsageError, match=r"gowalla/test.txt.gz has SHA-256 .* leave --data out"):
        prepare.obtain(target, "test.txt", print, given)
    assert not list(target.glob("*"))
    right = hashlib.sha256(content).hexdigest()
    monkeypatch.setitem(prepare.SOURCES, "test.txt", prepare.Source(len(content), right))
    assert prepare.obtain(target, "test.txt", print, given).read_bytes() == content
    (target / "test.txt").write_bytes(b"changed")
    with pytest.raises(UsageError, match="it is left as it is"):
        prepare.obtain(target, "test.txt", print, given)
    assert (target / "test.txt").read_bytes() == b"changed"


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    ("profile", "shape", "train", "test"),
    [("small", (4346, 8124), 84352, 19900), ("full", (29858, 40981), 810128, 217242)],
)
def test_the_real_data_are_prepared(prepare, tmp_path, profile, shape, train, test):
    prepare.prepare(tmp_path, profile, print, Path(LOCAL))
    data = task_code.load_module(FOLDER / "preprocess.py").load_gowalla(tmp_path)
    assert data.train.shape == data.test.shape == shape
    assert (data.train.nnz, data.test.nnz) == (train, test) and data.train.dtype == np.float32
    assert data.train.multiply(data.test).nnz == 0 and data.test.getnnz(1).min() >= 1
    assert json.loads((tmp_path / "data.json").read_text())["train"] == train
    if profile == "full":
        with gzip.open(Path(LOCAL) / "gowalla" / "train.txt.gz", "rt") as file:
            lines = [list(map(int, line.split())) for line in file]
        assert all(data.train[user].indices.tolist() == items for user, *items in lines[::500])


@pytest.fixture
def truth(tmp_path):
    """Three users and 30 items: one, two and 25 held-out items."""
    pairs = [(0, 4), (1, 0), (1, 7), *((2, item) for item in range(25))]
    user, item = np.array(pairs, np.int32).T
    np.savez(tmp_path / "test.npz", user=user, item=item, shape=np.array([3, 30], np.int32))
    return tmp_path


def recommended(*firsts: list[int]) -> np.ndarray:
    """Lists of 20 that begin with the given items and go on with empty places."""
    return np.array([[*first, *[-1] * (20 - len(first))] for first in firsts])


def test_the_metric_of_known_recommendations(metric, truth):
    def of(lists):
        np.savez(truth / "predictions.npz", prediction=lists)
        return metric(truth / "predictions.npz", truth)

    assert of(recommended([4], [7, 0], list(range(20)))) == pytest.approx((1 + 1 + 20 / 25) / 3)
    assert of(recommended([5, 4], [1, 2, 7], [29])) == pytest.approx(
        (1 + 1 / 2 + 0) / 3
    )  # users count the same
    assert (
        of(recommended([], [], [])) == 0
    )  # an empty place is not the last item of the user before
    assert of(np.tile(np.arange(20, dtype=np.uint64), (3, 1))) == pytest.approx(
        (1 + 1 + 20 / 25) / 3
    )


@pytest.mark.parametrize(
    ("lists", "reason"),
    [
        (recommended([4], [7]), r"has shape \(2, 20\), not \(3, 20\)"),
        (recommended([4], [7], [1]).astype(float), "has type float64"),
        (recommended([4, 30], [7], [1]), "numbers from -1 to 30"),
        (recommended([4, -2], [7], [1]), "numbers from -2 to 7"),
        (recommended([4, 4], [7], [1]), "an item twice to 1 users"),
    ],
)
def test_the_metric_refuses_what_it_cannot_judge(metric, truth, lists, reason):
    np.savez(truth / "predictions.npz", prediction=lists)
    with pytest.raises(ValueError, match=reason):
        metric(truth / "predictions.npz", truth)


def test_the_scores_are_the_equations_of_the_digest(model):
    train = interactions(40, 30, 0.15).astype(np.float64)
    processes = model.Processes(factors=7)
    found = model.build_model(train, processes, seed=3).scores(np.arange(40))
    r = train.toarray()
    user, item = r.sum(1), r.sum(0)
    normalised = r / np.sqrt(np.outer(user, item))  # (1)
    p = normalised.T @ normalised  # (2)
    vectors = np.linalg.svd(normalised)[2][:7].T
    ideal = np.diag(item**-0.5) @ vectors @ vectors.T @ np.diag(item**0.5)  # (4)
    merged = r @ p + 0.2 * r @ ideal  # (3), (5)
    h, power = 2.5, np.linalg.matrix_power
    polynomial = sum((-h) ** n / np.prod(np.arange(1, n + 1)) * power(p, n) for n in range(5))
    assert found == pytest.approx(merged @ polynomial, abs=1e-10)  # (7)


def test_the_scores_hardly_depend_on_precision_and_seed(model):
    train = interactions(60, 50, 0.1)
    processes = model.Processes(factors=5)
    fine = model.build_model(train.astype(np.float64), processes, seed=0).scores(np.arange(60))
    coarse = model.build_model(train, processes, seed=1).scores(np.arange(60))
    assert coarse.dtype == np.float32 and np.abs(fine - coarse).max() < 1e-5


def test_the_solvers_have_their_orders(model):
    start, exact = np.ones((1, 1)), np.exp(-1.0)

    def error(solver, steps):
        return abs(solver(lambda y: -y, start, 1.0, steps).item() - exact)

    assert error(model.euler, 200) / error(model.euler, 400) == pytest.approx(2, rel=0.02)
    assert error(model.runge_kutta_4, 20) / error(model.runge_kutta_4, 40) == pytest.approx(
        16, rel=0.1
    )
    assert (
        model.euler(lambda y: 3 * y - y, start, 1.0, 1).item() == 3
    )  # one step of length 1 cancels the start


def test_an_item_without_users_is_no_division_by_zero(model):
    train = csr_matrix(np.array([[1, 1, 0], [0, 1, 0], [1, 1, 0]], np.float32))
    scores = model.build_model(train, model.Processes(factors=1)).scores(np.arange(3))
    assert np.isfinite(scores).all() and (scores[:, 2] == 0).all()


def test_recommendations_are_the_best_unknown_items_in_order(main):
    train = interactions(50, 45, 0.2)
    model = main.build_model(train, main.Processes(factors=4))
    users = np.array([3, 17, 42])
    lists = main.recommend(model, users, top=10)
    for user, list_ in zip(users, lists, strict=True):
        scores = model.scores(np.array([user]))[0]
        free = np.setdiff1d(np.arange(45), train[user].indices)
        assert list_.tolist() == free[np.argsort(-scores[free])][:10].tolist()


def test_recall_and_ndcg_by_hand(main):
    test = csr_matrix(np.array([[1, 0, 0, 1, 0], [0, 1, 1, 1, 0]], np.float32))
    lists = np.array([[4, 3], [1, 2]])
    found = main.hits(lists, test)
    assert found.tolist() == [[False, True], [True, True]]
    held_out = np.diff(test.indptr)
    assert main.recall(found, held_out) == pytest.approx((1 / 2 + 2 / 3) / 2)
    second = 1 / np.log2(3)
    assert main.ndcg(found, held_out) == pytest.approx((second / (1 + second) + 1) / 2)


def test_the_program_uses_the_published_settings(main):
    full, small = main.PROFILES["full"].processes, main.PROFILES["small"].processes
    assert (full.factors, full.beta, full.sharpening_time, full.sharpening_steps) == (
        448,
        0.2,
        2.5,
        1,
    )
    assert (small.factors, small.beta, small.sharpening_time) == (64, 0.2, 2.5)
    assert main.Settings().top == 20


def test_the_full_reference_is_within_the_published_band():
    measured = reproducebench.load_task("bspm", "full").measured
    assert measured is not None and measured.value == pytest.approx(0.1921, abs=0.0005)
    assert measured.low == pytest.approx(0.1916) and measured.high == pytest.approx(0.1926)

"""TDGNN-w on Citeseer: the data are the published ones, the tree is the tree, the metric is the
metric.
"""

import hashlib
import os
import pickle
import sys
from collections import deque
from pathlib import Path

import numpy as np
import pytest

from autoreproduce.benchmarks.reproducebench import task_code
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.errors import UsageError

FOLDER = reproducebench.folder("reproducebench") / "tdgnn"
LOCAL = os.environ.get("AUTOREPRODUCE_TEST_DATA", "")  # a test's own environment has no such name
needs_data = pytest.mark.skipif(
    not LOCAL, reason="AUTOREPRODUCE_TEST_DATA names no folder with real data"
)


@pytest.fixture(scope="module")
def tree():
    pytest.importorskip("torch")
    return task_code.load_module(FOLDER / "reference" / "decomposition.py")


@pytest.fixture
def main(monkeypatch):
    """The reference's program, with its neighbours in reach as in a workspace."""
    pytest.importorskip("torch")
    with monkeypatch.context() as patch:
        for name in ("preprocess.py", "reference/model.py", "reference/decomposition.py"):
            patch.setitem(sys.modules, Path(name).stem, task_code.load_module(FOLDER / name))
        return task_code.load_module(FOLDER / "reference" / "main.py")


def graph(nodes: int, edges: int, seed: int = 0):
    """A random graph with isolated nodes: its edges both ways, and its neighbour lists."""
    import torch

    pairs = np.random.default_rng(seed).integers(0, nodes - 3, (edges, 2))
    pairs = sorted(
        {(int(a), int(b)) for a, b in pairs if a != b}
        | {(int(b), int(a)) for a, b in pairs if a != b}
    )
    neighbours = [[b for a, b in pairs if a == node] for node in range(nodes)]
    return torch.tensor(pairs).T, neighbours


def distances(neighbours: list[list[int]], root: int) -> dict[int, int]:
    """Breadth-first search."""
    found, waiting = {root: 0}, deque([root])
    while waiting:
        node = waiting.popleft()
        for other in neighbours[node]:
            if other not in found:
                found[other] = found[node] + 1
                waiting.append(other)
    return found


def test_a_layer_holds_the_nodes_at_its_distance(tree):
    edges, neighbours = graph(60, 70)
    layers = [hop.to_dense() > 0 for hop in tree.decompose(edges, 60, [1, 2, 3, 4], 6)]
    for root in range(60):
        distance = distances(neighbours, root)
        for k, layer in enumerate(layers, 1):
            members = {node for node in range(60) if layer[root, node]} - {root}
            assert members == {node for node, far in distance.items() if far == k}
        assert layers[0][root, root] and not any(layer[root, root] for layer in layers[1:])


def test_the_weights_sum_all_walks_of_length_k_to_the_depth(tree):
    import torch

    edges, _ = graph(40, 60, seed=1)
    dense = torch.zeros(40, 40, dtype=torch.float64)
    dense[edges[0], edges[1]] = 1
    dense += torch.eye(40, dtype=torch.float64)
    degrees = dense.sum(1)
    dense /= degrees.sqrt()[:, None] * degrees.sqrt()[None, :]
    for k, hop in zip((2, 1, 3), tree.decompose(edges, 40, [2, 1, 3], 5), strict=True):
        sums = sum(torch.linalg.matrix_power(dense, i) for i in range(k, 6))
        there = hop.to_dense() > 0
        assert torch.allclose(hop.to_dense()[there].double(), sums[there], rtol=1e-6)
    alone = tree.decompose(edges, 40, [1], 7)[0].to_dense()[-1]
    assert (
        alone[-1] == pytest.approx(7) and alone[:-1].abs().max() == 0
    )  # Â^i is 1 at an isolated node


def test_layers_beyond_the_depth_are_refused(tree):
    edges, _ = graph(10, 9)
    for layers in ([], [0], [3]):
        with pytest.raises(ValueError, match="not between 1 and the depth 2"):
            tree.decompose(edges, 10, layers, 2)


def small_model(model, tree):
    import torch

    edges, _ = graph(30, 40)
    hops = tree.decompose(edges, 30, [1, 2], 4)
    torch.manual_seed(0)
    x = (torch.rand(30, 20) < 0.2) * torch.rand(30, 20)
    return model.build_model(hops, 20, 4, 16, 0.5), x.to_sparse_coo().coalesce(), hops


def test_the_parts_have_the_published_number_of_parameters(model):
    whole = model.build_model([], hidden=128)
    count = [sum(p.numel() for p in part.parameters()) for part in (whole.first, whole.second)]
    assert count == [474_112, 774] and whole.theta.tolist() == [1.0]


def test_the_output_is_the_weighted_sum_of_layers_of_the_mlp(model, tree):
    import torch

    net, x, hops = small_model(model, tree)
    net.eval()
    with torch.no_grad():
        net.theta.copy_(torch.tensor([0.5, -1.0, 2.0]))
        h = net.second(torch.relu(net.first(x.to_dense())))
        z = 0.5 * h - hops[0].to_dense() @ h + 2 * hops[1].to_dense() @ h
        assert torch.allclose(net(x), z.log_softmax(1), atol=1e-5)
        assert torch.allclose(net(x).exp().sum(1), torch.ones(30))


@pytest.mark.slow
def test_sparse_dropout_drops_entries_and_keeps_the_mean(model, tree):
    import torch

    net, x, _ = small_model(model, tree)
    net.train()
    kept = torch.stack([net.drop_sparse(x).to_dense() for _ in range(4000)])
    here = x.to_dense() > 0
    assert ((kept == 0) | torch.isclose(kept, 2 * x.to_dense())).all() and (
        kept[:, ~here] == 0
    ).all()
    assert (kept[:, here] > 0).double().mean(0).sub(0.5).abs().max() < 0.05
    assert net.eval().drop_sparse(x) is x


@pytest.mark.slow
def test_every_weight_learns_and_has_its_own_decay(main, model, tree):
    import torch

    net, x, _ = small_model(model, tree)
    optimizer = main.make_optimizer(net, main.Settings())
    decays = {
        id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]
    }
    assert [
        decays[id(p)] for p in (net.first.weight, net.first.bias, net.second.weight, net.theta)
    ] == [5e-4, 5e-4, 1e-4, 0.02]
    before = [p.clone() for p in net.parameters()]
    main.train_epoch(net, optimizer, x, torch.arange(30) % 4, torch.arange(30) < 20)
    assert all((p != old).any() for p, old in zip(net.parameters(), before, strict=True))


@pytest.mark.slow
def test_the_lowest_validation_loss_chooses_and_the_test_nodes_do_not(main, model, tree):
    import torch

    y = torch.arange(30) % 4
    train, val, test = (torch.arange(30) // 10 == part for part in range(3))

    def fit(labels):
        net, x, _ = small_model(model, tree)
        torch.manual_seed(1)
        return main.fit(net, main.Settings(learning_rate=0.05), x, labels, (train, val, test), 40)

    best, prediction = fit(y)
    other, same = fit(torch.where(test, (y + 1) % 4, y))
    assert best["epoch"] == other["epoch"] and (prediction == same).all()
    assert best["test_accuracy"] == pytest.approx(
        (prediction[test] == y[test]).float().mean().item()
    )
    net, x, _ = small_model(model, tree)
    torch.manual_seed(1)
    optimizer, losses = main.make_optimizer(net, main.Settings(learning_rate=0.05)), []
    for _ in range(40):
        main.train_epoch(net, optimizer, x, y, train)
        losses.append(torch.nn.functional.nll_loss(main.evaluate(net, x)[val], y[val]).item())
    assert best["epoch"] == 1 + int(np.argmin(losses)) and best["val_loss"] == pytest.approx(
        min(losses)
    )


@pytest.fixture
def truth(tmp_path):
    """Two splits of six nodes, with two and three test nodes."""
    y = np.array([0, 1, 2, 3, 4, 5])
    test = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1]], bool)
    np.savez(tmp_path / "citeseer.npz", y=y, test_mask=test)
    return y


def test_the_metric_of_known_predictions(metric, truth, tmp_path):
    path = tmp_path / "predictions.npz"
    guess = np.stack([truth, truth]).astype(np.int8)
    np.savez(path, prediction=guess)
    assert metric(path, tmp_path) == 1
    guess[0, 0], guess[0, 2:] = (
        5,
        0,
    )  # of the first split one of two is wrong; nodes outside the test do not count
    np.savez(path, prediction=guess)
    assert metric(path, tmp_path) == pytest.approx(
        (1 / 2 + 1) / 2
    )  # a mean over splits, not over nodes


@pytest.mark.parametrize(
    ("prediction", "reason"),
    [
        (np.zeros((2, 7), int), "has shape"),
        (np.zeros(6, int), "has shape"),
        (np.zeros((2, 6)), "has type float64"),
        (np.full((2, 6), 6), "holds classes 6 to 6, not 0 to 5"),
        (np.full((2, 6), -1), "holds classes -1"),
    ],
)
def test_the_metric_refuses_what_it_cannot_judge(metric, truth, tmp_path, prediction, reason):
    np.savez(tmp_path / "predictions.npz", prediction=prediction)
    with pytest.raises(ValueError, match=reason):
        metric(tmp_path / "predictions.npz", tmp_path)


def test_the_metric_names_what_it_found_instead(metric, truth, tmp_path):
    np.savez(tmp_path / "predictions.npz", classes=np.zeros(3))
    with pytest.raises(ValueError, match="it holds classes, not an array `prediction`"):
        metric(tmp_path / "predictions.npz", tmp_path)


def test_citations_are_symmetric_without_loops_and_doubles(prepare):
    edges = prepare.read_edges({0: [1, 1, 0], 1: [], 2: [1], 3: [3]})
    assert edges.T.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]


def test_a_pickle_that_names_anything_else_is_refused(prepare, tmp_path):
    (tmp_path / "bad").write_bytes(pickle.dumps(Path("x"), protocol=2))
    with pytest.raises(ValueError, match=r"bad cannot be read \(it names pathlib"):
        prepare.read_pickle(tmp_path / "bad")
    (tmp_path / "torn").write_bytes(pickle.dumps({1: [2]}, protocol=2)[:-3])
    with pytest.raises(ValueError, match="torn cannot be read"):
        prepare.read_pickle(tmp_path / "torn")


def test_a_split_that_overlaps_or_leaves_nodes_out_is_refused(prepare, tmp_path):
    masks = np.zeros((3, prepare.NODES), np.uint8)
    masks[0] = 1
    names = ("train_mask", "val_mask", "test_mask")
    np.savez(tmp_path / "good.npz", **dict(zip(names, masks, strict=True)))
    assert prepare.read_split(tmp_path / "good.npz", 0)["train_mask"].all()
    with pytest.raises(ValueError, match="no split of 2120 of 3327"):
        prepare.read_split(tmp_path / "good.npz", 4)
    masks[1, 7] = 1
    np.savez(tmp_path / "bad.npz", **dict(zip(names, masks, strict=True)))
    with pytest.raises(ValueError, match="no split of 3327"):
        prepare.read_split(tmp_path / "bad.npz", 0)


def test_a_file_of_the_local_folder_is_taken_only_with_its_checksum(prepare, tmp_path):
    content = b"0123"
    source = prepare.Source("file", len(content), hashlib.sha256(content).hexdigest())
    (tmp_path / "local" / "citeseer").mkdir(parents=True)
    there, target = tmp_path / "local" / "citeseer" / "file", tmp_path / "target"
    given = tmp_path / "local"
    there.write_bytes(b"9999")
    with pytest.raises(UsageError, match=r"file has SHA-256 .*: replace it, or leave --data out"):
        prepare.obtain(target, source, "http://127.0.0.1:9", "citeseer", print, given)
    assert there.read_bytes() == b"9999" and not list(target.glob("*"))
    there.write_bytes(content)
    assert (
        prepare.obtain(target, source, "http://127.0.0.1:9", "citeseer", print, given).read_bytes()
        == content
    )
    (target / "file").write_bytes(b"8888")
    with pytest.raises(UsageError, match="it is left as it is"):
        prepare.obtain(target, source, "http://127.0.0.1:9", "citeseer", print, given)
    assert (target / "file").read_bytes() == b"8888"


@needs_data
@pytest.mark.parametrize(("profile", "splits"), [("small", 3), ("full", 10)])
def test_the_published_data_are_prepared_and_loaded(prepare, tmp_path, profile, splits):
    pytest.importorskip("torch")
    prepare.prepare(tmp_path, profile, print, Path(LOCAL))
    first = (tmp_path / "citeseer.npz").read_bytes()
    prepare.prepare(tmp_path, profile, print)
    assert (tmp_path / "citeseer.npz").read_bytes() == first
    data = task_code.load_module(FOLDER / "preprocess.py").load_citeseer(tmp_path)
    assert tuple(data.test_mask.shape) == (splits, 3327) and tuple(data.x.shape) == (3327, 3703)
    assert data.y.bincount().tolist() == [249 + 15, 590, 668, 701, 596, 508]
    rows = data.x.sum(1)
    assert ((rows - 1).abs() < 1e-5).sum() == 3312 and (rows[~data.labelled] == 0).all()
    sums = [mask.sum(1).tolist() for mask in (data.train_mask, data.val_mask, data.test_mask)]
    assert [row[0] for row in sums] == [1596, 1065, 666]
    if splits == 10:
        assert [row[4] for row in sums] == [1017, 679, 424]
    assert (
        not (data.train_mask & data.test_mask).any() and not (data.val_mask & data.test_mask).any()
    )


@needs_data
@pytest.mark.slow
def test_the_trees_of_citeseer_have_the_published_number_of_entries(prepare, tree, tmp_path):
    prepare.prepare(tmp_path, "small", print, Path(LOCAL))
    data = task_code.load_module(FOLDER / "preprocess.py").load_citeseer(tmp_path)
    assert [hop._nnz() for hop in tree.decompose(data.edge_index, 3327, [1, 2], 10)] == [
        12_431,
        37_826,
    ]

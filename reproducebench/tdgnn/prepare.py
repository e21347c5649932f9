"""Makes the Citeseer data: `citeseer.npz` with the graph, the features, the labels and the splits.

Citeseer comes from six of the published files of Planetoid, the splits from the repository of TDGNN's authors: ten
fixed random draws with about 48 % of the nodes for training, 32 % for validation and 20 % for the test (`0.6_0.2` in
their names). 3327 documents, 3703 words, 6 classes, 4552 citations. Profile `full` takes the ten splits, profile
`small` the first three; the graph is whole in both.

What is kept as published: 15 of the nodes have no words and no label, and the splits hold them all the same. Their
label is written as class 0, as every program that reads Planetoid by an argmax has it. Splits 4 and 5 cover only the
2120 nodes of the largest component. What is changed, as usual: citations are made symmetric, and doubles and loops are
dropped.

A folder named by --data may hold the files, in citeseer/ and citeseer/tdgnn_splits/ or all together.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from autoreproduce.benchmarks.reproducebench.published import published
from numpy.typing import NDArray

Note = Callable[[str], None]
Arrays = dict[str, NDArray[Any]]
PLANETOID = "https://raw.githubusercontent.com/kimiyoung/planetoid/af6abf468a772cc055bec88c52e4d6f51b7c37e3/data"
TDGNN = "https://raw.githubusercontent.com/yuwvandy/TDGNN/505b1af90255aace255744ec81a7033a5d682b90/splits"
LICENCE = "planetoid is under the MIT licence; for TDGNN's splits no licence is stated"
NODES, WORDS, CLASSES, CITATIONS, UNLABELLED = 3327, 3703, 6, 4552, 15
SPLITS = {"full": 10, "small": 3}
SEED = 0  # the published splits; any other draws splits anew, whose test nodes are the same in all
COVERED = {4: 2120, 5: 2120}  # nodes in a split, where not all


@dataclass(frozen=True)
class Source:
    """A published file: its name, its length in bytes and its SHA-256."""

    name: str
    size: int
    sha256: str


GRAPH = {
    part: Source(f"ind.citeseer.{part}", size, sha256)
    for part, size, sha256 in (
        ("allx", 595021, "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668"),
        ("ally", 55623, "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95"),
        ("tx", 260321, "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21"),
        ("ty", 24135, "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce"),
        ("test.index", 5000, "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4"),
        ("graph", 61987, "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7"),
    )
}
SPLIT_FILES = [
    Source(f"Citeseer_split_0.6_0.2_{number}.npz", size, sha256)
    for number, (size, sha256) in enumerate(
        (
            (2266, "31d483e4c9cbdd031c35e284fbda3935bfda6901b8618e4ef0381af5b9143582"),
            (2284, "1e02e3220676a90715b5a868b207dc19f49e5bc13ef1e8a8c8305fb46e028659"),
            (2261, "910ce9d1a9c12f2ce84486fa7d1953d560c2cf57f9e0c213a4ae362ca56bff77"),
            (2278, "e8c84d2e0099b3c0d692a68126c03370579f0cd83c0dab42b25a0fb3b94cb2c6"),
            (2122, "a45c9e6b4abe527499a1a1bf545063cdc910c82ef4676f1ef4e483bb77712c8e"),
            (2123, "fc0f6091daab2b0f37a3522dbc60052d9bce4209e7c06482f6beb61a4ed442b9"),
            (2260, "c99f610ff84bf5f5c3fe71b548c3cdf9c9bf02185d0152432b290877df1c4a3b"),
            (2269, "26bb7e5ea3aed014df5765af845fae70db9cdbb8875c46fc89cc4d6d042fb182"),
            (2261, "f8efadce7a3732ac39ec6625f591c9ed0b4222d95257f25f2a05ad5518e4a7eb"),
            (2278, "d9e586dad1886b3e1fdf3999140a192bb0cacea67c7849262ec862b8e7286cdf"),
        )
    )
]


def prepare(target: Path, profile: str, note: Note, given: Path | None = None) -> None:
    """Write the data of a profile into `target`; what lies there whole is kept."""
    paths = {part: obtain(target, source, PLANETOID, "citeseer", note, given) for part, source in GRAPH.items()}
    splits = [
        read_split(obtain(target, source, TDGNN, "citeseer/tdgnn_splits", note, given), number)
        for number, source in enumerate(SPLIT_FILES[: SPLITS[profile]])
    ]
    arrays = read_planetoid(paths)
    if SEED:
        splits = drawn_splits(len(splits))
    arrays |= {name: np.stack([split[name] for split in splits]) for name in splits[0]}
    write(target / "citeseer.npz", arrays)
    record = {
        "source": {"graph": PLANETOID, "splits": TDGNN},
        "nodes": NODES,
        "words": WORDS,
        "citations": CITATIONS,
        "unlabelled": UNLABELLED,
        "splits": len(splits),
    }
    (target / "data.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def obtain(target: Path, source: Source, url: str, folder: str, note: Note, given: Path | None) -> Path:
    """The published file in `target`."""
    licence = LICENCE if source is GRAPH["allx"] else ""  # said once, before the first of many small files
    return published(
        target / source.name,
        f"{folder}/{source.name}",
        f"{url}/{source.name}",
        size=source.size,
        sha256=source.sha256,
        note=note,
        given=given,
        licence=licence,
    )


class PlanetoidUnpickler(pickle.Unpickler):
    """Reads Planetoid's pickles and nothing else: arrays, sparse matrices and dictionaries of lists.

    They name modules of old NumPy and SciPy, whose present names are given here; every other name is refused.
    """

    def find_class(self, module: str, name: str) -> Any:
        """The few classes and functions that the files need."""
        from collections import defaultdict

        from scipy.sparse import csr_matrix

        known = {
            ("scipy.sparse.csr", "csr_matrix"): csr_matrix,
            ("numpy", "ndarray"): np.ndarray,
            ("numpy", "dtype"): np.dtype,
            ("numpy.core.multiarray", "_reconstruct"): np.ndarray((0,)).__reduce__()[0],
            ("collections", "defaultdict"): defaultdict,
            ("__builtin__", "list"): list,
        }
        if (module, name) not in known:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no file of Planetoid does")
        return known[module, name]


def read_pickle(path: Path) -> Any:
    """What a file of Planetoid holds; it was written by Python 2."""
    with path.open("rb") as file:
        try:
            return PlanetoidUnpickler(file, encoding="latin1").load()
        except (pickle.UnpicklingError, EOFError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} cannot be read ({error}): fetch it again") from error


def read_planetoid(paths: dict[str, Path]) -> Arrays:
    """The graph, in the order of its node numbers.

    word_node, word (both int32, by node): the words of each document, all of weight 1.
    edge_index (2, 9104) int64: both directions of each citation, by source and target.
    y (3327,) int64: the class, 0 where there is none. labelled (3327,) bool: where there is one.
    """
    words, labels = read_pickle(paths["allx"]).tocoo(), read_pickle(paths["ally"])
    test_words, test_labels = read_pickle(paths["tx"]).tocoo(), read_pickle(paths["ty"])
    test = np.array(paths["test.index"].read_text(encoding="ascii").split(), dtype=np.int64)
    one_hot = np.zeros((NODES, CLASSES), dtype=np.int64)
    one_hot[: len(labels)] = labels
    one_hot[test] = test_labels  # the rows of the test set are shuffled, and 15 numbers have none
    node = np.concatenate([words.row, test[test_words.row]])
    word = np.concatenate([words.col, test_words.col])
    order = np.lexsort((word, node))
    arrays = {
        "word_node": node[order].astype(np.int32),
        "word": word[order].astype(np.int32),
        "edge_index": read_edges(read_pickle(paths["graph"])),
        "y": one_hot.argmax(1),
        "labelled": one_hot.sum(1) == 1,
    }
    check(arrays, {*words.data, *test_words.data})
    return arrays


def read_edges(lists: dict[int, list[int]]) -> NDArray[np.int64]:
    """Neighbour lists to (2, edges), sorted: both directions of each pair once, without loops."""
    pairs = {(one, other) for one, others in lists.items() for other in others if one != other}
    pairs |= {(other, one) for one, other in pairs}
    return np.array(sorted(pairs), dtype=np.int64).T


def check(arrays: Arrays, weights: set[float]) -> None:
    """Raise ValueError where this is not the published Citeseer."""
    found = (arrays["edge_index"].shape[1] // 2, int((~arrays["labelled"]).sum()), int(arrays["word"].max()) + 1)
    if found != (CITATIONS, UNLABELLED, WORDS) or weights != {1.0}:
        raise ValueError(
            f"this is not Citeseer: {found[0]} citations, {found[1]} nodes without label, {found[2]} words, weights "
            f"{sorted(map(float, weights))}, not {CITATIONS}, {UNLABELLED}, {WORDS} and [1.0]"
        )


def read_split(path: Path, number: int) -> Arrays:
    """The three masks of a split, each (3327,) bool, disjoint."""
    with np.load(path, allow_pickle=False) as file:
        masks: Arrays = {name: file[name].astype(bool) for name in ("train_mask", "val_mask", "test_mask")}
    times = np.sum(list(masks.values()), axis=0)
    covered = COVERED.get(number, NODES)
    if times.shape != (NODES,) or times.max() > 1 or times.sum() != covered:
        raise ValueError(f"{path} is no split of {covered} of {NODES} nodes: fetch it again")
    return masks


def drawn_splits(count: int) -> list[Arrays]:
    """`count` splits of all nodes: 48 % train, 32 % validate, 20 % test, these the same in each."""
    rng = np.random.default_rng(SEED)
    train, test = int(0.48 * NODES), int(0.2 * NODES)
    order = rng.permutation(NODES)
    splits = []
    for _ in range(count):
        other = rng.permutation(order[test:])
        parts = {"train_mask": other[:train], "val_mask": other[train:], "test_mask": order[:test]}
        splits.append({name: np.isin(np.arange(NODES), nodes) for name, nodes in parts.items()})
    return splits


def write(path: Path, arrays: Arrays) -> None:
    """Save arrays, the whole file or none."""
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        np.savez_compressed(file, **arrays)
    part.replace(path)

"""Makes the Gowalla data: `train.npz` and `test.npz`, each with the pairs `user`, `item` (int32) and the `shape`.

The split is the one of NGCF and LightGCN, as the authors of BSPM publish it: the training interactions as the
adjacency matrix of the user-item graph (`s_adj_mat.npz`), the test interactions as text (`test.txt`, a line a
user). Their `train.txt` lists the same training pairs. 29,858 users, 40,981 items, 810,128 + 217,242 pairs.

Profile `full`: everything. Profile `small`: a 5-core of 6000 users drawn with a fixed seed: users with at least 5
training items and 1 test item and items with at least 5 training users, all counted within the subset, and
numbered anew in the published order; 4346 users and 8124 items. It takes a few seconds.

A folder named by --data may hold the two files, plain or packed (gowalla/s_adj_mat.npz, gowalla/test.txt.gz).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from autoreproduce.benchmarks.reproducebench.published import published
from numpy.typing import NDArray

Note = Callable[[str], None]
COMMIT = "c5cdcfa1d6651848f09f022d96a690082f9d61d9"
URL = f"https://raw.githubusercontent.com/jeongwhanchoi/BSPM/{COMMIT}/data/gowalla"
LICENCE = "published with BSPM under the MIT licence; the check-ins are those of SNAP's loc-gowalla, no licence stated"
SHAPE = (29858, 40981)  # users, items
PAIRS = {"train": 810128, "test": 217242}
DRAWN, CORE, SEED = 6000, 5, 221109324


@dataclass(frozen=True)
class Source:
    """A published file: its length in bytes and its SHA-256."""

    size: int
    sha256: str


SOURCES = {
    "s_adj_mat.npz": Source(3635865, "6ab3ab7aa1278da3717054c60258d88d2d2d78914fa62db2b13da9321e397cab"),
    "test.txt": Source(1372559, "099a2a73924e4b754dc6efd730d764f492321b53c38eb93298850c83acf57be3"),
}


def prepare(target: Path, profile: str, note: Note, given: Path | None = None) -> None:
    """Write the data of a profile into `target`; what lies there whole is kept."""
    train = read_adjacency(obtain(target, "s_adj_mat.npz", note, given))
    test = read_lists(obtain(target, "test.txt", note, given))
    check(train, test)
    if SEED.bit_length() > 32:  # a redraw: nobody may look up which interactions are held out
        train, test = split_anew(train + test)
    if profile == "small":
        train, test = subset(train, test)
    record = {
        "source": URL,
        "users": train.shape[0],
        "items": train.shape[1],
        "train": int(train.nnz),
        "test": int(test.nnz),
        "drawn": DRAWN if profile == "small" else None,
        "core": CORE if profile == "small" else None,
    }
    write(target / "train.npz", train)
    write(target / "test.npz", test)
    (target / "data.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def obtain(target: Path, name: str, note: Note, given: Path | None) -> Path:
    """The published file in `target`."""
    size, sha256 = SOURCES[name].size, SOURCES[name].sha256
    return published(
        target / name,
        f"gowalla/{name}",
        f"{URL}/{name}",
        size=size,
        sha256=sha256,
        note=note,
        given=given,
        licence=LICENCE,
    )


def read_adjacency(path: Path) -> Any:
    """The training interactions, a sparse matrix (users, items) of ones, from the graph [[0, R], [Rᵀ, 0]]."""
    from scipy.sparse import csr_matrix

    with np.load(path, allow_pickle=False) as file:
        graph = csr_matrix((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
    users = SHAPE[0]
    train, mirrored = graph[:users, users:], graph[users:, :users]
    if graph.shape[0] != sum(SHAPE) or 2 * train.nnz != graph.nnz or (train != mirrored.T).nnz:
        raise ValueError(f"{path} is not the graph of {SHAPE[0]} users and {SHAPE[1]} items")
    return train.tocsr()


def read_lists(path: Path) -> Any:
    """The test interactions, a sparse matrix (users, items) of ones, from lines `user item item ...`."""
    from scipy.sparse import csr_matrix

    users, items = [], []
    for line in path.read_text(encoding="ascii").splitlines():
        user, *own = map(int, line.split())
        users += [user] * len(own)
        items += own
    return csr_matrix((np.ones(len(users), np.float32), (users, items)), shape=SHAPE)


def check(train: Any, test: Any) -> None:
    """Raise ValueError where the split is not the published one, or leaks."""
    if (train.nnz, test.nnz) != tuple(PAIRS.values()) or {*train.data, *test.data} != {1.0}:
        raise ValueError(f"there are {train.nnz} + {test.nnz} different pairs, not {PAIRS['train']} + {PAIRS['test']}")
    if train.multiply(test).nnz:
        raise ValueError("some training interactions are test interactions, too")
    if min(train.getnnz(0).min(), train.getnnz(1).min(), test.getnnz(1).min()) < 1:
        raise ValueError("a user or an item has no training interaction, or a user no test interaction")


def subset(train: Any, test: Any) -> tuple[Any, Any]:
    """The 5-core of DRAWN users: (users, items) matrices again, without the users and items that fell out.

    RandomState's stream is frozen, so the draw is the same under every version of NumPy.
    """
    users = np.sort(frozen_stream().permutation(train.shape[0])[:DRAWN])
    items = np.arange(train.shape[1])
    while True:
        inner, held_out = train[users][:, items], test[users][:, items]
        stays = (inner.getnnz(1) >= CORE) & (held_out.getnnz(1) >= 1)
        keeps = inner.getnnz(0) >= CORE
        if stays.all() and keeps.all():
            return inner, held_out
        users, items = users[stays], items[keeps]


def split_anew(known: Any) -> tuple[Any, Any]:
    """Another split of all interactions: of each user a fifth is held out, as in the published one."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng([SEED, 1])
    held_out = np.zeros(known.nnz, bool)
    for start, stop in zip(known.indptr[:-1], known.indptr[1:], strict=True):
        held_out[rng.permutation(np.arange(start, stop))[: round((stop - start) / 5)]] = True
    rows, columns = known.nonzero()
    return tuple(
        csr_matrix((np.ones(part.sum(), np.float32), (rows[part], columns[part])), shape=known.shape)
        for part in (~held_out, held_out)
    )


def frozen_stream() -> np.random.RandomState:
    """By SEED; of a longer one, which a redraw has, by all of its 32-bit words."""
    words = [SEED >> shift & 0xFFFFFFFF for shift in range(0, SEED.bit_length(), 32)]
    return np.random.RandomState(words if len(words) > 1 else SEED)


def write(path: Path, matrix: Any) -> None:
    """Save the pairs of a sparse matrix, by user and then by item, the whole file or none."""
    matrix.sort_indices()
    pairs = matrix.tocoo()
    arrays: dict[str, NDArray[np.int32]] = {
        "user": pairs.row.astype(np.int32),
        "item": pairs.col.astype(np.int32),
        "shape": np.array(matrix.shape, np.int32),
    }
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        np.savez_compressed(file, **arrays)
    part.replace(path)

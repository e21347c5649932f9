"""Scores Gowalla with the blurring-sharpening process model; writes `metrics.json` and `predictions.npz`.

    DATA_DIR=... python main.py --profile small --seed 0

Nothing is trained. The seed draws the start of the iteration for the singular vectors, and the result hardly
depends on it. `--dry-run` stops after two blocks of users; the places of all other users stay empty.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from model import BSPM, Processes, build_model
from numpy.typing import NDArray
from preprocess import GowallaData, load_gowalla
from scipy.sparse import csr_matrix

Lists = NDArray[np.int32]


@dataclass(frozen=True)
class Settings:
    """Everything that makes a run what it is; the defaults are those of the published experiment."""

    processes: Processes = field(default_factory=Processes)
    top: int = 20
    block: int = 256  # users at a time: an array (n_items, block) is 42 MB at full scale


PROFILES = {"full": Settings(), "small": Settings(Processes(factors=64))}


def recommend(model: BSPM, users: NDArray[np.int64], top: int) -> Lists:
    """The `top` items with the highest scores that a user does not have yet, best first: (n,) → (n, top)."""
    scores = model.scores(users)
    known = model.train[users].tocoo()
    scores[known.row, known.col] = -np.inf
    best = np.argpartition(scores, -top, axis=1)[:, -top:]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1).astype(np.int32)


def hits(lists: Lists, test: csr_matrix) -> NDArray[np.bool_]:
    """Which of the recommended items are held-out ones: (n, top) and (n, n_items) → (n, top)."""
    found = np.zeros(lists.shape, bool)
    for row, items in enumerate(lists):
        found[row] = np.isin(items, test.indices[test.indptr[row] : test.indptr[row + 1]])
    return found


def recall(found: NDArray[np.bool_], held_out: NDArray[np.int64]) -> float:
    """The mean over users of hits / number of held-out items."""
    return float((found.sum(1) / held_out).mean())


def ndcg(found: NDArray[np.bool_], held_out: NDArray[np.int64]) -> float:
    """The mean over users of DCG / the best possible DCG, with gain 1 and discount 1 / log2(place + 1)."""
    discount = 1 / np.log2(np.arange(2, found.shape[1] + 2))
    best = np.cumsum(discount)[np.minimum(held_out, found.shape[1]) - 1]
    return float(((found * discount).sum(1) / best).mean())


def run(settings: Settings, data: GowallaData, seed: int, dry_run: bool) -> tuple[list[dict[str, float]], Lists]:
    """Build the model and score all users; the history, an entry a block, and the recommendations."""
    began = time.perf_counter()
    model = build_model(data.train, settings.processes, seed)
    print(f"{settings.processes.factors} singular vectors: {time.perf_counter() - began:.1f} s", flush=True)
    users = np.arange(data.train.shape[0])
    lists = np.full((len(users), settings.top), -1, np.int32)
    blocks = np.split(users, range(settings.block, len(users), settings.block))
    history = []
    for number, block in enumerate(blocks[: 2 if dry_run else None], start=1):
        began = time.perf_counter()
        lists[block] = recommend(model, block, settings.top)
        test = data.test[block]
        value = recall(hits(lists[block], test), np.diff(test.indptr))
        seconds = round(time.perf_counter() - began, 3)
        history.append({"block": number, "users": len(block), "recall_at_20": value, "seconds": seconds})
        print(f"block {number} of {len(blocks)}: recall {value:.5f}, {seconds:.1f} s", flush=True)
    return history, lists


def main() -> None:
    """Read the flags, run, write the two files."""
    parser = argparse.ArgumentParser(description="Blurring-sharpening process model on Gowalla")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="two blocks of users")
    flags = parser.parse_args()
    settings = PROFILES[flags.profile]
    data = load_gowalla(os.environ["DATA_DIR"])
    history, lists = run(settings, data, flags.seed, flags.dry_run)
    np.savez_compressed("predictions.npz", prediction=lists)
    found, held_out = hits(lists, data.test), np.diff(data.test.indptr)
    result = {
        "metrics": {"recall_at_20": recall(found, held_out), "ndcg_at_20": ndcg(found, held_out)},
        "history": history,
        "settings": {
            **asdict(settings.processes),
            "top": settings.top,
            "block": settings.block,
            "profile": flags.profile,
            "seed": flags.seed,
            "dry_run": flags.dry_run,
        },
    }
    Path("metrics.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result["metrics"]))


if __name__ == "__main__":
    main()

"""Other loads on the same stations: a test part that no program has seen, behind the training part of the draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from autoreproduce.benchmarks.reproducebench.task_code import load_module


def unseen(data: Path, target: Path, seed: int) -> None:
    """Write `target`/series.npz: the series of `data`, drawn from `seed`, whose last fifth goes on in another way."""
    prepare = load_module(Path(__file__).with_name("prepare.py"))
    prepare.SEED = seed
    with np.load(data / "series.npz", allow_pickle=False) as file:
        values, time = file["values"].copy(), file["time"]
    test = int(len(values) * 0.2)
    test += 96  # the first window looks back
    values[-test:] = prepare.loads(np.random.default_rng([seed, 2]))[-test:]
    np.savez_compressed(target / "series.npz", values=values, time=time)

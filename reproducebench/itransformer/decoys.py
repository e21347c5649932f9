"""Decoys for the last 96 steps, which no window looks back on.

Of the stand-in they are those of another draw of the same stations; of Traffic, 96 steps of the training part. All
earlier steps of the test are what some window sees, and stay.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from autoreproduce.benchmarks.reproducebench.task_code import load_module

HORIZON = 96


def decoys(data: Path, target: Path, rng: np.random.Generator) -> None:
    """Write `target`/series.npz: values (T, N) and time (T,), the values with another ending."""
    prepare = load_module(Path(__file__).with_name("prepare.py"))
    with np.load(data / "series.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file}
    values = arrays["values"].copy()
    if values.shape == (prepare.HOURS, prepare.ROUTES * prepare.STATIONS):
        values[-HORIZON:] = prepare.loads(rng)[-HORIZON:]
    else:
        begin = int(rng.integers(int(len(values) * 0.7) - HORIZON))
        values[-HORIZON:] = arrays["values"][begin : begin + HORIZON]
    np.savez_compressed(target / "series.npz", **{**arrays, "values": values})

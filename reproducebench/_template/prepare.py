"""Makes the data of the task: replace this example by a generator or by published files.

`autoreproduce.benchmarks.reproducebench.published` takes those from the user's folder or fetches them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

SEED = 0  # the run that counts sees a draw by another one, which nobody knew before


def prepare(target: Path, profile: str, note: Callable[[str], None], given: Path | None = None) -> None:
    """Write the data of `profile` into `target`, each file whole or not at all; again is no harm.

    `given` is the folder of published files that the user named by --data, None without one.
    """
    draw = np.random.default_rng(SEED)
    x = draw.normal(size=(250, 3))
    y = x @ np.array([1.0, -2.0, 0.5]) + 0.1 * draw.normal(size=250)
    for name, part in (("train", slice(0, 200)), ("test", slice(200, 250))):
        unfinished = target / f"{name}.part.npz"
        np.savez(unfinished, x=x[part], y=y[part])
        unfinished.replace(target / f"{name}.npz")
    note(f"generated 200 + 50 samples for the profile {profile}")

"""Recomputes the metric from saved recommendations: Recall@20, averaged over the users of the test set.

For a user: how many of the held-out items are among the 20 recommended ones, divided by the number of all held-out
items (and not by 20 where there are more).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

TOP = 20


def metric(predictions: Path, data_dir: Path) -> float:
    """Recall@20 of `prediction` (n_users, 20) in the file `predictions`, against `data_dir`/test.npz.

    A row holds the numbers of the items that are recommended to that user, −1 where a place is left empty. Raises
    ValueError where the array has another shape, other numbers than items have, or an item twice in a row.
    """
    with np.load(data_dir / "test.npz", allow_pickle=False) as file:
        user, item, (users, items) = file["user"], file["item"], file["shape"].tolist()
    with np.load(predictions, allow_pickle=False) as file:
        if "prediction" not in file:
            raise ValueError(f"it holds {', '.join(file) or 'nothing'}, not an array `prediction`")
        lists = file["prediction"]
    check(lists, users, items)
    lists = lists.astype(np.int64)
    key = user.astype(np.int64) * items + item  # one number a pair, sorted as the file is
    guess = np.arange(users, dtype=np.int64)[:, None] * items + lists
    hits = (np.isin(guess, key) & (lists >= 0)).sum(1)
    held_out = np.bincount(user, minlength=users)
    return float((hits / held_out)[held_out > 0].mean())


def check(lists: np.ndarray, users: int, items: int) -> None:
    """Raise ValueError where `lists` are not recommendations."""
    if lists.shape != (users, TOP):
        raise ValueError(f"`prediction` has shape {lists.shape}, not ({users}, {TOP})")
    if lists.dtype.kind not in "iu":
        raise ValueError(f"`prediction` has type {lists.dtype}, not whole numbers")
    if lists.size and (lists.min() < -1 or lists.max() >= items):
        raise ValueError(
            f"`prediction` holds numbers from {lists.min()} to {lists.max()}, and items are 0 to {items - 1}"
        )
    ordered = np.sort(lists, axis=1)
    twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(1)
    if twice.any():
        raise ValueError(f"`prediction` recommends an item twice to {int(twice.sum())} users")

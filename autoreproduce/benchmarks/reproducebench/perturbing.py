"""What of the arrays that a program handed in its predictions rest on.

Each array, of whole numbers and constants too, is perturbed in turn, and the reference's own
weights are treated alike on the same draw. Predictions of a method that learns rest on most of
what it learnt; those of a solver, or of a law known by heart, rest on a scaling, and the arrays
beside it are for show. A change of a thousandth in all arrays hardly moves a network's; a program
that only compares its weights with stored ones falls over.

The file is changed here, and `predict` is called on it as on any other (serving.py), so that a
program finds nothing that tells the calls apart but the numbers in its weights. The order is
secret, large arrays rather first: what is known early enough leaves the others untried.
"""

from pathlib import Path

import numpy as np
from pydantic import BaseModel

from autoreproduce.benchmarks.reproducebench.agreement import Array
from autoreproduce.benchmarks.reproducebench.recomputing import (
    LARGEST_PREDICTIONS,
    why_not_unpacked,
)
from autoreproduce.errors import UsageError

INPUTS = 4  # of which predictions are made, where inputs come one by one
FALLEN = 9.0  # how far predictions move where there are none any more
LEAST = 3  # arrays that are tried however long it takes: on fewer nothing can rest
MOST = 0.9  # of the numbers: arrays that hold as many tell of the others
WHOLE, LITTLE, ALL = -1, -2, -3  # no array is perturbed, all by a thousandth, all real ones


class Profile(BaseModel):
    """How far predictions move, in deviations, if an array is perturbed: by array, None where time
    ran out; `tiny`: if all change by a thousandth; `again`: if none does. `sizes`: of the arrays.
    """

    moved: list[float | None]
    sizes: list[int]
    tiny: float
    again: float

    @property
    def tried(self) -> list[tuple[float, int]]:
        """How far an array moves predictions, and its size."""
        both = zip(self.moved, self.sizes, strict=True)
        return [(far, size) for far, size in both if far is not None]

    @property
    def typical(self) -> float:
        """The median movement, an array counting as often as it has numbers."""
        known = sorted(self.tried)
        half, seen = sum(n for _, n in known) / 2, 0
        for far, count in known:
            seen += count
            if seen >= half:
                return far
        return 0.0

    def carriers(self, least: float) -> int:
        """How many numbers the arrays hold that move predictions by over `least`; of arrays that
        weren't tried, as many as of the others.
        """
        known = sum(size for _, size in self.tried)
        return round(self.found(least) * sum(self.sizes) / known) if known else 0

    def found(self, least: float) -> int:
        """The same of arrays that were tried alone."""
        return sum(size for far, size in self.tried if far > least)


def perturbed(array: Array, rng: np.random.Generator) -> Array:
    """The same shape and type with other values: permuted, and shifted where all are alike."""
    if array.dtype.kind == "b":
        return np.logical_not(array)
    if array.dtype.kind not in "iufc" or not array.size:
        return array
    flat = array.ravel()
    if (flat != flat[0]).any():
        order = rng.permutation(flat.size) if flat.size > 3 else np.roll(np.arange(flat.size), 1)
        return flat[order].reshape(array.shape)
    if array.dtype.kind in "iu":
        return np.asarray(array + np.ones_like(array))
    scale = abs(flat[0]) or 1.0
    return (array + scale * rng.normal(0.5, 0.5, array.shape)).astype(array.dtype)


def nudged(array: Array, rng: np.random.Generator, share: float) -> Array:
    """Real numbers with noise of that share of their deviation; all else as it is."""
    if array.dtype.kind not in "fc" or array.size < 2:
        return array
    noise = rng.normal(size=array.shape) * (share * array.std())
    return np.asarray(array + noise, array.dtype)


def change(weights: Path, which: int, seed: int) -> None:
    """Write a file of weights again, with array number `which` perturbed or as WHOLE, LITTLE and
    ALL say (in a child).
    """
    arrays, rng = _arrays(weights), np.random.default_rng([seed, which + 3])
    if which == LITTLE:
        arrays = {name: nudged(array, rng, 1e-3) for name, array in arrays.items()}
    elif which != WHOLE:
        for name in _real(arrays) if which == ALL else [list(arrays)[which]]:
            arrays[name] = perturbed(arrays[name], rng)
    np.savez(weights, **arrays)  # type: ignore[arg-type]


def permutable(weights: Path) -> int:
    """How many arrays ALL perturbs (in a child)."""
    return len(_real(_arrays(weights)))


def sizes_of(weights: Path) -> list[int]:
    """How many numbers each array holds (in a child)."""
    return [array.size for array in _arrays(weights).values()]


def in_secret_order(sizes: list[int]) -> list[int]:
    """The numbers of arrays, large ones rather first."""
    share = np.array(sizes, float) + 1.0
    order = np.random.default_rng().choice(
        len(sizes), len(sizes), replace=False, p=share / share.sum()
    )
    return [int(number) for number in order]


def distance(predictions: Path, whole: Path, name: str) -> float:
    """How far an array of predictions is from that in `whole`, in its deviations; of classes, how
    many are others (in a child).
    """
    known = _arrays(whole)[name]
    try:
        found = _arrays(predictions)[name]
    except (UsageError, KeyError):
        return FALLEN
    if found.shape != known.shape or found.dtype.kind not in "iubfc":
        return FALLEN
    if known.dtype.kind in "iub":
        return float((found != known).mean())
    difference = found.astype(np.float64) - known
    if not np.isfinite(difference).all():
        return FALLEN
    return min(float(np.sqrt(np.square(difference).mean()) / (known.std() or 1.0)), FALLEN)


def _real(arrays: dict[str, Array]) -> list[str]:
    return [n for n, a in arrays.items() if a.dtype.kind in "fc" and a.size > 1 and np.ptp(a) != 0]


def _arrays(path: Path) -> dict[str, Array]:
    if why := why_not_unpacked(path, LARGEST_PREDICTIONS):
        raise UsageError(f"{path.name} {why}")
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file}
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{path.name} cannot be read ({error})") from None


def take_few(inputs: Path, target: Path, whole: bool) -> None:
    """The first and some later of the inputs; all where they belong together (in a child)."""
    with np.load(inputs, allow_pickle=False) as file:
        found = {name: file[name] for name in file}
    if not whole:
        found = {n: a[:: max(1, -(-len(a) // INPUTS))] for n, a in found.items()}
    np.savez(target, **found)


def matched(weights: Path, reference: Path, target: Path) -> bool:
    """Write the reference's weights file with a program's tensors in the place of its own; False if
    they don't fit (in a child).

    By name and shape; else the n-th of a shape is the n-th of that shape. What isn't a tensor of
    real numbers, and what the program has none of by name where nearly all has one, stays the
    reference's.
    """
    with np.load(weights, allow_pickle=False) as file:
        theirs = {name: file[name] for name in file}
    with np.load(reference, allow_pickle=False) as file:
        ours = {name: file[name] for name in file}
    real = [name for name, array in ours.items() if array.dtype.kind == "f"]
    learnt = [name for name in real if ours[name].size > 1]
    named = [n for n in real if n in theirs and theirs[n].shape == ours[n].shape]
    if sum(ours[n].size for n in named) >= 0.95 * sum(ours[n].size for n in learnt):
        pairs = {name: name for name in named}
    else:
        pools: dict[tuple[int, ...], list[str]] = {}
        for name, array in theirs.items():
            if array.dtype.kind == "f":
                pools.setdefault(array.shape, []).append(name)
        shapes = [ours[name].shape for name in real]
        fitting = {shape for shape in shapes if shapes.count(shape) == len(pools.get(shape, []))}
        if any(ours[name].shape not in fitting for name in learnt):
            return False
        fits = [name for name in real if ours[name].shape in fitting]
        pairs = {name: pools[ours[name].shape].pop(0) for name in fits}
    filled = {
        name: theirs[pairs[name]].astype(array.dtype) if name in pairs else array
        for name, array in ours.items()
    }
    np.savez(target, **filled)
    return bool(pairs)

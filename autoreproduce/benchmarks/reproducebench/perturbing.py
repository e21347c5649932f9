"""What of the arrays that a program handed in its predictions rest on.

Each array, of whole numbers and constants too, is perturbed in turn, and the reference's own
weights are treated alike on the same draw. Predictions of a method that learns rest on most of
what it learnt; those of a solver, or of a law known by heart, rest on a scaling, and the arrays
beside it are for show. A change of a thousandth in all arrays hardly moves a network's; a program
that only compares its weights with stored ones falls over.

The program's code is imported in a child process of its own for each array, after the array was
perturbed. The order is secret, large arrays rather first: a slow `predict` leaves some untried.
"""

import inspect
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from autoreproduce.benchmarks.reproducebench.agreement import Array
from autoreproduce.files.tree import Tree

SECONDS = 45.0  # of processor for all arrays of a program; of those left over nothing is known
INPUTS = 4  # of which predictions are made, where inputs come one by one
FEW, MOVED = "few.npz", "moved.npz"
FALLEN = 9.0  # how far predictions move where there are none any more


class Profile(BaseModel):
    """How far predictions move, in deviations, if an array is perturbed: by array, None where time
    ran out; `tiny`: if all change by a thousandth; `again`: if none does. `sizes`: of the arrays.
    """

    moved: list[float | None]
    sizes: list[int]
    tiny: float
    again: float

    @property
    def typical(self) -> float:
        """The median movement, an array counting as often as it has numbers."""
        known = [(far, n) for far, n in zip(self.moved, self.sizes, strict=True) if far is not None]
        known.sort()
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
        tried = [pair for pair in zip(self.moved, self.sizes, strict=True) if pair[0] is not None]
        carrying = sum(n for far, n in tried if far is not None and far > least)
        total = sum(n for _, n in tried)
        return round(carrying * sum(self.sizes) / total) if total else 0


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


def distance(found: Any, whole: Array) -> float:
    """How far predictions are from `whole`, in its deviations; of classes, how many are others."""
    if found is None or found.shape != whole.shape:
        return FALLEN
    if whole.dtype.kind in "iub":
        return float((found != whole).mean())
    difference = found.astype(np.float64) - whole
    if not np.isfinite(difference).all():
        return FALLEN
    return min(float(np.sqrt(np.square(difference).mean()) / (whole.std() or 1.0)), FALLEN)


def called(weights: str, inputs: str, changed: int, seed: int, most: float) -> Any:
    """What `predict` returns in a child process with array number `changed` perturbed; -1: none,
    -2: none, a second time, -3: all by a thousandth. None if it fails or takes `most` seconds.
    """
    import os
    import signal
    import time

    before = set(os.listdir("."))  # noqa: PTH208
    child = os.fork()
    if child == 0:
        ended = 1
        try:
            rng = np.random.default_rng([seed, changed + 3])
            with np.load(weights, allow_pickle=False) as file:
                own = {name: file[name] for name in file}
            with np.load(inputs, allow_pickle=False) as file:
                given = {name: file[name] for name in file}
            if changed >= 0:
                name = list(own)[changed]
                own[name] = perturbed(own[name], rng)
            elif changed == -3:
                own = {name: nudged(array, rng, 1e-3) for name, array in own.items()}
            from predict import predict  # type: ignore[import-not-found]

            np.save("found.npy", np.asarray(predict(own, given)))
            ended = 0
        finally:
            os._exit(ended)
    began, status = time.monotonic(), (0, 0)
    while status[0] == 0 and time.monotonic() - began < most:
        status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.005)
    if status[0] == 0:
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)
    try:
        return np.load("found.npy", allow_pickle=False) if status[1] == 0 else None
    except (OSError, ValueError):
        return None
    finally:
        for name in set(os.listdir(".")) - before:  # noqa: PTH208
            if os.path.isfile(name):  # noqa: PTH113
                os.remove(name)  # noqa: PTH107


def each_perturbed(weights: str, inputs: str, out: str, seconds: float, seed: int) -> None:
    """Save how far predictions move with each array perturbed (in the sandbox)."""
    import os
    import sys
    import time

    with np.load(weights, allow_pickle=False) as file:
        sizes = np.array([file[name].size + 1.0 for name in file])
    far = np.full(len(sizes), np.nan)
    share = sizes / sizes.sum()
    order = np.random.default_rng(seed).choice(len(far), len(far), replace=False, p=share)
    began = time.monotonic()
    whole = called(weights, inputs, -1, seed, 4 * seconds)
    if whole is None:
        sys.exit("predict gave nothing for a few of the inputs")
    each = time.monotonic() - began
    joint = {}
    for changed in [-2, -3, *order.tolist()]:
        late = sum(os.times()[:4]) > seconds or time.monotonic() - began > 4 * seconds
        if late and np.isfinite(far).sum() >= 3:  # on fewer nothing can rest
            break
        moved = distance(called(weights, inputs, changed, seed, 5 * each + 2), whole)
        if changed < 0:
            joint[changed] = moved
        else:
            far[changed] = moved
    np.savez(out, moved=far, again=joint[-2], tiny=joint[-3])


def script(code: str, seed: int) -> str:
    """The program that runs in the sandbox; what `code` imports of large packages is imported
    before the children begin, which then start at once.
    """
    heavy = [name for name in ("torch", "scipy.linalg", "sklearn") if name.split(".")[0] in code]
    functions: list[Callable[..., Any]] = [perturbed, nudged, distance, called, each_perturbed]
    return "\n".join(
        [
            "from __future__ import annotations",
            "from typing import Any",
            "import numpy as np",
            *(f"import {name}" for name in heavy),
            "Array = Any",
            f"FALLEN = {FALLEN}",
            *(inspect.getsource(function) for function in functions),
            f"each_perturbed('weights.npz', {FEW!r}, {MOVED!r}, {SECONDS}, {seed})",
        ]
    )


def take_few(inputs: Path, target: Path, whole: bool) -> None:
    """The first and some later of the inputs; all where they belong together (in a child)."""
    with np.load(inputs, allow_pickle=False) as file:
        found = {name: file[name] for name in file}
    if not whole:
        found = {n: a[:: max(1, -(-len(a) // INPUTS))] for n, a in found.items()}
    np.savez(target, **found)


def read_profile(folder: Path) -> Profile:
    """What a run of the script left in `folder` (in a child)."""
    with np.load(folder / MOVED, allow_pickle=False) as file:
        moved = [None if np.isnan(far) else float(far) for far in file["moved"]]
        tiny, again = float(file["tiny"]), float(file["again"])
    with np.load(folder / "weights.npz", allow_pickle=False) as file:
        sizes = [int(file[name].size) for name in file]
    return Profile(moved=moved, sizes=sizes, tiny=tiny, again=again)


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


def lay_out_script(space: Path, few: Path, seed: int) -> None:
    """Put the script and its inputs beside a program's code and weights."""
    tree = Tree(space)
    code = "\n".join(tree.read_text(name, 2**24) for name in tree.files() if name.endswith(".py"))
    shutil.copyfile(few, space / FEW)
    tree.write("perturb.py", script(code, seed))

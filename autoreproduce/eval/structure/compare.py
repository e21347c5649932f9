"""Two structures side by side: an agreement between 0 and 1 for each thing that both show.

Names of a program's own classes count for nothing. Parameters are compared by the shapes of their tensors, which
are the same for the same layers whatever they are called: the share of parameters, counted in numbers, that lie
in tensors which both models have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Item:
    """One compared thing. `agreement` is None where one side could not be seen, and then it does not count."""

    name: str
    reference: Any
    generated: Any
    agreement: float | None


def compare(reference: Mapping[str, Any], generated: Mapping[str, Any]) -> list[Item]:
    """Every item, in the order in which one reads a program."""
    ours, theirs = reference.get("model", {}), generated.get("model", {})
    items = [
        _item("parameters", ours.get("parameters"), theirs.get("parameters"), closeness),
        _item("parameter tensors", ours.get("tensors"), theirs.get("tensors"), tensors_shared),
        _item("layers by type", ours.get("layers"), theirs.get("layers"), counts_shared),
        _item("input shapes", _samples(ours, "inputs"), _samples(theirs, "inputs"), _same),
        _item("output shapes", _samples(ours, "outputs"), _samples(theirs, "outputs"), _same),
    ]
    return [*items, *_training(reference, generated)]


def _training(reference: Mapping[str, Any], generated: Mapping[str, Any]) -> list[Item]:
    ours, theirs = reference.get("optimizer", {}), generated.get("optimizer", {})
    items = [_item("optimiser", ours.get("class"), theirs.get("class"), _same)]
    for key in sorted({"lr", "weight_decay", *ours.get("defaults", {})} & {"lr", "weight_decay", "momentum", "betas"}):
        items.append(_item(f"optimiser {key}", _setting(ours, key), _setting(theirs, key), _same))
    items.append(_item("schedule", _scheduler(reference), _scheduler(generated), _same))
    for key in ("batch_size", "epochs"):
        items.append(_item(key.replace("_", " "), _known(reference, key), generated.get(key), _among))
    return items


def _known(found: Mapping[str, Any], key: str) -> Any:
    """A number of the reference; where its text holds one for each profile, all of them."""
    return found.get(key, found.get("syntax", {}).get(key) or None)


def _among(ours: Any, theirs: Any) -> bool:
    return any(_same(one, theirs) for one in (ours if isinstance(ours, list) else [ours]))


def value_of(items: list[Item]) -> float | None:
    """The mean agreement of what could be compared, in 0 to 100; None where nothing could."""
    seen = [item.agreement for item in items if item.agreement is not None]
    return 100 * math.fsum(seen) / len(seen) if seen else None


def closeness(one: float, other: float) -> float:
    """1 − |one − other| / max: 1 for equal numbers, towards 0 for very different ones; both at least 0."""
    largest = max(one, other)
    return 1 - abs(one - other) / largest if largest else 1.0


def tensors_shared(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """The share of parameters in tensors that both have. Keys are shapes as `64x3x3x3`, values how many."""
    both = sum(_size(shape) * min(one.get(shape, 0), other.get(shape, 0)) for shape in one)
    largest = max(sum(_size(shape) * count for shape, count in side.items()) for side in (one, other))
    return both / largest if largest else 1.0


def counts_shared(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """The share of things that both have, by kind: the sum of the lesser counts over the greater sum."""
    largest = max(sum(one.values()), sum(other.values()))
    return sum(min(one.get(kind, 0), other.get(kind, 0)) for kind in one) / largest if largest else 1.0


def _item(name: str, ours: Any, theirs: Any, agree: Any) -> Item:
    unseen = ours is None or theirs is None
    return Item(name, ours, theirs, None if unseen else float(agree(ours, theirs)))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-6)
    return bool(one == other)


def _size(shape: str) -> int:
    return math.prod(map(int, shape.split("x")))


def _samples(model: Mapping[str, Any], key: str) -> list[list[int]] | None:
    """Shapes without the batch's dimension and without dimensions of 1, in one order."""
    if key not in model:
        return None
    return sorted([size for size in shape[1:] if size != 1] for shape in model[key] if shape)


def _setting(optimizer: Mapping[str, Any], key: str) -> Any:
    """An optimiser's setting; where groups differ, those of each group."""
    values = {group[key] for group in optimizer.get("groups", []) if key in group}
    if len(values) > 1:
        return sorted(values)
    return next(iter(values), None) if values else optimizer.get("defaults", {}).get(key)


def _scheduler(found: Mapping[str, Any]) -> Any:
    """Class and numbers of the schedule, «none» where training was seen without one."""
    if "scheduler" in found:
        return [
            found["scheduler"]["class"],
            {k: v for k, v in found["scheduler"]["numbers"].items() if k != "base_lrs"},
        ]
    return "none" if found.get("steps") else None

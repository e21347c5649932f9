"""Runs in the sandbox: describes the models that a program calls and trains.

What counts is what a program uses: once an optimiser steps, the parameters that got a gradient;
before, and in programs that train nothing, those of modules that were called. A module that is made
and never called, and a parameter that no gradient reaches, count for nothing. This file imports
nothing of autoreproduce: it is copied into the sandbox, beside `watches.py`.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

FOUND: dict[str, Any] = {}  # the model that uses most parameters
CALLED: set[int] = set()  # modules, by identity
TRAINED: set[int] = set()  # parameters that got a gradient, by identity
MOST = 100  # models that are told apart
_models: list[dict[str, Any]] = []  # outermost modules that were called, with shapes


def saw_model(model: Any, given: Sequence[Any], result: Any, *, trains: bool) -> None:
    """A model was called from outside any other; `trains`: steps were seen before. The last shapes
    before it is trained count: earlier calls may be looks at it.
    """
    seen = next((one for one in _models if one["module"]() is model), None)
    if seen and not any(id(p) in TRAINED for p in model.parameters()):
        seen["inputs"][:], seen["outputs"][:] = shapes(given), shapes(result)
    if seen or len(_models) >= MOST:
        return
    one = {"module": weakref.ref(model), "inputs": shapes(given), "outputs": shapes(result)}
    _models.append(one)
    if not trains:
        _keep_larger(one, describe(model, used_by_calls(model)))


def saw_trained(parameters: Sequence[Any]) -> None:
    """A step of an optimiser: from the first on only what is trained counts."""
    if not TRAINED:
        FOUND.clear()
    TRAINED.update(id(p) for p in parameters if has_gradient(p))
    for one in _models:
        model = one["module"]()
        if model is not None:
            _keep_larger(one, describe(model, TRAINED))


def _keep_larger(one: dict[str, Any], described: dict[str, Any]) -> None:
    if described["parameters"] > FOUND.get("parameters", 0):
        FOUND.clear()
        FOUND.update({**described, "inputs": one["inputs"], "outputs": one["outputs"]})


def has_gradient(parameter: Any) -> bool:
    """Whether a step changes it: a gradient that is 0 everywhere is none."""
    gradient = parameter.grad
    if gradient is not None and gradient.is_sparse:
        gradient = gradient.coalesce().values()
    return gradient is not None and bool((gradient != 0).any())


def used_by_calls(model: Any) -> set[int]:
    """The parameters whose module was called, or belongs to a layer of PyTorch's that was (such as
    attention, which uses its own layers' weights without calling them).
    """
    used = set[int]()
    for part in model.modules():
        if id(part) in CALLED:
            used |= {id(p) for p in part.parameters(recurse=_is_layer(part))}
    return used


def describe(model: Any, counted: set[int] | None = None) -> dict[str, Any]:
    """Parameters in all and by their tensors' shapes; PyTorch's own layers by type.

    `counted`: the parameters (by identity) that count, None for all. A layer counts if one of its
    own does, or if it has none and was called.
    """

    def counting(parameters: Iterable[Any]) -> list[Any]:
        return [p for p in parameters if counted is None or id(p) in counted]

    def is_used(part: Any) -> bool:
        if own := list(part.parameters(recurse=False)):
            return bool(counting(own))
        return counted is None or id(part) in CALLED

    layers = [part for part in model.modules() if _is_layer(part) and is_used(part)]
    given = counting(model.parameters())
    return {
        "class": type(model).__name__,
        "parameters": sum(p.numel() for p in given),
        "tensors": dict(Counter("x".join(map(str, p.shape)) or "1" for p in given)),
        "layers": dict(Counter(type(part).__name__ for part in layers)),
    }


def _is_layer(part: Any) -> bool:
    """A layer of PyTorch's own, which is no mere container."""
    place = type(part).__module__
    return place.startswith("torch.nn.") and not place.endswith(".container")


def shapes(value: Any) -> list[list[int]]:
    """The shapes of all tensors in a value, as far as it is nested in lists, tuples and dicts."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return [list(value.shape)]
    inner = value.values() if isinstance(value, dict) else value
    nested = isinstance(value, dict | list | tuple)
    return [shape for one in inner for shape in shapes(one)] if nested else []

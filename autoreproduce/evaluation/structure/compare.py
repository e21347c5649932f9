"""Two structures side by side: an agreement between 0 and 1 for each thing that both show.

Names of a program's own classes count for nothing. Parameters are compared by the shapes of their
tensors, which are the same for the same layers whatever they are called: the share of parameters,
counted in numbers, that lie in tensors which both models have.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Item:
    """One compared thing.

    `agreement` is None if the reference does not show it: then it does not count. What the
    reference shows and the program does not (`seen` False) has the agreement 0.
    """

    name: str
    reference: Any
    generated: Any
    agreement: float | None
    seen: bool = True


def compare(reference: Mapping[str, Any], generated: Mapping[str, Any]) -> list[Item]:
    """Every item, in the order in which one reads a program."""
    part = _shows_a_part(reference) and not _shows_a_part(generated)
    models = _part_items if part else _model_items
    return [*models(reference, generated), *_training_items(reference, generated)]


def _shows_a_part(found: Mapping[str, Any]) -> bool:
    """Whether the model that was seen at work holds only some of the parameters that are trained,
    as a U-Net does that a method calls from its loss.
    """
    parameters, trained = found.get("model", {}).get("parameters"), found.get("trained")
    return parameters is not None and trained is not None and parameters < trained


def _model_items(reference: Mapping[str, Any], generated: Mapping[str, Any]) -> list[Item]:
    ours, theirs = reference.get("model", {}), generated.get("model", {})
    return [
        _compared_item("parameters", ours.get("parameters"), theirs.get("parameters"), closeness),
        _compared_item(
            "parameter tensors", ours.get("tensors"), theirs.get("tensors"), tensors_shared
        ),
        _compared_item("layers by type", _layers(ours), _layers(theirs), counts_shared),
        _compared_item(
            "input shapes",
            _sample_shapes(ours, "inputs"),
            _sample_shapes(theirs, "inputs"),
            _same_inputs,
        ),
        _compared_item(
            "output shapes",
            _sample_shapes(ours, "outputs"),
            _sample_shapes(theirs, "outputs"),
            _equal_values,
        ),
    ]


def _part_items(reference: Mapping[str, Any], generated: Mapping[str, Any]) -> list[Item]:
    """Of a reference that shows a part, and a program that shows its whole model: the part must be
    held in it, and what goes into the one says nothing of what goes into the other.
    """
    ours, theirs = reference["model"], generated.get("model", {})
    tensors, layers = ours.get("tensors"), _layers(ours)
    return [
        _compared_item("parameters", reference["trained"], theirs.get("parameters"), closeness),
        _compared_item(
            "parameter tensors", tensors, _held(tensors, theirs.get("tensors")), tensors_shared
        ),
        _compared_item("layers by type", layers, _held(layers, _layers(theirs)), counts_shared),
    ]


def _held(wanted: Mapping[str, int] | None, given: Mapping[str, int] | None) -> Any:
    """As much of what is wanted as is given, by kind."""
    if wanted is None or given is None:
        return None
    return {kind: min(count, given.get(kind, 0)) for kind, count in wanted.items()}


def _training_items(reference: Mapping[str, Any], generated: Mapping[str, Any]) -> list[Item]:
    ours, theirs = reference.get("optimizer", {}), generated.get("optimizer", {})
    items = [
        _compared_item(
            "trained parameters", reference.get("trained"), generated.get("trained"), closeness
        ),
        _compared_item("optimiser", ours.get("class"), theirs.get("class"), _equal_values),
    ]
    for key in sorted(
        {"lr", "weight_decay", *ours.get("defaults", {})}
        & {"lr", "weight_decay", "momentum", "betas"}
    ):
        items.append(
            _compared_item(
                f"optimiser {key}",
                _optimizer_setting(ours, key),
                _optimizer_setting(theirs, key),
                _equal_values,
            )
        )
    items.append(
        _compared_item(
            "schedule", _schedule_facts(reference), _schedule_facts(generated), _equal_values
        )
    )
    for key in ("batch_size", "epochs"):
        items.append(
            _compared_item(
                key.replace("_", " "),
                _reference_value(reference, key) if _is_due(reference, generated, key) else None,
                _program_value(reference, generated, key),
                _matches_any,
            )
        )
    return items


def _program_value(reference: Mapping[str, Any], generated: Mapping[str, Any], key: str) -> Any:
    """A number of the program; its steps in place of its epochs if the reference's text counts its
    training in iterations and holds just these.
    """
    written = _reference_value(reference, key)
    steps = generated.get("steps_watched")
    if key == "epochs" and steps is not None and isinstance(written, list) and steps in written:
        return steps
    return generated.get(key)


def _is_due(reference: Mapping[str, Any], generated: Mapping[str, Any], key: str) -> bool:
    """Epochs are due of a program that was watched to its end, if the reference has a loader whose
    passes can be counted, or of one whose text says how many. A batch size is due if the reference
    was seen with one: what its text holds for several profiles is not seen in its copy either.
    """
    if key == "epochs":
        return key in generated or ("steps_watched" in generated and "batches" in reference)
    return key in generated or key in reference


def _reference_value(found: Mapping[str, Any], key: str) -> Any:
    """A number of the reference; if its text holds one for each profile, all of them."""
    return found.get(key, found.get("syntax", {}).get(key) or None)


def _matches_any(ours: Any, theirs: Any) -> bool:
    return any(_equal_values(one, theirs) for one in (ours if isinstance(ours, list) else [ours]))


def value_of(items: list[Item]) -> float | None:
    """The mean agreement of what the reference shows, in 0 to 100; None if it shows nothing."""
    seen = [item.agreement for item in items if item.agreement is not None]
    return 100 * math.fsum(seen) / len(seen) if seen else None


def coverage(items: list[Item]) -> float | None:
    """The share of what the reference shows that was seen in the program; None for nothing."""
    due = [item.seen for item in items if item.agreement is not None]
    return sum(due) / len(due) if due else None


def closeness(one: float, other: float) -> float:
    """1 − |one − other| / max, for numbers of at least 0: 1 if equal, near 0 if far apart."""
    largest = max(one, other)
    return 1 - abs(one - other) / largest if largest else 1.0


def tensors_shared(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """The share of parameters in tensors that both have: shapes such as `64x3x3x3` -> how many."""
    both = sum(_tensor_size(shape) * min(one.get(shape, 0), other.get(shape, 0)) for shape in one)
    largest = max(
        sum(_tensor_size(shape) * count for shape, count in side.items()) for side in (one, other)
    )
    return both / largest if largest else 1.0


def counts_shared(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """The share of things that both have, by kind: lesser counts over the greater sum."""
    largest = max(sum(one.values()), sum(other.values()))
    return (
        sum(min(one.get(kind, 0), other.get(kind, 0)) for kind in one) / largest if largest else 1.0
    )


def _compared_item(name: str, ours: Any, theirs: Any, agree: Any) -> Item:
    if ours is None:
        return Item(name, ours, theirs, None, seen=theirs is not None)
    seen = theirs is not None
    return Item(name, ours, theirs, float(agree(ours, theirs)) if seen else 0.0, seen)


def _equal_values(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-6)
    return bool(one == other)


def _tensor_size(shape: str) -> int:
    return math.prod(map(int, shape.split("x")))


def _sample_shapes(model: Mapping[str, Any], key: str) -> list[list[int]] | None:
    """Shapes without the batch's dimension and without dimensions of 1, in one order."""
    if key not in model:
        return None
    return sorted([size for size in shape[1:] if size != 1] for shape in model[key] if shape)


def _layers(model: Mapping[str, Any]) -> dict[str, int] | None:
    """How many layers of each type, without those that do nothing."""
    found = model.get("layers")
    return None if found is None else {kind: n for kind, n in found.items() if kind != "Identity"}


def _same_inputs(one: list[list[int]], other: list[list[int]]) -> bool:
    """Whether all shapes of one are among the other's, or are the same when put together.

    What else a program hands to its model, as a graph's matrices, or to a part of it, is style; so
    is whether it concatenates channels before its model or in it.
    """
    within = all(each in other for each in one) or all(each in one for each in other)
    return within or _joined(one) == _joined(other)


def _joined(shapes: list[list[int]]) -> Counter[tuple[int, ...]]:
    """Channels in all, by the rest of the shape: 6×8×8 as twice 3×8×8."""
    found: Counter[tuple[int, ...]] = Counter()
    for channels, *rest in filter(None, shapes):
        found[tuple(rest)] += channels
    return found


def _optimizer_setting(optimizer: Mapping[str, Any], key: str) -> Any:
    """An optimiser's setting; if groups differ, those of each group."""
    values = {group[key] for group in optimizer.get("groups", []) if key in group}
    if len(values) > 1:
        return sorted(values)
    return next(iter(values), None) if values else optimizer.get("defaults", {}).get(key)


def _schedule_facts(found: Mapping[str, Any]) -> Any:
    """Class and numbers of the schedule, "none" if training was seen without one."""
    if "scheduler" in found:
        return [
            found["scheduler"]["class"],
            {k: v for k, v in found["scheduler"]["numbers"].items() if k != "base_lrs"},
        ]
    return "none" if found.get("steps") else None

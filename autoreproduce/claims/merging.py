"""One claim once: a user's claim and the paper's that state the same number become one."""

from collections.abc import Sequence

from autoreproduce.claims.claim import Claim, ClaimsFile
from autoreproduce.claims.numbers import same_number
from autoreproduce.claims.plain import letters_alone, name_of, named_in, plain, words

_STATED = {"value", "printed", "unit", "scale", "main", "source", "kind", "than"}


def with_user_claims(file: ClaimsFile, given: Sequence[Claim]) -> ClaimsFile:
    """The user's claims in place of those that state the same number, or have the same row and
    metric, whose key they take, or the same key in metrics.json, and beside the others.
    """
    if not given:
        return file
    put: list[Claim] = []
    replaced: set[str] = set()
    taken = {claim.id for claim in given}
    for claim in given:
        same = [other for other in file.claims if other.id not in replaced and _is(claim, other)]
        if len(same) != 1:
            put.append(claim)
            continue
        replaced.add(same[0].id)
        free = same[0].id not in taken - {claim.id}
        merged = _union(claim, same[0]).model_copy(update={"id": same[0].id if free else claim.id})
        put.append(merged)
    ids = replaced | {claim.id for claim in put}
    others = [claim for claim in file.claims if claim.id not in ids]
    return ClaimsFile(
        paper=file.paper, experiment=file.experiment, claims=(*others, *put), rules=file.rules
    )


def row_and_metric(claim: Claim) -> tuple[str, ...]:
    """The headings and the metric; a column that is headed by the metric says nothing more."""
    metric = plain(claim.metric).casefold()
    headings = (part.casefold() for part in (*claim.headings, *claim.than))
    others = (each for each in headings if letters_alone(each) != letters_alone(metric))
    return (*others, claim.kind, letters_alone(metric) or metric)


def _is(given: Claim, other: Claim) -> bool:
    """Whether the user's claim is this one of the paper: by its names, or by its number and names
    that say no other row and no other metric.
    """
    if row_and_metric(given) == row_and_metric(other):
        return True
    if given.kind != other.kind or given.than or not _same_value(given, other):
        return False
    there = set(words(" ".join((*other.headings, other.metric, other.sentence))))
    asked = [word for name in (*given.row, *given.column) for word in words(name)]
    metric = {name_of(given.metric), name_of(other.metric)}
    alike = len(metric) == 1 or any(named_in(w, there) for w in words(given.metric))
    return alike and all(named_in(word, there) for word in asked)


def _same_value(one: Claim, other: Claim) -> bool:
    by = {"percent": 0.01}
    values = [c.value * by.get(c.scale, 1.0) for c in (one, other)]
    return same_number(one.value, other.value) or same_number(*values)


def _union(given: Claim, other: Claim) -> Claim:
    """What both say of the number; what the user says goes before."""
    if not _same_value(given, other):
        return given
    stated = {name: getattr(given, name) for name in _STATED}
    direction = other.direction if given.direction == "match" else given.direction
    update = {**stated, "direction": direction, "spread": other.spread, "is_baseline": False}
    if given.spread is not None:  # the paper's says of which kind it is
        known = other.spread is not None and other.spread.value == given.spread.value
        update["spread"] = other.spread if known else given.spread
    return other.model_copy(update=update)

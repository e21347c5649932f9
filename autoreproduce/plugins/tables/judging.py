"""Refuses to mix scores that were judged in different ways: by other models, prompts, key points or
references.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autoreproduce.errors import UsageError
from autoreproduce.evaluation.scorers import JUDGED
from autoreproduce.evaluation.tables.rows import TrialRow

OF_A_TASK = ("key points", "reference")  # facts that may differ between tasks, and not within one
JUDGE = "judge"


def require_one_judging(rows: Sequence[TrialRow]) -> None:
    """Raises UsageError, naming what differs, if a judged level of the rows was judged in more
    than one way. Key points and reference belong to a task and its profile, all else to the level.
    """
    for level in JUDGED:
        judged = [row for row in rows if row.judges.get(level)]
        for fact in (JUDGE, *judging_facts({})):
            for group in _groups(judged, by_task=fact in OF_A_TASK):
                _require_one(level, fact, group)


def _groups(rows: Sequence[TrialRow], *, by_task: bool) -> Iterable[list[TrialRow]]:
    found: dict[tuple[str, str], list[TrialRow]] = defaultdict(list)
    for row in rows:
        found[(row.task, row.profile) if by_task else ("", "")].append(row)
    return found.values()


def _require_one(level: str, fact: str, rows: Sequence[TrialRow]) -> None:
    trials: dict[str, str] = {}
    for row in rows:
        trials.setdefault(_value_of(row, level, fact), row.trial)
    if len(trials) < 2:
        return
    (one, first), (other, second) = sorted(trials.items())[:2]
    named = "NAME, the same for all" if fact.startswith(JUDGE) else f"'{rows[0].judges[level]}'"
    raise UsageError(
        f"the {level} level was judged in more than one way, with another {fact} "
        f"({one or 'none'} in {first} against {other or 'none'} in {second})",
        fix=f"score all by the same, autoreproduce score DIR --levels {level} --judge {named} "
        "--points paper (or curated)",
    )


def _value_of(row: TrialRow, level: str, fact: str) -> str:
    if fact == JUDGE:
        return row.judges[level]
    return judging_facts(row.asked.get(level, {}))[fact]


def judging_facts(asked: Mapping[str, Any]) -> dict[str, str]:
    """What must be the same in two scores of one task, in words: fact -> value.

    `asked` is the object in `scores.json`, empty for a score that was saved without one.
    """
    points, judges = asked.get("points") or {}, asked.get("judges") or []
    return {
        "judge as served": ", ".join(str(n) for judge in judges for n in judge.get("served", [])),
        "prompts": str(asked.get("prompts", "not recorded")),
        "kind of key points": str(points.get("source", "")),
        "key points": str(points.get("digest", "")),
        "reference": str(asked.get("reference") or ""),
    }

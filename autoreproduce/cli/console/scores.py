"""What `score` prints, and its exit code with --fail-under."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autoreproduce.errors import UsageError

if TYPE_CHECKING:
    from autoreproduce.runner.score import Scored


def read_floors(given: Sequence[str]) -> dict[str, float]:
    """`--fail-under LEVEL=VALUE` by level. Raises UsageError."""
    from autoreproduce.evaluation.scorers import SCORERS

    floors = {}
    for text in given:
        level, _, value = text.partition("=")
        try:
            floors[level] = float(value)
        except ValueError:
            raise UsageError(
                f"--fail-under {text}", fix="write LEVEL=VALUE, e.g. mixed=60"
            ) from None
        if math.isnan(floors[level]):
            raise UsageError(
                f"--fail-under {text}: nothing is below it", fix="write a number, e.g. mixed=60"
            )
        if level not in SCORERS:
            raise UsageError(
                f"--fail-under {text}: there is no level {level!r}",
                fix=f"choose among {', '.join(SCORERS)}",
            )
    return floors


def scores_exit_code(scored: Sequence[Scored], floors: dict[str, float]) -> int:
    """1 if a score is below its floor (a gap above it), 3 if one that was asked for is missing.

    A floor asks for its score too.
    """
    below = any(
        _is_worse(score.scorer, score.value, floors)
        for one in scored
        for score in one.scores
        if score.scorer in floors and score.value is not None
    )
    missing = any(
        one.missing
        or floors.keys() - {score.scorer for score in one.scores if score.value is not None}
        for one in scored
    )
    return 1 if below else 3 if missing else 0


def _is_worse(level: str, value: float, floors: dict[str, float]) -> bool:
    """Beyond the bound on the bad side; of a gap and a cost more is worse."""
    return value > floors[level] if level in ("gap", "cost") else value < floors[level]


def print_scores(one: Scored, as_json: bool) -> None:
    """A trial's scores, a row a level."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from autoreproduce.evaluation.report.wording import clean

    if as_json:
        scores = [{"level": s.scorer, "value": s.value, "reason": s.reason} for s in one.scores]
        facts = {"folder": str(one.folder), "task": one.task.id, "verdict": one.verdict}
        print(json.dumps({**facts, "sentence": one.sentence, "scores": scores}))
        return
    table = Table(
        "level",
        "score",
        "spread",
        "reason",
        box=None,
        header_style="bold",
        title_justify="left",
        title=Text(str(one.folder)),
    )
    for score in one.scores:
        spread = score.details.get("spread")
        table.add_row(
            score.scorer,
            _number_text(score.value),
            _number_text(spread, ""),
            Text(clean(score.reason)),
        )
    Console().print(table)
    if one.sentence:
        print(f"Verdict: {clean(one.sentence)}")
    print(f"Scores: {one.folder / 'scores.json'}  Page: {one.page}")
    print(f"Report: {one.folder / 'report.html'}")


def _number_text(value: Any, missing: str = "–") -> str:
    return missing if value is None else f"{value:.4g}"

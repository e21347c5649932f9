"""What a verifier that does not know the gold makes of attempts on masked tasks."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.errors import UsageError
from autoreproduce.evaluation.tables.model import Table
from autoreproduce.models.budget import Budget
from autoreproduce.models.open import open_model
from autoreproduce.plugins.masked.answering import functions_of
from autoreproduce.plugins.masked.attempts import judged_attempt, read_attempts
from autoreproduce.plugins.masked.layout import lay_out
from autoreproduce.plugins.masked.pass_estimates import Attempt, gap_closed, rate
from autoreproduce.plugins.masked.pass_tables import rate_text
from autoreproduce.plugins.masked.retrieval import mentions
from autoreproduce.plugins.masked.tasks import masked_of
from autoreproduce.plugins.masked.verifier import By, by_agreement, by_model, candidate_of
from autoreproduce.task import Task
from autoreproduce.trials.trial import Trial

if TYPE_CHECKING:
    from autoreproduce.config import Settings

WAYS: tuple[By, ...] = ("agreement", "checker", "reader")


def verify(
    folder: Path,
    by: Sequence[By],
    model: str | None,
    settings: Settings,
    note: Callable[[str], None],
) -> Table:
    """One chosen candidate for each task and agent, by each way; Pass@1 of the choices, and the gap
    closed.

    Raises UsageError where a way needs a model and none is named.
    """
    if not model and set(by) - {"agreement"}:
        raise UsageError(
            "a checker or reader is a model",
            fix="add --model provider:name, or take --by agreement",
        )
    groups: dict[tuple[str, int, str], list[tuple[Path, Task, Attempt]]] = defaultdict(list)
    for path, task, attempt in (each for each in read_attempts(folder) if each[2].counts):
        groups[attempt.agent, attempt.n, attempt.combined_id].append((path, task, attempt))
    chosen: dict[tuple[str, int, str], list[bool]] = defaultdict(list)
    opened = open_model(settings, model) if model else None
    budget = Budget.parse(settings.budget.total)
    for (agent, n, name), group in sorted(groups.items()):
        masked = masked_of(group[0][1])
        candidates = [
            candidate_of(masked, path, found)
            for path, _, _ in group
            if (found := judged_attempt(Trial.read(path)))
        ]
        for way in by:
            index = by_agreement(candidates)
            if way != "agreement":
                place, code = folder / "verifier" / f"{name}-{agent}", _masked_code(masked)
                picked, reason = by_model(
                    masked, candidates, way, opened, str(model), settings, budget, place, code
                )
                note(f"{name}, {agent}, {way}: {reason}"[:300])
                index = 0 if picked is None else picked
            chosen[agent, n, way].append(group[index][2].strict)
    return _verified(groups, chosen)


def _verified(groups: Any, chosen: dict[tuple[str, int, str], list[bool]]) -> Table:
    rows: list[list[Any]] = []
    for (agent, n, way), passes in sorted(chosen.items()):
        tried = [
            a
            for (other, m, _), group in groups.items()
            if (other, m) == (agent, n)
            for _, _, a in group
        ]
        most = min(
            len(group) for (other, m, _), group in groups.items() if (other, m) == (agent, n)
        )
        one, top = rate(tried, 1), rate(tried, most)
        share = sum(passes) / len(passes)
        closed = gap_closed(share, one.value, top.value) if one and top else None
        rows.append(
            [
                agent,
                n,
                way,
                len(passes),
                rate_text(one),
                share,
                f"{rate_text(top)} (k = {most})",
                "no gap" if closed is None else f"{closed:.0%}",
            ]
        )
    columns = ["agent", "n", "by", "tasks", "Pass@1", "chosen", "Pass@k", "gap closed"]
    return Table("verifier", "A verifier over the same attempts", columns, rows)


def _masked_code(masked: Any) -> str:
    """The masked files as the solvers saw them, and where other files name the functions."""
    with tempfile.TemporaryDirectory(prefix="autoexperiment-") as place:
        lay_out(masked, Path(place))
        wanted = functions_of(masked)
        files = list(dict.fromkeys(file for file, _ in wanted))
        sources = [
            (f, (Path(place) / f).read_text(encoding="utf-8", errors="replace")) for f in files
        ]
        callers = [
            text
            for file in files
            for text in mentions(Path(place), file, [a for f, a in wanted if f == file])
        ]
    parts = [f"~~~python\n# {file}\n{text}\n~~~" for file, text in sources]
    return "\n\n".join(
        [
            *parts,
            *([f"Where the rest of the code names them:\n\n{''.join(callers)}"] if callers else []),
        ]
    )

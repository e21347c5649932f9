"""The paper's claims beside what was measured, as rows of texts for the screen and the pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoreproduce.claims.differences import NOT_AS_STATED
from autoreproduce.claims.stated_results import digits_of
from autoreproduce.claims.verdicts.overall import those_that_count
from autoreproduce.evaluation.report.wording import band, number, percent
from autoreproduce.papers.numbers import number_of
from autoreproduce.papers.plain import names_metric, plain

if TYPE_CHECKING:
    from autoreproduce.claims.claim import Claim
    from autoreproduce.claims.differences import Audit
    from autoreproduce.claims.verdicts.one_claim import Verdict
    from autoreproduce.claims.verdicts.trial_verdict import (
        JudgedClaim,
        Level,
        SeedRun,
        TrialVerdict,
    )


MOST_NAMED = 10  # seeds
FILLED = 0.5  # share of a grid's cells at which its rows are told apart by their columns


@dataclass(frozen=True)
class ClaimGrid:
    """One table. `rows`: a heading and a cell a column, None where the paper claims nothing."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[ClaimRow | None, ...]], ...]


def paper_tables(found: TrialVerdict | None, audit: Audit | None = None) -> list[ClaimGrid]:
    """The claims' tables, in the order of the claims; none for a single claim."""
    claims = found.claims if found is not None else ()
    if found is None or len(claims) < 2:
        return []
    readings = found.readings
    tables: dict[str, list[JudgedClaim]] = {}
    for one in claims:
        tables.setdefault(_title(one.claim), []).append(one)
    made: list[ClaimGrid] = []
    for title, group in tables.items():
        cells: dict[str, dict[str, ClaimRow]] = {}
        for one in group:
            row, column = _place(one.claim, [each.claim for each in group])
            under = readings.of_claim(one.claim.id) if readings else ""
            cells.setdefault(row, {})[column] = claim_row(one, under, audit, found.runs)
        made += _grids(title, cells)
    return made


def _title(claim: Claim) -> str:
    table = f"Table {claim.table}" if claim.table[:1].isdigit() else claim.table
    return plain(claim.experiment or table)


def _place(claim: Claim, group: Sequence[Claim]) -> tuple[str, str]:
    """Row and column of the cell; the metric is the column, or beside it if there are several."""
    metric = plain(claim.metric)
    row = " / ".join(plain(part) or part for part in claim.row) or claim.title
    row += " (baseline)" * claim.is_baseline
    if claim.than:  # in no cell of the row's own number
        return row, printed_text(claim)
    column = " / ".join(plain(part) or part for part in claim.column)
    several = len({one.metric for one in group}) > 1
    if not column or (several and not names_metric(claim.headings, metric)):
        column = f"{column}: {metric}" if column else metric
    return row, column


def _grids(title: str, cells: dict[str, dict[str, ClaimRow]]) -> list[ClaimGrid]:
    """One grid, or one for each set of columns if most of its cells would be empty."""
    columns = list(dict.fromkeys(name for row in cells.values() for name in row))
    filled = sum(map(len, cells.values())) / (len(columns) * len(cells))
    if filled > FILLED:
        return [_grid(title, columns, cells)]
    alike: dict[frozenset[str], dict[str, dict[str, ClaimRow]]] = {}
    for row, held in cells.items():
        alike.setdefault(frozenset(held), {})[row] = held
    return [
        _grid(title, [name for name in columns if name in names], rows)
        for names, rows in alike.items()
    ]


def _grid(title: str, columns: Sequence[str], cells: dict[str, dict[str, ClaimRow]]) -> ClaimGrid:
    rows = ((row, tuple(map(held.get, columns))) for row, held in cells.items())
    return ClaimGrid(title, tuple(columns), tuple(rows))


# of a claim, and of all of them together
LEVEL_OF_WORD: dict[str, Level] = {
    "reproduced": "good",
    **dict.fromkeys(("close", "partly"), "mixed"),
    **dict.fromkeys(("off", "opposite", "not reproduced"), "bad"),
    **dict.fromkeys(("not measured", "not comparable", "untestable"), "open"),
}


@dataclass(frozen=True)
class ClaimRow:
    """One claim. `difference`: ours minus the paper's, and which way that is. `origin`:
    recomputed, or by the program's own word.
    """

    name: str
    paper: str
    measured: str
    difference: str
    word: str
    why: str
    origin: str
    level: Level

    @property
    def line(self) -> str:
        """The row in one line, for the screen."""
        parts = [f"paper {self.paper}", f"measured {self.measured}", self.difference]
        return f"{self.word} ({', '.join(part for part in parts if part != '–')})"


def claim_rows(found: TrialVerdict | None, audit: Audit | None = None) -> list[ClaimRow]:
    """The rows of a verdict, the paper's own claims first, then its baselines."""
    claims = found.claims if found is not None else ()
    ordered = sorted(claims, key=lambda one: one.claim.is_baseline)
    readings = found.readings if found is not None else None
    under = [readings.of_claim(one.claim.id) if readings else "" for one in ordered]
    runs = found.runs if found is not None else ()
    return [claim_row(one, text, audit, runs) for one, text in zip(ordered, under, strict=True)]


def ordering_lines(found: TrialVerdict | None) -> list[str]:
    """A line per ordering: "Ours better than Alpha: holds (right in 5 of 5 seeds)"."""
    if found is None:
        return []
    names = {one.claim.id: one.claim.place or one.claim.title for one in found.claims}
    return [
        f"{names.get(order.better, order.better)} better than "
        f"{names.get(order.worse, order.worse)}: {order.word} ({order.why})"
        for order in found.orderings
    ]


def runs_line(found: TrialVerdict | None) -> str:
    """As "mean 0.0312 (95 % interval of this mean 0.0295–0.0329) over seeds 0, 1"; "" for one run,
    and for runs that count as one.
    """
    if found is None or len(found.runs) < 2 or found.mean is None or found.alike:
        return ""
    span = f" (95 % interval of this mean {band(*found.interval)})" if found.interval else ""
    numbered = [run.seed for run in found.runs if run.value is not None]
    seeds = f"seeds {', '.join(map(str, numbered))}"
    if len(numbered) > MOST_NAMED:
        seeds = f"{len(numbered)} seeds ({min(numbered)} to {max(numbered)})"
    return f"mean {number(found.mean)}{span} over {seeds}"


def own_claims(found: TrialVerdict | None) -> list[JudgedClaim]:
    """The claims that count, the paper's own first."""
    judged = {one.claim.id: one for one in found.claims} if found is not None else {}
    claims = [one.claim for one in judged.values()]
    verdicts = [one.verdict for one in judged.values()]
    return [judged[one.claim] for one in those_that_count(claims, verdicts)]


def unjudged_row(claim: Claim, word: str) -> ClaimRow:
    """The row of a claim that no trial has judged; `word` says why."""
    return ClaimRow(_name(claim), printed_text(claim), "–", "–", word, "", "", "open")


def _name(claim: Claim) -> str:
    notes = [*(["baseline"] if claim.is_baseline else []), *filter(None, [claim.remark])]
    return claim.title + (f" ({'; '.join(notes)})" if notes else "")


def printed_text(claim: Claim) -> str:
    """The number as in the paper, with its unit, or what is said of one."""
    if claim.than:
        said = "as good as" if claim.kind == "equal" else "better than"
        return f"{said} {' / '.join(claim.than)}"
    if claim.kind != "number":
        said = claim.kind.replace("_", " ")
        return f"{said} {claim.printed or number(claim.value)}{_unit(claim)}"
    return (claim.printed or number(claim.value)) + _unit(claim)


def measured_text(one: JudgedClaim) -> str:
    """The mean of what was measured, in as many digits as the paper prints, or a dash.

    Without a unit: a program's number has none but the paper's, and that is to be shown. One that
    had to be multiplied stands as the program gave it, with the product.
    """
    mean, factor = one.verdict.mean, one.verdict.factor
    if mean is None:
        return "–"
    printed = number_of(one.claim.printed)
    digits = digits_of(printed) if printed else 0
    shown = f"{mean:.{digits}g}" if digits > 4 else number(mean)
    if factor == 1:
        return shown
    return f"{number(mean / factor)} ({'×' if factor > 1 else '÷'} 100 = {shown})"


def claim_row(
    one: JudgedClaim,
    under_readings: str = "",
    audit: Audit | None = None,
    runs: Sequence[SeedRun] = (),
) -> ClaimRow:
    """One claim in texts. What holds for a wrong reason, as a run of the audit showed, isn't called
    reproduced without saying so; nor are numbers called recomputed of which most weren't.
    """
    claim, verdict = one.claim, one.verdict
    word, level = verdict.text, LEVEL_OF_WORD.get(verdict.word, "open")
    reasons = [verdict.why, under_readings]
    if wrong := audit.undoing(claim.id) if audit and verdict.word == "reproduced" else None:
        word, level = NOT_AS_STATED, "mixed"
        instead = f"done the paper's way, it's {number(wrong.undoes(claim.id) or 0.0)}"
        reasons.insert(0, f"the code {wrong.does.strip('. ')} ({wrong.place}); {instead}")
    for item in audit.moving if audit and verdict.word != "reproduced" else ():
        after = item.instead_of(claim.id)
        if after is not None and item.word_of(claim.id) == "reproduced":
            reasons.append(
                f"done the paper's way ({item.place}), it's the paper's: {number(after)}"
            )
    measured = measured_text(one)
    if verdict.interval is not None:
        measured += f" (our mean: {band(*verdict.interval)})"
    origin = "recomputed" if one.recomputed else "written by the program"
    if one.recomputed and (own_word := sum(run.in_process for run in runs)):
        origin += f" in {len(runs) - own_word} of {len(runs)} runs, else the program's own word"
    return ClaimRow(
        name=_name(claim),
        paper=printed_text(claim),
        measured=measured,
        difference=_difference(claim, verdict),
        word=word,
        why="; ".join(filter(None, reasons)),
        origin=origin if verdict.values else "",
        level=level,
    )


def _difference(claim: Claim, verdict: Verdict) -> str:
    """Ours minus the paper's, and by how much that is better or worse: "+0.0007 (19 % worse)"."""
    if verdict.difference is None:
        return "–"
    text = f"{claim.sign * verdict.difference:+.3g}"
    if verdict.relative is None or not verdict.difference:
        return text
    which = "" if claim.direction == "match" else " better" if verdict.difference > 0 else " worse"
    return f"{text} ({percent(abs(verdict.relative))}{which})"


def _unit(claim: Claim) -> str:
    """The unit as it is written after a number, unless the printed number holds it."""
    unit = claim.unit or ("%" if claim.scale == "percent" else "")
    return f" {unit}" if unit and unit not in claim.printed else ""

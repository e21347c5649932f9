"""An audit as others read it: the page's rows, Markdown for an issue, SARIF for code hosts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from autoreproduce.contracts import VERSION
from autoreproduce.evaluation.report.wording import clean, number, plural

if TYPE_CHECKING:
    from autoreproduce.claims.differences import Audit, Difference
    from autoreproduce.claims.verdicts.trial_verdict import TrialVerdict
    from autoreproduce.trials.result import Result

WORDS = {"off": "missed", "opposite": "the other way round"}
MOVES = {"yes": "can move a number", "perhaps": "may move a number", "no": "moves no number"}
IN_BRIEF = 120  # characters of a difference within the verdict's sentence
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True)
class DifferenceRow:
    """One difference for the page: both quotations with their places, and what a run showed."""

    item: Difference
    moves: str
    claims: str
    effects: tuple[str, ...]


def difference_rows(audit: Audit | None, judged: TrialVerdict | None) -> list[DifferenceRow]:
    """The differences, those that can move a number first."""
    return [_row(one, judged) for one in audit.ordered] if audit else []


def _row(one: Difference, judged: TrialVerdict | None) -> DifferenceRow:
    titles = {each.claim.id: each.claim.title for each in judged.claims} if judged else {}
    claims = ", ".join(titles.get(name, name) for name in one.claims)
    moves = "moved no number in a run" if one.effects and not one.confirmed else MOVES[one.moves]
    return DifferenceRow(one, moves, claims, tuple(effect_lines(one, titles)))


def effect_lines(one: Difference, titles: dict[str, str]) -> list[str]:
    """What the run with the paper's way gave: "accuracy: 0.871 → 0.853 (not reached)"."""
    if one.tried:
        return [one.tried]
    lines = []
    for effect in one.effects:
        before, after = (
            "no number" if value is None else number(value, other or 0.0)
            for value, other in ((effect.before, effect.after), (effect.after, effect.before))
        )
        same = effect.before == effect.after
        word = f" ({WORDS.get(effect.word, effect.word)})" if effect.word else ""
        title = titles.get(effect.claim, effect.claim)
        lines.append(
            f"{title}: {before}, unchanged" if same else f"{title}: {before} → {after}{word}"
        )
    if lines and one.assumes:
        lines.append(f"by values of ours, which the paper leaves open: {one.assumes}")
    return lines


def audit_sentence(audit: Audit | None) -> str:
    """What the audit found, in a sentence for the page; "" without one."""
    if audit is None:
        return ""
    if audit.problem:
        return f"The code wasn't compared with the paper's text: {audit.problem}."
    if not audit.differences:
        checked = plural(len(audit.agreements), "statement")
        return f"No difference was found; {checked} of the paper agree with the code."
    moving = len(audit.moving)
    found = plural(len(audit.differences), "place")
    if len(audit.differences) == 1:
        which = "which can move a number" if moving else "which moves no number"
        return f"The code differs from the paper in {found}, {which}."
    which = f"{moving} of them can move a number" if moving else "none of them moves a number"
    return f"The code differs from the paper in {found}: {which}."


def audited_sentence(sentence: str, result: Result) -> str:
    """The verdict's sentence, with the differences that can move a number."""
    moving = result.audit.moving if result.audit else ()
    if not moving:
        return sentence
    decisive = result.audit.decisive if result.audit else ()
    reproduced = result.claims is not None and result.claims.overall.word == "reproduced"
    if decisive and reproduced:
        rest = sentence.removeprefix("Reproduced: ").removeprefix("Reproduced")
        return f"Reproduced, but not as stated ({_in_brief(decisive[0])}): {rest}"
    places, shown = plural(len(moving), "place"), sum(one.confirmed for one in moving)
    one_place = len(moving) == 1
    if shown == len(moving):
        moves = "moves a number, as a run showed" if one_place else "move a number, as runs showed"
    elif shown:
        moves = f"can move a number, and {shown} of them did in a run"
    else:
        moves = "can move a number"
    what = f" ({_in_brief(moving[0])})" if shown else ""
    said = f"{sentence.rstrip('.')}; the code differs from the paper in {places} that {moves}{what}"
    missed = {one.claim.id for one in result.judged if one.verdict.word != "reproduced"}
    reached = {
        effect.claim for one in moving for effect in one.effects if effect.word == "reproduced"
    }
    if more := len(reached & missed):
        which = "number is" if more == 1 else "numbers are"
        said += f"; done the paper's way, {more} more {which} reached"
    return f"{said}."


def _in_brief(one: Difference) -> str:
    """What the code does, as far as a sentence about the whole can hold it."""
    return shorten(clean(one.does).split(";")[0], IN_BRIEF, placeholder=" …")


def issue_markdown(result: Result, title: str) -> str:
    """The differences as the text of an issue to the authors. "" without any."""
    audit = result.audit
    if audit is None or not audit.differences:
        return ""
    titles = {each.claim.id: each.claim.title for each in result.judged}
    lines = [
        f"# Where the code differs from the paper: {title}",
        "",
        "Each item quotes the code and, where it speaks of it, the paper; the quotations were "
        "checked against the files. "
        "A language model found them, so please read them as questions.",
    ]
    for one in (*audit.moving, *(each for each in audit.differences if not each.can_move)):
        parts = [one.says, one.does or "not in the code"]
        lines += ["", f"## {' – '.join(filter(None, parts))}", ""]
        where = f" ({one.section})" if one.section else ""
        quoted = f":\n\n> {' '.join(one.paper.split())}" if one.paper else " doesn't speak of it."
        lines += [f"The paper{where}{quoted}", ""]
        if one.file:
            lines += [
                f"`{one.file}`, {one.place.rpartition(', ')[2]}:",
                "",
                "~~~",
                one.code,
                "~~~",
                "",
            ]
        lines.append(f"This {MOVES[one.moves]}" + (f": {one.direction}." if one.direction else "."))
        lines += [f"But: {one.but.rstrip('. ')}."] if one.but else []
        lines += [f"- {line}" for line in effect_lines(one, titles)]
    return "\n".join(lines) + "\n"


def sarif(result: Result) -> str:
    """The differences in SARIF 2.1.0, as code hosts show them at their lines."""
    audit = result.audit
    found = audit.differences if audit else ()
    level = {"yes": "warning", "perhaps": "warning", "no": "note"}
    results: list[dict[str, Any]] = []
    for one in found:
        says = f"The paper: {one.paper_says}. The code: {one.does or 'nothing of it'}."
        says += f" “{one.paper}”" if one.paper else ""
        entry: dict[str, Any] = {"ruleId": one.kind, "level": level[one.moves]}
        entry["message"] = {"text": says}
        if one.file:
            place: dict[str, Any] = {"artifactLocation": {"uri": one.file}}
            location: dict[str, Any] = {"physicalLocation": place}
            if one.cell:  # no line of a notebook's JSON
                location["logicalLocations"] = [{"name": f"cell {one.cell}"}]
                entry["message"]["text"] = f"Cell {one.cell}. {says}"
            else:
                place["region"] = {"startLine": one.first, "endLine": one.last}
            entry["locations"] = [location]
        results.append(entry)
    rules = [{"id": kind} for kind in sorted({one.kind for one in found})]
    driver = {"name": "autoreproduce", "version": VERSION, "rules": rules}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)

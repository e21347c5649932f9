"""The report as one HTML page: the evidence put into words and handed to the templates.

The page carries its own content security policy: nothing is fetched, and of scripts and styles only
the two inline ones run, by their hash. So even if a program's output slipped through the escaping
it would do nothing.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

from autoreproduce.claims.choices import differences
from autoreproduce.claims.verdicts.overall import verdict_title
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.report import chart, claims_table, comparison, timeline, wording
from autoreproduce.evaluation.report.audit_page import audit_sentence, difference_rows
from autoreproduce.evaluation.report.claims_table import paper_tables
from autoreproduce.evaluation.report.evidence import Evidence, SummaryVersion, history, stored_paper
from autoreproduce.evaluation.report.headline import FRESH, headline, number_name
from autoreproduce.evaluation.report.specification import specification_curves
from autoreproduce.evaluation.report.texts import between, diff_lines, fold, markdown
from autoreproduce.evaluation.report.versions import installed
from autoreproduce.files.shared import file_inside, read_plain
from autoreproduce.papers.files import MOST_FIGURES
from autoreproduce.papers.model import Figure, png_size
from autoreproduce.task import Task
from autoreproduce.trials.steps import CommandResult, Step, model_results

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment


HISTORY_ROWS = 60


def render(found: Evidence, task: Task | None) -> str:
    """The page's HTML."""
    return whole_page("page.html.j2", ["page.css"], "page.js", **page_content(found, task))


def page_content(found: Evidence, task: Task | None) -> dict[str, Any]:
    """What the sections' templates show of a trial, by the names that they use."""
    lines = timeline.lines(found.steps, found.result)
    return {
        **result_content(found, task),
        "fresh": FRESH,
        "differences": differences(found.choices),
        "lines": lines,
        "total": timeline.total(lines),
        "executions": [step for step in found.steps if step.kind in ("execute", "install")],
        "packages": installed(found.steps),
        "dataset": _dataset(found, task),
        "has_result": (found.folder / "result").is_dir(),
        **_training(found, task),
    }


def _dataset(found: Evidence, task: Task | None) -> str:
    """What the experiment is on; "" where the task bears the name of the code that is verified."""
    if task is None:
        return ""
    program = found.record.job.program if found.record else None
    return "" if program and task.dataset == program.name else task.dataset


def whole_page(template: str, styles: Sequence[str], script: str, **content: Any) -> str:
    """The HTML of a page with its styles, its script, "" for none, and the policy that lets nothing
    else run.
    """
    style, code = "".join(map(template_file, styles)), template_file(script) if script else ""
    page = (
        environment()
        .get_template(template)
        .render(style=style, script=code, policy=_security_policy(style, code), **content)
    )
    return page.encode("utf-8", "replace").decode("utf-8")


def result_content(found: Evidence, task: Task | None) -> dict[str, Any]:
    """What page and README show of what came of a trial; without a verdict nothing of claims."""
    judged, head = found.verdict, headline(found, task)
    audit = found.result.audit if found.result else None
    return {
        "found": found,
        "task": task,
        "record": found.record,
        "outcome": found.result,
        "head": head,
        "metric": number_name(found, task),
        "banners": banners(found, task, head.reasons),
        "fine_print": fine_print(found),
        "rows": comparison.rows(found.result, task),
        "claims": claims_table.claim_rows(judged, audit),
        "audit": audit,
        "audit_said": audit_sentence(audit),
        "audit_rows": difference_rows(audit, judged),
        "tables": paper_tables(judged, audit),
        "orderings": claims_table.ordering_lines(judged),
        "runs": claims_table.runs_line(judged),
        "curves": specification_curves(judged),
        "readings": judged.readings if judged is not None else None,
    }


def banners(
    found: Evidence, task: Task | None, reasons: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """What a reader must know before the number, unless one of `reasons` says it: (title,
    sentence).
    """
    shown: list[tuple[str, str]] = []
    if found.result is not None and not found.result.isolated:
        shown.append(("No isolation", "The programs could read your files and use the network."))
    if found.record is not None and found.record.replayed is not None:
        shown.append(("Replayed", replay_words(found.record.replayed)))
    if shared := sum(call.shared for call in model_results(found.steps)):
        calls = wording.plural(shared, "call")
        what = f"{calls} on the paper itself had been made and paid for by another of its trials."
        shown.append(("Shared", what))
    if task is not None and task.stand_in and not any("stand-in" in reason for reason in reasons):
        shown.append(("Stand-in data", task.stand_in))
    if found.paper.get("source") == "digest":
        note = found.paper.get("note") or "The paper itself could not be read."
        shown.append(
            ("The paper in a digest", f"The agents read the task's digest of the paper. {note}")
        )
    return shown


def fine_print(found: Evidence) -> list[str]:
    """How the number was guarded, and what else may be asked of it; what was said of a draw once
    in `FRESH` isn't said again.
    """
    outcome = found.result
    lines = list(found.verdict.remarks) if found.verdict is not None else []
    if outcome is None:
        return lines
    if outcome.decoys is not None and outcome.claimed is not None:
        claimed = wording.number(outcome.claimed, outcome.decoys)
        lines.append(
            "While it ran, made-up test targets (decoys) stood in for the true ones: what the "
            f"program wrote, {claimed}, is about these, and its predictions give "
            f"{wording.number(outcome.decoys, outcome.claimed)} against them."
        )
    if outcome.number is not None:
        by_reason: dict[str, list[str]] = {}
        for name, why in outcome.number.not_recomputed.items():
            by_reason.setdefault(why, []).append(name)
        lines += [f"Not recomputed: {', '.join(names)}: {why}." for why, names in by_reason.items()]
        if outcome.integrity == "unchecked" and outcome.number.integrity is not None:
            steps = outcome.number.integrity.missing
            said = tuple(by_reason)
            lines += [f"Unchecked: {one}." for one in steps if not (said and one.endswith(said))]
    return list(dict.fromkeys([*lines, *outcome.notes]))


def replay_words(tape: dict[str, Any]) -> str:
    """Whose replies are replayed, and of when, from a tape's head."""
    model = tape.get("model") or "a model that the tape does not name"
    date = tape.get("recorded") or "at a date that it does not name"
    return (
        f"The model's replies are replayed from a tape: {model}, recorded {date}. "
        "Everything else was done again."
    )


def _training(found: Evidence, task: Task | None) -> dict[str, Any]:
    """The training history as charts, and its rows for those who do not see them."""
    rows = history(found.metrics)
    reference = found.result.reference_of(task) if found.result else None
    fresh = found.result is not None and found.result.decoys is not None  # curves are of decoys
    span = reference.band if reference and not fresh else None
    name = task.metric.name if task else ""
    return {
        "charts": chart.charts(rows, name, span),
        "paper_figures": paper_figures(found),
        "history": rows[-HISTORY_ROWS:],
        "history_rows": len(rows),
        "history_keys": list(dict.fromkeys(key for row in rows for key in row))[:8],
        "settings_used": found.metrics.get("settings")
        if isinstance(found.metrics.get("settings"), dict)
        else {},
    }


@cache
def environment() -> Environment:
    """The templates' environment: every page is escaped whole, and an unknown name is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    env = Environment(
        loader=PackageLoader("autoreproduce.evaluation.report", "templates"),
        autoescape=lambda name: name is None or ".html" in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,  # they come with the package
    )
    env.filters.update(
        clean=lambda value: wording.clean(str(value)),
        number=wording.number,
        money=wording.money,
        count=wording.count,
        short=wording.short_count,
        duration=wording.duration,
        phase=wording.phase_words,
        markdown=markdown,
        cell=_markdown_cell,
        diff=diff_lines,
        fold=fold,
        plural=wording.plural,
        when=_date_and_time,
        metric=wording.metric_words,
        sentence=lambda text: text.rstrip(". ") + ".",
        commit=wording.commit_words,
        verdict=verdict_title,
        unit=wording.unit_words,
        own_command=wording.own_command,
    )
    env.tests.update(figure=wording.is_figure)
    env.globals.update(
        by_stage=_versions_by_stage,
        succeeded=timeline.succeeded,
        how_it_ended=how_it_ended,
        geometry=chart,
    )
    return env


def _markdown_cell(value: object) -> str:
    """One line of Markdown that can neither leave its paragraph or table cell nor become HTML."""
    line = " ".join(wording.clean(str(value)).split())
    return line.replace("<", "&lt;").replace("|", "\\|").replace("`", "'")


def how_it_ended(step: Step) -> str:
    """An execution's end in words."""
    ran = step.result
    if not isinstance(ran, CommandResult):
        return ""
    return f"stopped: {ran.stopped}" if ran.stopped else f"exit {ran.exit_code}"


def _versions_by_stage(
    summaries: list[SummaryVersion],
) -> list[tuple[str, list[tuple[SummaryVersion, list[Any]]]]]:
    """Each stage with its versions, and what each changed against the one before."""
    stages: dict[str, list[SummaryVersion]] = {}
    for summary in summaries:
        stages.setdefault(summary.stage, []).append(summary)
    return [
        (
            stage,
            [
                (versions[0], []),
                *((new, between(old.text, new.text)) for old, new in pairwise(versions)),
            ],
        )
        for stage, versions in stages.items()
    ]


def _date_and_time(moment: str) -> str:
    """2026-11-21T08:18:00+00:00 as "2026-11-21 08:18 UTC"."""
    day, _, clock = moment.partition("T")
    zone = " UTC" if moment.endswith(("+00:00", "Z")) else ""
    return f"{day} {clock[:5]}{zone}" if clock else day


def _security_policy(style: str, script: str) -> str:
    """The page's content security policy."""
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def template_file(name: str) -> str:
    """The text of a file beside the templates."""
    return (files("autoreproduce.evaluation.report") / "templates" / name).read_text(
        encoding="utf-8"
    )


# The paper's own figures beside the training's curves, if a claim's experiment is a figure.
#
# A figure is known by its number: the one that its caption begins with, as in a PDF's text, else
# the place of its caption among those of the LaTeX.

MOST_SHOWN = 4  # figures on a page
LARGEST_PICTURE = 3_000_000  # bytes of one
MOST_PIXELS = 40_000_000  # of one: few bytes can be a picture that fills a browser's memory
SAME_START = 40  # letters of two captions that are one
PNG_START = b"\x89PNG\r\n\x1a\n"
_NAMED_FIGURE = re.compile(r"\b(?:figure|fig\.)\s*(\d{1,3})", re.IGNORECASE)
_FIGURE_ENVIRONMENT = re.compile(r"\\(begin|end)\{figure\*?\}")


@dataclass(frozen=True)
class PaperFigure:
    """One figure of the paper: its number, caption and picture as a data: URL."""

    number: int
    caption: str
    picture: str


def paper_figures(found: Evidence) -> list[PaperFigure]:
    """The figures that the claims' experiments name, by number; none without such a claim.

    A paper without the figure, or a picture that cannot be read, is left out.
    """
    claims = [one.claim for one in found.verdict.claims] if found.verdict else []
    wanted = figure_numbers(claim.experiment for claim in claims)
    if not wanted:
        return []
    home = found.folder / "paper"
    if (paper := stored_paper(found.folder)) is None:
        return []
    shown = []
    for figure in paper.figures[:MOST_FIGURES]:
        number = number_of(figure, paper.latex)
        picture = _data_url(home, figure.path) if number in wanted else ""
        if number is not None and picture:
            shown.append(PaperFigure(number, figure.caption, picture))
    return sorted(shown, key=lambda one: one.number)[:MOST_SHOWN]


def figure_numbers(experiments: Iterable[str]) -> set[int]:
    """The numbers in names such as "Figure 3" and "Fig. 4b"."""
    return {int(number) for name in experiments for number in _NAMED_FIGURE.findall(name)}


def number_of(figure: Figure, latex: str) -> int | None:
    """The figure's number in the paper, None if it does not show."""
    if match := _NAMED_FIGURE.match(figure.caption):
        return int(match[1])
    start = _caption_letters(figure.caption)[:SAME_START]
    captions = [text for text in _environments(latex) if "\\caption" in text]
    places = [n for n, text in enumerate(captions, 1) if start and start in _caption_letters(text)]
    return places[0] if len(places) == 1 else None


def _environments(latex: str) -> Iterator[str]:
    """What is in each figure environment; one pattern for both ends would be quadratic."""
    begin: int | None = None
    for mark in _FIGURE_ENVIRONMENT.finditer(latex):
        if mark[1] == "begin":
            begin = mark.end() if begin is None else begin
        elif begin is not None:
            yield latex[begin : mark.start()]
            begin = None


def _data_url(home: Path, name: Path) -> str:
    """A PNG below the paper's folder as a data: URL, "" if it is none or too large to be drawn."""
    path = file_inside(home, name)
    try:
        data = read_plain(path, LARGEST_PICTURE) if path else b""
    except (OSError, UsageError):
        return ""
    if path is None or prod(png_size(path)) > MOST_PIXELS:
        return ""
    encoded = base64.b64encode(data).decode()
    return f"data:image/png;base64,{encoded}" if data.startswith(PNG_START) else ""


def _caption_letters(text: str) -> str:
    """The letters alone, for captions that are written in LaTeX here and in Markdown there."""
    plain = re.sub(r"\\[A-Za-z]+\*?", " ", text)
    return "".join(letter for letter in plain.casefold() if letter.isalpha())

"""The report as one HTML page: the evidence put into words and handed to the templates.

The page carries its own content security policy: nothing is fetched, and of scripts and styles only the
two inline ones run, by their hash. So even if a program's output slipped through the escaping it would do
nothing.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from autoreproduce.eval.report import chart, comparison, timeline, wording
from autoreproduce.eval.report.evidence import Commit, Evidence, Summary, history
from autoreproduce.eval.report.packages import installed
from autoreproduce.eval.report.texts import between, diff_lines, fold, markdown
from autoreproduce.eval.report.verdict import metric_name, verdict
from autoreproduce.task import Task
from autoreproduce.trial import Step

if TYPE_CHECKING:
    from jinja2 import Environment

HISTORY_ROWS = 60


def render(found: Evidence, task: Task | None) -> str:
    """The page's HTML."""
    style, script = template_file("page.css"), template_file("page.js")
    page = environment().get_template("page.html.j2").render(
        found=found,
        task=task,
        record=found.record,
        outcome=found.outcome,
        verdict=verdict(found.outcome, task, found.last_phase),
        metric=metric_name(found.outcome, task),
        banners=banners(found, task),
        rows=comparison.rows(found.outcome, task),
        lines=(lines := timeline.lines(found.steps, found.outcome)),
        total=timeline.total(lines),
        executions=[step for step in found.steps if step.kind in ("execute", "install")],
        packages=installed(found.steps), has_result=(found.folder / "result").is_dir(),
        style=style,
        script=script,
        policy=policy(style, script),
        **_training(found, task),
    )  # fmt: skip
    return page.encode("utf-8", "replace").decode("utf-8")


def banners(found: Evidence, task: Task | None) -> list[tuple[str, str]]:
    """What a reader must know before the number: (title, sentence)."""
    said = []
    if found.record is not None and found.record.replayed is not None:
        said.append(("Replayed", replay_words(found.record.replayed)))
    if task is not None and task.stand_in:
        said.append(("Stand-in data", task.stand_in))
    if found.paper.get("source") == "digest":
        note = found.paper.get("note") or "The paper itself could not be read."
        said.append(("The paper in a digest", f"The agents read the task's digest of the paper. {note}"))
    return said


def replay_words(tape: dict[str, Any]) -> str:
    """Whose replies are replayed, and of when, from a tape's head."""
    model = next(
        (str(tape[key]) for key in ("model", "models") if tape.get(key)), "a model that the tape does not name"
    )
    date = next((str(tape[key]) for key in ("recorded", "date", "created", "at") if tape.get(key)), "")
    when = f", recorded {date}" if date else ", at a date that the tape does not name"
    return f"The model's replies are replayed from a tape: {model}{when}. Everything else was done anew."


def _training(found: Evidence, task: Task | None) -> dict[str, Any]:
    """The training history as charts, and its rows for those who do not see them."""
    rows = history(found.metrics)
    reference = task.reference if task else None
    known = reference is not None and reference.low is not None and reference.high is not None
    span = (reference.low, reference.high) if known and reference else None
    name = task.metric.name if task else ""
    return {
        "charts": chart.charts(rows, name, span),  # type: ignore[arg-type]
        "history": rows[-HISTORY_ROWS:],
        "history_rows": len(rows),
        "history_keys": list(dict.fromkeys(key for row in rows for key in row))[:8],
        "settings_used": found.metrics.get("settings") if isinstance(found.metrics.get("settings"), dict) else {},
    }


@cache
def environment() -> Environment:
    """The templates' environment: every page is escaped whole, and an unknown name is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    env = Environment(
        loader=PackageLoader("autoreproduce.eval.report", "templates"),
        autoescape=lambda name: name is None or ".html" in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,  # they come with the package
    )
    env.filters.update(
        clean=lambda value: wording.clean(str(value)), number=wording.number, money=wording.money, count=wording.count,
        short=wording.short_count, duration=wording.duration, phase=wording.phase_words, markdown=markdown, cell=_cell,
        fold=fold, plural=wording.plural, when=_when, metric=wording.metric_words, sentence=_sentence,
    )  # fmt: skip
    env.globals.update(
        commit_lines=_commit_lines, by_stage=_by_stage, succeeded=timeline.succeeded, usage_of=timeline.usage_of,
        how_it_ended=how_it_ended, whole=timeline.whole, geometry=chart,
    )  # fmt: skip
    return env


def _cell(value: object) -> str:
    """One line of Markdown that cannot leave its paragraph, list item or table cell, nor become HTML."""
    line = " ".join(wording.clean(str(value)).split())
    return line.replace("<", "&lt;").replace("|", "\\|").replace("`", "'")


def _sentence(text: str) -> str:
    return text.rstrip(". ") + "."


def how_it_ended(step: Step) -> str:
    """An execution's end in words."""
    stopped, code = step.result.get("stopped"), step.result.get("exit_code")
    if stopped:
        return f"stopped: {stopped}"
    return "exit code unknown" if code is None else f"exit {code}"


def _commit_lines(commit: Commit) -> list[Any]:
    return diff_lines(commit.diff)


def _by_stage(summaries: list[Summary]) -> list[tuple[str, list[tuple[Summary, list[Any]]]]]:
    """Each stage with its versions, and what each changed against the one before."""
    stages: dict[str, list[Summary]] = {}
    for summary in summaries:
        stages.setdefault(summary.stage, []).append(summary)
    return [
        (stage, [(versions[0], []), *((new, between(old.text, new.text)) for old, new in pairwise(versions))])
        for stage, versions in stages.items()
    ]


def _when(moment: str) -> str:
    """2026-11-21T08:18:00+00:00 as «2026-11-21 08:18 UTC»."""
    day, _, clock = moment.partition("T")
    zone = " UTC" if moment.endswith(("+00:00", "Z")) else ""
    return f"{day} {clock[:5]}{zone}" if clock else day


def policy(style: str, script: str) -> str:
    """The page's content security policy."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def template_file(name: str) -> str:
    """The text of a file beside the templates."""
    return (files("autoreproduce.eval.report") / "templates" / name).read_text(encoding="utf-8")

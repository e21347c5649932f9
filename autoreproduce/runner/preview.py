"""What can be known before anything is spent: of the paper, and of what a trial may take."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.benchmarks.reproducebench.tasks import load_task, task_names
from autoreproduce.claims.check import table_names
from autoreproduce.claims.experiments import named_nowhere
from autoreproduce.claims.source import read_source
from autoreproduce.errors import PaperError, UsageError
from autoreproduce.files.confined import confined
from autoreproduce.models.prices import Usage, price_of, why_free
from autoreproduce.models.tape import find_tape
from autoreproduce.papers import Paper, read_paper
from autoreproduce.papers.arxiv_client import normal_id, without_version
from autoreproduce.runner.estimate import (
    Estimate,
    TrialKind,
    budget_notes,
    earlier_trials,
    estimate,
    text_tokens,
)
from autoreproduce.runner.open_models import check_names
from autoreproduce.solvers import refuse_faulty
from autoreproduce.solvers.coders import TOOLS, check_coder, check_from

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.job import Job
    from autoreproduce.runner.whole_paper.plan import PaperSource
    from autoreproduce.task import Task

MOST_DATA = 12  # names of data sets
_NAME = r"[A-Z][\w.+-]*(?:[ -](?:[A-Z0-9][\w.+-]*|of(?= [A-Z]))){0,3}"
_OF_DATA = re.compile(
    rf"({_NAME})\s+(?:data ?-?sets?|benchmarks?|corpus|corpora)\b"
    rf"|(?:data ?-?sets?|benchmarks?|corpus|corpora)\s+(?:of|from|called|such as|like)\s+({_NAME})"
)
_BEGINS = re.compile(
    r"(?:The|A|An|This|These|Our|On|For|In|All|Each|Both|Two|Three|Four|Five|Several|Other|Many"
    r"|Most|Some|Such|We|Standard|Real|Public|Synthetic)\b[ -]?"
)


@dataclass(frozen=True)
class TableFacts:
    """A table that has cells: what to call it, and how many of them hold numbers."""

    name: str
    caption: str
    numbers: int
    named: bool = True


@dataclass(frozen=True)
class PaperFacts:
    """A paper as its text shows it. `of_lines`: tables that are only lines of text."""

    title: str
    origin: str
    tokens: int
    references: int
    tables: list[TableFacts]
    of_lines: list[str]
    data: list[str]
    named: list[tuple[str, ...]] = field(default_factory=list)  # each table's number and label
    unread: list[str] = field(default_factory=list)
    nowhere: list[str] = field(default_factory=list)  # experiments asked for that it can't have


@dataclass(frozen=True)
class Preview:
    """What a command would do. `each`: what one trial may take; `trials`: how many there are."""

    what: str
    solver: str
    model: str | None
    paper: PaperFacts | None
    each: Estimate
    trials: int = 1
    notes: list[str] = field(default_factory=list)


def preview_job(job: Job) -> Preview:
    """What `reproduce` would do. Raises UsageError and PaperError as it would before it asks."""
    from autoreproduce.runner.whole_paper.plan import paper_source

    if job.experiments:
        source = paper_source(job.arxiv, job.paper, job.settings)
        return preview_paper(source, job.settings, job.experiments)
    refuse_faulty(job.solver)
    check_coder(job.settings, job.of_task, job.solver)
    check_from(job.settings, job.of_task, job.solver, job.settings.method.coder or TOOLS)
    return preview_trial(job.of_task, job.settings, job.solver, job.paper)


def preview_trial(
    task: Task, settings: Settings, solver: str, paper_file: Path | None = None
) -> Preview:
    """One trial of a task, before it is made. Raises UsageError and PaperError as a trial would."""
    notes: list[str] = []
    source = task.arxiv_id, paper_file or task.paper_file, task.digest
    facts = _facts_or_note(settings, *source, notes)
    length = facts.tokens if facts else None
    wanted = TrialKind(task.id, task.profile, solver, task.writes, length)
    each = estimate(wanted, settings, earlier_trials(settings.runs_dir))
    if (settings.model.name in (None, "tape")) and find_tape(task.id, task.profile):
        notes.append("without a model the shipped tape answers: its tokens cost nothing")
    named = f"{task.method} on {task.dataset}" if task.method and task.dataset else task.id
    what = f"{named} ({task.id}, {task.profile})"
    notes += price_notes(settings) + budget_notes(settings.budget.total, each)
    return Preview(what, solver, model_words(settings), facts, each, notes=notes)


def preview_paper(source: PaperSource, settings: Settings, names: Sequence[str] = ()) -> Preview:
    """A paper's experiments, before it is planned or after. Raises PaperError and UsageError."""
    from autoreproduce.runner.whole_paper.plan import plan_of

    notes: list[str] = []
    facts = paper_facts(settings, source.arxiv, source.file, None, names)
    plan = plan_of(source.folder(settings))
    count = len(names) or 1
    if plan and names:
        count = len(plan.programs(names))
    elif {"main", "all"} & set(names):
        notes.append("how many experiments that is, the plan will say: one is counted")
        count = 1
    if plan is None:
        notes += [_unlisted(name, facts) for name in facts.nowhere]
        low = facts.tokens + PLAN_PROMPT
        notes.append(f"planning comes first: 1 or 2 calls, {low:,} to {2 * low:,} tokens in")
    wanted = TrialKind(source.id, "full", "autoreproduce", paper=facts.tokens)
    each = estimate(wanted, settings, earlier_trials(settings.runs_dir))
    notes += price_notes(settings) + budget_notes(settings.budget.total, each.times(count))
    model = model_words(settings)
    return Preview(facts.title, "autoreproduce", model, facts, each, count, notes)


def _unlisted(name: str, facts: PaperFacts) -> str:
    shown = ", ".join(f"Table {' = '.join(table)}" for table in facts.named) or "no named table"
    return f"the paper's text shows {shown}, and no {name!r}: the real run refuses it"


PLAN_PROMPT = 1_200  # tokens of a plan's prompt beside the paper


MOST_SUGGESTED = 6  # experiments


def which_experiment(arxiv: str | None, file: Path | None, settings: Settings) -> UsageError:
    """The error for a paper of which nothing is named: it suggests the paper's own tables, and the
    tasks that the benchmark has of it.
    """
    named = f"--paper {shlex.quote(str(file))}" if file else f"--arxiv {arxiv}"
    bare = shlex.quote(str(file)) if file else str(arxiv)
    known: list[str] = []
    if file is not None:
        facts = paper_facts(settings, None, file, None)
        known = [f"Table {names[0]}" for names in facts.named if names][:MOST_SUGGESTED]
    known_id = without_version(normal_id(arxiv)) if arxiv else None
    tasks = [each for each in task_names() if load_task(each).arxiv_id == known_id and known_id]
    listed = f" (its text has {', '.join(known)})" if known else ""
    first = known[0] if known else "main"
    fix = f'add --experiment "{first}"; `autoreproduce plan {bare}` lists its experiments'
    also = f"; or --task {tasks[0]}, which the benchmark has of it" if tasks else ""
    return UsageError(f"which experiment of {named}{listed}?", fix=f"{fix}{also}")


def paper_facts(
    settings: Settings,
    arxiv: str | None,
    file: Path | None,
    digest: str | None,
    names: Sequence[str] = (),
) -> PaperFacts:
    """What the paper's text shows, also of experiments of these names; it is read in a folder that
    is removed again.
    """
    with tempfile.TemporaryDirectory() as folder:
        paper = read_paper(settings, Path(folder), arxiv_id=arxiv, file=file, digest=digest)
        tables, lines = confined(tables_shown, paper, what="the paper")
    named = confined(table_names, paper, what="the paper")
    return PaperFacts(
        paper.title or (file.name if file else arxiv or ""),
        paper.note,
        round(text_tokens(paper.body)),
        len(paper.references),
        tables,
        lines,
        data_named(paper.body),
        named,
        [str(part) for part in paper.unread],
        [name for name in names if named_nowhere(name, named, paper.body)],
    )


def _facts_or_note(
    settings: Settings, arxiv: str | None, file: Path | None, digest: str | None, notes: list[str]
) -> PaperFacts | None:
    """The facts; a note in their place where arXiv cannot be reached now."""
    try:
        return paper_facts(settings, arxiv, file, digest)
    except PaperError as error:
        if file is not None:
            raise
        notes.append(f"the paper cannot be read now ({error.what}): a typical length is taken")
        return None


def tables_shown(paper: Paper | str) -> tuple[list[TableFacts], list[str]]:
    """The tables with cells of the first form that has some, and the names of other tables."""
    source = read_source(paper)
    parsed = next((tables for tables in source.forms if tables), ())
    shown = [
        TableFacts(
            one.name, one.caption, sum(bool(cell.numbers) for cell in one.cells), bool(one.names)
        )
        for one in parsed
    ]
    known = {name for one in parsed for name in one.names}
    lines = [one.name for one in source.text_tables if one.names and not known & set(one.names)]
    return shown, list(dict.fromkeys(lines))


def data_named(text: str) -> list[str]:
    """What the text calls a data set, benchmark or corpus, the most frequent first."""
    found = Counter[str]()
    for match in _OF_DATA.finditer(text):
        name = _BEGINS.sub("", match[1] or match[2]).strip(" -.")
        if len(name) > 2:
            found[name] += 1
    return [name for name, _ in found.most_common(MOST_DATA)]


def model_words(settings: Settings) -> str | None:
    """The models' names, None if none is given."""
    names = dict.fromkeys(
        name for name in (settings.model.research, settings.model.code, settings.model.name) if name
    )
    return " + ".join(names) or None


def price_notes(settings: Settings) -> list[str]:
    """Why dollars are 0, or unknown. Raises UsageError for a model of an unknown provider."""
    check_names(settings)
    name = settings.model.research or settings.model.name or ""
    if why := why_free(name, settings):
        return [why]
    if not name and not settings.model.price:
        return ["dollars are unknown without a model: name it with --model, or give --price"]
    if not name.startswith("tape") and price_of(Usage(1, 0, 1), name, settings) is None:
        return [f"the price of {name} is unknown: give --price INPUT,CACHED,OUTPUT"]
    return []

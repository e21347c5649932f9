"""What `--dry-run`, and `plan` without a model, print: the paper, and a row a phase."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from autoreproduce.evaluation.report.wording import clean, phase_words, plural, short_count
from autoreproduce.runner.estimate import Estimate, dollar_words, spread_words, time_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.table import Table

    from autoreproduce.config import Settings
    from autoreproduce.runner.preview import PaperFacts, Preview
    from autoreproduce.runner.whole_paper.plan import PaperSource

MOST_TABLES = 12
# The columns, and how narrow each may become: a range that doesn't fit wraps.
COLUMNS = {"phase": 1, "calls": 6, "tokens in": 13, "out": 13, "dollars": 6, "minutes": 6}


def print_preview(preview: Preview, as_json: bool) -> None:
    """The preview as text, or as one JSON object."""
    whole = preview.each.times(preview.trials)
    if as_json:
        facts = asdict(preview.paper) if preview.paper else None
        head = {"event": "estimate", "what": preview.what, "solver": preview.solver}
        more = {"model": preview.model, "paper": facts, "notes": preview.notes}
        print(json.dumps({**head, **more, "each": preview.each.as_json(), "all": whole.as_json()}))
        return
    from rich.console import Console

    width = None if sys.stdout.isatty() else 120
    console = Console(file=sys.stdout, width=width, markup=False, highlight=False)
    console.print(clean(preview.what), style="bold")
    console.print(f"solver {preview.solver}, model {preview.model or 'not named'}")
    if preview.paper:
        _print_facts(preview.paper)
    print()
    console.print(_table(preview.each, whole))
    print()
    for line in (*_basis(preview.each), *preview.notes, NOTHING_DONE):
        console.print(clean(line), soft_wrap=True)


def print_plan_preview(
    source: PaperSource, settings: Settings, dry_run: bool, as_json: bool
) -> bool:
    """What is known of the paper without asking: for a dry run, or where a plan needs a model and
    none is named but a tape. False if there is a plan, or somebody to ask.
    """
    from autoreproduce.files.handed_over import named_tape
    from autoreproduce.models.found_here import how_here
    from autoreproduce.runner.api_results import note_to_stderr
    from autoreproduce.runner.open_models import HOW
    from autoreproduce.runner.preview import preview_paper
    from autoreproduce.runner.whole_paper.plan import plan_of

    asks = plan_of(source.folder(settings)) is None
    model = settings.model.research or settings.model.name
    tape = named_tape(model) is not None
    if not dry_run and ((model and not tape) or not asks):
        return False
    print_preview(preview_paper(source, settings), as_json)
    if not dry_run:
        who = "A live model, no tape," if tape else "A model"
        note_to_stderr(f"{who} lists its experiments: {how_here(HOW)}")
    return True


NOTHING_DONE = "No model was asked, and no folder was made."


def _print_facts(paper: PaperFacts) -> None:
    numbers, tables = sum(table.numbers for table in paper.tables), len(paper.tables)
    print(
        f"paper: {paper.tokens:,} tokens, {paper.references} references, {tables} tables with "
        f"{numbers:,} numbers. {clean(paper.origin)}"
    )
    named = [table for table in paper.tables if table.named]
    for table in named[:MOST_TABLES]:
        caption = " ".join(clean(table.caption).split())
        short = caption if len(caption) <= 70 else caption[:69] + "…"
        print(f"  {clean(table.name)}: {table.numbers} numbers{f'. {short}' if short else ''}")
    if len(named) > MOST_TABLES:
        print(f"  and {len(named) - MOST_TABLES} more with a name")
    if named and tables > len(named):
        print(f"  {plural(tables - len(named), 'table')} whose caption was not found")
    if paper.of_lines:
        print(f"  only as lines of text: {clean(', '.join(paper.of_lines))}")
    for part in paper.unread:
        print(f"  {clean(part)}")
    if paper.data:
        print(f"data named: {clean(', '.join(paper.data))}")


def _table(each: Estimate, whole: Estimate) -> Table:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name, least in COLUMNS.items():
        side: Any = {} if name == "phase" else {"justify": "right"}
        table.add_column(name, overflow="fold", min_width=least, **side)
    for name, part in each.phases.items():
        table.add_row(phase_words(name), *_shown(part, "–"))
    if whole.trials > 1:
        table.add_row("one trial", *_shown(each, "unknown"))
    named = f"all {whole.trials}" if whole.trials > 1 else "all"
    table.add_row(named, *_shown(whole, "unknown"), style="bold")
    return table


def _shown(part: Estimate, unknown: str) -> list[str]:
    ways: dict[str, Callable[[float], str]] = {
        "calls": "{:.0f}".format,
        "input": _tokens,
        "output": _tokens,
    }
    ways |= {"dollars": dollar_words, "seconds": lambda seconds: time_words(seconds / 60)}
    return [spread_words(part[name], way, unknown) for name, way in ways.items()]


def _tokens(value: float) -> str:
    return short_count(round(value))


def _basis(each: Estimate) -> list[str]:
    """What the figures rest on."""
    trials = f"{each.like} trial{'s' if each.like > 1 else ''}"
    if not each.like:
        return ["unknown: no earlier trial of that solver, yours or shipped"]
    if each.own:
        return [f"From {trials} of yours of the same task, profile and solver."]
    return [
        f"By {trials} of the solver, shipped (eval/costs.yaml) or yours, at this paper's length; "
        "phases as in the shipped tape. Your own trials of the task count as soon as there are "
        "some."
    ]

"""What each page shows, as plain values for its template."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from autoreproduce.benchmarks import BENCHMARKS, benchmark_class
from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.evaluation.report.claims_table import claim_rows
from autoreproduce.evaluation.report.evidence import Evidence, gather, text_in
from autoreproduce.evaluation.report.page import page_content
from autoreproduce.evaluation.report.texts import between
from autoreproduce.evaluation.report.timeline import lines, total
from autoreproduce.evaluation.report.versions import tracked_files
from autoreproduce.evaluation.report.wording import clean, money, number, phase_words
from autoreproduce.evaluation.site.content import SuiteContent, suite_content
from autoreproduce.evaluation.tables.rows import read_rows
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.view.library import Library, UnknownKeyError
from autoreproduce.plugins.view.listed import ListedSuite, ListedTrial
from autoreproduce.plugins.view.processes import Processes, may_resume, suite_process
from autoreproduce.plugins.view.rows import COLUMNS, UNMASKED, RowQuery, row_page
from autoreproduce.trials.live import read_output
from autoreproduce.trials.steps import Step

MOST_TEXT = 400_000  # characters of one prompt, reply or file on a page
MOST_WORKSPACE = 500  # files of a workspace that are listed


def trial_list(
    library: Library, query: RowQuery, suite: ListedSuite | None = None
) -> dict[str, Any]:
    """The trials below the folder or of a suite, for a table with one page of rows."""
    found = library.trials(suite.folder if suite else None)
    masked = suite is not None and _is_judged_by_passing(str(suite.facts.get("benchmark")))
    return {
        "rows": row_page(found, query),
        "running": sum(trial.running for trial in found),
        "tasks": sorted(map(clean, {trial.task for trial in found})),
        "variants": sorted(map(clean, {trial.variant for trial in found})),
        "masked": masked,
        "columns": [name for name in COLUMNS if not (masked and name in UNMASKED)],
    }


def _is_judged_by_passing(benchmark: str) -> bool:
    """Whether a benchmark's trials pass or fail, so that no number and no verdict counts."""
    return benchmark in BENCHMARKS and hasattr(benchmark_class(benchmark), "suite_page")


def index(library: Library, query: RowQuery | None = None) -> dict[str, Any]:
    """The first page: suites, and all trials."""
    suites = [(suite, suite_facts(suite)) for suite in library.suites()]
    return {"root": library.root, "suites": suites, **trial_list(library, query or RowQuery())}


def suite_facts(suite: ListedSuite) -> dict[str, Any]:
    """How far a suite is, by its runner's last word and its plan."""
    counts = suite.state.get("counts")
    counts = counts if isinstance(counts, dict) else {}
    notes, planned = suite.state.get("notes"), suite.facts.get("trials")
    runs = suite.facts.get("runs")
    last = runs[-1] if isinstance(runs, list) and runs and isinstance(runs[-1], dict) else {}
    running = suite_process(suite) is not None
    return {
        "running": running,
        "status": "running" if running else str(suite.state.get("ended") or "not running"),
        "counts": [(str(key), value) for key, value in counts.items() if value],
        "planned": len(planned) if isinstance(planned, list) else 0,
        "cost": _dollars(suite.state.get("cost")),
        "left": _seconds(suite.state.get("seconds_left")) if running else None,
        "notes": [str(note) for note in notes] if isinstance(notes, list) else [],
        "command": str(last.get("command") or ""),
    }


def suite_page(library: Library, suite: ListedSuite, query: RowQuery) -> dict[str, Any]:
    """A suite: its progress and its trials."""
    return {"suite": suite, "facts": suite_facts(suite), **trial_list(library, query, suite)}


def suite_tables(library: Library, suite: ListedSuite) -> dict[str, Any]:
    """A suite's tables and plots, which read every finished trial whole."""
    problems: list[str] = []
    content = SuiteContent([], [], ())
    try:
        library.refuse_links(suite)
        rows = read_rows(suite.folder, problems.append)
        with tempfile.TemporaryDirectory(prefix="autoreproduce-view-") as plots:
            content = suite_content(suite.folder, rows, Path(plots))
    except AutoReproduceError as error:
        problems.append(str(error))
    return {"suite": suite, "content": content, "problems": problems}


def now_part(trial: ListedTrial, processes: Processes) -> dict[str, Any]:
    """What a trial does at this moment, and what may be done with it."""
    starting = processes.starting(trial.folder) and not trial.running
    return {
        "trial": trial,
        "live": trial.live,
        "status": "starting" if starting else trial.status,
        "output": read_output(trial.folder),
        "may_stop": trial.running and trial.suite is None,
        "may_resume": may_resume(trial) and not starting,
        "complaint": processes.complaint(trial.folder),
    }


def trial_page(trial: ListedTrial, processes: Processes) -> dict[str, Any]:
    """A trial's overview: the sections of its report, as far as it has come."""
    found = gather(trial.folder, versions=False)
    return {**page_content(found, found.task()), **now_part(trial, processes)}


def steps_page(trial: ListedTrial) -> dict[str, Any]:
    """Every step of a trial, by phase."""
    found = gather(trial.folder, versions=False)
    made = lines(found.steps, found.outcome)
    return {"trial": trial, "lines": made, "total": total(made), "problems": found.problems}


def step_page(trial: ListedTrial, place: int) -> dict[str, Any]:
    """One step with its prompt and its reply, or its command and its output."""
    steps = gather(trial.folder, versions=False).steps
    if not 0 <= place < len(steps):
        raise UnknownKeyError(f"this trial has no step {place}", fix="go back to its steps")
    step = steps[place]
    return {
        "trial": trial,
        "step": step,
        "last": len(steps) - 1,
        "prompt": _prompt_of(trial.folder, step),
        "most": MOST_TEXT,
    }


def _prompt_of(folder: Path, step: Step) -> str | None:
    """The prompt that was saved before a step, None if none was (a shared or replayed answer)."""
    name = f"prompts/{step.index:04d}-{step.name.replace('/', '-')}.md"
    return text_in(Tree(folder), name)


def code_page(trial: ListedTrial, file: str | None) -> dict[str, Any]:
    """The program: its files as last committed, what else lies there, versions and executions."""
    found = gather(trial.folder)
    try:
        tracked = tracked_files(trial.folder)
    except AutoReproduceError as error:
        tracked = {}
        found.problems.append(str(error))
    if file is not None and file not in tracked:
        raise UnknownKeyError("the program has no such file", fix="go back to its files")
    others = [name for name in Tree(trial.folder / "workspace").files() if name not in tracked]
    if file is not None:  # the versions of this file alone
        mark = f" b/{file}\n"
        found.commits = [one for one in found.commits if mark in one.diff]
    return {
        **page_content(found, None),
        "trial": trial,
        "tracked": {name: len(text.splitlines()) for name, text in sorted(tracked.items())},
        "others": others[:MOST_WORKSPACE],
        "others_count": len(others),
        "file": file,
        "text": tracked[file] if file is not None else "",
        "most": MOST_TEXT,
    }


def comparison_page(trials: Sequence[ListedTrial]) -> dict[str, Any]:
    """Two trials side by side. Raises UsageError for another number of them."""
    if len(trials) != 2:
        raise UsageError("two trials are compared", fix="choose two in the list")
    first, second = (gather(trial.folder, versions=False) for trial in trials)
    files = [_files_or_none(trial) for trial in trials]
    changed = {
        name: between(files[0].get(name, ""), files[1].get(name, ""))
        for name in sorted({*files[0], *files[1]})
        if files[0].get(name) != files[1].get(name)
    }
    return {
        "trials": trials,
        "facts": _facts(trials, (first, second)),
        "settings": _differing(*(_settings(found) for found in (first, second))),
        "phases": _phases(first, second),
        "claims": _claims(first, second),
        "choices": _differing(*(_choices(found) for found in (first, second))),
        "files": changed,
    }


def _files_or_none(trial: ListedTrial) -> dict[str, str]:
    try:
        return tracked_files(trial.folder)
    except AutoReproduceError:
        return {}


Pair = tuple[str, str, str]


def _facts(trials: Sequence[ListedTrial], found: tuple[Evidence, Evidence]) -> list[Pair]:
    columns = [_facts_of(trial, each) for trial, each in zip(trials, found, strict=True)]
    return [(name, columns[0][name], columns[1][name]) for name in columns[0]]


def _facts_of(trial: ListedTrial, found: Evidence) -> dict[str, str]:
    outcome, sums = found.outcome, total(lines(found.steps, found.outcome))
    metric = outcome.metric if outcome else None
    gap = outcome.gap if outcome else None
    return {
        "task": trial.task,
        "variant": trial.variant,
        "model": found.record.model if found.record else "–",
        "status": trial.status,
        "verdict": (outcome.verdict if outcome else "") or "–",
        "metric": "–" if metric is None else number(metric),
        "gap to the reference": "–" if gap is None else number(gap),
        "integrity": (outcome.integrity if outcome else "") or "–",
        "calls": str(sums.calls),
        "executions": f"{sums.executions}, {sums.failures} failed",
        "tokens in": f"{sums.usage['input']:,}",
        "tokens out": f"{sums.usage['output']:,}",
        "cost": sums.cost_text,
    }


def _settings(found: Evidence) -> dict[str, str]:
    return {
        key: str(value) for key, value in (found.record.settings if found.record else {}).items()
    }


def _choices(found: Evidence) -> dict[str, str]:
    return {
        one.what: f"{one.value}" + ("" if one.used is None else f", used {one.used}")
        for one in found.choices
    }


def _differing(first: dict[str, str], second: dict[str, str]) -> list[Pair]:
    names = dict.fromkeys([*first, *second])
    pairs = [(name, first.get(name, "–"), second.get(name, "–")) for name in names]
    return [pair for pair in pairs if pair[1] != pair[2]]


def _phases(first: Evidence, second: Evidence) -> list[dict[str, Any]]:
    both = [{line.phase: line for line in lines(f.steps, f.outcome)} for f in (first, second)]
    return [
        {"title": phase_words(name), "lines": [side.get(name) for side in both]}
        for name in dict.fromkeys([*both[0], *both[1]])
        if any(name in side and side[name].steps for side in both)
    ]


def _claims(first: Evidence, second: Evidence) -> list[tuple[Any, Any]]:
    return list(zip_longest(claim_rows(first.verdict), claim_rows(second.verdict)))


def _dollars(value: Any) -> str:
    return money(value) if isinstance(value, int | float) else "–"


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None

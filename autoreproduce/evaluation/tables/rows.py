"""The rows of tables. One a trial, read from its folder: what it was, how it ended, its cost, its
scores; and what others printed, marked as published and never mixed into a mean.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from autoreproduce.config import digest
from autoreproduce.content import folder
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.evaluation.judging.asked import ASKED
from autoreproduce.evaluation.scorers import JUDGED, TABLED, Setup
from autoreproduce.evaluation.scorers.execution import ExecutionScorer
from autoreproduce.evaluation.scorers.gap import GapScorer, score_of_gap
from autoreproduce.evaluation.scoring import is_number, read_scores
from autoreproduce.evaluation.statistics import MeanEstimate
from autoreproduce.evaluation.tables.model import Table
from autoreproduce.job import Job
from autoreproduce.task import Task
from autoreproduce.trials.folders import trials_below
from autoreproduce.trials.machines import read_machines
from autoreproduce.trials.result import Result
from autoreproduce.trials.summary import read_json
from autoreproduce.trials.trial import Trial


@dataclass(frozen=True)
class TrialRow:
    """A trial in numbers. None is "not known" or "not scored", never 0."""

    trial: str
    task: str
    profile: str
    variant: str
    solver: str
    model: str
    executed: float | None
    gap: float | None
    signed_gap: float | None
    metric: float | None
    reference: float | None
    dollars: float | None
    tokens: int
    seconds: float
    scores: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, MeanEstimate] = field(default_factory=dict)  # over several readings
    judges: dict[str, str] = field(default_factory=dict)
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)  # by judged level
    edits: dict[str, dict[str, int]] = field(default_factory=dict)
    lineage: dict[str, float] = field(default_factory=dict)
    verdict: str = ""
    judging_tokens: int = 0
    judging_dollars: float | None = None  # None: unknown
    integrity: str = ""  # clean, doubtful or void; "" without a number
    claimed: bool = False  # the metric is the program's own word, and nothing could be recomputed
    isolated: bool = True  # False: its programs could read the user's files
    altered: str = ""  # where its journal was altered after it was written
    mode: str = ""  # what was to be written, and whether a model or a tape answered
    settings: str = ""  # a digest of what the solver was set to, without the seed
    machines: tuple[str, ...] = ()  # the kinds of hardware that it ran on; see `one_machine`
    benchmark: str = ""  # that its task belongs to
    phases: dict[str, dict[str, Any]] = field(default_factory=dict)  # sums of each
    runs: tuple[float, ...] = ()  # the metric of each run behind `metric`, where there are several
    claims: tuple[int, int] = (0, 0)  # of the paper: reproduced, and all that were judged
    differences: int | None = None  # places that can move a number; None: not looked for
    paper: str = ""  # of a task of the user's own: its arXiv ID, or a digest of its file
    paper_name: str = ""


def read_rows(folder: Path, note: Callable[[str], None] = lambda line: None) -> list[TrialRow]:
    """Every finished trial below `folder`, by path. Raises UsageError if there is none.

    A trial that was stopped, or has not ended, has no row, nor has a damaged one, of
    which `note` gets a line.
    One that its own budget or the model's context ended is a failure of its solver, as in its
    suite: without it a table would cover only those that left a number.
    """
    return read_together([folder], note)[0]


def read_together(
    folders: Sequence[Path], note: Callable[[str], None] = lambda line: None
) -> list[list[TrialRow]]:
    """The same of each folder; the task of a name that several papers have, in whichever folder,
    bears its paper's name.
    """
    found = [list(_finished_rows(each, note)) for each in folders]
    for each, rows in zip(folders, found, strict=True):
        if not rows:
            fix = "name a suite's folder, or a folder of trials"
            raise UsageError(f"{each} holds no finished trial", fix=fix)
    told_apart = iter(_by_paper([row for rows in found for row in rows]))
    return [[next(told_apart) for _ in rows] for rows in found]


def _by_paper(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """The rows, with the paper in a task's name where several papers have a task of that name."""
    papers: dict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        papers[row.task].setdefault(row.paper, row.paper_name)

    def task_of(row: TrialRow) -> str:
        names = papers[row.task]
        if len(names) == 1 or not row.paper:
            return row.task
        name = names[row.paper]
        alike = [*names.values()].count(name) > 1
        return f"{row.task} of {name}{f' ({row.paper[:6]})' if alike else ''}"

    return [replace(row, task=task_of(row)) for row in rows]


def one_machine(rows: Iterable[TrialRow]) -> bool:
    """True if all trials ran on one kind of machine: only then do their times compare."""
    return len({kind for row in rows for kind in row.machines}) <= 1


def _finished_rows(folder: Path, note: Callable[[str], None]) -> Iterator[TrialRow]:
    for path in trials_below(folder):
        try:
            trial = Trial.read(path)
            outcome, task = trial.result, trial.record.stored_task()
            if outcome is not None and (outcome.status != "stopped" or failed_in_its_suite(path)):
                yield trial_row(folder, trial, task, outcome)
        except (TrialError, ValueError) as error:
            note(f"{path} is left out: {' '.join(str(error).split())[:300]}")


def failed_in_its_suite(folder: Path) -> bool:
    """What the runner of a suite recorded of a trial that was stopped."""
    return (read_json(folder / "ended.json") or {}).get("status") == "failed"


def trial_row(folder: Path, trial: Trial, task: Task, outcome: Result) -> TrialRow:
    """The row of a trial that ended; its name is its path from `folder`."""
    task_name, variant = _task_and_variant(trial)
    executed, gap, signed = _execution_and_gaps(trial, task, outcome)
    scores, judges, lineage, asked = _latest_scores(trial.folder)
    intervals = _reading_intervals(trial.folder)
    tokens, dollars = _judging_cost(trial.folder)
    paper, paper_name = _paper(trial.record.job) if task.own else ("", "")
    return TrialRow(
        trial=trial.folder.relative_to(folder).as_posix(),
        task=task_name,
        profile=trial.record.profile,
        variant=variant,
        solver=trial.record.system,
        model=trial.record.model,
        executed=executed,
        gap=gap,
        signed_gap=signed,
        metric=outcome.metric if is_number(outcome.metric) else None,
        reference=reference.value if (reference := outcome.reference_of(task)) else None,
        dollars=outcome.cost.dollars,
        tokens=outcome.cost.tokens,
        seconds=outcome.cost.seconds,
        scores=scores,
        intervals={level: found for level, found in intervals.items() if level in scores},
        judges=judges,
        asked=asked,
        edits=outcome.cost.edits,
        lineage=lineage,
        verdict=outcome.verdict,
        judging_tokens=tokens,
        judging_dollars=dollars,
        integrity=outcome.integrity,
        claimed=is_number(outcome.metric) and not outcome.recomputed,
        isolated=outcome.isolated,
        altered=trial.altered,
        mode=f"{task.writes}, answered by {'a tape' if trial.record.replayed else 'a model'}",
        settings=digest({**trial.record.settings, "seed": 0}),
        machines=tuple(each.kind for each in read_machines(trial.folder, trial.record.hardware)),
        benchmark=task.benchmark,
        phases=outcome.cost.phases,
        runs=_run_values(task, outcome),
        claims=(
            sum(one.verdict.word == "reproduced" for one in outcome.judged),
            len(outcome.judged),
        ),
        differences=len(outcome.audit.moving) if outcome.audit else None,
        paper=paper,
        paper_name=paper_name,
    )


def _paper(job: Job) -> tuple[str, str]:
    """What tells the paper of a task from another, and its name: the last of where it lies."""
    if arxiv := job.arxiv or job.of_task.arxiv_id:
        return arxiv, arxiv
    name = "/".join(job.paper.parts[-2:]) if job.paper else ""
    return job.digests.get("paper", name), name


def _run_values(task: Task, outcome: Result) -> tuple[float, ...]:
    """The metric of each run in full: of other seeds, or of the single values that one run lists
    behind its mean; none of a single value.
    """
    verdict = outcome.claims
    if verdict is None or verdict.alike or outcome.metric is None:
        return ()
    values = tuple(
        run.value for run in verdict.runs if run.value is not None and is_number(run.value)
    )
    if len(verdict.runs) == 1:
        values = verdict.runs[0].runs.get(task.metric.name, ())
    return tuple(values) if len(values) > 1 else ()


def _execution_and_gaps(
    trial: Trial, task: Task, outcome: Result
) -> tuple[float | None, float | None, float | None]:
    """Executed, gap and signed gap."""
    if outcome.status == "stopped":  # as for any that left no number
        return 0.0, score_of_gap(task, None).value, None
    gap = GapScorer(Setup()).score(trial, task)
    return ExecutionScorer(Setup()).score(trial, task).value, gap.value, gap.details.get("signed")


def _task_and_variant(trial: Trial) -> tuple[str, str]:
    """Task and variant: by trials/TASK/VARIANT/NUMBER in a suite, else task and solver.

    The folder's name is the one in the suite's file: two tasks of the user's own may have the same
    id.
    """
    parts = trial.folder.resolve().parts
    in_suite = len(parts) > 3 and parts[-4] == "trials"
    return (parts[-3], parts[-2]) if in_suite else (trial.record.task, trial.record.system)


def _latest_scores(
    folder: Path,
) -> tuple[dict[str, float], dict[str, str], dict[str, float], dict[str, dict[str, Any]]]:
    """The latest score of each level, who judged it, the lineage's recall and hits, and what the
    judges were asked with.
    """
    scores: dict[str, float] = {}
    judges: dict[str, str] = {}
    lineage: dict[str, Any] = {}
    asked: dict[str, dict[str, Any]] = {}
    for entry in read_scores(folder):
        if entry.get("scorer") in TABLED and isinstance(entry.get("value"), int | float):
            scores[entry["scorer"]] = float(entry["value"])
            judges[entry["scorer"]] = ", ".join(entry.get("judges", []))
            if entry["scorer"] in JUDGED and entry.get("judges"):
                asked[entry["scorer"]] = entry.get("details", {}).get(ASKED, {})
        if entry.get("scorer") == "lineage":
            lineage = {key: value for key, value in entry.get("details", {}).items() if "@" in key}
    return scores, judges, lineage, asked


def _reading_intervals(folder: Path) -> dict[str, MeanEstimate]:
    """The mean over the readings of each judged level with its interval; none of one reading."""
    found: dict[str, MeanEstimate] = {}
    for entry in read_scores(folder):
        level, details = str(entry.get("scorer")), entry.get("details", {})
        ends = details.get("interval")
        ends = ends if isinstance(ends, list) and len(ends) == 2 else [""]
        readings, spread = details.get("readings"), details.get("spread")
        found.pop(level, None)
        numbers = [entry.get("value"), spread, *ends]
        if level in JUDGED and isinstance(readings, list) and all(map(is_number, numbers)):
            read = sum("parts" in one for one in readings if isinstance(one, dict))
            mean, *others = (float(number) for number in numbers)
            found[level] = MeanEstimate(mean, read, *others)
    return found


def _judging_cost(folder: Path) -> tuple[int, float | None]:
    """Tokens and dollars (None: unknown) of all judged entries of a trial."""
    costs = [entry.get("details", {}).get("cost") for entry in read_scores(folder)]
    known = [cost for cost in costs if isinstance(cost, dict)]
    prices = [cost.get("dollars") for cost in known if cost.get("calls")]
    tokens = sum(int(cost.get("input", 0)) + int(cost.get("output", 0)) for cost in known)
    return tokens, None if None in prices else sum(price or 0.0 for price in prices)


def published_tables(beside: Collection[str]) -> list[Table]:
    """What others printed that belongs below our tables of these names: marked, never mixed in."""
    found: list[Table] = []
    for path in sorted((folder("eval") / "published").glob("*.yaml")):
        for one in yaml.safe_load(path.read_text(encoding="utf-8")).get("tables", []):
            if one["beside"] in beside:
                name, title = f"published_{len(found) + 1}", f"Published: {one['title']}"
                note = f"Not measured here; {one['source']}."
                found.append(Table(name, title, one["columns"], one["rows"], [note]))
    return found

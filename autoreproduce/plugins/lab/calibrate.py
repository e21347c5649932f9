"""`calibrate`: every judge over every case of every task; one table a judge, JSON and Markdown."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoreproduce.benchmarks.reproducebench.tasks import find_task
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.judge import Judge
from autoreproduce.evaluation.judging.material import (
    POINTS_IN_WORDS,
    Material,
    PointsChoice,
    PointsSource,
    judged_material,
    material_of,
)
from autoreproduce.evaluation.scorers import JUDGED, Setup
from autoreproduce.plugins.lab.calibration import Finding, calibrate, cases
from autoreproduce.runner.score import open_judges
from autoreproduce.runner.score_plan import plan_of, questions_of
from autoreproduce.task import Task
from autoreproduce.trials.journal import now, write_whole


@dataclass(frozen=True)
class CalibrationRequest:
    """Which judges are to be calibrated on which tasks. `levels`: none means all that a judge
    gives; `points`: where the key points come from, curated if None.
    """

    tasks: Sequence[str]
    judges: Sequence[str]
    settings: Settings
    home: Path
    repeats: int = 1
    levels: Sequence[str] = ()
    points: PointsSource | None = "curated"
    note: Callable[[str], None] = print


def run_calibration(request: CalibrationRequest) -> bool:
    """Calibrate each judge on each task; True if all came out as expected.

    What was asked before is not asked again.
    """
    levels, tasks = levels_and_tasks(request)
    good = True
    for judge in open_judges(request.judges, request.settings):
        rows: dict[str, list[Finding]] = {}
        for task in tasks:
            setup = Setup([judge], request.repeats, _material(request, task, judge))
            rows[task.id] = calibrate(task, request.home / task.id, setup, levels, request.note)
        write(request, judge.name, rows)
        request.note(markdown(request, judge.name, rows))
        good = good and all(f.as_expected for findings in rows.values() for f in findings)
    return good


def levels_and_tasks(request: CalibrationRequest) -> tuple[Sequence[str], list[Task]]:
    """What is judged, on which tasks. Raises UsageError for an unknown level or task."""
    levels = request.levels or JUDGED
    unknown = [level for level in levels if level not in JUDGED]
    if unknown:
        raise UsageError(
            f"--levels {','.join(unknown)}", fix=f"a judge's levels are {', '.join(JUDGED)}"
        )
    return levels, [find_task(name, request.settings.profile) for name in request.tasks]


def _material(request: CalibrationRequest, task: Task, judge: Judge) -> Material:
    source = request.points or "curated"
    return judged_material(
        task, None, PointsChoice(judge, request.settings, source, note=request.note)
    )


def write(request: CalibrationRequest, judge: str, rows: dict[str, list[Finding]]) -> None:
    """`calibration-JUDGE.json` and `.md` in the calibration's folder."""
    name = "".join(c if c.isalnum() or c in ".-" else "-" for c in judge)
    content: dict[str, Any] = {
        "judge": judge,
        "repeats": request.repeats,
        "points": request.points or "curated",
        "at": now(),
        "tasks": {
            task: [finding.as_dict() for finding in findings] for task, findings in rows.items()
        },
    }
    home = request.home
    home.mkdir(parents=True, exist_ok=True)
    write_whole(home / f"calibration-{name}.json", json.dumps(content, indent=1) + "\n")
    write_whole(home / f"calibration-{name}.md", markdown(request, judge, rows) + "\n")


def markdown(request: CalibrationRequest, judge: str, rows: dict[str, list[Finding]]) -> str:
    """The table of one judge: a row a case, a column a level; what is not as expected is marked."""
    levels = list(dict.fromkeys(f.level for findings in rows.values() for f in findings))
    lines = [
        f"| task | program | {' | '.join(levels)} | expected |",
        f"|---|---|{'---|' * (len(levels) + 1)}",
    ]
    for task, findings in rows.items():
        for case in dict.fromkeys(f.case for f in findings):
            here = {f.level: f for f in findings if f.case == case}
            cells = [_cell(here.get(level)) for level in levels]
            expected = "; ".join(dict.fromkeys(f.expected for f in here.values()))
            lines.append(f"| {task} | {case} | {' | '.join(cells)} | {expected} |")
    readings = f"{request.repeats} {'reading' if request.repeats == 1 else 'readings'}"
    points = POINTS_IN_WORDS[request.points or "curated"]
    head = f"Judge: {judge}, {readings} each; {points}. {_summary(rows)}"
    return "\n".join([head, "", *lines])


def _cell(finding: Finding | None) -> str:
    if finding is None or finding.value is None:
        return "not scored"
    spread = f" ± {finding.spread:.1f}" if finding.spread is not None else ""
    parts = f" ({', '.join(f'{part:.3g}' for part in finding.parts)})" if finding.parts else ""
    return f"{finding.value:.3g}{spread}{parts}{'' if finding.as_expected else ' ✗'}"


def _summary(rows: dict[str, list[Finding]]) -> str:
    """Discrimination, stability and cost in a sentence."""
    findings = [f for those in rows.values() for f in those]
    asked = [f for f in findings if f.cost.get("calls")]
    spreads = [f.spread for f in findings if f.spread is not None]
    dollars = [f.cost.get("dollars") for f in asked]
    known = [price for price in dollars if price is not None]
    price = f"${sum(known):.2f}" if len(known) == len(dollars) else "an unknown price"
    tokens = sum(f.cost["input"] + f.cost["output"] for f in asked)
    stability = f"mean spread over readings {sum(spreads) / len(spreads):.1f}; " if spreads else ""
    right = sum(bool(f.as_expected) for f in findings)
    calls = sum(f.cost["calls"] for f in asked)
    cost = f"{calls} calls, {tokens:,} tokens, {price}"
    return f"As expected: {right} of {len(findings)}; {stability}{cost}."


def plan_of_calibration(request: CalibrationRequest) -> dict[str, Any]:
    """What `calibrate` would ask its judges at most."""
    levels, tasks = levels_and_tasks(request)
    known = [(case.program, task) for task in tasks for case in cases(task)]
    questions = [
        question
        for program, task in known
        for question in questions_of(program, task, material_of(task), levels)
    ]
    return plan_of(len(known), questions, request.judges, request.repeats, request.settings)

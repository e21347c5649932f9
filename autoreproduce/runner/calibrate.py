"""`calibrate`: every judge over every case of every task; one table a judge, JSON and Markdown.

Can a judge be trusted? Programs whose fidelity is known are judged like any others.

Five kinds of program: the task's reference itself; the same renamed and reformatted; the reference
with each of the task's known mistakes; another task's reference; an empty file. A judge that can be
believed gives the first two at least 95, each mistake at most 14 of 20 for every key point that it
breaks ("similar" at best) and less in all than the reference, the other task's at most 15, and the
empty file 0.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from autoreproduce.benchmarks.reproducebench.altered import with_mistake
from autoreproduce.benchmarks.reproducebench.tasks import (
    find_task,
    load_task,
    task_file,
    task_folders,
)
from autoreproduce.contracts import Score
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.disguise import disguise
from autoreproduce.evaluation.judging.material import (
    POINTS_IN_WORDS,
    PointsChoice,
    judged_material,
    material_of,
)
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.scorers import JUDGED, Setup, open_scorers
from autoreproduce.evaluation.scoring import score_trial
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.job import Job, Judging, now
from autoreproduce.runner.score import open_judges
from autoreproduce.runner.score_plan import plan_of, questions_of
from autoreproduce.task import Task
from autoreproduce.trials.journal import write_whole

WHOLE, OTHER, BROKEN = 95.0, 15.0, 14.0


@dataclass(frozen=True)
class Case:
    """One program of known fidelity. `broken`: the key points (from 1) that its mistake breaks."""

    kind: str
    name: str
    program: Sources
    broken: tuple[int, ...] = ()


@dataclass(frozen=True)
class Finding:
    """What one level gave one case. `as_expected` is None if it was not scored."""

    case: str
    level: str
    expected: str
    value: float | None
    spread: float | None
    parts: list[float]
    as_expected: bool | None
    reason: str = ""
    cost: dict[str, Any] = field(default_factory=dict)


def cases(task: Task) -> list[Case]:
    """The programs of known fidelity for a task. Raises UsageError if it has no reference."""
    reference = material_of(task).reference
    if reference is None or task.folder is None:
        raise UsageError(
            f"task {task.id} has no reference program",
            fix="calibrate with one of the benchmark's tasks",
        )
    broken = [b for b in task_file(task.folder).breaking if b.edits]
    return [
        Case("itself", "the reference itself", reference),
        Case("disguised", "renamed and reformatted", Sources(disguise(reference.files))),
        *(
            Case("mistake", b.mistake, Sources(with_mistake(reference.files, b)), tuple(b.points))
            for b in broken
        ),
        *_other_cases(task),
        Case("empty", "an empty file", Sources({"main.py": ""})),
    ]


def _other_cases(task: Task) -> list[Case]:
    """The reference of the next task of the benchmark, in the order of names."""
    names = [path.name for path in task_folders()]
    others = [*names[names.index(task.id) + 1 :], *names[: names.index(task.id)]]
    if not others:
        return []
    program = material_of(load_task(others[0])).reference or Sources({})
    return [Case("other", f"another task's code ({others[0]})", program)]


def calibrate(
    task: Task, home: Path, setup: Setup, levels: Sequence[str], note: Callable[[str], None]
) -> list[Finding]:
    """Judge every case at every level, below the folder `home`; no question is asked twice.

    Points that a mistake breaks are looked at if the key points are the curated ones, which the
    task's mistakes name.
    """
    scorers = open_scorers(levels, setup)
    curated = setup.material.points_source == "curated"
    findings: list[Finding] = []
    for number, case in enumerate(cases(task), 1):
        known = case if curated else replace(case, broken=())
        note(f"{task.id}: {case.name}")
        folder = home / f"{number:02d}-{case.kind}"
        lay_out(folder, case.program, task).close()
        scores = score_trial(folder, task, scorers)
        findings += [finding(known, score, findings) for score in scores]
    return findings


def finding(case: Case, score: Score, earlier: Sequence[Finding] = ()) -> Finding:
    """The result of a score; a mistake has to stay below the reference's own among `earlier`."""
    parts = list(score.details.get("parts", []))
    own = next(
        (f.value for f in earlier if f.level == score.scorer and f.case == "the reference itself"),
        None,
    )
    expected, good = _expectation(case, score.scorer, score.value, parts, own)
    return Finding(
        case.name,
        score.scorer,
        expected,
        score.value,
        score.details.get("spread"),
        parts,
        None if score.value is None else good,
        score.reason,
        dict(score.details.get("cost", {})),
    )


def _expectation(
    case: Case, level: str, value: float | None, parts: list[float], own: float | None
) -> tuple[str, bool]:
    """What is expected of a case at a level, in words, and whether `value` and `parts` are so."""
    got = -1.0 if value is None else value
    if case.kind in ("itself", "disguised"):
        return f"at least {WHOLE:g}", got >= WHOLE
    if case.kind == "other":
        return f"at most {OTHER:g}", got <= OTHER
    if case.kind == "empty":
        return "0", got == 0
    below = own is None or got < own
    if level == "code" or not case.broken:
        return "below the reference", below
    named = " and ".join(str(number) for number in case.broken)
    lost = all(parts[number - 1] <= BROKEN for number in case.broken) if parts else False
    return f"point {named} at most {BROKEN:g}, and below the reference", below and lost


def run_calibration(names: Sequence[str], job: Job, note: Callable[[str], None] = print) -> bool:
    """Calibrate each of the job's judges on each task; True if all came out as expected.

    What was asked before is not asked again.
    """
    levels, tasks = levels_and_tasks(names, job)
    good, asked = True, job.to_judge
    home = job.out or job.settings.runs_dir / "calibration"
    for judge in open_judges(asked.judges, job.settings):
        rows: dict[str, list[Finding]] = {}
        for task in tasks:
            choice = PointsChoice(judge, job.settings, asked.points or "curated", note=note)
            setup = Setup([judge], asked.repeats, judged_material(task, None, choice))
            rows[task.id] = calibrate(task, home / task.id, setup, levels, note)
        write(home, asked, judge.name, rows)
        note(markdown(asked, judge.name, rows))
        good = good and all(f.as_expected for findings in rows.values() for f in findings)
    return good


def levels_and_tasks(names: Sequence[str], job: Job) -> tuple[Sequence[str], list[Task]]:
    """What is judged, on which tasks. Raises UsageError for an unknown level or task."""
    levels = job.to_judge.levels or JUDGED
    unknown = [level for level in levels if level not in JUDGED]
    if unknown:
        raise UsageError(
            f"--levels {','.join(unknown)}", fix=f"a judge's levels are {', '.join(JUDGED)}"
        )
    return levels, [find_task(name, job.settings.profile) for name in names]


def write(home: Path, asked: Judging, judge: str, rows: dict[str, list[Finding]]) -> None:
    """`calibration-JUDGE.json` and `.md` in the calibration's folder."""
    name = "".join(c if c.isalnum() or c in ".-" else "-" for c in judge)
    content: dict[str, Any] = {
        "judge": judge,
        "repeats": asked.repeats,
        "points": asked.points or "curated",
        "at": now(),
        "tasks": {
            task: [asdict(finding) for finding in findings] for task, findings in rows.items()
        },
    }
    home.mkdir(parents=True, exist_ok=True)
    write_whole(home / f"calibration-{name}.json", json.dumps(content, indent=1) + "\n")
    write_whole(home / f"calibration-{name}.md", markdown(asked, judge, rows) + "\n")


def markdown(asked: Judging, judge: str, rows: dict[str, list[Finding]]) -> str:
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
    readings = f"{asked.repeats} {'reading' if asked.repeats == 1 else 'readings'}"
    points = POINTS_IN_WORDS[asked.points or "curated"]
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


def plan_of_calibration(names: Sequence[str], job: Job) -> dict[str, Any]:
    """What `calibrate` would ask its judges at most."""
    levels, tasks = levels_and_tasks(names, job)
    judges, repeats = job.to_judge.judges, job.to_judge.repeats
    known = [(case.program, task) for task in tasks for case in cases(task)]
    questions = [
        question
        for program, task in known
        for question in questions_of(program, task, material_of(task), levels)
    ]
    return plan_of(len(known), questions, judges, repeats, job.settings)

"""Can a judge be trusted? Programs whose fidelity is known are judged like any others.

Five kinds of program: the task's reference itself; the same renamed and reformatted; the reference
with each of the task's known mistakes; another task's reference; an empty file. A judge that can be
believed gives the first two at least 95, each mistake at most 14 of 20 for every key point that it
breaks ("similar" at best) and less in all than the reference, the stranger at most 15, and the
empty file 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from autoreproduce.benchmarks.reproducebench.altered import with_mistake
from autoreproduce.benchmarks.reproducebench.tasks import load_task, task_file, task_folders
from autoreproduce.contracts import Score
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.material import material_of
from autoreproduce.evaluation.judging.submitted_code import Program
from autoreproduce.evaluation.scorers import Setup, open_scorers
from autoreproduce.evaluation.scoring import score_trial
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.plugins.lab.disguise import disguise
from autoreproduce.task import Task

WHOLE, STRANGER, BROKEN = 95.0, 15.0, 14.0


@dataclass(frozen=True)
class Case:
    """One program of known fidelity. `broken`: the key points (from 1) that its mistake breaks."""

    kind: str
    name: str
    program: Program
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

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


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
        Case("disguised", "renamed and reformatted", Program(disguise(reference.files))),
        *(
            Case("mistake", b.mistake, Program(with_mistake(reference.files, b)), tuple(b.points))
            for b in broken
        ),
        *_stranger_cases(task),
        Case("empty", "an empty file", Program({"main.py": ""})),
    ]


def _stranger_cases(task: Task) -> list[Case]:
    """The reference of the next task of the benchmark, in the order of names."""
    names = [path.name for path in task_folders()]
    others = [*names[names.index(task.id) + 1 :], *names[: names.index(task.id)]]
    if not others:
        return []
    program = material_of(load_task(others[0])).reference or Program({})
    return [Case("stranger", f"another task's code ({others[0]})", program)]


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
    if case.kind == "stranger":
        return f"at most {STRANGER:g}", got <= STRANGER
    if case.kind == "empty":
        return "0", got == 0
    below = own is None or got < own
    if level == "code" or not case.broken:
        return "below the reference", below
    named = " and ".join(str(number) for number in case.broken)
    lost = all(parts[number - 1] <= BROKEN for number in case.broken) if parts else False
    return f"point {named} at most {BROKEN:g}, and below the reference", below and lost

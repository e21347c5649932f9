"""The align-scores: a judge reads the program against the paper, the reference, or both.

Source: AutoReproduce (arXiv 2505.20662), section 4.3 and appendix A. Paper level: five key points, 0 to 20
each. Code level: four axes, 0 to 25 each, against the reference. Mixed level: the points again, with the
reference as the ground truth for what each means. All sum to 100. A program without code is 0 and is not
shown to a judge; a judge that gave no usable reply gives no score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autoreproduce import Score
from autoreproduce.eval.judging.agreement import agreement, together
from autoreproduce.eval.judging.blind import Blind, blind
from autoreproduce.eval.judging.judge import Reading
from autoreproduce.eval.judging.material import program_of
from autoreproduce.eval.judging.packing import Packed, pack
from autoreproduce.eval.judging.program import Program
from autoreproduce.eval.judging.verdicts import (
    AXES,
    AXIS_BANDS,
    POINT_BANDS,
    Axis,
    CodeVerdict,
    MixedVerdict,
    PaperPoint,
    PaperVerdict,
)

if TYPE_CHECKING:
    from autoreproduce.eval.scorers import Setup
    from autoreproduce.task import Task
    from autoreproduce.trial import Trial

Verdict = PaperVerdict | MixedVerdict | CodeVerdict


class _Level:
    """What the three levels share: blind, pack, ask each judge as often as wanted, put together."""

    name = ""
    schema: type[Verdict]
    bands = POINT_BANDS
    with_points = True
    with_reference = True

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def score(self, trial: Trial, task: Task) -> Score:
        """The mean over judges and repeats, in 0 to 100; None where no reply could be used."""
        missing = self._missing()
        if missing:
            return Score(self.name, None, missing)
        program = program_of(trial.folder, task)
        if program.empty:
            return Score(self.name, 0.0, "there is no code to judge")
        return self._judged(trial, task, program)

    def _missing(self) -> str:
        material = self.setup.material
        if self.with_points and not material.points:
            return "the task has no key points: give the paper by --paper, and a judge writes them"
        if self.with_reference and material.reference is None:
            return "the task has no reference program: give one by --reference"
        return ""

    def _judged(self, trial: Trial, task: Task, program: Program) -> Score:
        unnamed = blind(program)
        packed = pack(unnamed, self.setup.room)
        if len(packed.left_out) == len(unnamed.files):
            why = f"not scored: no file fits into a judge's {self.setup.room:,} tokens; hand in less, or smaller files"
            return Score(self.name, None, why, {"left_out": packed.left_out})
        reference = blind(self.setup.material.reference) if self.setup.material.reference else None
        shown = {
            "task": task, "given": _given(task), "generated": packed, "bands": self.bands,
            "points": self.setup.material.points if self.with_points else [],
            "reference": pack(reference, self.setup.room) if reference and self.with_reference else None,
        }  # fmt: skip
        readings: list[Reading[Any]] = [
            judge.ask(trial.folder, task, self.name, self.schema, repeat, **shown)
            for judge in self.setup.judges
            for repeat in range(1, self.setup.repeats + 1)
        ]
        return _score(self.name, readings, self.bands, _context(unnamed, reference, packed, program))


class PaperLevel(_Level):
    """Five key points of the paper against the program."""

    name = "paper"
    schema = PaperVerdict
    with_reference = False


class MixedLevel(_Level):
    """Five key points of the paper, as the reference does them, against the program."""

    name = "mixed"
    schema = MixedVerdict


class CodeLevel(_Level):
    """The program against the reference, along four axes."""

    name = "code"
    schema = CodeVerdict
    bands = AXIS_BANDS
    with_points = False


def parts_of(verdict: Verdict) -> Sequence[PaperPoint] | Sequence[Axis]:
    """The points by number, or the axes in their order."""
    if isinstance(verdict, CodeVerdict):
        return sorted(verdict.axes, key=lambda axis: AXES.index(axis.axis))
    return sorted(verdict.points, key=lambda point: point.number)


def _score(
    level: str, readings: list[Reading[Any]], bands: tuple[tuple[int, int, str], ...], context: dict[str, Any]
) -> Score:
    """All readings as one score; those without a verdict are told apart, with the reply kept."""
    good = [reading for reading in readings if reading.verdict is not None]
    details: dict[str, Any] = {
        **context,
        "readings": [_reading(reading) for reading in readings],
        "cost": _cost(readings),
    }
    if not good:
        return Score(level, None, f"not scored: {readings[0].reason}", details)
    scores = [[part.score for part in parts_of(reading.verdict)] for reading in good if reading.verdict]
    summary = together([(reading.judge, float(sum(row))) for reading, row in zip(good, scores, strict=True)])
    details |= {
        **summary,
        "parts": [sum(column) / len(column) for column in zip(*scores, strict=True)],
        "agreement": agreement(scores, bands),
    }
    failed = len(readings) - len(good)
    reason = f"mean of {len(good)} readings" + (f"; {failed} could not be used" if failed else "")
    return Score(level, summary["mean"], reason, details)


def _reading(reading: Reading[Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {"judge": reading.judge, "repeat": reading.repeat}
    if reading.verdict is None:
        return {**kept, "reason": reading.reason, "reply": reading.reply}
    return {**kept, "parts": [part.model_dump() for part in parts_of(reading.verdict)]}


def _cost(readings: list[Reading[Any]]) -> dict[str, Any]:
    """Tokens, dollars (None: unknown) and seconds of all readings."""
    steps = [step for reading in readings for step in reading.steps]
    prices = [step.result["price"] for step in steps]
    return {
        "calls": len(steps),
        **{kind: sum(step.result["usage"][kind] for step in steps) for kind in ("input", "cached", "output")},
        "dollars": None if None in prices else sum(prices),
        "seconds": round(sum(step.seconds for step in steps), 1),
    }


def _context(generated: Blind, reference: Blind | None, packed: Packed, program: Program) -> dict[str, Any]:
    """What the judge saw under which name, and what it did not see."""
    return {
        "files": {file.name: file.original for file in generated.files},
        "reference_files": {file.name: file.original for file in reference.files} if reference else {},
        "left_out": packed.left_out,
        "unread": program.unread,
        "addressed_the_judge": [vars(item) for item in generated.removed],
    }


def _given(task: Task) -> str:
    if not task.preprocess:
        return ""
    return pack(blind(Program({"preprocess.py": task.preprocess})), 20_000).text

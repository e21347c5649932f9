"""The align-scores: a judge reads the program against the paper, the reference, or both.

Source: AutoReproduce (arXiv 2505.20662), section 4.3 and appendix A. Paper level: five key points,
0 to 20 each. Code level: four axes, 0 to 25 each, against the reference. Mixed level: the points
again, with the reference as the ground truth for what each means. All sum to 100. A program without
code is 0 and is not shown to a judge; a judge that gave no usable reply gives no score.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean, stdev
from typing import Any

from autoreproduce.contracts import Score
from autoreproduce.evaluation.judging.asked import ASKED, asked_with
from autoreproduce.evaluation.judging.blind import Blind, BlindFile, blind
from autoreproduce.evaluation.judging.judge import Reading
from autoreproduce.evaluation.judging.material import POINTS_IN_WORDS, program_of
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.judging.verdicts import (
    AXES,
    AXIS_BANDS,
    POINT_BANDS,
    POINT_MEANINGS,
    Axis,
    CodeVerdict,
    MixedVerdict,
    PaperPoint,
    PaperVerdict,
    band_of,
    between_bands,
)
from autoreproduce.evaluation.scorers import Scorer
from autoreproduce.evaluation.statistics import estimate, krippendorff_alpha
from autoreproduce.models.tokens import rough_tokens
from autoreproduce.task import Task
from autoreproduce.trials.steps import sums_of
from autoreproduce.trials.trial import Trial

# Packs programs into a judge's prompt: numbered, whole if they fit, else by relevance.
#
# What is left out is named to the judge and in the score: a judge that was not shown the training
# loop must not be read as one that found it missing.


LONGEST = 400  # characters of one line; what is longer is data
_TELLS = re.compile(
    r"nn\.Module|optim\.|\.backward\(|DataLoader|loss|def forward|torch|\bepochs?\b"
    r"|jax|keras|sklearn",
    re.IGNORECASE,
)
_SIDE = re.compile(r"(^|/)(tests?|docs?|examples?|setup|scripts?|plot|vis)[^/]*", re.IGNORECASE)


@dataclass(frozen=True)
class Packed:
    """`text` as the judge sees it; `left_out`: paths that did not fit, the most relevant first."""

    text: str
    left_out: list[str] = field(default_factory=list)


def pack(program: Blind, limit: int) -> Packed:
    """The program's files as numbered listings within `limit` tokens, by relevance."""
    shown, left_out, room = dict[str, str](), [], limit
    for file in sorted(program.files, key=relevance, reverse=True):
        listing = _listing(file)
        cost = rough_tokens(listing)
        if cost <= room:
            shown[file.name] = listing
            room -= cost
        else:
            left_out.append(file.original)
    text = "\n\n".join(shown[file.name] for file in program.files if file.name in shown)
    return Packed(text or "(no code)", left_out)


def relevance(file: BlindFile) -> tuple[int, float, int]:
    """The key by which files are packed: code before configuration, core before side work.

    Then what looks more like training comes first.
    """
    code = 2 * int(file.original.endswith(".py")) + int(not _SIDE.search(file.original))
    return code, float(len(_TELLS.findall(file.text))), -len(file.text)


def _listing(file: BlindFile) -> str:
    lines = [
        (n, _shortened(line)) for n, line in enumerate(file.text.split("\n"), 1) if line.strip()
    ]
    return "\n".join([f"=== {file.name} ===", *(f"{n:>4}|{line}" for n, line in lines)])


def _shortened(line: str) -> str:
    if len(line) <= LONGEST:
        return line
    return f"{line[:LONGEST]} … ({len(line) - LONGEST} more characters)"


def together(totals: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Mean and spread (standard deviation, None for one) of readings, and each judge's own mean.

    `totals`: (judge, total) of each reading.
    """
    values = [value for _, value in totals]
    judges = sorted({judge for judge, _ in totals})
    return {
        "mean": fmean(values),
        "spread": stdev(values) if len(values) > 1 else None,
        "lowest": min(values),
        "highest": max(values),
        "judges": {
            judge: fmean(value for name, value in totals if name == judge) for judge in judges
        },
    }


def chance_corrected(
    judges: Sequence[str], parts: Sequence[Sequence[int]]
) -> dict[str, dict[str, float | int | None]]:
    """Krippendorff's α over a program's parts, with the number of parts and of raters: between the
    judges (each its mean over repeats), and between the repeats of each judge.

    `judges`: of each reading; `parts`: the scores of each reading, (readings, parts).
    """
    by_judge = {
        name: [row for judge, row in zip(judges, parts, strict=True) if judge == name]
        for name in sorted(set(judges))
    }
    means = [[fmean(column) for column in zip(*rows, strict=True)] for rows in by_judge.values()]
    groups: dict[str, Sequence[Sequence[float]]] = {"between judges": means, **by_judge}
    return {name: _alpha_entry(rows) for name, rows in groups.items() if len(rows) > 1}


def _alpha_entry(rows: Sequence[Sequence[float]]) -> dict[str, float | int | None]:
    units = list(zip(*rows, strict=True))
    return {"alpha": krippendorff_alpha(units), "n": len(units), "raters": len(rows)}


def agreement(
    parts: Sequence[Sequence[int]], bands: tuple[tuple[int, int, str], ...]
) -> float | None:
    """The share of pairs of readings that put a part into the same band; None for one reading.

    `parts`: the scores of each reading, in one order: (readings, parts).
    """
    pairs = [
        band_of(one, bands) == band_of(other, bands)
        for first, second in combinations(parts, 2)
        for one, other in zip(first, second, strict=True)
    ]
    return sum(pairs) / len(pairs) if pairs else None


Verdict = PaperVerdict | MixedVerdict | CodeVerdict
REFERENCE_STEM = "reference"  # its files are reference_1.py, …, beside the program's file_1.py


class _AlignScorer(Scorer):
    """What the three levels share: blind, pack, ask each judge as often as wanted, put together."""

    name = ""
    schema: type[Verdict]
    bands = POINT_BANDS
    with_points = True
    with_reference = True

    def score(self, trial: Trial, task: Task) -> Score:
        """The mean over judges and repeats, in 0 to 100; None if no reply could be used."""
        missing = self._missing_material()
        if missing:
            return Score(self.name, None, missing)
        program = program_of(trial.folder, task)
        if program.empty:
            return Score(self.name, 0.0, "there is no code to judge")
        return self._judged_score(trial, task, program)

    def _missing_material(self) -> str:
        material = self.setup.material
        if self.with_points and not material.points:
            return (
                "the task has no key points: give the paper with --paper, and a judge writes them"
            )
        if self.with_reference and material.reference is None:
            return "the task has no reference program: give one with --reference"
        return ""

    def shown_to_judge(self, task: Task, program: Sources) -> dict[str, Any]:
        """The variables of the level's prompt."""
        return self._shown(task, pack(blind(program), self.setup.room))

    def _shown(self, task: Task, packed: Packed) -> dict[str, Any]:
        reference = self._reference() if self.with_reference else None
        return {
            "task": task,
            "given": _given_data_code(task),
            "generated": packed,
            "bands": self.bands,
            "meanings": POINT_MEANINGS,
            "unheld": between_bands(self.bands),
            "points": self.setup.material.points if self.with_points else [],
            "reference": pack(reference, self.setup.room) if reference else None,
        }

    def _reference(self) -> Blind | None:
        reference = self.setup.material.reference
        return blind(reference, REFERENCE_STEM) if reference else None

    def _judged_score(self, trial: Trial, task: Task, program: Sources) -> Score:
        unnamed = blind(program)
        packed = pack(unnamed, self.setup.room)
        if len(packed.left_out) == len(unnamed.files):
            why = (
                f"not scored: no file fits into a judge's {self.setup.room:,} tokens; hand in less,"
                " or smaller files"
            )
            return Score(self.name, None, why, {"left_out": packed.left_out})
        shown = self._shown(task, packed)
        readings: list[Reading[Any]] = [
            judge.ask(trial.folder, self.name, self.schema, repeat, **shown)
            for judge in self.setup.judges
            for repeat in range(1, self.setup.repeats + 1)
        ]
        context = _what_was_shown(unnamed, self._reference(), packed, program)
        context[ASKED] = asked_with(
            self.setup.judges,
            self.setup.material,
            readings,
            with_points=self.with_points,
            with_reference=self.with_reference,
        )
        return _score_of_readings(self.name, readings, self.bands, context)


class PaperLevel(_AlignScorer):
    """Five key points of the paper against the program."""

    name = "paper"
    schema = PaperVerdict
    with_reference = False


class MixedLevel(_AlignScorer):
    """Five key points of the paper, as the reference does them, against the program."""

    name = "mixed"
    schema = MixedVerdict


class CodeLevel(_AlignScorer):
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


def _score_of_readings(
    level: str,
    readings: list[Reading[Any]],
    bands: tuple[tuple[int, int, str], ...],
    context: dict[str, Any],
) -> Score:
    """All readings as one score; those without a verdict are listed separately, with the reply."""
    good = [reading for reading in readings if reading.verdict is not None]
    details: dict[str, Any] = {
        **context,
        "readings": [_reading_entry(reading) for reading in readings],
        "cost": sums_of([step for reading in readings for step in reading.steps]),
    }
    if not good:
        return Score(level, None, f"not scored: {readings[0].reason}", details)
    scores = [
        [part.score for part in parts_of(reading.verdict)] for reading in good if reading.verdict
    ]
    totals = [float(sum(row)) for row in scores]
    summary = together(
        [(reading.judge, total) for reading, total in zip(good, totals, strict=True)]
    )
    details |= {
        **summary,
        "parts": [sum(column) / len(column) for column in zip(*scores, strict=True)],
        "agreement": agreement(scores, bands),
        "alpha": chance_corrected([reading.judge for reading in good], scores),
        "interval": _interval(totals),
    }
    failed = len(readings) - len(good)
    reason = f"mean of {len(good)} readings" + (f"; {failed} could not be used" if failed else "")
    if points := context[ASKED]["points"]:
        reason += f"; {POINTS_IN_WORDS[points['source']]}"
    return Score(level, summary["mean"], reason, details)


def _interval(totals: list[float]) -> list[float | None] | None:
    """The ends of the mean's 95 % bootstrap interval over readings; None for one reading."""
    found = estimate(totals)
    return [found.low, found.high] if found and found.count > 1 else None


def _reading_entry(reading: Reading[Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"judge": reading.judge, "repeat": reading.repeat}
    if reading.verdict is None:
        return {**entry, "reason": reading.reason, "reply": reading.reply}
    return {**entry, "parts": [part.model_dump() for part in parts_of(reading.verdict)]}


def _what_was_shown(
    generated: Blind, reference: Blind | None, packed: Packed, program: Sources
) -> dict[str, Any]:
    """What the judge saw under which name, and what it did not see."""
    return {
        "files": {file.name: file.original for file in generated.files},
        "reference_files": (
            {file.name: file.original for file in reference.files} if reference else {}
        ),
        "left_out": packed.left_out,
        "unread": program.unread,
        "addressed_the_judge": [vars(item) for item in generated.addresses],
    }


def _given_data_code(task: Task) -> str:
    if not task.preprocess:
        return ""
    seen = blind(Sources({"preprocess.py": task.preprocess}))
    named = [replace(file, name=file.original) for file in seen.files]  # programs import it so
    return pack(replace(seen, files=named), 20_000).text

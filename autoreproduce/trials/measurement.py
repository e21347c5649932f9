"""What the harness made of a submission, by one set of rules for whoever submitted it.

Predictions decide. A number that the program claims counts only where nothing can be recomputed,
and then `recomputed` is False. Where both are there and differ by more than rounding, that is a
warning. Nothing is measured from absence: where a task asks for predictions and they are missing or
cannot be used, there is no number, nor where it is too large to be averaged. A program from outside
whose user says where its number is (`program_output`) was not asked for predictions: its number
is its own word. Every number has a
verdict on its integrity beside it (`integrity.py`); where the run saw decoys, the program's own
claim is about them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from autoreproduce.contracts import Execution, Submission
from autoreproduce.errors import CommandError
from autoreproduce.files.bounded import is_usable
from autoreproduce.files.shared import read_plain
from autoreproduce.task import Task
from autoreproduce.trials.derivation import DerivedMetrics, metrics_from
from autoreproduce.trials.integrity import CLAIM, Integrity, RunEvidence, Withheld, integrity_of
from autoreproduce.trials.metrics_file import MetricsFile, usable_metrics
from autoreproduce.trials.pair import Pair
from autoreproduce.trials.predictions_file import entries_saved
from autoreproduce.trials.printed import without_escapes
from autoreproduce.trials.served import Served

_ERROR = re.compile(r"[\w.]*(?:Error|Exception|Interrupt|Exit)\b")
FEWEST_DIGITS = 3  # that two numbers share not by chance
_VALIDATION = re.compile(r"(?<![a-z])(?:validation|valid|val|dev)(?![a-z])", re.IGNORECASE)
_SPLIT = r"(?P<split>validation|valid|val|dev|test)"
_PRINTED = re.compile(  # "val acc 0.712", "test_acc=0.712"
    rf"(?<![a-z]){_SPLIT}(?:[ _-](?P<what>[a-z]\w*))?[\s:=(]{{1,4}}(?P<number>\d+\.\d+)",
    re.IGNORECASE,
)


def equal_splits(metrics: Mapping[str, float], printed: str = "") -> str:
    """A sentence on a validation number that is its test number to the last digit; "" if none is.

    `metrics`: by name, as the program wrote them. `printed`: what it printed, whose last line with
    both numbers counts.
    """
    for name, value in metrics.items():
        other = _VALIDATION.sub("test", name.replace("_", " "))
        twin = next((key for key in metrics if key.replace("_", " ") == other and key != name), "")
        if twin and metrics[twin] == value and _digits(f"{value:.12g}") >= FEWEST_DIGITS:
            return _sentence(name, twin, f"{value:.6g}")
    lines = list(_lines_with_both(printed))
    if lines and lines[-1][1] == lines[-1][3]:
        name, shown, twin, _ = lines[-1]
        return _sentence(name, twin, shown)
    return ""


def _sentence(validation: str, test: str, value: str) -> str:
    return (
        f"{validation} and {test} are the same number to the last digit ({value}): read whether "
        "the number that is stated of the test split was computed on it"
    )


def _lines_with_both(printed: str) -> Iterator[tuple[str, str, str, str]]:
    """(name, number) of the validation and of the test split, of each line that has both."""
    for line in printed.splitlines():
        found: dict[tuple[bool, str], tuple[str, str]] = {}
        for match in _PRINTED.finditer(line):
            what = (match["what"] or "").casefold()
            is_test = match["split"].casefold() == "test"
            name = " ".join(filter(None, (match["split"], match["what"])))
            found[is_test, what] = (name, match["number"])
        for (is_test, what), validation in found.items():
            test = found.get((True, what))
            if not is_test and test and _digits(validation[1]) >= FEWEST_DIGITS:
                yield (*validation, *test)


def _digits(number: str) -> int:
    """How many digits a number has, without zeros at either end."""
    return len(re.sub(r"\D", "", number).strip("0"))


FILE = "measurement.json"
MEDIAN = "median "  # over runs, before a definition of one run's number; else it's their mean
OWN_WORD = (
    "the number is the program's own word: the task recomputes its metric from predictions, which "
    "a program that is read with --metric-from is not asked for"
)


class Measurement(BaseModel):
    """What was measured: `number` in a trial's result, measurement.json of a run with another seed.

    `value` None has its `reason`. `wanted` False: no number is wanted of it here (it is graded
    elsewhere, or there is nothing to measure), so its absence is no failure. `passed` is the
    benchmark's own verdict where it has one. `summary` goes into the outcome's details; `details`
    holds all of it, by experiment.
    """

    # a null in place of a NaN could not be read again as a number
    model_config = ConfigDict(ser_json_inf_nan="constants")

    metrics: dict[str, FiniteFloat] = Field(
        {}, description="all numbers that were claimed, by name"
    )
    runs: dict[str, list[float]] = Field(
        {}, description="the single values that were claimed behind a mean, by its name"
    )
    entries: dict[str, int] = Field(
        {}, description="entries of saved predictions by metric, where none is recomputed"
    )
    recounted: dict[str, str] = Field(
        {}, description="by which definition a number comes from saved predictions, by its name"
    )
    runs_recounted: list[str] = Field(
        [],
        description="means of which each run's number was recomputed; `runs` has them",
        exclude_if=lambda names: not names,
    )
    not_recomputed: dict[str, str] = Field(
        {},
        description="why a number wasn't, and the step that would change it, by its name",
        exclude_if=lambda why: not why,
    )
    derived: dict[str, str] = Field(
        {},
        description="in words, how a number comes from what the run wrote, by its name",
        exclude_if=lambda words: not words,
    )
    scales: dict[str, Literal["fraction", "percent"]] = Field(
        {},
        description="whether numbers are fractions or percentages, by name, where that is known",
        exclude_if=lambda scales: not scales,
    )
    lines: dict[str, str] = Field(
        {},
        description="the printed line of a number that was read as it stands, by its name",
        exclude_if=lambda lines: not lines,
    )
    missing: dict[str, str] = Field(
        {},
        description="why the program gave no number, by the name that it should have",
        exclude_if=lambda why: not why,
    )
    value: FiniteFloat | None = Field(None, description="the number that counts")
    claimed: FiniteFloat | None = Field(None, description="what the program itself wrote")
    recomputed: bool = Field(False, description="by the harness, and not taken from the program")
    reason: str = ""
    phase: str = Field("", description="where something was run again to measure it")
    wanted: bool = True
    passed: bool | None = None
    failed_after: str = Field(
        "",
        description="how the program failed after it had written these numbers",
        exclude_if=lambda how: not how,
    )
    warnings: list[str] = []
    notes: list[str] = []
    summary: dict[str, Any] = {}
    details: dict[str, Any] = {}
    decoys: FiniteFloat | None = Field(
        None, description="the metric against the decoys that the run was given; a claim is theirs"
    )
    pair: Pair | None = Field(None, description="where the run's data were drawn for it")
    served: Served | None = Field(None, description="where the program handed in its weights")
    integrity: Integrity | None = Field(None, description="None where there is no number")


@dataclass(frozen=True)
class Recomputed:
    """The metric from saved predictions. `value` None has its `reason`.

    `possible` False: nothing that was submitted could change it, because the task has no code for
    its metric (no `reason`), or the truth is not on this machine.
    """

    value: float | None
    reason: str = ""
    possible: bool = True


@dataclass(frozen=True)
class Recount:
    """A metric with a well-known name, again from saved predictions: each value that the name may
    mean, by definition. `saved`: against the targets that the program had; `truth`: against those
    that were withheld from it. Both empty: there's a `reason`. `runs`: of each run of a mean,
    where each run's predictions were saved. `arrays`: those that were found by their number.
    """

    saved: dict[str, float] = dataclass_field(default_factory=dict)
    truth: dict[str, float] = dataclass_field(default_factory=dict)
    reason: str = ""
    runs: tuple[Recount, ...] = ()
    arrays: str = ""

    def nearest(self, written: float | None) -> str:
        """The definition that is nearest to what the program wrote; "" if nothing was computed."""
        own = self.saved or self.truth
        usable = [name for name, value in own.items() if math.isfinite(value)]
        if written is None or not usable:
            return next(iter(usable), "")
        return min(usable, key=lambda name: abs(own[name] - written))

    def differs(self, definition: str, written: float | None) -> bool:
        """Whether the program wrote another number, beyond rounding."""
        own = (self.saved or self.truth)[definition]
        return written is not None and abs(own - written) > CLAIM * max(abs(own), abs(written))


def measured_from(
    task: Task,
    workspace: Path,
    found: Recomputed,
    run: Execution | None = None,
    against_decoys: Recomputed | None = None,
    withheld: Withheld = "all",
    metric_from: Sequence[str] = (),
    pair: Pair | None = None,
    served: Served | None = None,
    again: Callable[[Mapping[str, Sequence[float]]], Mapping[str, Recount]] | None = None,
) -> Measurement:
    """The task's metric from `workspace`/metrics.json and what was recomputed, by the rules above.

    The workspace is what a program left there, so it is read as hostile input. `run` is the run
    that left it; `against_decoys` the metric against the decoys that it saw in the place of the
    test targets that the task has `withheld`. `metric_from`: where the numbers are if not in
    metrics.json. `pair`: the reference's run on the same draw of the data. `served`: what its
    weights gave, whose number then counts. `again`: computes those of a task without code for its
    metric, by name, given what was written, each number followed by those of the runs behind it.
    """
    written, missing, derived = _written(task, workspace, run, metric_from)
    unread = missing.get(task.metric.name, "")
    failed = "" if run is None or run.ok else failure(run)
    claimed = written.metrics.get(task.metric.name) if written else None
    made = Measurement(metrics=written.metrics if written else {}, claimed=claimed)
    made.runs, made.missing = written.runs if written else {}, missing if written else {}
    if derived is not None:
        made.derived, made.scales, made.lines = derived.words, derived.scales, derived.lines
    made.entries = {} if task.recomputes else entries_saved(workspace)
    if again is not None:
        numbers = {key: [value, *made.runs.get(key, [])] for key, value in made.metrics.items()}
        wanted = {*numbers, task.metric.name}
        recounts = {key: one for key, one in again(numbers).items() if key in wanted}
        main = _count_again(made, recounts, task.metric.name)
        found, against_decoys = main or (found, against_decoys)
    if found.value is not None:
        made.value, made.recomputed = found.value, True
        made.decoys = against_decoys.value if against_decoys else None
        made.warnings += [unread] if unread else []
    elif found.possible and not metric_from:
        made.reason = f"the metric {task.metric.name} could not be recomputed: {found.reason}"
    elif claimed is None and made.metrics:
        made.reason = f"it ran and left no number for {task.metric.name}: {unread}"
    elif claimed is None:
        made.reason = f"it ran and left no number: {unread}"
    else:
        made.value = claimed
        made.warnings += [OWN_WORD] if found.possible else [found.reason] if found.reason else []
    if made.value is not None and not is_usable(made.value):
        made.reason = f"the metric {task.metric.name} is {made.value:.3g}, over the 1e100 allowed"
        made.value, made.recomputed, made.decoys = None, False, None
    if failed and made.value is None:
        made.reason = f"the run failed: {failed}{way_on(run.stderr if run else '')}" + (
            f"; {unread}" if unread else ""
        )
    if made.value is not None:
        made.failed_after = failed
        history = written.history if written else []
        evidence = (made.value, made.recomputed, claimed, made.decoys, withheld, history, pair)
        read = "it's read from what the program wrote" if metric_from else ""
        why = made.not_recomputed.get(task.metric.name, read)
        seen = RunEvidence(run, *evidence, served, why)
        made.value, made.pair, made.served = seen.number, seen.beside, served
        made.integrity = integrity_of(task, seen)
        shown = (*made.integrity.findings, *made.integrity.odd)
        made.warnings += [finding.text for finding in shown]
        if same := equal_splits(made.metrics, run.stdout if run else ""):
            made.warnings.append(same)
    return made


def _count_again(
    made: Measurement, again: Mapping[str, Recount], main: str
) -> tuple[Recomputed, Recomputed | None] | None:
    """Put recounted numbers in place of written ones; that of `main`, and against decoys.

    Of a mean over runs each run's own is put there where the predictions of all were saved. Where
    there's one run's alone, it is held against the last; but where they give the mean itself, what
    stands under `runs` are its items or replicates.
    """
    found = None
    for key, one in again.items():
        runs, written = made.runs.get(key, []), made.metrics.get(key)
        whole = one.nearest(written)
        gives_mean = bool(whole) and not one.differs(whole, written)
        of_items = len(runs) > 1 and len(runs) == made.entries.get(key)
        of_last = len(runs) > 1 and not (one.runs or one.truth or gives_mean or of_items)
        definition = one.nearest(runs[-1] if of_last else written)
        if one.runs and runs and len(one.runs) != len(runs):
            made.not_recomputed[key] = (
                f"of {len(runs)} runs, {len(one.runs)} have their predictions saved: save each "
                f'run\'s, under "{key}.1" to "{key}.{len(runs)}"'
            )
            continue
        if one.reason:
            made.not_recomputed[key] = one.reason
        if not definition:
            continue
        value, of_run = (one.truth or one.saved)[definition], definition.removeprefix(MEDIAN)
        states = runs[-1] if of_last else written
        if one.differs(definition, states) and (of_last or key != main):
            own = (one.saved or one.truth)[definition]
            made.warnings.append(
                f"{key}: the program wrote {states:.6g}, but its predictions give {own:.6g}"
            )
        if of_last:
            made.not_recomputed[key] = (
                f"it's a mean over {len(runs)} runs, and only the last one's predictions were "
                f'saved: save each run\'s, under "{key}.1" to "{key}.{len(runs)}"'
            )
            continue
        for number, (part, states) in enumerate(zip(one.runs, runs, strict=False), 1):
            if part.differs(of_run, states):
                own = (part.saved or part.truth)[of_run]
                made.warnings.append(
                    f"{key}, run {number}: the program wrote {states:.6g}, but its predictions "
                    f"give {own:.6g}"
                )
        made.metrics[key] = value
        made.recounted[key] = f"{definition} of {one.arrays}" if one.arrays else definition
        if one.runs:
            made.runs[key] = [(part.truth or part.saved)[of_run] for part in one.runs]
            made.runs_recounted.append(key)
        if key == main:
            decoys = one.saved.get(definition) if one.truth else None
            found = Recomputed(value), None if decoys is None else Recomputed(decoys)
    return found


def failure(run: Execution) -> str:
    """How a run ended that failed, in a few words: "exit code 1, RuntimeError: no display"."""
    if run.stopped:
        return f"stopped ({run.stopped})"
    lines = [line.strip() for line in without_escapes(run.stderr).splitlines() if line.strip()]
    last = lines[-1] if lines and _ERROR.match(lines[-1]) else ""
    return f"exit code {run.exit_code}" + (f", {last[:200]}" if last else "")


def way_on(stderr: str) -> str:
    """Where a package was missing, what gets it, as the end of a sentence."""
    if missing := re.findall(r"No module named '?(\w+)", stderr):
        return f"; list {missing[-1]}'s package in a file, and name that with --requirements"
    return ""


def read_measurement(folder: Path) -> Measurement | None:
    """The measurement in a trial's folder; None without one. Raises ValueError if damaged."""
    path = folder / FILE
    if not path.exists():
        return None
    return Measurement.model_validate_json(read_plain(path))


def not_measured(submission: Submission) -> Measurement | None:
    """The measurement of a submission of which none can be taken; None where it is to be taken."""
    if submission.status == "failed" or not submission.measurable:
        return Measurement(reason=submission.reason, wanted=submission.measurable)
    return None


def _written(
    task: Task, workspace: Path, run: Execution | None, metric_from: Sequence[str]
) -> tuple[MetricsFile | None, dict[str, str], DerivedMetrics | None]:
    """What metrics.json or the places `metric_from` hold, by its name why a number isn't there, and
    how the latter come about.
    """
    name = task.metric.name
    try:
        if metric_from:
            printed, ran = run.stdout if run else "", run is None or run.ok
            unwritten = run.unwritten if run else ()
            found = metrics_from(
                metric_from, workspace, printed, name, unwritten=unwritten, whole=ran
            )
            return MetricsFile(metrics=found.metrics, runs=found.runs), {}, found
        if run is not None and "metrics.json" in run.unwritten:
            raise CommandError("metrics.json is from before the run, which didn't write it")
        written, missing = usable_metrics(workspace / "metrics.json")
    except CommandError as error:
        return None, {name: str(error)}, None
    if name not in written.metrics:
        missing.setdefault(name, f"metrics.json has {', '.join(sorted(written.metrics))[:200]}")
    return written, missing, None

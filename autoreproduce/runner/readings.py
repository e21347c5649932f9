"""After the full run: the program again under the readings that were registered before the code.

Each alternative by itself comes first, with one seed; then pairs of those that brought what is
missed nearer; then the further seeds, of what is nearest to the paper first, and none of what moves
nothing. Runs begin while `readings_minutes` allow; unless they're given, as long again as the runs
took, but half an hour if all alternatives need it, since one alternative of eight says little. Each
is a step of the journal, so a resumed trial continues where it stopped, and no model is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from autoreproduce.claims.experiments import experiment_key
from autoreproduce.claims.readings import (
    READINGS,
    OpenChoice,
    arguments,
    folder_name,
    label,
    paired_readings,
    parse_readings,
    readings_of,
    single_readings,
)
from autoreproduce.claims.verdicts.readings import ReadingClaim, ReadingResult, ReadingsVerdict
from autoreproduce.config import digest
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.report.verdict_words import so_far
from autoreproduce.method.experiment_execution import dry_seconds
from autoreproduce.runner.many_seeds import many_seeds

if TYPE_CHECKING:
    from autoreproduce.claims.choices import Value
    from autoreproduce.claims.differences import Replacement
    from autoreproduce.claims.verdicts.one_claim import Verdict
    from autoreproduce.claims.verdicts.trial_verdict import JudgedClaim, SeedRun, TrialVerdict
    from autoreproduce.config import Settings
    from autoreproduce.runner.repeater import Repeater
    from autoreproduce.trials.trial import Trial

PHASE = "readings"
LEAST_MINUTES = 5.0
MOST_MINUTES = 30.0  # unasked, beside a full run that is shorter
SLACK = 1.2  # times the default's seconds, that must be left for a run to begin
ROOM = 1.5  # times what the alternatives take one at a time: for pairs of those that help

# the verdict on runs under one reading; the second argument is how many alternatives are tested
Judge = Callable[[Sequence["SeedRun"], int], "TrialVerdict"]


@dataclass
class Minutes:
    """What all alternatives together may take, if the user said so: dry runs, readings, what the
    last look tries, and the audit's runs. `left`: seconds, None if nobody said; `none`: the user
    wants no alternatives.
    """

    left: float | None
    none: bool = False

    @classmethod
    def of(cls, trial: Trial, settings: Settings) -> Minutes:
        """What dry runs have left of them."""
        given = settings.readings_minutes
        left = None if given is None else max(0.0, given * 60 - dry_seconds(trial))
        return cls(left, none=given == 0)

    def seconds(self, unasked: float) -> float:
        """What may be taken now; `unasked` where nobody said."""
        return unasked if self.left is None else self.left

    def take(self, seconds: float) -> None:
        """So many were taken."""
        if self.left is not None:
            self.left = max(0.0, self.left - seconds)


def reading_verdict(
    repeater: Repeater | None,
    runs: Sequence[SeedRun],
    settings: Settings,
    judge: Judge,
    minutes: Minutes | None = None,
    kept: float = 0.0,
) -> ReadingsVerdict | None:
    """What the registered readings give beside `runs`, those of the default; None without any.

    `kept`: the share of the user's minutes that a look at what is missed is left. Raises
    SandboxError if no sandbox works.
    """
    if repeater is None or settings.readings_minutes == 0:
        return None
    try:
        opened = readings_of(repeater.trial.folder) or _handed_in(repeater)
    except UsageError as error:
        repeater.trial.note(f"readings: none runs: {error}")
        return None
    if not opened:
        return None
    minutes = minutes or Minutes.of(repeater.trial, settings)
    if minutes.left is None:
        kept = 0.0
    most = minutes.seconds(seconds_unasked(opened, [run.seconds for run in runs])) * (1 - kept)
    ran = _Multiverse(repeater, list(runs), opened, most, judge, kept=kept)
    verdict = ran.verdict()
    minutes.take(most - ran.seconds_left)
    return verdict


def seconds_unasked(opened: Sequence[OpenChoice], runs: Sequence[float]) -> float:
    """Seconds for the alternatives of `opened` if nobody said how many, where the runs of the
    default took `runs` seconds.
    """
    each = len(single_readings(opened)) * runs[0] * ROOM
    return max(LEAST_MINUTES * 60, sum(runs), min(MOST_MINUTES * 60, each))


def unasked(default: SeedRun) -> float:
    """The seconds for late runs where the user gave no minutes: for one like the default's."""
    return max(LEAST_MINUTES * 60, SLACK * default.seconds)


def fits(default: SeedRun, seconds: float) -> bool:
    """Whether a run like the default's fits into so many seconds."""
    return SLACK * default.seconds <= seconds


def late_run(
    repeater: Repeater,
    reading: Mapping[str, Value],
    edit: Replacement | None,
    most: float,
    *,
    named: str,
) -> SeedRun:
    """One run under a reading that was not registered, or with other lines, ended after `most`
    seconds. Raises SandboxError as a run.
    """
    trial, seed = repeater.trial, repeater.trial.record.seed
    what: dict[str, Value] = dict(reading)
    if edit is not None:
        changed = repeater.files[edit.file].replace(edit.old, edit.new, 1)
        repeater = replace(repeater, changed={**repeater.changed, edit.file: changed})
        what[edit.file] = digest(changed)
    folder = trial.folder / PHASE / folder_name(what) / str(seed)
    name = f"{' '.join(named.split())}, after the fact, seed {seed}"
    return repeater.run(folder, name, seed, arguments(reading), most)


def missing_readings(found: TrialVerdict | None, settings: Settings) -> bool:
    """True if readings were left out for lack of time, and a time is named now."""
    if not settings.readings_minutes:
        return False
    return found is not None and found.readings is not None and bool(found.readings.skipped)


def _handed_in(repeater: Repeater) -> list[OpenChoice]:
    """The readings.json that a program from outside brings along; [] without one."""
    text = repeater.files.get(READINGS)
    if text is None:
        return []
    repeater.trial.note("readings: registered by the program's author, after the code")
    return parse_readings(text, READINGS)


@dataclass
class _Multiverse:
    """The readings of one program, run while there is time."""

    repeater: Repeater
    default: list[SeedRun]
    opened: list[OpenChoice]
    seconds_left: float
    judge: Judge
    kept: float = 0.0
    skipped: int = 0
    ran: dict[str, tuple[Mapping[str, Value], list[SeedRun]]] = field(default_factory=dict)

    def verdict(self) -> ReadingsVerdict:
        """Run what fits into the time, and judge it."""
        trial, singles = self.repeater.trial, single_readings(self.opened)
        trial.phase(PHASE)
        if not trial.replaying:
            follows = f"Other readings follow, up to {math.ceil(self.seconds_left / 60)} min."
            trial.note(so_far(self.judge(self.default, 1), follows))
        for reading in singles:
            self._run(reading, self.default[0].seed)
        helped = [(one, self._helped(one)) for one in singles if label(one) in self.ran]
        for reading in paired_readings(helped):
            self._run(reading, self.default[0].seed)
        for result in sorted(self._results()[1:], key=_promise, reverse=True):
            if not result.same:
                self._run_further(result.reading)
        return ReadingsVerdict(
            opened=tuple(self.opened),
            results=tuple(self._results()),
            planned=len(singles),
            skipped=self._left_out(),
        )

    def _left_out(self) -> str:
        """What did not run, and what would let it."""
        if not self.skipped:
            return ""
        ran = sum(run.seconds for _, runs in self.ran.values() for run in runs)
        needed = (ran + SLACK * self.skipped * self.default[0].seconds) / (1 - self.kept)
        minutes = math.ceil((needed + dry_seconds(self.repeater.trial)) / 60) + 1
        what = "1 run" if self.skipped == 1 else f"{self.skipped} runs"
        return (
            f"{what} did not fit into the time: the same command with "
            f"`--readings-minutes {minutes}` adds what is missing, without a model"
        )

    def _run(self, reading: Mapping[str, Value], seed: int) -> None:
        """One run under a reading, if the time that the default took is left; it's ended when all
        is spent, and then counts as one that did not run.
        """
        if not fits(self.default[0], self.seconds_left):
            self.skipped += 1
            return
        folder = self.repeater.trial.folder / PHASE / folder_name(reading) / str(seed)
        name = f"{label(reading)}, seed {seed}"
        most = self.seconds_left
        run = self.repeater.run(folder, name, seed, arguments(reading), most)
        self.seconds_left -= run.seconds
        if not run.metrics and run.seconds >= most:
            self.skipped += 1
            return
        self.ran.setdefault(label(reading), (reading, []))[1].append(run)

    def _run_further(self, reading: Mapping[str, Value]) -> None:
        """The further seeds of the default, those that ran in one process again so."""
        for run in self.default[1:]:
            if not run.in_process:
                self._run(reading, run.seed)
        further = [run for run in self.default if run.in_process]
        if not further or self.seconds_left <= 0:
            return
        took = sum(run.seconds for run in further)
        folder = self.repeater.trial.folder / PHASE / folder_name(reading) / "many"
        # a bit more than the default took, so that a resumed trial asks the same
        seeds, ran = [run.seed for run in further], self.ran[label(reading)][1]
        most = min(2 * took + 10.0, self.seconds_left)
        runs = many_seeds(self.repeater, folder, ran[0], seeds, most, arguments(reading)) or []
        self.seconds_left -= sum(run.seconds for run in runs)
        ran.extend(runs)

    def _results(self) -> list[ReadingResult]:
        found = [self._result({}, self.default)]
        return found + [self._result(reading, runs) for reading, runs in self.ran.values()]

    def _result(self, reading: Mapping[str, Value], runs: Sequence[SeedRun]) -> ReadingResult:
        """What runs under a reading gave; a number that is the default's has the default's word."""
        claims = self._claims(runs, max(1, len(self.ran)) if reading else 1)
        same = bool(reading) and _numbers(runs[0]) == _numbers(self.default[0])
        if reading:
            before = self._claims(self.default, 1)
            there = self._claims(self.default[: len(runs)], 1)
            unmoved = {
                name
                for name, (_, verdict) in claims.items()
                if name in there and there[name][1].values == verdict.values
            }
            claims = {
                name: before[name] if same or name in unmoved else one
                for name, one in claims.items()
                if name in before
            }
        return ReadingResult(
            reading=dict(reading),
            claims={
                name: ReadingClaim.of(verdict, experiment)
                for name, (experiment, verdict) in claims.items()
            },
            seeds=len(runs),
            seconds=sum(run.seconds for run in runs),
            problem=next((run.reason for run in runs if run.reason), ""),
            same=same,
        )

    def _claims(self, runs: Sequence[SeedRun], tested: int) -> dict[str, tuple[str, Verdict]]:
        """By a claim's id its experiment, and the verdict on these runs."""
        found = self._by_experiment(self.judge(runs, tested).claims)
        return {one.claim.id: (name, one.verdict) for name, own in found.items() for one in own}

    def _by_experiment(self, claims: Sequence[JudgedClaim]) -> dict[str, list[JudgedClaim]]:
        """The claims by the task's experiment that they belong to, "" if it is one alone or none
        is named; the baselines of an experiment only if it has nothing else.
        """
        known = {experiment_key(name): name for name in self.repeater.task.experiments}
        found: dict[str, list[JudgedClaim]] = {}
        for one in claims:
            found.setdefault(known.get(experiment_key(one.claim.experiment), ""), []).append(one)
        return {
            name: [one for one in each if not one.claim.is_baseline] or each
            for name, each in found.items()
        }

    def _helped(self, reading: Mapping[str, Value]) -> set[str]:
        """The experiments whose missed claims an alternative brings nearer to the paper."""
        before, after = self._result({}, self.default[:1]), self._result(*self.ran[label(reading)])
        own: dict[str, list[str]] = {}
        for name, one in before.claims.items():
            own.setdefault(one.experiment, []).append(name)
        return {experiment for experiment, names in own.items() if after.nearer(before, names)}


def _promise(result: ReadingResult) -> tuple[int, float]:
    """Readings with most claims reached first, then those nearest to the paper."""
    reached = sum(result.of_claim(name) != "not reached" for name in result.claims)
    gaps = [abs(one.difference) for one in result.claims.values() if one.difference is not None]
    return reached, -sum(gaps)


def _numbers(run: SeedRun) -> tuple[float | None, dict[str, float]]:
    return run.value, run.metrics

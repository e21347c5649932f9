"""The diagnosing step: the research agent sees a result that misses the paper, and may search for
what decides.

Claims stay frozen and withheld until here. The agent sees what was measured and the program, leaves
a note, and may try a few things, also what the paper's text contradicts: a reading that the program
takes, or another formula in place of some lines. Each runs once, in a copy of the program, within
the time that alternatives have; after a first round it may go on from what that gave. Whoever sees
a result can choose by it, so nothing of this counts: program, claims and verdict stay as they are,
and what was found is among the verdict's remarks, marked.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.prompts import Prompts
from autoreproduce.agents.structured import read_structured
from autoreproduce.audit.find import readable, shown_first
from autoreproduce.audit.statements import digits_of
from autoreproduce.claims.choices import Value
from autoreproduce.claims.differences import Replacement
from autoreproduce.claims.readings import label, readings_of, single_readings
from autoreproduce.claims.verdicts.comparable import half_digit
from autoreproduce.claims.verdicts.readings import TAIL, ReadingClaim, ReadingResult, by_luck
from autoreproduce.errors import AutoReproduceError, CommandError, ModelError
from autoreproduce.evaluation.report.claims_table import claim_rows, measured_text, own_claims
from autoreproduce.evaluation.report.verdict_words import so_far
from autoreproduce.files.bounded import parse_python
from autoreproduce.files.shared import read_plain
from autoreproduce.papers.numbers import numbers_in, same_number
from autoreproduce.runner.readings import fits, late_run, unasked

if TYPE_CHECKING:
    from autoreproduce.claims.choices import Choice
    from autoreproduce.claims.claim import Claim
    from autoreproduce.claims.readings import OpenChoice
    from autoreproduce.claims.verdicts.one_claim import Verdict
    from autoreproduce.claims.verdicts.trial_verdict import JudgedClaim, SeedRun, TrialVerdict
    from autoreproduce.config import Settings
    from autoreproduce.models import Models
    from autoreproduce.models.budget import Budget
    from autoreproduce.runner.readings import Judge, Minutes
    from autoreproduce.runner.repeater import Repeater
    from autoreproduce.task import Task
    from autoreproduce.trials.trial import Trial

PHASE = "last_look"
PROMPT = "claims/last_look"
AFTER = "After the fact, with the result in sight"
LARGEST_PAPER = 10_000_000  # bytes
MOST_CODE = 60_000  # characters
ROUNDS, MOST_TRIES = 2, 4  # in each round
MOST_SHOWN = 6  # numbers of one finding
FEWEST_DIGITS = 2  # of a result that an edit may not bring in: one digit is a factor or a power
WAITS = (2.0, 15.0)  # seconds before a look that was lost to a broken connection is asked again


class Try(BaseModel):
    """One thing that may decide: a reading the program takes, or other lines."""

    what: str = Field(min_length=1, max_length=200)
    against_text: bool = False
    reading: dict[str, Value] = {}
    edit: Replacement | None = None


class Look(BaseModel):
    """The reply. `reading` alone is a try too."""

    note: str = Field("", max_length=1500)
    reading: dict[str, Value] = {}
    tries: list[Try] = Field([], max_length=MOST_TRIES)

    @property
    def tried(self) -> list[Try]:
        """All that is to be run."""
        alone = Try(what=label(self.reading), reading=self.reading) if self.reading else None
        return [*([alone] if alone else []), *self.tries][:MOST_TRIES]


@dataclass
class Laboratory:
    """What a look may run the program by. `runs`: those of the default, in their order."""

    repeater: Repeater
    runs: Sequence[SeedRun]
    judge: Judge
    minutes: Minutes
    seconds_left: float

    @classmethod
    def of(
        cls, repeater: Repeater | None, runs: Sequence[SeedRun], judge: Judge, minutes: Minutes
    ) -> Laboratory | None:
        """None where nothing may run."""
        if repeater is None or minutes.none:
            return None
        most = minutes.seconds(unasked(runs[0]))
        return cls(repeater, runs, judge, minutes, most)

    def take(self, seconds: float) -> None:
        """So many were taken by a run."""
        self.seconds_left -= seconds
        self.minutes.take(seconds)


@dataclass
class LastLook:
    """Asks the research agent, if the paper was missed."""

    trial: Trial
    task: Task
    settings: Settings
    models: Models
    budget: Budget
    lost: str = field(default="", init=False)  # to a broken connection
    done: list[Try] = field(default_factory=list, init=False)
    refused: list[str] = field(default_factory=list, init=False)  # why tries weren't run
    helped: set[str] = field(default_factory=set, init=False)  # single readings, by their label
    confirmed: dict[str, int] = field(default_factory=dict, init=False)  # numbers that each reaches

    def remarks(
        self, found: TrialVerdict, choices: Sequence[Choice], laboratory: Laboratory | None
    ) -> list[str]:
        """What it says, and what its tries gave; [] where nothing was missed, or a registered
        reading says why. Nothing that goes wrong with it ends a trial.
        """
        if not missed(found):
            return []
        said: list[str] = []
        findings: list[str] = []
        if (ran := found.readings) is not None:
            self.helped = {one.label for one in ran.alternatives if one.nearer(ran.results[0])}
        self.trial.added_phase(PHASE)
        if not self.trial.replaying:
            self.trial.note(so_far(found, "A look at what was missed follows."))
        try:
            for _ in range(ROUNDS):
                ask = partial(self._ask, found, choices, laboratory, tuple(said), tuple(findings))
                look = self._asked_again(ask)
                note = f"{AFTER}: {' '.join(look.note.split())}"
                if look.note.strip() and note not in said:
                    said.append(note)
                tries = look.tried if laboratory is not None else []
                if laboratory is not None:
                    findings += [self._outcome(one, laboratory) for one in tries]
                if not tries:
                    break
        except AutoReproduceError as error:
            self.lost = str(error) if error.retryable else ""
            again = ": the same command asks again" if self.lost else ""
            self.trial.note(f"no last look: {error}{again}")
        return [*said, *findings]

    def _asked_again(self, ask: Callable[[], Look]) -> Look:
        """The reply, also where the connection broke once or twice."""
        for wait in WAITS:
            try:
                return ask()
            except ModelError as error:
                if not error.retryable or error.kind != "model":
                    raise
                self.trial.note(f"last look: asked again in {wait:g} s: {error}")
                time.sleep(wait)
        return ask()

    def _ask(
        self,
        found: TrialVerdict,
        choices: Sequence[Choice],
        laboratory: Laboratory | None,
        said: Sequence[str],
        findings: Sequence[str],
    ) -> Look:
        given = (Prompts(), self.trial, self.budget, self.settings)
        agent = Agent.of(self.models, "research", *given)
        paper = read_plain(self.trial.folder / "paper/paper.md", LARGEST_PAPER)
        ran = found.readings.results if found.readings is not None else ()
        opened = readings_of(self.trial.folder) if laboratory is not None else []
        files = laboratory.repeater.files if laboratory is not None else {}

        asked_before = False

        def read(reply: str) -> Look:
            """The reply without what can't be run; asked once more where nothing of it can."""
            nonlocal asked_before
            look, labels = read_structured(reply, Look), {each.label for each in ran}
            possible, refused = list[Try](), list[str]()
            for one in look.tried:
                try:
                    check_try(one, opened, labels, files, found, helped=self.helped, done=self.done)
                    possible.append(one)
                except CommandError as error:
                    refused.append(str(error))
            if refused and not possible and not asked_before:
                asked_before = True
                raise CommandError("; ".join(refused))
            self.refused += refused
            return Look(note=look.note, tries=possible)

        return agent.checked(
            PROMPT,
            read,
            paper=paper.decode("utf-8", "replace"),
            task=self.task,
            choices=[f"{one.what}: {one.value} ({one.kind})" for one in choices],
            measured=[f"{row.name}: {row.line}; {row.why}" for row in claim_rows(found)],
            readings=[
                f"{one.label}{' (brings what is missed nearer)' * (one.label in self.helped)}: "
                + ", ".join(
                    f"{name} {each.mean} ({each.word})" for name, each in one.claims.items()
                )
                for one in ran
            ],
            open_choices=[
                f"{one.name} ({one.what}): {' or '.join(map(str, one.values))}" for one in opened
            ],
            code=shown_first(readable(files), MOST_CODE, command="main.py").listing,
            said=said,
            tried=[*findings, *(f"Not run: {why}." for why in self.refused)],
            most_tries=MOST_TRIES,
        )

    def _outcome(self, one: Try, laboratory: Laboratory) -> str:
        """What a try gave, beside the default's run with the same seed; confirmed if it explains
        what that misses.
        """
        which = ", which the text doesn't say" if one.against_text else ""
        what = " ".join(one.what.split()) + which
        self.done.append(one)
        if not fits(laboratory.runs[0], laboratory.seconds_left):
            return f"{AFTER}, this was proposed, and no time was left to run it: {what}."
        named = f"{AFTER}, this was run once, which no verdict counts: {what}"
        most = laboratory.seconds_left
        run = late_run(laboratory.repeater, one.reading, one.edit, most, named=one.what)
        laboratory.take(run.seconds)
        folder = laboratory.repeater.trial.folder
        tested = 1 + len(single_readings(readings_of(folder)))
        after = own_claims(laboratory.judge([run], tested))
        before = own_claims(laboratory.judge(laboratory.runs[:1], 1))
        if run.reason and not run.metrics:
            return f"{named}. It gave no number: {run.reason}."
        shown = _moved(before, after)
        results = [_as_result({}, before), _as_result(one.reading, after)]
        if results[1].nearer(results[0]) and one.edit is None:
            self.helped.add(label(one.reading))
        edit = (
            f" In {one.edit.file}: `{_line(one.edit.old)}` became `{_line(one.edit.new)}`."
            if (one.edit)
            else ""
        )
        if explains(before, after):
            self.confirmed[explained(what, before, after)] = _reached(after)
        return f"{named}. {shown}{_counted(before, after, results)}.{edit}"


def missed(found: TrialVerdict) -> bool:
    """Whether a number of the paper was not reached and no registered reading reaches it."""
    explained = found.readings is not None and bool(found.readings.deciding())
    return found.overall.word in ("partly", "not reproduced") and not explained


def check_try(
    one: Try,
    opened: Sequence[OpenChoice],
    ran: set[str],
    files: dict[str, str],
    found: TrialVerdict,
    *,
    helped: Collection[str] = (),
    done: Sequence[Try] = (),
) -> None:
    """Raises CommandError for what can't be run or was tried, for a pair of what doesn't help by
    itself, and for an edit that writes a claimed number.
    """
    if any((one.reading, one.edit) == (each.reading, each.edit) for each in done):
        raise CommandError(f"{one.what!r} was tried: see what it gave, and try something else")
    if unknown := set(one.reading) - {each.name for each in opened}:
        raise CommandError(f"the program takes no reading {sorted(unknown)[0]!r}")
    if one.reading and not one.edit and label(one.reading) in ran:
        raise CommandError(f"{label(one.reading)} ran already")
    singles = [label({name: value}) for name, value in one.reading.items()]
    if len(singles) > 1 and (alone := [each for each in singles if each not in helped]):
        why = "hasn't brought what is missed nearer: put together what has"
        if alone[0] not in ran:
            why = "hasn't run: try it alone first"
        raise CommandError(f"{alone[0]} by itself {why}")
    if one.edit is None:
        if not one.reading:
            raise CommandError(f"{one.what!r}: give a reading or an edit")
        return
    name, old, new = one.edit.file, one.edit.old, one.edit.new
    count = files.get(name, "").count(old)
    if count != 1:
        raise CommandError(f"{name} has `{old[:80]}` {count} times: copy lines that are there once")
    if name.endswith(".py"):
        try:
            parse_python(files[name].replace(old, new, 1))
        except SyntaxError as error:
            raise CommandError(f"{name} is no Python with that edit: {error}") from None
    if brought := _claimed_in(old, new, found):
        raise CommandError(
            f"the edit writes {brought}, a number of the paper's results: give a formula"
        )


def _claimed_in(old: str, new: str, found: TrialVerdict) -> str:
    """A claimed number, in whichever scale, that an edit brings in; "" for none. One of a single
    digit counts beside its claim's key alone.
    """
    there = [number.value for number in numbers_in(old)]
    for line in new.splitlines():
        for number in numbers_in(line):
            if any(same_number(number.value, value) for value in there):
                continue
            for claim in (one.claim for one in found.claims):
                result = abs(claim.value)
                named = re.search(rf"(?<!\w){re.escape(claim.id)}(?!\w)", line)
                scaled = (result * by for by in (1, 0.01, 100))
                if (named or digits_of(result) >= FEWEST_DIGITS) and any(
                    same_number(abs(number.value), one) for one in scaled
                ):
                    return number.text
    return ""


def explains(before: Sequence[JudgedClaim], after: Sequence[JudgedClaim]) -> bool:
    """Whether one run reaches more of the paper's numbers than another, by more than the luck of a
    draw, and takes none of them further away.
    """
    old = {one.claim.id: one.verdict for one in before}
    random = any(verdict.distance is not None for verdict in old.values())
    known = [(one.claim, old[one.claim.id], one.verdict) for one in after if one.claim.id in old]
    gained = [
        was.distance for _, was, now in known if now.word == "reproduced" and was.word != now.word
    ]
    return (
        _reached(after) > _reached(before)
        and not by_luck(gained, random=random)
        and not any(_further(*one, random=random) for one in known)
    )


def _further(claim: Claim, was: Verdict, now: Verdict, *, random: bool) -> bool:
    """Whether a number lies further from the paper's, by more than chance or its last digit."""
    if was.distance is not None and now.distance is not None:
        return now.distance > max(was.distance, TAIL)
    if now.word == "reproduced" or was.mean is None:
        return False
    if random or now.mean is None:
        return was.word == "reproduced" or now.mean is None
    gaps = [abs(one.difference or 0.0) for one in (was, now)]
    return gaps[1] > gaps[0] + half_digit(claim)


def explained(what: str, before: Sequence[JudgedClaim], after: Sequence[JudgedClaim]) -> str:
    """What a try's run explains; beside a verdict over many seeds it says that it's one run, and
    what one of the default's reached.
    """
    many, reached = len(after), _reached(after)
    part = "Explained" if reached == many else "Explained in part"
    numbers = "the number"
    if many > 1:
        numbers = f"{reached} of {many} numbers, and one of the default's {_reached(before)}"
    return f"{part} after the fact: {what} (one run reached {numbers}, which no verdict counts)."


def _reached(claims: Sequence[JudgedClaim]) -> int:
    return sum(one.verdict.word == "reproduced" for one in claims)


def _moved(before: Sequence[JudgedClaim], after: Sequence[JudgedClaim]) -> str:
    """The numbers that moved, each with its word, and with that of the default's own run: the
    claim's, over all seeds, may be another.
    """
    words = {one.claim.id: one.verdict for one in before}
    moved = [
        one
        for one in after
        if one.claim.id in words and words[one.claim.id].mean != one.verdict.mean
    ]
    given = []
    for one in moved[:MOST_SHOWN]:
        word, default = one.verdict.text, words[one.claim.id].text
        other = f", in the default's run {default}" if default != word else ""
        given.append(f"{one.claim.title} {measured_text(one)} ({word}{other})")
    if not given:
        return "It moves no number"
    rest = f", and {len(moved) - MOST_SHOWN} more" if len(moved) > MOST_SHOWN else ""
    return ", ".join(given) + rest


def _as_result(reading: Mapping[str, Value], claims: Sequence[JudgedClaim]) -> ReadingResult:
    found = {one.claim.id: ReadingClaim.of(one.verdict) for one in claims}
    return ReadingResult(reading=dict(reading), claims=found)


def _counted(
    before: Sequence[JudgedClaim], after: Sequence[JudgedClaim], results: Sequence[ReadingResult]
) -> str:
    """How many numbers are reached, and how well those fit that the default misses."""
    counts = [_reached(before), _reached(after)]
    said = ""
    if counts[0] != counts[1]:
        said = f"; {counts[1]} of {len(after)} numbers are reached, where {counts[0]} were"
    fits = [one.misfit(results[0].missed) for one in results]
    if fits[0] is not None and fits[1] is not None:
        said += f"; χ² per missed number is {fits[1]:.3g}, where it was {fits[0]:.3g}"
    return said


def _line(text: str) -> str:
    short = " ".join(text.split())
    return short if len(short) <= 160 else f"{short[:159]}…"

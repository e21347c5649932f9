"""The end of a trial that was measured: more seeds, alternatives, the verdict.

What the verdict needs is made here; the rules are `evaluation.verdict` and `claims.verdicts`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.claims.check import count_claimed
from autoreproduce.claims.choices import Choice, Cut, instead, with_count
from autoreproduce.claims.claim import CLAIMS, ClaimedTable, ClaimsFile, claims_of
from autoreproduce.claims.differences import Audit, Difference, Effect, Replacement
from autoreproduce.claims.user_claims import claims_of_task
from autoreproduce.claims.verdicts.overall import Method
from autoreproduce.claims.verdicts.trial_verdict import SeedRun, TrialVerdict
from autoreproduce.config import Settings
from autoreproduce.contracts import Score
from autoreproduce.errors import ReaderError, SandboxError, UsageError
from autoreproduce.evaluation.outside_run import OutsideRun
from autoreproduce.evaluation.report.audit_page import audited_sentence
from autoreproduce.evaluation.report.evidence import read_choices, stored_paper
from autoreproduce.evaluation.report.verdict_words import led_by, so_far
from autoreproduce.evaluation.report.verdict_words import verdict as verdict_in_words
from autoreproduce.evaluation.submission import TREE
from autoreproduce.evaluation.verdict import SeedUse, ShorterRun, judge_trial, share_of, with_tested
from autoreproduce.files.confined import confined
from autoreproduce.files.notebooks import LARGEST_NOTEBOOK, changed_notebook
from autoreproduce.files.tree import Tree
from autoreproduce.runner.last_look import AFTER, Laboratory, LastLook, missed
from autoreproduce.runner.late_findings import add_printed_constants
from autoreproduce.runner.reached import PROBE, with_probe
from autoreproduce.runner.readings import Minutes, fits, reading_verdict, unasked
from autoreproduce.runner.repeater import Repeater
from autoreproduce.runner.seeds import seed_runs
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.task import Task
from autoreproduce.trials.integrity import Integrity
from autoreproduce.trials.result import LOOK_LOST, Result
from autoreproduce.trials.trial import Trial

if TYPE_CHECKING:
    from collections.abc import Callable


KEPT_FOR_LOOK = 1 / 3  # of the user's minutes for alternatives, where something is missed


def conclude(
    trial: Trial,
    task: Task,
    result: Result,
    settings: Settings,
    sandboxes: SandboxSetup,
    *,
    look: LastLook | None = None,
) -> None:
    """Fill in the result's claims, its sentence, and what speaks against its number.

    `look`: asked if the paper was missed; without it, what it said earlier stays. Only a program
    that was to give a number has a verdict. Raises SandboxError if a run with another seed finds no
    sandbox; nothing else is raised.
    """
    number = result.number
    if number is None or not task.wants_program or not number.wanted:
        return
    claims, problems = _claims(trial, task) if _has_numbers(result, task) else (None, [])
    given = claims is not None and any(one.id in number.metrics for one in claims.claims)
    if result.status == "failed" and given:
        result.status = "measured"
        number.integrity = Integrity(word="unchecked", missing=[number.reason])
    if result.status != "measured":
        failed = verdict_in_words(result, task)
        result.sentence, result.level = failed.sentence, failed.level
        return
    said, confirmed = _looked_before(result) if look is None else ([], ())
    repeater = Repeater.of(trial, task, settings, sandboxes)
    seeds = repeater.seeds if repeater else SeedUse()
    tables = _claimed_tables(claims, trial.folder) if claims is not None else ()
    more: list[str] = []
    choices = read_choices(trial.folder, more)

    alone = partial(judge_trial, task, result, claims=claims, choices=choices, seeds=seeds)

    def words(runs: Sequence[SeedRun]) -> set[str]:
        """The words of the claims after one run."""
        if claims is None:
            return set()
        return {one.verdict.word for one in alone(runs).claims if one.claim.kind != "rank"}

    def say(runs: Sequence[SeedRun], follows: str) -> None:
        """The result so far, before further seeds."""
        trial.note(so_far(alone(runs), follows))

    runs = seed_runs(trial, settings, repeater, number, words, say)
    minutes = Minutes.of(trial, settings)
    shorter = shorter_runs(choices, repeater, runs, minutes, alone)

    def judge(runs: Sequence[SeedRun], tested: int) -> TrialVerdict:
        held = with_tested(claims, tested)
        return judge_trial(
            task,
            result,
            runs,
            held,
            choices=choices,
            constants=constants,
            seeds=seeds,
            shorter=shorter,
        )

    constants = add_printed_constants(number, result, repeater, runs)
    kept = KEPT_FOR_LOOK if look is not None and missed(judge(runs, 1)) else 0.0
    readings = reading_verdict(repeater, runs, settings, judge, minutes, kept)
    found = judge_trial(
        task,
        result,
        runs,
        claims,
        choices=choices,
        readings=readings,
        remarks=[*problems, *more],
        constants=constants,
        seeds=seeds,
        shorter=shorter,
    )
    if look is not None:
        laboratory = Laboratory.of(repeater, runs, judge, minutes)
        said = look.remarks(found, choices, laboratory)
        confirmed = tuple(sorted(look.confirmed, key=look.confirmed.__getitem__, reverse=True))
        result.details.pop(LOOK_LOST, None)
        if look.lost:
            result.details[LOOK_LOST] = look.lost
    result.claims = found.model_copy(
        update={"remarks": (*found.remarks, *said), "confirmed": confirmed, "tables": tables}
    )
    result.warnings += problems
    if result.audit is not None and repeater is not None:
        result.audit = with_effects(result.audit, repeater, runs, minutes, partial(judge, tested=1))
    explained = confirmed[0].rstrip(".") if confirmed and missed(found) else ""
    result.sentence = audited_sentence(led_by(explained, found.sentence), result)
    moved = result.audit is not None and result.audit.moving and found.level == "good"
    result.level = "mixed" if moved else found.level


def _looked_before(result: Result) -> tuple[list[str], tuple[str, ...]]:
    """The remarks of an earlier last look, and what a run of it confirmed."""
    if result.claims is None:
        return [], ()
    remarks = [one for one in result.claims.remarks if one.startswith(AFTER)]
    return remarks, result.claims.confirmed


def _has_numbers(result: Result, task: Task) -> bool:
    """Whether a run in full gave any number that counts: the task's, or others without it."""
    number, ran = result.number, result.details.get("ran") is True
    others = number is not None and number.value is None and bool(number.metrics)
    return result.status == "measured" or (ran and others and not task.recomputes)


def add_judgement(folder: Path, scores: Sequence[Score]) -> None:
    """The score of a judge at paper level as the verdict's word on the method.

    Nothing is changed in a trial whose files were altered, and never a word on the numbers.
    """
    score = next((one.value for one in scores if one.scorer == "paper"), None)
    trial = Trial.read(folder)
    result = trial.result
    if score is None or result is None or result.claims is None or trial.altered:
        return
    whole = result.claims.overall.model_copy(update={"method": Method(score=score)})
    result.claims = result.claims.model_copy(update={"overall": whole})
    trial.write_result(result)


def _claims(trial: Trial, task: Task) -> tuple[ClaimsFile | None, list[str]]:
    """The frozen claims; a file that was changed gives none, and the reason.

    If the solver froze none, those of the task and the user are written now: no program changed
    them.
    """
    try:
        frozen = claims_of(trial.folder)
    except UsageError as error:
        return None, [f"The paper's claims are not compared: {error}"]
    if frozen is None and (brought := claims_of_task(task)) is not None:
        frozen = brought
        trial.write(CLAIMS, frozen.to_json())
    return frozen, []


def _claimed_tables(claims: ClaimsFile, folder: Path) -> tuple[ClaimedTable, ...]:
    """How much of the paper's tables is claimed, where the trial kept a paper that can be read."""
    paper = stored_paper(folder) if claims.claims else None
    if paper is None:
        return ()
    try:
        return tuple(confined(count_claimed, list(claims.claims), paper, what="the paper"))
    except ReaderError:
        return ()


# What a plan that was shortened does to its numbers: the program once more with half of what it
# took fewer of, then with a quarter and an eighth. What that moves them by says how far chance may
# have moved them from the paper's; one that stays as it is doesn't depend on it.

SHORTER_PHASE = "shorter_runs"
SHARES = (1 / 2, 1 / 4, 1 / 8)
TELLS_MORE = ("close", "untestable", "not comparable")  # words that such a run may sharpen


def shorter_runs(
    choices: Sequence[Choice],
    repeater: Repeater | None,
    runs: Sequence[SeedRun],
    minutes: Minutes,
    judge: Callable[[Sequence[SeedRun]], TrialVerdict],
) -> list[ShorterRun]:
    """The runs with still fewer draws, where a claim's verdict hangs on them, within the time that
    alternatives have. Raises SandboxError if no sandbox works.
    """
    fewer = [(one, one.cut) for one in choices if one.cut]
    names = {name for one, _ in fewer for name in one.claims}
    if not fewer or repeater is None or repeater.outside is None or minutes.none:
        return []
    told = [one for one in judge(runs).claims if one.claim.id in names]
    if not any(one.verdict.word in TELLS_MORE for one in told):
        return []
    left, found = minutes.seconds(unasked(runs[0])), list[ShorterRun]()
    repeater.trial.phase(SHORTER_PHASE)
    for share in SHARES:
        before = found[-1].run if found else runs[0]
        with_fewer = _with_share(fewer, repeater, repeater.outside, share)
        if with_fewer is None or before.seconds > left:  # it takes less than the one before
            break
        name = f"{share:g} of what the run has"
        folder = repeater.trial.folder / SHORTER_PHASE / str(share)
        run = with_fewer.run(folder, name, runs[0].seed, most=left)
        left -= run.seconds
        minutes.take(run.seconds)
        if not run.metrics:
            repeater.trial.note(f"a run with {name} gave no number: {run.reason}")
            break
        found.append(ShorterRun(share, run))
    return found


def _with_share(
    fewer: Sequence[tuple[Choice, Cut]], repeater: Repeater, outside: OutsideRun, share: float
) -> Repeater | None:
    """The program with a share of what each of these was shortened to; None where one of them would
    be none at all.
    """
    command, changed = outside.command, dict[str, str]()
    for one, cut in fewer:
        count = share_of(one, share)
        words = with_count(cut.words, share_of(one, 1), count)
        if count < (2 if cut.replicates else 1) or not words:
            return None
        if cut.file:
            text = changed.get(cut.file, repeater.files.get(cut.file, ""))
            changed[cut.file] = instead(text, cut.words, words)
        else:
            command = instead(command, cut.words, words)
    return replace(repeater, outside=replace(outside, command=command), changed=changed)


# What a difference does to the paper's numbers: the program once more with the paper's way in
# place of the code's, a run for each, while there is time.
#
# Each is a step of the journal like a run with another seed, in a folder of its own, so what ran
# in full stays as it was.

AUDIT_PHASE = "audit_runs"
MOST_RUNS = 8
UNREACHED = "a run with it tells nothing: it doesn't reach these lines"


def with_effects(
    audit: Audit,
    repeater: Repeater,
    runs: Sequence[SeedRun],
    minutes: Minutes,
    judge: Callable[[Sequence[SeedRun]], TrialVerdict],
) -> Audit:
    """The audit with what a run showed of each difference that has a replacement, the likeliest
    first. `--readings-minutes` bounds the time, as it does that of the alternatives; unless given,
    as long again as the run took, and five minutes at least. Raises SandboxError if no sandbox
    works.
    """
    due = [one for one in audit.moving if one.replacement is not None and not one.effects]
    if not due or minutes.none:
        return audit
    left = minutes.seconds(unasked(runs[0]))
    repeater.trial.phase(AUDIT_PHASE)
    if not repeater.trial.replaying:
        follows = f"Runs the paper's way follow, up to {math.ceil(left / 60)} min."
        repeater.trial.note(so_far(judge(runs), follows))
    before, tried = runs[0], dict[str, Difference]()
    for one in sorted(due, key=_promise)[:MOST_RUNS]:
        if not fits(before, left):
            tried[one.id] = one.model_copy(update={"tried": "no time was left to run it"})
            continue
        changed = _changed(one.replacement, repeater) if one.replacement else None
        if changed is None:
            why = f"it wasn't run: the replacement can't be made in {one.file}"
            tried[one.id] = one.model_copy(update={"tried": why})
            continue
        folder = repeater.trial.folder / AUDIT_PHASE / one.id
        name = f"{one.id}: {one.title}, seed {before.seed}"
        run = replace(repeater, changed=changed).run(folder, name, before.seed, most=left)
        left -= run.seconds
        found = _with_effect(one, before, run, judge)
        passed_by = PROBE in "".join(changed.values()) and not run.reached
        if passed_by and found.effects and not found.confirmed:
            found = one.model_copy(update={"tried": UNREACHED})
        tried[one.id] = found
    shown = (tried.get(one.id, one) for one in audit.differences)
    return audit.model_copy(update={"differences": tuple(shown)})


def _promise(one: Difference) -> tuple[bool, int]:
    return one.moves != "yes", ("high", "medium", "low").index(one.sure)


def _changed(change: Replacement, repeater: Repeater) -> dict[str, str] | None:
    """The file with the paper's way, by its path; None where it can't be changed: it isn't among
    those that ran, or a notebook's own cells don't have these lines (a shell's line, say).
    """
    if not change.file.endswith(".ipynb"):
        text = repeater.files.get(change.file)
        if text is None:
            return None
        line = text.partition(change.old)[0].count("\n") + 1
        return {change.file: with_probe(text.replace(change.old, change.new, 1), line)}
    try:
        text = Tree(repeater.trial.folder / TREE).read_text(change.file, LARGEST_NOTEBOOK)
        text = changed_notebook(text, change.old, change.new)
    except (FileNotFoundError, SandboxError, ValueError):
        return None
    return None if text is None else {change.file: text}


def _with_effect(
    one: Difference,
    before: SeedRun,
    run: SeedRun,
    judge: Callable[[Sequence[SeedRun]], TrialVerdict],
) -> Difference:
    """The difference with each claim's number in both runs."""
    if not run.metrics:
        return one.model_copy(update={"tried": f"the run with it gave no number: {run.reason}"})
    words = {each.claim.id: each.verdict.word for each in judge([run]).claims}
    effects = [
        Effect(claim=name, before=before.metrics.get(name), after=run.metrics.get(name), word=word)
        for name, word in words.items()
        if {name} & {*before.metrics, *run.metrics}
        and (
            name in one.claims
            or not one.claims
            or before.metrics.get(name) != run.metrics.get(name)
        )
    ]
    return one.model_copy(update={"effects": tuple(effects)})

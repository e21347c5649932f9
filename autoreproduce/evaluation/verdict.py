"""The verdict on a trial: its runs held against the paper's claims, else against the reference.

Everything is computed from files and numbers; no model is asked. Claims that cannot be compared
(stand-in data, a small profile) leave the number to the band of the task's reference.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from autoreproduce.claims.choices import FITS, Choice, incomparable, shortened_of
from autoreproduce.claims.claim import Claim, ClaimsFile, Rules, id_of
from autoreproduce.claims.headline import headline_of
from autoreproduce.claims.verdicts.all_claims import judge_all
from autoreproduce.claims.verdicts.comparable import MeasuredAs, repeats
from autoreproduce.claims.verdicts.distribution import TAIL
from autoreproduce.claims.verdicts.intervals import mean_interval
from autoreproduce.claims.verdicts.monte_carlo import are_replicates, over_replicates
from autoreproduce.claims.verdicts.orderings import judge_orderings
from autoreproduce.claims.verdicts.overall import Method, Overall, overall
from autoreproduce.claims.verdicts.readings import ReadingsVerdict
from autoreproduce.claims.verdicts.shortened import Shortened, untouched
from autoreproduce.claims.verdicts.trial_verdict import JudgedClaim, Level, SeedRun, TrialVerdict
from autoreproduce.evaluation.report.claims_table import LEVEL_OF_WORD
from autoreproduce.evaluation.report.verdict_words import (
    COUNT_AS_ONE,
    FAILED_AFTER,
    ONE_RUN,
    OWN_WORD,
    number_level,
    trial_sentence,
)
from autoreproduce.files.bounded import is_usable
from autoreproduce.task import Task
from autoreproduce.trials.result import Result


@dataclass(frozen=True)
class SeedUse:
    """What in a program's command takes the seed (`--seed`, `SEED`, `train.seed`), "" if nothing
    does, and how a user repeats the run with other seeds, "" if nothing is known.
    """

    name: str = ""
    advice: str = ""


@dataclass(frozen=True)
class ShorterRun:
    """A run with `share` of the counts that a plan which was shortened has."""

    share: float
    run: SeedRun


def share_of(choice: Choice, share: float) -> int:
    """A share of what was decided, in whole ones."""
    return int(float(choice.value) * share)


def moving(choices: Sequence[Choice], run: SeedRun, shorter: Sequence[ShorterRun]) -> list[Choice]:
    """The choices, where those of a plan that was shortened are of those claims alone whose numbers
    move with them, by shorter runs.
    """

    def stays(name: str) -> bool:
        others = [one.run.metrics[name] for one in _giving(name, shorter)]
        return name in run.metrics and untouched(run.metrics[name], others)

    moved = [
        one.model_copy(update={"claims": tuple(name for name in one.claims if not stays(name))})
        if one.cut
        else one
        for one in choices
    ]
    return [one for one in moved if one.claims or not one.cut]


def _giving(name: str, shorter: Sequence[ShorterRun]) -> Sequence[ShorterRun]:
    """The shorter runs, if each gives the number: where one doesn't, its place is one that the runs
    come by at different counts, as a line of an output that grows.
    """
    return shorter if all(name in one.run.metrics for one in shorter) else ()


def _shortened(
    name: str, choices: Sequence[Choice], shorter: Sequence[ShorterRun]
) -> Shortened | None:
    """Of how many draws fewer than the paper's a claim's number is."""
    first = next(iter(shortened_of(name, choices)), None)
    if first is None or first.cut is None:
        return None
    numbers = sorted(
        (share_of(first, one.share), one.run.metrics[name]) for one in _giving(name, shorter)
    )
    return Shortened(
        what=first.what,
        paper=int(first.due),
        run=int(first.value),
        replicates=first.cut.replicates,
        shorter=tuple(numbers),
    )


def judge_trial(
    task: Task,
    outcome: Result,
    runs: Sequence[SeedRun],
    claims: ClaimsFile | None,
    *,
    choices: Sequence[Choice] = (),
    method: Method | None = None,
    readings: ReadingsVerdict | None = None,
    remarks: Sequence[str] = (),
    constants: Mapping[str, str] | None = None,
    seeds: SeedUse = SeedUse(),
    shorter: Sequence[ShorterRun] = (),
) -> TrialVerdict:
    """The verdict on a trial whose program gave numbers; `runs` holds at least that run.

    `claims` None: none are known. `choices` may make some incomparable. `remarks` are shown as
    they are; those that follow from the runs are added. `constants`: where in the source text a
    number stands, by its key: it was printed and not computed. `seeds`: how its command takes one.
    `shorter`: runs of a plan that was shortened already, with still fewer draws.
    """
    failed = outcome.number.failed_after if outcome.number else ""
    alike = same_numbers(runs)
    measured = _measured(claims, runs, task, seeds, alike) if claims else {}
    choices = moving(choices, runs[0], shorter)
    measured = {
        name: one.model_copy(update={"shortened": _shortened(name, choices, shorter)})
        for name, one in measured.items()
    }
    if claims and outcome.number:
        measured |= _on_scale(claims.claims, measured, outcome.number.scales)
    judged = (
        _judged_claims(claims, runs, task, choices, constants or {}, measured) if claims else []
    )
    words = outcome.number.derived if outcome.number else {}
    judged = [
        one.model_copy(update={"derived": words[one.claim.id]}) if one.claim.id in words else one
        for one in judged
    ]
    missing = _missing(outcome, claims, task)
    judged = [
        one.model_copy(update={"verdict": one.verdict.model_copy(update={"why": why})})
        if one.verdict.word == "not measured" and (why := missing.get(one.claim.id))
        else one
        for one in judged
    ]
    reasons = {one.claim.id for one in judged if one.verdict.word == "not comparable"}
    orders = [
        order
        for order in (judge_orderings(claims, measured) if claims else [])
        if not reasons & {order.better, order.worse}
    ]
    whole = overall(
        [one.claim for one in judged],
        [one.verdict for one in judged],
        orders,
        method=method,
        method_needed=bool(task.number_cannot_tell),
        failed_after=bool(failed),
    )
    if readings is not None and whole.word == "not comparable":
        readings = readings.model_copy(update={"comparable": False})
    values = [run.value for run in runs if run.value is not None and is_usable(run.value)]
    values = values[:1] if alike else values
    found = TrialVerdict(
        sentence="",
        level=_level(whole, number_level(outcome, task), readings),
        overall=whole,
        claims=tuple(judged),
        orderings=tuple(orders),
        runs=tuple(runs),
        alike=alike,
        mean=fmean(values) if values else None,
        interval=mean_interval(values, Rules()) if values else None,
        readings=readings,
        remarks=(
            *([f"{FAILED_AFTER}: {failed}."] if failed else []),
            *remarks,
            *_remarks(task, whole, judged, runs, seeds, alike),
            *record_remarks([one.claim for one in judged], runs, choices),
        ),
        claims_digest=claims.digest if claims else "",
    )
    return found.model_copy(update={"sentence": trial_sentence(outcome, task, found)})


def _missing(outcome: Result, claims: ClaimsFile | None, task: Task) -> dict[str, str]:
    """Why the program gave no number, by the claim's id."""
    found = dict(outcome.number.missing) if outcome.number else {}
    if claims and (why := found.get(task.metric.name)):
        found.setdefault(_claim_of_number(claims.claims, task), why)
    return found


def _judged_claims(
    file: ClaimsFile,
    runs: Sequence[SeedRun],
    task: Task,
    choices: Sequence[Choice],
    constants: Mapping[str, str],
    measured: Mapping[str, MeasuredAs],
) -> list[JudgedClaim]:
    reasons = _reasons(file.claims, task, choices)
    for claim in file.claims:
        if problem := items_problem(claim, runs[0], choices):
            reasons.setdefault(claim.id, problem)
        if place := constants.get(claim.id):
            reasons[claim.id] = f"printed, not computed: the number is in {place}"
    verdicts = judge_all(file, measured, reasons)
    number_of = _claim_of_number(file.claims, task)
    return [
        JudgedClaim(
            claim=claim,
            verdict=verdict,
            recomputed=bool(verdict.values) and _recomputed(claim, runs, claim.id == number_of),
        )
        for claim, verdict in zip(file.claims, verdicts, strict=True)
    ]


def _recomputed(claim: Claim, runs: Sequence[SeedRun], is_number: bool) -> bool:
    """Whether every run that gave a number for the claim had it recomputed, and one did; but for
    those that were many in one process.
    """
    by_harness = [
        (is_number and run.recomputed) or claim.id in run.recounted
        for run in runs
        if not run.in_process and _value_of_run(claim, run, is_number) is not None
    ]
    return bool(by_harness) and all(by_harness)


def same_numbers(runs: Sequence[SeedRun]) -> bool:
    """Whether the runs that gave numbers, two at least, gave the same ones to the last digit."""
    given = [dict(run.metrics) | ({} if run.value is None else {"": run.value}) for run in runs]
    given = [numbers for numbers in given if numbers]
    if len(given) < 2 or any(numbers.keys() != given[0].keys() for numbers in given):
        return False
    return all(repeats([one[name] for one in given]) == len(given) for name in given[0])


def _reasons(claims: Sequence[Claim], task: Task, choices: Sequence[Choice]) -> dict[str, str]:
    """Why a claim cannot be compared, by its id: the claim says so, the task, or a choice."""
    of_task = "stand-in data" if task.stand_in else ""
    if not of_task and task.profile != "full":
        of_task = f"{task.profile} profile"
    scaled = incomparable(claims, choices)
    found = {
        one.id: one.not_comparable
        or (of_task if one.source != "user" else "")  # a user's own claim is of this very setting
        or scaled.get(one.id, "")
        for one in claims
    }
    return {name: reason for name, reason in found.items() if reason}


def _measured(
    file: ClaimsFile, runs: Sequence[SeedRun], task: Task, seeds: SeedUse, alike: bool
) -> dict[str, MeasuredAs]:
    """What the runs gave for each claim, by its id; a run without a number gives NaN. One program
    run whose number is a mean gives the values behind it, and so do several that are alike.

    A claim for which no run gave a number is not among them.
    """
    number_of = _claim_of_number(file.claims, task)
    found = {}
    for claim in file.claims:
        own = claim.id == number_of and runs[0].recomputed
        own = own and claim.id not in runs[0].runs_recounted
        if (len(runs) == 1 or alike) and not own and (single := single_values(claim, runs[0])):
            found[claim.id] = MeasuredAs(values=single)
            continue
        values = [_value_of_run(claim, run, claim.id == number_of) for run in runs]
        if any(value is not None for value in values):
            found[claim.id] = MeasuredAs(
                values=tuple(math.nan if value is None else value for value in values),
                seeds=tuple(run.seed for run in runs),
                seeded=bool(seeds.name),
                alike=alike or runs[0].any_seed,
                replicates=tuple(replicates(claim, run) for run in runs),
            )
    return found


def _on_scale(
    claims: Sequence[Claim],
    measured: Mapping[str, MeasuredAs],
    scales: Mapping[str, Literal["fraction", "percent"]],
) -> dict[str, MeasuredAs]:
    """Those of `measured` whose scale is known beside a claim that is a share."""
    shares = {claim.id for claim in claims if claim.scale != "raw"}
    known = {name: scales[name] for name in shares & measured.keys() & scales.keys()}
    return {name: measured[name].model_copy(update={"scale": at}) for name, at in known.items()}


def _value_of_run(claim: Claim, run: SeedRun, is_number: bool) -> float | None:
    """The recomputed number first, then what the program wrote under the claim's id, or of a
    difference under the keys that its two rows' numbers have.
    """
    if is_number and run.recomputed:
        return run.value
    written = run.metrics.get(claim.id)
    if written is None and claim.than:
        keys = (id_of((*row, *claim.column), claim.metric, ()) for row in (claim.row, claim.than))
        ours, theirs = map(run.metrics.get, keys)
        return None if ours is None or theirs is None else ours - theirs
    return run.value if written is None and is_number else written


def _claim_of_number(claims: Sequence[Claim], task: Task) -> str:
    """The id of the claim that the task's own number is measured for; "" if none stands out."""
    found = headline_of(claims, task.metric)
    return found.claim.id if found is not None and found.sure else ""


def with_tested(claims: ClaimsFile | None, tested: int) -> ClaimsFile | None:
    """The claims with limits for one of so many alternatives."""
    if claims is None:
        return None
    rules = claims.rules.model_copy(update={"tested": tested})
    return claims.model_copy(update={"rules": rules})


def _level(whole: Overall, of_number: Level, readings: ReadingsVerdict | None) -> Level:
    level = of_number if whole.word == "not comparable" else LEVEL_OF_WORD[whole.word]
    if level == "bad" and readings is not None and readings.deciding():
        return "mixed"
    return "mixed" if level == "good" and whole.doubtful else level


def _remarks(
    task: Task,
    whole: Overall,
    judged: Sequence[JudgedClaim],
    runs: Sequence[SeedRun],
    seeds: SeedUse,
    alike: bool,
) -> list[str]:
    """What a reader of the verdict must know beside the table."""
    found = [f"seed {run.seed}: {run.reason}" for run in runs if run.value is None and run.reason]
    if task.number_cannot_tell:
        found.append(f"The number alone cannot tell the method here: {task.number_cannot_tell}.")
    taken = [one.claim.id for one in judged if one.verdict.values and not one.recomputed]
    if taken:
        found.append(f"Written by the program itself and not recomputed: {', '.join(taken)}.")
    if many := [run.seed for run in runs if run.in_process]:
        found.append(
            f"Seeds {many[0]} to {many[-1]} ran one after the other in one process; {OWN_WORD}."
        )
    own = [one.claim for one in judged if not one.claim.is_baseline]
    headline = headline_of(own, task.metric) if len(own) > 1 and not task.more_metrics else None
    if headline is not None and headline.claim.id != task.metric.name:
        found.append(
            f"The headline, {task.metric.name}, was asked for as the number of "
            f"{headline.claim.title}, since {headline.why}."
        )
    spread = [one.verdict.percentile for one in judged if one.verdict.percentile is not None]
    if len(spread) > 1:
        inside = sum(100 * TAIL <= percentile <= 100 * (1 - TAIL) for percentile in spread)
        found.append(f"{inside} of {len(spread)} numbers lie in the middle 95 % of the seeds.")
    why = "its command takes no seed, and nothing in it varies"
    if seeds.name:
        why = f"this program doesn't use its seed ({seeds.name}), or has no randomness"
    if alike:
        found.append(
            f"{len(runs)} runs gave the same numbers to the last digit, {COUNT_AS_ONE}: {why}."
        )
    elif runs[0].any_seed:
        found.append(f"Another seed gave the same numbers to the last digit: {why}.")
    open_to_more = any(one.verdict.word in ("close", "untestable") for one in judged)
    one_of_many = whole.single and len(runs) == 1 and not runs[0].any_seed
    if one_of_many and open_to_more and seeds.advice:
        found.append(f"{ONE_RUN} {seeds.advice}.")
    return found


# What is behind a program's numbers by its own record: the runs of a mean, the items measured.
#
# A mean counts as many runs as the program wrote values of, and one without them counts as one
# run. Values of simulated data sets are no runs: they give the number's Monte Carlo error. A
# number whose saved predictions are not as many as the paper's split has items was computed on
# something else.

SAME_MEAN = 1e-3  # relative difference of a mean and its values', rounded
_SPLITS = {"validation": r"valid|\bval\b|\bdev\b", "train": r"train"}  # of the others: test
_SIZE = re.compile(
    r"\b(?:size|set|split|nodes|samples|items|images|examples|instances|points|graphs|pairs|rows"
    r"|sequences|sentences|questions|number of)\b",
    re.IGNORECASE,
)


def single_values(claim: Claim, run: SeedRun) -> tuple[float, ...]:
    """The values of the runs behind the number of `claim`; () if there are none, or if their mean
    is not the number.
    """
    values, written = run.runs.get(claim.id, ()), run.metrics.get(claim.id)
    if len(values) < 2 or written is None or replicates(claim, run):
        return ()
    return values if math.isclose(fmean(values), written, rel_tol=SAME_MEAN, abs_tol=1e-12) else ()


def replicates(claim: Claim, run: SeedRun) -> tuple[float, ...]:
    """The values of the simulated data sets behind the number of `claim`; () if there are none."""
    values, written = run.runs.get(claim.id, ()), run.metrics.get(claim.id)
    if written is None or not are_replicates(claim, values, written):
        return ()
    return values


def items_problem(claim: Claim, run: SeedRun, choices: Sequence[Choice]) -> str:
    """Why the number of `claim` was computed on another split than the paper's, by how many
    predictions were saved; "" if it was not, or if one of both is not known.
    """
    due, found = _items_due(claim, choices), run.entries.get(claim.id, 0)
    if not due or not found or FITS <= found / due <= 1 / FITS or found % due == 0:
        return ""
    split = "test" if claim.split == "unstated" else claim.split
    return (
        f"split: the number was computed on {found:,} items, the paper's {split} split has "
        f"{due:,} (×{found / due:.3g})"
    )


def record_remarks(
    claims: Sequence[Claim], runs: Sequence[SeedRun], choices: Sequence[Choice]
) -> list[str]:
    """What a reader must know of the runs and items behind the numbers of the first run."""
    first, there = runs[0], [claim for claim in claims if claim.id in runs[0].metrics]
    found = [text for claim in there if (text := _runs_remark(claim, first))]
    splits = [(claim.id, items_problem(claim, first, choices)) for claim in there]
    found += [f"{name}: {problem}." for name, problem in splits if problem]
    unknown = [
        claim.id
        for claim in there
        if _items_due(claim, choices) and claim.id not in first.entries and not first.recomputed
    ]
    if unknown:
        found.append(f"It isn't known how many items these were computed on: {', '.join(unknown)}.")
    return found


def _runs_remark(claim: Claim, run: SeedRun) -> str:
    """How many runs or replicates are behind a number, if the paper's has several."""
    values, simulated = run.runs.get(claim.id, ()), replicates(claim, run)
    counted = simulated or single_values(claim, run)
    if over_replicates(claim) and not counted:
        return ""
    if values and not counted and len(values) > 1:
        return (
            f"{claim.id}: its {len(values):,} single values have the mean {fmean(values):.6g} and "
            f"not {run.metrics[claim.id]:.6g}, so it counts as one run."
        )
    paper = claim.replicates or claim.n or 0
    if paper < 2 or len(counted) >= paper:
        return ""
    if not counted:
        return (
            f"{claim.id}: the paper's number is of {paper:,} runs; here it stands without the "
            "values of single runs, so it counts as one."
        )
    return (
        f"{claim.id}: {len(counted):,} {'replicates' if claim.replicates else 'runs'} where the "
        f"paper has {paper:,} "
        f"(×{len(counted) / paper:.3g})."
    )


def _items_due(claim: Claim, choices: Sequence[Choice]) -> int:
    """How many items the paper's number is of, by the claim, else by a choice on the size of its
    split; 0 if neither says.
    """
    if claim.items:
        return claim.items
    word = re.compile(_SPLITS.get(claim.split, r"\btest"), re.IGNORECASE)
    sizes = {
        int(choice.due)
        for choice in choices
        if choice.key in (None, "samples")
        and isinstance(choice.due, int)
        and (not choice.claims or claim.id in choice.claims)
        and word.search(choice.what)
        and _SIZE.search(choice.what)
        and "batch" not in choice.what.casefold()
    }
    return sizes.pop() if len(sizes) == 1 else 0

"""The end of a trial that was measured: more seeds, the method beside the reference, the verdict.

What the verdict needs is made here; the rules are `evaluation.verdict` and `claims.verdicts`.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from autoreproduce.claims.choices import Choice, alike
from autoreproduce.claims.claim import CLAIMS, ClaimsFile, claims_of
from autoreproduce.claims.observed import rows_left_out
from autoreproduce.claims.user_claims import claims_of_task
from autoreproduce.claims.verdicts.overall import Method
from autoreproduce.claims.verdicts.trial_verdict import FILE, SeedRun, TrialVerdict, verdict_of
from autoreproduce.config import Settings
from autoreproduce.contracts import Score
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.material import material_of
from autoreproduce.evaluation.outside_run import OutsideRun
from autoreproduce.evaluation.report.evidence import read_choices
from autoreproduce.evaluation.report.verdict_words import verdict as verdict_in_words
from autoreproduce.evaluation.scorers import Setup, open_scorers
from autoreproduce.evaluation.scorers.structure import saved_structures
from autoreproduce.evaluation.scoring import score_trial
from autoreproduce.evaluation.seen import seen_in_full
from autoreproduce.evaluation.structure.save import measure_both
from autoreproduce.evaluation.verdict import judge_trial, with_tested
from autoreproduce.runner.last_look import AFTER, LastLook
from autoreproduce.runner.late_findings import add_printed_constants, add_watched_steps
from autoreproduce.runner.readings import late_reading, reading_verdict
from autoreproduce.runner.seeds import Repeater, seed_runs
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.task import Task
from autoreproduce.trials.measurement import Measurement
from autoreproduce.trials.trial import Outcome, Trial

# from what agreement on they count as the same: one network can be written in other layers
ALIKE = {
    "parameters": 0.95,
    "parameter tensors": 0.95,
    "trained parameters": 0.95,
    "layers by type": 0.9,
}
# The same number of parameters in other tensors: queries, keys and values in one matrix, say.
SAME_COUNT = 0.999
# What another way of writing changes if all parameters are there: a functional layer is no module,
# and a cosine may be a CosineAnnealingLR or a LambdaLR.
STYLE = {"layers by type", "schedule"}
OTHER_LAYOUT = 0.85


def conclude(
    trial: Trial,
    task: Task,
    outcome: Outcome,
    measurement: Measurement,
    settings: Settings,
    sandboxes: SandboxSetup,
    *,
    structure: bool = True,
    outside: OutsideRun | None = None,
    look: LastLook | None = None,
) -> None:
    """Write verdict.json and fill in the outcome's verdict.

    `structure`: whether program and reference are watched and compared. `outside`: how a program
    from outside is run. `look`: asked if the paper was missed; without it, what it said earlier
    stays. Only a program that was to give a number has a verdict. Raises SandboxError if a run with
    another seed finds no sandbox; nothing else is raised.
    """
    if not task.wants_program or not measurement.wanted:
        return
    if outcome.status != "measured":
        failed = verdict_in_words(outcome, task)
        outcome.verdict = "not measured"
        outcome.sentence, outcome.level = failed.sentence, failed.level
        return
    before = verdict_of(trial.folder) if look is None else None
    said = [one for one in before.remarks if one.startswith(AFTER)] if before is not None else []
    repeater = Repeater.of(trial, task, settings, sandboxes, outside)
    runs = seed_runs(trial, settings, repeater, measurement)
    claims, problems = _claims(trial, task)
    more: list[str] = []
    choices = read_choices(trial.folder, more)
    watched = task if structure else task.model_copy(update={"folder": None})
    method, seen = _method(trial, watched, settings, choices)
    add_watched_steps(trial, measurement, outcome, task.steps)

    def judge(runs: Sequence[SeedRun], tested: int) -> TrialVerdict:
        held = with_tested(claims, tested)
        return judge_trial(task, outcome, runs, held, choices=choices, constants=constants)

    constants = add_printed_constants(trial, measurement, outcome, repeater, runs)
    readings = reading_verdict(repeater, runs, settings, judge)
    found = judge_trial(
        task,
        outcome,
        runs,
        claims,
        choices=choices,
        method=method,
        readings=readings,
        remarks=[*problems, *more, *seen, *_data_remarks(trial)],
        constants=constants,
    )
    if look is not None:
        late = (
            partial(late_reading, repeater, judge)
            if repeater and settings.readings_minutes != 0
            else None
        )
        said = look.remarks(found, choices, late)
    found = found.model_copy(update={"remarks": (*found.remarks, *said)})
    trial.write(FILE, found.model_dump_json(indent=1))
    outcome.warnings += problems
    outcome.verdict, outcome.sentence = found.overall.word, found.sentence
    outcome.level = found.level


def _data_remarks(trial: Trial) -> list[str]:
    """That the run in full left out rows of its data, if it was watched."""
    seen = seen_in_full(trial.steps)
    left_out = rows_left_out(seen.file_rows, seen.held)
    return [left_out] if left_out else []


def add_judgement(folder: Path, scores: Sequence[Score]) -> None:
    """The score of a judge at paper level as the verdict's word on the method, if it has no other.

    Nothing is changed in a trial whose files were altered, and never a word on the numbers.
    """
    score = next((one.value for one in scores if one.scorer == "paper"), None)
    found, trial = verdict_of(folder), Trial.read(folder)
    outcome = trial.outcome
    if score is None or found is None or outcome is None or trial.altered:
        return
    if found.overall.method.compared:
        return
    whole = found.overall.model_copy(update={"method": Method(by="judge", score=score)})
    judged = found.model_copy(update={"overall": whole})
    trial.write(FILE, judged.model_dump_json(indent=1))
    trial.write_outcome(outcome)  # which seals the verdict beside it


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


def _method(
    trial: Trial, task: Task, settings: Settings, choices: list[Choice]
) -> tuple[Method, list[str]]:
    """How far the program is the paper's method, by structure, else by choices; with remarks."""
    try:
        found, remarks = _method_by_structure(trial, task, settings)
    except Exception as error:  # whatever a strange program leads it to: the number stands
        trial.note(f"structure: not compared ({error})")
        found, remarks = Method(), [f"The structure could not be compared: {error}."]
    return (found, remarks) if found.compared else (_method_by_choices(choices), remarks)


def _method_by_structure(trial: Trial, task: Task, settings: Settings) -> tuple[Method, list[str]]:
    """Only what was seen while both programs trained counts, and not what their texts say."""
    if task.folder is None or trial.record.solver.partition(":")[0] == "reference":
        return Method(), []
    return compare_structure(trial, task, settings)


def compare_structure(trial: Trial, task: Task, settings: Settings) -> tuple[Method, list[str]]:
    """The trial's program beside the task's reference, both watched while they train; remarks.

    Nothing is compared if the task has no reference.
    """
    material = material_of(task)
    if material.reference is None:
        return Method(), []
    measure_both(trial.folder, task, material.reference, settings, trial.note)
    setup = Setup(material=material, note=trial.note)
    details: Any = score_trial(trial.folder, task, open_scorers(["structure"], setup))[0].details
    due = [one for one in details.get("items", []) if one["agreement"] is not None]
    items = [one for one in due if one["seen"]]
    differing = _differing(items)
    agreed = len(items) - len(differing)
    counted = f"{agreed} of {len(items)} things agree"
    saved = saved_structures(trial)
    if not all(saved.get(side, {}).get("source") for side in ("reference", "generated")):
        return Method(), [f"Structure: the programs could not both be watched; {counted}."]
    if not differing and task.structure_cannot_tell:
        return Method(), [
            f"Structure: {counted}, which does not show the method: {task.structure_cannot_tell}."
        ]
    style = len(differing) if _is_style(items, differing) else 0
    found = Method(by="structure", agreed=agreed, compared=len(items), style=style)
    why = ", as it may if the same method is written in another way" if style else ""
    return found, [f"Structure differs in {', '.join(differing)}{why}."] if differing else []


def _differing(items: list[dict[str, Any]]) -> list[str]:
    """The names of the things in which two structures differ."""
    alike_from = dict(ALIKE)
    counts = [one["agreement"] for one in items if one["name"] == "parameters"]
    if counts and counts[0] >= SAME_COUNT:
        alike_from |= {"parameter tensors": OTHER_LAYOUT, "layers by type": OTHER_LAYOUT}
    return [
        one["name"] for one in items if one["agreement"] < alike_from.get(one["name"], 1 - 1e-9)
    ]


def _is_style(items: list[dict[str, Any]], differing: list[str]) -> bool:
    """Whether the same method, written in another way, may differ so."""
    counts = [
        one["agreement"] for one in items if one["name"] in ("parameters", "trained parameters")
    ]
    return set(differing) <= STYLE and bool(counts) and min(counts) > 1 - 1e-9


def _method_by_choices(choices: list[Choice]) -> Method:
    """The choices of which the run showed something, and how many of them it kept to.

    What was decided counts: what the paper has beside it, scaled down, is a difference of its own.
    """
    seen = [(one.value, one.used) for one in choices if one.used is not None]
    agreed = sum(alike(decided, used) for decided, used in seen if used is not None)
    return Method(by="choices", agreed=agreed, compared=len(seen)) if seen else Method()

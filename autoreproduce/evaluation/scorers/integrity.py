"""The integrity of a trial's number: the verdict in measurement.json, and what scoring adds to it.

A probe watches the run in full itself, and the structure level runs program and reference under one
(`evaluation.structure`). If it saw no step of an optimiser, while the reference takes some, and no
processor time was spent either, that is a finding here too; what was seen of the run in full
decides.
"""

from autoreproduce.contracts import Score
from autoreproduce.evaluation.scorers import Scorer
from autoreproduce.evaluation.scorers.execution import last_run
from autoreproduce.evaluation.scorers.structure import saved_structures
from autoreproduce.task import Task
from autoreproduce.trials.finding import IntegrityFinding
from autoreproduce.trials.integrity import INSTANT, Integrity
from autoreproduce.trials.measurement import read_measurement
from autoreproduce.trials.probe.observation import structure_of
from autoreproduce.trials.trial import Trial

STEPS = "steps of an optimiser"
FEWEST = 0.6  # of the stated steps: a training that ends early takes more
VALUES = {"clean": 1.0, "unchecked": 0.75, "doubtful": 0.5, "void": 0.0}


class IntegrityScorer(Scorer):
    """1 for clean, 0.75 for unchecked, 0.5 for doubtful, 0 for void; none without a number."""

    name = "integrity"

    def score(self, trial: Trial, task: Task) -> Score:
        """The verdict and its findings; nothing is run."""
        measurement = read_measurement(trial.folder)
        if measurement is None or measurement.integrity is None:
            return Score(self.name, None, "not scored: the trial has no number")
        found = with_probe(measurement.integrity, trial, task.steps)
        shown = "; ".join([*(each.text for each in found.findings), *found.missing])
        return Score(
            self.name,
            VALUES[found.word],
            f"{found.word}: {shown or ', '.join(found.checks) or 'nothing could be checked'}",
            found.model_dump(),
        )


def with_probe(integrity: Integrity, trial: Trial, stated: int | None = None) -> Integrity:
    """The verdict, with what a probe saw of the program's training; as it is without a probe, and
    if that is in it already. `stated`: the steps that the task's epochs, samples and batch size
    come to.
    """
    if any(check.startswith(STEPS) for check in integrity.checks):
        return integrity
    steps = {side: _steps(trial, side) for side in ("reference", "generated")}
    watched = _steps_of_run(trial)
    steps["generated"] = steps["generated"] if watched is None else watched
    if not steps["reference"] or steps["generated"] is None:
        return integrity
    checks = [*integrity.checks, STEPS]
    if not steps["generated"] and _worked(trial):
        # a child process, NumPy, an optimiser of one's own: the probe sees torch's in one process
        checks[-1] = f"{STEPS}: not observed"
        return integrity.model_copy(update={"checks": checks})
    if not steps["generated"]:
        finding = IntegrityFinding(
            kind="no step",
            text="the probe saw no step of an optimiser, and the reference takes some",
            numbers={"steps": 0.0, "the reference's steps": float(steps["reference"])},
        )
    elif watched and stated and watched < FEWEST * stated:
        finding = IntegrityFinding(
            kind="fewer steps",
            text=f"the probe saw {watched:,} steps of an optimiser in the run in full, and the "
            f"settings that the task states come to {stated:,}",
            numbers={"steps": float(watched), "stated": float(stated)},
        )
    else:
        return integrity.model_copy(update={"checks": checks})
    word = integrity.word if integrity.word == "void" else "doubtful"
    found = {"word": word, "findings": [*integrity.findings, finding], "checks": checks}
    return integrity.model_copy(update=found)


def _worked(trial: Trial) -> bool:
    """Whether the run in full spent processor time, as seen from outside."""
    run = last_run(trial)
    return run is not None and (run.result.cpu_seconds or 0.0) > INSTANT


def _steps_of_run(trial: Trial) -> int | None:
    """Steps that the probe saw in the run in full itself; None if that was not watched."""
    run = last_run(trial)
    if run is None or run.phase != "full_run" or run.result.observed is None:
        return None
    try:
        seen = structure_of(run.result.observed)
    except ValueError:
        return None
    return seen.steps or (0 if seen.source or not seen.unseen else None)


def _steps(trial: Trial, side: str) -> int | None:
    """Steps that the probe saw of one program; None if it could not be watched."""
    found = saved_structures(trial).get(side)
    if found is None:
        return None
    steps: int | None = found.get("steps", 0 if found["source"] or not found["unseen"] else None)
    return steps

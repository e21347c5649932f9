"""What speaks against a number and is known only at the end of its trial, as findings beside it."""

from collections.abc import Sequence
from math import nan

from autoreproduce.claims.verdicts.trial_verdict import SeedRun
from autoreproduce.evaluation.printed_constants import printed_constants
from autoreproduce.evaluation.scorers.integrity import with_probe
from autoreproduce.runner.seeds import Repeater
from autoreproduce.trials.findings import IntegrityFinding
from autoreproduce.trials.integrity import Integrity
from autoreproduce.trials.measurement import FILE as MEASUREMENT
from autoreproduce.trials.measurement import Measurement
from autoreproduce.trials.trial import Outcome, Trial


def add_watched_steps(
    trial: Trial, measurement: Measurement, outcome: Outcome, stated: int | None
) -> None:
    """What the probe saw of the training, as part of the verdict on the number's integrity."""
    old = measurement.integrity
    if old is None or (new := with_probe(old, trial, stated)) == old:
        return
    _add_findings(trial, measurement, outcome, new)


def add_printed_constants(
    trial: Trial,
    measurement: Measurement,
    outcome: Outcome,
    repeater: Repeater | None,
    runs: Sequence[SeedRun],
) -> dict[str, str]:
    """Where in the source text numbers stand that were not computed, by key; a finding too."""
    first = runs[0]
    own_word = [name for name in first.metrics if name not in first.recounted]
    names = [name for name in own_word if not (first.recomputed and len(runs) == 1)]
    values = {name: [run.metrics.get(name, nan) for run in runs] for name in names}
    found = printed_constants(repeater.files if repeater else {}, values)
    if found and (old := measurement.integrity) is not None:
        shown = "; ".join(f"{name} stands in {place}" for name, place in list(found.items())[:5])
        finding = IntegrityFinding(
            kind="printed",
            text=f"{len(found)} of {len(values)} numbers are printed, not computed: {shown}",
            numbers={name: values[name][0] for name in found},
        )
        word = "void" if old.word == "void" else "doubtful"
        new = old.model_copy(update={"word": word, "findings": [*old.findings, finding]})
        _add_findings(trial, measurement, outcome, new)
    return found


def _add_findings(trial: Trial, measurement: Measurement, outcome: Outcome, new: Integrity) -> None:
    known = measurement.integrity.findings if measurement.integrity else []
    more = [each.text for each in new.findings if each not in known]
    measurement.integrity, outcome.integrity = new, new.word
    measurement.warnings += more
    outcome.warnings += more
    trial.write(MEASUREMENT, measurement.model_dump_json(indent=1))

"""How much was changed to get there: turns and lines by phase, as in the paper's Table 6."""

from autoreproduce.contracts import Score
from autoreproduce.evaluation.scorers import Setup
from autoreproduce.task import Task
from autoreproduce.trials.trial import Trial


class EditScorer:
    """The number of edits, by phase in the details; fewer is not better in itself."""

    name = "edits"

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def score(self, trial: Trial, task: Task) -> Score:
        """From the outcome, if the trial's workspace counted its commits."""
        outcome = trial.outcome
        if outcome is None or not outcome.edits:
            return Score(self.name, None, "not scored: the trial recorded no edits")
        total = {
            key: sum(phase.get(key, 0) for phase in outcome.edits.values())
            for key in list(dict.fromkeys(key for phase in outcome.edits.values() for key in phase))
        }
        reason = ", ".join(f"{count} {key}" for key, count in total.items())
        turns = next(iter(total.values()), 0)
        return Score(self.name, float(turns), reason, {"phases": outcome.edits, "total": total})

"""ReproduceBench as a suite takes it: the folders of `reproducebench/`."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from autoreproduce.benchmarks.reproducebench import prepared_data
from autoreproduce.benchmarks.reproducebench.draws import decoy_folder, draw_of, new_seed
from autoreproduce.benchmarks.reproducebench.paired import pair_of
from autoreproduce.benchmarks.reproducebench.recomputing import recompute
from autoreproduce.benchmarks.reproducebench.serving import served_by
from autoreproduce.benchmarks.reproducebench.tasks import find_task, redrawn, targets_of, task_names
from autoreproduce.contracts import Submission
from autoreproduce.sandboxes.counted_run import DECOYS_SHOWN, PUBLISHED, CountedData
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.task import Task
from autoreproduce.trials.measurement import Measurement, measured_from, not_measured
from autoreproduce.trials.trial import Trial

DECOYS = (
    "in the run that counts, decoys lay in place of test targets: what the program printed and "
    "wrote of the test set, curves included, is about these"
)

DRAWN = (
    "the run that counts saw data that were drawn after the program was final, with decoys in "
    "place of the test targets: numbers that the program printed are about these decoys, and the "
    "reference's number beside it is of the same draw"
)
EARLIER = "the run was made before they were withheld"
OWN_NUMBER = "what it wrote of them itself is its number (--metric-from)"


class ReproduceBench:
    """Papers with a reference of our own, data, and a metric recomputed from predictions."""

    class Options(BaseModel):
        """It has none."""

        model_config = ConfigDict(extra="forbid")

    def __init__(self, options: Options) -> None:
        self.options = options

    def names(self) -> list[str]:
        """The ids of all tasks."""
        return task_names()

    def load(self, name: str, profile: str) -> Task:
        """The task that answers to this name. Raises UsageError for an unknown name or profile."""
        return find_task(name, profile)

    def prepare(
        self, task: Task, cache: Path, note: Callable[[str], None], given: Path | None = None
    ) -> Task:
        """The task with its data, fetched or generated once a machine and profile.

        Beside them lie decoys for what the task withholds.
        """
        made = prepared_data.prepare(task.id, task.profile, cache, note, given)
        decoys = decoy_folder(task.id, task.profile, made, cache, note)
        return task.model_copy(update={"data_dir": made, "decoy_dir": decoys})

    def ready(self, task: Task, sandboxes: SandboxSetup) -> SandboxSetup:
        """The same, and each run that counts sees a draw of its own, or decoys alone."""
        if task.decoy_dir is None and not redrawn(task):
            return sandboxes
        files = tuple(targets_of(task).files)
        return replace(sandboxes, counted=partial(_counted, task, sandboxes), files=files)

    def measure(
        self, task: Task, submission: Submission, trial: Trial, sandboxes: SandboxSetup
    ) -> Measurement:
        """The metric by the task's own code, from the predictions in the workspace.

        If the run saw decoys, the metric against these tells whether the program followed them. If
        its data were drawn for it, the reference is run on the same draw.
        """
        if nothing := not_measured(submission):
            return nothing
        run, targets = submission.run, targets_of(task)
        own = run is not None and run.draw not in ("", PUBLISHED)
        cache = sandboxes.settings.cache_dir
        draw = draw_of(task, cache, run.draw, sandboxes.note) if run and own else None
        found = recompute(task, trial.workspace, draw.truth if draw else None)
        shown = (
            draw.shown if draw and targets.withheld not in ("none", "samples") else task.decoy_dir
        )
        saw = found.value is not None and run is not None and run.decoys and shown
        decoys = recompute(task, trial.workspace, shown) if saw else None
        measured = draw is not None and found.value is not None
        pair = pair_of(task, trial.workspace, draw, sandboxes) if draw and measured else None
        served = served_by(task, trial.workspace, draw, pair, sandboxes) if draw else None
        asked = submission.metric_from
        kind = "all" if targets.withheld == "drawn" else targets.withheld
        made = measured_from(task, trial.workspace, found, run, decoys, kind, asked, pair, served)
        made.warnings += [served.reason] if served and served.reason else []
        made.notes += [DRAWN] if draw and saw else [DECOYS] if saw else []
        numbered = found.value is not None or (asked and made.value is not None)
        if numbered and targets.withheld != "samples" and not saw:
            why = OWN_NUMBER if asked else targets.why or EARLIER
            made.notes += [f"the program could see the test targets ({targets.what}): {why}"]
        return made


def _counted(task: Task, sandboxes: SandboxSetup, asked: str) -> CountedData:
    """What a run that counts sees: the draw that is asked for, a new one, or the published data,
    which nobody can ask for a draw of where nothing is drawn.
    """
    if asked == PUBLISHED or not redrawn(task):
        folder = task.decoy_dir or task.data_dir
        assert folder is not None
        found = CountedData(folder, asked and PUBLISHED)
    else:
        seed = asked or new_seed()
        draw = draw_of(task, sandboxes.settings.cache_dir, seed, sandboxes.note)
        found = CountedData(draw.shown, seed)
    if targets_of(task).withheld in ("all", "part"):
        sandboxes.note_once(DECOYS_SHOWN)
    return found

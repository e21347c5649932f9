"""Calls `predict` of what a program handed in: fresh processes, without data, on secret inputs.

A program may leave `weights.npz` (numeric arrays, no pickle) and `predict(weights, inputs)` in
`predict.py`, or else in `method.py`; it returns the array that the task's predictions file holds.
The inputs are attributes of the data code's result that task.yaml lists under `served`.
"""

import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from autoreproduce.benchmarks.reproducebench.draws import Draw
from autoreproduce.benchmarks.reproducebench.paired import WORKSPACE
from autoreproduce.benchmarks.reproducebench.perturbing import (
    ALL,
    FALLEN,
    LEAST,
    LITTLE,
    MOST,
    WHOLE,
    Profile,
    change,
    distance,
    in_secret_order,
    matched,
    permutable,
    sizes_of,
    take_few,
)
from autoreproduce.benchmarks.reproducebench.prepared_data import made_once, one_at_a_time
from autoreproduce.benchmarks.reproducebench.recomputing import (
    LARGEST_PREDICTIONS,
    agreement_of,
    recompute,
)
from autoreproduce.benchmarks.reproducebench.task_yaml import Serving
from autoreproduce.benchmarks.reproducebench.tasks import folder_of, task_file
from autoreproduce.errors import ReaderError, SandboxError, UsageError
from autoreproduce.files.confined import confined
from autoreproduce.files.owner import private_copy, temporary_folder
from autoreproduce.files.tree import Tree
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.task import Task
from autoreproduce.trials.pair import Pair
from autoreproduce.trials.printed import last_line
from autoreproduce.trials.run import Run, run_program
from autoreproduce.trials.served import CARRYING, Served, is_one_number

WEIGHTS, CODE, INPUTS, PREDICTIONS = "weights.npz", "predict.py", "inputs.npz", "predictions.npz"
METHOD = "method.py"  # which has `predict` in a program of the paper's three files
LARGEST_CODE = 16 * 2**20  # bytes
CARRIES = 0.1  # of the reference's typical movement: an array that predictions rest on
STEADY = 0.05  # deviations between two calls on the same weights and inputs
SECONDS = 60.0  # that a start may take, beside the task's time
PERTURBING = 120.0  # in which arrays are perturbed; of those left over nothing is known
FEW = "few.npz"
TAKE_INPUTS = f'''
import os, sys
import numpy as np
import preprocess

loader, *names = sys.argv[1:]
data = getattr(preprocess, loader)(os.environ["DATA_DIR"])
np.savez("{INPUTS}", **{{name: np.asarray(getattr(data, name)) for name in names}})
'''


def calling(array: str) -> str:
    """What calls `predict` and saves its result as `array`; no arguments, which code may read."""
    return f'''
import numpy as np
def arrays(name):
    with np.load(name, allow_pickle=False) as file:
        return {{key: file[key] for key in file}}

from predict import predict

found = np.asarray(predict(arrays("{WEIGHTS}"), arrays("{INPUTS}")))
np.savez("{PREDICTIONS}", {array}=found)
'''


@dataclass(frozen=True)
class HandedIn:
    """What a workspace hands in, called below `scratch`."""

    task: Task
    asked: Serving
    workspace: Path
    sandboxes: SandboxSetup
    scratch: Path

    def laid_out(self, which: int = WHOLE) -> Path:
        """A new folder with its code and weights, perturbed as `which` says."""
        space = self.scratch / secrets.token_hex(4)  # a name that tells nothing
        handed = Tree(self.workspace)
        code = [each for each in handed.files() if each.endswith(".py")]
        handed.copy_out(space, code, most=LARGEST_CODE)
        if CODE not in code:
            Tree(space).write(CODE, f"from {Path(METHOD).stem} import predict\n")
        handed.copy_out(space, [WEIGHTS], most=LARGEST_PREDICTIONS)
        seed = secrets.randbits(32)
        confined(change, space / WEIGHTS, which, seed, what=WEIGHTS, memory_gb=16.0)
        return space

    def predict(self, inputs: Path, which: int = WHOLE, most: float = 0.0) -> Path:
        """The folder with the predictions for `inputs`, with weights perturbed as `which` says, in
        `most` seconds if given.

        Raises SandboxError, with the end of what the program printed, where there are none.
        """
        space = self.laid_out(which)
        shutil.copyfile(inputs, space / INPUTS)
        Tree(space).write("call.py", calling(self.asked.array))
        limit = most or SECONDS + self.task.time_limit_minutes * 60
        _run(replace(self.sandboxes, data_dir=None), space, "call.py", limit)
        if Tree(space).kind(PREDICTIONS) != "file":
            raise SandboxError("it left no predictions")
        return space

    def profile(self, few: Path, enough: Callable[[Profile], bool]) -> Profile:
        """How far its predictions for `few` inputs move with each array perturbed, until `enough`
        is known.

        Raises SandboxError where it predicts nothing for them.
        """
        sizes = confined(sizes_of, self.laid_out() / WEIGHTS, what=WEIGHTS, memory_gb=16.0)
        began = time.monotonic()
        whole = self.predict(few)
        once = time.monotonic() - began

        def moved(which: int) -> float:
            try:
                found = self.predict(few, which, 5 * once + 2)
            except SandboxError:
                return FALLEN
            with (
                private_copy(found, PREDICTIONS, LARGEST_PREDICTIONS) as mine,
                private_copy(whole, PREDICTIONS, LARGEST_PREDICTIONS) as before,
            ):
                return confined(
                    distance, mine, before, self.asked.array, what=PREDICTIONS, memory_gb=16.0
                )

        again, tiny = moved(WHOLE), moved(LITTLE)
        known = Profile(moved=[None] * len(sizes), sizes=sizes, tiny=tiny, again=again)
        for which in in_secret_order(sizes):
            late = time.monotonic() - began > PERTURBING
            if len(known.tried) >= LEAST and (late or enough(known)):
                break
            known.moved[which] = moved(which)
        return known


def served_by(
    task: Task, workspace: Path, draw: Draw, pair: Pair | None, sandboxes: SandboxSetup
) -> Served | None:
    """What the weights in `workspace` give on the draw's inputs; None if none were handed in.

    `pair`: the reference on the draw.
    """
    asked = task_file(folder_of(task)).served
    handed = Tree(workspace)
    there = {name for name in (WEIGHTS, CODE, METHOD) if handed.kind(name) == "file"}
    if asked is None or pair is None or WEIGHTS not in there or not there & {CODE, METHOD}:
        return None
    sandboxes.note("calling predict with the weights that were handed in")
    try:
        inputs = _inputs(task, asked, draw, replace(sandboxes, counted=None))
        with temporary_folder("autoreproduce-served-") as scratch:
            own = HandedIn(task, asked, workspace, replace(sandboxes, counted=None), scratch)
            return _served(own, inputs, draw, pair)
    except (SandboxError, UsageError, ReaderError, FileNotFoundError) as error:
        return Served(reason=f"predict.py could not be used: {error}")


def _served(own: HandedIn, inputs: Path, draw: Draw, pair: Pair) -> Served:
    task = own.task
    space = own.predict(inputs)
    found = recompute(task, space, draw.truth)
    if found.value is None:
        return Served(reason=f"predict.py gave no number: {found.reason}")
    agreement = agreement_of(task, space, draw.reference / WORKSPACE, draw.truth)
    made = Served(value=found.value, pair=pair.model_copy(update={"agreement": agreement}))
    handed = own.laid_out() / WEIGHTS
    if confined(permutable, handed, what=WEIGHTS, memory_gb=16.0):
        try:
            spoilt = recompute(task, own.predict(inputs, ALL), draw.truth)
            made.broken, made.failed = spoilt.value, spoilt.reason
        except SandboxError as error:
            made.failed = str(error)[-300:]
    _rest_on_weights(made, own, handed, inputs, draw)
    return made


def _rest_on_weights(made: Served, own: HandedIn, handed: Path, inputs: Path, draw: Draw) -> None:
    """What the program's tensors give in the reference's own predict, where they fit it, give the
    same number and agree with the reference's predictions. Else how far each of its arrays moves
    its predictions, beside the reference's.
    """
    assert made.value is not None
    reference = _reference_of(own, draw)
    if Tree(reference.workspace).kind(WEIGHTS) != "file":
        made.unbroken = "the reference handed in no weights to hold them against"
        return
    space, ours = reference.laid_out(), reference.workspace / WEIGHTS
    if confined(matched, handed, ours, space / WEIGHTS, what=WEIGHTS, memory_gb=16.0):
        with suppress(SandboxError):
            predicted = replace(reference, workspace=space).predict(inputs)
            found = recompute(own.task, predicted, draw.truth).value
            alike = agreement_of(own.task, predicted, reference.workspace, draw.truth)
            same = found is not None and is_one_number(found, made.value)
            if same and not any(one.outside for one in alike):
                made.value, made.by_reference = found, True
                return
    few = own.scratch / FEW
    confined(take_few, inputs, few, own.asked.together, what=INPUTS, memory_gb=16.0)
    try:
        theirs = _reference_profile(reference, few, draw)

        def least(mine: Profile) -> float:
            return max(CARRIES * theirs.typical, 3 * mine.again)

        needed = CARRYING * theirs.carriers(CARRIES * theirs.typical)
        mine = own.profile(few, lambda known: known.found(least(known)) >= needed)
    except SandboxError as error:
        made.unbroken = str(error)[-300:]
        return
    if mine.again > STEADY:
        made.unbroken = "predict draws anew at each call: seed what it samples"
        return
    made.handed, made.carrying = sum(mine.sizes), mine.carriers(least(mine))
    made.reference_carrying = theirs.carriers(least(mine))
    made.tried = (len(mine.tried), len(mine.moved))
    made.tiny, made.reference_tiny = mine.tiny, theirs.tiny


def _reference_of(own: HandedIn, draw: Draw) -> HandedIn:
    """The reference's run on the draw, as one that handed in its weights."""
    packages = draw.reference / "packages"
    trusted = replace(own.sandboxes, packages=packages, trusted=True)
    return replace(own, workspace=draw.reference / WORKSPACE, sandboxes=trusted)


def _reference_profile(reference: HandedIn, few: Path, draw: Draw) -> Profile:
    """How far its predictions move with each of its arrays perturbed, found once for a draw."""
    kept = draw.reference / "profile.json"
    with one_at_a_time(draw.reference / "perturbed", reference.sandboxes.note):
        if not kept.exists():
            found = reference.profile(few, _are_most_known)
            kept.write_text(found.model_dump_json(), encoding="utf-8")
    return Profile.model_validate_json(kept.read_bytes())


def _are_most_known(known: Profile) -> bool:
    return sum(size for _, size in known.tried) >= MOST * sum(known.sizes)


def _inputs(task: Task, asked: Serving, draw: Draw, sandboxes: SandboxSetup) -> Path:
    """The file with what `predict` is given: of the data as the run saw them, without targets."""
    made = draw.truth.parent / "inputs"

    def write_inputs(part: Path) -> None:
        Tree(part).write("take.py", TAKE_INPUTS)
        Tree(part).write("preprocess.py", task.preprocess or "")
        trusted = replace(sandboxes, data_dir=draw.shown, trusted=True)
        given = " ".join([str(task_file(folder_of(task)).loader), *asked.inputs])
        _run(trusted, part, f"take.py {given}", SECONDS * 5)

    made_once(made, f"take the inputs of {task.id}", sandboxes.note, write_inputs)
    return made / INPUTS


def _run(sandboxes: SandboxSetup, space: Path, call: str, limit: float) -> None:
    """Run a Python file in a folder. Raises SandboxError with the last line that it printed."""
    sandbox = sandboxes.open(space)
    try:
        done = run_program(sandbox, Tree(space), Run(f"python {call}", limit, results=()))
    finally:
        sandbox.close()
    if not done.ok:
        raise SandboxError(done.stopped or last_line(done.stderr) or f"it ended {done.exit_code}")

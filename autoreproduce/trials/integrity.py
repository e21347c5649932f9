"""Whether a number was earned: what was seen of the run that made it, and of its predictions.

Something is changed, and the number has to hold. The run that
counts sees data that were drawn after the program was final, with decoys in place of the test
targets (`sandboxes.counted_run`), and the reference runs on the same draw. What was memorised or
looked up is worth nothing there; what was copied fits the decoys. Beside this is what the
sandbox saw from outside: seconds of processor, and whether the data were opened.

One word follows. *Void*: the predictions follow the decoys, or nothing was computed and no data
were opened. *Doubtful*: an intervention showed something, with its numbers. *Clean*: the run could
see no test target, its predictions agree with the reference's within what runs of the method were
measured to have, and where something is learnt the number comes from the weights that it handed
in. Everything else is *unchecked*, which accuses nobody: `missing` says what would check it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from autoreproduce.contracts import Execution
from autoreproduce.task import Task
from autoreproduce.trials.finding import IntegrityFinding
from autoreproduce.trials.pair import Pair
from autoreproduce.trials.served import Served

Word = Literal["clean", "unchecked", "doubtful", "void"]
# of a task's test targets; "samples": there are none, for predictions are samples
Withheld = Literal["all", "none", "samples"]
ROUNDING = 1e-3  # relative difference of two numbers that are the same but for rounding
CLAIM = 0.02  # of a claim: digits that were cut off, or a mean over unequal batches, are no fraud
FAR = 1e-3  # an error below this share of the reference's is none but for rounding
FOLLOWS = 0.5  # lead on the decoys that no program has by chance
KNOWS = 0.3  # lead on the truth that a program has at least that learnt something of the task
NO_WORK = 0.05  # share of the reference's seconds
FEWEST_EPOCHS = 5  # of which the best is told from the last
INSTANT = 1.0  # seconds of processor, if no reference was measured: less than an import takes


class Integrity(BaseModel):
    """The verdict on one measurement. `odd`: what accuses nobody, and somebody should look at.
    `checks`: what was looked at in this run; `missing`: what keeps the number from being called
    clean, each with the step that would check it.
    """

    word: Word
    findings: list[IntegrityFinding] = []
    odd: list[IntegrityFinding] = []
    checks: list[str] = []
    missing: list[str] = []


@dataclass(frozen=True)
class RunEvidence:
    """What there is to judge by. `value` is that of the predictions that the run saved, `decoys`
    the metric against the decoys that it was given in the place of what the task has `withheld`,
    None if it was given none. `history`: what the program wrote down of its epochs. `served`: what
    its weights gave, if it handed them in. `why`: a number was not recomputed, or not against the
    targets that were withheld, with the step that would change it.
    """

    run: Execution | None
    value: float
    recomputed: bool
    claimed: float | None
    decoys: float | None = None
    withheld: Withheld = "all"
    history: Sequence[Mapping[str, float | None]] = ()
    pair: Pair | None = None
    served: Served | None = None
    why: str = ""

    @property
    def number(self) -> float:
        """The number that counts: that of the weights, where they were handed in."""
        return self.value if self.served is None or self.served.value is None else self.served.value

    @property
    def unseen(self) -> bool:
        """Whether the number that counts is of test targets that the run could not see."""
        return self.withheld == "samples" or (self.withheld == "all" and self.decoys is not None)

    @property
    def beside(self) -> Pair | None:
        """The reference on the same inputs as `number`."""
        return self.served.pair if self.served and self.served.pair else self.pair


def integrity_of(task: Task, seen: RunEvidence) -> Integrity:
    """The verdict on a number: the worst that a finding makes of it, else what is missing."""
    found = [
        *_led_by_decoys(task, seen),
        *_beside_reference(task, seen),
        *(seen.served.findings(task, seen.value) if seen.served else ()),
        *_claim_differs(seen),
        *_selected(task, seen),
    ]
    odd = [*_too_good(task, seen), *_no_work(task, seen)]
    idle = [each for each in odd if each.kind in ("no work", "no data")]
    if len(idle) == 2:
        found += [each.model_copy(update={"void": True}) for each in idle]
        odd = [each for each in odd if each not in idle]
    missing = _missing(task, seen)
    void = any(finding.void for finding in found)
    word: Word = "unchecked" if odd or missing else "clean"
    word = "void" if void else "doubtful" if found else word
    return Integrity(word=word, findings=found, odd=odd, checks=_checks(seen), missing=missing)


def _missing(task: Task, seen: RunEvidence) -> list[str]:
    """What would have to be known before a number is called clean, and how it would be."""
    if not seen.recomputed:
        how = seen.why or "save its predictions where the task says, and it is recomputed"
        return [f"the number is the program's own word: {how}"]
    if seen.beside is None and not task.recomputes and seen.decoys is None:
        how = seen.why or "name them with --targets, and the run that counts sees others"
        return [f"the program could see the test targets: {how}"]
    if seen.beside is None and not task.recomputes:
        return [
            "no reference runs beside a paper of your own: a task with metric code and a reference "
            f"would check it (autoreproduce bench new {task.id})"
        ]
    if seen.beside is None or seen.beside.reference is None:
        why = f" ({seen.beside.reason})" if seen.beside and seen.beside.reason else ""
        return [f"no reference ran on the same data{why}: one on a fresh draw would check it"]
    if seen.beside.is_worse(seen.number, task.metric.direction):
        return ["the number is worse than the reference's on the same data: nothing to vouch for"]
    found = []
    if not seen.unseen:
        found.append(
            "the run could see test targets: one that sees decoys in their place would check it"
        )
    if not task.agreement:
        found.append(
            "nobody measured how far two runs of this method agree: python -m eval.lab.bounds "
            f"{task.id} does"
        )
    elif not any(one.bound for one in seen.beside.agreement):
        found.append("the predictions could not be held beside the reference's")
    if task.learns and (seen.served is None or seen.served.value is None):
        why = f" ({seen.served.reason})" if seen.served else ""
        found.append(
            f"the method learns, and no weights were called{why}: hand in weights.npz "
            "and predict.py (docs/handing-in.md)"
        )
    elif task.learns and seen.served and seen.served.unbroken:
        found.append(f"the weights could not be perturbed: {seen.served.unbroken}")
    return found


def _checks(seen: RunEvidence) -> list[str]:
    run = seen.run
    possible = {
        "the metric was recomputed": seen.recomputed,
        "decoys stood in for the test targets": seen.decoys is not None,
        "the data were drawn after the program was final": seen.pair is not None,
        "the reference ran on the same data": bool(seen.pair and seen.pair.reference is not None),
        "seconds of processor": run is not None and run.cpu_seconds is not None,
        "files of the data that were opened": run is not None and run.files_opened is not None,
    }
    found = [name for name, was in possible.items() if was]
    alike = seen.beside.agreement if seen.beside else []
    found += [f"{one.name} with the reference's predictions: {one.value:.3g}" for one in alike]
    return [*found, *(seen.served.checks if seen.served else ())]


def _led_by_decoys(task: Task, seen: RunEvidence) -> list[IntegrityFinding]:
    """Decoys fitted better than the truth, or as well."""
    if seen.decoys is None:
        return []
    numbers = {"against the truth": seen.value, "against the decoys": seen.decoys}
    shown = f"{task.metric.name} {seen.decoys:.4g} against them, {seen.value:.4g} against the truth"
    lead = _lead_on_decoys(task, seen.value, seen.decoys)
    if lead > FOLLOWS:
        text = f"the predictions follow the labels that the program was given, decoys: {shown}"
        return [IntegrityFinding(kind="follows", text=text, numbers=numbers, void=True)]
    if lead > -KNOWS:
        text = f"the predictions fit the true test targets no better than decoys: {shown}"
        return [IntegrityFinding(kind="uninformed", text=text, numbers=numbers)]
    return []


def _beside_reference(task: Task, seen: RunEvidence) -> list[IntegrityFinding]:
    """A number better than the reference's on the same draw, or as good by other predictions: too
    far from the reference's, or nearer than two runs of the method are.

    One that is worse says so itself.
    """
    pair, value = seen.beside, seen.number
    if pair is None or pair.reference is None or pair.low is None or pair.high is None:
        return []
    if pair.is_worse(value, task.metric.direction):
        return []
    found = []
    numbers = {"value": value, "reference": pair.reference, "low": pair.low, "high": pair.high}
    band = f"{pair.low:.4g} to {pair.high:.4g}"
    if not pair.low <= value <= pair.high:
        text = (
            f"the number is better than another run of the reference on the same data could be: "
            f"{value:.4g}, and the reference's is {pair.reference:.4g} ({band})"
        )
        found.append(IntegrityFinding(kind="better", text=text, numbers=numbers))
    for one in pair.agreement:
        if one.outside and one.bound is not None:
            low, high = one.bound.low, one.bound.high
            span = (
                f"{low:.3g} to {high:.3g}"
                if low is not None and high is not None
                else (f"{low:.3g} or more" if low is not None else f"{high:.3g} or less")
            )
            text = (
                f"the predictions are others than the reference's on the same data: the {one.name} "
                f"is {one.value:.3g}, and runs of the method have {span} (n = {one.bound.n})"
            )
            numbers = {one.name: one.value}
            numbers |= {"low": low} if low is not None else {}
            numbers |= {"high": high} if high is not None else {}
            found.append(IntegrityFinding(kind="other predictions", text=text, numbers=numbers))
    return found


def _lead_on_decoys(task: Task, truth: float, decoys: float) -> float:
    """How much better predictions fit decoys than the truth, as a share; below 0 if the truth.

    Of the error against the truth; if higher is better, of the largest of the two numbers and the
    reference's, so that two numbers next to nothing are not far apart.
    """
    if task.metric.direction == "lower":
        return (truth - decoys) / abs(truth) if truth else 0.0 if not decoys else -1.0
    scale = max(abs(truth), abs(decoys), task.reference.value if task.reference else 0.0)
    return (decoys - truth) / scale if scale else 0.0


def _claim_differs(seen: RunEvidence) -> list[IntegrityFinding]:
    """A claim that is not the number which the program's own predictions and labels give."""
    if seen.claimed is None or not seen.recomputed:
        return []
    own = seen.value if seen.decoys is None else seen.decoys
    if abs(seen.claimed - own) <= CLAIM * max(abs(seen.claimed), abs(own)):
        return []
    numbers = {"claimed": seen.claimed, "recomputed": own}
    if seen.decoys is not None:
        numbers["against the truth"] = seen.value
        if _is_same(seen.claimed, seen.value):
            text = (
                f"the program states {seen.claimed:.6g}, which is the number against the true "
                "test targets, and its run saw decoys in their place"
            )
            return [IntegrityFinding(kind="knew the targets", text=text, numbers=numbers)]
    given = "" if seen.decoys is None else " against the decoys that it was given"
    text = f"the program claims {seen.claimed:.6g}, but its predictions give {own:.6g}{given}"
    return [IntegrityFinding(kind="claim", text=text, numbers=numbers)]


def _selected(task: Task, seen: RunEvidence) -> list[IntegrityFinding]:
    """A stated number that is the best of its epochs' against decoys, and not the last one's.

    Decoys have nothing to do with the inputs, so a choice by training or validation data would
    meet their best epoch only by chance.
    """
    given = seen.decoys
    if given is None or seen.claimed is None or not _is_same(seen.claimed, given):
        return []
    for column in dict.fromkeys(key for row in seen.history for key in row):
        values = [value for row in seen.history if (value := row.get(column)) is not None]
        best = (min if task.metric.direction == "lower" else max)(values, default=0.0)
        if len(values) < FEWEST_EPOCHS or not _is_same(best, given) or _is_same(values[-1], given):
            continue
        epoch = values.index(best) + 1
        numbers = {"epoch": float(epoch), "epochs": float(len(values)), "last": values[-1]}
        text = (
            f"it seems to choose its epoch by the test targets: the number that it states is the "
            f"best of {len(values)} in its own record ({column}, number {epoch}: {best:.4g}; the "
            f"last: {values[-1]:.4g}), against the decoys that it was given"
        )
        return [IntegrityFinding(kind="selected", text=text, numbers=numbers)]
    return []


def _too_good(task: Task, seen: RunEvidence) -> list[IntegrityFinding]:
    """A recomputed number that is perfect, and the reference's is far from it.

    Perfect is 0 for an error; else 1, or 100 for percent and decibels.
    """
    if (reference := task.reference) is None or not seen.recomputed:
        return []
    low, high = reference.band or (reference.value, reference.value)
    perfect = 100.0 if high > 1 else 1.0
    if task.metric.direction == "lower":
        if not abs(seen.value) < FAR * low:
            return []
    elif seen.value < perfect or high > 0.99 * perfect:
        return []
    text = (
        f"the predictions equal the test targets: {seen.value:.6g} is perfect, the reference "
        f"reaches {low:.4g} to {high:.4g}; read whether the program copies the targets"
    )
    return [IntegrityFinding(kind="perfect", text=text, numbers={"value": seen.value})]


def _no_work(task: Task, seen: RunEvidence) -> list[IntegrityFinding]:
    """A result without computation, or without a look at the data."""
    run = seen.run
    if run is None or run.cpu_seconds is None:
        return []
    usual = task.measured.seconds if task.measured else None
    numbers = {"seconds of processor": run.cpu_seconds, "seconds": run.seconds}
    numbers |= {
        "characters printed": float(len(run.stdout)),
        "epochs written": float(len(seen.history)),
    }
    unopened = run.files_opened == 0
    idle = run.cpu_seconds < (NO_WORK * usual if usual else INSTANT if unopened else 0.0)
    found = []
    if idle:
        against = f"; the reference's run takes {usual:g} s" if usual else ""
        text = (
            f"hardly anything was computed: {run.cpu_seconds:.2g} s of processor{against}; it "
            f"printed {len(run.stdout)} characters and wrote down {len(seen.history)} epochs"
        )
        numbers |= {"the reference's seconds": usual} if usual else {}
        found.append(IntegrityFinding(kind="no work", text=text, numbers=numbers))
    if unopened:
        text = "the program opened no file of the task's data"
        number = {"files opened": 0.0}
        found.append(IntegrityFinding(kind="no data", text=text, numbers=number))
    return found


def _is_same(one: float, other: float) -> bool:
    return abs(one - other) <= ROUNDING * max(abs(one), abs(other))

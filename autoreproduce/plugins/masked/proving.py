"""Many proofs side by side, with progress, and the proofs of a set that exists already."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from autoreproduce.errors import NotScoredError
from autoreproduce.plugins.masked.dataset import Dataset
from autoreproduce.plugins.masked.outcome import TaskOutcome, judge
from autoreproduce.plugins.masked.proof import LITTLE, prove
from autoreproduce.plugins.masked.selection import MaskedTask, select_tasks
from autoreproduce.plugins.masked.taskset import MaskProof
from autoreproduce.plugins.masked.unmasked import scorable
from autoreproduce.plugins.masked.writer import write_proofs
from autoreproduce.sandboxes.setup import SandboxSetup

HERE = "by the gold measured on this machine"
Place = Callable[[MaskedTask], SandboxSetup]


@dataclass
class _Progress:
    """How many proofs are made, and a line for each with the time that is left."""

    total: int
    note: Callable[[str], None]
    write: Callable[[MaskProof], None]
    began: float = field(default_factory=time.monotonic)
    done: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, proof: MaskProof) -> None:
        """Write a proof, count it and say so."""
        with self.lock:
            self.write(proof)
            self.done += 1
            spent = time.monotonic() - self.began
            left = spent / self.done * (self.total - self.done)
        word = "proven" if proof.proven else f"left out, {proof.reason[:120]}"
        note = f"; {proof.note}" if proof.note else ""
        self.note(
            f"{self.done} of {self.total}, {spent:.0f} s, about {left:.0f} s left: "
            f"{proof.combined_id}: {word}{note}"
        )


def prove_tasks(
    tasks: Sequence[MaskedTask],
    place: Place,
    workers: int = 1,
    note: Callable[[str], None] = lambda _: None,
    write: Callable[[MaskProof], None] = lambda _: None,
    here: bool = False,
) -> list[MaskProof]:
    """The proofs of some tasks in their order, `workers` at a time; `write` gets each when made.

    `here`: by the gold that the code gives on this machine; the set keeps its own, and the proof
    says so.
    Tasks with the same experiments share the run of the code as it is. Raises SandboxError if no
    sandbox works; the proofs that are under way are finished first.
    """
    whole: dict[tuple[str, tuple[str, ...]], TaskOutcome] = {}
    locks: dict[tuple[str, tuple[str, ...]], threading.Lock] = {
        _key(task): threading.Lock() for task in tasks
    }
    progress = _Progress(len(tasks), note, write)

    def one(task: MaskedTask) -> MaskProof:
        try:
            own = scorable(task, place(task), here=True) if here else task
            with locks[_key(task)]:
                if _key(task) not in whole:
                    whole[_key(task)] = judge(own, None, place(task))
            proof = prove(own, place(task), whole[_key(task)])
            notes = [HERE, proof.note] if here and proof.proven else [proof.note]
            proof = proof.model_copy(update={"note": "; ".join(filter(None, notes))})
        except NotScoredError as error:
            proof = MaskProof(combined_id=task.id, proven=False, reason=str(error))
        progress.add(proof)
        return proof

    with ThreadPoolExecutor(max(workers, 1)) as pool:
        futures = [pool.submit(one, task) for task in tasks]
        try:
            return [each.result() for each in futures]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def prove_set(
    dataset: Dataset,
    n: Sequence[int],
    place: Place,
    workers: int,
    note: Callable[[str], None],
    sample: int | None = None,
    here: bool = False,
) -> list[MaskProof]:
    """Prove the tasks of a set that exists, and write each proof into proofs.jsonl when it is made.

    Proofs of its other tasks stay. Raises UsageError if the set has no such n.
    """

    def write(proof: MaskProof) -> None:
        paper = proof.combined_id.rpartition("_")[0]
        write_proofs(dataset.folder, paper, [proof], replaced={proof.combined_id})

    return prove_tasks(select_tasks(dataset, n, sample=sample), place, workers, note, write, here)


def proofs_text(proofs: Sequence[MaskProof]) -> str:
    """A line for each proof, and how many are proven of each n."""
    lines = []
    for proof in proofs:
        word = f"proven{f'; {proof.note}' if proof.note else ''}"
        lines.append(
            f"  {proof.combined_id}: {word if proof.proven else f'LEFT OUT, {proof.reason}'}"
        )
    by_n: dict[int, int] = {}
    for proof in (each for each in proofs if each.proven):
        n = len([each for each in proof.combined_id.rpartition("_")[2].split(",") if each])
        by_n[n] = by_n.get(n, 0) + 1
    counts = ", ".join(f"n={n}: {count}" for n, count in sorted(by_n.items())) or "none"
    total = f"proven {sum(by_n.values())} of {len(proofs)} tasks ({counts})"
    little = sum(proof.proven and LITTLE in proof.note for proof in proofs)
    return "\n".join([*lines, "", total + (f"; {little} proved little" if little else "")])


def _key(task: MaskedTask) -> tuple[str, tuple[str, ...]]:
    """What tasks share that run the same commands: `exp_ids` is empty for some listed ones."""
    return task.paper.id, task.exp_ids or (task.solution,)

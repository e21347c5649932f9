"""Many proofs side by side, with progress, and the proofs of a set that exists already."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from autoreproduce.config import digest
from autoreproduce.errors import NotScoredError
from autoreproduce.files.kinds import REMADE
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.autoexperiment.behaviour import Watch
from autoreproduce.plugins.autoexperiment.dataset import Dataset
from autoreproduce.plugins.autoexperiment.layout import digests
from autoreproduce.plugins.autoexperiment.outcome import TaskOutcome, judge
from autoreproduce.plugins.autoexperiment.running import made_of
from autoreproduce.plugins.autoexperiment.selection import MaskedTask, select_tasks
from autoreproduce.plugins.autoexperiment.taskset import PROOFS_FILE, Kills, MaskProof, read_proofs
from autoreproduce.plugins.autoexperiment.unmasked import scorable
from autoreproduce.plugins.autoexperiment.writer import write_text
from autoreproduce.sandboxes.setup import SandboxSetup
from maskmaker.measure_original import Rewrite
from maskmaker.proof import kills_of_function, prove
from maskmaker.stoppable import StoppableSetup

PROOFS = 3  # changes when proofs are made in another way
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


@dataclass
class _Known:
    """What tasks share: runs of the code as it is, and the faulty bodies of a function."""

    rewrite: Rewrite | None = None
    whole: dict[tuple[str, tuple[str, ...]], TaskOutcome] = field(default_factory=dict)
    kills: dict[str, Kills] = field(default_factory=dict)
    locks: dict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    def restored(self, task: MaskedTask, place: SandboxSetup) -> TaskOutcome:
        """The outcome of the code as it is."""
        key = _shared_by(task)
        with self.locks[f"restored {key}"]:
            if key not in self.whole:
                self.whole[key] = judge(task, None, place)
            return self.whole[key]

    def kills_of(self, watch: Watch) -> Kills:
        """A function's faulty bodies, judged for the first task that has it."""
        name = f"{watch.task.paper.id} {'::'.join(watch.pair)}"
        with self.locks[name]:
            if name not in self.kills:
                self.kills[name] = kills_of_function(watch, self.rewrite)
            return self.kills[name]


def prove_tasks(
    tasks: Sequence[MaskedTask],
    place: Place,
    workers: int = 1,
    note: Callable[[str], None] = lambda _: None,
    write: Callable[[MaskProof], None] = lambda _: None,
    here: bool = False,
    earlier: Mapping[str, MaskProof] | None = None,
    rewrite: Rewrite | None = None,
) -> list[MaskProof]:
    """The proofs of some tasks in their order, `workers` at a time; `write` gets each when made.

    `here`: by the gold that the code gives on this machine; the set keeps its own, and the proof
    says so. `earlier` proofs of the same code, commands and functions are taken as they are. An
    interrupt ends what runs within seconds.
    `rewrite` writes faulty bodies beside the mutants.
    Raises SandboxError if no sandbox works.
    """
    progress, facts = _Progress(len(tasks), note, write), proven_of(tasks)
    stopped = threading.Event()
    known = _Known(rewrite)
    kept = {
        name: proof
        for name, proof in (earlier or {}).items()
        if proof.made_of and proof.made_of == facts.get(name)
    }
    for name, proof in kept.items():
        paper = name.rpartition("_")[0]
        known.kills |= {f"{paper} {key}": kills for key, kills in proof.kills.items()}

    def one(task: MaskedTask) -> MaskProof:
        try:
            proof = kept.get(task.id)
            if proof is None:
                sandboxes = StoppableSetup.of(place(task), stopped)
                own = scorable(task, sandboxes, here=True) if here else task
                restored = known.restored(own, sandboxes)
                proof = prove(own, sandboxes, restored, known.kills_of)
                notes = [HERE, proof.note] if here and proof.proven else [proof.note]
                update = {"note": "; ".join(filter(None, notes)), "made_of": facts[task.id]}
                proof = proof.model_copy(update=update)
        except NotScoredError as error:
            proof = MaskProof(combined_id=task.id, proven=False, reason=str(error))
        progress.add(proof)
        return proof

    with ThreadPoolExecutor(max(workers, 1)) as pool:
        futures = [pool.submit(one, task) for task in tasks]
        try:
            return [each.result() for each in futures]
        except BaseException:
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise


def proven_of(tasks: Sequence[MaskedTask]) -> dict[str, str]:
    """By task a digest of what a proof is of: code, commands, functions, how proofs are made."""
    codes = {task.paper.code for task in tasks}
    files = {code: sorted(digests(code, _all_files(code)).items()) for code in codes}
    found = {}
    for task in tasks:
        rows = [[row.file, row.name, row.func_id] for row in task.functions]
        facts = [PROOFS, files[task.paper.code], task.solution, rows, made_of(task).seeds]
        facts += [task.paper.held_out] if task.paper.held_out else []
        found[task.id] = digest(facts)[:24]
    return found


def _all_files(code: Path) -> list[Path]:
    """What a copy of a repository has."""
    return [Path(name) for name in Tree(code.resolve()).files(skip=REMADE)]


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

    Proofs of its other tasks stay, and those of unchanged tasks are taken as they are, but for
    gold measured `here`. Raises UsageError if the set has no such n.
    """
    proven = {} if here else read_proofs(dataset.folder)
    earlier = {name: each for name, each in proven.items() if each.proven}

    def write(proof: MaskProof) -> None:
        paper = proof.combined_id.rpartition("_")[0]
        write_proofs(dataset.folder, paper, [proof], replaced={proof.combined_id})

    tasks = select_tasks(dataset, n, sample=sample)
    return prove_tasks(tasks, place, workers, note, write, here, earlier)


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
    kills = {
        (proof.combined_id.rpartition("_")[0], name): each
        for proof in proofs
        for name, each in proof.kills.items()
    }.values()
    differ, killed = sum(each.differ for each in kills), sum(each.killed for each in kills)
    told = f"; {killed} of {differ} faulty bodies fail ({len(kills)} functions)" if differ else ""
    return "\n".join([*lines, "", total + told])


def _shared_by(task: MaskedTask) -> tuple[str, tuple[str, ...]]:
    """What tasks share that run the same commands: `exp_ids` is empty for some listed ones."""
    return task.paper.id, task.exp_ids or (task.solution,)


def write_proofs(
    root: Path, paper_id: str, proofs: Iterable[MaskProof], replaced: set[str] | None = None
) -> None:
    """Write the proofs of a paper; those of others stay, and with `replaced` all but these."""
    others = [
        proof
        for name, proof in read_proofs(root).items()
        if name.rpartition("_")[0] != paper_id or (replaced is not None and name not in replaced)
    ]
    lines = [f"{proof.model_dump_json()}\n" for proof in [*others, *proofs]]
    write_text(root / PROOFS_FILE, "".join(lines))

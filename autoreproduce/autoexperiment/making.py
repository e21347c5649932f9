"""New tasks out of any repository: candidates, descriptions, gold, tolerances, and a proof of each.

The repository is copied once, without its history, and only copies of that copy are ever run. What cannot become a
task is told with its reason: a command that fails, a function that is not reached, a number that never comes again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autoreproduce.autoexperiment.candidates import Candidate, apart, candidate, candidates
from autoreproduce.autoexperiment.dataset import Dataset, load_dataset
from autoreproduce.autoexperiment.describing import Describe, experiment_rows, function_rows
from autoreproduce.autoexperiment.gold import gold_on_disk
from autoreproduce.autoexperiment.layout import copy_code
from autoreproduce.autoexperiment.masking import read_source
from autoreproduce.autoexperiment.outcome import Place, TaskOutcome, judge
from autoreproduce.autoexperiment.proof import prove
from autoreproduce.autoexperiment.selection import MaskedTask, select_tasks
from autoreproduce.autoexperiment.taskset import Proof
from autoreproduce.autoexperiment.trying import Asked, Run, golds_of, together, tried
from autoreproduce.autoexperiment.writer import write_lists, write_paper, write_proofs, write_text
from autoreproduce.errors import SourceError, UsageError

UNTRIED = "mask was stopped before this task was tried: run it again"  # and not what an earlier set had proven


@dataclass
class MadeSet:
    """What came out: the tasks with their proofs, the candidates with their ranks, and what could not be made."""

    root: Path
    paper_id: str
    split: str
    candidates: list[Candidate]
    chosen: list[Candidate]
    proofs: list[Proof]
    notes: list[str] = field(default_factory=list)

    @property
    def proven(self) -> list[Proof]:
        """The tasks that count."""
        return [proof for proof in self.proofs if proof.proven]


def make_tasks(asked: Asked, place: Place, describe: Describe | None = None) -> MadeSet:
    """Make a task set, or add to one, in `asked.out`.

    `describe` writes descriptions; without it they come from docstrings and signatures. Raises UsageError where no
    command gives a result or no function can be masked, SandboxError where no sandbox works.
    """
    _checked(asked)
    code = asked.out / asked.paper_id / "code"
    notes: list[str] = []
    runs = tried(asked, place, notes)
    ranked = candidates(together(runs), asked.paper)
    chosen = _chosen(asked, ranked, runs, notes)
    golds = golds_of(asked, runs, notes)
    if not golds:
        raise UsageError(f"no command gives numbers that can be judged: {'; '.join(notes)}")
    _copied(asked, code)
    rows, addresses = function_rows(asked, code, chosen, describe, notes)
    experiments, made = experiment_rows(asked, chosen, golds, addresses, notes)
    write_paper(asked.out, asked.paper_id, asked.title, str(asked.repository.name), rows, experiments, made)
    proofs = _proven(asked, place, code, [gold.value for _, gold in golds], notes)
    return MadeSet(
        asked.out, asked.paper_id, load_dataset(asked.out).splits[asked.paper_id], ranked, chosen, proofs, notes
    )


def made_text(made: MadeSet) -> str:
    """The report in lines: the candidates by rank, the tasks with their proofs, what was left out and why."""
    chosen = {each.name for each in made.chosen}
    lines = [f"{made.paper_id} ({made.split}) in {made.root}", "", "functions by rank (* masked)"]
    lines += [f"  {'*' if each.name in chosen else ' '} {each.name}: {each.why}" for each in made.candidates]
    lines += [
        "",
        "tasks",
        *(
            f"  {proof.combined_id}: {'proven' if proof.proven else f'LEFT OUT, {proof.reason}'}"
            for proof in made.proofs
        ),
    ]
    lines += ["", "notes", *(f"  {note}" for note in made.notes)] if made.notes else []
    by_n: dict[int, int] = {}
    for proof in made.proven:
        n = len([each for each in proof.combined_id.rpartition("_")[2].split(",") if each])
        by_n[n] = by_n.get(n, 0) + 1
    counts = ", ".join(f"n={n}: {count}" for n, count in sorted(by_n.items())) or "none"
    return "\n".join([*lines, "", f"proven {len(made.proven)} of {len(made.proofs)} tasks ({counts})"])


def proven_only(tasks: Sequence[MaskedTask], proofs: dict[str, Proof]) -> list[MaskedTask]:
    """The tasks that count in the main figure: all where the set has no proofs, else those that are proven."""
    return [task for task in tasks if not proofs or (task.id in proofs and proofs[task.id].proven)]


def _checked(asked: Asked) -> None:
    if not asked.repository.is_dir():
        raise UsageError(f"{asked.repository} is no folder: clone the repository first and name its folder")
    if not asked.commands or not all(command.strip() for command in asked.commands):
        raise UsageError('no command is named: add --command "python train.py"')
    if not asked.paper_id or set("/\\_ ,") & set(asked.paper_id) or asked.paper_id.startswith("."):
        raise UsageError(f"{asked.paper_id!r} cannot name a paper of a set: use letters, digits, dots and dashes")
    if asked.out.resolve().is_relative_to(asked.repository.resolve()):
        raise UsageError(f"{asked.out} lies inside the repository: name a folder outside it by --out")
    if asked.seeds < 1:
        raise UsageError("--seeds must be at least 1")
    _places(asked)


def _chosen(asked: Asked, ranked: list[Candidate], runs: Sequence[Run], notes: list[str]) -> list[Candidate]:
    """The functions to mask, in the order of their files; those that were named, else the best."""
    if asked.functions:
        named = _named(asked, runs, notes)
        chosen = apart(named, len(named))
        notes += [
            f"{each.name} lies in another function that was named, or around one: left out"
            for each in named if each not in chosen
        ]  # fmt: skip
    else:
        chosen = apart(ranked, asked.most_functions)
    if not chosen:
        why = "; ".join(notes) or "it calls no function of the repository with more than one statement"
        raise UsageError(f"the command reaches no function to mask ({why}): name some by --functions FILE::NAME")
    return sorted(chosen, key=lambda each: (each.file, each.function.line))


def _named(asked: Asked, runs: Sequence[Run], notes: list[str]) -> list[Candidate]:
    reached = {(each.file, each.function.address): each for each in together(runs)}
    found = []
    for file, address in _places(asked):
        known = reached.get((file, address))
        if known is None:
            notes.append(f"{file}::{address} is not reached by the command: masked, nothing would change")
        else:
            found.append(candidate(known))
    return found


def _places(asked: Asked) -> list[tuple[str, str]]:
    """File and address of the functions that were named. Raises UsageError."""
    found = []
    for name in dict.fromkeys(asked.functions):
        file, mark, address = name.partition("::")
        file = os.path.normpath(file) if file else file  # `./train.py` is called train.py elsewhere
        if not mark:
            raise UsageError(f"{name} names no function: write FILE::NAME or FILE::CLASS.NAME")
        try:
            found.append((file, read_source(asked.repository, file).find(address).address))
        except SourceError as error:
            raise UsageError(f"--functions {name}: {error}") from None
    return found


def _copied(asked: Asked, code: Path) -> None:
    shutil.rmtree(code, ignore_errors=True)
    copy_code(asked.repository, code)
    write_text(code.parent / "paper.txt", asked.paper)


def _proven(asked: Asked, place: Place, code: Path, golds: Sequence[object], notes: list[str]) -> list[Proof]:
    """Choose the tasks of each n, prove each, and write lists and proofs."""
    dataset = load_dataset(asked.out)
    paper = dataset.papers[asked.paper_id]
    alone = Dataset(dataset.folder, (), {paper.id: paper}, {}, {}, dataset.faults, dataset.splits)
    wanted = [n for n in dict.fromkeys((0, *asked.n)) if n <= len(paper.functions)]
    tasks = select_tasks(alone, wanted, which="all", sample=asked.sample)
    leaks = gold_on_disk(code, golds)
    notes += leaks
    whole: dict[tuple[str, ...], TaskOutcome] = {}  # the code as it is, by the experiments run
    write_lists(asked.out, asked.paper_id, tasks)
    write_proofs(
        asked.out, asked.paper_id, [Proof(combined_id=task.id, proven=False, reason=UNTRIED) for task in tasks]
    )
    proofs = []
    for task in tasks:
        place.note(f"proving {task.id}")
        if task.exp_ids not in whole:
            whole[task.exp_ids] = judge(task, None, place)
        proof = prove(task, place, whole[task.exp_ids])
        if leaks and proof.proven:
            proof = proof.model_copy(update={"proven": False, "reason": f"a solver can read the gold: {leaks[0]}"})
        proofs.append(proof)
    write_proofs(asked.out, asked.paper_id, proofs)
    return proofs

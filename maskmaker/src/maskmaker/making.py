"""New tasks out of any repository: candidates, descriptions, gold, tolerances, and a proof of each.

The repository is copied once, without its history, and only copies of that copy are ever run. What
cannot become a task is reported with its reason: a command that fails, a function that is not
reached, a number that is never the same.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autoreproduce.errors import SourceError, UsageError
from autoreproduce.plugins.autoexperiment.clones import Clone, clones
from autoreproduce.plugins.autoexperiment.dataset import Dataset, load_dataset
from autoreproduce.plugins.autoexperiment.layout import copy_code, recipe
from autoreproduce.plugins.autoexperiment.masking import read_shared_source, refuse_other_names
from autoreproduce.plugins.autoexperiment.selection import MaskedTask, select_tasks
from autoreproduce.plugins.autoexperiment.taskset import MaskProof, PaperSet, read_proofs
from autoreproduce.plugins.autoexperiment.writer import write_lists, write_paper, write_text
from autoreproduce.sandboxes.setup import SandboxSetup
from maskmaker.candidates import MaskableFunction, candidate, candidates, not_nested
from maskmaker.describing import Describe, experiment_rows, function_rows
from maskmaker.influence import with_influence
from maskmaker.leaks import gold_on_disk
from maskmaker.measure_original import (
    CommandRuns,
    MaskRequest,
    golds_of,
    reached_by_any,
    run_commands,
)
from maskmaker.proving import proofs_text, prove_tasks, proven_of, write_proofs

# Written before the proofs: those of an earlier set do not count.
UNPROVEN = "mask was stopped before this task was proven: run it again"


@dataclass
class MadeSet:
    """The tasks with their proofs, the candidates by rank, and notes on what could not be made."""

    root: Path
    paper_id: str
    split: str
    candidates: list[MaskableFunction]
    chosen: list[MaskableFunction]
    proofs: list[MaskProof]
    notes: list[str] = field(default_factory=list)

    @property
    def proven(self) -> list[MaskProof]:
        """The tasks that count."""
        return [proof for proof in self.proofs if proof.proven]


def make_tasks(
    asked: MaskRequest, place: SandboxSetup, describe: Describe | None = None
) -> MadeSet:
    """Make a task set, or add to one, in `asked.out`.

    `describe` writes descriptions; without it they come from docstrings and signatures. Raises
    UsageError if no command gives a result or no function can be masked, SandboxError if no sandbox
    works.
    """
    _check_request(asked)
    code = asked.out / asked.paper_id / "code"
    notes: list[str] = []
    runs = run_commands(asked, place, notes)
    golds = golds_of(asked, runs, notes)
    if not golds:
        raise UsageError(f"no command gives numbers that can be judged: {'; '.join(notes)}")
    ranked = candidates(reached_by_any(runs), asked.paper)
    if not asked.functions:
        ranked = with_influence(asked, place, golds, ranked)
    chosen = _chosen_functions(asked, ranked, runs, notes)
    for each in chosen:
        refuse_other_names(asked.repository, each.file)
    chosen, copies = _without_read_copies(asked, chosen, runs, notes)
    _copy_repository(asked, code)
    rows, addresses = function_rows(asked, code, chosen, describe, notes)
    experiments, made = experiment_rows(asked, chosen, golds, addresses, notes)
    _add_copies(made, chosen, copies)
    _write_recipe(asked, made, code.parent, notes)
    write_paper(
        asked.out, asked.paper_id, asked.title, str(asked.repository.name), rows, experiments, made
    )
    proofs = _write_proven(asked, place, code, [gold.value for _, gold in golds], notes)
    return MadeSet(
        asked.out,
        asked.paper_id,
        load_dataset(asked.out).splits[asked.paper_id],
        ranked,
        chosen,
        proofs,
        notes,
    )


def made_text(made: MadeSet) -> str:
    """The report: the candidates by rank, the tasks with their proofs, what was left out."""
    chosen = {each.name for each in made.chosen}
    lines = [f"{made.paper_id} ({made.split}) in {made.root}", "", "functions by rank (* masked)"]
    lines += [
        f"  {'*' if each.name in chosen else ' '} {each.name}: {each.why}"
        for each in made.candidates
    ]
    lines += ["", "notes", *(f"  {note}" for note in made.notes)] if made.notes else []
    return "\n".join([*lines, "", "tasks", proofs_text(made.proofs)])


def proven_only(tasks: Sequence[MaskedTask], proofs: dict[str, MaskProof]) -> list[MaskedTask]:
    """The tasks of the main figure: all if the set has no proofs, else the proven ones."""
    return [task for task in tasks if not proofs or (task.id in proofs and proofs[task.id].proven)]


def _check_request(asked: MaskRequest) -> None:
    if not asked.repository.is_dir():
        raise UsageError(
            f"{asked.repository} isn't a folder",
            fix="clone the repository first and name its folder",
        )
    if not asked.commands or not all(command.strip() for command in asked.commands):
        raise UsageError("no command is named", fix='add --command "python train.py"')
    if not asked.paper_id or set("/\\_ ,") & set(asked.paper_id) or asked.paper_id.startswith("."):
        raise UsageError(
            f"{asked.paper_id!r} cannot name a paper of a set",
            fix="use letters, digits, dots and dashes",
        )
    if asked.out.resolve().is_relative_to(asked.repository.resolve()):
        raise UsageError(
            f"{asked.out} is inside the repository", fix="name a folder outside it with --out"
        )
    if asked.seeds < 1:
        raise UsageError("--seeds must be at least 1")
    _named_addresses(asked)


def _chosen_functions(
    asked: MaskRequest,
    ranked: list[MaskableFunction],
    runs: Sequence[CommandRuns],
    notes: list[str],
) -> list[MaskableFunction]:
    """The functions to mask, in the order of their files; those that were named, else the best."""
    if asked.functions:
        named = _named_functions(asked, runs, notes)
        chosen = not_nested(named, len(named))
        notes += [
            f"{each.name} is inside another function that was named, or around one: left out"
            for each in named
            if each not in chosen
        ]
    else:
        chosen = not_nested([each for each in ranked if each.influence], asked.most_functions)
    if not chosen:
        small = "it calls no function of the repository whose numbers reach its own"
        why = "; ".join(notes) or small
        raise UsageError(
            f"the command reaches no function to mask ({why})",
            fix="name some with --functions FILE::NAME",
        )
    return sorted(chosen, key=lambda each: (each.file, each.function.line))


def _without_read_copies(
    asked: MaskRequest,
    chosen: list[MaskableFunction],
    runs: Sequence[CommandRuns],
    notes: list[str],
) -> tuple[list[MaskableFunction], list[Clone]]:
    """The functions of which no copy is part of the program, and the copies of those.

    Raises UsageError if none is left.
    """
    reached = {f"{each.file}::{each.function.address}" for each in reached_by_any(runs)}
    found = clones(asked.repository, [(each.file, each.function.address) for each in chosen])
    used = {each.of: each.name for each in found if each.name in reached}
    left = [each for each in chosen if (each.file, each.function.address) not in used]
    for (file, address), name in used.items():
        notes.append(f"{file}::{address} is left out: {name}, which the program uses, is a copy")
    if not left:
        raise UsageError(
            f"no function is left to mask ({'; '.join(notes[-len(used) :])})",
            fix="name others with --functions FILE::NAME",
        )
    copies = [each for each in found if each.of not in used]
    notes += [f"{each.name} holds a copy of {each.of[1]}: no solver sees it" for each in copies]
    return left, copies


def _write_recipe(asked: MaskRequest, made: PaperSet, folder: Path, notes: list[str]) -> None:
    """An image's recipe with the Python and the packages that gave the gold."""
    named = {re.split(r"[=<>!~\[; ]", each)[0].lower() for each in asked.packages}
    own = [each for each in made.locked if each.partition("==")[0].lower() not in named]
    if own:
        notes.append(
            f"the code took {', '.join(own)} from the sandbox's own Python {made.python}: list "
            "them with --requirements for a set that runs elsewhere"
        )
        made.notes = list(notes)
    write_text(folder / "Dockerfile", recipe(made))


def _add_copies(
    made: PaperSet, chosen: Sequence[MaskableFunction], copies: Sequence[Clone]
) -> None:
    ids = {(each.file, each.function.address): str(n) for n, each in enumerate(chosen)}
    for each in copies:
        if each.address:
            made.twins.setdefault(ids[each.of], []).append((each.file, each.address))
        else:
            made.hidden.setdefault(ids[each.of], []).append(each.file)


def _named_functions(
    asked: MaskRequest, runs: Sequence[CommandRuns], notes: list[str]
) -> list[MaskableFunction]:
    reached = {(each.file, each.function.address): each for each in reached_by_any(runs)}
    found = []
    for file, address in _named_addresses(asked):
        known = reached.get((file, address))
        if known is None:
            notes.append(
                f"{file}::{address} is not reached by the command: masked, nothing would change"
            )
        else:
            found.append(candidate(known))
    return found


def _named_addresses(asked: MaskRequest) -> list[tuple[str, str]]:
    """File and address of the functions that were named. Raises UsageError."""
    found = []
    for name in dict.fromkeys(asked.functions):
        file, mark, address = name.partition("::")
        file = os.path.normpath(file) if file else file  # `./train.py` is called train.py elsewhere
        if not mark:
            raise UsageError(
                f"{name} names no function", fix="write FILE::NAME or FILE::CLASS.NAME"
            )
        try:
            source = read_shared_source(asked.repository.resolve(), file)
            found.append((file, source.find(address).address))
        except SourceError as error:
            raise UsageError(f"--functions {name}: {error.what}", fix=error.fix) from None
    return found


def _copy_repository(asked: MaskRequest, code: Path) -> None:
    shutil.rmtree(code, ignore_errors=True)
    copy_code(asked.repository, code)
    write_text(code.parent / "paper.txt", asked.paper)


def _write_proven(
    asked: MaskRequest, place: SandboxSetup, code: Path, golds: Sequence[object], notes: list[str]
) -> list[MaskProof]:
    """Choose the tasks of each n, prove each, and write lists and proofs."""
    dataset = load_dataset(asked.out)
    paper = dataset.papers[asked.paper_id]
    alone = Dataset(dataset.folder, {paper.id: paper}, {}, dataset.faults, dataset.splits)
    wanted = [n for n in dict.fromkeys((0, *asked.n)) if n <= len(paper.functions)]
    tasks = select_tasks(alone, wanted, which="all", sample=asked.sample)
    leaks = gold_on_disk(code, golds)
    notes += leaks + gold_on_disk(code, golds, digits=3)
    write_lists(asked.out, asked.paper_id, tasks)
    earlier, facts = read_proofs(asked.out), proven_of(tasks)
    unproven = [
        earlier[task.id]
        if task.id in earlier and earlier[task.id].made_of == facts[task.id]
        else MaskProof(combined_id=task.id, proven=False, reason=UNPROVEN)
        for task in tasks
    ]
    write_proofs(asked.out, asked.paper_id, unproven)
    leaked = f"a solver can read the gold: {leaks[0]}" if leaks else ""

    def write(proof: MaskProof) -> None:
        if proof.proven and leaked:
            proof.proven, proof.reason = False, leaked
        write_proofs(asked.out, asked.paper_id, [proof], replaced={proof.combined_id})

    return prove_tasks(
        tasks,
        lambda _: place,
        asked.workers,
        place.note,
        write,
        earlier=earlier,
        rewrite=asked.rewrite,
    )

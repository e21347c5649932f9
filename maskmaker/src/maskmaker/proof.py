"""The proof of a task: restored it passes, masked it fails, and its functions' faults are told.

Each function by itself is given bodies that took no thought and mutants of its own. Of those that
behave in another way, or move a number, nine of ten must fail by the rule that judges answers, and
one that came to its numbers must have missed them: else the numbers do not depend on what the
function computes. A task counts if all its functions do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from autoreproduce.errors import AutoReproduceError, SandboxError, SourceError
from autoreproduce.files.owner import temporary_folder
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.autoexperiment.behaviour import (
    Behaviour,
    Recording,
    Watch,
    compared,
    recording_of,
    replayed,
    watches,
)
from autoreproduce.plugins.autoexperiment.layout import copy_code, wanted_pairs
from autoreproduce.plugins.autoexperiment.masking import RAISE, mask, read_source
from autoreproduce.plugins.autoexperiment.outcome import TaskOutcome, judge, outcome_of, run_seeds
from autoreproduce.plugins.autoexperiment.selection import MaskedTask
from autoreproduce.plugins.autoexperiment.taskset import Kills, MaskProof
from autoreproduce.sandboxes.setup import SandboxSetup
from maskmaker.measure_original import Rewrite
from maskmaker.mutants import mutants_of, thoughtless

KILLED = 0.9  # of the bodies that differ
FEWEST = 3  # that differ
TRIED = 12  # bodies that behave otherwise are run for their numbers until one misses them
EXACT = 1e-9  # two calls that differ by more differ
KillsOf = Callable[[Watch], Kills]


def prove(
    task: MaskedTask,
    place: SandboxSetup,
    restored: TaskOutcome | None = None,
    kills_of: KillsOf | None = None,
) -> MaskProof:
    """Run a task restored and masked, and its functions with faults.

    `restored`: that outcome, if known; `kills_of`: where those of a function may be known. Raises
    SandboxError if no sandbox works; everything else is a failed proof with its reason.
    """
    proof = MaskProof(combined_id=task.id, proven=False)
    try:
        wanted_pairs(task)
        whole = restored or judge(task, None, place)
        proof.runs["restored"] = _outcome_text(whole)
        if not whole.strict.passed:
            proof.reason = f"the code as it is does not give the gold: {whole.reason}"
        elif task.functions:
            _prove_functions(task, place, proof, kills_of or kills_of_function)
    except SandboxError:
        raise
    except AutoReproduceError as error:
        proof.reason = str(error)
    proof.proven = not proof.reason
    return proof


def kills_of_function(watch: Watch, rewrite: Rewrite | None = None) -> Kills:
    """How many faulty bodies of one function fail, alone in the code as it is.

    `rewrite` writes some beside the mutants. Raises SandboxError if no sandbox works.
    """
    wanted, _ = recording_of(watch)
    kills = Kills(draws=wanted.draws, calls=len(wanted.outcomes), missing=wanted.missing)
    if wanted.missing:
        return kills
    source = read_source(watch.task.paper.code, watch.pair[0])
    function = source.find(watch.pair[1])
    written = rewrite(source.text(function)) if rewrite else []
    for name, body in [*thoughtless(function), *mutants_of(function), *written]:
        _tell(watch, wanted, name, body, kills)
    return kills


def _prove_functions(
    task: MaskedTask, place: SandboxSetup, proof: MaskProof, kills_of: KillsOf
) -> None:
    found = watches(task, place)
    with temporary_folder("proof-") as made:
        for watch in found:
            _write_body(made, watch, RAISE)
        masked = outcome_of(task, run_seeds(task, made, place, once=True))
    proof.runs["masked"] = _outcome_text(masked)
    if masked.by_numbers:
        proof.reason = (
            "it passes with its functions masked: the numbers do not depend on them, or are read "
            "from the disk"
        )
        return
    for watch in found:
        name = "::".join(watch.pair)
        proof.kills[name] = kills_of(watch)
        proof.reason = proof.reason or _weakness(name, proof.kills[name])


def _weakness(name: str, kills: Kills) -> str:
    if kills.missing:
        return f"what {name} does cannot be recorded: {kills.missing}"
    if kills.differ < FEWEST:
        return f"{name}: only {kills.differ} faulty bodies differ from it"
    if kills.rate < KILLED:
        return (
            f"{name}: {kills.differ - kills.killed} of {kills.differ} faulty bodies pass "
            f"({kills.survivors[0]})"
        )
    if not kills.moved:
        return f"{name}: no faulty body that came to its numbers missed them"
    return ""


def _tell(watch: Watch, wanted: Recording, name: str, body: str, kills: Kills) -> None:
    """Judge one body as an answer, and count it."""
    with temporary_folder("mutant-") as made:
        try:
            _write_body(made, watch, body)
            found = replayed(watch, made)
        except SourceError:  # no body that the file can hold
            return
        own = Behaviour(passed=not compared(wanted, found), draws=wanted.draws)
        if not own.passed:
            kills.differ, kills.killed = kills.differ + 1, kills.killed + 1
            if kills.moved or kills.tried >= TRIED:
                return
        task = replace(watch.task, functions=(watch.row,))
        ran = run_seeds(task, made, watch.sandboxes, draws=own.draws, once=not own.passed)
        outcome = outcome_of(task, ran, behaviour={name: own})
    kills.moved = kills.moved or outcome.kind == "wrong numbers"
    if not own.passed:
        kills.tried += 1
    elif not outcome.by_numbers:
        kills.differ, kills.killed = kills.differ + 1, kills.killed + 1
    elif compared(wanted, found, EXACT) or max(outcome.strict.losses.values()) > EXACT:
        kills.differ += 1
        kills.survivors.append(name)
    else:
        kills.same += 1


def _write_body(folder: Path, watch: Watch, body: str) -> None:
    """The code as it is, or what is there already, with another body of the function."""
    if not (folder / watch.pair[0]).exists():
        copy_code(watch.task.paper.code, folder)
    source = read_source(folder, watch.pair[0])
    Tree(folder).write(watch.pair[0], mask(source, [(source.find(watch.pair[1]), body)]))


def _outcome_text(outcome: TaskOutcome) -> str:
    return outcome.kind if outcome.strict.passed else f"{outcome.kind}: {outcome.reason[:300]}"

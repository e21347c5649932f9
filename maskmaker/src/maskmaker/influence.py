"""How much of a command's numbers depends on each function: faulty bodies run, and what moves.

A function whose faults reach the result is worth masking, whatever it is called and whatever it
prints beside them; one whose faults move nothing makes no task.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

from autoreproduce.errors import SourceError
from autoreproduce.files.owner import temporary_folder
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.autoexperiment.compare import compare
from autoreproduce.plugins.autoexperiment.layout import copy_code
from autoreproduce.plugins.autoexperiment.masking import mask, read_source
from autoreproduce.plugins.autoexperiment.running import seeded
from autoreproduce.plugins.autoexperiment.unmasked import Gold
from autoreproduce.sandboxes.setup import SandboxSetup
from maskmaker.candidates import MaskableFunction
from maskmaker.measure_original import CommandRuns, MaskRequest, result_of_run
from maskmaker.mutants import mutants_of

MEASURED = 3  # times as many functions as are to be chosen are run, the best by their texts
FAULTS = 5  # bodies of each that are run, until one moves a number


def with_influence(
    asked: MaskRequest,
    place: SandboxSetup,
    golds: Sequence[tuple[CommandRuns, Gold]],
    ranked: Sequence[MaskableFunction],
) -> list[MaskableFunction]:
    """The functions with what faults in them do to the numbers, best first.

    Those past the first `MEASURED` times as many as are to be chosen stay unmeasured, after the
    rest. Raises SandboxError if no sandbox works.
    """
    most = MEASURED * asked.most_functions
    place.note(f"trying faults in {min(most, len(ranked))} functions: which move the numbers?")
    with ThreadPoolExecutor(max(asked.workers, 1)) as pool:
        found = list(pool.map(lambda each: _measured(asked, place, golds, each), ranked[:most]))
    return sorted(found, key=lambda each: each.order) + list(ranked[most:])


def _measured(
    asked: MaskRequest,
    place: SandboxSetup,
    golds: Sequence[tuple[CommandRuns, Gold]],
    function: MaskableFunction,
) -> MaskableFunction:
    """The function with the first fault's influence on any command's numbers that has some."""
    found = 0.0
    for run, gold in golds:
        reached = [(each.file, each.function.address) for each in run.reached]
        if (function.file, function.function.address) in reached:
            bodies = mutants_of(function.function, FAULTS)
            shares = (_share(asked, place, run, gold, function, body) for _, body in bodies)
            found = max(found, next(filter(None, shares), 0.0))
    return replace(function, influence=found)


def _share(
    asked: MaskRequest,
    place: SandboxSetup,
    run: CommandRuns,
    gold: Gold,
    function: MaskableFunction,
    body: str,
) -> float:
    """The share of a command's numbers that leave their tolerances with a faulty body.

    0 if it comes to none: a program that stops may check what the function returns, and not use it.
    """
    with temporary_folder("influence-") as made:
        workspace = made / "workspace"
        copy_code(asked.repository, workspace)
        try:
            source = read_source(workspace, function.file)
            found = source.find(function.function.address)
            Tree(workspace).write(function.file, mask(source, [(found, body)]))
        except SourceError:
            return 0.0
        with closing(place.open(workspace)) as sandbox:
            done = sandbox.execute(seeded(run.command, 0), min(asked.timeout, 60 + 5 * run.seconds))
            if not done.ok:
                return 0.0
            read = result_of_run(asked.results, done.stdout, sandbox, gold.value)
    if read.value is None:
        return 0.0
    leaves = compare(gold.value, read.value, own=gold.tolerances).leaves
    return sum(not leaf.passed for leaf in leaves) / len(leaves)

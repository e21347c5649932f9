"""The rows of a new task set: what each function is to do, what each experiment is to return."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from autoreproduce.files.tree import Tree
from autoreproduce.plugins.autoexperiment.dataset import Experiment, MaskRow
from autoreproduce.plugins.autoexperiment.functions import Function
from autoreproduce.plugins.autoexperiment.masking import read_shared_source
from autoreproduce.plugins.autoexperiment.taskset import PaperSet
from autoreproduce.plugins.autoexperiment.unmasked import Gold
from maskmaker.candidates import MaskableFunction, passage_for
from maskmaker.measure_original import CommandRuns, MaskRequest
from maskmaker.reach import command_line

MOST_FILES = 1000
LARGEST = 2**40  # bytes of one file
Describe = Callable[[str, str], str]  # (the function's text, the paper's text) -> a docstring


def function_rows(
    asked: MaskRequest,
    code: Path,
    chosen: Sequence[MaskableFunction],
    describe: Describe | None,
    notes: list[str],
) -> tuple[list[MaskRow], dict[str, str]]:
    """The functions as rows of the format, and their addresses by func_id."""
    rows, addresses = [], {}
    for number, each in enumerate(chosen):
        source = read_shared_source(code.resolve(), each.file)
        function = source.find(each.function.address)
        first = source.line_of(source.region(function).start)
        written = describe(source.text(function), asked.paper) if describe else function.docstring
        if not written.strip():
            notes.append(
                f"{each.name} has no docstring: its signature alone is shown (--describe has a "
                "model write one)"
            )
        rows.append(
            MaskRow(
                asked.paper_id,
                str(number),
                each.file,
                function.name,
                function.line,
                first,
                function.last_line,
                passage_for(function, asked.paper),
                written.strip() or by_signature(function),
            )
        )
        addresses[str(number)] = function.address
    return rows, addresses


def by_signature(function: Function) -> str:
    """What the signature does not show and nobody wrote down: whether it is a generator."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    todo: list[ast.AST] = list(function.node.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return "A generator."
        if not isinstance(node, inner):
            todo += ast.iter_child_nodes(node)
    return ""


def experiment_rows(
    asked: MaskRequest,
    chosen: Sequence[MaskableFunction],
    golds: Sequence[tuple[CommandRuns, Gold]],
    addresses: dict[str, str],
    notes: list[str],
) -> tuple[list[Experiment], PaperSet]:
    """The experiments as rows of the format, one per command, and how they are run and judged."""
    experiments, golds_by_seed = [], dict[str, Gold]()
    for number, (run, gold) in enumerate(golds):
        reached = {f"{each.file}::{each.function.address}" for each in run.reached}
        depends = tuple(str(place) for place, each in enumerate(chosen) if each.name in reached)
        shape = _shape_text(gold.value)
        text = (
            f"Run `{command_line(run.command)}`. Return the numbers that it reports in this format "
            f"{shape}. Replace 0.0 with the actual value."
        )
        experiments.append(
            Experiment(asked.paper_id, str(number), text, gold.value, depends, run.command)
        )
        golds_by_seed[str(number)] = gold
    longest = max(run.seconds for run, _ in golds) * len(golds)
    made = PaperSet(
        results=asked.results,
        seeds=list(range(asked.seeds)),
        timeout=max(60.0, 10 * longest),
        tolerances={name: gold.tolerances for name, gold in golds_by_seed.items()},
        golds={name: gold.by_seed for name, gold in golds_by_seed.items()},
        spread={name: gold.spread for name, gold in golds_by_seed.items()},
        addresses=addresses,
        data_dir=str(asked.data_dir.resolve()) if asked.data_dir else "",
        data_files=_checksums(asked.data_dir) if asked.data_dir else {},
        packages=list(asked.packages),
        python=golds[0][0].python,
        locked=sorted({each for run, _ in golds for each in run.locked}),
        notes=list(notes),
    )
    return experiments, made


def _shape_text(value: Any) -> str:
    def zeros(each: Any) -> Any:
        if isinstance(each, dict):
            return {key: zeros(inner) for key, inner in each.items()}
        return [zeros(inner) for inner in each] if isinstance(each, list) else 0.0

    return json.dumps(zeros(value))


def _checksums(folder: Path) -> dict[str, str]:
    """SHA-256 by path of the files in a folder, of the first MOST_FILES by name."""
    tree = Tree(folder.resolve())
    return {name: tree.sha256(name, LARGEST) for name in sorted(tree.files())[:MOST_FILES]}

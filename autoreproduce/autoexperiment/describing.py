"""The rows of a new task set: what each function is to do, and what each experiment is to return."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from autoreproduce.autoexperiment.candidates import Candidate, passage_for
from autoreproduce.autoexperiment.dataset import Experiment, MaskRow
from autoreproduce.autoexperiment.functions import Function
from autoreproduce.autoexperiment.gold import Gold
from autoreproduce.autoexperiment.masking import read_source
from autoreproduce.autoexperiment.reach import shown
from autoreproduce.autoexperiment.taskset import PaperSet
from autoreproduce.autoexperiment.trying import Asked, Run

Describe = Callable[[str, str], str]  # (the function's text, the paper's text) -> a docstring


def function_rows(
    asked: Asked, code: Path, chosen: Sequence[Candidate], describe: Describe | None, notes: list[str]
) -> tuple[list[MaskRow], dict[str, str]]:
    """The functions as rows of the format, and their addresses by func_id."""
    rows, addresses = [], {}
    for number, each in enumerate(chosen):
        source = read_source(code, each.file)
        function = source.find(each.function.address)
        first = source.line_of(source.region(function).start)
        said = (describe(source.text(function), asked.paper) if describe else function.docstring).strip()
        if not said:
            notes.append(f"{each.name} has no docstring: it is described by its signature alone")
        rows.append(MaskRow(
            asked.paper_id, str(number), each.file, function.name, function.line, first, function.last_line,
            passage_for(function, asked.paper), said or by_signature(function),
        ))  # fmt: skip
        addresses[str(number)] = function.address
    return rows, addresses


def by_signature(function: Function) -> str:
    """A description that says no more than the signature does."""
    node = function.node
    args = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    notes = {arg.arg: ast.unparse(arg.annotation) for arg in args if arg.annotation}
    kind = "Generates" if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node)) else "Computes"
    lines = [f"{kind} {function.name.strip('_').replace('_', ' ')}."]
    lines += ["", *(f":param {name}:{f' {notes[name]}' if name in notes else ''}" for name in function.parameters)]
    if node.returns:
        lines.append(f":return: {ast.unparse(node.returns)}")
    return "\n".join(lines).strip()


def experiment_rows(
    asked: Asked,
    chosen: Sequence[Candidate],
    golds: Sequence[tuple[Run, Gold]],
    addresses: dict[str, str],
    notes: list[str],
) -> tuple[list[Experiment], PaperSet]:
    """The experiments as rows of the format, one a command, and how they are run and judged."""
    experiments, tolerances = [], {}
    for number, (run, gold) in enumerate(golds):
        reached = {f"{each.file}::{each.function.address}" for each in run.reached}
        depends = tuple(str(place) for place, each in enumerate(chosen) if each.name in reached)
        shape = _shape_text(gold.value)
        said = (
            f"Run `{shown(run.command)}`. Return the numbers that it reports in this format {shape}. "
            "Replace 0.0 with the actual value."
        )
        experiments.append(Experiment(asked.paper_id, str(number), said, gold.value, depends, run.command))
        tolerances[str(number)] = gold.tolerances
    longest = max(run.seconds for run, _ in golds) * len(golds)
    made = PaperSet(
        results=asked.results, seeds=list(range(asked.seeds)), timeout=max(60.0, 10 * longest),
        tolerances=tolerances, addresses=addresses, notes=list(notes),
    )  # fmt: skip
    return experiments, made


def _shape_text(value: Any) -> str:
    def zeros(each: Any) -> Any:
        if isinstance(each, dict):
            return {key: zeros(inner) for key, inner in each.items()}
        return [zeros(inner) for inner in each] if isinstance(each, list) else 0.0

    return json.dumps(zeros(value))

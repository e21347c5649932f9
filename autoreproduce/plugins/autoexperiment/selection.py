"""Which tasks: n functions masked, listed ones or every combination, a sample, or exact ids."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, Literal

from autoreproduce.errors import UsageError
from autoreproduce.plugins.autoexperiment.dataset import (
    Dataset,
    Experiment,
    MaskedPaper,
    MaskRow,
    mask_row,
)
from autoreproduce.plugins.autoexperiment.dataset_rows import Row, ids_of, read_value
from autoreproduce.plugins.autoexperiment.lists import combined_id
from autoreproduce.plugins.autoexperiment.taskset import PaperSet
from autoreproduce.task import folder_name

ANSWER = 'Return final answer as a json: {"Experiment 1": ..., "Experiment 2": ..., ...}'
SEED = re.compile(r"(?<!\$)\{seed\}")  # `${seed}` is a variable of its own
FEW = 200_000  # so many combinations are listed one by one before a sample is drawn


@dataclass(frozen=True)
class MaskedTask:
    """A paper with some functions masked.

    `gold` has the numbers by `Experiment i`; never show it to a solver. `experiments` and
    `solution` are the texts of the public format: what to do, and the bash lines that do it; a
    solver is shown `asked` or `what_to_do`.
    `exp_ids` names the paper's experiments in order, and is empty for a listed task without them.
    """

    paper: MaskedPaper
    functions: tuple[MaskRow, ...]
    experiments: str
    solution: str
    gold: dict[str, Any]
    exp_ids: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The combined id, by which folders are called. Raises UsageError if none can be."""
        return folder_name(
            combined_id(self.paper.id, tuple(each.func_id for each in self.functions))
        )

    @property
    def seeds(self) -> list[int]:
        """The seeds that have gold of their own; of a paper without such gold the first seed."""
        made = self.paper.made or PaperSet()
        return made.seeds if made.golds else made.seeds[:1] or [0]

    @property
    def what_to_do(self) -> str:
        """`experiments` with a seed in its command and the seeds that are judged, without its last
        sentence, for solvers that return no numbers.
        """
        text = self.experiments.removesuffix(ANSWER).rstrip()
        filled = with_seed(text, str(self.seeds[0]))
        if filled == text:
            return text
        seeds = ", ".join(map(str, self.seeds))
        return f"{filled}\nIt is judged with the seed{'s' * (len(self.seeds) > 1)} {seeds}."

    @property
    def asked(self) -> str:
        """`what_to_do`, and how to return the numbers of the experiments that this task has."""
        if not self.experiments.endswith(ANSWER):
            return self.what_to_do
        form = ", ".join(f'"{name}": ...' for name in self.gold)
        return f"{self.what_to_do}\n{ANSWER.partition('{')[0]}{{{form}}}"

    @property
    def n(self) -> int:
        """How many functions are masked."""
        return len(self.functions)


def with_seed(text: str, seed: str) -> str:
    """A text with `seed` for each `{seed}`."""
    return SEED.sub(lambda _: seed, text)


def counts(dataset: Dataset, most: int = 5) -> dict[int, int]:
    """The number of combinations of n functions with an experiment, for n = 0 … `most`."""
    return {n: sum(_count(paper, n) for paper in dataset.papers.values()) for n in range(most + 1)}


def largest_n(dataset: Dataset) -> int:
    """The most functions that a paper has: n = all."""
    return max((len(paper.functions) for paper in dataset.papers.values()), default=0)


def select_tasks(
    dataset: Dataset,
    n: Sequence[int] = (1,),
    *,
    ids: Sequence[str] = (),
    which: Literal["listed", "all"] = "listed",
    sample: int | None = None,
) -> list[MaskedTask]:
    """The chosen tasks, in the dataset's order.

    `ids` are combined ids, and then nothing else counts. Else for each n: the listed tasks if the
    dataset lists some, or all combinations; of these a sample of so many, the same on every
    machine. Raises UsageError for an unknown id or n.
    """
    if ids:
        return [task_of(dataset, each) for each in dict.fromkeys(ids)]
    found: list[MaskedTask] = []
    for each in dict.fromkeys(n):
        if not 0 <= each <= largest_n(dataset):
            raise UsageError(
                f"no paper has {each} functions to mask",
                fix=f"n goes from 0 to {largest_n(dataset)}",
            )
        names = list(_task_names(dataset, each, which, sample))
        found += [task_of(dataset, name) for name in _sampled(names, sample, f"0 {each}")]
    return found


def task_of(dataset: Dataset, name: str) -> MaskedTask:
    """The task of a combined id, as listed in the dataset or from its rows. Raises UsageError."""
    paper, rows = _paper_and_rows(dataset, name)
    row = dataset.listed.get(len(rows), {}).get(name)
    if row is not None and (task := _listed_task(paper, row)) is not None:
        return task
    reached = _depending(paper, rows)
    if not reached:
        raise UsageError(
            f"no experiment of {paper.id} depends on {name}", fix="there is nothing to compare"
        )
    texts = [f"Experiment {number}: {each.description}\n" for number, each in enumerate(reached, 1)]
    lines = [
        f"echo Experiment {number}\n{each.solution}\n" for number, each in enumerate(reached, 1)
    ]
    gold = {f"Experiment {number}": each.result for number, each in enumerate(reached, 1)}
    ids = tuple(each.exp_id for each in reached)
    return MaskedTask(paper, rows, "".join(texts) + ANSWER, "".join(lines), gold, ids)


def _listed_task(paper: MaskedPaper, row: Row) -> MaskedTask | None:
    try:
        gold = read_value(row.get("results"))
    except ValueError:
        return None
    details = row.get("func_details")
    details = details if isinstance(details, list) else []
    own = {each.func_id: each for each in paper.functions}
    given = {
        str(each.get("func_id")): mask_row(each, paper.id)
        for each in details
        if isinstance(each, dict)
    }
    rows = [given.get(func_id) or own.get(func_id) for func_id in ids_of(row.get("func_ids"))]
    if not isinstance(gold, dict) or not gold or not all(rows):
        return None
    reached = _depending(paper, tuple(each for each in rows if each))
    same = len(reached) == len(gold)
    return MaskedTask(
        paper,
        tuple(each for each in rows if each),
        str(row.get("experiments", "")),
        str(row.get("solution", "")),
        gold,
        tuple(each.exp_id for each in reached) if same else (),
    )


def _paper_and_rows(dataset: Dataset, name: str) -> tuple[MaskedPaper, tuple[MaskRow, ...]]:
    paper_id, mark, rest = name.rpartition("_")
    paper = dataset.papers.get(paper_id)
    if paper is None or not mark:
        raise UsageError(
            f"{name} isn't a task of this dataset",
            fix="write a paper and the ids of its functions, as 2205.00048_0,1; it has the "
            f"papers {', '.join(dataset.papers) or 'none'}",
        )
    ids = ids_of(rest)
    own = {each.func_id: each for each in paper.functions}
    if unknown := [each for each in ids if each not in own]:
        raise UsageError(
            f"{name}: {paper_id} has no function {unknown[0]}", fix=f"it has {', '.join(own)}"
        )
    ordered = combined_id(paper_id, tuple(each for each in own if each in ids))
    if name != ordered:
        raise UsageError(f"{name} isn't a task", fix=f"the dataset's order is {ordered}")
    return paper, tuple(each for each in paper.functions if each.func_id in ids)


def _depending(paper: MaskedPaper, rows: tuple[MaskRow, ...]) -> list[Experiment]:
    """The experiments that depend on any of these functions; all of them if none is masked."""
    ids = {each.func_id for each in rows}
    return [each for each in paper.experiments if not ids or ids & set(each.depends)]


def _needed(paper: MaskedPaper) -> set[str]:
    return {func_id for each in paper.experiments for func_id in each.depends}


def _count(paper: MaskedPaper, n: int) -> int:
    if not paper.experiments:
        return 0
    useless = sum(each.func_id not in _needed(paper) for each in paper.functions)
    return comb(len(paper.functions), n) - (comb(useless, n) if n else 0)


def _task_names(dataset: Dataset, n: int, which: str, sample: int | None) -> Iterator[str]:
    listed = dataset.listed.get(n, {})
    for paper in dataset.papers.values():
        if which == "listed" and listed:
            yield from (name for name in listed if name.rpartition("_")[0] == paper.id)
        else:
            yield from _combinations(paper, n, sample)


def _combinations(paper: MaskedPaper, n: int, sample: int | None) -> Iterator[str]:
    ids = [each.func_id for each in paper.functions]
    needed = _needed(paper)
    if not paper.experiments:
        return
    if sample is not None and comb(len(ids), n) > FEW:
        seed = f"0 {paper.id} {n}"
        chosen: Iterator[tuple[str, ...]] = iter(_random_combinations(ids, n, sample, seed))
    else:
        chosen = combinations(ids, n)
    yield from (combined_id(paper.id, each) for each in chosen if not n or needed & set(each))


def _random_combinations(
    ids: Sequence[str], n: int, count: int, seed: str
) -> list[tuple[str, ...]]:
    """Different combinations drawn without listing them all."""
    draw = random.Random(seed)
    found: dict[tuple[int, ...], None] = {}
    while len(found) < count:
        found.setdefault(tuple(sorted(draw.sample(range(len(ids)), n))))
    return [tuple(ids[number] for number in each) for each in sorted(found)]


def _sampled(names: list[str], sample: int | None, seed: str) -> list[str]:
    if sample is None or sample >= len(names):
        return names
    chosen = set(random.Random(seed).sample(range(len(names)), sample))
    return [name for number, name in enumerate(names) if number in chosen]

"""What was seen of a program while it ran: not what it printed, nor what its text says.

A program that read a file of 47 rows and never holds more than 28 outside its data code left the
others out. Where a split, an augmentation or a stream of batches explains the numbers as well,
nothing is said.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, combinations, combinations_with_replacement
from typing import Literal

from pydantic import Field

from autoreproduce.claims.claim import Finite, Frozen
from autoreproduce.trials.probe.observation import ProbedOptimizer, ProbedStructure

WHOLE = 0.95  # of the rows: a few may be left out, as those with missing values, or be a heading
FEWEST = 0.2  # of the rows: fewer may be a batch, or no rows of data at all
MOST_LENGTHS = 12  # that are tried as parts: training, validation and test
DATA_CODE = {"data.py", "preprocess.py", "short_run.py"}  # reads the rows, whoever uses them
PROGRAM = "main.py"


def rows_used(due: float, files: Mapping[str, int], held: Mapping[str, Sequence[int]]) -> int:
    """How many of `due` rows the program worked on; 0 if that is not known.

    `files`: rows by data file. `held`: rows of the tables that functions held, by the program's
    file.
    """
    there = max(files.values(), default=0)
    outside = {name: rows for name, rows in held.items() if name not in DATA_CODE}
    if due <= 0 or there < WHOLE * due:
        return 0
    inner = chain.from_iterable(rows for name, rows in outside.items() if name != PROGRAM)
    if max(inner, default=0) > there:  # augmented, or no rows of these data
        return 0
    lengths = sorted({rows for rows in chain(*outside.values()) if rows <= there}, reverse=True)
    if not lengths:
        return 0
    if lengths[0] >= WHOLE * due or _parts_of(due, lengths):
        return round(due)
    return lengths[0] if lengths[0] >= FEWEST * due else 0


def _parts_of(due: float, lengths: Sequence[int]) -> bool:
    """True if two or three tables may be the parts of a whole, as 800 and 200 rows of 1,000; the
    smaller ones may be equal, or both halves.
    """
    few = lengths[:MOST_LENGTHS]
    pairs = combinations_with_replacement(few, 2)
    equal = ((larger, smaller, smaller) for larger, smaller in combinations(few, 2))
    ways = chain(pairs, equal, combinations(few, 3))
    return any(WHOLE * due <= sum(parts) <= due / WHOLE for parts in ways)


def rows_left_out(files: Mapping[str, int], held: Mapping[str, Sequence[int]]) -> str:
    """That a program left out rows of its one data file, in a sentence; "" if it did not, or if
    that is not known.
    """
    if len(files) != 1:
        return ""
    [(name, rows)] = files.items()
    used = rows_used(rows, files, held)
    if not 0 < used < WHOLE * rows:
        return ""
    return (
        f"The program read {name} ({rows:,} rows), and the most rows that its functions were seen "
        f"to work on are {used:,} (×{used / rows:.3g})."
    )


Value = int | Finite | str
Key = Literal[
    "optimizer",
    "learning_rate",
    "weight_decay",
    "momentum",
    "betas",
    "schedule",
    "batch_size",
    "steps",
    "epochs",
    "seeds",
    "samples",
    "parameters",
    "input_shape",
    "output_shape",
    "loss",
]
MOST_SEEDS = 100  # that are listed one by one
OTHER_SEEDS = 3  # that a program may set for other things than runs: data, split, model


class Observed(Frozen):
    """What was seen of a run. None or (): not seen, which is no difference."""

    optimizer: str | None = None
    learning_rate: float | None = Field(
        None, description="of the first step; groups that differ: the largest"
    )
    weight_decay: float | None = None
    momentum: float | None = None
    betas: tuple[float, ...] = ()
    schedule: str | None = None
    batch_size: int | None = None
    steps: int | None = Field(
        None, description="optimiser steps done; of several seeds in one program, those of one"
    )
    epochs: float | None = None
    seeds: tuple[int, ...] = ()
    samples: int | None = Field(None, description="size of the training set")
    parameters: int | None = Field(None, description="of the model; of its parts together")
    input_shape: tuple[int, ...] = Field((), description="of one item, without the batch")
    output_shape: tuple[int, ...] = ()
    losses: tuple[str, ...] = ()
    file_rows: dict[str, int] = Field({}, description="rows by data file that was opened")
    held: dict[str, tuple[int, ...]] = Field(
        {}, description="rows of the tables that functions held, by the program's file"
    )
    seeds_set: int | None = Field(None, description="different seeds that the program set itself")
    runs: int | None = Field(None, description="values that it wrote of single runs behind a mean")
    fits: int = Field(1, description="optimisers of the kind that counts, each trained by itself")

    def value_beside(self, key: Key, due: Value, decided: Value | None = None) -> Value | None:
        """What a run used for `key`, beside the value that's `due` and the one `decided` in its
        place; None if it wasn't seen. Steps and epochs of many fits together are those of one fit,
        unless together they're what was asked for.

        Rows of data are recognised by their number. More seeds than due don't count as a
        difference, nor do a few more than decided: some are for data and splits.
        """
        number, fewer = _count(due), _count(decided)
        if key == "samples" and self.samples is None:
            return rows_used(number, self.file_rows, self.held) or None
        if key in ("steps", "epochs"):
            return self._of_one_fit(key, {due, decided})
        if key != "seeds":
            return self.value(key)
        found = self.repetitions
        if found is None or not number:
            return found
        if found > number:
            return due
        return decided if fewer and fewer < found <= fewer + OTHER_SEEDS else found

    def _of_one_fit(self, key: Key, asked: set[Value | None]) -> Value | None:
        together = self.value(key)
        if not isinstance(together, int | float) or together in asked or self.fits < 2:
            return together
        return together // self.fits if key == "steps" else together / self.fits

    @property
    def repetitions(self) -> int | None:
        """How many runs there were: by the values of each, else by seeds. None if not seen: a
        program that sets a few seeds may draw all its repetitions from one of them.
        """
        if self.runs is not None:
            return self.runs
        if self.seeds:
            return len(self.seeds) if len(self.seeds) < MOST_SEEDS else self.seeds_set
        return self.seeds_set if (self.seeds_set or 0) > OTHER_SEEDS else None

    def value(self, key: Key) -> Value | None:
        """What was seen of `key`, in the form in which choices are written."""
        if key == "loss":
            return ", ".join(self.losses) or None
        if key == "seeds":
            return len(self.seeds) or None
        found = getattr(self, key)
        if isinstance(found, tuple):
            return "x".join(f"{one:g}" for one in found) or None
        return found  # type: ignore[no-any-return]


def _count(value: Value | None) -> float:
    return value if isinstance(value, int | float) else 0


def observed_from_probe(found: ProbedStructure, *, watched_to_end: bool = False) -> Observed:
    """What the probe wrote; it was ended at the second step unless `watched_to_end`."""
    optimizer, model, schedule = found.optimizer, found.model, found.scheduler
    ran = found.source in ("training", "running")
    steps, epochs, seeds = found.steps, found.epochs, tuple(found.seeds)
    # a part of what is trained, as a U-Net within a method, has neither the program's input nor
    # all of its parameters
    trained = found.trained or 0
    whole = model is None or model.parameters >= trained
    made = 1 if found.optimizers_made is None else found.optimizers_made
    # one after another, in one program
    runs = len(seeds) if seeds and made % len(seeds) == 0 else 1
    return Observed(
        optimizer=optimizer.kind if optimizer else None,
        learning_rate=_largest_setting(optimizer, "lr"),
        # none in the optimiser may be in the loss, which is not seen
        weight_decay=_largest_setting(optimizer, "weight_decay") or None,
        momentum=optimizer.number("momentum") if optimizer else None,
        betas=_betas(optimizer),
        schedule=schedule.kind if schedule else None,
        batch_size=found.batch_size,
        steps=steps // runs if steps is not None and watched_to_end else None,
        epochs=epochs / runs if epochs is not None and watched_to_end and ran else None,
        seeds=seeds,
        samples=found.samples,
        parameters=max(model.parameters, trained) if model else None,
        input_shape=_item_shape(model.inputs if model and whole else ()),
        output_shape=_item_shape(model.outputs if model and whole else ()),
        losses=tuple(found.losses),
        file_rows={one.name: one.rows for one in found.files if one.rows},
        held={name: tuple(rows) for name, rows in found.held.items()},
        seeds_set=found.seeds_set,
        fits=max(1, made // runs),
    )


def _largest_setting(
    optimizer: ProbedOptimizer | None, key: Literal["lr", "weight_decay"]
) -> float | None:
    """Of the groups that have their own, else the default."""
    if optimizer is None:
        return None
    values = [group[key] for group in optimizer.groups if key in group]
    return max(values) if values else optimizer.number(key)


def _betas(optimizer: ProbedOptimizer | None) -> tuple[float, ...]:
    """All of them; some optimisers have only one."""
    found = optimizer.defaults.get("betas") if optimizer else None
    if optimizer and not isinstance(found, list):
        one = optimizer.number("betas")
        return () if one is None else (one,)
    return tuple(found) if isinstance(found, list) else ()


def _item_shape(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The shape of the first tensor without the batch."""
    return tuple(shapes[0][1:]) if shapes else ()

"""How many rows of its data a program worked on, from what was seen of it from outside.

The probe counts the rows of the files that were opened, and notes how many rows the tables had that
the program's functions held. A program that read a file of 47 rows and never holds more than 28
outside its data code left the others out. Where a split, an augmentation or a stream of batches
explains the numbers as well, nothing is said.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, combinations, combinations_with_replacement

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

"""What a program wrote, read in one way: CSV, JSON, JSON lines, tables as programs print them
(between bars, tabs, commas or blanks), and other text. An expression reads all values at a name in
the rows that it means (`cells_at`), `--metric-from FILE:KEY` the last one (`number_at`).

The rule for both:

- **Names** of columns, keys and words are taken as they're written; where none is there, the one
  that differs in case alone. Blanks, quotes, backticks and asterisks around a column's name or a
  value are no part of it. Of two columns with one name the last counts.
- **No value** is an empty cell, a blank one, null, none, na, n/a or a dash: it's passed over. NaN
  and infinity are what came out, and no numbers: passing over them would give another's number.
- **A value** is a number as it is or as NumPy, PyTorch and JAX print it, also in a list of one,
  true (1) or false (0). After it may stand its spread ("0.93 ± 0.02", "0.93 (0.02)") and a unit
  ("12 ms", "85 %"), which changes nothing; "3/20", "12:30" and "1.2 M" are something else. Of a
  value that holds several numbers, only an expression says which one.
- **Text**: FILE:KEY takes the number after the word, and no column, since it names no row.

The program wrote it, so it's read as hostile input.
"""

from __future__ import annotations

import csv
import io
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from autoreproduce.errors import CommandError
from autoreproduce.files.bounded import is_number, is_usable, parse_json
from autoreproduce.files.kinds import ending
from autoreproduce.files.notebooks import joined, notebook_cells
from autoreproduce.papers.numbers import same_number
from autoreproduce.trials.numbers_in_text import (
    BETWEEN,
    groups_of,
    number_after,
    numbers_after,
    numbers_on_line,
    pattern_of,
    value_of_text,
    without_spread_and_unit,
)
from autoreproduce.trials.printed import last_state, without_escapes

PRINTED = "stdout"
TEXTS = {".txt", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".md", ".log", ".tex", ".ipynb"}
TEXTS |= {".dat", ".out"}
MOST_ROWS = 1_000_000  # JSON lines: about 5 s
EMPTY = {"", "none", "null", "na", "n/a", "-", "–"}  # cells that hold no value
Found = tuple[Any, str]  # a value that isn't read as a number yet, and its line or cell
Where = Mapping[str, str | list[str]]  # conditions on the columns or keys of a row
_TABLES, _JSON_LINES = {".csv": ",", ".tsv": "\t"}, (".jsonl", ".ndjson")
_RULE = re.compile(r"[\s\-=+|:·\u2500-\u257f]*|\\\w*(?:rule|line)\b.*|\.\.\.")
_BARS = re.compile(r"[|│┃║]")
_CONDITION = re.compile(r"(<=|>=|!=|<|>|≤|≥|≠)\s*(.+)")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, "≤": operator.le,
    ">": operator.gt, ">=": operator.ge, "≥": operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A number, and the text of its line or cell."""

    number: float
    text: str


@dataclass(frozen=True)
class Table:
    """Headings, and rows of cells, each with its text as it's printed. The rows are read anew each
    time: objects of them would have all columns.
    """

    columns: Sequence[str]
    rows: Callable[[], Iterable[tuple[Sequence[str], str]]]

    def at(self, what: str, name: str) -> int:
        """The place of a column; "" is the first. Raises CommandError without it."""
        if not name:
            return 0
        found = same_name(name, self.columns)
        if found is None:
            named = _some(self.columns)
            raise CommandError(f"{what} has no column {name!r}: its columns are {named}")
        return len(self.columns) - 1 - [*self.columns][::-1].index(found)


def same_name(wanted: str, names: Collection[str]) -> str | None:
    """The name as it's written, else the only one that differs from it in case alone."""
    if wanted in names:
        return wanted
    alike = {name for name in names if name.casefold() == wanted.casefold()}
    return alike.pop() if len(alike) == 1 else None


def plain(text: str) -> str:
    """Without the blanks and signs around it that are no part of it."""
    return text.strip().strip("*`'\"").strip()


def kind_of(file: str) -> str:
    """How a file is read: its ending, "" of what was printed."""
    return "" if file == PRINTED else ending(file)


def readable(name: str, text: str) -> str:
    """The text as it's shown and searched: without colours, of a notebook what its cells put out,
    and of a line that a progress bar rewrote what is seen in the end.
    """
    text = without_escapes(text)
    if not name.lower().endswith(".ipynb"):
        return "\n".join(map(last_state, text.split("\n"))) if "\r" in text else text
    try:
        outputs = [out for cell in notebook_cells(text) for out in cell.get("outputs", [])]
        parts = [_said(out) for out in outputs]
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    return without_escapes("\n".join(part.rstrip("\n") for part in parts if part))


def _said(output: Mapping[str, Any]) -> str:
    """The text of one output of a notebook's cell."""
    if output.get("output_type") in ("error", "pyerr"):
        return f"{output.get('ename')}: {output.get('evalue')}"
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    return joined(text)


def cells_at(
    name: str, text: str, key: str, where: Where, nth: int, heading: int | None
) -> list[Cell]:
    """The numbers at a key, in the rows that meet all conditions `where`. `nth`: which number of a
    value; `heading`: the line of a printed table's headings. Raises CommandError that says what
    there is instead.
    """
    found = _in_rows(name, text, key, where)
    if found is None:
        tables = _tables_with(text, [key, *where], heading)
        if len(tables) > 1:
            lines = ", ".join(str(line) for line, _ in tables)
            raise CommandError(
                f"{name} has {len(tables)} tables with the column {key!r}, their headings on the "
                f"lines {lines}: name one as `line`"
            )
        what = f"the table of {name}"
        found = (
            _of_table(what, tables[0][1], key, where)
            if tables
            else _after_words(name, text, key, where)
        )
    return [Cell(_number(f"{name}: {key}", value, nth), shown) for value, shown in found]


def number_at(file: str, key: str, text: str) -> Cell:
    """The last number at the key of FILE:KEY, with its line. Raises CommandError without one."""
    place = f"--metric-from {file}:{key}"
    try:
        found = _in_rows(file, text, key, {})
    except CommandError as error:
        raise CommandError(f"{place}: {error}") from None
    if found is None and (pattern := pattern_of(key)):
        found = [(one, line) for one, line in groups_of(pattern, text) if one]
    elif found is None and (fit := number_after(file, key, text)) is not None:
        found = [(fit.value, fit.text)]
    if not found:
        raise CommandError(f"{place}: there is no such key with a number")
    several = kind_of(file) == ".json" and len(found) > 1
    value = [value for value, _ in found] if several else found[-1][0]
    return Cell(_number(place, value, None), found[-1][1])


def ended(file: str, key: str, text: str) -> None:
    """Raises CommandError for the text of a program that failed, if its last line is cut off where
    the number at `key` ("": on a line) may be. JSON says itself where it ends.
    """
    last = text[text.rfind("\n") + 1 :]
    kind = kind_of(file)
    if kind == ".json":
        return
    looked_for = kind in (*_TABLES, *_JSON_LINES) or key.casefold() in last.casefold()
    if last.strip() and (looked_for or pattern_of(key)):
        raise CommandError(
            f"--metric-from: the last line of {file} has no end, and the program failed: it may be "
            "half written"
        )


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and plain(value).casefold() in EMPTY)


def _number(what: str, value: Any, nth: int | None) -> float:
    """The number of a value, the `nth` of a text that holds several; None: the only one."""
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, dict | list):
        raise CommandError(f"{what}: {str(value)[:80]} isn't a number: name what is in it")
    number = value
    if isinstance(value, str):
        shown = plain(value)
        if shown.casefold() in ("true", "false"):
            return float(shown.casefold() == "true")
        number = value_of_text(shown) if nth in (None, 1) else shown
        if isinstance(number, str) and nth in (None, 1):
            number = value_of_text(without_spread_and_unit(shown))
        if isinstance(number, str) and nth is not None:
            numbers = numbers_on_line(shown)
            if nth > len(numbers):
                raise CommandError(f"{what} holds {shown[:80]!r}, which has {len(numbers)} numbers")
            number = float(numbers[nth - 1])
    if not is_number(number) or not is_usable(number):
        raise CommandError(f"{what} holds {str(value)[:80]!r}, which isn't a number")
    return float(number)


def _some(names: Sequence[str]) -> str:
    once = list(dict.fromkeys(name for name in names if name))
    return ", ".join(once[:12]) + (", …" if len(once) > 12 else "") or "none"


def _meets(value: Any, wanted: str | list[str]) -> bool:
    if isinstance(wanted, list):
        return any(_meets(value, one) for one in wanted)
    shown = plain(str(value))
    number = value_of_text(shown)
    if compared := _CONDITION.fullmatch(wanted.strip()):
        sign, limit = compared[1], value_of_text(compared[2].strip())
        if sign in ("!=", "≠"):
            return not _meets(value, compared[2])
        both = isinstance(number, float) and isinstance(limit, float)
        return both and _COMPARE[sign](float(number), float(limit))
    meant = plain(wanted)
    other = value_of_text(meant)
    if shown.casefold() == meant.casefold():
        return True
    both = isinstance(number, float) and isinstance(other, float)
    return both and same_number(float(number), float(other))


def _no_row(what: str, where: Where, values: Callable[[str], Sequence[Any]]) -> CommandError:
    """Which condition no row meets, and what its column holds."""
    for column, wanted in where.items():
        there = values(column)
        if not any(_meets(value, wanted) for value in there):
            named = _some([str(value) for value in there])
            return CommandError(
                f"no row of {what} has {column or 'its first column'} {wanted!r}: it's {named}"
            )
    return CommandError(f"no row of {what} meets all conditions ({', '.join(where)})")


# rows


def _in_rows(name: str, text: str, key: str, where: Where) -> list[Found] | None:
    """The values at a key of a file that is read by rows, as its name says; None of a text, and
    where a pattern says how it's read.
    """
    kind = "" if pattern_of(key) else kind_of(name)
    text = text.removeprefix("\ufeff")
    try:
        if kind == ".json":
            return _in_json(name, parse_json(text), key, where)
        if kind in _JSON_LINES:
            return _of_items(name, lambda: map(_Item, _json_lines(text)), key, where)
        if kind in _TABLES:
            sign = _TABLES[kind]
            first = text.partition("\n")[0]  # ; as where a comma stands before decimals
            sign = next((one for one in (sign, ";", "\t", ",") if one in first), sign)
            return _of_table(name, _csv_table(text, sign), key, where)
    except (ValueError, csv.Error) as error:
        raise CommandError(f"{name} is no {kind[1:]} ({error})") from None
    return None


def _csv_table(text: str, delimiter: str) -> Table:
    def lines() -> Iterator[list[str]]:
        return filter(None, csv.reader(io.StringIO(text, newline=None), delimiter=delimiter))

    def rows() -> Iterator[tuple[list[str], str]]:
        for number, cells in enumerate(islice(lines(), 1, None)):
            if number >= MOST_ROWS:
                raise ValueError(f"it holds over {MOST_ROWS:,} rows")
            yield cells, ",".join(cells)

    return Table(list(map(plain, next(lines(), []))), rows)


def _of_table(what: str, table: Table, key: str, where: Where) -> list[Found]:
    at = table.at(what, key)
    asked = {name: (table.at(what, name), wanted) for name, wanted in where.items()}

    def cell(cells: Sequence[str], place: int) -> str | None:
        return cells[place] if place < len(cells) else None

    found, rows, met = list[Found](), 0, 0
    for cells, text in table.rows():
        rows += 1
        if all(_meets(cell(cells, place), wanted) for place, wanted in asked.values()):
            met += 1
            if not _is_empty(cell(cells, at)):
                found.append((cell(cells, at), text))
    if rows and not met:
        raise _no_row(what, where, lambda name: [cell(c, asked[name][0]) for c, _ in table.rows()])
    if not found:
        why = f": {key} is empty in all rows that are meant" if rows else " has no rows"
        raise CommandError(f"{what}{why}")
    return found


# JSON


@dataclass(frozen=True)
class _Item:
    """A row: its key in an object, and the value."""

    value: Any
    name: str | None = None


def _json_lines(text: str) -> Iterator[Any]:
    """The values of JSON lines. Raises ValueError for one that is none, and for too many."""
    if text.count("\n") > MOST_ROWS:
        raise ValueError(f"it holds over {MOST_ROWS:,} lines")
    return (parse_json(line) for line in text.split("\n") if line.strip())


def _in_json(name: str, content: Any, key: str, where: Where) -> list[Found]:
    """The values at a path. The conditions are on the keys of what its last * stands for, or on
    the lists beside it (an object of columns); "*" is that item's own name.
    """
    before, star, after = f".{key}".rpartition(".*")
    if star and not after.startswith(".") and after:
        star = ""
    if star or (isinstance(content, list) and not re.match(r"-?\d", key)):
        base, inner = (before.lstrip("."), after.lstrip(".")) if star else ("", key)
        items = [item for one in _at_once(content, base) for item in _items(one)]
        if not items:
            raise _no_path(name, content, base)
        return _of_items(name, lambda: items, inner, where, key)
    values = _at_once(content, key)
    if not values:
        raise _no_path(name, content, key)
    value = values[0]
    if isinstance(value, list):
        above, _, last = key.rpartition(".")
        parent = next(iter(_at_once(content, above)), None)
        beside = parent.items() if isinstance(parent, dict) else ()
        columns = {k: v for k, v in beside if isinstance(v, list) and len(v) == len(value)}
        columns[last] = value
        rows = [_Item({k: v[n] for k, v in columns.items()}) for n in range(len(value))]
        return _of_items(name, lambda: rows, last, where, key)
    if where:
        raise CommandError(f"{name}: {key} is one value, of which no row is chosen")
    if _is_empty(value):
        raise CommandError(f"{name}: {key} is {value!r}, which isn't a number")
    return [(value, f"{key} = {str(value)[:200]}")]


def _of_items(
    name: str, items: Callable[[], Iterable[_Item]], path: str, where: Where, key: str = ""
) -> list[Found]:
    """The values at a path in those items that meet the conditions; names in another case count
    where no item has them as they're written.
    """
    key, there, met = key or path, False, 0
    for fold in (False, True):

        def of(item: _Item, column: str, fold: bool = fold) -> Any:
            return item.name if column == "*" else next(_at(item.value, column, fold), None)

        found, there, met = list[Found](), False, 0
        for item in items():
            if all(_meets(of(item, column), wanted) for column, wanted in where.items()):
                met += 1
                value = next(_at(item.value, path, fold), None)
                there = there or value is not None
                if not _is_empty(value):
                    text = f"{item.name or ''} {key} = {str(value)[:200]}".strip()
                    found.append((value, text))
        if found:
            return found
    rows = list(items())
    if not rows:
        raise CommandError(f"{name} has no rows")
    if not met:
        raise _no_row(name, where, lambda column: [of(item, column) for item in rows])
    if there:
        raise CommandError(f"{name}: {key} holds no number there")
    keys = sorted({k for item in rows if isinstance(item.value, dict) for k in item.value})
    raise CommandError(f"{name} has no {key!r} there: the keys are {_some(keys)}")


def _at_once(value: Any, path: str) -> list[Any]:
    """All values at a path as it's written, else in another case."""
    return list(_at(value, path, False)) or list(_at(value, path, True))


def _at(value: Any, path: str, fold: bool) -> Iterator[Any]:
    """All values at a path such as `test.mse`, `epochs.-1.mse` or `runs.*.mse`; a key may hold dots
    itself. `fold`: keys may differ in case.
    """
    if not path:
        yield value
        return
    first, _, rest = path.partition(".")
    if first == "*":
        for item in _items(value):
            yield from _at(item.value, rest, fold)
    elif isinstance(value, dict):
        parts = path.split(".")
        for size in range(len(parts), 0, -1):
            wanted = ".".join(parts[:size])
            name = same_name(wanted, value) if fold or wanted in value else None
            if name is not None:
                yield from _at(value[name], ".".join(parts[size:]), fold)
                if size == len(parts):
                    return
    elif isinstance(value, list) and re.fullmatch(r"-?\d{1,9}", first):
        at = int(first)
        for inner in value[at : at + 1 or None] if -len(value) <= at < len(value) else ():
            yield from _at(inner, rest, fold)


def _items(value: Any) -> list[_Item]:
    if isinstance(value, dict):
        return [_Item(inner, str(name)) for name, inner in value.items()]
    return [_Item(inner) for inner in value] if isinstance(value, list) else []


def _no_path(name: str, content: Any, path: str) -> CommandError:
    """Which part of a path isn't there, and what is."""
    inner = content
    for part in path.split("."):
        found = next(iter(_at_once(inner, part)), None)
        if found is None:
            break
        inner = found
    keys = [str(one) for one in inner] if isinstance(inner, dict) else []
    there = f"the keys are {_some(keys)}" if keys else f"there is {str(inner)[:80]}"
    return CommandError(f"{name} has nothing at {path!r}: {there}")


# printed text


def _tables_with(text: str, names: Sequence[str], heading: int | None) -> list[tuple[int, Table]]:
    """The tables of a text whose headings hold all `names`, with the line of their headings."""
    lines = text.split("\n")
    wanted = {name.casefold() for name in names if name}
    found = []
    starts = [heading] if heading else range(1, len(lines) + 1)
    for start in starts:
        line = lines[start - 1] if start <= len(lines) else ""
        if not all(name in line.casefold() for name in wanted):
            continue
        headers = [([*map(plain, split(line))], split) for split in _SPLITS]
        fits = [(h, split) for h, split in headers if wanted <= {c.casefold() for c in h}]
        tables = [_rows_below(lines, start, h, split) for h, split in fits]
        columns, rows = max(tables, key=lambda one: len(one[1]), default=([], []))
        # lines that all say "seed 1: acc 0.9" are no table
        repeated = wanted and wanted <= {cell.casefold() for cell in rows[0][0]} if rows else True
        if not repeated:
            found.append((start, Table(columns, lambda rows=rows: rows)))  # type: ignore[misc]
    return found


def _rows_below(
    lines: Sequence[str], start: int, header: list[str], split: Callable[[str], list[str]]
) -> tuple[list[str], list[tuple[list[str], str]]]:
    """The columns, of which the first is the index or the first again, and the rows under them, as
    far as they have as many cells, or one more: an index.
    """
    rows: list[tuple[list[str], str]] = []
    index = ""
    for line in lines[start : start + MOST_ROWS]:
        if _RULE.fullmatch(line):
            if not line.strip() and rows:
                break
            continue
        cells = split(line)
        if not rows and len(cells) == 1 and len(header) > 1:
            index = cells[0]  # pandas puts the index's name below the headings
        elif len(cells) in (len(header), len(header) + 1):
            rows.append((cells if len(cells) > len(header) else [cells[0], *cells], line))
        else:
            break
    return [index, *header], rows


def _between(sign: str) -> Callable[[str], list[str]]:
    def split(line: str) -> list[str]:
        return [cell.strip() for cell in line.split(sign)] if sign in line else []

    return split


def _bars(line: str) -> list[str]:
    bare = line.strip()
    if not _BARS.search(bare):
        return []
    cells = [cell.strip() for cell in _BARS.split(bare)]
    return cells[bool(not cells[0]) : len(cells) - bool(not cells[-1])]


def _latex(line: str) -> list[str]:
    return _between("&")(re.sub(r"\\\\.*$", "", line))


def _blanks(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip()) if line.strip() else []


_SPLITS: Sequence[Callable[[str], list[str]]] = (
    _bars, _between("\t"), _latex, _between(","), _blanks, str.split,
)  # fmt: skip


def _after_words(name: str, text: str, key: str, where: Where) -> list[Found]:
    """The numbers after a word, or those that a pattern fits, in the lines that meet the
    conditions: each named with its value ("method=lqr cost=3.1"); "" is any word of the line.
    """
    lines = text.split("\n")
    kept = [line for line in lines if all(_said_on(line, c, w) for c, w in where.items())]
    if not kept:
        shown = " and ".join(f"{c or 'the word'} {w}" for c, w in where.items())
        raise CommandError(f"no line of {name} says {shown}, and no table in it has {key!r}")
    found: list[Found]
    if pattern := pattern_of(key):
        pairs = groups_of(pattern, "\n".join(kept))
        found = [(one, line) for one, line in pairs if one is not None and not _is_empty(one)]
    else:
        found = [(one.value, one.text.strip()) for one in numbers_after(key, "\n".join(kept))]
    if not found:
        raise CommandError(f"{name} has no number after {key!r}, and no table with this column")
    return found


def _said_on(line: str, column: str, wanted: str | list[str]) -> bool:
    if isinstance(wanted, list):
        return any(_said_on(line, column, one) for one in wanted)
    compared = _CONDITION.fullmatch(wanted.strip())
    if not column:
        return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", line, re.IGNORECASE) is not None
    after = re.compile(rf"(?<!\w){re.escape(column)}(?!\w){BETWEEN}(\S+)", re.IGNORECASE)
    if compared or isinstance(value_of_text(wanted), float):
        return any(_meets(one[1].rstrip(",;:)]"), wanted) for one in after.finditer(line))
    said = rf"(?<!\w){re.escape(column)}(?!\w){BETWEEN}{re.escape(wanted)}(?!\w)"
    return re.search(said, line, re.IGNORECASE) is not None

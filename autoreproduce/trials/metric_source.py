"""Where a program that knows nothing of metrics.json wrote its numbers: `--metric-from FILE:KEY`.

FILE is read as its name says: JSON by a path of keys and places with dots between, JSON lines and
CSV by the last row that has the key, any other text, and what was printed (`stdout`), by the last
number after the key, or by a pattern between slashes where no word is before the number.
`#12.3` is the third number of the twelfth line of any text. The program wrote it, so it is read as
hostile input.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from autoreproduce.errors import CommandError, SandboxError, UsageError
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.tree import Tree
from autoreproduce.trials.metrics_file import MAX_BYTES, MetricsFile, is_usable

Value = TypeVar("Value")
PRINTED = "stdout"
LONGEST_LINE = 1_000  # characters of a line that a pattern is held against
MOST_ROWS = 1_000_000  # JSON lines: about 5 s
GRAMMAR = "write --metric-from FILE:KEY, such as log.csv:test_mse, or stdout:KEY"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BETWEEN = r"[\"'\])*_\s]{0,20}(?:=|:|\bis\b)?\s{0,20}"  # the key and its number
_LINE = re.compile(r"#(\d{1,7})\.(\d{1,4})")
_WHOLE = re.compile(rf"\s*({_NUMBER})\s*%?\s*")


@dataclass(frozen=True)
class MetricSource:
    """One number: its name in metrics.json ("": the task's metric), the file, the key in it."""

    name: str
    file: str
    key: str


def parse_metric_source(text: str) -> MetricSource:
    """`[NAME=]FILE:KEY`. Raises UsageError for another form or a file outside the workspace."""
    place, colon, key = text.partition(":")
    name, _, file = place.rpartition("=")
    path = PurePosixPath(file)
    outside = path.is_absolute() or ".." in path.parts
    if not (colon and key.strip() and file.strip()) or outside:
        raise UsageError(f"--metric-from {text!r} names no file and key", fix=GRAMMAR)
    _check_pattern(key.strip(), text)
    return MetricSource(name.strip(), file.strip(), key.strip())


def _check_pattern(key: str, text: str) -> None:
    """Raises UsageError for a pattern that is none, or that has no one group for the number."""
    try:
        groups = re.compile(_pattern(key) or "()").groups
    except re.error as error:
        why = f"--metric-from {text!r} holds no pattern ({error})"
        raise UsageError(why, fix=GRAMMAR) from None
    if groups != 1:
        fix = "put one pair of brackets around the number, as stdout:/loss (\\S+)$/"
        raise UsageError(f"--metric-from {text!r} does not say which number", fix=fix)


def _pattern(key: str) -> str:
    """The regular expression in a key such as /^19 \\S+ (\\S+)$/, "" in any other."""
    return key[1:-1] if len(key) > 2 and key[0] == key[-1] == "/" else ""


def metrics_from(texts: Sequence[str], workspace: Path, printed: str, metric: str) -> MetricsFile:
    """The numbers at the places `texts`; `metric` is the name of the task's own.

    Raises CommandError that says what is missing where.
    """
    found, missing = dict[str, float](), list[str]()
    for source in map(parse_metric_source, texts):
        try:
            found[source.name or metric] = _number_at(source, workspace, printed)
        except CommandError as error:
            missing.append(str(error))
    if metric not in found or not texts:
        raise CommandError("; ".join(missing) or f"--metric-from names no place for {metric}")
    return MetricsFile(metrics=found)


def _number_at(source: MetricSource, workspace: Path, printed: str) -> float:
    place = f"{source.file}:{source.key}"
    found = _last_value(source, printed if source.file == PRINTED else _text(source, workspace))
    if found is None:
        raise CommandError(f"--metric-from {place}: there is no such key with a number")
    if isinstance(found, str) and (match := _WHOLE.fullmatch(found)):
        found = float(match[1])
    if isinstance(found, bool) or not isinstance(found, int | float) or not is_usable(found):
        raise CommandError(f"--metric-from {place} holds {str(found)[:80]!r}, which isn't a number")
    return float(found)


def _text(source: MetricSource, workspace: Path) -> str:
    try:
        return Tree(workspace).read(source.file, MAX_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        raise CommandError(f"--metric-from: {source.file} was not written") from None
    except SandboxError as error:
        raise CommandError(f"--metric-from: {source.file} cannot be read ({error})") from None


def _last_value(source: MetricSource, text: str) -> Any:
    """What is at the key, None if nothing is."""
    kind = "" if source.file == PRINTED else PurePosixPath(source.file).suffix.lower()
    try:
        if place := _LINE.fullmatch(source.key):
            return _on_line(text, int(place[1]), int(place[2]))
        if pattern := _pattern(source.key):
            return _last(_groups_of(pattern, text))
        if kind == ".json":
            return _at_path(parse_json(text), source.key)
        if kind in (".jsonl", ".ndjson"):
            return _last(_at_path(row, source.key) for row in _json_rows(text))
        if kind in (".csv", ".tsv"):
            return _last_cell(text, "\t" if kind == ".tsv" else ",", source.key)
    except (ValueError, csv.Error) as error:
        raise CommandError(f"--metric-from: {source.file} is no {kind[1:]} ({error})") from None
    return _last(_numbers_after(source.key, text))


def _last(values: Iterable[Value | None]) -> Value | None:
    """The last that is not None; none but that one is kept."""
    found: Value | None = None
    for value in values:
        found = found if value is None else value
    return found


def _on_line(text: str, line: int, nth: int) -> str | None:
    """The nth number of a line, both counted from 1; a hyphen between digits is no sign."""
    lines = text.splitlines()
    found = numbers_on_line(lines[line - 1]) if 0 < line <= len(lines) else []
    return found[nth - 1] if 0 < nth <= len(found) else None


def numbers_on_line(line: str) -> list[str]:
    """The numbers of a line as they stand, none that is a part of a word."""
    return re.findall(rf"(?<![\w.])(?<![\d)]-){_NUMBER}(?![\w])", line[:LONGEST_LINE])


def _groups_of(pattern: str, text: str) -> Iterator[str | None]:
    """What the one group of a pattern matches, line by line."""
    searched = re.compile(pattern)
    lines = (line[:LONGEST_LINE] for line in text.splitlines())
    return (match[1] for line in lines if (match := searched.search(line)))


def _json_rows(text: str) -> Iterator[Any]:
    """The values of JSON lines. Raises ValueError for one that is none, and for too many."""
    if text.count("\n") > MOST_ROWS:
        raise ValueError(f"it holds over {MOST_ROWS:,} lines")
    return (parse_json(line) for line in text.split("\n") if line.strip())


def _last_cell(text: str, delimiter: str, key: str) -> str | None:
    """The last cell of the column `key` that is not empty.

    Rows are not made into objects: each would have all columns of the header.
    """
    rows = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    header = [name.strip() for name in next((row for row in rows if row), [])]
    if key not in header:
        return None
    place = len(header) - 1 - header[::-1].index(key)
    return _last(row[place] or None if place < len(row) else None for row in rows)


def _at_path(value: Any, path: str) -> Any:
    """The value at a path such as `test.mse` or `epochs.-1.mse`; a key may hold dots itself."""
    if isinstance(value, dict):
        inner = (_at_path(value[k], path[len(k) + 1 :]) for k in value if path.startswith(f"{k}."))
        return value[path] if path in value else next((v for v in inner if v is not None), None)
    first, _, rest = path.partition(".")
    if not isinstance(value, list) or not re.fullmatch(r"-?\d{1,9}", first):
        return None
    value = value[int(first)] if -len(value) <= int(first) < len(value) else None
    return _at_path(value, rest) if rest else value


def _numbers_after(key: str, text: str) -> Iterator[float]:
    """The numbers that follow `key` as a whole word: `test mse: 0.31`, `"test mse" = 0.31`."""
    number = re.compile(_BETWEEN + rf"({_NUMBER})")
    ends = (match.end() for match in re.finditer(rf"(?<!\w){re.escape(key)}(?!\w)", text))
    for start, stop in pairwise(chain(ends, [len(text)])):
        if match := number.match(text, start, min(stop, start + 100)):
            yield float(match[1])

"""What a running program writes as steps and values: JSON lines, CSV and TensorBoard's event files.

The files lie in the workspace, so any program may have written anything there: of each the newest
part is read, and what cannot be read is left out. Looking takes a twentieth of the time at most.
"""

from __future__ import annotations

import csv
import math
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from autoreproduce.errors import SandboxError
from autoreproduce.files.kinds import NOT_WRITTEN
from autoreproduce.files.tree import Tree
from autoreproduce.trials.printed import MOST_ROWS, MOST_VALUES, Row, counted, row_of
from autoreproduce.trials.steps import Observer, SeesRows

PAUSE, SHARE = 2.0, 20  # seconds between two looks, and how many times what one took
LARGEST, MOST_FILES, MOST_ENTRIES = 4_000_000, 3, 20_000  # bytes of a file
CLOCKS = 2.0  # seconds by which the times of files may be early
EVENTS = "events.out.tfevents."


class WrittenSteps:
    """The rows of what was written below a workspace since `begin`, looked at now and then."""

    def __init__(self, tree: Tree, clock: Callable[[], float] = time.monotonic) -> None:
        self.tree, self._clock = tree, clock
        self._seen: tuple[tuple[str, int, int], ...] = ()
        self.begin()

    def begin(self) -> None:
        """A program begins: what others wrote before it is none of its rows."""
        self._since, self._due, self._seen = time.time() - CLOCKS, self._clock() + PAUSE, ()

    def look(self) -> list[Row] | None:
        """All rows if something new was written; None if not, or if it isn't time to look."""
        if (began := self._clock()) < self._due:
            return None
        rows, found = None, self._found()
        if found != self._seen:
            self._seen = found
            rows = merged(row for name, _, _ in found for row in rows_of(self.tree, name))
        self._due = self._clock() + max(PAUSE, SHARE * (self._clock() - began))
        return rows

    def tell(self, observers: Iterable[Observer]) -> None:
        """Show new rows to those observers that want them."""
        if rows := self.look():
            for observer in observers:
                if isinstance(observer, SeesRows):
                    observer.rows(rows)

    def _found(self) -> tuple[tuple[str, int, int], ...]:
        """Name, time and size of the newest files that may hold rows."""
        found = []
        with suppress(OSError, SandboxError):
            for number, one in enumerate(self.tree.walk(NOT_WRITTEN | {".autoreproduce"})):
                fits = one.name.endswith((".jsonl", ".csv")) or EVENTS in one.name
                if fits and one.kind == "file" and one.changed > self._since * 1e9:
                    found.append((one.name, one.changed, one.size))
                if number > MOST_ENTRIES:
                    break
        newest = sorted(found, key=lambda one: one[1])[-MOST_FILES:]
        return tuple(sorted(newest))


def rows_of(tree: Tree, name: str) -> list[Row]:
    """The rows of one file; none if it holds no counter with values, or is too large."""
    with suppress(OSError, SandboxError, ValueError, struct.error, csv.Error):
        data = tree.read(name, LARGEST)
        if EVENTS in name:
            return list(_events(data))
        text = data.decode("utf-8", "replace")
        lines = [line for line in text.splitlines()[: 10 * MOST_ROWS] if line.strip()]
        if name.endswith(".jsonl"):
            return [row for line in lines if len(row := row_of(line)[0]) > 1]
        return [row for line in csv.DictReader(lines) if (row := counted(_numbers(line)))]
    return []


def _numbers(line: dict[str, str]) -> Row:
    row: Row = {}
    for name, text in list(line.items())[:MOST_VALUES]:
        with suppress(TypeError, ValueError):
            row[str(name).strip()[:60]] = value if math.isfinite(value := float(text)) else None
    return row


def merged(rows: Iterator[Row]) -> list[Row]:
    """Rows of one step together: TensorBoard has an event for each value. The newest, by step."""
    by_step: dict[tuple[str, float | None], Row] = {}
    for row in rows:
        first = next(iter(row.items()))
        if len(first) == 2 and len(row) > 1:
            by_step.setdefault(first, {}).update(row)
    return list(by_step.values())[-MOST_ROWS:]


def _events(data: bytes) -> Iterator[Row]:
    """The scalars of TensorBoard's records: a length and its checksum, an event and its own."""
    place = 0
    while place + 12 <= len(data):
        size = struct.unpack_from("<Q", data, place)[0]
        event = dict(_fields(data[place + 12 : place + 12 + size]))
        place += 16 + size
        step, summary = event.get(2, 0), event.get(5)
        for number, value in _fields(summary) if isinstance(summary, bytes) else ():
            scalar = dict(_fields(value)) if number == 1 and isinstance(value, bytes) else {}
            tag, held = scalar.get(1), scalar.get(2)
            if isinstance(tag, bytes) and isinstance(held, float) and isinstance(step, int):
                named = tag.decode("utf-8", "replace")[:60]
                yield {"step": float(step), named: held if math.isfinite(held) else None}


def _fields(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """The fields of a protocol buffer's message: number and value."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, place = _varint(data, place)
            yield number, value
        elif kind in (1, 5):
            form, size = ("<d", 8) if kind == 1 else ("<f", 4)
            yield number, struct.unpack_from(form, data, place)[0]
            place += size
        elif kind == 2:
            size, place = _varint(data, place)
            yield number, data[place : place + size]
            place += size
        else:
            raise ValueError(f"no wire type {kind}")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, and the place behind it."""
    value = shift = 0
    while place < len(data) and shift < 70:
        value |= (data[place] & 127) << shift
        place, shift = place + 1, shift + 7
        if not data[place - 1] & 128:
            return value, place
    raise ValueError("a number without its end")

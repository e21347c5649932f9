"""Whatever the bytes: a reader ends soon, and raises nothing but the project's errors.

What test files of readers share. AUTOREPRODUCE_FUZZ_SECONDS says how long the slow search goes on.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoreproduce.errors import AutoReproduceError
from autoreproduce.files.confined import confined

SECONDS = float(os.environ.get("AUTOREPRODUCE_FUZZ_SECONDS", "15"))  # of all readers together
SEED = int(os.environ.get("AUTOREPRODUCE_FUZZ_SEED", "2026"))  # another one searches elsewhere
LONGEST = 5.0  # seconds of one small file
Reader = Callable[[Path], object]
Readers = Mapping[str, tuple[Reader, bytes]]  # by a file's name: what reads it, and a sound one
# what readers of text stumble over: half characters, odd numbers and dates, aliases, what nests and
# what repeats
PIECES = [
    b"",
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"\xe2\x80\xa8",
    b"NaN",
    b"1e999",
    b"-1e308",
    b"9" * 400,
    b"9" * 5000,
    b"2024-99-99",
    b"!!python/object:os.system x",
    b"&a [*a]",
    b"<<: *a",
    b"? ",
    b"- " * 30,
    b"[" * 300,
    b"{" * 300,
    b"(" * 90,
    b"![" * 300,
    b"- - - ",
    b"\t",
    b"\r",
    b"\x0c",
    b"\\begin{a}",
    b"\\input{a}",
    b"\\def\\a{\\a\\a}",
    b"$$",
    b"%",
    b"&",
    b"@a{",
    b"}}",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b'""',
    b"1:1:1:1.5",
    b"0x_",
    b"lambda: " * 50,
    b"-" * 400,
    b"f'{",
    b"/Length 99999999",
    b"/Kids [2 0 R]",
]
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 10**5), st.integers(0, 30), st.sampled_from(PIECES) | st.binary(max_size=8)
    ),
    min_size=1,
    max_size=5,
)


def mutated(data: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    for place, length, piece in changes:
        begin = place % (len(data) + 1)
        data = data[:begin] + piece + data[begin + length :]
    return data


def read(readers: Readers, name: str, data: bytes) -> None:
    """Read `data` as the file `name`: within the time, and with no error but ours."""
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(AutoReproduceError):
        file = Path(folder) / name
        file.write_bytes(data)
        readers[name][0](file)
    assert time.process_time() - began < LONGEST, (name, data)


def read_changed(
    readers: Readers, name: str, changes: list[tuple[int, int, bytes]], raw: bytes | None
) -> None:
    """Read a sound file after changes, or raw bytes in its place."""
    read(readers, name, mutated(readers[name][1], changes) if raw is None else raw)


def searched(module: str, name: str) -> int:
    """How many mutations of one of a module's READERS were read in its share of the time, in a
    process apart.
    """
    share = max(1.0, SECONDS / len(sys.modules[module].READERS))
    return confined(_search, module, name, share, what=name, seconds=share + 60, memory_gb=4.0)


def slow_fuzz(module: str) -> tuple[Callable[..., None], Callable[..., None]]:
    """Two slow tests over a module's READERS: a few examples a reader, and a long search."""
    readers: Readers = sys.modules[module].READERS
    slow, each = pytest.mark.slow, pytest.mark.parametrize("name", readers)

    @slow
    @each
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(changes=CHANGES, raw=st.none() | st.binary(max_size=200))
    def test_any_bytes(name: str, changes: list[tuple[int, int, bytes]], raw: bytes | None) -> None:
        read_changed(readers, name, changes, raw)

    @slow
    @pytest.mark.timeout(120 + 3 * int(SECONDS))
    @each
    def test_long_search(name: str) -> None:
        assert searched(module, name) > 0

    return test_any_bytes, test_long_search


def _search(module: str, name: str, seconds: float) -> int:
    readers: Readers = import_module(module).READERS
    chance, ends, count = random.Random(SEED), time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        pieces = [
            chance.choice([*PIECES, chance.randbytes(4)]) for _ in range(chance.randrange(1, 8))
        ]
        changes = [(chance.randrange(10**5), chance.randrange(30), piece) for piece in pieces]
        read(readers, name, mutated(readers[name][1], changes))
        count += 1
    return count

"""A function in a process of its own: its value, its errors, and its end at every limit."""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from autoreproduce.errors import (
    PaperError,
    ReaderCrashError,
    ReaderMemoryError,
    ReaderOutputError,
    ReaderTimeError,
)
from autoreproduce.files.confined import confined


@dataclass(frozen=True)
class Found:
    text: str
    place: Path
    numbers: list[float]


def found(text: str, place: Path) -> Found:
    print("what a parser prints isn't a part of the answer")
    return Found(text, place / "x", [1.5])


def refused(text: str) -> str:
    raise PaperError(f"{text} is no paper: give another")


def broken() -> None:
    raise KeyError("a bug")


def burns() -> None:
    while True:
        pass


def sleeps(seconds: float) -> None:
    time.sleep(seconds)


def grows() -> int:
    return len(bytearray(2**32))


def crashes() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def large(count: int) -> str:
    return "a" * count


def lies() -> str:
    os.write(1, b"x")  # the answer's descriptor is another one by now
    sys.stdout.flush()
    return 7  # type: ignore[return-value]


def starts(place: Path) -> None:
    if os.fork() == 0:
        time.sleep(1)
        (place / "alive").touch()
        os._exit(0)


def surroundings() -> tuple[list[str], int]:
    return sorted(os.environ), len(list(Path("/proc/self/fd").iterdir()))


def writes(place: Path) -> None:
    with (place / "large").open("wb") as file:
        file.truncate(2**40)


def test_a_value_comes_back_under_its_type(tmp_path: Path) -> None:
    assert confined(found, "half a pair: \ud800", tmp_path, what="f") == Found(
        "half a pair: ?", tmp_path / "x", [1.5]
    )


@pytest.mark.slow
def test_the_projects_errors_come_back_and_bugs_stay_bugs() -> None:
    with pytest.raises(PaperError, match=r"p is no paper: give another"):
        confined(refused, "p", what="p")
    with pytest.raises(RuntimeError, match=r"KeyError: 'a bug'"):
        confined(broken, what="p")


@pytest.mark.slow
def test_each_limit_has_its_error(tmp_path: Path) -> None:
    with pytest.raises(ReaderTimeError, match=r"x.pdf cannot be read within 1 s"):
        confined(burns, what="x.pdf", seconds=1)
    with pytest.raises(ReaderTimeError, match="within 1 s"):
        confined(sleeps, 60.0, what="x.pdf", seconds=1)
    with pytest.raises(ReaderMemoryError, match=r"x.pdf cannot be read within 0.5 GB"):
        confined(grows, what="x.pdf", memory_gb=0.5)
    with pytest.raises(ReaderCrashError, match=r"x.pdf crashes its reader \(SIGSEGV"):
        confined(crashes, what="x.pdf")
    with pytest.raises(ReaderOutputError, match=r"x.pdf holds more"):
        confined(large, 80_000_000, what="x.pdf")
    with pytest.raises(RuntimeError, match="File too large"):
        confined(writes, tmp_path, what="x.pdf")


def test_an_answer_of_another_type_is_refused() -> None:
    with pytest.raises(ReaderCrashError, match="no usable answer"):
        confined(lies, what="x.pdf")


def test_nothing_of_ours_is_inherited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        names, descriptors = confined(surroundings, what="x")
    assert "OPENAI_API_KEY" not in names and descriptors <= 5


@pytest.mark.slow
def test_what_it_started_ends_with_it(tmp_path: Path) -> None:
    confined(starts, tmp_path, what="x")
    time.sleep(1.5)
    assert not (tmp_path / "alive").exists()


@pytest.mark.slow
def test_threads_may_wait_for_each_other() -> None:
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda n: len(confined(large, n, what="x")), range(6))) == list(
            range(6)
        )

"""What all tests share: a home of their own, so that nothing of the user's machine is read or
written.
"""

import gc
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Several tests run at once, and threads of one that wait for each other take the others' time.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# How long one example takes says nothing on a busy machine.
settings.register_profile("shared", deadline=None, max_examples=50)
settings.load_profile("shared")


def pytest_addoption(parser: pytest.Parser) -> None:
    """What `test_golden.py` says about writing the golden outputs again."""
    parser.addoption("--write-golden", action="store_true", help="write tests/golden/ again")


def pytest_runtest_setup() -> None:
    """A run that has to end at some time, such as CI's, leaves out what would start after it."""
    until = float(os.environ.get("TESTS_UNTIL", "inf"))  # seconds since the epoch
    if time.time() > until:
        pytest.skip("not run: the time of this run is over")


def pytest_collection_finish() -> None:
    """Thousands of collected tests needn't be looked through at each collection of garbage."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """What stays frozen at Python's end is reported as leaked by libraries in C++."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def clean_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name in list(os.environ):
        mine = name.startswith("AUTOREPRODUCE_") and name != "AUTOREPRODUCE_TEST_DATA"
        if mine or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AUTOREPRODUCE_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of the machine's between a client and a local server."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> Iterator[None]:
    """A test run in the background ignores SIGINT, and so would the programs that tests start and
    interrupt.
    """
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module `evil_solver` where Python finds it; importing it leaves this file."""
    (tmp_path / "elsewhere").mkdir()
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w').close()\n\n\nclass Solver:\n    needs = frozenset()\n"
    (tmp_path / "elsewhere" / "evil_solver.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    monkeypatch.delitem(sys.modules, "evil_solver", raising=False)  # of another test
    return ran


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path

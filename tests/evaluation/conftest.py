"""What the tests of this folder share."""

import pytest

from autoreproduce.benchmarks.reproducebench import benchmark


@pytest.fixture(autouse=True)
def one_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same draw for every run in this process: the reference runs on it once, and not once a
    test.
    """
    monkeypatch.setattr(benchmark, "new_seed", lambda: "5")

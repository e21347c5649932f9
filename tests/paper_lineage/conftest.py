"""The fixture `world`: the servers that lineage asks. The stand-ins of other test folders are put within reach."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "papers"), str(TESTS / "paper_lineage")]

from world import World, running  # noqa: E402


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """All the servers, filled and running."""
    with running(tmp_path) as made:
        yield made

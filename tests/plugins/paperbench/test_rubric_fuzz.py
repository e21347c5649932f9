"""A paper and its rubric are read or refused, whatever the bytes."""

from __future__ import annotations

import json
from pathlib import Path

from fuzzing import slow_fuzz

from autoreproduce.plugins.paperbench.papers import load_paper

RUBRIC = {
    "id": "a",
    "requirements": "all",
    "weight": 1,
    "sub_tasks": [
        {"id": "b", "requirements": "part", "weight": 2.5, "task_category": "Code Development"}
    ],
}


def paperbench(path: Path) -> object:
    (path.parent / "config.yaml").write_bytes(path.read_bytes())
    return load_paper(path)


READERS = {"rubric.json": (paperbench, json.dumps(RUBRIC).encode())}

test_any_bytes_of_a_rubric_are_read_or_refused, test_a_long_search_of_a_rubric_finds_nothing = (
    slow_fuzz(__name__)
)

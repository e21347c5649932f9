"""What others printed of whole systems: marked as published, and never mixed into a mean."""

from typing import Any

import yaml

from autoreproduce.content import folder
from autoreproduce.evaluation.tables.model import Cell, Table


def published_rows() -> list[dict[str, Any]]:
    """What others printed, with its source."""
    found: list[dict[str, Any]] = []
    for path in sorted((folder("eval") / "published").glob("*.yaml")):
        found += yaml.safe_load(path.read_text(encoding="utf-8")).get("rows", [])
    return found


def published_systems() -> Table:
    """Systems that others measured at full scale: in no column with trials of another profile."""
    rows = published_rows()
    known = ("paper", "code", "mixed", "execution", "gap")
    names = [name for name in known if any(name in row for row in rows)]
    made: list[list[Cell]] = [
        [row["system"], row["model"], *(row.get(name) for name in names)] for row in rows
    ]
    notes = list(dict.fromkeys(f"Not measured here: {row['source']}." for row in rows))
    title = "Published by others, at full scale"
    return Table("published_systems", title, ["system", "model", *names], made, notes)

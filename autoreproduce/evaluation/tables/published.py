"""What others printed, beside our tables: marked as published, never mixed into a mean."""

from collections.abc import Collection
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


def published_tables(beside: Collection[str]) -> list[Table]:
    """What others printed that belongs below our tables of these names: marked, never mixed in."""
    found: list[Table] = []
    for path in sorted((folder("eval") / "published").glob("*.yaml")):
        for one in yaml.safe_load(path.read_text(encoding="utf-8")).get("tables", []):
            if one["beside"] in beside:
                name, title = f"published_{len(found) + 1}", f"Published: {one['title']}"
                note = f"Not measured here; {one['source']}."
                found.append(Table(name, title, one["columns"], one["rows"], [note]))
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


def published_passes() -> tuple[str, dict[str, list[float]]]:
    """What others printed of masked functions: the source, and by agent per cent for n = 1, 2, …"""
    text = (folder("eval") / "published" / "autoexperiment.yaml").read_text(encoding="utf-8")
    found = yaml.safe_load(text)["passes"]
    return str(found["source"]), dict(found["rows"])

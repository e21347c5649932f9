"""`scores.html`: generated and reference code side by side, judges' remarks at their lines."""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autoreproduce.evaluation.judging.material import Material, program_of
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.report.page import whole_page
from autoreproduce.evaluation.scoring import read_scores
from autoreproduce.task import Task
from autoreproduce.trials.chain import chain_warning
from autoreproduce.trials.journal import write_whole

MOST_LINES = 4_000  # of one file on the page


@dataclass(frozen=True)
class Remark:
    """One judge's remark on one part, if it names lines."""

    level: str
    judge: str
    part: str
    score: int
    text: str
    first: int
    last: int


@dataclass
class Sheet:
    """One file: its lines with the remarks that begin at each."""

    name: str
    lines: list[tuple[int, str, list[Remark], bool]]
    remarks: int = 0


@dataclass
class ScoredLevel:
    """One scored level for the page's table."""

    entry: dict[str, Any]
    parts: list[dict[str, Any]] = field(default_factory=list)


def write_page(folder: Path, task: Task, material: Material) -> Path:
    """Write the page of a scored trial from its `scores.json`, and return its path."""
    entries = read_scores(folder)
    page = whole_page(
        "scores.html.j2",
        ["page.css", "scores.css"],
        "page.js",
        task=task,
        entries=[ScoredLevel(entry, parts_shown(entry, material)) for entry in entries],
        generated=sheets(program_of(folder, task), entries, "files", "lines"),
        reference=sheets(
            material.reference or Sources({}), entries, "reference_files", "reference_lines"
        ),
        altered=chain_warning(folder),
        addressed=_distinct_addresses(entries),
        folder=folder.name,
    )
    path = folder / "scores.html"
    write_whole(path, page)
    return path


def parts_shown(entry: dict[str, Any], material: Material) -> list[dict[str, Any]]:
    """One row for each reading and part: judge, repeat, the part's name, score, reason."""
    rows = []
    for reading in entry.get("details", {}).get("readings", []):
        for part in reading.get("parts", []):
            rows.append(
                {
                    **part,
                    "judge": reading["judge"],
                    "repeat": reading["repeat"],
                    "name": _part_title(part, material),
                }
            )
    return rows


def sheets(program: Sources, entries: list[dict[str, Any]], names: str, lines: str) -> list[Sheet]:
    """Every file of a program with the remarks at its lines; files with remarks first."""
    remarks: dict[str, list[Remark]] = defaultdict(list)
    for entry in entries:
        for path, remark in _remarks_by_path(entry, names, lines):
            remarks[path].append(remark)
    made = [
        _sheet(name, text, remarks.get(name, [])) for name, text in sorted(program.files.items())
    ]
    return sorted(made, key=lambda sheet: not sheet.remarks)


def _remarks_by_path(entry: dict[str, Any], names: str, lines: str) -> list[tuple[str, Remark]]:
    """A judge names files by their blind names: (path, remark) for those that there are."""
    details = entry.get("details", {})
    known = details.get(names, {})
    found = []
    for reading in details.get("readings", []):
        for part in reading.get("parts", []):
            for place in part.get(lines, []):
                if place["file"] in known:
                    found.append(
                        (
                            known[place["file"]],
                            _remark_of(entry["scorer"], reading["judge"], part, place),
                        )
                    )
    return found


def _remark_of(level: str, judge: str, part: dict[str, Any], place: dict[str, Any]) -> Remark:
    name = str(part.get("number") or part.get("axis"))
    return Remark(
        level,
        judge,
        name,
        part["score"],
        part["reason"],
        place["first"],
        max(place["first"], place["last"]),
    )


def _sheet(name: str, text: str, remarks: list[Remark]) -> Sheet:
    lines = text.split("\n")[:MOST_LINES]
    covered = {
        n for remark in remarks for n in range(remark.first, min(remark.last, len(lines)) + 1)
    }
    rows = [
        (n, line, [r for r in remarks if r.first == n], n in covered)
        for n, line in enumerate(lines, 1)
    ]
    return Sheet(name, rows, len(remarks))


def _part_title(part: dict[str, Any], material: Material) -> str:
    number = part.get("number")
    if number is None:
        return str(part["axis"]).replace("_", " ")
    titles = [point.title for point in material.points]
    return f"{number}. {titles[number - 1]}" if len(titles) >= number else str(number)


def _distinct_addresses(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What in the code talked to a judge, once each."""
    found = [
        item
        for entry in entries
        for item in entry.get("details", {}).get("addressed_the_judge", [])
    ]
    return list({(item["file"], item["line"]): item for item in found}.values())

"""The code that a coder begins with (`--from`): the authors', half-finished, in another language.

Its texts are read once and stored in the trial. Claimed values are withheld in its documents, its
comments and short files of numbers, which are results; code and long files, which are data, stay as
they are, and a claimed value in code is told of. The report says what it was, and what became of
it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from autoreproduce.agents.listing import Edit, edit_stat, file_lines
from autoreproduce.errors import SandboxError, UsageError, shown
from autoreproduce.files.kinds import NOT_WRITTEN, SETTINGS, STATING, ending
from autoreproduce.files.tree import Tree
from autoreproduce.files.unpacking import is_url, opened_source
from autoreproduce.trials.run import METRICS
from autoreproduce.trials.summary import read_json

if TYPE_CHECKING:
    from autoreproduce.claims.withholding import Withholding
    from autoreproduce.trials.trial import Trial

STORED = "coder/begun_from.json"
NUMBERS = {".jsonl", ".csv", ".tsv", ".dat", *SETTINGS}
MOST_NUMBERS = 200  # of a file of results; one with more holds data
LARGEST, MOST = 1_000_000, 2_000  # bytes of a file; files
ROWS = 20  # of changed files that the report names
# What begins a comment, by a file's ending; else "#" does.
_MARKS = (
    dict.fromkeys(
        (".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".cu", ".cuh", ".java", ".scala", ".rs", ".go",
         ".js", ".ts", ".stan"), "//",
    )
    | dict.fromkeys((".f", ".f90"), "!")
    | {".m": "%", ".lua": "--", ".do": r"(?:\*|//)", ".sql": "--"}
)  # fmt: skip
_BLOCK = r"/\*[\s\S]*?\*/|^[ \t]*[rR]?(?P<quotes>\"{3}|'{3})[\s\S]*?(?P=quotes)"  # or docstring


class StartingCode(BaseModel):
    """`files`: text by path; `left_out`: what is no text, or too large."""

    source: str
    files: dict[str, str]
    left_out: list[str] = []

    @property
    def words(self) -> str:
        """What a coder is told of it."""
        missing = ""
        if self.left_out:
            some = ", ".join(f"`{name}`" for name in self.left_out[:ROWS])
            missing = f" Not here, since they are no text or too large: {some}."
        return (
            f"The code of {self.source} lies here ({len(self.files)} files). It may be the "
            "authors', half-finished, or in another language. Work from it: keep what is right, "
            "change what differs from the paper or from the task, and leave `main.py` as is said "
            f"below. Where the code runs already, `main.py` may call it.{missing}"
        )


def starting_code(trial: Trial, source: str, withhold: Withholding) -> StartingCode:
    """What a trial begins with, as it was stored first; claimed values that its code holds are
    remembered as seen. Raises UsageError if there is no code.
    """
    if (stored := read_json(trial.folder / STORED)) is not None:
        found = StartingCode.model_validate(stored)
    else:
        found = _opened(source, withhold)
        trial.write(STORED, found.model_dump_json())
    for name, text in found.files.items():
        if ending(name) not in NUMBERS:
            withhold.look_in(name, text)
    return found


def _opened(source: str, withhold: Withholding) -> StartingCode:
    with opened_source(source) as root:
        tree = Tree(root if root.is_dir() else root.parent)
        names = tree.files(skip=NOT_WRITTEN) if root.is_dir() else [root.name]
        files, left_out = dict[str, str](), list[str]()
        for name in names:
            try:
                text = tree.read(name, LARGEST).decode("utf-8") if len(files) < MOST else None
            except (SandboxError, UnicodeDecodeError):
                text = None
            if text is None or name == METRICS:
                left_out.append(name)
            else:
                files[name] = without_results(name, text, withhold)
    if not files:
        fix = "name a folder, an archive or a git URL with code"
        raise UsageError(f"{shown(source)} holds no text", fix=fix)
    said = shown(source) if is_url(source) else Path(source).name
    return StartingCode(source=said, files=files, left_out=left_out)


def without_results(name: str, text: str, withhold: Withholding) -> str:
    """A file as the coder may read it: what its code needs stays."""
    kind = ending(name)
    if kind in NUMBERS:
        few = sum(1 for _ in islice(re.finditer(r"\d+", text), 2 * MOST_NUMBERS))
        return withhold(text) if few < 2 * MOST_NUMBERS else text
    if kind in STATING | {".ipynb"}:
        return withhold(text)
    mark = _MARKS.get(kind, "#")
    comment = rf"(?:^[ \t]*{mark}.*(?:\n|\Z))+|(?<=\s){mark}.*$|{_BLOCK}"
    return re.sub(comment, lambda found: withhold(found[0]), text, flags=re.MULTILINE)


def changes_to(before: Mapping[str, str], after: Mapping[str, str]) -> list[tuple[str, str]]:
    """A report's section: how many lines of which file were changed, the most first."""
    rows = []
    for name in sorted({*before, *after}):
        old, new = before.get(name, ""), after.get(name, "")
        if old == new and name in after:
            continue
        stat = edit_stat(old, Edit(1, len(file_lines(old)), new))
        what = "new" if name not in before else "removed" if name not in after else "changed"
        rows.append((stat.added + stat.removed, name, f"{what}: +{stat.added} −{stat.removed}"))
    rows.sort(key=lambda row: (-row[0], row[1]))
    return _within(rows)


def _within(rows: Sequence[tuple[int, str, str]]) -> list[tuple[str, str]]:
    listed = [(name, what) for _, name, what in rows[:ROWS]]
    if more := rows[ROWS:]:
        listed.append((f"{len(more)} more files", f"{sum(row[0] for row in more)} lines"))
    return listed

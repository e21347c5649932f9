"""A LineageEntry: what a trial learnt about one cited paper, the ⟨summary, code⟩ of the paper's
Algorithm 1.

Every paper that was considered becomes an entry, also one that was refused or could not be found:
what is missing from a lineage, and why, is part of the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from autoreproduce.files.kinds import DOCUMENTS, ending

if TYPE_CHECKING:
    from rich.table import Table

Status = Literal["code", "summary_only", "title_only", "rejected"]
RENDER_CHARACTERS = 24_000  # about 7,000 tokens, in each later prompt that shows the lineage
CUT = "[… {left} more characters not shown]"


class PickedFile(BaseModel):
    """One file of the repository that the code agent chose."""

    model_config = ConfigDict(extra="forbid")

    path: str
    lines: int = Field(description="of the whole file")
    bytes: int = Field(description="of the whole file")
    cut: bool = Field(default=False, description="only its beginning was saved")


class LineageEntry(BaseModel):
    """One cited paper. `status`: how far it came, `reason`: why not further ("" if nothing is
    missing).

    code: summary and code. summary_only: no code that may be shown. title_only: no text was found.
    rejected: the choice itself was not accepted.
    """

    model_config = ConfigDict(extra="forbid")

    title: str
    arxiv_id: str | None = None
    year: int | None = None
    why_chosen: str = ""
    status: Status = "title_only"
    reason: str = ""
    summary: str = Field(
        default="",
        description="the method, how it is implemented, and the customs of its experiments",
    )
    repository: str | None = Field(
        default=None, description="https://github.com/owner/name, whatever mirror served it"
    )
    commit: str | None = None
    licence: str | None = Field(default=None, description="SPDX identifier, as GitHub states it")
    files: list[PickedFile] = []
    notes: list[str] = Field(
        default=[], description="what else a reader must know: submodules, LFS, no token, …"
    )
    learnt: str = Field(default="", description="how and when it was learnt")
    from_cache: bool = False
    code: dict[str, str] = Field(
        default={}, description="path → text; third-party, stored in the trial alone", repr=False
    )

    def metadata(self) -> dict[str, Any]:
        """All but the code, as JSON: for the outcome, the report and the cache."""
        return self.model_dump(mode="json", exclude={"code"})


def blanked(entry: LineageEntry, blank: Callable[[str], str]) -> LineageEntry:
    """The entry with `blank` of its prose: the summary, and documents among the files."""
    code = {
        path: blank(text) if ending(path) in DOCUMENTS else text
        for path, text in entry.code.items()
    }
    return entry.model_copy(update={"summary": blank(entry.summary), "code": code})


def slug(title: str, arxiv_id: str | None = None) -> str:
    """A folder name for a paper: its arXiv id if it has one, and the beginning of its title."""
    words = re.findall(r"[a-z0-9]+", title.lower())[:6]
    name = "-".join(words) or "untitled"
    return f"{(arxiv_id or 'title').replace('/', '-')}-{name}"[:80]


def shorten(text: str, characters: int) -> str:
    """The text, or its beginning up to a line's or a sentence's end and a notice of how much is
    missing.
    """
    if len(text) <= characters:
        return text
    head = text[: max(characters, 0)]
    ends = (head.rfind("\n") + 1, head.rfind(". ") + 1, head.rfind(" ") + 1)
    head = head[: next((end for end in ends if end > 0.85 * len(head)), len(head))]
    return head.rstrip() + "\n" + CUT.format(left=len(text) - len(head))


def render(entries: Iterable[LineageEntry], characters: int = RENDER_CHARACTERS) -> str:
    """The lineage as text for a prompt, about `characters` long: summaries, then a fair share of
    code each.

    Papers without a summary are left out: a title alone helps no one who writes code. "" if none
    is left.
    """
    shown = [e for e in entries if e.summary]
    heads = [shorten(_head(entry), characters // max(len(shown), 1)) for entry in shown]
    left = characters - sum(map(len, heads))
    with_code = sum(1 for entry in shown if entry.code)
    blocks = []
    for entry, head in zip(shown, heads, strict=True):
        blocks.append(head)
        if entry.code and left > 0:
            blocks.append(_code(entry, left // with_code))
    return "\n\n".join(blocks)


def _head(entry: LineageEntry) -> str:
    known = [f"arXiv {entry.arxiv_id}" if entry.arxiv_id else "", str(entry.year or "")]
    lines = [f"## {entry.title} ({', '.join(filter(None, known)) or 'no identifier'})"]
    if entry.why_chosen:
        lines.append(f"Why it is here: {entry.why_chosen}")
    lines.append(entry.summary.strip())
    if entry.code:
        lines.append(
            f"Code below: {entry.repository} at {(entry.commit or '')[:12]}, licence "
            f"{entry.licence}."
        )
    return "\n".join(lines)


def _code(entry: LineageEntry, characters: int) -> str:
    """The files in the order in which the code agent named them, until the characters are used
    up.
    """
    blocks: list[str] = []
    for place, (path, text) in enumerate(entry.code.items()):
        if characters < 200:
            blocks.append(f"(not shown for want of room: {', '.join(list(entry.code)[place:])})")
            break
        body = shorten(text, characters - len(path) - 20)
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", body)), default=0))
        blocks.append(f"### {path}\n{fence}\n{body.rstrip()}\n{fence}")
        characters -= len(blocks[-1])
    return "\n".join(blocks)


def table(entries: Sequence[LineageEntry]) -> Table:
    """The lineage as a table for the terminal."""
    from rich.table import Table

    shown = Table(title="Paper lineage", show_lines=True)
    for column in ("paper", "arXiv", "got", "repository", "files", "remarks"):
        shown.add_column(column, overflow="fold")
    for entry in entries:
        name = (entry.repository or "").removeprefix("https://github.com/")
        place = f"{name} {(entry.commit or '')[:7]}".strip()
        remarks = [entry.reason, *entry.notes, "from the lineage cache" if entry.from_cache else ""]
        shown.add_row(
            f"{entry.title} ({entry.year})" if entry.year else entry.title,
            entry.arxiv_id or "–",
            entry.status.replace("_", " "),
            f"{place}\n{entry.licence or ''}".strip() or "–",
            "\n".join(f.path for f in entry.files) or "–",
            "; ".join(filter(None, remarks)),
        )
    return shown

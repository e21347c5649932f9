"""What a summary of a cited paper needs of its text: abstract, method, experimental setup,
repository URLs.

A whole paper is some 25,000 tokens, three of them would cost more than the rest of a trial.
Sections are distinguished by their headings (Markdown, LaTeX, or the numbered lines of a PDF's
text), and each kind has a share of the room.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest

from autoreproduce.method.paper_lineage.entry import shorten

CHARACTERS = 15_000  # about 5,000 tokens of a paper's text with formulas
SHARES = {"abstract": 0.12, "setup": 0.40, "method": 0.48}

_HEADING = re.compile(
    r"^(?:#{1,6}[ \t]+(?P<md>.+?)\s*$"
    r"|\\(?:sub)*section\*?\{(?P<tex>[^}\n]+)\}"
    r"|(?P<num>(?:\d+|[A-Z])(?:\.\d+)*\.?[ \t]+[A-Z][^.\n]{2,70})$"
    r"|(?P<named>Abstract|ABSTRACT|References|REFERENCES|Acknowledge?ments?)[ \t]*$)",
    re.MULTILINE,
)
_KINDS = {
    "dropped": (
        r"reference|bibliograph|acknowledg|related work|background|literature|broader "
        r"impact|limitation"
        r"|conclusion|discussion|proof|theor|lemma|convergence|approximation "
        r"error|checklist|notation|preliminar"
        r"|ablation|showcase|visuali[sz]|sensitivity|efficiency"
    ),
    "setup": (
        r"experiment|implementation|training|hyper-?parameter|set-?up|setting|data "
        r"?set|numerical|results?"
        r"|evaluation|benchmark|darcy|navier|burgers|details|optimi[sz]|metric|appendix"
    ),
    "abstract": r"abstract|summary",
    "introduction": r"introduction|motivation|contribution",
}
# a name continues on the next line if the first ends in its hyphen; foreign letters end it
_GITHUB = re.compile(
    r"github\.com\s?/\s?([A-Za-z0-9][\w.\-]*)/[ "
    r"\t]?\n?([A-Za-z0-9_.][\w.\-]*(?:(?<=\w-)\n[\w.\-]+)?)",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True)
class MarkdownSection:
    """A heading and the text up to the next one."""

    heading: str
    text: str
    kind: str


def sections(text: str) -> list[MarkdownSection]:
    """The sections in their order; what comes before the first heading has heading "".

    A section whose heading is not specific is of its parent's kind; one without a parent is method,
    the one part of a paper that has no customary heading.
    """
    marks = list(_HEADING.finditer(text))
    found = [MarkdownSection("", text[: marks[0].start()] if marks else text, "abstract")]
    above: list[tuple[int, str]] = []  # level and kind of the headings around the present one
    for mark, following in zip_longest(marks, marks[1:]):
        heading = next(group for group in mark.groups() if group).strip()
        level = _level(mark.group(0), heading)
        above = [(own, kind) for own, kind in above if own < level]
        kind = _kind_of(heading) or (above[-1][1] if above else "method")
        above.append((level, kind))
        body = text[mark.end() : following.start() if following else len(text)].strip()
        found.append(MarkdownSection(heading, body, kind))
    return [section for section in found if section.text.strip()]


def _level(line: str, heading: str) -> int:
    """How deep a heading is: by its number if it has one (2.1 is 2), else by its mark-up."""
    if number := re.match(r"(?:\d+|[A-Z])((?:\.\d+)*)[.\s]", heading):
        return 1 + number.group(1).count(".")
    return (
        line.count("sub") + 1
        if line.startswith("\\")
        else max(1, len(line) - len(line.lstrip("#")))
    )


def _kind_of(heading: str) -> str | None:
    """dropped, setup, abstract or introduction; None if the heading does not tell."""
    return next(
        (kind for kind, pattern in _KINDS.items() if re.search(pattern, heading, re.IGNORECASE)),
        None,
    )


def extract(text: str, characters: int = CHARACTERS) -> str:
    """Abstract, method and experimental setup within `characters`; without headings, the
    beginning.
    """
    found = sections(text)
    wanted = [s for s in found if s.kind in SHARES]
    if len(wanted) < 2:
        return shorten(text, characters)
    given = _shares(wanted, characters)
    return "\n\n".join(
        f"## {s.heading or 'Beginning'}\n{shorten(s.text, room)}"
        for s, room in zip(wanted, given, strict=True)
    )


def _shares(wanted: list[MarkdownSection], characters: int) -> list[int]:
    """Room for each section, by its kind's share and its length; what one kind does not need goes
    to the others.
    """
    length = {kind: sum(len(s.text) for s in wanted if s.kind == kind) for kind in SHARES}
    room = {kind: min(length[kind], int(characters * share)) for kind, share in SHARES.items()}
    for kind in ("setup", "method", "abstract"):
        room[kind] += min(length[kind] - room[kind], max(0, characters - sum(room.values())))
    return [max(0, room[s.kind] * len(s.text) // max(1, length[s.kind])) for s in wanted]


def repositories(text: str) -> dict[str, str]:
    """https://github.com/owner/name → the words around it, for each repository that the text
    names.
    """
    plain = re.sub(r"\\([_#%&~-])", r"\1", text).replace("\\-", "")
    found: dict[str, str] = {}
    for match in _GITHUB.finditer(plain):
        url = repository_url(match.group(0))
        if url and url not in found:
            around = plain[max(0, match.start() - 160) : match.end() + 80]
            found[url] = " ".join(around.split())
    return found


def repository_url(text: str) -> str | None:
    """The plain https://github.com/owner/name of the first repository that `text` names."""
    match = _GITHUB.search(re.sub(r"\\([_-])", r"\1", text))
    if not match:
        return None
    owner, name = match.group(1), match.group(2).replace("\n", "").rstrip(".").removesuffix(".git")
    if not name or owner.lower() in {"orgs", "topics", "features", "sponsors"}:
        return None
    return f"https://github.com/{owner}/{name}"


def same_repository(one: str, other: str) -> bool:
    """GitHub's names ignore case."""
    return one.lower() == other.lower()

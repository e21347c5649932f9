"""A reference list to references, each with a title good enough to be found by fuzzy match.

Lists are printed in a few dozen ways, but a title is in one of four places: in quotation marks,
after a year that follows the authors, after a colon that does, or as the sentence after the
authors. So the authors' names, which do have a grammar, are read first.
"""

import re

from autoreproduce.papers.arxiv_client import mentioned_id
from autoreproduce.papers.model import Reference
from autoreproduce.papers.pdf_lines import accented
from autoreproduce.papers.sections import reference_section

LONGEST = 3000  # characters of one entry; what follows is something else
_YEAR = r"(?:1[89]|20)\d{2}[a-z]?"
_UPPER = "A-ZÀ-ÖØ-ÞĀŁŚŠŽČĆĐÇÖÜİ"
_PARTICLE = r"(?:(?:van|von|de|der|den|del|della|la|le|di|du|da|dos|el|al|ter|ten|zu|st\.)\s+)*"
_SURNAME = (
    rf"{_PARTICLE}[{_UPPER}a-z][\w'’`´-]*(?:\s+(?:[{_UPPER}][\w'’`´-]+|{_PARTICLE.rstrip('*')}))*"
)
_INITIALS = rf"(?:(?:[{_UPPER}]|[CSTPZ]h|Yu)\.\s?-?\s?)+(?:[a-z]\.,?)?"
_TAIL = r"(?:,?\s+(?:Jr|Sr|II|III|IV)\b\.?)?"
_LAST_FIRST = re.compile(rf"{_SURNAME}{_TAIL},\s*{_INITIALS}{_TAIL}")
_FIRST_LAST = re.compile(rf"{_INITIALS}\s?{_SURNAME}{_TAIL}")
_NO_DOTS = re.compile(rf"{_SURNAME}\s[{_UPPER}]{{1,3}}(?=[,;:]|\s+(?:\(|and\b|et\s+al))")
# As _NO_DOTS, after the first name: a full stop ends the names.
_NO_DOTS_NEXT = re.compile(rf"{_SURNAME}\s[{_UPPER}]{{1,3}}(?=[,.;:]|\s+(?:\(|and\b|et\s+al))")
_JOIN = re.compile(r"\s*(?:[,;]\s*(?:and\b|&)?|and\b|&)\s*(?:others\b|et\s+al\b\.?)?\s*", re.I)
_ET_AL = re.compile(r"[,;]?\s*(?:and\s+)?(?:et\s*al\b\.?|others\b\.?|\(?eds?\.?\)?)[,.:]?\s*", re.I)
_LABEL = re.compile(r"\s*(?:[-*]\s+)?(?:\[([^\]]{1,60})\]|\(?(\d{1,3})[.)](?=\s))?\s*")
_QUOTED = re.compile(
    r"[“\"]([^”\"]{6,}?)[,.]?[”\"]|(?:``|‘‘)(.{6,}?)[,.]?(?:''|’’)|\u00ab(.{6,}?)\u00bb"
)
_AFTER_YEAR = re.compile(rf"(?:\(({_YEAR})(?:,[^)]*)?\)|(?<=[.,])\s*({_YEAR}))\s*[.:,]\s+(?=\S)")
_ABBREVIATED = re.compile(
    rf"(?:\b(?:vs|e\.g|i\.e|al|cf|Dr|St|vol|no|pp|ed|eds|resp|approx|[{_UPPER}])|\b\w\.\w)$"
)
_VENUE = (
    r"(?:In[: ]|in:? |arXiv|ArXiv|CoRR|doi|DOI|https?:|Proc|Adv|Journal|J\.|IEEE|ACM|Trans|SIAM"
    r"|Phys|Nature|Science|Comput|PhD|Ph\.D|Master|Tech|Springer|Elsevier|Cambridge|Oxford"
    r"|MIT Press|Wiley|Neural|Intern|vol|pp\.|pages|Comm|Ann|Math|[A-Z]{3,}\b|\d)"
)


def parse_references(text: str) -> list[Reference]:
    """The references of a paper's text, or of a reference list alone; [] if none is recognised."""
    part = reference_section(text)
    if not part and len(re.findall(_YEAR, text)) >= max(1, text.count("\n") // 8):
        part = text
    return [reference(entry) for entry in entries(part)]


def reference(entry: str, title: str = "", key: str = "") -> Reference:
    """One entry. A title and key that the source marks (BibTeX does) are taken as they are."""
    text = accented(
        " ".join(re.sub(r"!?\[([^\]]*)\]\(([^)]*)\)", r"\1 \2", entry[:LONGEST]).split())
    )
    label = _LABEL.match(text)
    bare = text[label.end() :] if label else text
    key = key or (label and (label[1] or label[2])) or _author_year(bare)
    return Reference(title=title or title_of(bare), text=bare, arxiv_id=mentioned_id(bare), key=key)


def entries(part: str) -> list[str]:
    """The list's entries, split by labels, numbers, blank lines, or what looks like a beginning."""
    lines = [line.strip() for line in part.strip().splitlines()]
    for pattern in (r"\[\d{1,3}\]", r"\[[^\]]{2,60}\]\s", r"\(?\d{1,3}[.)]\s", r"[-*]\s"):
        starts = [bool(re.match(pattern, line)) for line in lines]
        filled = sum(map(bool, lines))
        if sum(starts) >= 2 and (starts[0] or sum(starts) > 0.3 * filled):
            return _joined_entries(lines, starts)
    blocks = [
        " ".join(block.split()) for block in re.split(r"\n\s*\n", part.strip()) if block.strip()
    ]
    if len(blocks) >= 3 and sum(map(len, blocks)) < 600 * len(blocks):
        return _joined_entries(blocks, _beginnings(blocks))
    return _joined_entries(lines, _beginnings(lines))


def _beginnings(lines: list[str]) -> list[bool]:
    return [index == 0 or _begins(lines[index - 1], line) for index, line in enumerate(lines)]


def _joined_entries(lines: list[str], starts: list[bool]) -> list[str]:
    found: list[str] = []
    for line, start in zip(lines, starts, strict=True):
        if start and line:
            found.append(line)
        elif found and line:
            found[-1] += " " + line
    return [entry for entry in found if len(entry) > 15]


def _begins(before: str, line: str) -> bool:
    """Whether `line` begins an entry: the one before is finished, and a name comes first."""
    finished = re.search(r"(?:[.;)\]]|https?:\S+|\d)\s*$", before) or not before
    named = (
        _LAST_FIRST.match(line)
        or _FIRST_LAST.match(line)
        or re.match(rf"[{_UPPER}][\w'’-]+ [{_UPPER}]", line)
    )
    return bool(
        finished and (named or (re.match(rf"[{_UPPER}]", line) and re.search(r"[.)]\s*$", before)))
    )


def title_of(entry: str) -> str:
    """The title in an entry (without label), "" if none is recognised."""
    text = re.sub(r"(?<![\w\\])[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?![\w])", "", entry)
    if quoted := _QUOTED.search(text):
        return _clean(quoted[1] or quoted[2] or quoted[3])
    rest = _after_authors(text)
    year = _AFTER_YEAR.search(text[: len(text) * 3 // 4])
    # the year that follows the authors, not one in a title ("the 2019 challenge") or after it
    authors_end = _sentence_end(text) if rest is None else len(text) - len(rest)
    if year and year.start() <= authors_end + 2:
        rest = text[year.end() :]
    if rest is None:
        rest = text[_sentence_end(text) :]
    rest = re.sub(rf"^\W*(?:{_YEAR}(?:\)[.,:]?|[.,:])\s*)?", "", rest)
    return _clean(rest[: _sentence_end(rest)])


def _after_authors(text: str) -> str | None:
    """What follows the authors' names; None if they are not written with initials."""
    for first, later in (
        (_LAST_FIRST, _LAST_FIRST),
        (_FIRST_LAST, _FIRST_LAST),
        (_NO_DOTS, _NO_DOTS_NEXT),
    ):
        found, end = first.match(text), 0
        while found:
            end = found.end()
            joined = _JOIN.match(text, end)
            found = later.match(text, joined.end()) if joined else None
        if end:
            others = _ET_AL.match(text, end)
            return text[others.end() if others else end :].lstrip(" ,.:;")
    others = re.search(r"\bet\s+al\b[.,:]*\s*", text[: len(text) * 3 // 4])
    return text[others.end() :] if others else None


def _sentence_end(text: str) -> int:
    """Where the first sentence ends: at a mark of no abbreviation, or a comma before a venue."""
    for found in re.finditer(
        rf"[.?!](?=\s|$)|,(?=\s+{_VENUE})|\s(?=arXiv (?:preprint|e-print))", text
    ):
        before, after = text[: found.start()], text[found.end() :].lstrip()
        if found[0] == "." and (
            _ABBREVIATED.search(before) or (after[:1].islower() and not re.match(_VENUE, after))
        ):
            continue
        if found[0] in "?!" and after[:1].islower():
            continue
        if len(before) > 3:
            return found.end() if found[0] in "?!." else found.start()
    return len(text)


def _clean(title: str) -> str:
    title = re.sub(rf"[,.]?\s*\(?{_YEAR}\)?$", "", title.strip(" .,;:"))
    title = " ".join(title.strip(' .,;:"“”').split())
    return title if 4 <= len(title) <= 300 and re.search(r"[^\W\d]{3}", title) else ""


def _author_year(text: str) -> str:
    """The key of an author-year citation: "Surname, year"."""
    years = re.findall(
        rf"\b{_YEAR}\b", re.sub(r"(?:arXiv[: ]|abs/|https?:)\s*\S+", "", text, flags=re.I)
    )
    if found := _LAST_FIRST.match(text):
        surname = found[0].split(",")[0]
    elif found := _NO_DOTS.match(text):
        surname = found[0].rsplit(" ", 1)[0]
    else:
        found = _FIRST_LAST.match(text)
        first = (
            found[0] if found else re.split(rf",|(?<!\b[{_UPPER}])\.\s|\band\b|\bet al", text)[0]
        )
        surname = (first.split() or [""])[-1]
    return f"{surname}, {years[-1]}" if years else surname

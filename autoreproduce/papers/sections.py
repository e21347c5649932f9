"""The parts of a paper's Markdown: those that a reproduction needs, and the reference list."""

import re
from dataclasses import dataclass

_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_NUMBER = re.compile(
    r"((?i:appendix)\s+[A-Z]|[A-Z](?=[.:]|\s+[A-Z]{3})|\d{1,2})((?:\.\d{1,2})*)[.:]?\s+"
)
_LIST = r"(references|bibliography|references and notes|works cited|literature cited|literature)"
_LIST_NAME = re.compile(rf"(?:\d{{1,2}}\.?|[A-Z]\.)?\s*{_LIST}\s*[:.]?", re.I)
_BARE_LIST = re.compile(rf"[*_ ]*(?:\d{{1,2}}\.?\s+)?{_LIST}[*_: ]*", re.I)
_BARE_END = re.compile(
    r"[*_ ]*(appendix|appendices|supplementary (material|information)s?)\b[^.]{0,60}", re.I
)
_THANKS = re.compile(
    r"(?:[\d.]*\s*)?(acknowledge?ments?|author contributions?|funding|competing interests"
    r"|ethics statement|broader impact|impact statement|conflicts? of interest"
    r"|disclosure of funding).{0,40}",
    re.I,
)
_PROOFS = re.compile(
    r"(?:\W*(?:appendix\s*)?[A-Z]?[\d.]*[:.]?\s*)?"
    r"((missing|omitted|full|detailed|deferred|technical|complete|further)\s+)?"
    r"(proofs?|derivations?|technical lemmas?|auxiliary lemmas?)\b.*",
    re.I,
)
# A line of its own that begins as a numbered heading does, between empty lines.
_PLAIN_HEADING = re.compile(
    r"(?:^|(?<=\n))\n*((?:[A-Z]|\d{1,2})(?:\.\d{1,2})*\.? +[A-Z][^\n.]{2,70})\n"
)
# A paragraph that begins with its own number: "2. The book. Each …".
_NUMBERED = re.compile(r"(?:\A|(?<=\n\n))(\d{1,2})\. +([A-Z][^\n]*)")
_WORDS_OF_HEADING = 8


@dataclass(frozen=True)
class Section:
    """A heading and the text up to the next one. `level` 1 is the outermost, 0 has no heading."""

    level: int
    heading: str
    text: str
    is_list: bool = False


def sections(text: str) -> list[Section]:
    """All sections in order; joined, their texts are the whole."""
    found: list[tuple[int, str, list[str], bool]] = [(0, "", [], False)]
    fenced = False
    for line in text.splitlines(keepends=True):
        fenced ^= line.startswith("```")
        head = None if fenced else _HEADING.match(line)
        bare_list = not fenced and _BARE_LIST.fullmatch(line.strip())
        if head:
            name = head[2].strip("*_ ")
            found.append((_level(head), name, [line], bool(_LIST_NAME.fullmatch(name))))
        elif bare_list:
            found.append((1, line.strip(" *_:\n"), [line], True))
        elif found[-1][3] and not fenced and _BARE_END.fullmatch(line.strip()):
            found.append((1, line.strip(), [line], False))
        else:
            found[-1][2].append(line)
    return [Section(level, name, "".join(lines), is_list) for level, name, lines, is_list in found]


def _level(head: re.Match[str]) -> int:
    """By the heading's own number if it has one (PDF readers flatten levels), else its marks."""
    numbered = _NUMBER.match(head[2])
    return 1 + numbered[2].count(".") if numbered else max(1, len(head[1]) - 1)


def reference_section(text: str) -> str:
    """The content of the last reference list, "" if there is none."""
    lists = [section for section in sections(text) if section.is_list]
    return lists[-1].text.split("\n", 1)[-1] if lists else ""


def section_named(text: str, name: str) -> str:
    """The section whose heading or number is `name`, with its subsections; "" if there is none."""
    wanted, parts = _heading_words(name), sections(text)
    for fits in (_is_heading, _has_number, _is_within):
        for at, section in enumerate(parts):
            if section.heading and wanted and fits(wanted, section.heading):
                below = [section.text]
                for following in parts[at + 1 :]:
                    if following.level <= section.level:
                        break
                    below.append(following.text)
                return "".join(below).strip()
    return ""


def _heading_words(heading: str) -> list[str]:
    words = re.findall(r"\w+(?:\.\w+)*", heading.casefold())
    return words[1:] if words[:1] in (["section"], ["appendix"]) and len(words) > 1 else words


def _is_heading(wanted: list[str], heading: str) -> bool:
    there = _heading_words(heading)
    return wanted in (there, there[1:] if _NUMBER.match(heading) else there)


def _has_number(wanted: list[str], heading: str) -> bool:
    return bool(_NUMBER.match(heading)) and wanted[0] == _heading_words(heading)[0]


def _is_within(wanted: list[str], heading: str) -> bool:
    return set(wanted) <= set(_heading_words(heading))


def body_of(text: str) -> str:
    """The paper without reference list, acknowledgements, and appendices of proofs alone.

    An appendix is dropped with its subsections; one that names experiments or details beside proofs
    stays.
    """
    parts, dropped_below, after_list = [], 99, False
    for section in sections(text):
        after_list = after_list or section.is_list
        if section.level <= dropped_below:
            dropped_below = 99
            if _is_dropped(section, after_list):
                dropped_below = section.level
        elif section.is_list:
            continue
        if dropped_below == 99 or (section.level > dropped_below and section.is_list):
            parts.append(section.text)
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).strip() + "\n"


def _is_dropped(section: Section, after_list: bool) -> bool:
    appendix = after_list or re.match(r"(?:(?i:appendix)\s*)?[A-Z]([.:]|\.\d|\s)", section.heading)
    proofs = _PROOFS.fullmatch(section.heading) and not re.search(
        r"experiment|implementation|detail|result|setting|algorithm|pseudo", section.heading, re.I
    )
    return section.is_list or bool(_THANKS.fullmatch(section.heading)) or bool(appendix and proofs)


def with_headings(paper: str) -> str:
    """A paper whose headings are Markdown's: in a plain text, lines such as "3.2 Training", else
    paragraphs that are numbered one after the other, with their first sentence or words.
    """
    if paper.startswith("#") or "\n#" in paper:
        return paper
    marked = _PLAIN_HEADING.sub(r"\n# \1\n", paper)
    return marked if "\n#" in marked else _with_numbered_paragraphs(paper)


def _with_numbered_paragraphs(paper: str) -> str:
    last = 0

    def heading(found: re.Match[str]) -> str:
        nonlocal last
        if int(found[1]) != last + 1:
            return found[0]
        last += 1
        sentence = found[2].partition(". ")[0].split()
        words = " ".join(sentence[:_WORDS_OF_HEADING])
        more = " …" if len(sentence) > _WORDS_OF_HEADING else ""
        return f"# {found[1]}. {words}{more}\n{found[2]}"

    return _NUMBERED.sub(heading, paper)


def section_or_headings(paper: str, name: str) -> str:
    """The section of a paper by its heading or number; if none has it, the list of headings."""
    text = with_headings(paper)
    if found := section_named(text, name):
        return found
    headings = [part.heading for part in sections(text) if part.heading]
    listed = "\n".join(headings) or "(it has no headings)"
    return f"The paper has no section {name!r}. It has:\n{listed}"

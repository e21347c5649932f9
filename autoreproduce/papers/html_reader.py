"""HTML to Markdown: a saved page, arXiv's HTML (LaTeXML), and what other readers give as HTML.

Tables stay HTML, in their plainest form: a caption's line above, rows, cells with what they span.
Formulas come out as LaTeX within $ or $$, from MathML's own source. LaTeXML's marks (classes that
begin with ltx_) are known: its equations are laid out by tables that are none, its tables may be
spans, its footnotes and reference list have classes alone.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

from autoreproduce.papers.captions import caption_parts
from autoreproduce.papers.latex_markdown import tidy

DEEPEST = 150  # elements in one another; what is deeper is read as if it were not nested
_EMPTY = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")
)
_DROPPED = (
    *("script", "style", "head", "nav", "noscript", "template", "svg", "button", "select"),
    *("iframe", "object", "audio", "video"),
)
_BLOCKS = (
    *("address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl"),
    *("dt", "fieldset", "figure", "footer", "form", "header", "html", "main", "p", "section"),
)
_WRAPS = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`", "tt": "`"}
# An opening tag ends an open element of these, but not beyond the innermost of those.
_ENDS = {
    "tr": ({"tr", "td", "th", "caption"}, {"table"}),
    "td": ({"td", "th", "caption"}, {"tr", "table"}),
    "th": ({"td", "th", "caption"}, {"tr", "table"}),
    "li": ({"li"}, {"ul", "ol", "table"}),
    "dt": ({"dt", "dd"}, {"dl", "table"}),
    "dd": ({"dt", "dd"}, {"dl", "table"}),
    **dict.fromkeys(
        ("thead", "tbody", "tfoot"), ({"thead", "tbody", "tr", "td", "th", "caption"}, {"table"})
    ),
    **dict.fromkeys(
        ("p", "div", "ul", "ol", "table", "pre", "blockquote", "h1", "h2", "h3", "h4", "section"),
        ({"p"}, {"td", "th", "li", "div", "table", "blockquote"}),
    ),
}
_MATHML = {  # how many parts, and their LaTeX
    "msup": (2, "{}^{{{}}}"),
    "msub": (2, "{}_{{{}}}"),
    "msubsup": (3, "{}_{{{}}}^{{{}}}"),
    "mfrac": (2, r"\frac{{{}}}{{{}}}"),
}
_WIDEST = 200  # columns or rows that one cell may span


@dataclass
class Element:
    """A tag with what is inside it: text and further elements."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    @property
    def classes(self) -> list[str]:
        """The names of its classes."""
        return self.attributes.get("class", "").split()

    def elements(self) -> Iterator["Element"]:
        """It and all below it, in their order."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.elements()

    def text(self) -> str:
        """Its words on one line."""
        return " ".join(
            "".join(c if isinstance(c, str) else c.text() for c in self.children).split()
        )


class _TreeBuilder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("html")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element in the innermost open one."""
        ended, bounds = _ENDS.get(tag, (set(), set()))
        for depth in range(len(self.open) - 1, 0, -1):
            if self.open[depth].tag in bounds:
                break
            if self.open[depth].tag in ended:
                del self.open[depth:]
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in _EMPTY and len(self.open) < DEEPEST:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """In HTML the slash of <p/> says nothing; in MathML and SVG it does, and does no harm."""
        self.handle_starttag(tag, attrs)
        if tag not in _EMPTY:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element of that tag, not beyond the cell around it."""
        for depth in range(len(self.open) - 1, 0, -1):
            if self.open[depth].tag == tag:
                del self.open[depth:]
                return
            if self.open[depth].tag in ("td", "th") and tag not in (
                "tr",
                "table",
                "tbody",
                "thead",
            ):
                return

    def handle_data(self, data: str) -> None:
        """Text of the innermost element."""
        self.open[-1].children.append(data)


def html_markdown(html: str) -> tuple[str, str]:
    """Title ("" if there is none) and Markdown of a page."""
    builder = _TreeBuilder()
    builder.feed(html)
    builder.close()
    root = builder.root
    titles = [
        *(e for e in root.elements() if {"ltx_title_document", "title"} & set(e.classes)),
        *(e for e in root.elements() if e.tag == "h1"),
        *(e for e in root.elements() if e.tag == "title"),
    ]
    named = [" ".join(_inside(one).split()) for one in titles]
    title = next((re.sub(r"^\[\d{4}\.\d{4,5}(v\d+)?\]\s*", "", name) for name in named if name), "")
    return title, tidy(_markdown(_body_of(root)))


def _body_of(root: Element) -> Element:
    """The article alone, if the page marks it."""
    for element in root.elements():
        if element.tag == "article" or "ltx_document" in element.classes:
            return element
    return next((e for e in root.elements() if e.tag in ("main", "body")), root)


def _inside(element: Element) -> str:
    return "".join(
        _text(child) if isinstance(child, str) else _markdown(child) for child in element.children
    )


def _text(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _line(element: Element) -> str:
    return " ".join(_inside(element).split())


def _markdown(element: Element) -> str:
    """The Markdown of one element and all in it: by what its class says, else by its tag; nothing
    of one that isn't shown (a number to sort by, a formula's second copy).
    """
    if _is_hidden(element):
        return ""
    if element.tag == "script" and element.attributes.get("type", "").startswith("math/tex"):
        return f"${''.join(_raw(element)).strip()}$"
    for name in element.classes:
        if name in _BY_CLASS:
            return _BY_CLASS[name](element)
    return _BY_TAG.get(element.tag, _inside)(element)


def _is_hidden(element: Element) -> bool:
    """Whether words within a line aren't shown; whole parts of a page may be unfolded."""
    if element.tag in _BLOCKS:
        return False
    style = element.attributes.get("style", "").replace(" ", "").lower()
    unseen = "display:none" in style or "hidden" in element.attributes
    copied = element.attributes.get("aria-hidden") == "true" and "katex-html" in element.classes
    return unseen or copied


def _nothing(_: Element) -> str:
    return ""


def _block(element: Element) -> str:
    inner = _inside(element).strip()
    return f"\n\n{inner}\n\n" if inner else ""


def _one_line(element: Element) -> str:
    return f"\n\n{_line(element)}\n\n"


def _table_caption(element: Element) -> str:
    """A caption that may name no number: the table's place among others is its number then."""
    line = _line(element)
    return f"\n\n{line if caption_parts(line) or not line else f'Table: {line}'}\n\n"


def _figure(element: Element) -> str:
    """A figure that holds a table and no picture is a table's float."""
    inside = list(element.elements())
    if any(map(_is_table, inside)) and not any(e.tag in ("img", "svg") for e in inside):
        for one in inside:
            one.tag = "caption" if one.tag == "figcaption" else one.tag
    return _block(element)


def _heading(element: Element) -> str:
    return f"\n\n{'#' * int(element.tag[1])} {_line(element)}\n\n" if _line(element) else ""


def _abstract(element: Element) -> str:
    return f"\n\n## Abstract\n\n{re.sub(r'^#+ .*$', '', _inside(element), count=1, flags=re.M)}"


def _reference(element: Element) -> str:
    parts = (_text(c) if isinstance(c, str) else _markdown(c) for c in element.children)
    return f"\n\n{' '.join(' '.join(parts).split())}\n\n"


def _picture(element: Element) -> str:
    source = re.sub(r"\s+", "", element.attributes.get("src", ""))
    return f"\n\n![{_text(element.attributes.get('alt', ''))[:1000]}]({source})\n\n"


def _as_written(element: Element) -> str:
    raw = "".join(_raw(element)).strip("\n")
    return f"\n\n```\n{raw}\n```\n\n"


def _raised(element: Element) -> str:
    inner = _line(element)
    sign = "^" if element.tag == "sup" else "_"
    return inner if inner in ("", "st", "nd", "rd", "th") else f"{sign}{{{inner}}}"


def _emphasis(element: Element) -> str:
    inner = _inside(element)
    bare, mark = inner.strip(), _WRAPS.get(element.tag, "**")
    if mark == "*" and len(bare) < 3:  # a variable
        return inner
    return inner.replace(bare, f"{mark}{bare}{mark}", 1) if bare and mark not in bare else inner


def _raw(element: Element) -> Iterator[str]:
    for child in element.children:
        yield from [child] if isinstance(child, str) else _raw(child)


def _latex_of(math: Element) -> str:
    """The LaTeX that a formula was made of; else what its elements say."""
    notes = (e for e in math.elements() if e.tag == "annotation")
    source = next(
        (e.text() for e in notes if "tex" in e.attributes.get("encoding", "").lower()), ""
    )
    latex = math.attributes.get("alttext", "") or source or _of_mathml(math)
    return " ".join(re.sub(r"(?<!\\)%\s", "", latex).split())


def _of_mathml(element: Element) -> str:
    """MathML's own elements as LaTeX: 10 with -3 raised isn't 10-3."""
    if element.tag in ("mi", "mo", "mn", "mtext", "ms"):
        return element.text()
    if element.tag.startswith("annotation"):
        return ""
    parts = [_of_mathml(one) for one in element.children if isinstance(one, Element)]
    count, form = _MATHML.get(element.tag, (0, ""))
    return form.format(*parts) if len(parts) == count else "".join(parts)


def _formula(math: Element) -> str:
    latex = _latex_of(math)
    if math.attributes.get("display") == "block":
        return f"\n\n$$\n{latex}\n$$\n\n"
    return f"${latex}$" if latex else ""


def _tex(element: Element) -> str:
    """LaTeX as docutils and MathJax's pages have it: in text, with or without its brackets. What
    pandoc has made of it is HTML.
    """
    if any(isinstance(child, Element) for child in element.children):
        return _inside(element)
    latex = re.sub(r"^\\[(\[]|\\[)\]]$", "", "".join(_raw(element)).strip()).strip()
    return f"\n\n$$\n{latex}\n$$\n\n" if element.tag in ("pre", "div") else f"${latex}$"


def _equations(element: Element) -> str:
    """One formula a row of what LaTeXML lays out as a table."""
    rows = [e for e in element.elements() if e.tag == "tr" or "ltx_eqn_row" in e.classes]
    found = []
    for row in rows or [element]:
        parts = [_latex_of(e) for e in row.elements() if e.tag == "math"]
        words = [e for e in row.elements() if "ltx_intertext" in e.classes]
        if parts:
            found.append("$$\n" + " ".join(parts) + "\n$$")
        found += [_line(one) for one in words]
    return "\n\n" + "\n\n".join(found) + "\n\n" if found else ""


def _note(note: Element) -> str:
    content = next((e for e in note.elements() if "ltx_note_content" in e.classes), note)
    marks = {"ltx_note_mark", "ltx_tag_note", "ltx_note_type"}
    inner = "".join(
        _text(c) if isinstance(c, str) else "" if marks & set(c.classes) else _markdown(c)
        for c in content.children
    )
    return f" (footnote: {' '.join(inner.split())})"


def _list(element: Element) -> str:
    items = [c for c in element.children if isinstance(c, Element) and c.tag == "li"]
    if any("ltx_bibitem" in item.classes for item in items):
        return "".join(map(_markdown, items))
    lines = []
    for number, item in enumerate(items, 1):
        shown = re.sub(r"\n\s*\n+", "\n", _inside(item).strip()).replace("\n", "\n  ")
        shown = re.sub(r"^(?:[•∙–-]|\(?\w{1,3}[.)])\s+(?=\S)", "", shown)  # LaTeXML's own mark
        lines.append(f"{f'{number}.' if element.tag == 'ol' else '-'} {shown}")
    return "\n\n" + "\n".join(lines) + "\n\n"


def _rows_of(table: Element) -> list[tuple[Element, bool]]:
    """The rows of a table itself, and whether each is in its head."""
    found: list[tuple[Element, bool]] = []

    def look(element: Element, head: bool) -> None:
        for child in element.children:
            if not isinstance(child, Element):
                continue
            if child.tag == "tr" or "ltx_tr" in child.classes:
                found.append((child, head))
            elif child.tag != "table" and "ltx_tabular" not in child.classes:
                look(child, head or child.tag == "thead" or "ltx_thead" in child.classes)

    look(table, False)
    return found


def _cells_of(row: Element) -> list[Element]:
    return [
        child
        for child in row.children
        if isinstance(child, Element)
        and (child.tag in ("td", "th") or {"ltx_td", "ltx_th"} & set(child.classes))
    ]


def _is_table(element: Element) -> bool:
    if not (element.tag == "table" or "ltx_tabular" in element.classes):
        return False
    cells = [len(_cells_of(row)) for row, _ in _rows_of(element)]
    return len(cells) > 1 and max(cells) > 1


def _table(table: Element) -> str:
    """A table with its caption above it; of one that only lays out others, those."""
    inner = [e for e in table.elements() if e is not table and _is_table(e)]
    if inner or not _is_table(table):
        return f"\n\n{_inside(table).strip()}\n\n"
    captions = [c for c in table.children if isinstance(c, Element) and c.tag == "caption"]
    caption = "".join(map(_table_caption, captions))
    rows = _rows_of(table)
    heads = [row for row, head in rows if head] or _above_first_rule(rows)
    lines = [_row(row) for row in heads]
    if lines:
        lines = ["<thead>", *lines, "</thead>"]
    lines += [_row(row) for row, _ in rows if not any(row is head for head in heads)]
    return f"\n\n{caption}<table>\n" + "\n".join(lines) + "\n</table>\n\n"


def _above_first_rule(rows: list[tuple[Element, bool]]) -> list[Element]:
    """The rows above the first rule over the whole width within a table of LaTeXML, at most 4."""
    for number, (row, _) in enumerate(rows[:5]):
        cells = _cells_of(row)
        above = [_ruled(cell, "ltx_border_t") for cell in cells]
        before = [_ruled(c, "ltx_border_b") for c in _cells_of(rows[number - 1][0])]
        if number and ((above and all(above)) or (before and all(before))):
            return [one for one, _ in rows[:number]]
    return []


def _ruled(cell: Element, rule: str) -> bool:
    return any(name in (rule, f"{rule}{rule[-1]}") for name in cell.classes)


def _row(row: Element) -> str:
    return "<tr>" + "".join(map(_cell, _cells_of(row))) + "</tr>"


def _cell(cell: Element) -> str:
    # LaTeXML calls a row's label th too: only what is in a column's head is a heading
    classes = set(cell.classes)
    row_label = "ltx_th_row" in classes and "ltx_th_column" not in classes
    tag = "th" if (cell.tag == "th" or "ltx_th" in classes) and not row_label else "td"
    if cell.attributes.get("scope") == "row":
        tag = "td"
    spans = ""
    for name, latexml in (("colspan", "ltx_colspan_"), ("rowspan", "ltx_rowspan_")):
        given = cell.attributes.get(name) or next(
            (one.removeprefix(latexml) for one in classes if one.startswith(latexml)), ""
        )
        count = int(given) if given.isdecimal() and len(given) < 5 else 1
        if count > 1:
            spans += f' {name}="{min(count, _WIDEST)}"'
    return f"<{tag}{spans}>{escape(_line(cell), quote=False)}</{tag}>"


_BY_CLASS: dict[str, Callable[[Element], str]] = {
    "ltx_page_navbar": _nothing,
    "ltx_page_footer": _nothing,
    "ltx_pagination": _nothing,
    "ltx_equation": _equations,
    "ltx_equationgroup": _equations,
    "ltx_eqn_table": _equations,
    "math": _tex,
    "ltx_note": _note,
    "ltx_tabular": _table,
    "ltx_caption": _one_line,
    "ltx_bibitem": _reference,
    "ltx_abstract": _abstract,
    "ltx_font_bold": _emphasis,
}
_BY_TAG: dict[str, Callable[[Element], str]] = {
    **dict.fromkeys(_DROPPED, _nothing),
    **dict.fromkeys(_BLOCKS, _block),
    **dict.fromkeys(_WRAPS, _emphasis),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), _heading),
    **dict.fromkeys(("ul", "ol"), _list),
    **dict.fromkeys(("sup", "sub"), _raised),
    "caption": _table_caption,
    "figcaption": _one_line,
    "figure": _figure,
    "math": _formula,
    "table": _table,
    "img": _picture,
    "pre": _as_written,
    "br": lambda _: "\n",
    "hr": lambda _: "\n\n",
}

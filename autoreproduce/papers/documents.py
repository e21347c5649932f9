"""Papers as notebooks, reStructuredText and Word documents, to Markdown.

Word's are made HTML by mammoth, their formulas (OMML) LaTeX, and reStructuredText HTML by docutils;
they're read as such, so that their tables with merged cells are the tables of `html_reader`.
"""

import io
import re
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from autoreproduce.errors import PaperError, UsageError
from autoreproduce.files.notebooks import joined, notebook_cells
from autoreproduce.papers.encodings import read_text
from autoreproduce.papers.html_reader import html_markdown
from autoreproduce.papers.latex_markdown import tidy
from autoreproduce.papers.model import Unread

_BODY = "word/document.xml"
LONGEST_OUTPUT = 20_000  # characters of what one cell of a notebook printed
_STYLES = (
    "p[style-name='Title'] => h1:fresh\np[style-name='Caption'] => p:fresh"
    "\np[style-name='Table Caption'] => caption:fresh"  # as pandoc writes it
)
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_ACCENTS = {
    **dict.fromkeys("\u0304\u0305\u203e\u00af", r"\bar"),
    "\u0302": r"\hat",
    "\u0303": r"\tilde",
    "\u20d7": r"\vec",
    "\u0307": r"\dot",
}
_FORMS = {
    **dict.fromkeys(("sSub", "sSup", "sSubSup"), "{e}{below}{above}"),
    "sPre": "{{}}{below}{above}{e}",
    "nary": "{sign}{below}{above} {e}",
    "f": r"\frac{{{num}}}{{{den}}}",
    "rad": r"\sqrt{degree}{{{e}}}",
    "acc": "{accent}{{{e}}}",
    "limLow": "{e}_{{{lim}}}",
    "limUpp": "{e}^{{{lim}}}",
}


def read_notebook(file: Path) -> tuple[str, list[Unread]]:
    """The Markdown of a notebook's cells and of what they printed. Raises PaperError."""
    try:
        return tidy("\n\n".join(map(_cell, notebook_cells(file.read_bytes())))), []
    except (UsageError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise PaperError(
            f"{file} is no notebook ({error!s:.80})", fix="export it as HTML or Markdown"
        ) from None


def _cell(cell: Any) -> str:
    source = joined(cell.get("source", ""))
    if cell["cell_type"] != "code":
        return source
    printed = [_output(one) for one in cell.get("outputs", ())]
    return "\n\n".join([_fenced(source, "python"), *printed])


def _output(output: Any) -> str:
    data = output.get("data", output)
    if "text/html" in data:
        return html_markdown(joined(data["text/html"]))[1]
    if "text/markdown" in data:
        return joined(data["text/markdown"])
    picture = joined(data.get("image/png", ""))
    if picture:
        return f"![](data:image/png;base64,{picture})"
    printed = joined(data.get("text/plain", output.get("text", "")))
    return _fenced(printed[:LONGEST_OUTPUT], "") if printed.strip() else ""


def _fenced(text: str, language: str) -> str:
    mark = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{mark}{language}\n{text.rstrip()}\n{mark}"


def read_restructured(file: Path) -> tuple[str, list[Unread]]:
    """The Markdown of reStructuredText. Parts in other files aren't read, and are named."""
    from docutils.core import publish_parts
    from docutils.writers.html5_polyglot import Writer

    text = read_text(file)
    parts = publish_parts(
        text,
        writer=Writer(),
        settings_overrides={
            "file_insertion_enabled": False,
            "raw_enabled": False,
            "halt_level": 5,
            "report_level": 5,
            "math_output": "LaTeX",
            "_disable_config": True,
            "doctitle_xform": True,
            "line_length_limit": 10**6,
        },
    )
    _, markdown = html_markdown(f"<article>{parts['html_body']}</article>")
    named = re.findall(r"^\s*\.\. include::\s*(\S+)|^\s+:(?:file|url):\s*(\S+)", text, re.M)
    unread = [
        Unread.of(one or other, "a part in another file isn't read", "put its text in its place")
        for one, other in named
    ]
    return markdown, unread


def read_word(file: Path) -> tuple[str, list[Unread]]:
    """The Markdown of a .docx, its pictures as base64. Raises PaperError if it is damaged."""
    import mammoth  # type: ignore[import-untyped]

    try:
        with zipfile.ZipFile(file) as archive:
            parts = {one: archive.read(one) for one in archive.namelist()}
        parts[_BODY] = with_latex_formulas(parts[_BODY])
        with io.BytesIO() as written:
            with zipfile.ZipFile(written, "w") as archive:
                for name, data in parts.items():
                    archive.writestr(name, data)
            html = mammoth.convert_to_html(written, style_map=_STYLES).value
    except (zipfile.BadZipFile, KeyError, ValueError, AttributeError, SyntaxError) as error:
        raise PaperError(
            f"{file} is no Word document ({error!s:.80})", fix="save it as .docx or PDF"
        ) from None
    unread = []
    if objects := parts[_BODY].count(b"<w:object"):
        why = f"objects of other programs, as MathType's, can't be read: {objects}"
        unread.append(Unread.of("some formulas", why, "save the paper as HTML or give its LaTeX"))
    return html_markdown(f"<article>{html}</article>")[1], unread


def with_latex_formulas(document: bytes) -> bytes:
    """A Word document's XML with a run of text, $LaTeX$, in place of each formula.

    Raises ElementTree.ParseError (a SyntaxError) if it is none.
    """
    if b"oMath>" not in document:
        return document
    root = ElementTree.fromstring(document)
    for parent in list(root.iter()):
        for at, child in enumerate(parent):
            if child.tag in (f"{_M}oMath", f"{_M}oMathPara"):
                run = Element(f"{_W}r")
                text = ElementTree.SubElement(run, f"{_W}t")
                text.text = f"${' '.join(_latex(child).split())}$"
                run.tail = child.tail
                parent[at] = run
    return ElementTree.tostring(root)


def _latex(element: Element | None) -> str:
    """What an element of a formula shows."""
    if element is None:
        return ""
    name = element.tag.removeprefix(_M)
    if name == "r":
        shown = "".join(one.text or "" for one in element.iter(f"{_M}t"))
        return shown.replace("%", r"\%").replace("#", r"\#").replace("\u200b", "")
    inner = [child for child in element if not child.tag.endswith("Pr")]
    texts = [_latex(child) for child in inner]
    if form := _FORMS.get(name):
        of = {child.tag.removeprefix(_M): text for child, text in zip(inner, texts, strict=True)}
        of["below"] = f"_{{{of['sub']}}}" if of.get("sub") else ""
        of["above"] = f"^{{{of['sup']}}}" if of.get("sup") else ""
        of["degree"] = f"[{of['deg']}]" if of.get("deg") else ""
        of["sign"] = _sign(element, "chr", "∫")
        of["accent"] = _ACCENTS.get(_sign(element, "chr", "\u0302"), "")
        return form.format_map(defaultdict(str, of))
    if name == "d":
        between = _sign(element, "sepChr", "|").join(texts)
        return f"{_sign(element, 'begChr', '(')}{between}{_sign(element, 'endChr', ')')}"
    return {"mr": ", ", "m": "; ", "eqArr": "; "}.get(name, "").join(texts)


def _sign(element: Element, name: str, default: str) -> str:
    """The sign that an element's properties name."""
    named = element.find(f"{_M}{element.tag.removeprefix(_M)}Pr/{_M}{name}")
    return default if named is None else named.get(f"{_M}val", default)

r"""The tables of LaTeX source, each cell with its place, so that a value can be withheld.

What authors do with tables is known here: \multirow (also with -n, whose text is in the last
row), nested headings, rules with options, coloured rows, tables side by side, a tabular within a
cell to break its lines, and a tabular that only lays out others. Cells are rendered as the
paper's Markdown is, by papers.latex_markdown.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from autoreproduce.claims.plain import plain
from autoreproduce.claims.tables.cells import CellPiece, RawTable, Row
from autoreproduce.claims.tables.latex_bodies import (
    Body,
    Captions,
    bodies_in,
    environments,
    signs_between,
)
from autoreproduce.papers import latex_tables
from autoreproduce.papers.latex_converter import Converter
from autoreproduce.papers.latex_macros import braced, definitions

# rules over the whole width of a table
_STRONG = re.compile(
    r"\\(?:top|mid|bottom)rule\b|\\(?:hline|thickhline|firsthline|hlineB)\b|\\Xhline|\\specialrule"
)


def latex_tables_in(latex: str) -> list[RawTable]:
    """The tables of `latex` in their order; [] if it has none."""
    if "\\begin" not in latex:
        return []
    clean = _without_comments(latex)
    captions = Captions(clean)
    converter = _cell_renderer(definitions(latex)[0])
    found = []
    for body in bodies_in(clean):
        inside = _without_captions(_without_inner_tables(clean, body))
        rows = _table_rows(
            inside, body.inside, converter, signs_between(clean[body.start : body.inside])
        )
        if len(rows) > 1:
            names, caption = captions.of(body.start)
            found.append(RawTable(tuple(rows), body.start, body.end, names, caption))
    return found


def _without_comments(latex: str) -> str:
    """The same length, so that places stay what they are."""
    return re.sub(r"(?<!\\)%[^\n]*", lambda found: " " * len(found[0]), latex)


def _without_inner_tables(latex: str, body: Body) -> str:
    """The inside with a tabular within a cell as its words alone; the same length."""
    inside = latex[body.inside : body.inside_end]
    for one in list(environments(inside, 0, len(inside))):
        words = re.sub(
            r"\\\\(?:\[[^\]]*\])?|&", lambda f: " " * len(f[0]), inside[one.inside : one.inside_end]
        )
        inside = (
            inside[: one.start]
            + " " * (one.inside - one.start)
            + words
            + " " * (one.end - one.inside_end)
            + inside[one.end :]
        )
    return inside


def _without_captions(inside: str) -> str:
    """A longtable has its captions inside; the same length."""
    for found in list(re.finditer(r"\\caption\*?\s*(?:\[[^\]]*\])?\s*(?=\{)", inside)):
        group = braced(inside, found.end())
        end = group[1] if group else found.end()
        inside = inside[: found.start()] + " " * (end - found.start()) + inside[end:]
    return inside


def _cell_renderer(macros: dict[str, Any]) -> Converter:
    """The paper's own renderer, which also knows what only tables have."""
    from pylatexenc.macrospec import MacroSpec  # type: ignore[import-untyped]

    converter = Converter(macros)
    takes = {"tnote": "{", "SI": "[{[{"}
    specs = [MacroSpec(name, argspec) for name, argspec in takes.items()]
    converter.context.add_context_category("claims", macros=specs, prepend=True)

    converter.of_macro |= {
        "tnote": lambda *_: "",
        "SI": lambda _, arguments: " ".join(converter.render([one]) for one in arguments[1::2]),
    }
    return converter


def _table_rows(inside: str, offset: int, converter: Converter, signs: set[int]) -> list[Row]:
    from pylatexenc.latexwalker import LatexWalker  # type: ignore[import-untyped]

    strong = [found.start() for found in _STRONG.finditer(inside)]
    clean = latex_tables.without_rules(inside)
    walker = LatexWalker(clean, latex_context=converter.context, tolerant_parsing=True)
    nodes, _, _ = walker.get_latex_nodes()
    rows, last = [], 0
    for cells in latex_tables.split(nodes):
        pieces = [_trimmed(_cell_piece(cell, converter, offset), clean, offset) for cell in cells]
        if not any(piece.text for piece in pieces):
            continue
        start = min(piece.start - offset for piece in pieces if piece.text)
        pieces = _with_joined_spreads(pieces, signs)
        rows.append(Row(tuple(pieces), rule=any(last <= rule < start for rule in strong)))
        last = max(piece.end - offset for piece in pieces)
    return rows


def _with_joined_spreads(pieces: list[CellPiece], signs: set[int]) -> list[CellPiece]:
    """A number and its spread in two columns with ± between them, as one piece over both."""
    column, found = 0, list[CellPiece]()
    for piece in pieces:
        before = found[-1] if found else None
        single = before is not None and before.columns == piece.columns == 1
        if before and single and column - 1 in signs and piece.text:
            text = f"{before.text} ± {piece.text}"
            found[-1] = replace(before, text=text, end=piece.end, columns=2)
        else:
            found.append(piece)
        column += piece.columns
    return found


def _trimmed(piece: CellPiece, inside: str, offset: int) -> CellPiece:
    """The piece without the blanks that its nodes begin and end with."""
    text = inside[piece.start - offset : piece.end - offset]
    start = piece.start + len(text) - len(text.lstrip())
    return replace(piece, start=start, end=max(start, start + len(text.strip())))


def _cell_piece(nodes: Sequence[Any], converter: Converter, offset: int) -> CellPiece:
    """A cell: its text, how much it covers, and its place without the macros around it."""
    columns, rows = latex_tables.covered_size(nodes)
    core = [node for node in nodes if node is not None and node.latex_verbatim().strip()]
    core = [
        node
        for node in core
        if getattr(node, "macroname", "") not in ("rowcolor", "cellcolor", "rowfont")
    ]
    text = plain(converter.render(nodes))
    if not core:
        return CellPiece("", offset, offset, columns, rows)
    start, end = core[0].pos, core[-1].pos + core[-1].len
    while len(core) == 1 and getattr(core[0], "macroname", "") in (
        "multicolumn",
        "multirow",
        "multirowcell",
    ):
        inner = core[0].nodeargd.argnlist[-1]
        start, end = inner.pos, inner.pos + inner.len
        if type(inner).__name__ == "LatexGroupNode":
            start, end = start + 1, end - 1
        core = [one for one in getattr(inner, "nodelist", []) or [] if one.latex_verbatim().strip()]
    return CellPiece(text, offset + start, offset + end, columns, rows)

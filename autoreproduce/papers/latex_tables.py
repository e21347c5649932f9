"""LaTeX tables to Markdown tables. Cells over several columns stand in the first of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

# environments and what they take, in pylatexenc's notation
TAKES = {
    "tabular": "[{", "tabular*": "{[{", "tabularx": "{[{", "tabulary": "{[{", "longtable": "[{", "tabu": "{",
    "figure": "[", "figure*": "[", "table": "[", "table*": "[", "wrapfigure": "[{[{", "wraptable": "[{[{",
    "minipage": "[[[{", "subfigure": "[{", "adjustbox": "{", "center": "", "threeparttable": "[", "multicols": "{",
    "enumerate": "[", "itemize": "[", "description": "[", "thebibliography": "{", "longtable*": "[{",
    "theorem": "[", "lemma": "[", "proposition": "[", "corollary": "[", "definition": "[", "remark": "[", "proof": "[",
}  # fmt: skip
TABULAR = ("tabular", "tabular*", "tabularx", "tabulary", "longtable", "longtable*", "tabu")
RULES = ["hline", "toprule", "midrule", "bottomrule", "endhead", "endfirsthead", "endfoot", "endlastfoot", "centering"]

# what a rule takes in brackets and braces, which the parser would leave in the next cell
_RULE = re.compile(
    r"\\cmidrule\s*(?:\[[^\]]*\])?\s*(?:\([^)]*\))?\s*\{[^{}]*\}|\\(?:top|mid|bottom)rule\s*\[[^\]]*\]"
    r"|\\(?:Xhline|arrayrulecolor)\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}|\\rowcolors\*?\s*(?:\[[^\]]*\])?(?:\s*\{[^{}]*\}){3}"
)


def without_rules(latex: str) -> str:
    """LaTeX without the rules of tables that take options."""
    return _RULE.sub("", latex)


def markdown_table(nodes: Sequence[Any], render: Callable[[Sequence[Any]], str]) -> str:
    """The Markdown of a tabular's content, its first row the head; "" where it has none."""
    rows = [cells for cells in (_row(row, render) for row in _split(nodes)) if any(cells)]
    if not rows:
        return ""
    width = max(map(len, rows))
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * width)
    return "\n\n" + "\n".join(lines) + "\n\n"


def _split(nodes: Sequence[Any]) -> list[list[list[Any]]]:
    """Rows of cells of nodes."""
    rows: list[list[list[Any]]] = [[[]]]
    for node in nodes:
        if getattr(node, "specials_chars", None) == "&":
            rows[-1].append([])
        elif getattr(node, "macroname", None) in ("\\", "tabularnewline"):
            rows.append([[]])
        elif getattr(node, "macroname", None) not in RULES:
            rows[-1][-1].append(node)
    return rows


def _row(cells: list[list[Any]], render: Callable[[Sequence[Any]], str]) -> list[str]:
    texts: list[str] = []
    for cell in cells:
        text = " ".join(_flat(render(cell)).split()).replace("|", "\\|")
        texts += [text, *[""] * (_columns(cell) - 1)]
    return texts


def _flat(text: str) -> str:
    """A table within a cell, which is how authors break its lines, as its words."""
    if "|---|" not in text:
        return text
    return re.sub(r"(?<!\\)\|", " ", re.sub(r"\|(?:---\|)+", " ", text)).replace("\\|", "|")


def _columns(cell: list[Any]) -> int:
    """How many columns the cell covers."""
    for node in cell:
        if getattr(node, "macroname", None) == "multicolumn" and node.nodeargd and node.nodeargd.argnlist:
            number = node.nodeargd.argnlist[0].latex_verbatim().strip("{} ") if node.nodeargd.argnlist[0] else "1"
            return min(50, int(number)) if number.isdigit() else 1
    return 1

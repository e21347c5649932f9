"""LaTeX tables to Markdown tables. A cell over several columns or rows is in the first of them."""

import re
from collections.abc import Callable, Sequence
from typing import Any

# environments and what they take, in pylatexenc's notation
TAKES = {
    "tabular": "[{",
    "tabular*": "{[{",
    "tabularx": "{[{",
    "tabulary": "{[{",
    "longtable": "[{",
    "tabu": "{",
    "NiceTabular": "[{[",
    "NiceTabular*": "{[{[",
    "tblr": "[{",
    "longtblr": "[{",
    "xltabular": "[{{",
    "supertabular": "[{",
    "figure": "[",
    "figure*": "[",
    "table": "[",
    "table*": "[",
    "wrapfigure": "[{[{",
    "wraptable": "[{[{",
    "minipage": "[[[{",
    "subfigure": "[{",
    "subtable": "[{",
    "adjustbox": "{",
    "center": "",
    "threeparttable": "[",
    "multicols": "{",
    "enumerate": "[",
    "itemize": "[",
    "description": "[",
    "thebibliography": "{",
    "longtable*": "[{",
    "theorem": "[",
    "lemma": "[",
    "proposition": "[",
    "corollary": "[",
    "definition": "[",
    "remark": "[",
    "proof": "[",
}
TABULAR = (
    *("tabular", "tabular*", "tabularx", "tabulary", "longtable", "longtable*", "tabu"),
    *("NiceTabular", "NiceTabular*", "tblr", "longtblr", "xltabular", "supertabular"),
)
RULES = [
    "hline",
    "toprule",
    "midrule",
    "bottomrule",
    "endhead",
    "endfirsthead",
    "endfoot",
    "endlastfoot",
    "centering",
]

_OPTION = r"\s*(?:\[[^\]]*\])?"
_GROUP = r"\s*\{[^{}]*\}"
# whatever is between rows with what it takes, which a parser would leave in the next cell
RULE = re.compile(
    "|".join(
        [
            rf"\\cmidrule{_OPTION}\s*(?:\([^)]*\))?{_GROUP}",
            rf"\\cline{_GROUP}|\\hlineB{_GROUP}|\\noalign{_GROUP}",
            rf"\\(?:top|mid|bottom)rule{_OPTION}|\\(?:hdashline|addlinespace){_OPTION}",
            r"\\(?:hline|thickhline|firsthline|lasthline|morecmidrules)\b",
            rf"\\(?:Xhline|arrayrulecolor){_OPTION}(?:{_GROUP})?|\\specialrule(?:{_GROUP}){{3}}",
            rf"\\rowcolors\*?{_OPTION}(?:{_GROUP}){{3}}",
            r"\\end(?:first)?head\b|\\end(?:last)?foot\b",
        ]
    )
)
_INNER_FLOAT = re.compile(r"\\begin\{((?:sub|wrap)?(?:figure|table)\*?)\}.*?\\end\{\1\}", re.DOTALL)
# a table within a cell that is more than broken lines: columns, and rows below the first
_INNER_TABLE = re.compile(r"^\|(?:---\|){2,}\n\|", re.M)


def without_rules(latex: str) -> str:
    """LaTeX without what is between the rows of tables; all else keeps its place."""
    return RULE.sub(lambda found: " " * len(found[0]), latex)


def caption_labels(latex: str) -> list[str]:
    """The label of each caption of a float, but for floats within it, in their order; "" if it has
    none. A single caption's may precede it.
    """
    begin = re.match(r"\\begin\{[^}]*\}", latex)
    latex = _INNER_FLOAT.sub("", latex[begin.end() if begin else 0 :])
    parts = re.split(r"\\caption(?:of)?\*?\s*[\[{]", latex)
    labelled = parts[1:] if len(parts) > 2 else [latex]
    found = [re.search(r"\\label\s*\{([^{}]*)\}", part) for part in labelled]
    return [label[1] if label else "" for label in found]


def markdown_table(nodes: Sequence[Any], render: Callable[[Sequence[Any]], str]) -> str:
    """The Markdown of a tabular's content, its first row the head; "" if it is empty. One that only
    lays out others is these, one after another.
    """
    rendered = [[(render(cell), *covered_size(cell)) for cell in row] for row in split(nodes)]
    texts = [text.strip() for row in rendered for text, _, _ in row if text.strip()]
    if any(map(_INNER_TABLE.search, texts)):
        return "\n\n" + "\n\n".join(texts) + "\n\n"
    rows: list[list[str]] = []
    for row in rendered:
        _add_row(rows, row)
    if not rows:
        return ""
    width = max(map(len, rows))
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * width)
    return "\n\n" + "\n".join(lines) + "\n\n"


def _add_row(rows: list[list[str]], cells: Sequence[tuple[str, int, int]]) -> None:
    """Add a row that is not empty. The text of a cell over the rows above it goes to the first of
    them.
    """
    row: list[str] = []
    lifted: list[tuple[int, int]] = []  # column, rows above
    for text, columns, covered in cells:
        if covered < -1:
            lifted.append((len(row), -covered - 1))
        row += [" ".join(_flat(text).split()).replace("|", "\\|"), *[""] * (columns - 1)]
    if not any(row):
        return
    for column, above in lifted:
        first = rows[max(0, len(rows) - above)] if rows else row
        if column < len(first) and not first[column]:
            first[column], row[column] = row[column], ""
    rows.append(row)


def split(nodes: Sequence[Any]) -> list[list[list[Any]]]:
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


def _flat(text: str) -> str:
    """A table within a cell, which is how authors break its lines, as its words."""
    if "|---|" not in text:
        return text
    return re.sub(r"(?<!\\)\|", " ", re.sub(r"\|(?:---\|)+", " ", text)).replace("\\|", "|")


def covered_size(nodes: Sequence[Any]) -> tuple[int, int]:
    """Columns and rows that a cell covers, however deep the macro that says so; a negative number
    of rows covers those above.
    """
    columns, rows = 1, 1
    for node in nodes:
        name, given = getattr(node, "macroname", None), getattr(node, "nodeargd", None)
        arguments = [one for one in (given.argnlist if given else []) or [] if one is not None]
        if name == "multicolumn" and arguments:
            columns = max(1, min(50, _integer(arguments[0])))
        elif name in ("multirow", "multirowcell") and arguments:
            counts = [_integer(one) for one in arguments[:2] if _integer(one)]
            rows = max(-200, min(200, counts[0])) if counts else 1
        inner = covered_size([*arguments, *(getattr(node, "nodelist", None) or [])])
        columns, rows = max(columns, inner[0]), inner[1] if inner[1] != 1 else rows
    return columns, rows


def _integer(node: Any) -> int:
    text = node.latex_verbatim().strip("{}[] ")
    return int(text) if re.fullmatch(r"-?\d+", text) else 0

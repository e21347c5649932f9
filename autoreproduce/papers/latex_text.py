"""Short pieces of LaTeX (a title, an entry of a bibliography) to plain text."""

import re


def to_text(latex: str) -> str:
    """A short piece on one line, without markup; formulas stay LaTeX."""
    from pylatexenc.latex2text import LatexNodes2Text  # type: ignore[import-untyped]

    latex = re.sub(
        r"\\(?:url|path|doi)\s*\{([^{}]*)\}", lambda found: found[1].replace("_", r"\_"), latex
    )
    latex = re.sub(r"\\href\s*\{[^{}]*\}", "", latex)
    try:
        text = LatexNodes2Text(math_mode="verbatim", keep_comments=True).latex_to_text(latex)
    except Exception:  # the parser may raise anything on what is not LaTeX: use the source
        text = re.sub(r"\\[A-Za-z]+|[{}]", " ", latex)
    return " ".join(text.replace("\u00ad", "").split())  # \\- is no letter of a title

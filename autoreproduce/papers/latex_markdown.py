"""A paper's LaTeX to Markdown that a person or a model reads.

Formulas come out as in the source, within $ or $$. Sections, lists, tables, captions, quotations
and emphasis become Markdown; citations become [key], which is also the key of the reference; layout
is dropped.
"""

import re

from autoreproduce.errors import PaperError
from autoreproduce.papers import latex_tables
from autoreproduce.papers.latex_converter import Converted, Converter
from autoreproduce.papers.latex_macros import Macro, definitions, used_in, with_environments


def to_markdown(latex: str) -> tuple[str, Converted]:
    """The Markdown of `latex` (without comments, files put in), and what else it contains.

    Raises PaperError if the parser gives up, as it does on groups a thousand deep.
    """
    macros, rest = definitions(latex)
    rest = latex_tables.without_rules(with_environments(rest, macros))
    # in an address % is a character, but the parser takes it for a comment
    rest = re.sub(
        r"\\(?:url|href)\s*\{[^{}\n]*\}", lambda found: re.sub(r"(?<!\\)%", r"\%", found[0]), rest
    )
    begin, end = rest.find(r"\begin{document}"), rest.rfind(r"\end{document}")
    if begin >= 0:
        rest = rest[begin + len(r"\begin{document}") : end if end > begin else len(rest)]
    converter = Converter(macros)
    try:
        text = converter.convert(rest)
    except RecursionError as error:
        raise PaperError(
            "the LaTeX is nested too deep to be read", fix="give the paper's PDF with --paper"
        ) from error
    except Exception as error:  # the parser may raise anything on what is not LaTeX
        raise PaperError(
            f"the LaTeX cannot be read ({type(error).__name__})", fix="give the paper's PDF"
        ) from error
    used = used_in(converter.found.formulas, macros)
    if used:
        listed = "\n".join(
            f"\\{macro.name}{_parameters(macro)} = {' '.join(macro.body.split())}" for macro in used
        )
        text += f"\n\n## Macros in the formulas\n\n```latex\n{listed}\n```\n"
    return tidy(text), converter.found


def _parameters(macro: Macro) -> str:
    return "".join(f"{{#{number}}}" for number in range(1, macro.arguments + 1))


def tidy(text: str) -> str:
    """At most one blank line at a time, no blanks at line ends."""
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).strip() + "\n"

"""LaTeX to Markdown that a person or a model reads, by pylatexenc's parser.

Formulas come out as they stand in the source, within $ or $$. Sections, lists, tables, captions, quotations and
emphasis become Markdown; citations become [key], and the key is also that of the reference; layout is dropped.
What is not known is put out as the text of its arguments, so that no words are lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from autoreproduce.errors import PaperError
from autoreproduce.papers import latex_tables
from autoreproduce.papers.latex_macros import Macro, definitions, used_in, with_environments
from autoreproduce.papers.latex_words import (
    BOLD_HEADS,
    CAPTIONS,
    CITES,
    DINGS,
    DRAWING,
    DROPPED,
    FLOAT,
    HEADINGS,
    JOINED,
    LISTS,
    MATH,
    NOTES,
    ONE_FORMULA,
    PROGRAM,
    SPACES,
    STATEMENT,
    SYMBOLS,
    TAKES,
    VERBATIM,
    WRAPS,
)

DEEPEST = 10
MOST_EXPANSIONS = 20_000


@dataclass
class Converted:
    """What one conversion gathers beside its Markdown."""

    cited: list[str] = field(default_factory=list)
    graphics: list[tuple[str, str]] = field(default_factory=list)  # file as named, caption
    formulas: list[str] = field(default_factory=list)
    bibliography: str = ""
    expansions: int = 0


def to_markdown(latex: str) -> tuple[str, Converted]:
    """The Markdown of `latex` (without comments, files put in), and what was gathered on the way.

    Raises PaperError where the parser gives up, as it does on groups a thousand deep.
    """
    macros, rest = definitions(latex)
    rest = latex_tables.without_rules(with_environments(rest, macros))
    # in an address % is a character, but the parser takes it for a comment
    rest = re.sub(r"\\(?:url|href)\s*\{[^{}\n]*\}", lambda found: re.sub(r"(?<!\\)%", r"\%", found[0]), rest)
    begin, end = rest.find(r"\begin{document}"), rest.rfind(r"\end{document}")
    if begin >= 0:
        rest = rest[begin + len(r"\begin{document}") : end if end > begin else len(rest)]
    converter = Converter(macros)
    try:
        text = converter.convert(rest)
    except RecursionError as error:
        raise PaperError("the LaTeX is nested too deep to be read: give the paper's PDF by --paper") from error
    except Exception as error:  # the parser, fed with what is no LaTeX, may raise anything
        raise PaperError(f"the LaTeX cannot be read ({type(error).__name__}): give the paper's PDF") from error
    used = used_in(converter.found.formulas, macros)
    if used:
        listed = "\n".join(f"\\{macro.name}{_parameters(macro)} = {' '.join(macro.body.split())}" for macro in used)
        text += f"\n\n## Macros in the formulas\n\n```latex\n{listed}\n```\n"
    return tidy(text), converter.found


def _parameters(macro: Macro) -> str:
    return "".join(f"{{#{number}}}" for number in range(1, macro.arguments + 1))


def tidy(text: str) -> str:
    """At most one blank line at a time, no blanks at line ends."""
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).strip() + "\n"


class Converter:
    """Renders a tree of nodes. Anything it gathers is in `found`."""

    def __init__(self, macros: dict[str, Macro]) -> None:
        from pylatexenc.latex2text import LatexNodes2Text  # type: ignore[import-untyped]
        from pylatexenc.latexwalker import get_default_latex_context_db  # type: ignore[import-untyped]
        from pylatexenc.macrospec import EnvironmentSpec, MacroSpec  # type: ignore[import-untyped]

        takes = {**DROPPED, **TAKES, **dict.fromkeys(WRAPS, "{")}
        self.macros = {name: macro for name, macro in macros.items() if name not in takes}
        self.found = Converted()
        self.depth = 0
        self.appendix = ""  # the next letter, once \\appendix was met
        self.fallback = LatexNodes2Text(math_mode="verbatim")
        self.of_macro = self._of_macro()
        specs = [MacroSpec(name, argspec) for name, argspec in takes.items()]
        specs += [MacroSpec(name, macro.argspec) for name, macro in self.macros.items()]
        environments = [EnvironmentSpec(name, argspec) for name, argspec in latex_tables.TAKES.items()]
        self.context = get_default_latex_context_db()
        self.context.add_context_category("papers", macros=specs, environments=environments, prepend=True)

    def _of_macro(self) -> dict[str, Callable[[str, list[Any]], str]]:
        """What renders which macro, from its name and arguments."""
        return {
            **dict.fromkeys(TAKES, lambda _, arguments: self.last(arguments)),
            **dict.fromkeys(DROPPED, lambda _, arguments: ""),
            **dict.fromkeys(SPACES, lambda name, _: "\n\n" if name == "par" else " "),
            **dict.fromkeys(HEADINGS, self.heading),
            **dict.fromkeys(BOLD_HEADS, lambda _, arguments: f"\n\n**{_line(self.last(arguments))}** "),
            **dict.fromkeys(WRAPS, self.wrapped),
            **dict.fromkeys(CITES, self.citation),
            **dict.fromkeys(CAPTIONS, lambda _, arguments: f"\n\n*Caption: {_line(self.last(arguments))}*\n\n"),
            **dict.fromkeys(NOTES, lambda _, arguments: f" (footnote: {_line(self.last(arguments))})"),
            **dict.fromkeys(SYMBOLS, lambda name, _: SYMBOLS[name]),
            **dict.fromkeys(JOINED, lambda name, arguments: JOINED[name].join(map(self.node, arguments[-2:]))),
            "ding": lambda _, arguments: DINGS.get(_verbatim(arguments[-1]), ""),
            "appendix": lambda *_: self.begin_appendix(),
            "includegraphics": self.graphic,
            "href": lambda _, arguments: f"[{_line(self.last(arguments))}]({_verbatim(arguments[0])})",
            "url": lambda _, arguments: _verbatim(arguments[-1]).replace("\\%", "%"),
        }

    def convert(self, latex: str) -> str:
        """Parse and render."""
        from pylatexenc.latexwalker import LatexWalker

        nodes, _, _ = LatexWalker(latex, latex_context=self.context, tolerant_parsing=True).get_latex_nodes()
        return self.render(nodes)

    def render(self, nodes: Any) -> str:
        """The Markdown of a list of nodes."""
        return "".join(self.node(node) for node in nodes or [] if node is not None)

    def node(self, node: Any) -> str:
        """The Markdown of one node."""
        match type(node).__name__:
            case "LatexCharsNode":
                text = re.sub(r"\n[ \t]+", "\n", str(node.chars))
            case "LatexMathNode":
                text = self.formula(node.latex_verbatim(), inline=node.displaytype == "inline")
            case "LatexGroupNode":
                text = self.render(node.nodelist)
            case "LatexMacroNode":
                text = self.macro(node)
            case "LatexEnvironmentNode":
                text = self.environment(node)
            case "LatexSpecialsNode":
                text = " " if node.specials_chars == "~" else str(self.fallback.nodelist_to_text([node]))
            case _:  # a comment
                text = ""
        return text

    def formula(self, verbatim: str, inline: bool) -> str:
        """A formula as it stands, in $ or $$."""
        self.found.formulas.append(verbatim)
        inner = re.sub(r"^(\$\$?|\\\(|\\\[)|(\$\$?|\\\)|\\\])$", "", verbatim.strip()).strip()
        return f"${inner}$" if inline else f"\n\n$$\n{inner}\n$$\n\n"

    def macro(self, node: Any) -> str:
        """The Markdown of a macro and its arguments."""
        name, arguments = node.macroname, _arguments(node)
        if name in self.macros:
            return self.expanded(self.macros[name], arguments) + (node.macro_post_space or "")
        if name in self.of_macro:
            return self.of_macro[name](name, arguments)
        if self.fallback.latex_context.get_macro_spec(name) is not None:  # a character: \\'e, \\%, \\S
            text = str(self.fallback.nodelist_to_text([node]))
            return "" if "\\" in text else text
        return self.render(arguments) + (node.macro_post_space or "")

    def last(self, arguments: list[Any]) -> str:
        """The last argument's Markdown."""
        return self.render(arguments[-1:])

    def heading(self, name: str, arguments: list[Any]) -> str:
        """A section's head."""
        number = ""
        if self.appendix and HEADINGS[name] == 2:  # so that an appendix is known for one
            number, self.appendix = f"Appendix {self.appendix}. ", chr(ord(self.appendix) + 1)
        return f"\n\n{'#' * HEADINGS[name]} {number}{_line(self.last(arguments))}\n\n"

    def begin_appendix(self) -> str:
        """From here on sections have letters."""
        self.appendix = self.appendix or "A"
        return ""

    def wrapped(self, name: str, arguments: list[Any]) -> str:
        """Emphasis, which Markdown wants without blanks inside."""
        text = self.last(arguments)
        return f"{WRAPS[name]}{text.strip()}{WRAPS[name]}" if text.strip() else text

    def graphic(self, _: str, arguments: list[Any]) -> str:
        """A picture's file is gathered; its caption comes with the figure around it."""
        self.found.graphics.append((_verbatim(arguments[-1]).strip(), ""))
        return ""

    def expanded(self, macro: Macro, arguments: list[Any]) -> str:
        """An author's macro put out: what it stands for is LaTeX again."""
        self.found.expansions += 1
        if self.depth >= DEEPEST or self.found.expansions > MOST_EXPANSIONS:
            return ""
        self.depth += 1
        try:
            return self.convert(macro.filled([None if one is None else _verbatim(one) for one in arguments]))
        finally:
            self.depth -= 1

    def citation(self, _: str, arguments: list[Any]) -> str:
        """[key; key], with the note that goes with it."""
        keys = [key.strip() for key in _verbatim(arguments[-1]).split(",") if key.strip()]
        self.found.cited += keys
        notes = [self.render([one]).strip() for one in arguments[1:-1] if one is not None]
        return "[" + "; ".join(keys) + "".join(f", {note}" for note in notes if note) + "]"

    def environment(self, node: Any) -> str:
        """The Markdown of an environment."""
        name, verbatim = node.environmentname, node.latex_verbatim()
        inner = re.sub(r"^\\begin\{[^}]*\}|\\end\{[^}]*\}$", "", verbatim)
        if MATH.fullmatch(name):
            text = self.formula(inner if ONE_FORMULA.fullmatch(name) else verbatim, inline=False)
        elif VERBATIM.fullmatch(name):
            text = "\n\n```\n" + inner.strip("\n") + "\n```\n\n"
        elif PROGRAM.fullmatch(name):
            self.found.formulas.append(verbatim)
            text = f"\n\n```latex\n{verbatim}\n```\n\n"
        elif DRAWING.fullmatch(name):
            text = ""
        elif name == "thebibliography":
            self.found.bibliography += verbatim
            text = ""
        elif name in LISTS:
            text = self.items(node, numbered="enum" in name)
        elif name in latex_tables.TABULAR:
            text = latex_tables.markdown_table(node.nodelist, self.render)
        else:
            text = self.block(name, node)
        return text

    def block(self, name: str, node: Any) -> str:
        """Floats, the abstract, theorems; of what is left, the content."""
        if name in ("appendix", "appendices"):
            self.begin_appendix()
        before = len(self.found.graphics)
        content = self.render(node.nodelist)
        if name == "abstract":
            return f"\n\n## Abstract\n\n{content.strip()}\n\n"
        if FLOAT.fullmatch(name):
            return self.floated(name, node, content, before)
        if STATEMENT.fullmatch(name):
            title = "".join(f" ({self.render([one])})" for one in _arguments(node) if one is not None)
            return f"\n\n**{name.rstrip('*').capitalize()}{title}.** {content.strip()}\n\n"
        return f"\n\n{content}\n\n" if "\n" in content else content

    def floated(self, name: str, node: Any, content: str, before: int) -> str:
        """A figure or table: its caption named, and given to the graphics within it."""
        word = "Table" if "table" in name else "Figure"
        caption = " ".join(re.findall(r"\*Caption: (.*)\*\n", content))
        self.found.graphics[before:] = [(file, old or caption) for file, old in self.found.graphics[before:]]
        label = re.search(r"\\label\s*\{([^{}]*)\}", node.latex_verbatim())
        head = f"*{word}{f' {label[1]}' if label else ''}: "
        return f"\n\n{content.replace('*Caption: ', head).strip()}\n\n"

    def items(self, node: Any, numbered: bool) -> str:
        """A list, nested lists indented."""
        lines: list[str] = []
        for child in node.nodelist:
            if type(child).__name__ == "LatexMacroNode" and child.macroname == "item":
                label = self.render(_arguments(child))
                lines.append(f"**{label.strip()}** " if label.strip() else "")
            elif lines:
                lines[-1] += self.node(child)
        marks = [f"{number}." if numbered else "-" for number in range(1, len(lines) + 1)]
        shown = [re.sub(r"\n\s*\n", "\n", line.strip()).replace("\n", "\n  ") for line in lines]
        return "\n\n" + "\n".join(f"{mark} {line}" for mark, line in zip(marks, shown, strict=True)) + "\n\n"


def _arguments(node: Any) -> list[Any]:
    given = getattr(node, "nodeargd", None)
    return list(given.argnlist or []) if given is not None else []


def _verbatim(node: Any) -> str:
    """The source of an argument without its own braces."""
    text = str(node.latex_verbatim()).strip() if node is not None else ""
    return text[1:-1] if text[:1] in "{[" and text[-1:] in "}]" and len(text) > 1 else text


def _line(text: str) -> str:
    return " ".join(text.split())

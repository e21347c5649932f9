"""The nodes of pylatexenc's parser as Markdown, macro by macro, environment by environment.

What is not known becomes the text of its arguments, so that no words are lost.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from autoreproduce.papers import latex_tables
from autoreproduce.papers.latex_macros import Macro
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
        environments = [
            EnvironmentSpec(name, argspec) for name, argspec in latex_tables.TAKES.items()
        ]
        self.context = get_default_latex_context_db()
        self.context.add_context_category(
            "papers", macros=specs, environments=environments, prepend=True
        )

    def _of_macro(self) -> dict[str, Callable[[str, list[Any]], str]]:
        """The function that renders each macro, from its name and arguments."""

        def line(arguments: list[Any]) -> str:
            return _one_line(self.last(arguments))

        def joined(name: str, arguments: list[Any]) -> str:
            return JOINED[name].join(map(self.node, arguments[-2:]))

        return {
            **dict.fromkeys(TAKES, lambda _, arguments: self.last(arguments)),
            **dict.fromkeys(DROPPED, lambda _, arguments: ""),
            **dict.fromkeys(SPACES, lambda name, _: "\n\n" if name == "par" else " "),
            **dict.fromkeys(HEADINGS, self.heading),
            **dict.fromkeys(BOLD_HEADS, lambda _, arguments: f"\n\n**{line(arguments)}** "),
            **dict.fromkeys(WRAPS, self.wrapped),
            **dict.fromkeys(CITES, self.citation),
            **dict.fromkeys(CAPTIONS, lambda _, arguments: f"\n\n*Caption: {line(arguments)}*\n\n"),
            **dict.fromkeys(NOTES, lambda _, arguments: f" (footnote: {line(arguments)})"),
            **dict.fromkeys(SYMBOLS, lambda name, _: SYMBOLS[name]),
            **dict.fromkeys(JOINED, joined),
            "textsuperscript": lambda _, arguments: _raised("^", line(arguments)),
            "textsubscript": lambda _, arguments: _raised("_", line(arguments)),
            "ding": lambda _, arguments: DINGS.get(_verbatim(arguments[-1]), ""),
            "appendix": lambda *_: self.begin_appendix(),
            "includegraphics": self.graphic,
            "href": lambda _, arguments: f"[{line(arguments)}]({_verbatim(arguments[0])})",
            "url": lambda _, arguments: _verbatim(arguments[-1]).replace("\\%", "%"),
        }

    def convert(self, latex: str) -> str:
        """Parse and render."""
        from pylatexenc.latexwalker import LatexWalker

        nodes, _, _ = LatexWalker(
            latex, latex_context=self.context, tolerant_parsing=True
        ).get_latex_nodes()
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
            case "LatexSpecialsNode" if node.specials_chars == "~":
                text = " "
            case "LatexSpecialsNode":
                text = str(self.fallback.nodelist_to_text([node]))
            case _:  # a comment
                text = ""
        return text

    def formula(self, verbatim: str, inline: bool) -> str:
        """A formula as it is in the source, in $ or $$."""
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
        # A character: \\'e, \\%, \\S
        if self.fallback.latex_context.get_macro_spec(name) is not None:
            text = str(self.fallback.nodelist_to_text([node]))
            return "" if "\\" in text else text
        return self.render(arguments) + (node.macro_post_space or "")

    def last(self, arguments: list[Any]) -> str:
        """The last argument's Markdown."""
        return self.render(arguments[-1:])

    def heading(self, name: str, arguments: list[Any]) -> str:
        """A section's head."""
        number = ""
        if self.appendix and HEADINGS[name] == 2:  # so that an appendix is recognised
            number, self.appendix = f"Appendix {self.appendix}. ", chr(ord(self.appendix) + 1)
        return f"\n\n{'#' * HEADINGS[name]} {number}{_one_line(self.last(arguments))}\n\n"

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
        """An author's macro replaced by its meaning, which is LaTeX again."""
        self.found.expansions += 1
        if self.depth >= DEEPEST or self.found.expansions > MOST_EXPANSIONS:
            return ""
        self.depth += 1
        try:
            return self.convert(
                macro.filled([None if one is None else _verbatim(one) for one in arguments])
            )
        finally:
            self.depth -= 1

    def citation(self, _: str, arguments: list[Any]) -> str:
        """[key; key], with the citation's note."""
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
        """Floats, the abstract, theorems; of anything else the content."""
        if name in ("appendix", "appendices"):
            self.begin_appendix()
        before = len(self.found.graphics)
        content = self.render(node.nodelist)
        if name == "abstract":
            return f"\n\n## Abstract\n\n{content.strip()}\n\n"
        if FLOAT.fullmatch(name):
            return self.floated(name, node, content, before)
        if STATEMENT.fullmatch(name):
            title = "".join(
                f" ({self.render([one])})" for one in _arguments(node) if one is not None
            )
            return f"\n\n**{name.rstrip('*').capitalize()}{title}.** {content.strip()}\n\n"
        return f"\n\n{content}\n\n" if "\n" in content else content

    def floated(self, name: str, node: Any, content: str, before: int) -> str:
        """A figure or table: its caption named, and given to the graphics within it."""
        word = "Table" if "table" in name else "Figure"
        caption = " ".join(re.findall(r"\*Caption: (.*)\*\n", content))
        self.found.graphics[before:] = [
            (file, old or caption) for file, old in self.found.graphics[before:]
        ]
        for label in latex_tables.caption_labels(node.latex_verbatim()):
            head = f"*{word}{label and ' '}{label}: "
            content = content.replace("*Caption: ", head, 1)
        return f"\n\n{content.strip()}\n\n"

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
        texts = [re.sub(r"\n\s*\n", "\n", line.strip()).replace("\n", "\n  ") for line in lines]
        rows = (f"{mark} {text}" for mark, text in zip(marks, texts, strict=True))
        return "\n\n" + "\n".join(rows) + "\n\n"


def _arguments(node: Any) -> list[Any]:
    given = getattr(node, "nodeargd", None)
    return list(given.argnlist or []) if given is not None else []


def _verbatim(node: Any) -> str:
    """The source of an argument without its own braces."""
    text = str(node.latex_verbatim()).strip() if node is not None else ""
    return text[1:-1] if text[:1] in "{[" and text[-1:] in "}]" and len(text) > 1 else text


def _raised(sign: str, text: str) -> str:
    """Text above or below the line: 94.3^2 is another number than 94.32, but 1st is a word."""
    if not text or text in ("st", "nd", "rd", "th"):
        return text
    return f"{sign}{text}" if len(text) == 1 else f"{sign}{{{text}}}"


def _one_line(text: str) -> str:
    return " ".join(text.split())

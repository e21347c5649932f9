"""The macros that an author defines, so that text keeps its words and formulas can be read.

In text a macro is replaced by its meaning (\\ours becomes the method's name). In formulas it stays
as written, and the definitions of those used are listed at the end of the paper.
"""

import re
from dataclasses import dataclass

_HEAD = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand)\s*\*?\s*"
    r"(?:\{\s*\\([A-Za-z@]+)\s*\}|\\([A-Za-z@]+))\s*(?:\[(\d)\])?\s*(\[[^\]]*\])?\s*(?=\{)"
    r"|\\(?:long\s*)?[egx]?def\s*\\([A-Za-z@]+)\s*((?:#\d)*)\s*(?=\{)"
    r"|\\DeclareMathOperator\s*(\*?)\s*\{\s*\\([A-Za-z@]+)\s*\}\s*(?=\{)"
)
_NAME = re.compile(r"\\([A-Za-z@]+)")


@dataclass(frozen=True)
class Macro:
    """A definition: `arguments` in number, the first optional where `default` is not None."""

    name: str
    body: str
    arguments: int = 0
    default: str | None = None

    @property
    def argspec(self) -> str:
        """As pylatexenc writes it: [ optional, { mandatory."""
        first = "[" if self.default is not None and self.arguments else ""
        return first + "{" * (self.arguments - len(first))

    def filled(self, values: list[str | None]) -> str:
        """The body with the arguments put in."""
        full = [self.default or "" if value is None else value for value in values]
        return re.sub(
            r"#(\d)",
            lambda found: full[int(found[1]) - 1] if 0 < int(found[1]) <= len(full) else "",
            self.body,
        )


def braced(text: str, position: int) -> tuple[str, int] | None:
    """The content of the group that opens at `position`, and its end; None if it never closes."""
    depth = 0
    for found in re.compile(r"\\.|[{}]", re.S).finditer(text, position):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return text[position + 1 : found.start()], found.end()
    return None


def definitions(text: str) -> tuple[dict[str, Macro], str]:
    """The macros that `text` defines, and the text without the definitions."""
    macros: dict[str, Macro] = {}
    rest, position = [], 0
    while found := _HEAD.search(text, position):
        group = braced(text, found.end())
        if group is None:
            break
        body, end = group
        rest.append(text[position : found.start()])
        position = end
        macro = _macro(found, body)
        if not re.search(rf"\\{macro.name}(?![A-Za-z@])", body):  # its own name would never end
            macros[macro.name] = macro
    rest.append(text[position:])
    return macros, "".join(rest)


def _macro(found: re.Match[str], body: str) -> Macro:
    if found[8]:
        return Macro(found[8], rf"\operatorname{found[7]}{{{body}}}")
    if found[5]:
        return Macro(found[5], body, arguments=found[6].count("#"))
    default = found[4][1:-1] if found[4] else None
    return Macro(found[1] or found[2], body, arguments=int(found[3] or 0), default=default)


def with_environments(text: str, macros: dict[str, Macro]) -> str:
    """Replace macros that open or close an environment (\\be for \\begin{equation}).

    A parser must see both ends.
    """
    opening = {
        name: macro.body
        for name, macro in macros.items()
        if not macro.arguments and (r"\begin{" in macro.body) != (r"\end{" in macro.body)
    }
    if not opening:
        return text
    names = "|".join(sorted(map(re.escape, opening), key=len, reverse=True))
    return re.sub(rf"\\({names})(?![A-Za-z@])", lambda found: opening[found[1]] + " ", text)


def used_in(formulas: list[str], macros: dict[str, Macro]) -> list[Macro]:
    """The macros that the formulas name, and those that these name, in order of the alphabet."""
    needed: set[str] = set()
    waiting = [name for formula in formulas for name in _NAME.findall(formula)]
    while waiting:
        name = waiting.pop()
        if name in macros and name not in needed:
            needed.add(name)
            waiting += _NAME.findall(macros[name].body)
    return [macros[name] for name in sorted(needed)]

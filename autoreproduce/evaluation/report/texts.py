"""Long texts for a page: output folded to head and tail, Markdown rendered without anything active.

Everything here was written by a program or a model. Markdown becomes HTML with raw HTML turned off,
images turned off (a picture's address would be a request), and formulas left as they were written.
"""

from __future__ import annotations

import difflib
import html
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from autoreproduce.evaluation.report.wording import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

MARKDOWN_LIMIT = 60_000
WIDTH = 400  # characters of a line that is shown
_MATH = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))


@dataclass(frozen=True)
class Folded:
    """A text cut in the middle: `missing` lines lie between `head` and `tail`."""

    head: str
    tail: str
    missing: int
    total: int


@dataclass(frozen=True)
class DiffLine:
    """One line of a diff; `kind` is add, del, hunk, file or same."""

    kind: str
    text: str


def fold(text: str, head: int = 30, tail: int = 50) -> Folded:
    """Head and tail of a text, each line cut at WIDTH characters."""
    lines = (
        [cut(line, WIDTH) for line in clean(text).rstrip("\n").split("\n")] if text.strip() else []
    )
    if len(lines) <= head + tail:
        return Folded("\n".join(lines), "", 0, len(lines))
    return Folded(
        "\n".join(lines[:head]), "\n".join(lines[-tail:]), len(lines) - head - tail, len(lines)
    )


def cut(line: str, width: int) -> str:
    """A line of at most `width` characters, and how many more there were."""
    return (
        line if len(line) <= width else f"{line[:width]} … ({len(line) - width:,} more characters)"
    )


def between(old: str, new: str) -> list[DiffLine]:
    """The unified diff of two texts."""
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2))
    return diff_lines("\n".join(lines[2:]))  # without the two lines that name files


def diff_lines(diff: str, limit: int = 400) -> list[DiffLine]:
    """The lines of a unified diff, sorted by kind; those beyond `limit` are counted, not shown."""
    lines = clean(diff).rstrip("\n").split("\n") if diff.strip() else []
    shown = [
        DiffLine(_diff_line_kind(line), cut(line, 300))
        for line in lines
        if not _is_git_header(line)
    ]
    rest = len(shown) - limit
    return [*shown[:limit], DiffLine("hunk", f"… {rest:,} more lines")] if rest > 0 else shown


def _is_git_header(line: str) -> bool:
    return line.startswith(
        ("index ", "--- ", "new file mode", "deleted file mode", "old mode", "new mode")
    )


def _diff_line_kind(line: str) -> str:
    if line.startswith(("diff --git", "+++ ")):
        return "file"
    return {"+": "add", "-": "del", "@": "hunk"}.get(line[:1], "same")


def markdown(text: str) -> str:
    """`text` as HTML that fetches nothing and runs nothing."""
    cleaned = clean(text)
    rest = len(cleaned) - MARKDOWN_LIMIT
    if rest > 0:
        cleaned = f"{cleaned[:MARKDOWN_LIMIT]}\n\n… {rest:,} more characters"
    return str(_renderer().render(cleaned))  # the renderer escapes all HTML


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    renderer = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    renderer.inline.ruler.before("escape", "math", _math_rule)
    renderer.add_render_rule("math", _render_math)
    for part in ("heading_open", "heading_close"):
        renderer.add_render_rule(part, _render_heading)
    return renderer


def _math_rule(state: StateInline, silent: bool) -> bool:
    """A formula in dollars or LaTeX brackets as one token, so that its signs stay."""
    for opening, closing in _MATH:
        if not state.src.startswith(opening, state.pos):
            continue
        start = state.pos + len(opening)
        end = state.src.find(closing, start, start + 2000)
        if end <= start or (opening == "$" and _is_price(state.src[start:end])):
            continue
        if not silent:
            state.push("math", "code", 0).content = state.src[start:end]
        state.pos = end + len(closing)
        return True
    return False


def _is_price(text: str) -> bool:
    """Dollars around "5 and " are money: a formula has no blank at its ends."""
    return text != text.strip() or "\n\n" in text


def _render_math(_self: object, tokens: list, index: int, *_rest: object) -> str:  # type: ignore[type-arg]
    return f'<code class="math">{html.escape(tokens[index].content.strip())}</code>'


def _render_heading(_self: object, tokens: list, index: int, *_rest: object) -> str:  # type: ignore[type-arg]
    """A heading of a text inside the page is below the page's own headings."""
    level = min(int(tokens[index].tag[1]) + 3, 6)
    return f"<{'/' if tokens[index].nesting < 0 else ''}h{level}>"

"""Renders the templates of `prompts/`: Jinja2; an undefined name is an error, nothing is escaped.

A template is one user message. `prompts/system.md` is the system message of every call, the same
for both agents, so that the beginnings of all prompts of a trial agree and a provider's prompt
cache finds them: what never changes comes first (system, paper, task), then what a phase adds, and
what is asked comes last.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

from autoreproduce.agents.listing import number
from autoreproduce.config import digest
from autoreproduce.content import folder
from autoreproduce.errors import UsageError


class Prompts:
    """The templates below one folder (the shipped ones, or the user's own copy).

    `after` is a folder whose templates serve if the first has none of that name.
    """

    def __init__(self, root: Path | None = None, after: Path | None = None) -> None:
        self.root = root or folder("prompts")
        self.after = after
        self._environment = _environment(self.root, after)

    def render(self, name: str, **variables: Any) -> str:
        """The text of `name` (without .md). Raises UsageError if the template is missing or
        wrong.
        """
        try:
            return self._environment.get_template(f"{name}.md").render(**variables).strip() + "\n"
        except TemplateError as error:
            raise UsageError(
                f"prompt {self.root / name}.md: {error.message or error}", fix="fix the template"
            ) from error

    def digest(self) -> str:
        """A digest of every template's text, for the trial's record."""
        texts: dict[str, str] = {}
        for root in filter(None, (self.after, self.root)):
            found = {str(p.relative_to(root)): p.read_text() for p in sorted(root.rglob("*.md"))}
            texts |= found
        return digest(texts)


@cache
def _environment(root: Path, after: Path | None) -> Environment:
    """One for all trials: a template is compiled once, and again if its file changes."""
    made = Environment(
        loader=FileSystemLoader([root, *([after] if after else [])]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    made.filters["number"] = number
    return made

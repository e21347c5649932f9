"""Renders the templates of `prompts/`: Jinja2; an undefined name is an error, nothing is escaped.

A template is one user message. `prompts/system.md` is the system message of every call, the same
for both agents, so that the beginnings of all prompts of a trial agree and a provider's prompt
cache finds them: what never changes comes first (system, paper, task), then what a phase adds, and
what is asked comes last.

A paper that does not fit into the model's context is shortened to the passages nearest to what is
asked. Tokens are counted roughly and rather too many, by the same rule on every machine: what
decides a prompt's content must not differ between two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, pass_context
from jinja2.runtime import Context

from autoreproduce.agents.listing import number
from autoreproduce.claims.headline import headline_of
from autoreproduce.config import digest
from autoreproduce.content import folder
from autoreproduce.errors import ContextError, UsageError
from autoreproduce.models.tokens import rough_tokens
from autoreproduce.papers.passages import nearest_of, split_evenly


class Withholds(Protocol):
    """Withholds results from what a prompt shows, as `claims.withholding` does."""

    def shown(self, text: str, where: str) -> str:
        """`text` as it's put into what `where` names."""


class Own(str):
    """A text that the agent or its program made: nothing is withheld from it (filter `own`)."""


class Prompts:
    """The templates below one folder (the shipped ones, or the user's own copy).

    `after` is a folder whose templates serve if the first has none of that name.
    """

    def __init__(self, root: Path | None = None, after: Path | None = None) -> None:
        self.root = root or folder("prompts")
        self.after = after
        self._environment = _environment(self.root, after)

    def render(self, name: str, **variables: Any) -> str:
        """The text of `name` (without .md); each text that the template puts in passes through
        `withhold`, if it's among the variables. Raises UsageError if the template is missing or
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
        finalize=_without_results,
    )
    made.filters |= {"number": lambda text: Own(number(text)), "counted": counted, "own": Own}
    made.filters["headline"] = lambda claims, task: headline_of(claims, task.metric)
    return made


@pass_context
def _without_results(context: Context, value: Any) -> Any:
    """What a template puts in at one place, as whoever reads the prompt may see it."""
    withhold: Withholds | None = context.get("withhold")
    if withhold is None or not isinstance(value, str) or isinstance(value, Own):
        return value
    return withhold.shown(value, f"the prompt {context.name}".removesuffix(".md"))


def counted(amount: float, noun: str) -> str:
    """ "1 core", "2 cores"."""
    return f"{amount:g} {noun}" if amount == 1 else f"{amount:g} {noun}s"


LEAST_OF_PAPER = 500  # tokens: with less of it no question on a paper can be answered
BYTES_A_TOKEN = 3  # as `rough_tokens` counts
SPARE = 0.95  # the marks of what is left out take the rest
SHORTENED = (
    "(The paper is longer than what can be read at once. These are the passages nearest to what is "
    "asked; […] stands for what is left out.)\n\n"
)


def fitting_prompt(render: Callable[[str], str], paper: str, most: int) -> tuple[str, float]:
    """The prompt that `render` makes with as much of `paper` as `most` tokens have room for, and
    the share of the paper in it.

    Raises ContextError if the rest of the prompt leaves it no room.
    """
    whole = render(paper)
    if rough_tokens(whole) <= most:
        return whole, 1.0
    rest = render(SHORTENED)
    room = most - rough_tokens(rest)
    if room < LEAST_OF_PAPER:
        raise ContextError(
            f"the prompt takes about {rough_tokens(rest):,} tokens without the paper, of {most:,} "
            "that --context-tokens leaves it beside the reply",
            fix="use a model with a larger context, fewer cited papers (--k), or less output "
            "(--max-output-tokens)",
        )
    characters = len(paper) / max(1, len(paper.encode("utf-8", "replace")))
    room = round(SPARE * room * BYTES_A_TOKEN * characters)
    near = nearest_of(split_evenly(paper), rest, room)
    return render(SHORTENED + near), len(near) / len(paper)

"""A prompt that fits into the model's context: the paper in it is shortened to the passages nearest
to what is asked.

Tokens are counted roughly and rather too many, by the same rule on every machine: what decides a
prompt's content must not differ between two.
"""

from __future__ import annotations

from collections.abc import Callable

from autoreproduce.errors import ContextError
from autoreproduce.models.tokens import rough_tokens
from autoreproduce.papers.passages import nearest_of, split_evenly

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

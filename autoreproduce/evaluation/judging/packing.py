"""Packs programs into a judge's prompt: numbered, whole if they fit, else by relevance.

What is left out is named to the judge and in the score: a judge that was not shown the training
loop must not be read as one that found it missing.
"""

import re
from dataclasses import dataclass, field

from autoreproduce.evaluation.judging.blind import Blind, BlindFile
from autoreproduce.models.tokens import rough_tokens

LONGEST = 400  # characters of one line; what is longer is data
_TELLS = re.compile(
    r"nn\.Module|optim\.|\.backward\(|DataLoader|loss|def forward|torch|\bepochs?\b"
    r"|jax|keras|sklearn",
    re.IGNORECASE,
)
_SIDE = re.compile(r"(^|/)(tests?|docs?|examples?|setup|scripts?|plot|vis)[^/]*", re.IGNORECASE)


@dataclass(frozen=True)
class Packed:
    """`text` as the judge sees it; `left_out`: paths that did not fit, the most relevant first."""

    text: str
    left_out: list[str] = field(default_factory=list)


def pack(program: Blind, limit: int) -> Packed:
    """The program's files as numbered listings within `limit` tokens, by relevance."""
    shown, left_out, room = dict[str, str](), [], limit
    for file in sorted(program.files, key=relevance, reverse=True):
        listing = _listing(file)
        cost = rough_tokens(listing)
        if cost <= room:
            shown[file.name] = listing
            room -= cost
        else:
            left_out.append(file.original)
    text = "\n\n".join(shown[file.name] for file in program.files if file.name in shown)
    return Packed(text or "(no code)", left_out)


def relevance(file: BlindFile) -> tuple[int, float, int]:
    """The key by which files are packed: code before configuration, core before side work.

    Then what looks more like training comes first.
    """
    code = 2 * int(file.original.endswith(".py")) + int(not _SIDE.search(file.original))
    return code, float(len(_TELLS.findall(file.text))), -len(file.text)


def _listing(file: BlindFile) -> str:
    lines = [
        (n, _shortened(line)) for n, line in enumerate(file.text.split("\n"), 1) if line.strip()
    ]
    return "\n".join([f"=== {file.name} ===", *(f"{n:>4}|{line}" for n, line in lines)])


def _shortened(line: str) -> str:
    if len(line) <= LONGEST:
        return line
    return f"{line[:LONGEST]} … ({len(line) - LONGEST} more characters)"

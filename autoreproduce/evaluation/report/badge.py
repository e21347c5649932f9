"""A badge and one line for a repository's README, with the digest of the trial behind them."""

import html
from pathlib import Path

from autoreproduce.claims.verdicts.overall import verdict_title
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.report.evidence import Evidence, gather
from autoreproduce.evaluation.report.headline import headline
from autoreproduce.evaluation.report.wording import clean
from autoreproduce.trials.chain import chain_warning
from autoreproduce.trials.journal import write_whole

NAME = "badge.svg"
CHARACTER, PAD = 6.6, 7.0  # of 11 px Verdana, as wide as such letters are on average
COLOURS = {"good": "#1b6b41", "mixed": "#805300", "bad": "#a3262c", "open": "#4b5563"}
LEFT = "reproduction"
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{whole:.0f}" height="20" role="img" '
    'aria-label="{left}: {right}"><title>{left}: {right}</title>'
    '<rect width="{whole:.0f}" height="20" rx="3" fill="#3b3f46"/>'
    '<path d="M{split:.0f} 0h{rest:.0f}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{split:.0f}z" '
    'fill="{colour}"/>'
    '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" '
    'font-size="11"><text x="{middle:.1f}" y="14">{left}</text>'
    '<text x="{other:.1f}" y="14">{right}</text></g></svg>\n'
)


def write_badge(folder: Path) -> str:
    """Write badge.svg into a trial's folder; the Markdown that shows it, in one line.

    Raises UsageError for a trial without an outcome, or one that was altered since.
    """
    found = gather(folder, versions=False)
    outcome = found.outcome
    if outcome is None or not outcome.seal:
        raise UsageError(
            f"{folder} holds no trial that has ended", fix="finish it: autoreproduce resume FOLDER"
        )
    if altered := chain_warning(folder):
        raise UsageError(altered, fix="make the badge of a trial as it ended")
    task = found.task()
    first, right = headline(found, task), _word(found)
    write_whole(folder / NAME, _svg(right, COLOURS[first.level]))
    paper = (task.title or task.id) if task is not None else found.paper.get("title", "")
    line = " ".join(clean(f"{paper}: {first.sentence}" if paper else first.sentence).split())
    line = line.replace("<", "&lt;").replace("[", "\\[")
    return f"![{LEFT}: {right}]({NAME}) {line} (autoreproduce, trial {outcome.seal[:12]})"


def _word(found: Evidence) -> str:
    """What came of it in a few words."""
    whole = found.verdict.overall if found.verdict is not None else None
    if whole is not None and whole.counted > 1 and whole.word != "not comparable":
        return f"{whole.reproduced} of {whole.counted} numbers"
    outcome = found.outcome
    word = outcome.verdict or outcome.status if outcome is not None else ""
    return verdict_title(word)


def _svg(right: str, colour: str) -> str:
    split = len(LEFT) * CHARACTER + 2 * PAD
    width = len(right) * CHARACTER + 2 * PAD
    return SVG.format(
        whole=split + width,
        split=split,
        rest=width - 3,
        colour=colour,
        left=LEFT,
        right=html.escape(right),
        middle=split / 2,
        other=split + width / 2,
    )

"""Reads a journal's file: its steps, whether its chain holds, and where it is damaged."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from autoreproduce.errors import TrialError
from autoreproduce.files.shared import read_plain
from autoreproduce.trials.chain import LARGEST, altered, chained, first_link
from autoreproduce.trials.steps import Step

NEW_TRIAL = "start a new trial with --out"


class ParsedJournal(NamedTuple):
    """A journal that was read: its steps up to the first damage, the chain's last link, where the
    chain breaks ("" where it holds), and the error at the damage (None where there is none).
    """

    steps: list[Step]
    link: str
    broken: str
    damage: TrialError | None


def load_journal(path: Path, repair: bool = False) -> ParsedJournal:
    """The steps of a journal and whether its chain holds.

    A torn last line is left out (`repair` removes it). Raises TrialError for any other damage.
    """
    if not path.exists():
        return ParsedJournal([], first_link(path.parent), "", None)
    data = read_plain(path, LARGEST)
    *lines, torn = data.split(b"\n")  # after the last line break: nothing, or an unfinished line
    if torn and repair:
        os.truncate(path, len(data) - len(torn))
    parsed = parse_journal(lines, path)
    if parsed.damage:
        raise parsed.damage
    return parsed


def parse_journal(lines: Iterable[bytes], path: Path) -> ParsedJournal:
    """The steps of whole lines, up to the first that is damaged; `path` is where they are from."""
    steps: list[Step] = []
    link, broken = first_link(path.parent), ""
    try:
        for line, now_link, holds in chained(lines, link):
            steps.append(Step.model_validate_json(line))
            link, broken = now_link, broken or ("" if holds else altered(len(steps)))
    except ValidationError as error:
        return ParsedJournal(steps, link, broken, _damage(path, len(steps), error))
    return ParsedJournal(steps, link, broken, None)


def read_journal(path: Path) -> list[Step]:
    """The steps of a journal, whether its chain holds or not. Raises TrialError for a damaged
    line.
    """
    return load_journal(path).steps


def _damage(path: Path, whole: int, error: ValidationError) -> TrialError:
    """The error for the line after the first `whole` ones."""
    first = error.errors()[0]
    return TrialError(
        f"{path}, line {whole + 1} is damaged ({first['msg']}). The {whole} steps before it are "
        "whole",
        fix=f"to resume from them, cut the file after its first {whole} lines (head -n)",
    )

"""Escape sequences in what a program or a server wrote, on the way to the terminal."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from autoreproduce import Score
from autoreproduce.cli.console.scores import print_scores
from autoreproduce.evaluation.tables.model import Table
from autoreproduce.evaluation.tables.write import markdown
from autoreproduce.runner.api_results import note_to_stderr

OWNED = "\x1b]0;owned\x07\x1b[2Jhello\x9b2J"


def is_plain(text: str) -> bool:
    """True without escapes and controls."""
    return "hello" in text and not {"\x1b", "\x07", "\x9b"} & set(text)


@pytest.mark.slow
def test_an_error_line_holds_no_escapes() -> None:
    command = [sys.executable, "-m", "autoreproduce", "score", f"missing{OWNED}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 2 and "missinghello" in done.stderr, done.stderr
    assert is_plain(done.stdout + done.stderr)


def test_scores_notes_and_tables_hold_no_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    reason = Score(scorer="execution", value=None, reason=OWNED)
    one = SimpleNamespace(
        folder=Path("trial"), scores=[reason], page=Path("scores.html"), sentence=OWNED
    )
    print_scores(one, as_json=False)
    assert is_plain(capsys.readouterr().out)
    note_to_stderr(OWNED)
    assert is_plain(capsys.readouterr().err)
    assert is_plain(markdown(Table("t", "t", ["reason"], [[OWNED]], [OWNED])))

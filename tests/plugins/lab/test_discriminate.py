"""The command that measures a task's altered programs."""

from typer.testing import CliRunner

from autoreproduce.cli.app import app
from autoreproduce.errors import UsageError


def test_an_unknown_program_is_one_line(tmp_path):
    flags = ["--program", "none", f"--runs-dir={tmp_path}", "--seeds", "0"]
    done = CliRunner().invoke(app, ["bench", "discriminate", "lsm", *flags])
    assert isinstance(done.exception, UsageError)
    assert "lsm has no program none: it has reference, mistake-1, core removed" in str(
        done.exception
    )
    assert not list(tmp_path.iterdir())

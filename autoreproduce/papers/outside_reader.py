"""A PDF reader that is a program of its own: found, run within its time, ended with its workers."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from autoreproduce.content import install_command
from autoreproduce.errors import PaperError, UsageError

LONGEST = 3600.0  # seconds: a hundred pages by models, without a GPU


def find_program(program: str) -> str | None:
    """The path of `program` beside this Python, or on PATH: it may be in an environment of its
    own.
    """
    beside = str(Path(sys.executable).parent)
    return shutil.which(program, path=os.pathsep.join([beside, os.environ.get("PATH", "")]))


def program_path(program: str, reader: str, extra: str) -> str:
    """The path of a reader's program. Raises UsageError if it is not installed."""
    found = find_program(program)
    if not found:
        raise UsageError(
            f"{reader} is not installed (no {program} beside this Python or on PATH)",
            fix=f"{install_command(extra)}, or read the PDF directly with --pdf-reader own",
        )
    return found


def run_reader(command: list[str], reader: str, pdf: Path, log: Path) -> None:
    """Run a reader on `pdf`; what it prints goes to `log`. Raises PaperError if it fails, or does
    not finish within LONGEST seconds.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            raise PaperError(
                f"{reader} did not finish {pdf} in {LONGEST:.0f} s", fix="try --pdf-reader own"
            ) from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                # It starts workers, which outlive an interrupted parent.
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if code != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        reason = (lines or ["no message"])[-1].strip()[:200]
        raise PaperError(f"{reader} could not read {pdf} ({reason})", fix="try --pdf-reader own")

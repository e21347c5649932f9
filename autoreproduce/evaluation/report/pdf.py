"""report.pdf: the page as a browser prints it."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from autoreproduce.errors import UsageError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LONGEST = 120  # seconds
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
    "--no-pdf-header-footer",
)


def write_pdf(page: Path) -> Path:
    """Print an HTML page beside it and return the PDF's path.

    Raises UsageError without a browser, and if it prints nothing.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise UsageError(
            "a PDF is printed by Chromium or Chrome, and neither is on the path",
            fix="install one (apt-get install chromium), or print report.html from any browser",
        )
    made = page.with_suffix(".pdf")
    made.unlink(missing_ok=True)
    # a browser that root starts has no sandbox; the page itself runs nothing but its own script
    flags = (*FLAGS, "--no-sandbox") if os.geteuid() == 0 else FLAGS
    with tempfile.TemporaryDirectory(prefix="autoreproduce-pdf-") as profile:
        command = [browser, *flags, f"--user-data-dir={profile}", f"--print-to-pdf={made}"]
        try:
            ran = subprocess.run(
                [*command, page.resolve().as_uri()],
                check=False,
                capture_output=True,
                timeout=LONGEST,
            )
            said = ran.stderr.decode("utf-8", "replace").strip()
        except (OSError, subprocess.TimeoutExpired) as error:
            said = str(error)
    if not made.is_file():
        last = said.rpartition("\n")[2][:200] or "it said nothing"
        raise UsageError(
            f"{browser} printed no PDF ({last})", fix="print report.html from any browser"
        )
    return made

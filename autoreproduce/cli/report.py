"""The commands `report` and `badge`: a finished trial's page again, and its mark in a README."""

import html
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autoreproduce.claims.verdicts.overall import verdict_title
from autoreproduce.cli.help import CommandApp
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.report.evidence import Evidence, gather
from autoreproduce.evaluation.report.headline import headline
from autoreproduce.evaluation.report.wording import clean
from autoreproduce.extensions import found_at, table
from autoreproduce.trials.chain import chain_warning
from autoreproduce.trials.journal import write_whole
from autoreproduce.trials.trial import read_record

if TYPE_CHECKING:
    from autoreproduce.trials.trial import Trial

app = CommandApp()


@app.command()
def report(
    *,
    folder: Annotated[Path, typer.Argument(help="a trial's or suite's folder")],
    pdf: Annotated[
        bool, typer.Option("--pdf", help="also make a PDF of a trial's, with Chromium")
    ] = False,
    issue: Annotated[
        bool, typer.Option("--issue", help="print where code and paper differ, as Markdown")
    ] = False,
    sarif: Annotated[
        Path | None, typer.Option("--sarif", help="also write the differences for code hosts")
    ] = None,
) -> None:
    """Write a trial's report again, or a suite's static site.

    A trial's report.html is one file that needs no other: mail it as it is. A suite's index.html
    links its trials' reports: send them too.
    """
    from autoreproduce.trials.folders import trials_below

    if trials_below(folder) not in ([], [folder]):
        if pdf:
            raise UsageError("--pdf prints a trial's report", fix="name a trial's folder")
        if (place := table("api").get("write_site")) is None:
            raise UsageError(f"{folder} isn't a trial's folder", fix="name one, or install tables")
        print(found_at(place)(folder))
        return
    from autoreproduce.evaluation.report import write_report
    from autoreproduce.trials.trial import Trial

    trial = Trial.read(folder)
    record = trial.record
    if issue or sarif is not None:
        _write_differences(trial, issue, sarif)
        return
    page = write_report(folder, record.stored_task())
    print(page)
    if pdf:
        print(write_pdf(page))


def _write_differences(trial: "Trial", issue: bool, sarif_file: Path | None) -> None:
    """The audit's differences, printed as an issue's text or written as SARIF."""
    from autoreproduce.evaluation.report.audit_page import issue_markdown, sarif

    result = trial.result
    if result is None or result.audit is None:
        raise UsageError(
            f"{trial.folder} has no audit: code and paper weren't compared",
            fix="verify the code with a model: autoreproduce verify CODE --paper FILE --model NAME",
        )
    if sarif_file is not None:
        if sarif_file.is_dir() or not sarif_file.parent.is_dir():
            raise UsageError(
                f"--sarif {sarif_file} cannot be written",
                fix="name a file in a folder that's there",
            )
        write_whole(sarif_file, sarif(result))
        print(sarif_file)
    if issue:
        title = trial.record.job.of_task.title or trial.record.task
        print(issue_markdown(result, str(title)) or "No difference was found.")


@app.command()
def badge(*, folder: Annotated[Path, typer.Argument(help="a trial's folder")]) -> None:
    """Write a trial's badge.svg, and print its line for a README."""
    line = write_badge(folder)
    typer.echo(f"The picture is {folder / NAME}: copy it beside the README.", err=True)
    print(line)


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
    outcome = found.result
    if outcome is None or not outcome.seal:
        with suppress(FileNotFoundError):  # no trial at all
            read_record(folder)  # raises, of an earlier version's folder, what it is
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
    outcome = found.result
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

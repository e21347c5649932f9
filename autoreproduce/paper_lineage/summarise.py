"""One call for each cited paper: our summary of it, and which repository of those it names is its own.

The model names the repository, the text decides: a URL that does not stand in the paper is not followed.
"""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.errors import AutoReproduceError, PaperError
from autoreproduce.paper_lineage.extract import extract, repositories, repository_url, same_repository

if TYPE_CHECKING:
    from autoreproduce.agents import Agent
    from autoreproduce.config import Settings
    from autoreproduce.paper_lineage.locate import Found
    from autoreproduce.trial import Trial

SECONDS = 180.0  # of a download
LARGEST = 50 * 2**20  # bytes of it
URLS = 12  # repositories of one paper that the agent is shown


def read_cited(found: Found, trial: Trial, settings: Settings) -> dict[str, Any]:
    """{extract, urls: {url: context}} of the cited paper's text, or {error}. The text itself is not kept."""
    asked = {"arxiv_id": found.arxiv_id, "pdf": found.pdf}
    return trial.step("fetch", "network", "lineage/read", asked, lambda: _read(found, settings)).result


def _read(found: Found, settings: Settings) -> dict[str, Any]:
    try:
        with tempfile.TemporaryDirectory() as folder:
            text, body = _text_of(found, settings, Path(folder))
    except (AutoReproduceError, OSError) as error:
        return {"error": f"its text could not be read: {error}"}
    urls = dict(list(repositories(text).items())[:URLS])
    return {"extract": extract(body), "urls": urls}


def _text_of(found: Found, settings: Settings, folder: Path) -> tuple[str, str]:
    """The whole text, and the text without what a reproduction does not need."""
    from autoreproduce import papers

    if found.arxiv_id:
        paper = papers.read_arxiv_text(settings, found.arxiv_id, folder)
        return paper.text, paper.body
    from autoreproduce.papers.pdf import read_pdf

    download(str(found.pdf), folder / "paper.pdf")
    _, text, _ = read_pdf(folder / "paper.pdf", folder / "figures")
    return text, text


def download(url: str, target: Path) -> None:
    """An open PDF from wherever Semantic Scholar says. Raises PaperError; the time and the size are limited."""
    import httpx

    ends, length = time.monotonic() + SECONDS, 0
    try:
        with httpx.stream("GET", url, timeout=30, follow_redirects=True) as response, target.open("wb") as file:
            response.raise_for_status()
            for chunk in response.iter_bytes():
                length += len(chunk)
                if length > LARGEST or time.monotonic() > ends:
                    raise PaperError(f"{url} is over {LARGEST >> 20} MB or took over {SECONDS:.0f} s")
                file.write(chunk)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise PaperError(f"{url} cannot be fetched ({str(error).splitlines()[0] or type(error).__name__})") from error


def summarise(title: str, read: dict[str, Any], research: Agent) -> tuple[str, str | None, str]:
    """Our summary, the repository's URL or None, and where it is None the reason."""
    urls: dict[str, str] = read["urls"]
    reply = research.ask("lineage/summarise", title=title, extract=read["extract"], urls=list(urls.items()))
    summary, named = split_reply(reply)
    if not named or named.lower().startswith("none"):
        return summary, None, "its text names no repository of its own"
    url = repository_url(named)
    known = next((u for u in urls if url and same_repository(u, url)), None)
    if known is None:
        return (
            summary,
            None,
            f"the repository that the model named ({named[:100]}) does not stand in the paper",
        )
    return summary, known, ""


def split_reply(reply: str) -> tuple[str, str]:
    """The summary, and what follows the last `REPOSITORY:`, "" where the line is missing."""
    lines = list(re.finditer(r"^[*_`\s]*REPOSITORY[*_`]*:[*_`\s]*(.*)$", reply, re.MULTILINE | re.IGNORECASE))
    if not lines:
        return reply.strip(), ""
    last = lines[-1]
    return (reply[: last.start()] + reply[last.end() :]).strip(), last.group(1).strip(" <>`*_")

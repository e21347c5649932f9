"""From a reference to a paper that can be read: arXiv first, then Semantic Scholar.

Whatever answers, its title must be the reference's before anything is downloaded: arXiv's search
always answers with something. Every look-up is a step of the trial, its failures included.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError

from autoreproduce.errors import AutoReproduceError, PaperError
from autoreproduce.files.bounded import parse_json
from autoreproduce.method.paper_lineage.matching import same_paper

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoreproduce.config import Settings
    from autoreproduce.papers import Reference
    from autoreproduce.papers.arxiv_client import ArxivEntry
    from autoreproduce.trials.trial import Trial

SECONDS = 30.0  # of one request to Semantic Scholar
LARGEST = 4 * 2**20  # bytes of an answer
MAX_ATTEMPTS = 3
LONGEST_WAIT = 10.0  # seconds between attempts, whatever Retry-After asks for
FIELDS = "title,year,authors,externalIds,openAccessPdf"


class LocatedPaper(BaseModel):
    """Where a paper can be read: `pdf` is the address of an open copy if it is not on arXiv."""

    title: str
    arxiv_id: str | None = None
    year: int | None = None
    pdf: str | None = None
    how: str = ""


class Lookup(BaseModel):
    """What one service answered: the paper, or why it was not found there."""

    found: LocatedPaper | None = None
    error: str = ""


def locate(reference: Reference, trial: Trial, settings: Settings) -> LocatedPaper | str:
    """Where the referenced paper can be read, or the reason why it cannot."""
    title = reference.title or reference.text
    asked = {"title": title, "arxiv_id": reference.arxiv_id}
    first = trial.fetch(Lookup, "lineage/arxiv", asked, lambda: _arxiv(reference, settings))
    if first.found:
        return first.found
    second = trial.fetch(
        Lookup,
        "lineage/semantic_scholar",
        {"title": title},
        lambda: _semantic_scholar(reference, settings),
    )
    return second.found or f"{first.error}; {second.error}"


def _arxiv(reference: Reference, settings: Settings) -> Lookup:
    """By the id that the reference names, else by title."""
    from autoreproduce.papers import arxiv_client

    wanted = reference.title or reference.text
    answered = "it does not know the title"
    searches: list[Callable[[], list[ArxivEntry]]] = [
        lambda: arxiv_client.search_title(settings, wanted)
    ]
    if arxiv_id := reference.arxiv_id:
        searches.insert(0, lambda: [arxiv_client.by_id(settings, arxiv_id)])
    for search in searches:
        try:
            entries = search()
        except AutoReproduceError as error:
            answered = error.what  # its fix is for the paper that a user names
            continue
        for entry in entries:
            if same_paper(wanted, entry.title, entry.authors, reference.text):
                return Lookup(found=_on_arxiv(entry))
        if entries:
            answered = f"it answered with {entries[0].title!r}"
    return Lookup(error=f"not found on arXiv ({answered})")


def _on_arxiv(entry: ArxivEntry) -> LocatedPaper:
    year = int(entry.published[:4]) if entry.published[:4].isdigit() else None
    return LocatedPaper(title=entry.title, arxiv_id=entry.arxiv_id, year=year, how="arXiv")


def _semantic_scholar(reference: Reference, settings: Settings) -> Lookup:
    """The best match of Semantic Scholar's title search, if its title is the reference's."""
    title = reference.title or reference.text
    try:
        answer = get_json(
            f"{settings.papers.semantic_scholar_api}/paper/search/match",
            {"query": title, "fields": FIELDS},
        )
    except PaperError as error:
        return Lookup(error=f"Semantic Scholar: {error}")
    try:
        matches = _Matches.model_validate(answer or {}).data or []
    except ValidationError:
        return Lookup(error="Semantic Scholar: its answer is not of its own form")
    for match in matches:
        authors = [each.name for each in match.authors or [] if each.name]
        if same_paper(title, match.title or "", authors, reference.text):
            return _open_copy(match)
    return Lookup(error="Semantic Scholar does not know the title")


class _Author(BaseModel):
    name: str | None = None


class _Ids(BaseModel):
    arxiv: str | None = Field(None, alias="ArXiv")


class _Copy(BaseModel):
    url: str | None = None


class _Match(BaseModel):
    """A paper as Semantic Scholar describes it."""

    title: str | None = None
    authors: list[_Author] | None = None
    year: int | None = None
    ids: _Ids | None = Field(None, alias="externalIds")
    open_copy: _Copy | None = Field(None, alias="openAccessPdf")


class _Matches(BaseModel):
    data: list[_Match] | None = None


def _open_copy(match: _Match) -> Lookup:
    arxiv_id = match.ids.arxiv if match.ids else None
    pdf = match.open_copy.url if match.open_copy else None
    if not arxiv_id and not pdf:
        return Lookup(error="Semantic Scholar knows it, but no open copy of its text")
    found = LocatedPaper(
        title=match.title or "", arxiv_id=arxiv_id, year=match.year, pdf=pdf, how="Semantic Scholar"
    )
    return Lookup(found=found)


def get_json(
    url: str, params: dict[str, str], sleep: Callable[[float], None] = time.sleep
) -> dict[str, Any] | None:
    """The JSON answer of a GET, None at 404. 429 and 5xx are retried. Raises PaperError."""
    import httpx2

    from autoreproduce.files.http_limits import limited_client

    reason, client = "", limited_client(SECONDS, LARGEST, follow_redirects=True)
    for attempt in range(MAX_ATTEMPTS):
        wait = 2.0**attempt
        try:
            response = client.get(url, params=params)
        except httpx2.HTTPError as error:
            reason = f"{type(error).__name__}: {error}"
        else:
            if response.status_code == 404:
                return None
            if response.is_success:
                return _object(response)
            reason = f"HTTP {response.status_code}"
            if response.status_code != 429 and response.status_code < 500:
                break
            wait = (
                float(after)
                if (after := response.headers.get("retry-after", "")).isdecimal()
                else wait
            )
        if attempt + 1 < MAX_ATTEMPTS:
            sleep(min(wait, LONGEST_WAIT))
    raise PaperError(reason)


def _object(response: Any) -> dict[str, Any]:
    try:
        text = response.content.decode("utf-8", "replace")
        answer = parse_json(text, largest=LARGEST)
        json.dumps(answer, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except ValueError:
        raise PaperError("its answer isn't JSON") from None
    if not isinstance(answer, dict):
        raise PaperError("its answer isn't a JSON object")
    return answer

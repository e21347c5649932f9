"""arXiv: the number of a paper, what its API says of it, its PDF and its LaTeX source.

The API is asked by the `arxiv` package's own client, whose address is a setting here and whose requests have
a time limit (its own have none). PDF and source come by HTTP. arXiv asks for three seconds between requests:
the time of the last one is kept in a file of the cache folder, so that many trials on one machine keep to it
together.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from autoreproduce import __version__
from autoreproduce.config import Settings
from autoreproduce.errors import PaperError, UnreachableError, UsageError

if TYPE_CHECKING:
    import arxiv
    import httpx

DELAY = 3.0  # seconds between requests, arXiv's terms of use
TIMEOUT = 30.0  # seconds without an answer
RETRIES = 2
LONGEST = 300.0  # seconds for one download
LARGEST = 200 * 2**20  # bytes of one download

_NEW = r"\d{2}(?:0[1-9]|1[0-2])\.\d{4,5}"
_OLD = r"[a-z]+(?:-[a-z]+)*(?:\.[A-Z]{2})?/\d{2}(?:0[1-9]|1[0-2])\d{3}"
_ID = re.compile(rf"({_NEW}|{_OLD})(v[1-9]\d*)?")
_MENTION = re.compile(
    rf"(?:arxiv(?:\.org)?\s*[:/.]\s*|CoRR,?\s*|abs/|pdf/)(?:abs/|pdf/|preprint\s+)?({_NEW}|{_OLD})", re.I
)
_PREFIX = re.compile(
    r"^(?:(?:https?://)?(?:[\w-]+\.)*arxiv\.org/(?:abs|pdf|html|format|e-print|src|ps)/"
    r"|(?:https?://)?(?:dx\.)?doi\.org/10\.48550/arxiv\.|10\.48550/arxiv\.|arxiv\s*:\s*)",
    re.I,
)


class NotThereError(PaperError):
    """arXiv answered that it has no such thing."""


class Entry(BaseModel):
    """What arXiv's API says of a paper. `arxiv_id` carries the version that the API named."""

    model_config = ConfigDict(frozen=True)

    arxiv_id: str
    title: str
    authors: list[str]
    summary: str
    published: str
    pdf_url: str
    source_url: str


def normal_id(text: str) -> str:
    """An arXiv id without prefix, address or ending: 2301.12664, 2301.12664v2, hep-th/9901001.

    Raises UsageError where `text` is none.
    """
    bare = _PREFIX.sub("", text.strip()).split("?")[0].split("#")[0]
    bare = re.sub(r"(\.pdf|\.tar\.gz)?/*$", "", bare, flags=re.I)
    if not _ID.fullmatch(bare):
        raise UsageError(f"{text!r} is no arXiv id: write it like 2301.12664, 2301.12664v2 or hep-th/9901001")
    return bare


def without_version(arxiv_id: str) -> str:
    """The id of all versions together."""
    return re.sub(r"v\d+$", "", arxiv_id)


def mentioned_id(text: str) -> str | None:
    """The first arXiv id that `text` (an entry of a reference list) names, without its version."""
    found = _MENTION.search(text)
    return found[1] if found else None


def by_id(settings: Settings, arxiv_id: str) -> Entry:
    """What arXiv says of one paper.

    Raises UsageError for a wrong id, NotThereError or UnreachableError (both are PaperErrors).
    """
    import arxiv

    arxiv_id = normal_id(arxiv_id)
    entries = _ask(settings, arxiv.Search(id_list=[arxiv_id], max_results=1))
    if not entries or without_version(entries[0].arxiv_id) != without_version(arxiv_id):
        raise NotThereError(f"arXiv has no paper {arxiv_id}: check the id, or give the paper by --paper FILE")
    return entries[0]


def search_title(settings: Settings, title: str) -> list[Entry]:
    """At most ten papers with titles like `title`, best first: as a phrase, else by all its longer words.

    Whether one of them is the paper meant is the caller's to judge. Raises UnreachableError.
    """
    import arxiv

    words = re.findall(r"\w+", title)
    if not words:
        return []
    found = _ask(settings, arxiv.Search(query=f'ti:"{" ".join(words)}"', max_results=10))
    telling = [word for word in words if len(word) > 3][:10]
    if found or not telling:
        return found
    return _ask(settings, arxiv.Search(query=" AND ".join(f"ti:{word}" for word in telling), max_results=10))


def download_pdf(settings: Settings, arxiv_id: str, target: Path) -> None:
    """Fetch the PDF to `target`. Raises NotThereError or UnreachableError."""
    _download(settings, f"{settings.arxiv_url.rstrip('/')}/pdf/{normal_id(arxiv_id)}", target)


def download_source(settings: Settings, arxiv_id: str, target: Path) -> None:
    """Fetch the source (tar.gz, gz, or the PDF where there is no other). Raises as `download_pdf`."""
    _download(settings, f"{settings.arxiv_url.rstrip('/')}/e-print/{normal_id(arxiv_id)}", target)


def _delay(url: str) -> float:
    """Politeness is owed to arXiv; one's own mirror needs less."""
    return DELAY if (urlsplit(url).hostname or "").endswith("arxiv.org") else 0.05


def _wait_for_turn(settings: Settings, url: str) -> None:
    """Return when the last request from this machine is long enough ago, and count this one."""
    from filelock import FileLock

    last = settings.cache_dir / "arxiv.last"
    with contextlib.suppress(OSError):  # a cache that cannot be written costs politeness alone
        last.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(last.with_suffix(".lock")):
            if last.exists():
                time.sleep(min(DELAY, max(0.0, last.stat().st_mtime + _delay(url) - time.time())))
            last.touch()


def _ask(settings: Settings, search: arxiv.Search) -> list[Entry]:
    import arxiv
    import requests

    _wait_for_turn(settings, settings.arxiv_api)
    client = _api_client(settings)
    try:
        return [_entry(settings, result) for result in client.results(search)]
    except arxiv.HTTPError as error:
        if error.status in (400, 404):
            raise NotThereError(
                f"arXiv's API refused the query (HTTP {error.status}): check the id or title"
            ) from error
        raise UnreachableError(_unreachable(settings.arxiv_api, f"HTTP {error.status}")) from error
    except (arxiv.ArxivError, requests.RequestException, ValueError) as error:  # ValueError: a date, an id
        raise UnreachableError(_unreachable(settings.arxiv_api, type(error).__name__)) from error


def _api_client(settings: Settings) -> arxiv.Client:
    """The `arxiv` package's client with our address, and a time limit on each request."""
    import arxiv
    from requests import RequestException
    from requests.adapters import HTTPAdapter

    class TimedAdapter(HTTPAdapter):
        """Adds the time limit, and tells a page (of a login, of an outage) from an empty feed."""

        def send(self, *args: Any, **named: Any) -> Any:
            named["timeout"] = TIMEOUT
            response = super().send(*args, **named)
            if response.ok and b"http://www.w3.org/2005/Atom" not in response.content[:2000]:
                raise RequestException("the answer is no Atom feed")
            return response

    client = arxiv.Client(page_size=10, delay_seconds=_delay(settings.arxiv_api), num_retries=RETRIES)
    client.query_url_format = settings.arxiv_api.replace("{", "{{").replace("}", "}}") + "?{}"
    client._session.mount("http://", TimedAdapter())
    client._session.mount("https://", TimedAdapter())
    return client


def _entry(settings: Settings, result: arxiv.Result) -> Entry:
    arxiv_id = normal_id(result.get_short_id())
    base = settings.arxiv_url.rstrip("/")
    return Entry(
        arxiv_id=arxiv_id,
        title=" ".join(result.title.split()),
        authors=[author.name for author in result.authors],
        summary=" ".join(result.summary.split()),
        published=result.published.date().isoformat(),
        pdf_url=f"{base}/pdf/{arxiv_id}",
        source_url=f"{base}/e-print/{arxiv_id}",
    )


def _download(settings: Settings, url: str, target: Path) -> None:
    import httpx

    target.parent.mkdir(parents=True, exist_ok=True)
    headers = {"User-Agent": f"autoreproduce/{__version__}"}
    reason = ""
    with httpx.Client(timeout=TIMEOUT, follow_redirects=True, headers=headers) as client:
        for attempt in range(RETRIES + 1):
            _wait_for_turn(settings, url)
            try:
                with client.stream("GET", url) as response:
                    reason = f"HTTP {response.status_code}"
                    if response.status_code in (400, 404, 410):
                        raise NotThereError(
                            f"{url} does not exist: check the arXiv id, or give the paper by --paper FILE"
                        )
                    if response.is_success:
                        _save(response.iter_bytes, target, url)
                        return
                    wait = _retry_after(response, attempt, url)
            except httpx.TransportError as error:
                reason, wait = type(error).__name__, _delay(url)
            if not _worth_retrying(reason) or attempt == RETRIES:
                break
            time.sleep(wait)
    raise UnreachableError(_unreachable(url, reason))


def _worth_retrying(reason: str) -> bool:
    """No second try for a refusal (4xx but 429) or after a time-out, which has cost enough already."""
    return reason == "HTTP 429" or not (reason.startswith("HTTP 4") or reason.endswith("Timeout"))


def _retry_after(response: httpx.Response, attempt: int, url: str) -> float:
    """What the server asks for, at most 30 s; else longer at each try."""
    asked = response.headers.get("Retry-After", "")
    return min(30.0, float(asked)) if asked.isdigit() else _delay(url) * 2**attempt


def _save(chunks: Callable[[], Iterator[bytes]], target: Path, url: str) -> None:
    """Write the download whole or not at all, and refuse what is larger than any paper."""
    part = target.with_name(f".{target.name}.part")
    length, began = 0, time.monotonic()
    try:
        with part.open("wb") as file:
            for chunk in chunks():
                length += len(chunk)
                if time.monotonic() - began > LONGEST:
                    raise UnreachableError(_unreachable(url, f"not whole after {LONGEST:.0f} s"))
                if length > LARGEST:
                    raise PaperError(f"{url} is over {LARGEST >> 20} MB: give the paper by --paper FILE")
                file.write(chunk)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _unreachable(url: str, reason: str) -> str:
    host = urlsplit(url).netloc
    return f"{host} cannot be reached ({reason}): try again later, or give the paper by --paper FILE"

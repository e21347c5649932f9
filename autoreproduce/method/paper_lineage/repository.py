"""GitHub's facts about a repository, by three answers of its API within bounds of time and size,
and the rules that refuse one before it is cloned.

Only a licence that lets anyone use the code lets it into a prompt and a trial. No licence means
that all rights are reserved; a program cannot judge a licence that GitHub does not recognise.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Self, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, Field

from autoreproduce.errors import LineageError

if TYPE_CHECKING:
    import httpx2

    from autoreproduce.config import Settings
    from autoreproduce.trials.trial import Trial

MAX_REPOSITORY_MB = 1_000
SECONDS = 30.0  # of one request
LARGEST = 16 * 2**20  # bytes of an answer: GitHub cuts a list of files at 7 MB
NAME = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
WAITS = (0.5, 1.0)  # seconds before a server's error is asked for again
PERMISSIVE = frozenset(
    {
        "MIT",
        "MIT-0",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSD-3-Clause-Clear",
        "BSD-4-Clause",
        "0BSD",
        "ISC",
        "Zlib",
        "NCSA",
        "BSL-1.0",
        "Unlicense",
        "CC0-1.0",
        "PostgreSQL",
        "ECL-2.0",
        "AFL-3.0",
        "UPL-1.0",
    }
)
PROGRAMS = frozenset({".py", ".jl", ".m", ".r", ".cpp", ".cc", ".c", ".cu", ".java", ".lua"})
CODE = PROGRAMS | {
    ".h",
    ".hpp",
    ".sh",
    ".yaml",
    ".yml",
    ".toml",
    ".json",
    ".cfg",
    ".ini",
    ".md",
    ".txt",
}


class Info(BaseModel):
    """A repository as GitHub describes it, as far as it was asked: `refused`: why no further."""

    name: str = Field(description="owner/name, the present one if it was renamed")
    refused: str = ""
    commit: str | None = None
    branch: str | None = None
    size_mb: float | None = None
    licence: str | None = Field(
        default=None, description="SPDX identifier; NOASSERTION if GitHub does not know it"
    )
    tree: dict[str, int] = Field(
        default={}, description="path → bytes of the files that may be code"
    )
    files: int = Field(default=0, description="files of any kind")
    notes: list[str] = []


def permits(licence: str | None) -> str:
    """Why the code may not be stored and shown, "" if it may."""
    if not licence:
        return "it has no licence, so its code is neither stored nor shown"
    if licence == "NOASSERTION":
        return "GitHub does not recognise its licence, so its code is neither stored nor shown"
    if licence not in PERMISSIVE:
        return (
            f"its licence {licence} is not a permissive one, so its code is neither stored nor "
            "shown"
        )
    return ""


def describe(url: str, trial: Trial, settings: Settings, max_mb: int = MAX_REPOSITORY_MB) -> Info:
    """GitHub's facts about the repository, and whether it is refused. One step of the trial."""
    asked = {"repository": url, "max_mb": max_mb}
    return trial.fetch(Info, "lineage/github", asked, lambda: ask_github(url, settings, max_mb))


def ask_github(url: str, settings: Settings, max_mb: int) -> Info:
    """What GitHub says, or why not: never an error."""
    info = Info(name=url.removeprefix("https://github.com/"))
    if not settings.papers.github_token:
        info.notes.append(
            "GitHub was asked without a token (60 requests an hour): set github_token for more"
        )
    try:
        with _Api(settings) as api:
            _fill(info, api, max_mb)
    except LineageError as error:
        info.refused = str(error)
    return info


class _Licence(BaseModel):
    spdx_id: str | None = None


class _Repository(BaseModel):
    full_name: str
    default_branch: str
    size: int
    license: _Licence | None = None
    archived: bool = False


class _Commit(BaseModel):
    sha: str


class _Branch(BaseModel):
    commit: _Commit


class _TreeEntry(BaseModel):
    path: str
    type: str
    size: int | None = None


class _Tree(BaseModel):
    tree: list[_TreeEntry]
    truncated: bool = False


Answer = TypeVar("Answer", bound=BaseModel)


class _Api:
    """GitHub's answers about repositories."""

    def __init__(self, settings: Settings) -> None:
        from autoreproduce.files.http_limits import limited_client

        token = settings.papers.github_token
        self._client = limited_client(SECONDS, LARGEST)
        self._base = settings.papers.github_api.rstrip("/")
        self._headers = {"Accept": "application/vnd.github+json", "User-Agent": "autoreproduce"}
        if token:
            self._headers["Authorization"] = f"token {token.get_secret_value()}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def ask(self, kind: type[Answer], name: str, place: str = "") -> Answer:
        """What GitHub says of the repository `name`. Raises LineageError."""
        import httpx2

        url = httpx2.URL(f"{self._base}/repos/{quote(name)}{place}")
        try:
            answer = self._answer(url)
            moved = url.join(answer.headers.get("location", ""))
            if answer.is_redirect and moved.netloc == url.netloc:  # it has another name now
                answer = self._answer(moved)
            if answer.is_success:
                return kind.model_validate_json(answer.content)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise LineageError(
                f"GitHub cannot be reached for {name} ({type(error).__name__})"
            ) from error
        raise LineageError(_refusal_reason(name, answer, "Authorization" in self._headers))

    def _answer(self, url: httpx2.URL) -> httpx2.Response:
        """Asked again where the server failed or closed the connection. Raises HTTPError."""
        import httpx2

        for wait in WAITS:
            with suppress(httpx2.NetworkError, httpx2.RemoteProtocolError):
                answer = self._client.get(url, headers=self._headers)
                if answer.status_code < 500:
                    return answer
            time.sleep(wait)
        return self._client.get(url, headers=self._headers)


def _fill(info: Info, api: _Api, max_mb: int) -> None:
    """Ask for facts until a rule refuses the repository, which is a LineageError."""
    found = api.ask(_Repository, info.name)
    if not NAME.fullmatch(found.full_name):
        raise LineageError(f"GitHub calls {info.name} by a name that none has")
    info.name, info.branch = found.full_name, found.default_branch
    info.size_mb = round(found.size / 1000, 1)
    info.licence = found.license.spdx_id if found.license else None
    if found.archived:
        info.notes.append("the repository is archived")
    if info.size_mb > max_mb:
        raise LineageError(
            f"{info.name} has {info.size_mb:,.0f} MB, more than the {max_mb:,} MB allowed"
        )
    branch = api.ask(_Branch, info.name, f"/branches/{quote(found.default_branch, safe='')}")
    info.commit = branch.commit.sha
    if refusal := permits(info.licence):
        raise LineageError(f"{info.name}: {refusal}")
    place = f"/git/trees/{quote(info.commit, safe='')}?recursive=1"
    _fill_tree(info, api.ask(_Tree, info.name, place))


def _fill_tree(info: Info, tree: _Tree) -> None:
    """The files that may be code, and what is odd about the rest."""
    files = {e.path: e.size or 0 for e in tree.tree if e.type == "blob" and e.path.isprintable()}
    info.files = len(files)
    info.tree = {
        path: size for path, size in files.items() if PurePosixPath(path).suffix.lower() in CODE
    }
    if submodules := [e.path for e in tree.tree if e.type == "commit"]:
        info.notes.append(f"its submodules were not fetched: {', '.join(submodules[:5])}")
    if tree.truncated:
        info.notes.append("GitHub cut its list of files")
    if not any(PurePosixPath(path).suffix.lower() in PROGRAMS for path in info.tree):
        raise LineageError(f"{info.name} has no file that looks like a program")


def _refusal_reason(name: str, answer: httpx2.Response, with_token: bool) -> str:
    """One line for what GitHub refused."""
    status, limited = answer.status_code, answer.headers.get("x-ratelimit-remaining") == "0"
    if status == 429 or (status == 403 and (limited or "rate limit" in answer.text)):
        fix = "" if with_token else ": set github_token for a larger one"
        return f"GitHub's rate limit is used up{_until(answer.headers)}{fix}"
    if status == 401:
        return "GitHub does not accept the token: correct or unset github_token"
    if status == 409 or (status == 404 and "/branches/" in answer.url.path):
        return f"{name} is empty"
    if status == 404:
        return (
            f"{name} is not on GitHub (404): it was removed, is private, or was never made public"
        )
    return f"GitHub answered {status} for {name}"


def _until(headers: Mapping[str, str]) -> str:
    """When a rate limit ends, from GitHub's headers."""
    reset, after = headers.get("x-ratelimit-reset", ""), headers.get("retry-after", "")
    if reset.isdecimal() and len(reset) <= 11:
        return f" until {datetime.fromtimestamp(int(reset), UTC).isoformat(timespec='seconds')}"
    return f" for {after} s" if after.isdecimal() else ""

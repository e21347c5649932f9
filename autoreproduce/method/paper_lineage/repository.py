"""GitHub's facts about a repository, through PyGithub, and the rules that refuse one before it is
cloned.

Only a licence that lets anyone use the code lets it into a prompt and a trial. No licence means
that all rights are reserved; a program cannot judge a licence that GitHub does not recognise.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from autoreproduce.errors import LineageError
from autoreproduce.files.kinds import SETTINGS, ending

if TYPE_CHECKING:
    from github import Github
    from github.GithubException import GithubException
    from github.GitTree import GitTree
    from github.Repository import Repository

    from autoreproduce.config import Settings
    from autoreproduce.trials.trial import Trial

MOST_MB = 1_000  # of a repository
SECONDS = 30  # of one request
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
CODE = PROGRAMS | {".h", ".hpp", ".sh", ".md", ".txt", *SETTINGS}


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


def describe(url: str, trial: Trial, settings: Settings) -> Info:
    """GitHub's facts about the repository, and whether it is refused. One step of the trial."""
    return trial.fetch(Info, "lineage/github", url, lambda: ask_github(url, settings))


def ask_github(url: str, settings: Settings) -> Info:
    """What GitHub says, or why not: never an error."""
    from github import GithubException

    info = Info(name=url.removeprefix("https://github.com/"))
    with_token = bool(settings.papers.github_token)
    if not with_token:
        info.notes.append(
            "GitHub was asked without a token (60 requests an hour): set github_token for more"
        )
    client = _client(settings)
    try:
        _fill(info, client.get_repo(info.name))
    except LineageError as error:
        info.refused = str(error)
    except GithubException as error:
        info.refused = _refusal_reason(info.name, error, with_token)
    except Exception as error:  # PyGithub raises whatever a strange answer leads it to
        info.refused = f"GitHub cannot be reached for {info.name} ({type(error).__name__})"
    finally:
        client.close()
    return info


def _client(settings: Settings) -> Github:
    """A client whose answers are bounded, and which doesn't sleep until a rate limit is over."""
    from github import Auth, Github
    from github.Requester import Requester

    from autoreproduce.method.paper_lineage.bounded_github import bounded_connections

    Requester.injectConnectionClasses(*bounded_connections())
    token = settings.papers.github_token.get_secret_value() if settings.papers.github_token else ""
    return Github(
        base_url=settings.papers.github_api.rstrip("/"),
        auth=Auth.Token(token) if token else None,
        retry=0,  # the library's own obeys a Retry-After of hours; our connections ask again
        timeout=SECONDS,
        seconds_between_requests=None,
        user_agent="autoreproduce",
    )


def _fill(info: Info, repository: Repository) -> None:
    """Ask for facts until a rule refuses the repository, which is a LineageError."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository.full_name, re.ASCII):
        raise LineageError(f"GitHub calls {info.name} by a name that none has")
    info.name, info.branch = repository.full_name, repository.default_branch
    info.size_mb = round(repository.size / 1000, 1)
    info.licence = repository.license.spdx_id if repository.license else None
    if repository.archived:
        info.notes.append("the repository is archived")
    if info.size_mb > MOST_MB:
        size = f"{info.size_mb:,.0f} MB, more than the {MOST_MB:,} MB allowed"
        raise LineageError(f"{info.name} has {size}")
    info.commit = _head_commit(repository)
    if refusal := permits(info.licence):
        raise LineageError(f"{info.name}: {refusal}")
    _fill_tree(info, repository.get_git_tree(info.commit, recursive=True))


def _head_commit(repository: Repository) -> str:
    from github import GithubException

    try:
        return repository.get_branch(repository.default_branch).commit.sha
    except GithubException as error:
        if error.status == 404:
            raise LineageError(
                f"{repository.full_name} is empty (it has no branch {repository.default_branch})"
            ) from None
        raise


def _fill_tree(info: Info, tree: GitTree) -> None:
    """The files that may be code, and what is odd about the rest."""
    files = {e.path: e.size or 0 for e in tree.tree if e.type == "blob" and e.path.isprintable()}
    info.files = len(files)
    info.tree = {path: size for path, size in files.items() if ending(path) in CODE}
    if submodules := [e.path for e in tree.tree if e.type == "commit"]:
        info.notes.append(f"its submodules were not fetched: {', '.join(submodules[:5])}")
    if tree.raw_data.get("truncated"):
        info.notes.append("GitHub cut its list of files")
    if not any(ending(path) in PROGRAMS for path in info.tree):
        raise LineageError(f"{info.name} has no file that looks like a program")


def _refusal_reason(name: str, error: GithubException, with_token: bool) -> str:
    """One line for what GitHub refused."""
    from github import BadCredentialsException, RateLimitExceededException, UnknownObjectException

    headers = {key.lower(): value for key, value in (error.headers or {}).items()}
    if isinstance(error, RateLimitExceededException) or error.status == 429:
        fix = "" if with_token else ": set github_token for a larger one"
        return f"GitHub's rate limit is used up{_until(headers)}{fix}"
    if isinstance(error, BadCredentialsException):
        return "GitHub does not accept the token: correct or unset github_token"
    if error.status == 409:
        return f"{name} is empty"
    if isinstance(error, UnknownObjectException) or error.status == 404:
        return (
            f"{name} is not on GitHub (404): it was removed, is private, or was never made public"
        )
    return f"GitHub answered {error.status} for {name} ({(error.message or '')[:100]})"


def _until(headers: dict[str, str]) -> str:
    """When a rate limit ends, from GitHub's headers."""
    reset, after = headers.get("x-ratelimit-reset", ""), headers.get("retry-after", "")
    if reset.isdecimal() and len(reset) <= 11:
        return f" until {datetime.fromtimestamp(int(reset), UTC).isoformat(timespec='seconds')}"
    return f" for {after} s" if after.isdecimal() else ""

"""`lineage_cache/`: what lineage learnt of papers, a folder each, read before any network request.

An entry holds metadata, our own summary, and where the code is (repository, commit, paths,
licence), never a line of that code. There are two caches: the user's own, below the cache folder,
which is written, and the one shipped with the package, which is only read, so that an installation
may be read-only.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autoreproduce.content import folder as content_folder
from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import parse_yaml
from autoreproduce.files.shared import read_bytes
from autoreproduce.method.paper_lineage.entry import LineageEntry, slug
from autoreproduce.method.paper_lineage.matching import same
from autoreproduce.papers.arxiv_client import without_version
from autoreproduce.trials.journal import write_whole

if TYPE_CHECKING:
    from autoreproduce.config import Settings

FILE = "entry.yaml"


class CachedPaper(BaseModel):
    """entry.yaml."""

    model_config = ConfigDict(extra="forbid")

    title: str
    also: list[str] = Field(default=[], description="other titles under which it is cited")
    arxiv_id: str | None = None
    year: int | None = None
    repository: str | None = Field(default=None, description="https://github.com/owner/name")
    commit: str | None = Field(default=None, pattern="^[0-9a-f]{40}$")
    licence: str | None = Field(
        default=None, description="SPDX identifier; none if the repository has none"
    )
    paths: list[str] = Field(
        default=[], description="the files worth reading, the most useful first"
    )
    learnt: str = Field(description="how it was learnt")
    date: str = Field(description="when, as 2026-11-21")
    summary: str

    def is_paper(self, title: str, arxiv_id: str | None) -> bool:
        """True if the entry is about that paper: by arXiv id if both have one, else by
        title.
        """
        if arxiv_id and self.arxiv_id:
            return without_version(arxiv_id) == without_version(self.arxiv_id)
        return any(same(title, own) for own in (self.title, *self.also))


class CacheHits(BaseModel):
    """What the caches hold of each reference asked for, and a line for each entry that cannot be
    read.
    """

    hits: list[CachedPaper | None]
    problems: list[str]


def folders(settings: Settings) -> list[Path]:
    """The user's cache, then the shipped one."""
    return [user_folder(settings), content_folder("lineage_cache")]


def user_folder(settings: Settings) -> Path:
    """Where new entries are written."""
    return settings.cache_dir / "lineage"


def load(folders: Iterable[Path]) -> tuple[list[CachedPaper], list[str]]:
    """All entries in the order of the folders, and a line for each that cannot be read."""
    papers: list[CachedPaper] = []
    problems: list[str] = []
    for folder in folders:
        for path in sorted(folder.glob(f"*/{FILE}")):
            try:
                text = read_bytes(folder, path.relative_to(folder)).decode("utf-8")
                papers.append(CachedPaper.model_validate(parse_yaml(text)))
            except (OSError, ValueError, UsageError, yaml.YAMLError) as error:
                problems.append(
                    f"{path} cannot be read and is skipped ({_first_error(error)}): "
                    "fix or remove it"
                )
    return papers, problems


def _first_error(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).splitlines()[0]


def find(title: str, arxiv_id: str | None, papers: Iterable[CachedPaper]) -> CachedPaper | None:
    """The first entry about that paper."""
    return next((paper for paper in papers if paper.is_paper(title, arxiv_id)), None)


def store(entry: LineageEntry, settings: Settings, date: str) -> Path:
    """Write what was learnt into the user's cache. Raises OSError or TrialError if that
    fails.
    """
    paper = CachedPaper(
        title=entry.title,
        arxiv_id=entry.arxiv_id,
        year=entry.year,
        repository=entry.repository,
        commit=entry.commit,
        licence=entry.licence,
        paths=[f.path for f in entry.files],
        learnt=entry.learnt,
        date=date,
        summary=entry.summary.strip() + "\n",
    )
    folder = user_folder(settings) / slug(entry.title, entry.arxiv_id)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / FILE, to_yaml(paper))
    return folder / FILE


def to_yaml(paper: CachedPaper) -> str:
    """The entry as a person would write it: long texts as blocks, nothing that is unset."""
    return str(
        yaml.dump(
            _set_fields(paper), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120
        )
    )


def _set_fields(paper: CachedPaper) -> dict[str, Any]:
    return {
        key: value
        for key, value in paper.model_dump(mode="json").items()
        if value not in (None, [])
    }


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as a literal block."""


def _yaml_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _yaml_text)

"""Against the true GitHub: what the shipped entries say is still there (`pytest -m network`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoreproduce.config import Settings
from autoreproduce.content import folder
from autoreproduce.method.paper_lineage import cache, clone
from autoreproduce.method.paper_lineage.repository import ask_github

pytestmark = [pytest.mark.network, pytest.mark.enable_socket]
PAPERS = [p for p in cache.load([folder("lineage_cache")])[0] if p.repository]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda p: str(p.arxiv_id))
def test_the_commit_and_its_files_are_there(paper: cache.CachedPaper, tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path)
    name, commit = str(paper.repository).removeprefix("https://github.com/"), str(paper.commit)
    clone.clone(name, commit, tmp_path / "clone", settings)
    assert set(paper.paths) <= set(clone.sizes(tmp_path / "clone", commit))


@pytest.mark.parametrize("paper", PAPERS, ids=lambda p: str(p.arxiv_id))
def test_the_licence_is_what_github_says(paper: cache.CachedPaper, tmp_path: Path) -> None:
    info = ask_github(str(paper.repository), Settings(cache_dir=tmp_path))
    assert info.licence == paper.licence

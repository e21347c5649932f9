"""The lineage cache: what is written, what is read, and what the shipped entries must keep to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from autoreproduce.benchmarks.reproducebench.tasks import load_task, references, task_folders
from autoreproduce.config import Settings
from autoreproduce.content import folder
from autoreproduce.method.paper_lineage import LineageEntry, PickedFile, cache
from autoreproduce.method.paper_lineage.entry import slug
from autoreproduce.method.paper_lineage.repository import permits

SHIPPED = sorted(folder("lineage_cache").glob("*/entry.yaml"))
ENTRY = LineageEntry(
    title="Wave operators",
    arxiv_id="2101.00001v2",
    year=2021,
    status="code",
    summary="## Method\nu = Ka.\n",
    repository="https://github.com/a/b",
    commit="c" * 40,
    licence="MIT",
    learnt="from arXiv",
    files=[PickedFile(path="m.py", lines=3, bytes=20)],
    code={"m.py": "SECRET SAUCE"},
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(cache_dir=tmp_path)


def test_an_entry_goes_and_comes_back_without_its_code(settings: Settings) -> None:
    path = cache.store(ENTRY, settings, "2026-11-21")
    assert "SECRET" not in path.read_text()
    assert "summary: |\n" in path.read_text()
    ((paper,), problems) = cache.load([cache.user_folder(settings)])
    assert problems == []
    assert (paper.title, paper.paths, paper.commit, paper.date) == (
        "Wave operators",
        ["m.py"],
        "c" * 40,
        "2026-11-21",
    )


@pytest.mark.parametrize(
    ("title", "arxiv_id", "known"),
    [
        ("Wave Operators", None, True),
        ("whatever", "2101.00001", True),
        ("Wave operators", "2101.00007", False),
        ("Wave operators in the wild", None, False),
    ],
)
def test_a_paper_is_known_by_its_id_or_its_title(
    settings: Settings, title: str, arxiv_id: str | None, known: bool
) -> None:
    cache.store(ENTRY, settings, "2026-11-21")
    papers, _ = cache.load([cache.user_folder(settings)])
    assert (cache.find(title, arxiv_id, papers) is not None) is known


def test_ones_own_entry_comes_before_the_shipped_one(settings: Settings) -> None:
    own = ENTRY.model_copy(
        update={"title": "Factorized Fourier Neural Operators", "arxiv_id": "2111.13802"}
    )
    cache.store(own, settings, "2026-11-21")
    papers, _ = cache.load(cache.folders(settings))
    found = cache.find("Factorized Fourier neural operators", None, papers)
    assert found is not None
    assert found.summary == "## Method\nu = Ka.\n"


@pytest.mark.parametrize(
    "text", ["title: [", "title: only", "", "- a list", "title: x\nunknown: 1"]
)
def test_a_damaged_entry_is_passed_over_and_named(settings: Settings, text: str) -> None:
    cache.store(ENTRY, settings, "2026-11-21")
    broken = cache.user_folder(settings) / "a-broken/entry.yaml"
    broken.parent.mkdir()
    broken.write_text(text)
    papers, problems = cache.load([cache.user_folder(settings)])
    assert len(papers) == 1
    assert len(problems) == 1
    assert str(broken) in problems[0]


def test_no_cache_is_no_error(settings: Settings) -> None:
    assert cache.load([cache.user_folder(settings)]) == ([], [])


def test_entries_for_the_models_that_lsm_compares_with_are_shipped() -> None:
    papers, problems = cache.load([folder("lineage_cache")])
    assert problems == []
    assert len(papers) >= 5
    cited = [  # as LSM's own list of references has them
        "Fourier neural operator for parametric partial differential equations",
        "U-no: U-shaped neural operators",
        "Factorized fourier neural operators",
        "Multiwavelet-based operator learning for differential equations",
        "Choose a transformer: Fourier or galerkin",
        "U-net: Convolutional networks for biomedical image segmentation",
    ]
    assert [title for title in cited if cache.find(title, None, papers) is None] == []


@pytest.mark.parametrize("task_id", [path.name for path in task_folders()])
def test_most_of_a_task_s_curated_papers_are_shipped(task_id: str) -> None:
    papers, _ = cache.load([folder("lineage_cache")])
    curated = references(load_task(task_id))
    known = [one for one in curated if cache.find(one.title, one.arxiv, papers)]
    assert len(known) >= 3


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.parent.name[:20])
def test_a_shipped_entry_is_complete_and_holds_no_code(path: Path) -> None:
    paper = cache.CachedPaper.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert path.parent.name.startswith(paper.arxiv_id or slug(paper.title)[:20])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", paper.date)
    assert 500 < len(paper.summary) < 2_500
    assert "```" not in paper.summary
    assert (
        re.search(r"^\s*(import|def|class|from \w+ import) ", paper.summary, re.MULTILINE) is None
    )
    assert bool(paper.repository) == bool(paper.commit) == bool(paper.paths)
    if paper.commit:
        assert re.fullmatch(r"[0-9a-f]{40}", paper.commit)
    if paper.repository and not paper.licence:
        assert permits(paper.licence)

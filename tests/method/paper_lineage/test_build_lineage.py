"""Algorithm 1 from end to end: the real arxiv, PyGithub, httpx and git clients against servers on
loopback.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from arxiv_server import Stored
from world import (
    GPL,
    MIT,
    PROGRAM,
    REPOSITORIES,
    TASK,
    TITLES,
    World,
    commit,
    git,
    latex,
    make_repository,
    summarise,
)

from autoreproduce.errors import BudgetError, TrialError
from autoreproduce.method.paper_lineage import (
    LineageEntry,
    build_lineage,
    cache,
    clone,
    render,
    repository,
    table,
)
from autoreproduce.method.paper_lineage.extract import extract
from autoreproduce.models.budget import Budget
from autoreproduce.models.tokens import count_tokens
from autoreproduce.solvers.lineage import SUMMARY_CHARACTERS

FIRST, SECOND, THIRD = TITLES.values()


pytestmark = pytest.mark.slow  # half a second of processor each


def only(world: World, title: str = FIRST, **named: object) -> LineageEntry:
    """The lineage of one cited paper."""
    world.settings.method.k = 1
    world.choose(title)
    entries = world.build(**named)
    assert len(entries) == 1
    return entries[0]


def put_repository(world: World, files: dict[str, str | bytes], **said: object) -> str:
    """Replace the first paper's repository; what GitHub says of it may be overruled."""
    shutil.rmtree(world.github.repos / "ann/waves")
    if said:
        (world.github.repos / "ann/waves.json").write_text(json.dumps(said))
    return make_repository(world.github.repos, "ann/waves", files)


@pytest.mark.slow
def test_files_named_after_the_paper_s_own_method_are_not_offered(world: World) -> None:
    """Libraries of a field hold later methods too."""
    own = dict.fromkeys(["models/LM.py", "scripts/toy/run.sh", "lm_layers.py"], PROGRAM)
    others = dict.fromkeys(["model.py", "films.py", "toys.py"], PROGRAM)
    put_repository(world, {**own, **others, "LICENSE": MIT})
    entry = only(world)
    assert entry.status == "code" and not set(entry.code) & set(own)
    assert "3 files named after the method itself were left out" in entry.notes
    (asked,) = world.prompts("pick")
    assert "toys.py" in asked and not any(path in asked for path in own)


@pytest.mark.slow
def test_three_papers_with_their_code(world: World) -> None:
    entries = world.build()
    assert [(e.title, e.status, e.reason) for e in entries] == [
        (t, "code", "") for t in TITLES.values()
    ]
    first = entries[0]
    assert (first.arxiv_id, first.year, first.licence) == ("2101.00001v1", 2023, "MIT")
    assert first.why_chosen == "why Wave oper"
    assert first.repository == "https://github.com/ann/waves"
    assert first.commit == git(world.github.repos / "ann/waves", "rev-parse", "HEAD").strip()
    assert first.code == {"model.py": PROGRAM, "README.md": "# ann/waves\n"}
    assert [(f.path, f.lines, f.cut) for f in first.files] == [
        ("model.py", 5, False),
        ("README.md", 1, False),
    ]
    assert first.summary == "## Method\nWidth 32, four layers."
    assert json.loads((world.root / "trial/lineage.json").read_text()) == [
        e.metadata() for e in entries
    ]
    assert "code" not in entries[0].metadata()
    assert not list((world.root / "trial/lineage").iterdir()), "the clones are gone"


@pytest.mark.slow
def test_a_resumed_trial_asks_nobody(world: World) -> None:
    before = world.build()
    asked = world.requests
    assert world.build() == before
    assert world.requests == asked
    assert asked > 0


@pytest.mark.slow
def test_a_trial_that_was_cut_off_at_any_step_goes_on(world: World) -> None:
    before = only(world)
    journal = world.root / "trial/steps.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    assert len(lines) == 10
    for kept in range(len(lines)):
        journal.write_text("".join(lines[:kept]))
        shutil.rmtree(world.root / "trial/lineage", ignore_errors=True)  # also without the clone
        if kept <= 2:
            shutil.rmtree(
                world.settings.cache_dir / "lineage"
            )  # later the journal says what the cache held
        assert [e.metadata() for e in world.build()] == [before.metadata()], f"after {kept} steps"


@pytest.mark.slow
def test_the_prompts_hold_what_each_step_needs(world: World) -> None:
    world.build()
    (choose,) = world.prompts("choose")
    assert "Baselines. We compare with [1] and [2] (2021)." in choose
    assert f"- {FIRST} | [1] A. Author." in choose
    summaries = world.prompts("summarise")
    assert len(summaries) == 3
    assert "Adam, learning rate $10^{-3}$" in summaries[0]
    assert "width 32" in summaries[0]
    extracted = summaries[0].split("# Repositories named")[0]
    assert "Trivial" not in extracted
    assert "Long ago" not in extracted
    assert "- https://github.com/ann/waves: " in summaries[0]
    (pick, *_) = world.prompts("pick")
    assert "model.py (60)" in pick
    assert "tests/test_model.py" not in pick
    assert "Replicate the experiment on Toy." in pick


@pytest.mark.slow
def test_three_long_papers_with_large_repositories_stay_below_forty_thousand_tokens(
    world: World,
) -> None:
    for stored, name in zip(world.arxiv.entries, REPOSITORIES.values(), strict=True):
        stored.source = latex(stored.title, name, formulas=1_500)
        folder = world.github.repos / name
        for number in range(400):
            (folder / f"a_rather_long_name_of_a_module_{number}.py").write_text("x = 1\n")
        commit(folder)
    assert [e.status for e in world.build()] == ["code"] * 3
    tokens = {
        kind: sum(map(count_tokens, world.prompts(kind)))
        for kind in ("choose", "summarise", "pick")
    }
    assert 15_000 < sum(tokens.values()) < 40_000, tokens


@pytest.mark.slow
def test_a_paper_that_is_not_in_the_list_is_asked_for_once_more(world: World) -> None:
    answers = iter([[FIRST, "Neural operators that nobody wrote", SECOND], [THIRD]])
    world.replies["choose"] = lambda _: json.dumps(
        [{"title": t, "why": "good"} for t in next(answers)]
    )
    entries = world.build()
    assert [e.status for e in entries] == ["code", "code", "code", "rejected"]
    assert entries[3].title == "Neural operators that nobody wrote"
    assert entries[3].reason == "it is not in the paper's list of references"
    again = world.prompts("choose")[1]
    assert "'Neural operators that nobody wrote': it is not in the paper's list" in again
    assert "Answer with a JSON list of 1 other reference from the list" in again


@pytest.mark.slow
def test_it_asks_twice_at_most(world: World) -> None:
    world.choose("Nonsense upon stilts", FIRST)
    entries = world.build()
    assert [e.status for e in entries] == ["code", "rejected"]
    assert len(world.prompts("choose")) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "reason"),
    [
        ("Latent maps for spectral problems", "it is the paper itself"),
        (
            "Adam: A Method for Stochastic Optimization",
            "nearly every paper cites it, so it is not specific to this field",
        ),
    ],
)
def test_the_paper_itself_and_what_everyone_cites_are_refused(
    world: World, title: str, reason: str
) -> None:
    world.choose(FIRST, SECOND, title)
    entries = world.build()
    assert [(e.status, e.reason) for e in entries][2:] == [("rejected", reason)]


def test_arxiv_answers_with_the_paper_itself(world: World) -> None:
    world.arxiv.entries[0] = Stored("2301.99999", FIRST, source=b"")
    entry = only(world)
    assert (entry.status, entry.reason) == ("rejected", "it is the paper itself")


def test_replies_that_are_no_json(world: World) -> None:
    world.replies["choose"] = lambda _: "I would take the first."
    assert world.build() == []
    assert len(world.prompts("choose")) == 2
    assert "it was no JSON list" in world.prompts("choose")[1]
    assert any("none was chosen" in note for note in world.observer.texts)


def test_arxiv_answers_with_a_different_paper(world: World) -> None:
    other = world.arxiv.entries[0]
    world.arxiv.entries[0] = Stored(
        other.arxiv_id, f"{FIRST} revisited: a survey of all that came since", ["Z. Zed"]
    )
    entry = only(world)
    assert entry.status == "title_only"
    assert "revisited: a survey" in entry.reason
    assert "Semantic Scholar does not know the title" in entry.reason
    assert not any("e-print" in path for path in world.arxiv.requests), "nothing was downloaded"


@pytest.mark.slow
def test_a_paper_that_is_not_on_arxiv_is_found_by_semantic_scholar(world: World) -> None:
    del world.arxiv.entries[0]
    world.arxiv.entries.append(
        Stored("2101.00009", "Another title", source=latex(FIRST, "ann/waves"))
    )
    world.scholar.fail_once = [429]
    world.scholar.papers = [
        {"title": FIRST, "year": 2021, "externalIds": {"ArXiv": "2101.00009"}, "authors": []}
    ]
    entry = only(world)
    assert (entry.status, entry.arxiv_id) == ("code", "2101.00009")
    assert len(world.scholar.seen) == 2
    assert "Semantic Scholar" in entry.learnt


@pytest.mark.slow
def test_an_open_pdf_is_read_where_arxiv_has_none(world: World) -> None:
    del world.arxiv.entries[0]
    lines = [
        FIRST,
        "Abstract",
        "We study waves. Our code: https://github.com/ann/waves",
        "1 Method",
        "Width 32.",
    ]
    world.scholar.pdf = small_pdf(
        [*lines, "2 Experiments", "We train with Adam for 500 epochs on ten grids."]
    )
    world.scholar.papers = [
        {"title": FIRST, "openAccessPdf": {"url": f"{world.scholar.url}/open.pdf"}}
    ]
    entry = only(world)
    assert (entry.status, entry.arxiv_id, entry.repository) == (
        "code",
        None,
        "https://github.com/ann/waves",
    )
    assert "Adam for 500 epochs" in world.prompts("summarise")[0]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([], "Semantic Scholar does not know the title"),
        (
            [{"title": FIRST, "openAccessPdf": {"url": ""}, "externalIds": {}}],
            "no open copy of its text",
        ),
        (
            [{"title": f"{FIRST} in practice and some more", "externalIds": {"ArXiv": "1"}}],
            "does not know the title",
        ),
    ],
)
def test_a_paper_without_a_text_is_kept_as_a_title(
    world: World, found: list[dict[str, object]], reason: str
) -> None:
    del world.arxiv.entries[0]
    world.scholar.papers = found
    entry = only(world)
    assert (entry.status, entry.title, entry.summary) == ("title_only", FIRST, "")
    assert "not found on arXiv (it does not know the title)" in entry.reason
    assert reason in entry.reason
    assert render([entry]) == ""


def test_semantic_scholar_is_down(world: World) -> None:
    del world.arxiv.entries[0]
    world.scholar.fail_once = [503, 503, 503]
    assert "Semantic Scholar: HTTP 503" in only(world).reason


def test_a_text_that_cannot_be_read(world: World) -> None:
    world.arxiv.entries[0].source = b"no archive"
    entry = only(world)
    assert entry.status == "title_only"
    assert "its text could not be read" in entry.reason


def test_a_paper_that_names_no_repository(world: World) -> None:
    world.arxiv.entries[0].source = latex(FIRST, None)
    world.replies["summarise"] = lambda _: "A summary.\n\n**REPOSITORY:** none"
    entry = only(world)
    assert (entry.status, entry.summary) == ("summary_only", "A summary.")
    assert entry.reason == "its text names no repository of its own"
    assert not world.github.seen


def test_a_repository_that_the_model_made_up_is_not_followed(world: World) -> None:
    world.replies["summarise"] = lambda _: (
        "A summary.\n\nREPOSITORY: https://github.com/bob/rational"
    )
    entry = only(world)
    assert entry.status == "summary_only"
    assert "is not in the paper" in entry.reason
    assert not world.github.seen


@pytest.mark.slow
def test_without_a_token_it_works_and_says_so(world: World) -> None:
    entry = only(world)
    assert any("without a token" in note for note in entry.notes)
    assert set(world.github.tokens) == {None}


@pytest.mark.slow
def test_a_token_is_sent_and_kept_out_of_the_trial(world: World) -> None:
    world.settings = world.settings.having(github_token="ghp_secret")
    entry = only(world)
    assert entry.status == "code"
    assert not any("without a token" in note for note in entry.notes)
    assert "token ghp_secret" in world.github.tokens
    kept = [
        path
        for path in (world.root / "trial").rglob("*")
        if path.is_file() and b"ghp_secret" in path.read_bytes()
    ]
    assert kept == []


@pytest.mark.slow
def test_the_rate_limit_is_named_with_its_end_and_not_slept_through(world: World) -> None:
    world.github.limit_reset = int(time.time()) + 3000
    began = time.monotonic()
    entry = only(world)
    assert time.monotonic() - began < 20
    assert entry.status == "summary_only"
    assert entry.reason.startswith("GitHub's rate limit is used up until 20")
    assert entry.reason.endswith("set github_token for a larger one")


@pytest.mark.slow
def test_a_server_error_is_tried_again(world: World) -> None:
    world.github.fail_once = [502]
    assert only(world).status == "code"


def test_a_repository_that_is_not_there(world: World) -> None:
    shutil.rmtree(world.github.repos / "ann/waves")
    entry = only(world)
    assert (entry.status, entry.repository) == ("summary_only", "https://github.com/ann/waves")
    assert "is not on GitHub (404)" in entry.reason


def test_an_empty_repository(world: World) -> None:
    put_repository(world, {})
    entry = only(world)
    assert entry.status == "summary_only"
    assert "ann/waves is empty" in entry.reason


@pytest.mark.slow
def test_a_repository_of_two_gigabytes_is_not_cloned(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_repository(world, {"LICENSE": MIT, "model.py": PROGRAM}, size=2_000_000)
    entry = only(world)
    assert entry.reason == "ann/waves has 2,000 MB, more than the 1,000 MB allowed"
    assert not any("upload-pack" in path for path in world.github.seen)
    shutil.rmtree(world.settings.cache_dir / "lineage")
    monkeypatch.setattr(repository, "MOST_MB", 3_000)
    assert world.build("larger")[0].status == "code"


@pytest.mark.slow
def test_a_repository_without_a_program(world: World) -> None:
    put_repository(world, {"LICENSE": MIT, "README.md": "soon"})
    assert only(world).reason == "ann/waves has no file that looks like a program"


@pytest.mark.slow
def test_submodules_are_named_and_not_followed(world: World) -> None:
    folder = world.github.repos / "ann/waves"
    git(
        folder,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        str(world.github.repos / "bob/rational"),
        "sub",
    )
    commit(folder, "with a submodule")
    entry = only(world)
    assert entry.status == "code"
    assert "its submodules were not fetched: sub" in entry.notes
    assert not any("rational" in path for path in world.github.seen)


@pytest.mark.slow
def test_lfs_pointers_are_recognised(world: World) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345678\n"
    put_repository(world, {"LICENSE": MIT, "model.py": PROGRAM, "big.py": pointer})
    world.replies["pick"] = lambda _: "ADD big.py\nADD model.py"
    entry = only(world)
    assert list(entry.code) == ["model.py"]
    assert "big.py is a Git LFS pointer, its content was not fetched" in entry.notes


@pytest.mark.slow
def test_only_lfs_pointers(world: World) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345678\n"
    put_repository(world, {"LICENSE": MIT, "README.md": "hi", "big.py": pointer})
    world.replies["pick"] = lambda _: "ADD big.py"
    entry = only(world)
    assert (entry.status, entry.code, entry.files) == ("summary_only", {}, [])
    assert "none of the chosen files could be read" in entry.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "licence", "reason"),
    [
        ({}, None, "it has no licence"),
        ({"LICENSE": GPL}, "GPL-3.0", "its licence GPL-3.0 is not a permissive one"),
        ({"LICENSE": "Ask me first."}, "NOASSERTION", "GitHub does not recognise its licence"),
    ],
)
def test_a_licence_that_does_not_permit(
    world: World, files: dict[str, str | bytes], licence: str | None, reason: str
) -> None:
    commit = put_repository(world, {"model.py": PROGRAM, **files})
    entry = only(world)
    assert (entry.status, entry.licence, entry.commit) == ("summary_only", licence, commit)
    assert reason in entry.reason
    assert entry.code == {}
    assert not any("upload-pack" in path for path in world.github.seen), "nothing was cloned"
    assert "class Model" not in (world.root / "trial/steps.jsonl").read_text()


@pytest.mark.slow
def test_a_repository_on_the_tasks_blacklist_is_not_even_asked_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbidden = TASK.model_copy(update={"blacklist": ["HTTPS://GitHub.com/Ann/waves.git"]})
    monkeypatch.setattr("world.TASK", forbidden)
    for name in ("trial", "second"):  # from the network, then from the cache
        entry = only(world, name=name)
        assert (entry.status, entry.code) == ("summary_only", {})
        assert "the task's blacklist forbids HTTPS://GitHub.com/Ann/waves.git" in entry.reason
    assert entry.from_cache and world.github.seen == []


@pytest.mark.slow
def test_a_clone_that_hangs_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.github.hang_git = 30
    monkeypatch.setattr(clone.clone, "__defaults__", (1.0,))
    began = time.monotonic()
    entry = only(world)
    assert time.monotonic() - began < 20
    assert (entry.status, entry.reason) == (
        "summary_only",
        "its code could not be fetched: git did not finish within 1 s",
    )


@pytest.mark.slow
def test_files_that_are_not_in_the_tree_are_asked_for_once_more(world: World) -> None:
    answers = iter(["ADD nothing.py", "ADD ./model.py"])
    world.replies["pick"] = lambda _: next(answers)
    entry = only(world)
    assert list(entry.code) == ["model.py", "README.md"]
    assert "not in the list of files: nothing.py" in world.prompts("pick")[1]


@pytest.mark.slow
def test_no_file_chosen_leaves_the_summary(world: World) -> None:
    world.replies["pick"] = lambda _: "There is nothing of use."
    entry = only(world)
    assert entry.status == "summary_only"
    assert entry.reason.startswith("the code agent chose no file: ")
    assert len(world.prompts("pick")) == 2


@pytest.mark.slow
def test_files_are_cut_to_the_budget(world: World) -> None:
    lines = "".join(f"x_{n} = {n}  # {'y' * 60}\n" for n in range(400))
    put_repository(
        world, {"LICENSE": MIT, "a.py": lines, "b.py": lines, "c.py": lines, "huge.py": lines * 20}
    )
    world.replies["pick"] = lambda _: "ADD a.py huge.py b.py c.py"
    entry = only(world)
    assert sum(map(len, entry.code.values())) <= 24_500
    assert (entry.files[0].path, entry.files[0].cut) == ("a.py", True)
    assert entry.files[0].bytes == len(lines)
    assert "more characters not shown]" in entry.code["a.py"]
    assert any("huge.py is larger than 300,000 bytes" in note for note in entry.notes)
    assert any("c.py was left out" in note for note in entry.notes)
    assert len(render([entry], 4_000)) < 4_300


@pytest.mark.slow
def test_what_was_learnt_is_cached_without_code_and_used_again(world: World) -> None:
    before = only(world)
    (kept,) = (world.settings.cache_dir / "lineage").glob("*/entry.yaml")
    assert "class Model" not in kept.read_text()
    assert "Width 32" in kept.read_text()
    world.github.seen.clear()
    world.arxiv.requests.clear()
    asked = len(world.chat.requests)
    after = world.build("second")[0]
    assert (after.code, after.summary, after.commit) == (before.code, before.summary, before.commit)
    assert after.from_cache
    assert "from arXiv" in after.learnt
    assert not world.arxiv.requests
    assert {path.split("?")[0].rsplit("/", 1)[1] for path in world.github.seen} == {
        "refs",
        "git-upload-pack",
    }
    assert len(world.chat.requests) == asked + 1, "only the choice was asked"


@pytest.mark.slow
def test_a_cached_paper_whose_repository_is_gone_keeps_its_summary(world: World) -> None:
    only(world)
    shutil.rmtree(world.github.repos / "ann/waves")
    entry = world.build("second")[0]
    assert (entry.status, entry.from_cache, entry.code) == ("summary_only", True, {})
    assert "its code could not be fetched: git failed" in entry.reason
    assert "Width 32" in render([entry])


@pytest.mark.slow
def test_code_that_github_refused_once_is_asked_for_again_by_the_next_trial(world: World) -> None:
    world.github.limit_reset = int(time.time()) + 3000
    assert only(world).code == {}
    world.github.limit_reset = None
    world.arxiv.requests.clear()
    entry = world.build("second")[0]
    assert (entry.status, entry.reason, entry.from_cache) == ("code", "", True)
    assert not world.arxiv.requests, "its summary is the cache's"
    third = world.build("third")[0]
    assert (third.commit, third.learnt.count("(2")) == (entry.commit, 1), (
        "the cache has learnt the commit"
    )


@pytest.mark.slow
def test_the_cached_commit_is_fetched_even_when_the_branch_went_on(world: World) -> None:
    before = only(world)
    folder = world.github.repos / "ann/waves"
    (folder / "model.py").write_text("changed = True\n")
    commit(folder, "later")
    after = world.build("second")[0]
    assert after.code["model.py"] == PROGRAM
    assert after.commit == before.commit


@pytest.mark.slow
def test_offline_takes_only_the_cache(world: World) -> None:
    only(world)
    world.settings.papers.offline = True
    world.github.seen.clear()
    world.arxiv.requests.clear()
    world.settings.method.k = 2
    world.choose(FIRST, SECOND)
    known, unknown = world.build("offline")
    assert (known.status, known.reason) == ("summary_only", "--offline: its code was not fetched")
    assert unknown.status == "title_only"
    assert not world.github.seen
    assert not world.arxiv.requests


@pytest.mark.parametrize("cut_off", ["offline", "no network"])
def test_no_model_is_asked_if_no_cited_paper_can_be_followed(world: World, cut_off: str) -> None:
    nowhere = "http://127.0.0.1:9"
    papers = world.settings.papers
    papers.offline = cut_off == "offline"
    papers.arxiv_api = papers.semantic_scholar_api = nowhere
    world.choose(FIRST)
    assert world.build("cut off") == []
    assert world.prompts("choose") == []
    assert any(
        "no model was asked: no cited paper is in the lineage cache" in n
        for n in world.observer.texts
    )


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_costs_nothing_but_a_note(world: World) -> None:
    world.settings.cache_dir.mkdir(exist_ok=True)
    (world.settings.cache_dir / "lineage").write_text("a file where the folder should be")
    assert only(world).status == "code"
    assert any("the lineage cache was not written" in note for note in world.observer.texts)


@pytest.mark.slow
def test_a_shipped_entry_is_found_by_its_title(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shipped = tmp_path / "shipped"
    (shipped / "lineage_cache").mkdir(parents=True)
    monkeypatch.setattr(cache, "content_folder", lambda name: shipped / name)
    only(world)
    (kept,) = (world.settings.cache_dir / "lineage").glob("*")
    shutil.move(kept, shipped / "lineage_cache" / kept.name)
    assert world.build("second")[0].from_cache
    assert list((world.settings.cache_dir / "lineage").iterdir()) == [], (
        "a cached paper is not copied"
    )


def test_k_nought_and_no_references(world: World) -> None:
    world.settings.method.k = 0
    assert world.build() == []
    world.settings.method.k = 3
    world.paper = world.paper.model_copy(update={"references": []})
    assert world.build("second") == []
    assert world.chat.requests == []


def test_a_spent_budget_ends_the_phase_and_not_the_paper(world: World) -> None:
    trial = world.open("poor")
    trial.phase("paper_lineage")
    research, code = world.agents(trial, Budget(limit_tokens=10))
    with pytest.raises(BudgetError):
        build_lineage(TASK, world.paper, "", research, code, trial, world.settings)
    trial.close()


@pytest.mark.slow
def test_the_command_shows_a_table(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    trial = world.open("alone")
    research, code = world.agents(trial)
    trial.phase("paper_lineage")
    summary = extract(world.paper.body, SUMMARY_CHARACTERS)
    entries = build_lineage(TASK, world.paper, summary, research, code, trial, world.settings)
    Console(width=200).print(table(entries))
    trial.close()
    shown = capsys.readouterr().out
    assert len(entries) == 3
    assert all(
        word in shown for word in ("ann/waves", "bob/rational", "cyd/patches", "model.py", "MIT")
    )
    assert trial.steps[0].phase == "paper_lineage"
    assert "We compare with [1]" in world.prompts("choose")[0]


@pytest.mark.slow
def test_replies_that_stay_empty_cost_the_paper_and_not_the_trial(world: World) -> None:
    world.replies["summarise"] = lambda _: ""
    entry = only(world)
    assert entry.status == "title_only"
    assert "it could not be summarised" in entry.reason
    world.replies["summarise"] = summarise
    world.replies["pick"] = lambda _: " "
    entry = world.build("second")[0]
    assert (entry.status, entry.summary != "") == ("summary_only", True)
    assert "the code agent chose no file" in entry.reason
    assert world.build("second")[0] == entry


@pytest.mark.slow
def test_a_changed_choice_is_not_mixed_with_an_old_journal(world: World) -> None:
    world.build()
    world.paper = world.paper.model_copy(update={"references": world.paper.references[:2]})
    with pytest.raises(TrialError, match="asked differently"):
        world.build()


def small_pdf(lines: list[str]) -> bytes:
    """A PDF of one page, a line of text each."""
    shown = "".join(
        f"BT /F1 12 Tf 72 {760 - 24 * n} Td ({line}) Tj ET\n" for n, line in enumerate(lines)
    )
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(shown)} >>\nstream\n{shown}endstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    text, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(text))
        text += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"xref\n0 6\n0000000000 65535 f \n{table}trailer << /Size 6 /Root 1 0 R >>\nstartxref\n{len(text)}\n%%EOF\n"
    return (text + end).encode()

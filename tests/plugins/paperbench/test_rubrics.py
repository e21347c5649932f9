"""Rubrics as PaperBench writes them: what is read, what is kept for Code-Dev, how a tree is
scored.
"""

import json

import pytest

from autoreproduce.errors import UsageError
from autoreproduce.papers.blacklist import used_addresses
from autoreproduce.plugins.paperbench.grading import (
    LeafVerdict,
    agreement,
    graded_tree,
    labels,
    replication,
    tree_score,
)
from autoreproduce.plugins.paperbench.papers import load_paper, paper_folders
from autoreproduce.plugins.paperbench.rubric import (
    before,
    code_development,
    read_rubric,
    with_data_provided,
    with_keys,
)

DEV, RUN = "Code Development", "Code Execution"


def leaf(name, weight=1, category=DEV, fine="Method Implementation"):
    return {
        "id": name,
        "requirements": f"do {name}",
        "weight": weight,
        "sub_tasks": [],
        "task_category": category,
        "finegrained_task_category": fine,
    }


def parent(name, *parts, weight=1):
    return {"id": name, "requirements": name, "weight": weight, "sub_tasks": list(parts)}


TREE = parent(
    "root",
    parent("data", leaf("fetch", fine="Dataset and Model Acquisition"), leaf("split", 3), weight=2),
    parent("runs", leaf("trained", category=RUN), weight=5),
    leaf("loss", 6),
)


@pytest.fixture
def read(tmp_path):
    def from_text(content):
        file = tmp_path / "rubric.json"
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return read_rubric(file)

    return from_text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "isn't a rubric"),
        ("[]", "isn't a rubric"),
        (leaf("a", -1), "weight"),
        (leaf("a", category=None), "neither parts"),
        ({**parent("a", leaf("b")), "task_category": DEV}, "a category is a leaf's alone"),
        (leaf("a", category="Other"), "task_category"),
        (
            '{"id": "a", "requirements": "", "weight": NaN, "task_category": "Code Development"}',
            "weight",
        ),
        ("[" * 100_000, "isn't a rubric"),
        ({**leaf("a"), "requirements": "\ud800"}, "isn't a rubric"),
    ],
)
def test_what_is_no_rubric_is_told_with_its_place(read, content, said):
    with pytest.raises(UsageError, match=said):
        read(content)


def test_code_dev_keeps_its_leaves_and_no_empty_parents(read):
    kept = code_development(read(TREE))
    assert [node.key for node in kept.nodes()] == ["root", "data", "fetch", "split", "loss"]
    assert read(TREE).categories() == {DEV: 3, RUN: 1} and read(TREE).depth() == 3


def test_where_nothing_is_left_the_root_is_the_one_leaf(read):
    [only] = code_development(read(parent("root", leaf("trained", category=RUN)))).leaves()
    assert only.key == "root" and only.task_category == DEV


def test_an_id_that_comes_twice_names_two_leaves(read):
    tree = read(parent("root", leaf("a"), leaf("a"), leaf("b")))
    assert [each.key for each in tree.leaves()] == ["a", "a#2", "b"]
    scored = tree_score(
        tree, {"a": LeafVerdict(1, ""), "a#2": LeafVerdict(0, ""), "b": LeafVerdict(1, "")}
    )
    assert scored.score == pytest.approx(2 / 3)


def test_what_stands_before_a_leaf_is_ancestors_and_earlier_siblings(read):
    met = [(each.level, each.node.key, each.above) for each in before(read(TREE), "trained")]
    assert met == [(0, "root", True), (1, "data", False), (1, "runs", True)]
    assert [each.node.key for each in before(read(TREE), "split")] == ["root", "data", "fetch"]
    with pytest.raises(KeyError):
        before(read(TREE), "nowhere")


def test_a_parent_is_the_weighted_mean_and_a_failed_leaf_counts_in_one_reading_alone(read):
    tree = code_development(read(TREE))  # data weighs 2: fetch 1, split 3; loss weighs 6
    words = {
        "fetch": LeafVerdict(1, "there"),
        "split": LeafVerdict(0, "no"),
        "loss": LeafVerdict(0, "no word", valid=False),
    }
    assert graded_tree(tree, words)["sub_tasks"][0]["score"] == 0.25
    found = tree_score(tree, words)
    assert (found.score, found.of_graded, found.share) == (
        pytest.approx(0.25 * 2 / 8),
        0.25,
        pytest.approx(0.25),
    )
    none = tree_score(tree, dict.fromkeys(words, LeafVerdict(0, "", valid=False)))
    assert (none.score, none.of_graded, none.share) == (0, None, 0)


def test_weights_that_sum_to_nothing_are_0_and_what_is_provided_weighs_nothing(read):
    tree = with_data_provided(code_development(read(TREE)))
    words = {"fetch": LeafVerdict(0, ""), "split": LeafVerdict(1, ""), "loss": LeafVerdict(1, "")}
    assert tree_score(tree, words).score == 1
    nothing = read(parent("root", leaf("a", 0), leaf("b", 0)))
    assert tree_score(nothing, {"a": LeafVerdict(1, ""), "b": LeafVerdict(1, "")}).score == 0


def test_the_mean_is_over_papers_and_its_error_over_runs():
    found = replication({"a": {1: 10.0, 2: 20.0, 3: 0.0}, "b": {1: 30.0, 2: 50.0}})
    assert (found.score, found.runs, found.papers) == (27.5, 2, 2)
    assert found.error == pytest.approx(7.5)  # 20 and 35: ddof 1, over the root of 2
    assert replication({"a": {1: 10.0}}).error is None
    with pytest.raises(ValueError, match="no run"):
        replication({"a": {1: 1.0}, "b": {2: 1.0}})


def test_f1_of_both_classes_is_that_of_scikit_learn():
    pairs = [(1, 1), (1, 1), (1, 0), (0, 0), (0, 1), (0, 0), (0, 0)]
    found = agreement(pairs)
    assert (found.f1_met, found.f1_unmet, found.leaves) == (
        pytest.approx(2 / 3),
        pytest.approx(3 / 4),
        7,
    )
    assert found.macro_f1 == pytest.approx((2 / 3 + 3 / 4) / 2) and found.accuracy == pytest.approx(
        5 / 7
    )
    assert (agreement([(1, 1)]).f1_unmet, agreement([(1, 1)]).macro_f1) == (None, 1)
    assert agreement([(1, 1), (1, 0)]).macro_f1 == pytest.approx((2 / 3 + 0) / 2)


def test_peoples_words_are_read_by_the_same_keys():
    graded = parent(
        "root",
        {**leaf("a"), "score": 1.0, "valid_score": True},
        {**leaf("a"), "score": 0, "valid_score": True},
        {**leaf("c"), "score": 0, "valid_score": False},
    )
    assert labels(graded) == labels({"graded_task_tree": graded}) == {"a": 1, "a#2": 0}
    with pytest.raises(ValueError, match="id"):
        labels({"sub_tasks": []})


def test_a_paper_is_read_with_its_addenda_and_a_pointer_is_told_from_a_text(tmp_path):
    folder = tmp_path / "data" / "papers" / "rice"
    folder.mkdir(parents=True)
    (folder / "rubric.json").write_text(json.dumps(TREE))
    (folder / "config.yaml").write_text('id: other\ntitle: "RICE: a title"\n')
    (folder / "blacklist.txt").write_text("https://github.com/a/RICE\nnone\n")
    (folder / "paper.md").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:e69\nsize 106169\n"
    )
    (folder / "addendum.md").write_text("It is so.")
    paper = load_paper(folder)
    assert (paper.id, paper.title, paper.text, paper.addendum) == (
        "rice",
        "RICE: a title",
        "",
        "It is so.",
    )
    assert paper.pointers == ["paper.md"] and paper.blacklist == ["https://github.com/a/RICE"]
    (tmp_path / "own.md").write_text("The text.")
    assert load_paper(folder / "rubric.json", tmp_path / "own.md").text == "The text."
    assert (
        paper_folders(tmp_path)
        == paper_folders(tmp_path / "data")
        == [folder]
        == paper_folders(folder)
    )
    named = used_addresses(
        {
            "a.py": "clone('git@github.com:b'); HTTP://GitHub.com/a/rice.git",
            "b.py": "https://github.com/a/rice-cooker",
            "c.sh": "git clone git@github.com:a/rice",
        },
        paper.blacklist,
    )
    assert list(named) == ["a.py: https://github.com/a/RICE", "c.sh: https://github.com/a/RICE"]
    with pytest.raises(UsageError, match=r"no rubric\.json"):
        paper_folders(tmp_path / "nowhere")


def test_keys_are_those_of_the_whole_tree(read):
    tree = read(parent("root", leaf("a", category=RUN), leaf("a")))
    assert [each.key for each in code_development(tree).leaves()] == ["a#2"]
    assert with_keys(tree).leaves()[0].key == "a"

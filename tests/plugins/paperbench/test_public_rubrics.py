"""The public rubrics, where a clone of PaperBench is named: counts as published, people's trees
scored anew.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from autoreproduce.plugins.paperbench.grading import LeafVerdict, labels, tree_score
from autoreproduce.plugins.paperbench.papers import load_paper, paper_folders
from autoreproduce.plugins.paperbench.rubric import Node, code_development, with_keys


@pytest.fixture(scope="module")
def clone():
    place = os.environ.get("AUTOREPRODUCE_PAPERBENCH")
    if not place:
        pytest.skip(
            "set AUTOREPRODUCE_PAPERBENCH to project/paperbench of a clone of openai/frontier-evals"
        )
    return Path(place)


def test_the_twenty_papers_have_the_published_leaves(clone):
    names = (clone / "experiments" / "splits" / "all.txt").read_text().split()
    papers = [load_paper(folder) for folder in paper_folders(clone) if folder.name in names]
    counts = sum((paper.rubric.categories() for paper in papers), Counter())
    assert len(papers) == 20
    assert counts == {"Code Development": 3671, "Code Execution": 4079, "Result Analysis": 566}
    kept = [code_development(paper.rubric) for paper in papers]
    assert sum(len(tree.leaves()) for tree in kept) == 3671


@pytest.mark.parametrize(
    "name",
    [
        "all-in-one",
        "pinn",
        "rice",
        "semantic-self-consistency",
        "stay-on-topic-with-classifier-free-guidance",
    ],
)
def test_the_score_of_peoples_trees_is_the_one_that_they_hold(clone, name):
    tree = json.loads(
        (
            clone / "data" / "judge_eval" / name / "0" / "grading" / "expected_result.json"
        ).read_text()
    )
    tree = tree.get("graded_task_tree", tree)
    words = {key: LeafVerdict(word, "") for key, word in labels(tree).items()}
    assert tree_score(with_keys(Node.model_validate(tree)), words).score == pytest.approx(
        tree["score"], abs=1e-12
    )

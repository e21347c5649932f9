"""From leaves that were met or not to the score of a tree, of papers, and of a judge against
people.

A parent's score is the weighted mean of its parts' and 0 where their weights sum to 0; the root's
own weight does not count (arXiv 2504.01848, section 3.1). A leaf that could not be graded counts as
0 upstream and stays in the denominator; leaving it out is the other reading. Both are given, since
they differ where judges fail.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from autoreproduce.plugins.paperbench.rubric import Node, with_keys


@dataclass(frozen=True)
class LeafVerdict:
    """A judge's word on a leaf. `valid` False: there is none, and `explanation` says why."""

    score: int
    explanation: str
    valid: bool = True
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class TreeScore:
    """`score` as upstream counts, `of_graded` over the leaves that were graded alone; `share` of
    the weight they are.

    All from 0 to 1; `of_graded` is None where no leaf of any weight was graded.
    """

    score: float
    of_graded: float | None
    share: float


def graded_tree(node: Node, verdicts: Mapping[str, LeafVerdict]) -> dict[str, Any]:
    """The tree with `score`, `valid_score` and `explanation` at each node, in upstream's form.

    `verdicts`: by the leaves' keys. Raises KeyError for a leaf without one.
    """
    parts = [graded_tree(part, verdicts) for part in node.sub_tasks]
    about = node.model_dump(exclude={"sub_tasks"})
    if not parts:
        verdict = verdicts[node.key]
        own = {
            "score": float(verdict.score),
            "valid_score": verdict.valid,
            "explanation": verdict.explanation,
        }
        return {
            **about,
            **own,
            "judge_metadata": dict(verdict.details or {}) or None,
            "sub_tasks": [],
        }
    own = {
        "score": _weighted_mean(parts),
        "valid_score": True,
        "explanation": "the weighted mean of its parts",
    }
    return {**about, **own, "judge_metadata": None, "sub_tasks": parts}


def _weighted_mean(parts: Sequence[Mapping[str, Any]]) -> float:
    whole = math.fsum(part["weight"] for part in parts)
    return math.fsum(part["weight"] * part["score"] for part in parts) / whole if whole else 0.0


def tree_score(node: Node, verdicts: Mapping[str, LeafVerdict]) -> TreeScore:
    """The score of a tree in both readings."""
    shares = leaf_shares(node)
    graded = {leaf: share for leaf, share in shares.items() if verdicts[leaf].valid}
    share = math.fsum(graded.values()) / (math.fsum(shares.values()) or 1.0)
    return TreeScore(graded_tree(node, verdicts)["score"], _of_graded(node, verdicts), share)


def _of_graded(node: Node, verdicts: Mapping[str, LeafVerdict]) -> float | None:
    """The same mean over what was graded: a part without a graded leaf of any weight is left
    out.
    """
    if not node.sub_tasks:
        return float(verdicts[node.key].score) if verdicts[node.key].valid else None
    found = [
        (part.weight, score)
        for part in node.sub_tasks
        if (score := _of_graded(part, verdicts)) is not None
    ]
    whole = math.fsum(weight for weight, _ in found)
    return math.fsum(weight * score for weight, score in found) / whole if whole else None


def leaf_shares(root: Node) -> dict[str, float]:
    """What part of the root's score each leaf is; they sum to 1, or to less where weights of parts
    sum to 0.
    """
    shares: dict[str, float] = {}

    def _share(node: Node, share: float) -> None:
        if not node.sub_tasks:
            shares[node.key] = share
        whole = math.fsum(part.weight for part in node.sub_tasks)
        for part in node.sub_tasks:
            _share(part, share * part.weight / whole if whole else 0.0)

    _share(root, 1.0)
    return shares


@dataclass(frozen=True)
class Replication:
    """A benchmark's score, the mean over papers; its standard error over `runs`, None for one."""

    score: float
    error: float | None
    runs: int
    papers: int


def replication(scores: Mapping[str, Mapping[int, float]]) -> Replication:
    """`scores`: paper -> run -> score. Only runs that have every paper count. Raises ValueError
    where there is none.

    The error is the standard deviation of the runs' means with ddof 1, over the root of their
    number.
    """
    shared = set.intersection(*(set(runs) for runs in scores.values())) if scores else set()
    if not shared:
        raise ValueError("no run has a score of every paper")
    means = [fmean(runs[run] for runs in scores.values()) for run in sorted(shared)]
    error = stdev(means) / math.sqrt(len(means)) if len(means) > 1 else None
    return Replication(fmean(means), error, len(means), len(scores))


@dataclass(frozen=True)
class Agreement:
    """A judge against people, over the leaves that both graded: F1 of each class, their mean, and
    the accuracy.

    The F1 of a class that neither gave to any leaf is None.
    """

    leaves: int
    accuracy: float
    f1_met: float | None
    f1_unmet: float | None

    @property
    def macro_f1(self) -> float:
        """The mean over the classes that were given, as JudgeEval reports it (arXiv 2504.01848,
        section 4.2).
        """
        return fmean(f1 for f1 in (self.f1_met, self.f1_unmet) if f1 is not None)


def agreement(pairs: Iterable[tuple[int, int]]) -> Agreement:
    """`pairs`: (a person's, the judge's) word on each leaf, 0 or 1. Raises ValueError for none."""
    table = list(pairs)
    if not table:
        raise ValueError("no leaf was graded by both")
    right = fmean(float(person == judge) for person, judge in table)
    return Agreement(len(table), right, _f1(table, 1), _f1(table, 0))


def _f1(table: Sequence[tuple[int, int]], kind: int) -> float | None:
    """2 tp / (2 tp + fp + fn); None where the class is nowhere: scikit-learn's macro mean leaves
    such a class out.
    """
    both = sum(person == judge == kind for person, judge in table)
    either = sum((person == kind) + (judge == kind) for person, judge in table)
    return 2 * both / either if either else None


def labels(tree: Mapping[str, Any]) -> dict[str, int]:
    """People's words in a graded tree (`expected_result.json`): leaf's key -> 0 or 1, without those
    not valid.

    Raises pydantic's ValidationError, a ValueError, where it is none.
    """
    found = tree.get("graded_task_tree", tree)
    leaves = with_keys(Node.model_validate(found)).leaves()
    words = list(_leaf_labels(found))
    return {leaf.key: word for leaf, word in zip(leaves, words, strict=True) if word is not None}


def labelled(tree: Mapping[str, Any]) -> dict[str, str]:
    """What people were asked at each leaf, in the words of their tree: rubrics were reworded
    since.
    """
    leaves = with_keys(Node.model_validate(tree.get("graded_task_tree", tree))).leaves()
    return {leaf.key: " ".join(leaf.requirements.split()) for leaf in leaves}


def _leaf_labels(tree: Mapping[str, Any]) -> Iterator[int | None]:
    for part in tree.get("sub_tasks") or []:
        yield from _leaf_labels(part)
    if not tree.get("sub_tasks"):
        yield int(float(tree.get("score", 0)) >= 0.5) if tree.get("valid_score", True) else None

"""What a grading would take, before a judge is asked: calls, tokens, dollars."""

import math
from collections import defaultdict
from typing import Any

from autoreproduce.models.prices import most_it_costs
from autoreproduce.models.tokens import rough_tokens
from autoreproduce.plugins.paperbench.evidence import LeafEvidence, evidence_for
from autoreproduce.plugins.paperbench.files import all_of, cost
from autoreproduce.plugins.paperbench.grade import GradeRequest, read_evidence, wanted_tree
from autoreproduce.plugins.paperbench.papers import RubricPaper, load_paper
from autoreproduce.plugins.paperbench.rubric import Met, Node, before

BESIDE = 1_000  # tokens of a prompt that are neither paper nor files


def plan(request: GradeRequest) -> dict[str, Any]:
    """What a grading would take: leaves, calls, tokens of prompts, and the most that it may cost
    (None: unknown).
    """
    paper = load_paper(request.rubric, request.paper)
    program, kinds, _ = read_evidence(request)
    tree = wanted_tree(request, paper)
    alike: dict[tuple[str | None, int], list[int]] = defaultdict(list)
    for leaf in tree.leaves():
        shown = evidence_for(leaf, kinds)
        prompts = _prompts(paper, shown, request.room, before(tree, leaf.key), leaf)
        for place, tokens in enumerate(prompts):
            alike[leaf.task_category, place].append(tokens)
    costs = [
        (most_it_costs(max(tokens), request.judge or "", request.settings).dollars, len(tokens))
        for tokens in alike.values()
    ]
    known = [dollars * calls for dollars, calls in costs if dollars is not None]
    return {
        "paper_id": paper.id,
        "leaves": len(tree.leaves()),
        "files": len(program.files),
        "fits": all(all_of(each.program, request.room) is not None for each in kinds.values()),
        "calls": sum(map(len, alike.values())),
        "tokens": sum(map(sum, alike.values())),
        "most_dollars": math.fsum(known) if len(known) == len(costs) else None,
    }


def _prompts(
    paper: RubricPaper, shown: LeafEvidence, room: int, met: list[Met], leaf: Node
) -> list[int]:
    """Tokens of each prompt that a leaf takes: its grading alone, or the ranking of the files
    before it; none if there is nothing to show.
    """
    if shown.nothing:
        return []
    words = "\n".join([paper.text, paper.addendum, paper.judge_addendum, leaf.requirements])
    above = sum(rough_tokens(f"- of: {each.node.requirements}") + each.level for each in met)
    beside = rough_tokens(words) + above + BESIDE
    whole = all_of(shown.program, room)
    if whole is not None:
        return [beside + shown.beside + sum(map(cost, whole.files))]
    files = shown.program.files
    names = rough_tokens("\n".join(files)) + len(files)
    return [beside + names, beside + shown.beside + names + room]

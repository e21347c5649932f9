"""What a grading says on paper: a tree with its words, a table over papers and runs, a list of rubrics."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autoreproduce.errors import UsageError
from autoreproduce.eval.tables.build import Cell, Table
from autoreproduce.paperbench.grading import replication
from autoreproduce.paperbench.papers import load_paper
from autoreproduce.paperbench.rubric import CODE, Category

FILE = "grade.json"
PAGE = "grade.md"
CATEGORIES: tuple[Category, ...] = (CODE, "Code Execution", "Result Analysis")


def outline(content: Mapping[str, Any]) -> str:
    """`grade.json` as Markdown: the score, then the tree, each leaf with what was expected and found."""
    head = [
        f"# {content['paper_id']}, run {content['run']}: {100 * content['score']:.1f} of 100",
        "",
        f"Judge: {content['judge_type']}, {content['graded_at']}. {content['num_leaf_nodes']} leaves, "
        f"{content['num_invalid_leaf_nodes']} of them not graded (each counts as 0; without them "
        f"{_percent(content['score_of_graded'])}). Submission: {content['submission']}.",
        *(f"The submission names a blacklisted address: {each}" for each in content["blacklisted"]),
        "",
    ]
    return "\n".join([*head, *_lines(content["graded_task_tree"], 0), ""])


def _lines(node: Mapping[str, Any], level: int) -> list[str]:
    indent, words = "  " * level, " ".join(str(node["requirements"]).split())
    if node["sub_tasks"]:
        own = [f"{indent}- **{100 * node['score']:.0f}** ×{node['weight']:g} {words}"]
        return own + [line for part in node["sub_tasks"] for line in _lines(part, level + 1)]
    word = ("met" if node["score"] else "not met") if node["valid_score"] else "not graded"
    told = [f"{indent}  {line}" for line in str(node["explanation"]).splitlines()]
    return [f"{indent}- **{word}** ×{node['weight']:g} {words}", "", *told, ""]


def read_gradings(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """Every `grade.json` at or below the folders. Raises UsageError where there is none, or one is damaged."""
    files = sorted({file for folder in folders for file in folder.glob(f"**/{FILE}")})
    if not files:
        raise UsageError(f"there is no {FILE} below {', '.join(map(str, folders))}: name folders that `grade` made")
    return [_read(file) for file in files]


def _read(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        float(found["score"]), int(found["run"]), str(found["paper_id"]), str(found["judge_type"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file} is damaged ({error!r:.100}): remove it, and grade again") from None
    return found


def gradings_table(gradings: Sequence[Mapping[str, Any]]) -> Table:
    """A row a paper and judge over its runs, and the mean over papers. Raises UsageError for what is not alike."""
    scores: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    trees: dict[str, Any] = {}
    leaves: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for each in gradings:
        judge, paper, run = str(each["judge_type"]), str(each["paper_id"]), int(each["run"])
        if run in scores[judge][paper]:
            raise UsageError(f"{paper}, run {run}, was graded by {judge} more than once: grade other runs by --run")
        if trees.setdefault(paper, each.get("rubric_digest")) != each.get("rubric_digest"):
            raise UsageError(
                f"{paper} was graded by several rubrics, or with and without --provided: name those of one"
            )
        scores[judge][paper][run] = 100 * float(each["score"])
        leaves[judge, paper].append((int(each["num_leaf_nodes"]), int(each["num_invalid_leaf_nodes"])))
    rows: list[list[Cell]] = []
    for judge, papers in sorted(scores.items()):
        for paper, runs in sorted(papers.items()):
            one, counts = replication({paper: runs}), leaves[judge, paper]
            rows.append([judge, paper, one.runs, one.score, one.error, counts[0][0], sum(bad for _, bad in counts)])
        rows.append(_all(judge, papers))
    columns = ["judge", "paper", "runs", "score", "± standard error", "leaves", "not graded"]
    return Table("grades", "PaperBench Code-Dev, of 100", columns, rows, ["The error is over runs (ddof 1)."])


def _all(judge: str, papers: Mapping[str, Mapping[int, float]]) -> list[Cell]:
    try:
        whole = replication(papers)
    except ValueError:  # no run has all papers
        return [judge, f"all {len(papers)}", 0, None, None, None, None]
    return [judge, f"all {whole.papers}", whole.runs, whole.score, whole.error, None, None]


def rubrics_table(folders: Sequence[Path]) -> Table:
    """A row a paper: leaves by category, levels of the tree, whether its text is there."""
    papers = [load_paper(folder) for folder in folders]
    counts = [paper.rubric.categories() for paper in papers]
    rows: list[list[Cell]] = [
        [paper.id, *(count[name] for name in CATEGORIES), count.total(), paper.rubric.depth(), _text_of(paper)]
        for paper, count in zip(papers, counts, strict=True)
    ]
    sums: list[Cell] = [sum(count[name] for count in counts) for name in CATEGORIES]
    rows.append(["all", *sums, sum(count.total() for count in counts), None, None])
    columns = ["paper", *(name.lower() for name in CATEGORIES), "leaves", "levels", "paper.md"]
    return Table("rubrics", "Rubrics", columns, rows)


def _text_of(paper: Any) -> str:
    return "there" if paper.text else "a pointer: git lfs pull" if "paper.md" in paper.pointers else "missing"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"

"""Gradings as text: a tree with its explanations, a table over papers and runs, a rubric list."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autoreproduce.errors import UsageError
from autoreproduce.evaluation.tables.model import Cell, Table
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.shared import read_plain
from autoreproduce.plugins.paperbench.grading import replication
from autoreproduce.plugins.paperbench.papers import load_paper
from autoreproduce.plugins.paperbench.rubric import ANALYSIS, CODE, EXECUTION, Category
from autoreproduce.trials.folders import gradings_below

FILE = "grade.json"
PAGE = "grade.md"
CATEGORIES: tuple[Category, ...] = (CODE, EXECUTION, ANALYSIS)


def outline(content: Mapping[str, Any]) -> str:
    """`grade.json` as Markdown: the score, then the tree, each leaf expected and found."""
    head = [
        f"# {content['paper_id']}, run {content['run']}: {100 * content['score']:.1f} of 100",
        "",
        f"{mode_of(content)}. Judge: {content['judge_type']}, {content['graded_at']}. "
        f"{content['num_leaf_nodes']} leaves, {content['num_invalid_leaf_nodes']} of them not "
        f"graded (each counts as 0; without them {_percent(content['score_of_graded'])}). "
        f"Submission: {content['submission']}.",
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
    reasons = [f"{indent}  {line}" for line in str(node["explanation"]).splitlines()]
    return [f"{indent}- **{word}** ×{node['weight']:g} {words}", "", *reasons, ""]


def read_gradings(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """Every `grade.json` in the folders, and up to two levels below them.

    Raises UsageError if there is none, or one is damaged.
    """
    files = sorted({each / FILE for folder in folders for each in gradings_below(folder, FILE)})
    if not files:
        raise UsageError(
            f"{FILE} is missing in {', '.join(map(str, folders))}",
            fix="name folders that `grade` made",
        )
    return [_grading(file) for file in files]


def _grading(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = parse_json(read_plain(file))
        float(found["score"]), int(found["run"]), str(found["paper_id"]), str(found["judge_type"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{file} is damaged ({error!r:.100})", fix="remove it, and grade again"
        ) from None
    return found


def mode_of(content: Mapping[str, Any]) -> str:
    """What was graded: the code alone, or its run and results too."""
    return "PaperBench Code-Dev" if content.get("code_only", True) else "PaperBench, all leaves"


def gradings_table(gradings: Sequence[Mapping[str, Any]]) -> Table:
    """A row a paper and judge over its runs, and the mean over papers.

    Raises UsageError for gradings of several modes or by several rubrics, or two of one run.
    """
    modes = sorted({mode_of(each) for each in gradings})
    if len(modes) > 1:
        raise UsageError(
            f"gradings of {' and of '.join(modes)} cannot share a table: their scores mean "
            "different things",
            fix="name folders of one mode, with or without --full",
        )
    scores: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    trees: dict[str, Any] = {}
    leaves: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for each in gradings:
        judge, paper, run = str(each["judge_type"]), str(each["paper_id"]), int(each["run"])
        if run in scores[judge][paper]:
            raise UsageError(
                f"{paper}, run {run}, was graded by {judge} more than once",
                fix="grade other runs with --run",
            )
        if trees.setdefault(paper, each.get("rubric_digest")) != each.get("rubric_digest"):
            raise UsageError(
                f"{paper} was graded by several rubrics, or with and without --provided",
                fix="name those of one",
            )
        scores[judge][paper][run] = 100 * float(each["score"])
        leaves[judge, paper].append(
            (int(each["num_leaf_nodes"]), int(each["num_invalid_leaf_nodes"]))
        )
    rows: list[list[Cell]] = []
    for judge, papers in sorted(scores.items()):
        for paper, runs in sorted(papers.items()):
            one, counts = replication({paper: runs}), leaves[judge, paper]
            not_graded = sum(bad for _, bad in counts)
            rows.append([judge, paper, one.runs, one.score, one.error, counts[0][0], not_graded])
        rows.append(_mean_row(judge, papers))
    columns = ["judge", "paper", "runs", "score", "± standard error", "leaves", "not graded"]
    return Table(
        "grades", f"{modes[0]}, of 100", columns, rows, ["The error is over runs (ddof 1)."]
    )


def _mean_row(judge: str, papers: Mapping[str, Mapping[int, float]]) -> list[Cell]:
    try:
        whole = replication(papers)
    except ValueError:  # no run has all papers
        return [judge, f"all {len(papers)}", 0, None, None, None, None]
    return [judge, f"all {whole.papers}", whole.runs, whole.score, whole.error, None, None]


def rubrics_table(folders: Sequence[Path]) -> Table:
    """A row a paper: leaves by category, levels of the tree, whether its text exists."""
    papers = [load_paper(folder) for folder in folders]
    counts = [paper.rubric.categories() for paper in papers]
    rows: list[list[Cell]] = []
    for paper, count in zip(papers, counts, strict=True):
        leaves: list[Cell] = [count[name] for name in CATEGORIES]
        rows.append([paper.id, *leaves, count.total(), paper.rubric.depth(), _text_state(paper)])
    sums: list[Cell] = [sum(count[name] for count in counts) for name in CATEGORIES]
    rows.append(["all", *sums, sum(count.total() for count in counts), None, None])
    columns = ["paper", *(name.lower() for name in CATEGORIES), "leaves", "levels", "paper.md"]
    return Table("rubrics", "Rubrics", columns, rows)


def _text_state(paper: Any) -> str:
    if paper.text:
        return "there"
    return "a pointer: git lfs pull" if "paper.md" in paper.pointers else "missing"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"

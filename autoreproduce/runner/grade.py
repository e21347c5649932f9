"""Grading from start to end: a submission, a paper's rubric and a judge; every leaf asked once, kept, gone on with.

What was asked is not asked again, so a grading that was killed goes on with the same command, and one that its
budget stopped with a larger one.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from autoreproduce.config import Settings, digest
from autoreproduce.errors import BudgetError, TrialError, UsageError
from autoreproduce.eval.judging.judge import Judge
from autoreproduce.eval.judging.program import NO_CODE, Program
from autoreproduce.eval.rubrics.files import Shown, all_of, cost, read_submission
from autoreproduce.eval.rubrics.leaves import LeafJudge
from autoreproduce.journal import now, write_whole
from autoreproduce.model_errors import shown
from autoreproduce.paperbench.grading import (
    Agreement,
    Verdict,
    agreement,
    graded_tree,
    labelled,
    labels,
    tree_score,
)
from autoreproduce.paperbench.papers import RubricPaper, load_paper, used_addresses
from autoreproduce.paperbench.rubric import Met, Node, before, code_development, with_data_provided
from autoreproduce.prices import most_it_costs
from autoreproduce.runner.grade_tables import FILE, PAGE, outline
from autoreproduce.runner.score import open_judges
from autoreproduce.tokens import rough_tokens
from autoreproduce.trial import Trial

TEMPLATES = "paperbench"
_WORDS = {"digest": "submission", "rubric": "rubric or paper", "judge": "judge", "room": "--room", "run": "run"}
BESIDE = 1_000  # tokens of a prompt that are neither paper nor files


@dataclass
class GradeRequest:
    """What is to be graded, and how. `room`: tokens of a submission's files in one prompt."""

    source: str
    rubric: Path
    settings: Settings
    judge: str | None
    paper: Path | None = None
    run: int = 1
    workers: int = 8
    room: int = 60_000
    provided: bool = False
    labels: Path | None = None
    out: Path | None = None
    note: Callable[[str], None] = print


@dataclass(frozen=True)
class Graded:
    """What came of it: the folder, what its `grade.json` holds, and how far the judge agrees with people."""

    folder: Path
    content: dict[str, Any]
    agreement: Agreement | None = None


def grade(request: GradeRequest) -> Graded:
    """Grade a submission. Raises UsageError for input that cannot be graded, BudgetError where money ends it."""
    paper = load_paper(request.rubric, request.paper)
    tree = wanted_tree(request, paper)
    people = _labels(request, tree)
    program = read_submission(request.source, _own_folders(request))
    judge = _judge(request, paper)
    _say_what_is_missing(request, paper, program)
    identity = _identity(request, paper, program)
    folder = request.out or request.settings.runs_dir / f"grade-{paper.id}-{digest(identity)[:8]}"
    _same_grading(folder, identity, program)
    asked = LeafJudge(judge, paper, tree, program, folder, request.room)
    verdicts = _verdicts(asked, request)
    done = _content(request, asked, verdicts)
    write_whole(folder / FILE, json.dumps(done, indent=1, ensure_ascii=False) + "\n")
    write_whole(folder / PAGE, outline(done))
    pairs = [(word, verdicts[key].score) for key, word in people.items() if verdicts[key].valid]
    agreed = agreement(pairs) if pairs else None
    return Graded(folder, done, agreed)


def plan(request: GradeRequest) -> dict[str, Any]:
    """What a grading would take: leaves, calls, tokens of prompts, and the most that it may cost (None: unknown)."""
    paper = load_paper(request.rubric, request.paper)
    program = read_submission(request.source, _own_folders(request))
    tree = wanted_tree(request, paper)
    whole = all_of(program, request.room)
    each = [_prompts(paper, program, request.room, before(tree, leaf.key), leaf, whole) for leaf in tree.leaves()]
    largest = map(max, zip(*each, strict=True))
    costs = [most_it_costs(tokens, request.judge or "", request.settings).dollars for tokens in largest]
    dollars = None if None in costs else math.fsum(cost or 0.0 for cost in costs) * len(each)
    return {
        "paper_id": paper.id, "leaves": len(each), "files": len(program.files), "fits": whole is not None,
        "calls": sum(map(len, each)), "tokens": sum(map(sum, each)), "most_dollars": dollars,
    }  # fmt: skip


def _prompts(
    paper: RubricPaper, program: Program, room: int, met: list[Met], leaf: Node, whole: Shown | None
) -> list[int]:
    """Tokens of each prompt that a leaf takes: its grading alone, or the ranking of the files before it."""
    words = "\n".join([paper.text, paper.addendum, paper.judge_addendum, leaf.requirements])
    beside = (
        rough_tokens(words) + sum(rough_tokens(f"- of: {each.node.requirements}") + each.level for each in met) + BESIDE
    )
    if whole is not None:
        return [beside + sum(map(cost, whole.files))]
    names = rough_tokens("\n".join(program.files)) + len(program.files)
    return [beside + names, beside + names + room]


def _own_folders(request: GradeRequest) -> list[Path]:
    """What grading writes: no part of a submission around it."""
    return [request.settings.runs_dir, *([request.out] if request.out else [])]


def wanted_tree(request: GradeRequest, paper: RubricPaper) -> Node:
    """The tree that is graded: Code-Dev's, without the leaves that ask for what is provided."""
    tree = code_development(paper.rubric)
    return with_data_provided(tree) if request.provided else tree


def _judge(request: GradeRequest, paper: RubricPaper) -> Judge:
    if not paper.text:
        how = "fetch them by `git lfs pull`, or name the paper's text by --paper FILE"
        raise UsageError(f"{request.rubric} has no paper.md, or a pointer to one: {how}")
    if request.judge is None:
        raise UsageError("no judge is named: add --judge provider:name, or --judge NAME with --base-url")
    [opened] = open_judges([request.judge], request.settings)
    return replace(opened, templates=TEMPLATES)


def _say_what_is_missing(request: GradeRequest, paper: RubricPaper, program: Program) -> None:
    if unread := {name: why for name, why in program.unread.items() if why != NO_CODE}:
        some = "; ".join(f"{name} ({why})" for name, why in list(unread.items())[:5])
        request.note(f"the judge does not see {len(unread)} of the submission's files: {some}")
    if addenda := [name for name in paper.pointers if name != "paper.md"]:
        request.note(
            f"the judge does not see {' and '.join(addenda)}, pointers of Git LFS: fetch them by `git lfs pull`"
        )


def _identity(request: GradeRequest, paper: RubricPaper, program: Program) -> dict[str, Any]:
    """The same for the same command, so that it goes on; another where anything that decides a grade differs."""
    asked = [paper.rubric.model_dump(), paper.text, paper.addendum, paper.judge_addendum]
    return {
        "digest": digest(program.files), "rubric": digest(asked), "judge": request.judge, "room": request.room,
        "run": request.run,
    }  # fmt: skip


def _same_grading(folder: Path, told: dict[str, Any], program: Program) -> None:
    """Raises UsageError where the folder holds another grading: its grades would be lost, its costs counted."""
    place = folder / "submission.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kept = {**told, **json.loads(place.read_text(encoding="utf-8"))} if place.exists() else told
    except (OSError, ValueError, TypeError) as error:
        raise TrialError(f"{folder} cannot be a grading's folder ({error}): name another by --out") from None
    if others := [_WORDS[key] for key in told if kept[key] != told[key]]:
        raise UsageError(f"{folder} holds the grading of another {' and '.join(others)}: name a new folder by --out")
    names = {"files": sorted(program.files), "unread": program.unread, "origin": program.origin}
    write_whole(place, json.dumps({**told, **names}, indent=1, ensure_ascii=False) + "\n")


def _verdicts(asked: LeafJudge, request: GradeRequest) -> dict[str, Verdict]:
    """Every leaf's verdict, `workers` at once. The first error ends what has not begun, and is raised.

    The first leaf is asked alone: its prompt fills the provider's cache, which serves the beginning of all others.
    """
    leaves, lock = asked.rubric.leaves(), threading.Lock()
    done = count(1)

    def one(leaf: Node) -> Verdict:
        verdict = asked.verdict(leaf)
        with lock:
            words = " ".join(leaf.requirements.split())[:100]
            request.note(f"{next(done)}/{len(leaves)} {_word(verdict)}  {words}")
        return verdict

    pool = ThreadPoolExecutor(request.workers)
    try:
        found = {leaves[0].key: one(leaves[0])}
        waiting = {leaf.key: pool.submit(one, leaf) for leaf in leaves[1:]}
        return found | {key: future.result() for key, future in waiting.items()}
    except BudgetError as error:
        raise BudgetError(f"{error}; what was graded is kept") from None
    except KeyboardInterrupt:
        request.note("stopping: the calls that were made are waited for, and the same command goes on")
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _word(verdict: Verdict) -> str:
    return ("met    " if verdict.score else "not met") if verdict.valid else "no word"


def _content(request: GradeRequest, asked: LeafJudge, verdicts: dict[str, Verdict]) -> dict[str, Any]:
    """What `grade.json` holds: upstream's names where it has one."""
    found = tree_score(asked.rubric, verdicts)
    failed = [key for key, verdict in verdicts.items() if not verdict.valid]
    return {
        "paper_id": asked.paper.id, "run": request.run, "judge_type": asked.judge.name, "code_only": True,
        "resources_provided": request.provided, "score": found.score, "score_of_graded": found.of_graded,
        "share_graded": found.share, "num_leaf_nodes": len(verdicts), "num_invalid_leaf_nodes": len(failed),
        "blacklisted": sorted(
            used_addresses({**asked.program.files, **asked.program.not_shown}, asked.paper.blacklist)
        ),
        "submission": shown(request.source), "submission_digest": digest(asked.program.files),
        "prompts": asked.judge.prompts().digest(), "rubric_digest": digest(asked.rubric.model_dump()),
        "graded_at": now(), "settings": request.settings.kept(), **_spent(asked.home),
        "graded_task_tree": graded_tree(asked.rubric, verdicts),
    }  # fmt: skip


def _spent(home: Path) -> dict[str, Any]:
    """Calls, tokens and dollars of all that was asked for a grading, in however many sittings."""
    steps = [step for file in home.glob("judge/*/*/trial.json") for step in Trial.read(file.parent).steps]
    used = [step.result["usage"] for step in steps if step.kind == "model"]
    prices = [step.result["price"] for step in steps if step.kind == "model"]
    return {
        "calls": len(used), "tokens": sum(each["input"] + each["output"] for each in used),
        "cached_tokens": sum(each["cached"] for each in used),
        "dollars": None if None in prices else math.fsum(prices),
    }  # fmt: skip


def _labels(request: GradeRequest, tree: Node) -> dict[str, int]:
    """People's words on leaves of the tree. Raises UsageError."""
    if (file := request.labels) is None:
        return {}
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        found, asked = labels(told), labelled(told)
    except (OSError, ValueError, TypeError, RecursionError, AttributeError) as error:
        raise UsageError(
            f"--labels {file} is no graded tree ({' '.join(str(error).split())[:200]}): name an expected_result.json"
        ) from None
    ours = {leaf.key: found[leaf.key] for leaf in tree.leaves() if leaf.key in found}
    if not ours:
        raise UsageError(f"--labels {file} grades no leaf of this rubric: name the same paper's")
    other = sum(asked[leaf.key] != " ".join(leaf.requirements.split()) for leaf in tree.leaves() if leaf.key in ours)
    if other or len(ours) < len(tree.leaves()):
        request.note(
            f"--labels {file} grades {len(ours)} of the {len(tree.leaves())} leaves, {other} of them in other words: "
            "people were asked something else there than the judge is"
        )
    return ours

"""Grading from start to end: a submission, a paper's rubric and a judge; every leaf asked once.

Answers are saved, so the same command resumes a grading that was killed, and with a larger budget
one that its budget stopped.
"""

import json
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from autoreproduce.config import Settings, digest
from autoreproduce.errors import TrialError, UsageError, shown
from autoreproduce.evaluation.judging.judge import Judge
from autoreproduce.evaluation.judging.submitted_code import NO_CODE, Sources
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.shared import read_plain
from autoreproduce.job import File, Job, JobPart, Judging, Program, now
from autoreproduce.models.prices import most_it_costs
from autoreproduce.models.tokens import rough_tokens
from autoreproduce.papers.blacklist import used_addresses
from autoreproduce.plugins.paperbench.evidence import LeafEvidence, evidence, evidence_for
from autoreproduce.plugins.paperbench.files import SubmittedFiles, all_of, cost, read_submission
from autoreproduce.plugins.paperbench.grade_tables import FILE, PAGE, outline
from autoreproduce.plugins.paperbench.grading import (
    Agreement,
    LeafVerdict,
    agreement,
    graded_tree,
    labelled,
    labels,
    tree_score,
)
from autoreproduce.plugins.paperbench.leaves import LeafJudge, all_verdicts
from autoreproduce.plugins.paperbench.papers import RubricPaper, load_paper
from autoreproduce.plugins.paperbench.reproduction import (
    SCRIPT,
    SUBMITTED,
    ScriptRun,
    read_reproduction,
)
from autoreproduce.plugins.paperbench.rubric import (
    Met,
    Node,
    before,
    code_development,
    with_data_provided,
)
from autoreproduce.runner.score import open_judges
from autoreproduce.trials.begun import make_own_folder
from autoreproduce.trials.chain import STEPS
from autoreproduce.trials.folders import refuse_links
from autoreproduce.trials.journal import write_whole
from autoreproduce.trials.journal_reader import read_journal
from autoreproduce.trials.steps import dollars_of, model_results

PLUGIN = TEMPLATES = "paperbench"
_WORDS = {
    "digest": "submission",
    "rubric": "rubric or paper",
    "judge": "judge",
    "room": "--room",
    "run": "run",
    "reproduction": "run of reproduce.sh",
}


class Grading(JobPart):
    """What PaperBench adds to a Job: by which rubric its program is graded, and how."""

    rubric: File = Field(description="a paper's folder or a rubric.json")
    run: int = Field(1, description="which of the submission's runs it is")
    workers: int = Field(8, ge=1, description="leaves at once")
    room: int = Field(60_000, description="tokens of a submission's files in one prompt")
    provided: bool = Field(False, description="data and models are given")
    full: bool = Field(False, description="all leaves of what `rerun` ran, else those of Code-Dev")
    labels: File | None = Field(None, description="people's graded tree")


def grading_job(
    submission: str,
    grading: Grading,
    settings: Settings,
    judge: str | None = None,
    paper: Path | None = None,
    out: Path | None = None,
) -> Job:
    """The Job of grading a submission. `judge`: a model's name, else the settings' model."""
    name = judge or settings.model.name
    return Job(
        program=Program(code=submission),
        judging=Judging(judges=(name,) if name else ()),
        settings=settings,
        paper=paper,
        out=out,
        more={PLUGIN: grading},
    )


def asked_of(job: Job) -> Grading:
    """How a Job is graded. Raises UsageError if it isn't to be."""
    return job.section(PLUGIN, Grading)


@dataclass(frozen=True)
class GradingResult:
    """What came of it: the folder, what its `grade.json` holds, and how far the judge agrees with
    people.
    """

    folder: Path
    content: dict[str, Any]
    agreement: Agreement | None = None


def grade(job: Job, note: Callable[[str], None] = print) -> GradingResult:
    """Grade a submission. Raises UsageError for input that cannot be graded, BudgetError where
    money ends it.
    """
    paper = load_paper(asked_of(job).rubric, job.paper)
    tree = wanted_tree(asked_of(job), paper)
    people = _labels(asked_of(job).labels, tree, note)
    program, kinds, run = read_evidence(job)
    judge = _judge(job, paper)
    for each in (program, *(kind.program for kind in kinds.values() if kind.results)):
        if unread := {name: why for name, why in each.unread.items() if why != NO_CODE}:
            some = "; ".join(f"{name} ({why})" for name, why in list(unread.items())[:5])
            note(f"the judge does not see {len(unread)} of the submission's files: {some}")
    _say_what_is_missing(paper, note)
    identity = _identity(job, paper, program, run)
    folder = job.out or job.settings.runs_dir / f"grade-{paper.id}-{digest(identity)[:8]}"
    refuse_links(folder)
    if job.out is None:
        make_own_folder(job.settings.cache_dir, folder)
    _same_grading(folder, identity, program)
    asked = LeafJudge(judge, paper, tree, kinds, folder, asked_of(job).room)
    verdicts = all_verdicts(asked, asked_of(job).workers, note)
    done = _content(job, asked, verdicts, program, run)
    write_whole(folder / FILE, json.dumps(done, indent=1, ensure_ascii=False) + "\n")
    write_whole(folder / PAGE, outline(done))
    pairs = [(word, verdicts[key].score) for key, word in people.items() if verdicts[key].valid]
    agreed = agreement(pairs) if pairs else None
    return GradingResult(folder, done, agreed)


def read_evidence(job: Job) -> tuple[SubmittedFiles, dict[str, LeafEvidence], ScriptRun | None]:
    """What was handed in, what each kind of leaf is judged by, and the run of its script (None in
    Code-Dev). Raises UsageError if there is nothing, or if the full grading finds no run.
    """
    source, full = job.of_program.code, asked_of(job).full
    folder = Path(source)
    run = read_reproduction(folder) if folder.is_dir() else None
    if run is not None:
        refuse_links(folder)
    if full and run is None:
        raise UsageError(
            f"{source} holds no run of its {SCRIPT}, which --full grades too",
            fix=f"run it with `autoreproduce rerun {source} --out DIR`, then grade DIR",
        )
    own = [job.settings.runs_dir, *([job.out] if job.out else [])]  # no part of a submission
    program = read_submission(source if run is None else str(folder / SUBMITTED), own)
    if not full or run is None:
        return program, evidence(program), None
    return program, evidence(program, folder, run), run


def wanted_tree(asked: Grading, paper: RubricPaper) -> Node:
    """The tree that is graded, all of it or Code-Dev's; what is provided weighs nothing."""
    tree = paper.rubric if asked.full else code_development(paper.rubric)
    return with_data_provided(tree) if asked.provided else tree


def _judge(job: Job, paper: RubricPaper) -> Judge:
    if not paper.text:
        how = "fetch them with `git lfs pull`, or name the paper's text with --paper FILE"
        raise UsageError(f"{asked_of(job).rubric} has no paper.md, or a pointer to one", fix=how)
    if not job.to_judge.judges:
        raise UsageError(
            "no judge is named", fix="add --judge provider:name, or --judge NAME with --base-url"
        )
    [opened] = open_judges(job.to_judge.judges, job.settings)
    return replace(opened, templates=TEMPLATES)


def _say_what_is_missing(paper: RubricPaper, note: Callable[[str], None]) -> None:
    if addenda := [name for name in paper.pointers if name != "paper.md"]:
        note(
            f"the judge does not see {' and '.join(addenda)}, pointers of Git LFS: fetch them by "
            "`git lfs pull`"
        )


def _identity(
    job: Job, paper: RubricPaper, program: Sources, run: ScriptRun | None
) -> dict[str, Any]:
    """The same for the same command, which resumes; another if anything that decides a grade
    differs.
    """
    asked = [paper.rubric.model_dump(), paper.text, paper.addendum, paper.judge_addendum]
    of_run = {"reproduction": digest(run.model_dump())} if run else {}
    return {
        "digest": digest(program.files),
        "rubric": digest(asked),
        "judge": next(iter(job.to_judge.judges), None),
        "room": asked_of(job).room,
        "run": asked_of(job).run,
        **of_run,
    }


def _same_grading(folder: Path, told: dict[str, Any], program: Sources) -> None:
    """Raises UsageError where the folder holds another grading: its grades would be lost, its costs
    counted.
    """
    path = folder / "submission.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stored = parse_json(read_plain(path)) if path.exists() else told
        kept = {**told, "reproduction": None, **stored}
    except (OSError, ValueError, TypeError) as error:
        raise TrialError(
            f"{folder} cannot be a grading's folder ({error})", fix="name another with --out"
        ) from None
    if others := [word for key, word in _WORDS.items() if kept.get(key) != told.get(key)]:
        raise UsageError(
            f"{folder} holds the grading of another {' and '.join(others)}",
            fix="name a new folder with --out",
        )
    names = {"files": sorted(program.files), "unread": program.unread, "origin": program.origin}
    write_whole(path, json.dumps({**told, **names}, indent=1, ensure_ascii=False) + "\n")


def _content(
    job: Job,
    asked: LeafJudge,
    verdicts: dict[str, LeafVerdict],
    program: SubmittedFiles,
    run: ScriptRun | None,
) -> dict[str, Any]:
    """What `grade.json` holds: upstream's names where it has one."""
    found = tree_score(asked.rubric, verdicts)
    failed = [key for key, verdict in verdicts.items() if not verdict.valid]
    return {
        "paper_id": asked.paper.id,
        "run": asked_of(job).run,
        "judge_type": asked.judge.name,
        "code_only": run is None,
        "resources_provided": asked_of(job).provided,
        "score": found.score,
        "score_of_graded": found.of_graded,
        "share_graded": found.share,
        "num_leaf_nodes": len(verdicts),
        "num_invalid_leaf_nodes": len(failed),
        "reproduction": run and {"exit_code": run.exit_code, "ending": run.ending},
        "blacklisted": sorted(
            used_addresses({**program.files, **program.not_shown}, asked.paper.blacklist)
        ),
        "submission": shown(job.of_program.code),
        "submission_digest": digest(program.files),
        "prompts": asked.judge.prompts().digest(),
        "rubric_digest": digest(asked.rubric.model_dump()),
        "graded_at": now(),
        "settings": job.settings.identity(),
        **_spent(asked.home),
        "graded_task_tree": graded_tree(asked.rubric, verdicts),
    }


def _spent(home: Path) -> dict[str, Any]:
    """Calls, tokens and dollars of all that was asked for a grading, in however many sittings."""
    journals = [read_journal(file) for file in home.glob(f"judge/*/*/{STEPS}")]
    calls = [call for steps in journals for call in model_results(steps)]
    return {
        "calls": len(calls),
        "tokens": sum(call.usage.total for call in calls),
        "cached_tokens": sum(call.usage.cached for call in calls),
        "dollars": dollars_of(calls),
    }


def _labels(file: Path | None, tree: Node, note: Callable[[str], None]) -> dict[str, int]:
    """People's words on leaves of the tree. Raises UsageError."""
    if file is None:
        return {}
    try:
        told = parse_json(read_plain(file))
        found, asked = labels(told), labelled(told)
    except (OSError, ValueError, TypeError, RecursionError, AttributeError) as error:
        raise UsageError(
            f"--labels {file} isn't a graded tree ({' '.join(str(error).split())[:200]})",
            fix="name an expected_result.json",
        ) from None
    ours = {leaf.key: found[leaf.key] for leaf in tree.leaves() if leaf.key in found}
    if not ours:
        raise UsageError(
            f"--labels {file} grades no leaf of this rubric", fix="name the same paper's"
        )
    other = sum(
        asked[leaf.key] != " ".join(leaf.requirements.split())
        for leaf in tree.leaves()
        if leaf.key in ours
    )
    if other or len(ours) < len(tree.leaves()):
        note(
            f"--labels {file} grades {len(ours)} of the {len(tree.leaves())} leaves, {other} of "
            "them in other words: people were asked something else there than the judge is"
        )
    return ours


BESIDE = 1_000  # tokens of a prompt that are neither paper nor files


def plan(job: Job) -> dict[str, Any]:
    """What a grading would take: leaves, calls, tokens of prompts, and the most that it may cost
    (None: unknown).
    """
    paper = load_paper(asked_of(job).rubric, job.paper)
    program, kinds, _ = read_evidence(job)
    tree = wanted_tree(asked_of(job), paper)
    judge, room = next(iter(job.to_judge.judges), ""), asked_of(job).room
    alike: dict[tuple[str | None, int], list[int]] = defaultdict(list)
    for leaf in tree.leaves():
        shown = evidence_for(leaf, kinds)
        prompts = _prompts(paper, shown, room, before(tree, leaf.key), leaf)
        for place, tokens in enumerate(prompts):
            alike[leaf.task_category, place].append(tokens)
    costs = [
        (most_it_costs(max(tokens), judge, job.settings).dollars, len(tokens))
        for tokens in alike.values()
    ]
    known = [dollars * calls for dollars, calls in costs if dollars is not None]
    return {
        "paper_id": paper.id,
        "leaves": len(tree.leaves()),
        "files": len(program.files),
        "fits": all(all_of(each.program, room) is not None for each in kinds.values()),
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

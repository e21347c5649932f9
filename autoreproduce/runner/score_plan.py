"""What judging would take, before anything is asked: calls, tokens of prompts, dollars at most."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoreproduce.agents.prompts import Prompts
from autoreproduce.config import Settings
from autoreproduce.content import folder
from autoreproduce.evaluation.judging.material import POINTED, Material, material_of, paper_at_hand
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.scorers import JUDGED, Setup, align
from autoreproduce.job import Job
from autoreproduce.models.open import most_it_costs, rough_tokens
from autoreproduce.runner.runtime import Runtime
from autoreproduce.runner.score import programs_to_score
from autoreproduce.task import Task

CLASSES = {"paper": align.PaperLevel, "code": align.CodeLevel, "mixed": align.MixedLevel}
POINTS_LENGTH = 1_000  # tokens that five key points take where they are not written yet


@dataclass(frozen=True)
class Question:
    """Tokens of one prompt, asked of each judge as often as it reads (`once`: of the first)."""

    tokens: int
    once: bool = False


def plan_of_scoring(job: Job, runtime: Runtime) -> dict[str, Any]:
    """What `score` would ask its judges at most; what was asked before costs nothing again."""
    asked = job.to_judge
    levels = [level for level in asked.levels or JUDGED if level in JUDGED]
    programs = programs_to_score(job, runtime)
    questions: list[Question] = []
    for program, task, trial in programs:
        material = material_of(task, asked.reference)
        if asked.points != "curated" and POINTED & set(levels):
            questions += _writing_points(job, trial)
        questions += questions_of(program, task, material, levels)
    return plan_of(len(programs), questions, asked.judges, asked.repeats, job.settings)


def plan_text(plan: dict[str, Any]) -> str:
    """The plan in a sentence."""
    most = plan["most_dollars"]
    dollars = "an unknown price" if most is None else f"at most ${most:.2f}"
    return (
        f"{plan['programs']} programs; about {plan['calls']} calls, {plan['tokens']:,} tokens of "
        f"prompts, {dollars}, if each answer can be used and none was asked before"
    )


def questions_of(
    program: Sources, task: Task, material: Material, levels: Sequence[str]
) -> list[Question]:
    """One for each level that can be judged; the system prompt included."""
    prompts = Prompts(folder("prompts") / "judge")
    system = rough_tokens(prompts.render("system", tools=False))
    found = []
    for level in levels:
        scorer = CLASSES[level](Setup(material=material))
        if program.empty or (scorer.with_reference and material.reference is None):
            continue
        shown = scorer.shown_to_judge(task, program)
        unwritten = POINTS_LENGTH if scorer.with_points and not material.points else 0
        text = prompts.render(level, role="judge", **shown)
        found.append(Question(system + unwritten + rough_tokens(text)))
    return found


def _writing_points(job: Job, trial: Path | None) -> list[Question]:
    """The question for key points, if the paper's text is at hand without asking a network."""
    paper = paper_at_hand(trial, job.paper, job.settings)
    return [Question(rough_tokens(paper.body) + POINTS_LENGTH, once=True)] if paper else []


def plan_of(
    programs: int,
    questions: Sequence[Question],
    judges: Sequence[str],
    repeats: int,
    settings: Settings,
) -> dict[str, Any]:
    """Calls, tokens and dollars of `questions` to all judges."""
    asked = [
        (question.tokens, judge, 1 if question.once else repeats)
        for question in questions
        for judge in (judges[:1] if question.once else judges)
    ]
    costs = [
        (most_it_costs(tokens, judge, settings).dollars, times) for tokens, judge, times in asked
    ]
    known = [dollars * times for dollars, times in costs if dollars is not None]
    return {
        "programs": programs,
        "calls": sum(times for _, _, times in asked),
        "tokens": sum(tokens * times for tokens, _, times in asked),
        "most_dollars": math.fsum(known) if len(known) == len(costs) else None,
    }

"""Literature review (the paper's section 3.1): the research agent summarises in three stages.

Overall, method and experiment have a prompt and a stored text each. The paper comes first in all
of them, so the second and third call find it in the provider's prompt cache.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING

from autoreproduce.errors import ModelError
from autoreproduce.method.summary_text import require_whole, summary_text
from autoreproduce.papers import Paper, figures_for_model

if TYPE_CHECKING:
    from autoreproduce.agents.agent import Agent
    from autoreproduce.config import Settings
    from autoreproduce.task import Task
    from autoreproduce.trials.trial import Trial

STAGES = ("overall", "method", "experiment")


class Summaries:
    """The summaries and all their versions; a version is a file that is never written over."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.texts: dict[str, str] = {}
        self.first: dict[str, str] = {}  # as each was written first
        self.versions: dict[str, int] = {}
        self.blank: Callable[[str], str] = str  # withholds what the paper claims from a text

    def put(self, stage: str, text: str) -> None:
        """Store `text` as the next version of the summary `stage`."""
        self.texts[stage] = text.strip()
        self.first.setdefault(stage, self.texts[stage])
        self.versions[stage] = self.versions.get(stage, 0) + 1
        self.trial.write(f"summaries/{stage}.v{self.versions[stage]}.md", self.texts[stage] + "\n")

    def __getattr__(self, stage: str) -> str:
        try:
            text = str(self.__dict__["texts"][stage])
        except KeyError:
            raise AttributeError(stage) from None
        return self.blank(text)


def review_literature(
    task: Task, paper: Paper, research: Agent, trial: Trial, settings: Settings
) -> Summaries:
    """The three summaries of `paper` for `task`; what the figures show is added to the method's if
    asked for.
    """
    summaries = Summaries(trial)
    for stage in STAGES:
        summaries.put(stage, _summary(stage, task, paper, research))
    if settings.method.diagrams and (seen := _look_at_figures(task, paper, research, trial)):
        summaries.put("method", f"{summaries.method}\n\n## What the figures show\n{seen}")
    return summaries


def _summary(stage: str, task: Task, paper: Paper, research: Agent) -> str:
    """One summary. One that is not whole is asked for again; the second is taken as it is."""
    read: list[str] = []

    def whole(reply: str) -> str:
        read.append(summary_text(reply))
        if len(read) == 1:
            require_whole(stage, read[0])
        return read[-1]

    asked = task if stage == "experiment" else task.of_paper()
    return research.checked(f"literature_review/{stage}", whole, paper=paper.body, task=asked)


def _look_at_figures(task: Task, paper: Paper, research: Agent, trial: Trial) -> str:
    """What a model that sees pictures reads from the figures; "" with a note if none can be
    shown.
    """
    from autoreproduce.models.open import sees_pictures

    figures = figures_for_model(paper)
    if not figures:
        trial.note("--diagrams: no figures were found in the paper")
        return ""
    if sees_pictures(research.model) is False:
        trial.note(
            "--diagrams: the research model does not see pictures; the summaries are from the text "
            "alone"
        )
        return ""
    pictures = [
        f"data:image/png;base64,{base64.b64encode(f.path.read_bytes()).decode()}" for f in figures
    ]
    try:
        return research.ask(
            "literature_review/diagrams",
            pictures=pictures,
            task=task,
            captions=[f.caption for f in figures],
        )
    except ModelError as error:
        trial.note(f"--diagrams: the model took no pictures ({error})")
        return ""

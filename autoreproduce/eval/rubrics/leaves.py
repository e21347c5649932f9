"""One leaf of a rubric, asked of a judge.

Where all files of a submission fit into the prompt, they stand before what differs from leaf to leaf, so a
provider's prompt cache serves all leaves after the first; else the judge first ranks the files for the leaf.
What a judge cannot be asked, or does not answer usably, is a verdict that is not valid, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from autoreproduce.eval.judging.judge import UNUSABLE
from autoreproduce.eval.rubrics.files import MOST_RANKED, Shown, Submission, all_of, the_best
from autoreproduce.journal import write_soon
from autoreproduce.paperbench.grading import Verdict
from autoreproduce.paperbench.rubric import Node, before
from autoreproduce.task import Metric, Task

if TYPE_CHECKING:
    from autoreproduce.eval.judging.judge import Judge, Reading
    from autoreproduce.paperbench.papers import RubricPaper

EMPTY = "the submission holds no code"


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Ranked(_Answer):
    """The files that matter for a leaf, the best first."""

    files: list[str]


class Graded(_Answer):
    """A leaf's grade: what one would expect to find, what is there, and whether it is met."""

    expectations: str = Field(min_length=1)
    reality: str = Field(min_length=1)
    score: Literal[0, 1]


@dataclass(frozen=True)
class LeafJudge:
    """Asks one judge about the leaves of one paper's rubric, for one submission. `home`: where questions are kept."""

    judge: Judge
    paper: RubricPaper
    rubric: Node
    program: Submission
    home: Path
    room: int

    @cached_property
    def whole(self) -> Shown | None:
        """All files, where they fit."""
        return all_of(self.program, self.room)

    def verdict(self, leaf: Node) -> Verdict:
        """The judge's word. Raises BudgetError before a call that would pass the budget."""
        if not self.program.files:
            return Verdict(0, EMPTY)
        shown, why = self.shown_for(leaf)
        if shown is None:
            return Verdict(0, why, valid=False)
        reading = self._ask("grade", Graded, leaf, shown=shown)
        if reading.verdict is None:
            return Verdict(0, f"not graded: {reading.reason}", valid=False)
        said = reading.verdict
        return Verdict(
            said.score, f"Expected: {said.expectations}\nFound: {said.reality}", details=_told(shown, reading)
        )

    def shown_for(self, leaf: Node) -> tuple[Shown | None, str]:
        """The files that the leaf is graded by; None and why where the judge could not rank them."""
        if self.whole is not None:
            return self.whole, ""
        reading = self._ask("rank", Ranked, leaf, names=sorted(self.program.files), most=MOST_RANKED)
        if reading.verdict is None:
            return None, f"not graded, since its files could not be ranked: {reading.reason}"
        shown = the_best(self.program, [name.removeprefix("./") for name in reading.verdict.files], self.room)
        if shown.files:
            return shown, ""
        why = "not graded: the judge named no file that is there"
        write_soon(reading.folder / UNUSABLE, why + "\n")  # so that it is asked anew
        return None, why

    def _ask(self, name: str, schema: type[Any], leaf: Node, **more: Any) -> Reading[Any]:
        return self.judge.ask(
            self.home, _task(self.paper), name, schema, 1,
            paper=self.paper, leaf=leaf, before=before(self.rubric, leaf.key), **more,
        )  # fmt: skip


def _told(shown: Shown, reading: Reading[Graded]) -> dict[str, Any]:
    """What upstream keeps as `judge_metadata`: the whole reply and its tokens; and which files were not seen."""
    used = [step.result.get("usage") or {} for step in reading.steps]
    tokens = {kind: sum(each.get(kind, 0) for each in used) for kind in ("input", "output")}
    return {
        "full_judge_response": reading.reply, "token_usage": {reading.judge: tokens},
        "left_out": shown.left_out, "cut": shown.cut,
    }  # fmt: skip


def _task(paper: RubricPaper) -> Task:
    """The paper as the task that a question's record names."""
    return Task(
        id=paper.id, title=paper.title, method=paper.id, dataset="", instruction="",
        metric=Metric(name="score", direction="higher"), profile="code-dev",
    )  # fmt: skip

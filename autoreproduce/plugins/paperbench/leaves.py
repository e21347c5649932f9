"""One leaf of a rubric, asked of a judge.

Each kind of leaf is judged by its own evidence (`evidence`). If all its files fit into the prompt,
they come before what differs from leaf to leaf, so a provider's prompt cache serves all leaves
after the first; else the judge first ranks the files for the leaf. What a judge cannot be asked, or
does not answer usably, is a verdict that is not valid, with the reason.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from autoreproduce.errors import BudgetError
from autoreproduce.evaluation.judging.judge import UNUSABLE, Judge, Reading
from autoreproduce.evaluation.judging.verdicts import Answer
from autoreproduce.plugins.paperbench.evidence import LeafEvidence, evidence_for
from autoreproduce.plugins.paperbench.files import MOST_RANKED, Shown, all_of, the_best
from autoreproduce.plugins.paperbench.grading import LeafVerdict
from autoreproduce.plugins.paperbench.papers import RubricPaper
from autoreproduce.plugins.paperbench.rubric import Node, before
from autoreproduce.runner.executors import Threads, attempt_all
from autoreproduce.trials.journal import write_soon
from autoreproduce.trials.steps import model_results


class Ranked(Answer):
    """The files that matter for a leaf, the best first."""

    files: list[str]


class LeafAnswer(Answer):
    """A leaf's grade: what one would expect to find, what is there, and whether it is met."""

    expectations: str = Field(min_length=1)
    reality: str = Field(min_length=1)
    score: Literal[0, 1]


@dataclass(frozen=True)
class LeafJudge:
    """Asks one judge about the leaves of one rubric. `home`: the folder of the questions.

    `kinds`: what is shown, by the leaves' category.
    """

    judge: Judge
    paper: RubricPaper
    rubric: Node
    kinds: Mapping[str, LeafEvidence]
    home: Path
    room: int

    @cached_property
    def whole(self) -> dict[str, Shown | None]:
        """All files of each category, if they fit."""
        return {name: all_of(each.program, self.room) for name, each in self.kinds.items()}

    def verdict(self, leaf: Node) -> LeafVerdict:
        """The judge's word. Raises BudgetError before a call that would pass the budget."""
        evidence = evidence_for(leaf, self.kinds)
        if evidence.nothing:
            return LeafVerdict(0, evidence.nothing)
        shown, why = self.shown_for(leaf, evidence)
        if shown is None:
            return LeafVerdict(0, why, valid=False)
        reading = self._ask("grade", LeafAnswer, leaf, evidence, shown=shown)
        if reading.verdict is None:
            return LeafVerdict(0, f"not graded: {reading.reason}", valid=False)
        answer = reading.verdict
        return LeafVerdict(
            answer.score,
            f"Expected: {answer.expectations}\nFound: {answer.reality}",
            details=_reading_details(shown, reading),
        )

    def shown_for(self, leaf: Node, evidence: LeafEvidence) -> tuple[Shown | None, str]:
        """The files that a leaf is graded by; None and why if the judge could not rank them."""
        kind = next(name for name, each in self.kinds.items() if each is evidence)
        if (whole := self.whole[kind]) is not None:
            return whole, ""
        files = evidence.program.files
        reading = self._ask("rank", Ranked, leaf, evidence, names=sorted(files), most=MOST_RANKED)
        if reading.verdict is None:
            return None, f"not graded, since its files could not be ranked: {reading.reason}"
        shown = the_best(
            evidence.program, [name.removeprefix("./") for name in reading.verdict.files], self.room
        )
        if shown.files:
            return shown, ""
        why = "not graded: the judge named no file that is there"
        write_soon(reading.folder / UNUSABLE, why + "\n")  # so that it is asked again
        return None, why

    def _ask(
        self, name: str, schema: type[Any], leaf: Node, evidence: LeafEvidence, **more: Any
    ) -> Reading[Any]:
        return replace(self.judge, templates=evidence.templates).ask(
            self.home,
            name,
            schema,
            1,
            paper=self.paper,
            leaf=leaf,
            evidence=evidence,
            before=before(self.rubric, leaf.key),
            **more,
        )


def _reading_details(shown: Shown, reading: Reading[LeafAnswer]) -> dict[str, Any]:
    """The reply and its tokens by upstream's names (`judge_metadata`), and the files not shown."""
    used = [call.usage for call in model_results(reading.steps)]
    tokens = {"input": sum(u.input for u in used), "output": sum(u.output for u in used)}
    return {
        "full_judge_response": reading.reply,
        "token_usage": {reading.judge: tokens},
        "left_out": shown.left_out,
        "cut": shown.cut,
    }


def all_verdicts(
    asked: LeafJudge, workers: int, note: Callable[[str], None]
) -> dict[str, LeafVerdict]:
    """Every leaf's verdict, `workers` at once. The first error ends what has not begun, and is
    raised.

    The first leaf is asked alone: its prompt fills the provider's cache, which serves the beginning
    of all others. Ctrl-C leaves the calls under way a few seconds, and then gives them up.
    """
    leaves, stop = asked.rubric.leaves(), threading.Event()
    found: dict[str, LeafVerdict] = {}
    errors: list[Exception] = []

    def one(leaf: Node) -> LeafVerdict | Exception:
        try:
            return asked.verdict(leaf)
        except Exception as error:
            stop.set()
            return error

    def ended(leaf: Node, came: LeafVerdict | Exception) -> None:
        if isinstance(came, Exception):
            errors.append(came)
            return
        found[leaf.key] = came
        words = " ".join(leaf.requirements.split())[:100]
        note(f"{len(found)}/{len(leaves)} {_word(came)}  {words}")

    ended(leaves[0], one(leaves[0]))
    if not errors:
        attempt_all(Threads(workers, one), iter(leaves[1:]), ended, lambda: None, stop)
    if errors:
        raise _explained(errors[0])
    if len(found) < len(leaves):
        note("interrupted: what was graded is saved, and the same command resumes")
        raise KeyboardInterrupt
    return {leaf.key: found[leaf.key] for leaf in leaves}


def _explained(error: Exception) -> Exception:
    if isinstance(error, BudgetError):
        return BudgetError(f"{error.what}; what was graded is saved", fix=error.fix)
    return error


def _word(verdict: LeafVerdict) -> str:
    return ("met    " if verdict.score else "not met") if verdict.valid else "no word"

"""ChatDev, written anew from its published description (arXiv 2307.07924, section 3).

A company of roles walks down a waterfall: design, coding, review, test. Each subtask is a chat of
two, one who instructs and one who does. Before code is written, the programmer asks for what is
missing, and only then writes (the description's "communicative dehallucination"). What a later chat
sees of an earlier one is its result alone.
"""

from autoreproduce.models import Models
from autoreproduce.plugins.baselines.baseline import BaselineBench, BaselineSolver

ROUNDS = 3  # of review, and of test
AGREED = "AGREED"


class ChatDev(BaselineSolver):
    """CEO and CTO design, a programmer codes, a reviewer and a tester have it changed."""

    name = "chatdev"

    def attempt(self, bench: BaselineBench, models: Models) -> None:
        """The waterfall."""
        design = self._design(bench)
        questions = bench.ask("question", design=design)
        answers = bench.ask("answer", design=design, questions=questions)
        bench.edit_by("code", design=design, questions=questions, answers=answers)
        self._review(bench, design)
        self._test(bench, design)

    def _design(self, bench: BaselineBench) -> str:
        """The CTO's design, changed once if the CEO does not agree."""
        goals = bench.ask("goals")
        design = bench.ask("design", goals=goals, earlier="", remarks="")
        remarks = bench.ask("consent", goals=goals, design=design)
        if agrees(remarks):
            return design
        return bench.ask("design", goals=goals, earlier=design, remarks=remarks)

    def _review(self, bench: BaselineBench, design: str) -> None:
        """The reviewer reads and the programmer changes, until the reviewer has no remark."""
        for _ in range(ROUNDS):
            remarks = bench.ask("review", design=design)
            if agrees(remarks):
                return
            bench.change("revise", design=design, remarks=remarks)

    def _test(self, bench: BaselineBench, design: str) -> None:
        """The tester runs and reports, and the programmer fixes, until the program runs."""
        for _ in range(ROUNDS):
            run, problem = bench.try_program("test")
            if not problem:
                return
            report = bench.ask("report", execution=run, problem=problem)
            bench.change("fix", design=design, report=report, execution=run)


def agrees(remarks: str) -> bool:
    """True for the word by which a role ends a chat, whatever marks surround it."""
    return remarks.strip().strip("*`_. ").startswith(AGREED)

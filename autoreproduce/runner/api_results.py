"""What the functions of the API return, and who watches a trial that nobody else does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from autoreproduce.contracts import Score
from autoreproduce.errors import AutoReproduceError, UsageError, nearest
from autoreproduce.evaluation.report.wording import clean, plural
from autoreproduce.trials.steps import Observer

if TYPE_CHECKING:
    import pandas

    from autoreproduce.claims.differences import Difference
    from autoreproduce.claims.verdicts.trial_verdict import JudgedClaim, TrialVerdict
    from autoreproduce.runner.summary import Table
    from autoreproduce.task import Task
    from autoreproduce.trials.measurement import Measurement
    from autoreproduce.trials.result import Result


def note_to_stderr(text: str) -> None:
    """A line that the user should know, beside the output."""
    print(clean(text), file=sys.stderr, flush=True)


Of = Literal["trials", "claims", "differences", "scores"]
Part = TypeVar("Part")


@dataclass(frozen=True, repr=False)
class Reproduction:
    """What came of an attempt: the trial's folder `path`, its result, its report, its scores.

    `earlier`: the trial had ended before, and nothing was run now.
    """

    path: Path
    result: Result
    report: Path
    task: Task
    earlier: bool = False
    scores: tuple[Score, ...] = ()

    @property
    def metric(self) -> float | None:
        """The number that counts; None if there is none."""
        return self.result.metric

    @property
    def measurement(self) -> Measurement | None:
        """How the number was had; None if nothing was measured."""
        return self.result.number

    @property
    def verdict(self) -> TrialVerdict | None:
        """What the number says of the paper's claims; None if nothing was judged."""
        return self.result.claims

    @property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """The paper's claims with their verdicts; empty if none was judged."""
        return self.result.judged

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Where the code does something else than the paper says, what can move a number first."""
        return self.result.audit.ordered if self.result.audit else ()

    def rows(self, of: Of = "trials") -> list[dict[str, Any]]:
        """A plain dictionary for the trial, or for each of its claims, differences or scores."""
        from autoreproduce.evaluation.tables.result_rows import ROWS

        if of not in ROWS:
            fix = f"{nearest(of, ROWS)}there are {', '.join(ROWS)}"
            raise UsageError(f"there are no rows of {of!r}", fix=fix)
        return ROWS[of](self.path, self.task, self.result, self.scores)

    def to_frame(self, of: Of = "trials") -> pandas.DataFrame:
        """The rows as a pandas data frame. Raises UsageError without pandas."""
        return _frame(self.rows(of))

    def __repr__(self) -> str:
        return f"<Reproduction {self.task.id}: {self.result.status}, {self.path}>"

    def __str__(self) -> str:
        """The verdict, then the numbers, the cost and the folder, a line each."""
        from autoreproduce.runner.summary import summary_text

        text = summary_text(self.result, self.path, self.task, self.earlier)
        return "\n".join([text, *map(_score_line, self.scores)])

    def _repr_html_(self) -> str:
        """The verdict, the number and the cost, then differences and scores, for a notebook."""
        from autoreproduce.runner.summary import notebook_html, places, summary

        first, facts = summary(self.result, self.path, self.task)
        moving = [
            (one.id, one.paper_says, one.does, one.place)
            for one in self.differences
            if one.can_move
        ]
        scores = [(one.scorer, _value(one), one.reason) for one in self.scores]
        tables: list[Table] = [
            ((), [*facts, *places(self.path)]),
            (("", "the paper says", "the code does", "where"), moving),
            (("level", "score", "reason"), scores),
        ]
        return notebook_html(tables, first)


class _OfOnly(Generic[Part]):
    """A part of the single trial of `Results`, by its own name; UsageError if there isn't one."""

    def __init__(self, part: Callable[[Reproduction], Part]) -> None:
        self._part = part

    def __get__(self, results: Results, owner: type[Results] | None = None) -> Part:
        return self._part(results.only)


@dataclass(frozen=True, repr=False)
class Results(Sequence[Reproduction]):
    """What `reproduce`, `verify`, `score`, `run_suite` and `trials` return: trials that ended.

    Of a single trial, as `reproduce` gives, its parts can be asked for right here: `results.metric`
    is `results[0].metric`. `left_out`: the folders of trials that have no result, with the reason.
    `stopped`: why not everything was tried that was asked for; "" if it was.
    """

    trials: tuple[Reproduction, ...]
    left_out: Mapping[Path, str] = field(default_factory=dict)
    stopped: str = ""
    page: Path | None = None  # of all of them, such as a paper's report

    def __len__(self) -> int:
        return len(self.trials)

    @overload
    def __getitem__(self, index: int) -> Reproduction: ...
    @overload
    def __getitem__(self, index: slice) -> Results: ...
    def __getitem__(self, index: int | slice) -> Reproduction | Results:
        if isinstance(index, slice):
            return Results(self.trials[index])
        return self.trials[index]

    @property
    def only(self) -> Reproduction:
        """The single trial. Raises UsageError if there are more, or none."""
        if len(self.trials) == 1:
            return self.trials[0]
        if self.trials:
            what, fix = f"these are {len(self.trials)} trials", "take one, such as results[0]"
        else:
            what = next(iter(self.left_out.values()), self.stopped) or "nothing was tried"
            what, fix = f"there is no trial with a result ({what})", "see results.left_out"
        raise UsageError(what, fix=fix)

    path = _OfOnly(lambda one: one.path)
    result = _OfOnly(lambda one: one.result)
    task = _OfOnly(lambda one: one.task)
    metric = _OfOnly(lambda one: one.metric)
    measurement = _OfOnly(lambda one: one.measurement)
    verdict = _OfOnly(lambda one: one.verdict)
    earlier = _OfOnly(lambda one: one.earlier)

    @property
    def report(self) -> Path:
        """The page on all trials if there is one, else the single trial's."""
        return self.page or self.only.report

    @property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """The claims of all trials with their verdicts."""
        return tuple(claim for one in self.trials for claim in one.claims)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Where code does something else than its paper says, over all trials."""
        return tuple(difference for one in self.trials for difference in one.differences)

    @property
    def scores(self) -> tuple[Score, ...]:
        """The scores of all trials."""
        return tuple(score for one in self.trials for score in one.scores)

    def rows(self, of: Of = "trials") -> list[dict[str, Any]]:
        """A plain dictionary for each trial, claim, difference or score."""
        return [row for one in self.trials for row in one.rows(of)]

    def to_frame(self, of: Of = "trials") -> pandas.DataFrame:
        """The rows as a pandas data frame. Raises UsageError without pandas."""
        return _frame(self.rows(of))

    def __repr__(self) -> str:
        inside = ", ".join(map(repr, self.trials[:3])) + ", …" * (len(self.trials) > 3)
        return f"<Results of {plural(len(self.trials), 'trial')}: {inside}>"

    def __str__(self) -> str:
        """All of a single trial, else a line a trial; then what was left out."""
        lines = [str(self.only)] if len(self.trials) == 1 else list(map(_line, self.trials))
        lines += [f"{path}: {clean(why)}" for path, why in self.left_out.items()]
        return "\n".join([*lines, *([clean(self.stopped)] if self.stopped else [])])

    def _repr_html_(self) -> str:
        """All of a single trial, else a row a trial, for a notebook."""
        from autoreproduce.runner.summary import notebook_html

        left = [(str(path), why) for path, why in self.left_out.items()]
        rows = [
            (
                str(one.path),
                one.result.verdict or one.result.status,
                "–" if one.metric is None else f"{one.metric:.4g}",
                one.result.sentence,
            )
            for one in self.trials
        ]
        one = self.only._repr_html_() if len(self.trials) == 1 else ""
        tables: list[Table] = [
            (("trial", "verdict", "number", "in a sentence"), [] if one else rows),
            (("left out", "why"), left),
        ]
        return one + notebook_html(tables, stopped=self.stopped)


def read_trials(folder: str | Path = "runs") -> Results:
    """The trials of a folder (a trial, a suite, a folder of them) as they ended, by path.

    Those that haven't ended or can't be read are in `left_out`. Raises UsageError for a folder that
    isn't there.
    """
    from autoreproduce.evaluation.scoring import read_scores
    from autoreproduce.trials.folders import trials_below
    from autoreproduce.trials.trial import Trial

    if not Path(folder).is_dir():
        raise UsageError(f"{folder} isn't a folder", fix="name the folder of runs, or a trial's")
    found: list[Reproduction] = []
    left_out: dict[Path, str] = {}
    for path in trials_below(Path(folder)):
        try:
            trial = Trial.read(path)
            if (result := trial.result) is None:
                left_out[path] = "it hasn't ended"
                continue
            scores = tuple(
                Score(
                    str(entry.get("scorer", "")),
                    entry.get("value"),
                    str(entry.get("reason", "")),
                    entry.get("details", {}),
                )
                for entry in read_scores(path)
            )
            task = trial.record.stored_task()
            found.append(Reproduction(path, result, path / "report.html", task, True, scores))
        except (AutoReproduceError, ValueError) as error:
            left_out[path] = " ".join(str(error).split())[:300]
    return Results(tuple(found), left_out)


def _frame(rows: list[dict[str, Any]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise UsageError(
            "a data frame needs pandas, which isn't installed",
            fix="pip install pandas; or take .rows(), which needs nothing",
        ) from None
    return pandas.DataFrame(rows)


def _line(one: Reproduction) -> str:
    scores = "; ".join(map(_score_line, one.scores))
    text = f"{one.path}: {clean(one.result.sentence or one.result.reason)}"
    return f"{text}; {scores}" if scores else text


def _score_line(score: Score) -> str:
    return f"{score.scorer}: {_value(score)}" + (
        f" ({clean(score.reason)})" if score.reason else ""
    )


def _value(score: Score) -> str:
    return "–" if score.value is None else f"{score.value:.4g}"


class Silent(Observer):
    """Watches a trial, and says nothing."""


def unwatched(task: Task) -> AbstractContextManager[Observer]:
    """The view of a trial that writes nothing, for `progress=False`."""
    return nullcontext(Silent())


class PhaseNotes(Observer):
    """Watches a trial: a line a phase and a note, on stderr."""

    def phase(self, name: str) -> None:
        """A phase begins."""
        note_to_stderr(name.replace("_", " "))

    def note(self, text: str) -> None:
        """Something that the user should know."""
        note_to_stderr(f"  {text}")

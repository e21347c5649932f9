"""Several experiments of a paper, one trial after the other, under one budget and in one report.

A trial stopped from outside (budget, model, sandbox, the user) stops the list, and the same command
resumes it there; one that failed doesn't.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock

from autoreproduce.benchmarks.own import OwnTask, OwnTasks
from autoreproduce.claims.experiments import PaperExperiment, plain_name
from autoreproduce.errors import AutoReproduceError, TrialError, UsageError
from autoreproduce.evaluation.paper_page import render_paper
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.shared import read_plain
from autoreproduce.job import Job
from autoreproduce.models.budget import Budget, Cost
from autoreproduce.runner.api_results import Reproduction
from autoreproduce.runner.attempt import OpenView, watched_attempt
from autoreproduce.runner.runtime import Runtime
from autoreproduce.runner.whole_paper.plan import PlannedPaper, paper_source, plan_paper
from autoreproduce.task import Task
from autoreproduce.trials.journal import write_whole
from autoreproduce.trials.trial import Trial

FILE = "trials.json"
REPORT = "report.html"


def add_trial(folder: Path, experiment: str, trial: Path) -> None:
    """Note in the paper's folder that `trial` is one of that experiment."""
    with FileLock(folder / ".trials.lock"):
        known = trials_by_experiment(folder)
        place = os.path.relpath(trial.resolve(), folder.resolve())
        if place not in known.setdefault(experiment, []):
            known[experiment].append(place)
            write_whole(folder / FILE, json.dumps(known, indent=1) + "\n")


def trials_by_experiment(folder: Path) -> dict[str, list[str]]:
    """The trials' folders by experiment, seen from the paper's folder.

    Raises TrialError if the file is damaged.
    """
    try:
        content = dict(parse_json(read_plain(folder / FILE)))
        return {str(name): [str(place) for place in places] for name, places in content.items()}
    except FileNotFoundError:
        return {}
    except (UsageError, ValueError, TypeError) as error:
        raise TrialError(
            f"{folder / FILE} cannot be read ({error})",
            fix="remove it: each experiment is listed again when it is asked for again",
        ) from None


def write_paper_report(planned: PlannedPaper) -> Path:
    """Write the report of all experiments of the plan, tried or not, and return its path."""
    folder = planned.folder
    trials = {
        name: [place for place in places if _is_readable(folder / place)]
        for name, places in trials_by_experiment(folder).items()
    }
    path = folder / REPORT
    write_whole(path, render_paper(folder, planned.plan, trials))
    return path


def _is_readable(folder: Path) -> bool:
    """True for a trial's folder that has ended and whose files can be read."""
    try:
        read = Trial.read(folder)
        read.record.stored_task()
        return read.result is not None
    except AutoReproduceError:
        return False


@dataclass
class PaperReproduction:
    """What came of the experiments asked for: a trial for each program, up to one that was
    stopped.
    """

    planned: PlannedPaper
    programs: list[list[PaperExperiment]]
    report: Path
    trials: list[Reproduction] = field(default_factory=list)

    @property
    def by_experiment(self) -> list[tuple[PaperExperiment, Reproduction | None]]:
        """Each experiment with the trial that it is in, None if that did not run."""
        return [
            (one, self.trials[number] if number < len(self.trials) else None)
            for number, program in enumerate(self.programs)
            for one in program
        ]


def reproduce_experiments(
    job: Job,
    note: Callable[[str], None],
    view: OpenView | None = None,
    ended: Callable[[Reproduction], None] = lambda trial: None,
) -> PaperReproduction:
    """Reproduce the experiments, or resume; `ended` is given each trial. What finished is not run
    again.

    Raises AutoReproduceError if nothing can begin; whatever ends a trial later is its outcome.
    """
    if job.settings.model.record:
        raise UsageError("--record is of one trial", fix="leave it out, or leave out --experiment")
    budget = Budget.parse(job.settings.budget.total)
    source = paper_source(job.arxiv, job.paper, job.settings)
    planned = plan_paper(source, job.settings, budget, note, job.data, job.experiments)
    programs = planned.plan.programs(job.experiments)
    for left in planned.plan.without_data(job.experiments):
        note(f"{left.name} is left out: download {left.dataset}, and name it with --data FOLDER")
    done = PaperReproduction(planned, programs, write_paper_report(planned))
    for program in programs:
        _count_spent(budget, done)
        note("; ".join(f"{one.name}: {one.what}" for one in program))
        trial = watched_attempt(_job_of(job, planned, program), view, Runtime(budget=budget))
        done.trials.append(trial)
        for experiment in program:
            add_trial(planned.folder, experiment.name, trial.path)
        write_paper_report(planned)
        ended(trial)
        if trial.result.status == "stopped":
            break
    return done


def task_of(
    planned: PlannedPaper, *program: PaperExperiment, instruction: str = "", with_data: bool = False
) -> Task:
    """The task of the experiments of one program: a task of the user's own, as the plan describes
    them. The test targets that the plan names are withheld where the data are there.
    """
    entry = (
        _entry_of(planned, program[0], instruction)
        if len(program) == 1
        else _entry_of_several(planned, program, instruction)
    )
    places = {one.targets for one in program}
    if with_data and len(places) == 1:
        entry = entry.model_copy(update={"targets": places.pop()})
    return OwnTasks(OwnTasks.Options(tasks=[entry])).load(entry.name, "full")


def _entry_of_several(
    planned: PlannedPaper, program: Sequence[PaperExperiment], instruction: str
) -> OwnTask:
    """Each metric carries its experiment's name, since two may measure the same."""
    names = [one.name for one in program]
    metrics, lines = list[str](), list[str]()
    for one in program:
        own = [f"{plain_name(one.name).replace('-', '_')}_{metric.name}" for metric in one.metrics]
        metrics += [
            f"{name}:{metric.direction}" for name, metric in zip(own, one.metrics, strict=True)
        ]
        lines.append(
            f"{one.name} ({one.dataset}): {one.instruction} The paper's own method there is "
            f"{' and '.join(f'`{name}`' for name in own)}."
        )
    lines.append(
        "One program is for all of them; what they share is written once. The dry run goes through "
        "each experiment."
    )
    return OwnTask(
        name=f"{planned.source.id} {' '.join(names)}"[:120],
        metric=tuple(metrics),
        arxiv=planned.source.arxiv,
        instruction="\n\n".join(filter(None, [*lines, instruction])),
        dataset=", ".join(dict.fromkeys(one.dataset for one in program)),
        experiment=", ".join(names),
        experiments=tuple(names),
    )


def _entry_of(planned: PlannedPaper, experiment: PaperExperiment, instruction: str) -> OwnTask:
    return OwnTask(
        name=f"{planned.source.id} {experiment.name}",
        metric=tuple(f"{metric.name}:{metric.direction}" for metric in experiment.metrics),
        arxiv=planned.source.arxiv,
        instruction="\n\n".join(filter(None, [experiment.instruction, instruction])),
        dataset=experiment.dataset,
        experiment=experiment.name,
    )


def _job_of(job: Job, planned: PlannedPaper, program: Sequence[PaperExperiment]) -> Job:
    """The Job of one program's trial."""
    has_data = job.data is not None
    task = task_of(planned, *program, instruction=job.instruction, with_data=has_data)
    return job.having(task=task, experiments=(), instruction="", paper_folder=planned.folder)


def _count_spent(budget: Budget, done: PaperReproduction) -> None:
    """Count what plan and trials cost that this process did not pay: it read them as finished."""
    outcomes = [trial.result for trial in done.trials]
    usages = [done.planned.plan.usage, *(outcome.cost.usage for outcome in outcomes)]
    tokens = sum(usage.get("input", 0) + usage.get("output", 0) for usage in usages)
    prices = [done.planned.plan.cost, *(outcome.cost.dollars for outcome in outcomes)]
    dollars = sum(price or 0.0 for price in prices)
    calls = bool(tokens) + sum(outcome.cost.calls for outcome in outcomes)  # planning is one
    budget.spend(
        Cost(
            max(0, tokens - budget.spent_tokens),
            max(0.0, dollars - budget.spent_dollars),
            max(0, calls - budget.spent_calls),
        )
    )

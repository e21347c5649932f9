"""Which model answers: a live one, a tape that was asked for, or the shipped tape, announced.

A replay is never silent. Without a model and without any provider's key, the shipped tape of the
task serves and the first line says so; with a key and no model named, the user is asked to name
one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from autoreproduce.config import MACHINE, Settings
from autoreproduce.content import folder
from autoreproduce.errors import AutoReproduceError, UsageError, shown
from autoreproduce.extensions import table
from autoreproduce.files.handed_over import named_tape
from autoreproduce.job import EXTERNAL, Job
from autoreproduce.method.coding import EDIT
from autoreproduce.models import Models
from autoreproduce.models.budget import Budget
from autoreproduce.models.found_here import how_here
from autoreproduce.models.prices import check_price, endpoint, why_free
from autoreproduce.runner.runtime import Runtime
from autoreproduce.runner.settings import refuse_sections
from autoreproduce.solvers import KINDS, needs_of
from autoreproduce.solvers.coders import check_coder, check_from, default_coder, takes_coder
from autoreproduce.solvers.wanted import refuse_lacking
from autoreproduce.task import Task
from autoreproduce.trials.begun import was_begun_here
from autoreproduce.trials.chain import TRIAL
from autoreproduce.trials.result import LOOK_LOST
from autoreproduce.trials.steps import last_execution
from autoreproduce.trials.trial import Trial

LINEAGE = "lineage"
KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GOOGLE_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "OPENROUTER_API_KEY",
)
HOW = (
    "add --model PROVIDER:NAME, such as openai:gpt-5 with OPENAI_API_KEY set;\n"
    "  or claude-code, codex, gemini-cli (logged in), ollama:NAME, NAME with --base-url URL;\n"
    "  `autoreproduce doctor` says what's here"
)
HOW_TO_RUN = f"{HOW}, --dry-run what a run would take without a model"


@dataclass
class ModelChoice:
    """The models of a trial and what the user must know of them.

    `trusted`: the code that will run came with the package (the shipped tape's, or a task's
    reference).
    """

    name: str
    settings: Settings
    models: Models = field(default_factory=Models)
    announcement: str = ""
    replayed: dict[str, Any] | None = None
    tapes: list[Any] = field(default_factory=list)
    trusted: bool = False

    def guarded(self, guard: Callable[[Any, str], Any]) -> Models:
        """The models, each through `guard` once; a tape needs none."""
        if self.replayed is not None or self.models.research is None:
            return self.models
        m = self.models
        research = guard(m.research, m.research_name)
        code = research if m.code is m.research else guard(m.code, m.code_name)
        return Models(research, code, m.research_name, m.code_name)

    def tell_of_waits(self, note: Callable[[str], None]) -> None:
        """Have `note` called where a model's server asks for a long wait."""
        if self.replayed is None and self.models.research is not None:
            from autoreproduce.models.open import tell_of_waits

            tell_of_waits(self.models.research, note)
            if self.models.code is not self.models.research:
                tell_of_waits(self.models.code, note)

    def check_budget(self, *limits: Budget) -> None:
        """Raises UnknownPriceError for a live model without a price, unless tokens are limited."""
        if self.replayed is None:
            names = {self.models.research_name, self.models.code_name} - {""}
            check_price(sorted(names), self.settings, *limits)

    def notes(self) -> list[str]:
        """Which replies answered another prompt than the recorded one, as after a change of its
        template; one that no longer fits ends the trial, since the tape then goes another way.
        """
        drift = [d for tape in self.tapes for d in tape.drift if not d.numbers_only]
        other = sorted(f"{'/'.join(d.place)} {d.step}" for d in drift)
        if not other:
            return []
        return [
            f"{len(other)} prompts differ from those that the tape answers, beyond numbers: "
            f"{', '.join(other)}"
        ]


def choose_model(
    settings: Settings, task: Task, solver: str, tape: Path | None = None
) -> ModelChoice:
    """Open what answers. Raises UsageError that says how to configure a model.

    `tape` is where the file of `tape:FILE` lies, seen from wherever a trial is resumed.
    """
    choice = _chosen(settings, task, solver, tape)
    coder = choice.settings.method.coder or EDIT
    replayed = choice.replayed
    who = "a tape" if replayed and (replayed["shipped"] or coder == EDIT) else ""
    check_from(choice.settings, task, solver, coder, who)
    return choice


def _chosen(settings: Settings, task: Task, solver: str, tape: Path | None) -> ModelChoice:
    needs = needs_of(solver)
    refuse_lacking(task, solver, needs)
    check_coder(settings, task, solver)
    Budget.parse(settings.budget.attempt, option="--attempt-budget")
    if "model" not in needs:
        return ModelChoice("none", settings, trusted="reference" in needs and _ships(task))
    agents = (settings.model.research, settings.model.code)
    name = (
        settings.model.name
        or (agents[0] if all(agents) else None)
        or _unnamed(settings, task, solver)
    )
    if name == "tape" and (solver in table("solvers") or solver.startswith(tuple(KINDS))):
        raise UsageError(
            f"the shipped tape has no replies to {solver}, only to the method", fix=HOW
        )
    if named_tape(name) is not None:
        return _replay(name, settings, task, tape)
    from autoreproduce.models.open import can_call_tools, open_model

    research = open_model(settings, settings.model.research or name)
    same = (settings.model.code or name) == (settings.model.research or name)
    code = research if same else open_model(settings, settings.model.code or name)
    if "tools" in needs and not can_call_tools(code):
        raise UsageError(
            f"the solver {solver} needs a model that calls tools, which "
            f"{settings.model.code or name} doesn't",
            fix="name another --model, or leave --solver out: the method needs none",
        )
    if settings.method.coder is None:
        settings = settings.having(coder=default_coder(settings, task, solver, code))
    opened = Models(research, code, settings.model.research or name, settings.model.code or name)
    names = dict.fromkeys((opened.research_name, opened.code_name))
    free = "; ".join(filter(None, (why_free(each, settings) for each in names)))
    if same:
        return ModelChoice(opened.research_name, settings, opened, free)
    both = f"{opened.research_name} (research) + {opened.code_name} (code)"
    return ModelChoice(both, settings, opened, free)


def open_research_model(settings: Settings) -> tuple[str, Any]:
    """The name and the live model of the research agent, for what is no trial.

    Raises UsageError if none is named, and for a tape.
    """
    from autoreproduce.models.open import open_model

    name = settings.model.research or settings.model.name
    if name is None:
        raise UsageError("no model is configured", fix=how_here(HOW))
    if named_tape(name) is not None:
        raise UsageError("a tape replays its own trial, and answers nothing else", fix=HOW)
    return name, open_model(settings, name)


def servers(names: Iterable[str], settings: Settings) -> str:
    """Where these models are asked, without credentials; "" for their providers' own addresses."""
    from autoreproduce.models.open import split_name

    live = (name for name in names if name and named_tape(name) is None)
    found = (endpoint(settings, split_name(name, settings)[0]) for name in live)
    return ", ".join(dict.fromkeys(shown(url) for url in found if url))


def check_models(settings: Settings) -> None:
    """Raises UsageError for a model that is named and couldn't be asked: it's unknown, or its key,
    its price or its tape is missing.
    """
    from autoreproduce.models.open import open_model

    named = [name for name in dict.fromkeys(_names(settings)) if named_tape(name) != ""]
    for name in named:
        open_model(settings, name)
    live = [name for name in named if named_tape(name) is None]
    check_price(live, settings, Budget.parse(settings.budget.total))


def check_names(settings: Settings) -> None:
    """Raises UsageError for a model of a provider that is unknown, before one is opened."""
    from autoreproduce.models.open import split_name

    for name in (settings.model.research, settings.model.code, settings.model.name):
        if name and ":" in name and named_tape(name) is None:
            split_name(name, settings)


def _ships(task: Task) -> bool:
    """True for a task of the package's own benchmark, by where it lies."""
    shipped = folder("reproducebench").resolve() / task.id
    return task.folder is not None and task.folder.resolve() == shipped


def _unnamed(settings: Settings, task: Task, solver: str) -> str:
    """No --model: the shipped tape where no key is set and there is one; else an error that says
    what to do.
    """
    from autoreproduce.models.tape import find_tape

    if settings.model.base_url:
        raise UsageError(
            "--base-url is given but no model", fix="add --model NAME as that server calls it"
        )
    how = HOW if solver == LINEAGE else HOW_TO_RUN  # whose command has no --dry-run
    if key := next((key for key in KEYS if os.environ.get(key)), None):
        raise UsageError(
            f"{key} is set but no model is named",
            fix=f"{how_here(how)};\n  --model tape replays the recorded trial of a task",
        )
    if find_tape(task.id, task.profile) is None:
        raise UsageError("no model is configured", fix=how_here(how))
    return "tape"


def _replay(name: str, settings: Settings, task: Task, tape: Path | None) -> ModelChoice:
    """A tape, under the settings it was recorded with unless the user says otherwise."""
    from autoreproduce.models.tape import find_tape
    from autoreproduce.models.tape_model import TapeModel

    shipped = name == "tape"
    path = find_tape(task.id, task.profile) if shipped else tape or Path(named_tape(name) or "")
    if path is None:
        raise UsageError(f"no tape is shipped for {task.id} ({task.profile})", fix=HOW)
    model = TapeModel.open(path)
    head = model.head
    used = _as_recorded(settings, head.settings, "tape" if shipped else name, path)
    announcement = (
        f"The model's replies are REPLAYED from a tape of {head.model}, recorded {head.recorded}; "
        "all else is real. --model PROVIDER:NAME asks a live one."
    )
    opened = Models(model, model, head.model, head.model)
    replayed = {**head.model_dump(mode="json"), "path": path.name, "shipped": shipped}
    name = f"tape of {head.model}"
    return ModelChoice(name, used, opened, announcement, replayed, [model], trusted=shipped)


def _as_recorded(settings: Settings, recorded: dict[str, Any], name: str, path: Path) -> Settings:
    """The settings with those of the recording. What concerns this machine (the sandbox!) no tape
    decides.
    """
    own = {*settings.given(), *MACHINE, "model", "research_model", "code_model"}
    taken = {key: value for key, value in recorded.items() if key not in own}
    refuse_sections(taken, str(path))
    try:
        return settings.having(**taken, model=name)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(
            f"the tape {path} was recorded with a setting that doesn't exist here "
            f"({'.'.join(map(str, first['loc']))}: {first['msg']})",
            fix="replay it with the version that recorded it, or record it again with --record",
        ) from None


# What answers a Job, chosen before a view is drawn and a folder made.
#
# A trial that has ended is asked for no model, key or price. One that goes on has its model asked
# where it was asked before, or the user is told: by a line where another address is given now, by
# an error where none is.


def chosen_model(job: Job, runtime: Runtime) -> ModelChoice:
    """The models, with their price looked up. Raises UsageError."""
    settings, told = job.settings, ""
    if job.solver == EXTERNAL and job.program is None:
        raise UsageError(
            f"the solver {EXTERNAL} runs a program that's handed in, and none is",
            fix="`autoreproduce score PROGRAM --run COMMAND` hands one in",
        )
    if (trial := _begun(job)) is not None:
        if settings.method.coder is None and takes_coder(job.solver, job.of_task):
            begun = trial.record.job.settings.method.coder or EDIT
            settings = settings.having(coder=begun)
        if has_ended(trial, settings):
            return _of_ended(job, trial, settings)
        settings, told = _where_it_was(trial, settings)
    choice = choose_model(settings, job.of_task, job.solver, job.tape)
    choice.announcement = "; ".join(filter(None, (told, choice.announcement)))
    if runtime.budget is None:  # a suite has looked its prices up
        choice.check_budget(Budget.parse(choice.settings.budget.total))
    return choice


def _of_ended(job: Job, trial: Trial, settings: Settings) -> ModelChoice:
    """None but where the last look was lost to a broken connection, and a model is there."""
    if trial.result is not None and LOOK_LOST in trial.result.details:
        with suppress(AutoReproduceError):
            return choose_model(_where_it_was(trial, settings)[0], job.of_task, job.solver, None)
    return ModelChoice(trial.record.model, settings)


def has_ended(trial: Trial, settings: Settings) -> bool:
    """True for a trial that was measured or failed, unless a longer full run is asked for now."""
    outcome = trial.result
    ended = outcome is not None and outcome.status != "stopped"
    return ended and not has_more_time(trial, settings)


def has_more_time(trial: Trial, settings: Settings) -> bool:
    """True if the full run was stopped at its limit, and a longer one is asked for now."""
    last = last_execution(trial.steps, "full_run")
    given = (settings.method.time_limit_minutes or 0) * 60
    return last is not None and last.stopped == "timeout" and 0 < last.allowed < given


def _begun(job: Job) -> Trial | None:
    """The trial in the folder that was named, if a live model answers it."""
    folder, names = job.out, _names(job.settings)
    if folder is None or not names or "model" not in needs_of(job.solver):
        return None
    live = all(named_tape(name) is None for name in names)
    return Trial.read(folder) if live and (folder / TRIAL).is_file() else None


def _names(settings: Settings) -> list[str]:
    given = settings.model.research, settings.model.code, settings.model.name
    return [name for name in given if name]


def _where_it_was(trial: Trial, settings: Settings) -> tuple[Settings, str]:
    """The settings under which the models are asked where they were, and what to tell the user."""
    then, now = trial.record.inputs.get("server"), servers(_names(settings), settings)
    if then is None or then == now:  # it was replayed, or it is asked where it was
        return settings, ""
    if now:
        where = then or "its provider's own address"
        return settings, f"{trial.record.model} was asked at {where} before, now at {now}"
    if was_begun_here(settings.cache_dir, trial.folder) and ", " not in then:
        return settings.having(base_url=then), f"{trial.record.model} is asked at {then}, as before"
    raise UsageError(
        f"{trial.folder} was made with {trial.record.model} at {then}, and no address is given now",
        fix=f"add --base-url {then.partition(', ')[0]}, or where that server is now",
    )

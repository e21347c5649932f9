"""What an attempt is made with and that isn't data, so that no Job holds it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from autoreproduce.job import Job
from autoreproduce.models.budget import Budget
from autoreproduce.trials.steps import Observer
from autoreproduce.trials.trial import Trial


@dataclass
class Runtime:
    """Who watches, and what trials that run beside each other have in common.

    `guard` is given each chat model that was opened; `starts` is held while a container starts;
    `trust`: the user believes a folder that wasn't begun here. `asked`: the Job as it is stored,
    where a machine that many trials share gives this one less. `lay_out` puts a program from
    outside into its trial.
    """

    observers: Sequence[Observer] = ()
    note: Callable[[str], None] = print
    budget: Budget | None = None
    guard: Callable[[Any, str], Any] = lambda model, name: model
    starts: AbstractContextManager[Any] = field(default_factory=nullcontext)
    trust: bool = False
    asked: Job | None = None
    lay_out: Callable[[Trial], None] = lambda trial: None

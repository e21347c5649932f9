"""One line of a journal: what was asked, and the result, whose type depends on the kind of step."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Protocol, Self, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from autoreproduce.contracts import Execution, Stopped
from autoreproduce.errors import CommandError
from autoreproduce.trials.metrics_file import MetricsFile, parse_metrics
from autoreproduce.trials.printed import last_state

Kind = Literal["model", "execute", "install", "fetch"]
# Of files that somebody shared: none makes a budget grow, and sums over trials are finite.
Count = Annotated[int, Field(ge=0, le=10**15)]
Amount = Annotated[float, Field(ge=0, le=1e15)]
SHOWN = 3_000  # characters of output that a prompt holds


def tail(text: str, most: int = SHOWN) -> str:
    """The last `most` characters, where tracebacks are, with a word on what is left out."""
    text = text.rstrip()
    if len(text) <= most:
        return text
    return f"[{len(text) - most} characters before this left out]\n{text[-most:]}"


class StepResult(BaseModel):
    """What every result has in common: it is written once, and holds nothing but its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TokenCounts(StepResult):
    """Tokens of one call: `input` holds `cached` and `cache_write`, `output` holds `reasoning`."""

    input: Count = 0
    cached: Count = 0
    output: Count = 0
    reasoning: Count = 0
    cache_write: Count = 0

    @property
    def total(self) -> int:
        """What the call took: prompt and reply."""
        return self.input + self.output

    def as_dict(self) -> dict[str, int]:
        """The counts by name; `cache_write` only where there was such a thing."""
        return {key: n for key, n in self.model_dump().items() if n or key != "cache_write"}


class ModelResult(StepResult):
    """One model call. `prompt` and `shape` are digests of the messages, exact and without numbers
    (`models.tape`).
    """

    kind: Literal["model"] = "model"
    reply: str
    usage: TokenCounts = TokenCounts()
    price: Amount | None = Field(None, description="dollars, None where the price is unknown")
    model: str = Field("", description="as the provider names it")
    finish: str = Field("stop", description="stop, length, filter, or the provider's own word")
    prompt: str = ""
    shape: str = ""
    tool_calls: list[dict[str, JsonValue]] = []
    carried: dict[str, JsonValue] = Field(
        {},
        description="what goes back with the reply in a conversation: reasoning, signatures",
        exclude_if=lambda carried: not carried,
    )
    by_plan: bool = Field(
        False, description="its user's plan pays for it", exclude_if=lambda paid: not paid
    )
    shared: bool = Field(False, description="asked and paid for by another trial of the paper")


class CommandResult(StepResult):
    """What an execution and an installation have in common: the fields of `Execution`."""

    command: str
    exit_code: int
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    stopped: Stopped = ""
    cpu_seconds: float | None = None
    files_opened: int | None = None
    decoys: bool = False
    draw: str = Field(
        "", description="the seed of the data that it saw, if these were drawn for it"
    )
    unwritten: tuple[str, ...] = Field(
        (),
        description="result files of before that the run didn't write",
        exclude_if=lambda names: not names,
    )

    @classmethod
    def of(cls, execution: Execution) -> Self:
        """The result of a command that ran in a sandbox; a progress bar is one line of it."""
        found = {name: getattr(execution, name) for name in Execution.__dataclass_fields__}
        for name in ("stdout", "stderr"):
            if "\r" in found[name]:
                found[name] = "\n".join(map(last_state, found[name].split("\n")))
        return cls(**found)

    @property
    def execution(self) -> Execution:
        """The same as a sandbox gives it."""
        return Execution(**{name: getattr(self, name) for name in Execution.__dataclass_fields__})

    @property
    def ok(self) -> bool:
        """True where the command ended by itself with exit code 0."""
        return self.exit_code == 0 and not self.stopped


class ExecutionResult(CommandResult):
    """One run of a program, and the result files that it left."""

    kind: Literal["execute"] = "execute"
    metrics_json: str | None = Field(None, description="the text of metrics.json")
    predictions: str | None = Field(None, description="SHA-256 of predictions.npz")
    unread: dict[str, str] = Field({}, description="result files that are no plain files, and why")
    judged: JsonValue = Field(None, description="what the harness found, of masked functions")
    allowed: float = Field(0.0, description="seconds that it might take; 0 if not recorded")
    checkpoint: bool = Field(False, description="it left a checkpoint to continue from")
    carried: float = Field(0.0, description="of its seconds, those that its checkpoint holds")
    load: float | None = Field(
        None, description="processes that the machine was busy with when the run began"
    )
    machine_cores: int | None = Field(None, description="that they and the run share")

    @cached_property
    def written(self) -> MetricsFile | None:
        """What metrics.json holds; None without one, or if it cannot be read."""
        try:
            return parse_metrics(self.metrics_json or "")
        except CommandError:
            return None

    @property
    def timed_out(self) -> bool:
        """True if it was still running at its time limit."""
        return self.stopped == "timeout"

    @property
    def interrupted(self) -> bool:
        """True if it was ended with its harness, by Ctrl-C or a kill."""
        return self.stopped == "interrupted"

    @property
    def report(self) -> str:
        """What a prompt shows: how it ended, and the end of what it printed."""
        how = (
            f"stopped at its limit ({self.stopped}) after {self.seconds:.0f} s"
            if self.stopped
            else f"exit code {self.exit_code}"
        )
        streams = (("stdout", self.stdout), ("stderr", self.stderr))
        return "\n".join(
            [how, *(f"{name}:\n~~~\n{tail(text)}\n~~~" for name, text in streams if text.strip())]
        )


class InstallResult(CommandResult):
    """One installation of packages."""

    kind: Literal["install"] = "install"


class FetchResult(StepResult):
    """What was learnt from a network, as JSON; `Journal.fetch` gives it as its own type."""

    kind: Literal["fetch"] = "fetch"
    learnt: JsonValue


AnyResult = ModelResult | ExecutionResult | InstallResult | FetchResult


class Step(BaseModel):
    """One line of the journal."""

    # a number that is none must be read again as it was written, and not as null
    model_config = ConfigDict(ser_json_inf_nan="constants")

    index: int
    phase: str
    role: str = Field(description="research, code, judge, sandbox or network")
    name: str = Field(description="what for, e.g. the prompt's name")
    digest: str = Field(description="of what was asked; a resumed trial must ask the same")
    at: str
    seconds: float
    result: Annotated[AnyResult, Field(discriminator="kind")]

    @property
    def kind(self) -> Kind:
        """The kind of its result."""
        return self.result.kind


def model_results(steps: Iterable[Step]) -> list[ModelResult]:
    """The results of the model calls among `steps`, in order."""
    return [step.result for step in steps if isinstance(step.result, ModelResult)]


def usage_of(calls: Iterable[ModelResult]) -> dict[str, int]:
    """The tokens of calls together, by kind."""
    usage: Counter[str] = Counter()
    for call in calls:
        usage.update(call.usage.as_dict())
    return dict(usage)


def dollars_of(calls: Iterable[ModelResult]) -> float | None:
    """What calls cost together; None where one price is unknown, for unknown is not nothing."""
    prices = [call.price for call in calls]
    known = [price for price in prices if price is not None]
    return math.fsum(known) if len(known) == len(prices) else None


def sums_of(steps: Sequence[Step]) -> dict[str, Any]:
    """What steps took together: seconds, calls, executions, tokens, and dollars as `dollars_of`."""
    calls = model_results(steps)
    return {
        "seconds": round(sum(step.seconds for step in steps), 1),
        "calls": len(calls),
        "executions": sum(step.kind == "execute" for step in steps),
        "input": sum(call.usage.input for call in calls),
        "cached": sum(call.usage.cached for call in calls),
        "output": sum(call.usage.output for call in calls),
        "dollars": dollars_of(calls),
    }


def by_phase(steps: Iterable[Step]) -> dict[str, list[Step]]:
    """The steps of each phase, in the order in which the phases began."""
    found: dict[str, list[Step]] = {}
    for step in steps:
        found.setdefault(step.phase, []).append(step)
    return found


def last_execution(steps: Sequence[Step], phase: str = "") -> ExecutionResult | None:
    """The last run of a program, in one phase or in any; None where nothing was run."""
    results = (step.result for step in reversed(steps) if phase in ("", step.phase))
    return next((one for one in results if isinstance(one, ExecutionResult)), None)


@runtime_checkable
class SeesRows(Protocol):
    """An observer that also wants what a program writes into files while it runs."""

    def rows(self, rows: list[dict[str, float | None]]) -> None:
        """All rows of steps and values so far."""
        ...


class Observer(Protocol):
    """Who watches a trial: the terminal view, the plain log, the JSON lines.

    A class of this one says only what it does at an event; the others pass.
    """

    def phase(self, name: str) -> None:
        """A phase begins."""
        return

    def planned(self, names: Sequence[str]) -> None:
        """These phases are to come, in this order; others may begin between and after them."""
        return

    def step(self, step: Step, replayed: bool) -> None:
        """A step ended; `replayed` if it was read from the journal."""
        return

    def output(self, text: str) -> None:
        """The running program printed `text`, "" where it only runs on."""
        return

    def note(self, text: str) -> None:
        """Something the user should know, one line."""
        return

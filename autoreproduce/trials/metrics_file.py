"""metrics.json: how a generated program says what it measured.

A model writes the program, so the file is read as hostile input: whatever is wrong with it becomes
one CommandError that names the place, what was expected and what was found, fit to go back to the
code agent. The numbers that count must be finite. In `history` a value that is not finite becomes
None: a loss that diverged in one epoch is a fact about the run, and no reason to throw away an hour
of training.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from autoreproduce.errors import CommandError, SandboxError
from autoreproduce.files.bounded import is_number, is_usable, parse_json
from autoreproduce.files.tree import Tree

FILE = "metrics.json"
MAX_BYTES = 32_000_000

SCHEMA_TEXT = """\
The program writes `metrics.json` in its working folder when all is measured \
(json.dump of plain Python values); a run that saves checkpoints also writes it with each, with \
the numbers so far:
{"metrics": {METRICS}, "history": [{"epoch": 1, "loss": <number>}], \
"settings": {"lr": <number>}}
- "metrics": each final number by its name; finite numbers, not text, not null, not NaN; \
at least one.
- "history": one object an epoch, numbers only: its losses, and what else is measured in it under \
names that say of which data; of runs one after the other each begins at epoch 1. A list, empty \
where nothing was trained.
- "settings": the values that were really used (learning rate, epochs, batch size, widths, \
seed ...).
Convert tensors and NumPy values with float() first."""

EVIDENCE_TEXT = """
- "runs": {"NAME": [<number>, ...]}: of each metric that is a mean over runs, seeds or \
repetitions, the value of each single one, in order; a mean without them counts as one run. Of one \
over simulated data sets each set's (of a bias or RMSE its error, of a coverage 0 or 1).
Beside it, `predictions.npz` (numpy.savez_compressed) holds, under each metric's name, what that \
number was computed from (labels, values or scores): one entry for each item of the split that it \
is measured on; and under NAME.targets the true values beside them, in the same order. Of a mean \
over runs, each run's own stand under NAME.1, NAME.2 and so on, in the order of "runs" (and \
NAME.1.targets where the true values differ). Nothing of a metric that is not measured on items."""
MOST_RUNS = 100_000  # of one metric


def schema_text(names: Sequence[str], *, evidence: bool = False) -> str:
    """What a program is told of the file, for metrics of these names. `evidence`: it is asked for
    each run behind a mean, and for its predictions.
    """
    metrics = ", ".join(f"{json.dumps(name)}: <number>" for name in names)
    text = SCHEMA_TEXT.replace("METRICS", metrics) + (EVIDENCE_TEXT if evidence else "")
    return text.replace("NAME", names[0])


_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


def _finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


_Point = Annotated[Annotated[float, Field(strict=True)] | None, BeforeValidator(_finite_or_none)]


def _usable_runs(value: Any) -> Any:
    """The lists of numbers in it; a program may have something else under this name."""
    lists = value.items() if isinstance(value, dict) else ()
    return {
        name: found
        for name, found in lists
        if isinstance(found, list)
        and 0 < len(found) <= MOST_RUNS
        and all(is_number(one) and is_usable(one) for one in found)
    }


class MetricsFile(BaseModel):
    """The content of metrics.json. Keys that the schema does not name are ignored."""

    model_config = ConfigDict(extra="ignore")

    metrics: dict[str, _Number] = Field(min_length=1)
    history: list[dict[str, _Point]] = []
    settings: dict[str, Any] = {}
    runs: Annotated[dict[str, list[float]], BeforeValidator(_usable_runs)] = Field(
        {}, description="the single values behind a metric that is their mean"
    )


def usable_metrics(path: Path) -> tuple[MetricsFile, dict[str, str]]:
    """What of the file `path` is a number, and by its name why what else stands there is none.

    Raises CommandError as `parse_metrics` where it has no number or another form.
    """
    return usable_numbers(_text_of(path))


def usable_numbers(text: str) -> tuple[MetricsFile, dict[str, str]]:
    """The same of the file's text."""
    content = _parsed_json(text)
    given = content.get("metrics") if isinstance(content, dict) else None
    if not isinstance(given, dict):
        return _checked(content), {}
    numbers = {
        key: value for key, value in given.items() if is_number(value) and math.isfinite(value)
    }
    faults = {
        key: f"the program wrote {_value_text(value)} for it"
        for key, value in given.items()
        if key not in numbers
    }
    return _checked({**content, "metrics": numbers or given}), faults


def _text_of(path: Path) -> str:
    try:
        return Tree(path.parent).read(path.name, MAX_BYTES).decode()
    except FileNotFoundError:
        raise CommandError(f"{FILE} was not written: write it when all is measured") from None
    except SandboxError as error:
        most = f"of at most {MAX_BYTES // 1_000_000} MB"
        raise CommandError(f"{FILE}: must be a plain file {most} ({error})") from None
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{FILE} cannot be read ({error}): write it as UTF-8 text with json.dump"
        ) from None


def parse_metrics(text: str, needs: str | None = None) -> MetricsFile:
    """The checked content of a metrics file; `needs` is a key that `metrics` must have (the task's
    metric).

    Raises CommandError with a reason that a code agent can act on.
    """
    found = _checked(_parsed_json(text))
    if needs is not None and needs not in found.metrics:
        raise CommandError(
            f'{FILE}: "metrics" has no "{needs}", only {", ".join(sorted(found.metrics))[:200]}: '
            f'write the number under the name "{needs}"'
        )
    return found


def _checked(content: Any) -> MetricsFile:
    try:
        return MetricsFile.model_validate(content)
    except ValidationError as error:
        raise CommandError(f"{FILE}: {_first_fault(error)}") from None


def check_form(text: str) -> None:
    """That a cut run left the file in its form: which metrics it holds, and whether they are
    finite, only a run in full can say.

    Raises CommandError with a reason that a code agent can act on.
    """
    content = _parsed_json(text)
    if not isinstance(content, dict) or not isinstance(content.get("metrics"), dict):
        raise CommandError(f'{FILE}: must be an object {{"metrics": {{...}}}} with the numbers')


def _parsed_json(text: str) -> Any:
    if not text.strip():
        raise CommandError(f"{FILE} is empty: write it with json.dump and close the file")
    try:
        return parse_json(text)
    except ValueError as error:
        raise CommandError(f"{FILE} is not JSON ({error}): write it with json.dump") from None


def _first_fault(error: ValidationError) -> str:
    """The first fault in words: where it is, what it must be, what it is."""
    fault = error.errors()[0]
    place = ".".join(str(part) for part in fault["loc"]) or "the file"
    found = fault["input"]
    if fault["type"] == "missing":
        return f'the key "{place}" is missing; there are {", ".join(map(str, found)) or "no keys"}'
    if fault["type"] == "too_short":
        return f'"{place}" is empty: it must hold at least one number'
    must = {
        "finite_number": "a finite number",
        "float_type": "a number (not text, not null, not true or false)",
        "dict_type": "an object {...}",
        "model_type": "an object {...}",
        "list_type": "a list [...]",
    }.get(fault["type"], fault["msg"])
    return f"{place} must be {must}, but it is {_value_text(found)}"


def _value_text(value: Any) -> str:
    kind = {str: "the text ", list: "a list: ", dict: "an object: ", type(None): ""}.get(
        type(value), ""
    )
    return f"{kind}{json.dumps(value, default=str)[:80]}"

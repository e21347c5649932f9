"""metrics.json: how a generated program says what it measured.

A model writes the program, so the file is read as hostile input: whatever is wrong with it becomes one
CommandError that names the place, what was expected and what was found, fit to go back to the code agent.
The numbers that count must be finite. In `history` a value that is not finite becomes None: a loss that
diverged in one epoch is a fact about the run, and no reason to throw away an hour of training.
"""

from __future__ import annotations

import json
import math
import stat
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from autoreproduce.errors import CommandError

MAX_BYTES = 32_000_000

SCHEMA_TEXT = """\
The program writes `metrics.json` in its working folder, as its last act (json.dump of plain Python values):
{"metrics": {"NAME": 0.031}, "history": [{"epoch": 1, "loss": 0.4, "NAME": 0.2}], "settings": {"lr": 0.001}}
- "metrics": each final number by its name; finite numbers, not text, not null, not NaN; at least one.
- "history": one object an epoch, numbers only; a list, empty where nothing was trained.
- "settings": the values that were really used (learning rate, epochs, batch size, widths, seed ...).
Convert tensors and NumPy values with float() first."""

_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


def _finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


_Point = Annotated[Annotated[float, Field(strict=True)] | None, BeforeValidator(_finite_or_none)]


class MetricsFile(BaseModel):
    """The content of metrics.json. Keys that the schema does not name are ignored."""

    model_config = ConfigDict(extra="ignore")

    metrics: dict[str, _Number] = Field(min_length=1)
    history: list[dict[str, _Point]] = []
    settings: dict[str, Any] = {}


def read_metrics(path: Path, needs: str | None = None) -> MetricsFile:
    """The checked content of the file `path`; else as `parse_metrics`."""
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:  # a link leads out, a pipe waits for ever
            raise CommandError(f"{path.name}: must be a plain file of at most {MAX_BYTES // 1_000_000} MB")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CommandError(f"{path.name} was not written: write it as the program's last act") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path.name} cannot be read ({error}): write it as UTF-8 text with json.dump") from None
    return parse_metrics(text, needs, path.name)


def parse_metrics(text: str, needs: str | None = None, name: str = "metrics.json") -> MetricsFile:
    """The checked content of a metrics file; `needs` is a key that `metrics` must have (the task's metric).

    Raises CommandError with a reason that a code agent can act on.
    """
    try:
        found = MetricsFile.model_validate(_json(text, name))
    except ValidationError as error:
        raise CommandError(f"{name}: {_reason(error)}") from None
    if needs is not None and needs not in found.metrics:
        raise CommandError(
            f'{name}: "metrics" has no "{needs}", only {", ".join(sorted(found.metrics))[:200]}: '
            f'write the number under the name "{needs}"'
        )
    return found


def _json(text: str, name: str) -> Any:
    if not text.strip():
        raise CommandError(f"{name} is empty: write it with json.dump and close the file")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{name} is not JSON ({error}): write it with json.dump") from None


def _reason(error: ValidationError) -> str:
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
    return f"{place} must be {must}, but it is {_shown(found)}"


def _shown(value: Any) -> str:
    kind = {str: "the text ", list: "a list: ", dict: "an object: ", type(None): ""}.get(type(value), "")
    return f"{kind}{json.dumps(value, default=str)[:80]}"

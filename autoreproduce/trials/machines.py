"""The machines that a trial was attempted on, in its folder, in order.

A trial that was resumed elsewhere has more than one: seconds of different hardware do not compare.
"""

import json
import platform
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.shared import read_plain
from autoreproduce.trials.journal import write_soon

FILE = "machines.json"


class Machine(BaseModel):
    """A host by name, and its hardware as in trial.json."""

    host: str = ""
    hardware: dict[str, Any] = {}

    @property
    def kind(self) -> str:
        """The hardware as one text, equal for machines whose times compare."""
        return json.dumps(self.hardware, sort_keys=True)


_LIST = TypeAdapter(list[Machine])


def read_machines(folder: Path, first: dict[str, Any]) -> list[Machine]:
    """The machines of a trial. `first` is the hardware in its trial.json, for a folder that has no
    list or a damaged one.
    """
    try:
        return _LIST.validate_python(parse_json(read_plain(folder / FILE)))
    except (OSError, ValueError, ValidationError, UsageError):
        return [Machine(hardware=first)]


def add_machine(folder: Path, first: dict[str, Any], hardware: dict[str, Any]) -> None:
    """Note that the trial is attempted on this machine now, unless it was here last."""
    found = read_machines(folder, first) if (folder / FILE).exists() else []
    if not found and hardware != first:  # the list was lost, or an older version began the trial
        found = [Machine(hardware=first)]
    here = Machine(host=platform.node(), hardware=hardware)
    if found[-1:] != [here]:
        write_soon(folder / FILE, _LIST.dump_json([*found, here]).decode())

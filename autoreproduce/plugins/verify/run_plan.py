"""How a model plans to run code: commands, a driver, a Python, packages, patches, missing data."""

from __future__ import annotations

import re
from collections.abc import Collection
from textwrap import shorten
from typing import Any

from pydantic import BaseModel, Field, field_validator, model_validator

from autoreproduce.contracts import Packages
from autoreproduce.errors import UsageError
from autoreproduce.plugins.verify.driver import DRIVER, LONGEST
from autoreproduce.plugins.verify.run_patches import RunPatch
from autoreproduce.sandboxes.pythons import how_to_get, nearest

CHANGES_CODE = re.compile(  # --patch 16 and patch.py are no programs
    r"(?<![\w.-])(?:sed|patch|perl|awk|tee)(?=\s|$)"
    r"|python[\d.]*\s+-c\b|>\s*\S+\.(?:py|ipynb)\b|<<"
)


class DataNeed(BaseModel):
    """Data that the code fetches while it runs, and where in the folder of --data it looks."""

    what: str = Field(min_length=1, max_length=200)
    source: str = Field("", max_length=300)
    put_at: str = Field(min_length=1, max_length=200)

    @property
    def words(self) -> str:
        """What a user has to do."""
        return f"get {self.what}{f' from {self.source}' if self.source else ''}, as {self.put_at}"


class PlannedCommand(BaseModel):
    """A bash line in the code's folder, and which numbers it's run for."""

    command: str = Field(min_length=1, max_length=2_000)
    shows: str = ""

    @field_validator("shows")
    @classmethod
    def _short(cls, shows: str) -> str:
        return shorten(shows, 300, placeholder="…")

    @field_validator("command")
    @classmethod
    def _as_it_is(cls, command: str) -> str:
        if found := CHANGES_CODE.search(command):
            raise ValueError(f"{found[0]!r} changes what is computed: run the code as it is")
        if "--allow-errors" in command:
            raise ValueError("--allow-errors hides a notebook's errors, which are its outcome")
        return command


class RunPlan(BaseModel):
    """How the code is run: bash lines in its folder, one after the other, and what they need.

    `driver`: a Python script that calls the code where it has no program (`driver`).
    """

    commands: list[PlannedCommand] = Field(max_length=12)
    driver: str = Field("", max_length=LONGEST)
    python: str = Field("", pattern=r"^([23]\.\d{1,2})?$")
    packages: list[str] = Field([], max_length=100)
    patches: list[RunPatch] = Field([], max_length=20)
    data: list[DataNeed] = Field([], max_length=10)
    minutes: float = Field(0, ge=0, allow_inf_nan=False)  # that all of it may take; 0: not said
    why: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_one(cls, given: Any) -> Any:
        """One `command` is a list of one; a driver is run, last if no command does it."""
        if not isinstance(given, dict):
            return given
        rest = {name: value for name, value in given.items() if name != "command"}
        lines = given.get("commands") or ([given["command"]] if given.get("command") else [])
        if given.get("driver") and isinstance(lines, list) and DRIVER not in str(lines):
            lines = [*lines, f"python {DRIVER}"]
        if not lines:
            raise ValueError(
                "no command: name one, or write a driver where the code has no program of its own"
            )
        return rest | {"commands": [{"command": x} if isinstance(x, str) else x for x in lines]}

    @property
    def command(self) -> str:
        """All of it as one bash line: each runs, and one that fails makes it fail."""
        lines = [one.command for one in self.commands]
        if len(lines) == 1:
            return lines[0]
        failed = " ".join(f"( {line} ) || failed=$?;" for line in lines)
        return f"failed=0; {failed} ( exit $failed )"

    @property
    def needs_data(self) -> bool:
        """Whether a command, the driver or a patch can't do without the folder of the user's data:
        `os.environ.get("DATA_DIR")` and `${DATA_DIR:-data}` can.
        """
        code = [self.driver, *(one.new for one in self.patches)]
        return any(
            re.search(r"\$(?:DATA_DIR\b|\{DATA_DIR\})", one.command) for one in self.commands
        ) or any(re.search(r"""environ\[\s*['"]DATA_DIR""", text) for text in code)

    def runs_as(self, other: RunPlan) -> bool:
        """Whether it runs just what the other one does, whatever its reasons."""
        return self._run == other._run

    @property
    def _run(self) -> list[object]:
        patches = sorted((one.file, one.old, one.new) for one in self.patches)
        lines = [one.command for one in self.commands]
        return [lines, self.driver, self.python, sorted(self.packages), patches]

    def too_long(self, minutes: float) -> str:
        """That it may not end within the time limit; "" if it may, or nobody says."""
        if self.minutes <= minutes:
            return ""
        return (
            f"the model expects {self.minutes:g} minutes, and a run has {minutes:g}: it may be "
            f"stopped before it ends; --time-limit-minutes {self.minutes * 1.5:.0f} gives it more"
        )

    @field_validator("packages")
    @classmethod
    def _names(cls, packages: list[str]) -> list[str]:
        try:
            Packages(tuple(packages))
        except UsageError as error:
            raise ValueError(str(error)) from None
        return packages


def python_for(wanted: str, own: str, there: Collection[str]) -> tuple[str, str]:
    """The version to install for ("" is the sandbox's own, `own`), and a note if it's another."""
    if wanted in ("", own) or wanted in there:
        return "" if wanted == own else wanted, ""
    near = nearest(wanted, {*there, own}) or own
    note = f"Python {wanted} isn't here, so {near} runs instead; to have it: {how_to_get(wanted)}"
    return "" if near == own else near, note


def data_words(needs: list[DataNeed]) -> str:
    """What to download and where to put it, as the end of a sentence."""
    listed = "; ".join(need.words for need in needs)
    return f"; put it into a folder and name that with --data: {listed}" if needs else ""

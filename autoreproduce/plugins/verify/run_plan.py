"""How a model plans to run code: commands, a driver, a Python, packages, patches, missing data."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from textwrap import shorten
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from autoreproduce.claims.choices import says, with_count
from autoreproduce.contracts import Packages
from autoreproduce.errors import UsageError
from autoreproduce.plugins.verify.driver import DRIVER, LONGEST
from autoreproduce.plugins.verify.run_patches import RunPatch
from autoreproduce.plugins.verify.settings_beside import SPELT
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


class Shortening(BaseModel):
    """What the run has fewer of than the paper, to end in time: repetitions, seeds, epochs.

    `at`: the words of command or driver that say how many. `kind`: replicates and seeds are what a
    number is a mean over, so that chance alone moves it; the others change what is computed.
    """

    what: str = Field(min_length=1, max_length=60)
    kind: Literal["replicates", "seeds", "epochs", "steps", "samples", "parameters"]
    paper: int = Field(ge=2, le=10**12)
    run: int = Field(ge=1)
    at: str = Field(min_length=1, max_length=200)

    @model_validator(mode="after")
    def _fewer(self) -> Self:
        if self.run >= self.paper:
            raise ValueError(f"{self.run} isn't fewer than the paper's {self.paper}")
        if not with_count(self.at, self.run, 1) or not re.search(r"[A-Za-z]", self.at):
            raise ValueError(f"`at` doesn't say {self.run} in one place, with its name beside it")
        return self

    def place(self, texts: Mapping[str, str]) -> str:
        """Which of the texts, by name, first states the paper's count; "" if none does."""
        stated = re.compile(spellings(self.paper), re.IGNORECASE)
        return next((name for name, text in texts.items() if stated.search(text)), "")


def spellings(count: int) -> str:
    """A pattern of a whole number as papers and code write it: 1,000, 1e3, 10^3, a thousand."""
    gap = r"(?:,|\{,\}|\\,|[ \u2009\u202f\u00a0_'])?"
    ways = [gap.join(f"{count:,}".split(","))]
    figures = str(count).rstrip("0")
    if power := len(str(count)) - len(figures):
        raised = rf"10\s*(?:\^|\*\*)\s*\{{?\s*{power}"
        times = r"\s*\$?\s*(?:×|\\times|\\cdot|\*)\s*\$?\s*"
        ways += [rf"{figures}(?:\.0)?e\+?0*{power}", rf"{figures}{times}{raised}"]
        ways += [raised] if figures == "1" else []
    named = [word for word, number in SPELT.items() if number == count]
    ways += [rf"\b{word}\b" for word in named]
    return rf"(?<![\d.,])(?:{'|'.join(ways)})(?!\d|[.,]\d)"


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
    shortened: list[Shortening] = Field([], max_length=8)
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

    def shortened_in(self, command: str) -> list[Shortening]:
        """What a command of it was shortened by, itself or the driver that it runs."""
        text = f"{command}\n{self.driver if DRIVER in command else ''}"
        return [one for one in self.shortened if says(text, one.at)]

    def unfounded(self, texts: Mapping[str, str]) -> list[str]:
        """Why something of `shortened` can't be taken: its words are in no command, or the paper's
        count is in none of the texts.
        """
        ran = {what.at for one in self.commands for what in self.shortened_in(one.command)}
        nowhere = [
            f"shortened: {one.at!r} stands in no command, and not in the driver"
            for one in self.shortened
            if one.at not in ran
        ]
        return nowhere + [
            f"shortened: {one.paper} {one.what} isn't in the paper or the code"
            for one in self.shortened
            if one.at in ran and not one.place(texts)
        ]

    def founded(self, texts: Mapping[str, str]) -> RunPlan:
        """The plan without what of `shortened` can't be taken."""
        kept = [
            one
            for one in self.shortened
            if not self.model_copy(update={"shortened": [one]}).unfounded(texts)
        ]
        return self.model_copy(update={"shortened": kept})

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

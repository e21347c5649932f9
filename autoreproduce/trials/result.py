"""result.json: how a trial ended, in one file with one model and one reader.

It is made once, when a trial ends, from what the solver submitted, what the harness measured and
what the journal cost; a later run with more seeds makes it anew. Reports, tables, suites, pages,
exports and other programs read this and nothing else. Its sections: `number` (what was measured,
and whether it was earned), `claims` (what the number says of the paper), `audit` (where the code
does something else than the paper says), `cost`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from autoreproduce.claims.differences import Audit
from autoreproduce.claims.verdicts.trial_verdict import JudgedClaim, TrialVerdict
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.files.bounded import LARGEST_JSON, parse_json
from autoreproduce.files.shared import read_plain
from autoreproduce.task import ReferenceNumber, Task
from autoreproduce.trials.chain import RESULT
from autoreproduce.trials.measurement import Measurement
from autoreproduce.trials.steps import Amount, Count

LOOK_LOST = "look_lost"  # in `details`: which broken connection cost the last look


class Cost(BaseModel):
    """What an attempt took: tokens by kind, dollars (None: unknown), seconds, and both by phase."""

    usage: dict[str, Count] = {}
    dollars: Amount | None = None
    seconds: Amount = 0.0
    phases: dict[str, dict[str, Any]] = {}
    edits: dict[str, dict[str, Count]] = Field({}, description="turns and lines, by phase")
    models: list[str] = Field([], description="that answered")

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.usage.get("input", 0) + self.usage.get("output", 0)

    @property
    def calls(self) -> int:
        """Of models, over all phases."""
        return sum(phase.get("calls", 0) for phase in self.phases.values())


class Result(BaseModel):
    """How a trial ended.

    `status`: measured (ran in full, metric measured) · failed (a phase used up its attempts, or the
    full run failed) · stopped (by budget, by the user, or by something outside the solver: it can
    be resumed). What the number says of the paper is the `verdict`.
    """

    # a null in place of a NaN could not be read again as a number
    model_config = ConfigDict(ser_json_inf_nan="constants")

    status: Literal["measured", "failed", "stopped"]
    reason: str
    phase: str = ""
    sentence: str = Field("", description="the verdict in one sentence")
    level: Literal["", "good", "mixed", "bad", "open"] = Field(
        "", description="of the verdict, as it is coloured"
    )
    number: Measurement | None = Field(None, description="None where the trial was stopped before")
    claims: TrialVerdict | None = Field(None, description="None where nothing was judged")
    audit: Audit | None = Field(None, description="None where code and paper weren't compared")
    gap: FiniteFloat | None = Field(
        None, description="signed relative distance to the reference; above 0 is worse"
    )
    within_band: bool | None = None
    cost: Cost = Field(default_factory=Cost)
    isolated: bool = Field(
        True, description="False: programs could read the user's files and use the network"
    )
    warnings: list[str] = []
    not_reproduced: list[str] = []
    notes: list[str] = Field([], description="what else to know: of the task, or of a tape")
    lineage: list[dict[str, Any]] = []
    details: dict[str, Any] = {}
    seal: str = Field("", description="of this file with the trial that it belongs to")

    def __repr__(self) -> str:
        return f"<Result {self.status}: {self.sentence or self.reason}>"

    __str__ = __repr__

    @property
    def metric(self) -> float | None:
        """The number that counts; a void one is none."""
        return None if self.number is None or self.integrity == "void" else self.number.value

    @property
    def metrics(self) -> dict[str, float]:
        """All numbers that the program wrote, by name."""
        return self.number.metrics if self.number else {}

    @property
    def claimed(self) -> float | None:
        """What the program itself wrote for the metric."""
        return self.number.claimed if self.number else None

    @property
    def recomputed(self) -> bool:
        """True if the number comes from saved predictions, by the harness's own code."""
        return self.number is not None and self.number.recomputed

    @property
    def decoys(self) -> float | None:
        """The metric against the decoys that the run saw: what a claim is about."""
        return self.number.decoys if self.number else None

    @property
    def integrity(self) -> Literal["", "clean", "unchecked", "doubtful", "void"]:
        """The word on whether the number was earned; "" without a number."""
        return self.number.integrity.word if self.number and self.number.integrity else ""

    @property
    def reference(self) -> ReferenceNumber | None:
        """The reference's number on the same draw of the data, if they were drawn."""
        return self.number.pair.result if self.number and self.number.pair else None

    @property
    def verdict(self) -> str:
        """On the paper's claims: reproduced, partly, not reproduced, not comparable, "not measured"
        where a number was wanted and there is none, or "" where none was.
        """
        if self.claims is not None:
            return self.claims.overall.word
        unmet = self.status == "failed" and self.number is not None and self.number.wanted
        return "not measured" if unmet and self.number and self.number.passed is None else ""

    @property
    def judged(self) -> tuple[JudgedClaim, ...]:
        """The paper's claims with their verdicts; empty if none was judged."""
        return self.claims.claims if self.claims else ()

    def reference_of(self, task: Task | None) -> ReferenceNumber | None:
        """What the number is held against: the reference's on the same data, else the task's."""
        return self.reference or (task.reference if task else None)


def read_result(folder: Path) -> Result | None:
    """How the trial in `folder` ended, None while it has not.

    Raises TrialError if result.json is damaged.
    """
    path = folder / RESULT
    try:
        if path.is_symlink():  # which could lead to any file of this machine
            raise ValueError("it's a link")
        return Result.model_validate(parse_json(read_plain(path, LARGEST_JSON)))
    except FileNotFoundError:
        return None
    except (UsageError, ValueError) as error:
        why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise TrialError(
            f"{path} is damaged ({' '.join(why.split())[:200]})",
            fix="remove it, and the same command makes it anew",
        ) from None

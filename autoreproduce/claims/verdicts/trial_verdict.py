"""What a trial's runs say of the paper's claims: the section `claims` of its result.

It names the digest of the claims that it was made from.
"""

from pathlib import Path
from typing import Literal

from pydantic import Field

from autoreproduce.claims.claim import CLAIMS, Claim, ClaimedTable, Frozen, claims_of
from autoreproduce.claims.verdicts.one_claim import Verdict
from autoreproduce.claims.verdicts.orderings import OrderVerdict
from autoreproduce.claims.verdicts.overall import Overall
from autoreproduce.claims.verdicts.readings import ReadingsVerdict
from autoreproduce.errors import UsageError

Level = Literal["good", "mixed", "bad", "open"]


class SeedRun(Frozen):
    """One run in full, and the task's number of it (None: with the `reason`)."""

    seed: int
    value: float | None
    metrics: dict[str, float] = Field({}, description="all that it wrote, by name")
    recomputed: bool = False
    reason: str = ""
    seconds: float = 0.0
    runs: dict[str, tuple[float, ...]] = Field(
        {}, description="the single values that it wrote behind a mean, by name"
    )
    entries: dict[str, int] = Field({}, description="entries of saved predictions, by metric")
    recounted: tuple[str, ...] = Field((), description="what was recomputed from them")
    runs_recounted: tuple[str, ...] = Field(
        (), description="means of which each run's was", exclude_if=lambda names: not names
    )
    in_process: bool = Field(
        False,
        description="one of many in one process; its numbers are the program's own word",
        exclude_if=lambda in_process: not in_process,
    )
    reached: bool = Field(
        False, description="it printed that it reaches the lines changed for it", exclude=True
    )
    any_seed: bool = Field(
        False,
        description="another seed was tried and gave the same numbers to the last digit",
        exclude_if=lambda any_seed: not any_seed,
    )


class JudgedClaim(Frozen):
    """A claim with its verdict. `recomputed`: by the harness, and not taken from the program."""

    claim: Claim
    verdict: Verdict
    recomputed: bool = False
    derived: str = Field(
        "",
        description="in words, how the number comes from what the run wrote",
        exclude_if=lambda words: not words,
    )

    def __repr__(self) -> str:
        claim, mean = self.claim, self.verdict.mean
        paper = f"{claim.printed or claim.value}{claim.unit}"
        measured = "nothing" if mean is None else f"{mean:.6g}"
        return f"<JudgedClaim {claim.id}: {self.verdict.word}, paper {paper}, measured {measured}>"

    __str__ = __repr__


class TrialVerdict(Frozen):
    """The whole verdict. Its `sentence`, and the `level` in whose colour that is shown, are stored
    in the result alone, where the audit has its say too.
    """

    sentence: str = Field("", exclude=True)
    level: Level = Field("open", exclude=True)
    overall: Overall
    claims: tuple[JudgedClaim, ...] = ()
    orderings: tuple[OrderVerdict, ...] = ()
    runs: tuple[SeedRun, ...] = ()
    alike: bool = Field(
        False,
        description="its runs gave the same numbers to the last digit, and count as one",
        exclude_if=lambda alike: not alike,
    )
    mean: float | None = Field(None, description="of the task's number over the runs")
    interval: tuple[float, float] | None = Field(
        None, description="95 % confidence interval of that mean; None for one run"
    )
    readings: ReadingsVerdict | None = Field(
        None, description="of what the paper leaves open; None if nothing was registered or ran"
    )
    remarks: tuple[str, ...] = Field((), description="what a reader of the verdict must know")
    confirmed: tuple[str, ...] = Field(
        (),
        description="tries of the last look whose run reached more of the paper's numbers",
        exclude_if=lambda tries: not tries,
    )
    tables: tuple[ClaimedTable, ...] = Field(
        (),
        description="the paper's tables that have claims, with what else they state; last all",
        exclude_if=lambda tables: not tables,
    )
    claims_digest: str = Field("", description="of claims.json as it was frozen; '' without one")

    def __repr__(self) -> str:
        return f"<TrialVerdict {self.overall.word}, on {len(self.claims)} claims>"

    __str__ = __repr__


def claims_problem(folder: Path, verdict: TrialVerdict) -> str:
    """Why the claims in `folder` are not those that `verdict` was made from; "" if they are."""
    try:
        file = claims_of(folder)
    except UsageError as error:
        return str(error)
    if (file.digest if file else "") == verdict.claims_digest:
        return ""
    return f"{CLAIMS} is not the one from which this verdict was made: do not trust the table"

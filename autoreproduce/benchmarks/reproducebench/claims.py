"""The claims that a task of the benchmark brings, so that no model has to read them from the paper.

`claims:` in task.yaml lists them; without it, the paper's number under `results` is one. Under
stand-in data, or a profile that is not the paper's, none can be compared with what is measured:
there the reference's band decides.
"""

from __future__ import annotations

from autoreproduce.benchmarks.reproducebench.schema import Profile, TaskFile, claim_of
from autoreproduce.claims.claim import Claim, ClaimsFile

FULL = "full"


def claims_under(file: TaskFile, name: str, profile: Profile) -> ClaimsFile:
    """The claims of a task under a profile, or why it has none."""
    paper, experiment = file.title, f"{file.method} on {file.dataset}"
    claims = file.paper_claims or _claims_of_result(file)
    if not claims:
        reason = "the task quotes no number of the paper"
        return ClaimsFile(paper=paper, experiment=experiment, none_because=reason)
    why = _why_not_comparable(name, profile)
    held = tuple(
        claim.model_copy(update={"not_comparable": claim.not_comparable or why}) for claim in claims
    )
    return ClaimsFile(paper=paper, experiment=experiment, claims=held)


def _claims_of_result(file: TaskFile) -> tuple[Claim, ...]:
    """The paper's number as the task quotes it."""
    result = file.results.paper
    if result is None:
        return ()
    fields = {
        "experiment": result.source,
        "row": [file.method],
        "column": [file.dataset],
        "value": result.value,
        "main": True,
    }
    return (claim_of(fields, file.metric),)


def _why_not_comparable(name: str, profile: Profile) -> str:
    if profile.stand_in:
        return f"stand-in data: {profile.stand_in}"
    return "" if name == FULL else f'the profile "{name}" is not the paper\'s setting'

"""Which claim a trial's one number stands for, where a paper makes several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from autoreproduce.papers.plain import letters_alone

if TYPE_CHECKING:
    from autoreproduce.claims.claim import Claim
    from autoreproduce.task import Metric


class HeadlineClaim(NamedTuple):
    """The claim, and why it is that one. `sure`: no other may be meant."""

    claim: Claim
    why: str
    sure: bool = True


def headline_of(claims: Sequence[Claim], metric: Metric) -> HeadlineClaim | None:
    """The claim that the metric's number is measured for; None without any of the paper's own, as
    beside an order alone: its number is a difference.
    """
    names = {letters_alone(metric.name), letters_alone(metric.paper_name)} - {""}
    own = [claim for claim in claims if not claim.is_baseline and claim.is_of_metric]
    of_metric = [claim for claim in own if letters_alone(claim.metric) in names]
    for found, why in (
        ([claim for claim in own if claim.id == metric.name], "its key is the metric's name"),
        (of_metric, "no other claim is of this metric"),
        ([claim for claim in of_metric if claim.main], "it's the main one of this metric"),
    ):
        if len(found) == 1:
            return HeadlineClaim(found[0], why)
    if of_metric:
        why = f"it's the first of {len(of_metric)} of this metric"
        return HeadlineClaim(of_metric[0], why, sure=False)
    if own:
        return HeadlineClaim(own[0], "it's the first, and none has the metric's name", sure=False)
    return None

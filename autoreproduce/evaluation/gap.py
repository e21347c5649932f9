"""The performance gap: how far a number is from the reference's, as a share of the larger.

Source: AutoReproduce (arXiv 2505.20662), section 4.3: |ref − agent| / max(ref, agent), where an
attempt that could not be executed counts as 0 and so has the gap 1.0. The formula knows no better
or worse, so it punishes a number that is better than the reference; the signed gap beside it shows
the direction. It is defined for positive metrics alone, and what lies outside is an error here and
never a number.
"""

import math
from typing import Literal

from autoreproduce.errors import UsageError


def performance_gap(reference: float, agent: float | None) -> float:
    """|reference − agent| / max(reference, agent), in [0, 1].

    `agent` None (not executable) counts as 0 and so gives 1.0. A NaN or an infinite `agent` is no
    result, so it counts as not executable too; 0 gives 1.0 by the formula. Raises UsageError for a
    reference that is not a finite number above 0, and for a negative `agent`.
    """
    _require_defined(reference, agent)
    value = 0.0 if agent is None or not math.isfinite(agent) else agent
    return abs(reference - value) / max(reference, value)


def signed_gap(reference: float, agent: float, direction: Literal["lower", "higher"]) -> float:
    """The same distance with a sign: above 0 is worse than the reference, below 0 better.

    Raises UsageError as `performance_gap`, and for an `agent` that is not finite: it is neither.
    """
    _require_defined(reference, agent)
    if not math.isfinite(agent):
        raise UsageError(f"the attempt's metric is {agent}: a signed gap needs a finite number")
    worse = agent > reference if direction == "lower" else agent < reference
    gap = performance_gap(reference, agent)
    return gap if worse else -gap if gap else 0.0


def _require_defined(reference: float, agent: float | None) -> None:
    if not (math.isfinite(reference) and reference > 0):
        raise UsageError(
            f"the reference's metric is {reference}: the performance gap is defined for finite "
            "numbers above 0 alone; compare by the signed difference, or state the metric in a "
            "positive unit"
        )
    if agent is not None and agent < 0:
        raise UsageError(
            f"the attempt's metric is {agent}: the performance gap is defined for numbers of at "
            "least 0; compare by the signed difference, or state the metric in a positive unit"
        )

"""What is behind a judged score: the prompts, key points and reference that were shown, the
judges as their endpoints named them, and the version of this program.

Two scores are comparable only if these agree, so each judged entry of `scores.json` has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autoreproduce.config import digest
from autoreproduce.contracts import VERSION
from autoreproduce.models.open import endpoint_host
from autoreproduce.trials.steps import model_results

if TYPE_CHECKING:
    from autoreproduce.evaluation.judging.judge import Judge, Reading
    from autoreproduce.evaluation.judging.material import Material

ASKED = "asked"  # in a score's details


def asked_with(
    judges: Sequence[Judge],
    material: Material,
    readings: Sequence[Reading[Any]],
    *,
    with_points: bool,
    with_reference: bool,
) -> dict[str, Any]:
    """The `asked` object of a judged score; points and reference are None if not shown.

    Digests are of the templates, of the key points' texts and of the reference's files.
    """
    reference = material.reference if with_reference else None
    points = digest([point.model_dump() for point in material.points])
    served = {
        judge.name: {
            call.model
            for one in readings
            if one.judge == judge.name
            for call in model_results(one.steps)
        }
        for judge in judges
    }
    return {
        "version": VERSION,
        "prompts": digest([judge.prompts().digest() for judge in judges[:1]]),
        "points": {"source": material.points_source, "digest": points} if with_points else None,
        "reference": digest(reference.files) if reference else None,
        "judges": [
            {
                "judge": judge.name,
                "served": sorted(served[judge.name] - {""}),
                "endpoint": endpoint_host(judge.settings, judge.name),
            }
            for judge in judges
        ],
    }

"""A run that lacks the number that counts, and has others that the paper claims."""

from pathlib import Path
from typing import Any

import pytest
import tiny
from chat_server import chat_server

STATED = "The squared error on the test points is 0.501, and the slope is 3.00."
CLAIMS = f"""```yaml
- metric: squared_error
  direction: lower
  value: 0.501
  sentence: "{STATED}"
- metric: slope
  direction: match
  value: 3.00
  sentence: "{STATED}"
```"""


def reply(request: Any) -> str:
    """The tiny experiment, whose program writes a slope, and NaN for the error."""
    asked = request.messages[-1]["content"].rsplit("# What is asked", 1)[-1]
    if "Read the paper once" in asked:
        return tiny.reading(tiny.fenced_list("claims", CLAIMS), tiny.CHOICES)
    if "The run did not pass" in asked and "must be a finite number" in asked:
        return "CANNOT the error is not defined"
    slope = """"metrics": {"slope": model["w"], "squared_error": float("nan")}"""
    return tiny.reply(request).replace('"metrics": {"squared_error": error}', slope)


@pytest.mark.slow
def test_what_a_run_without_the_metric_gave_for_other_claims_counts(tmp_path: Path) -> None:
    tiny.lay_out(tmp_path)
    paper = tmp_path / "paper.md"
    paper.write_text(paper.read_text().replace("## References", f"{STATED}\n## References"))
    with chat_server(reply) as server:
        found = tiny.reproduced(tmp_path, server.base_url, readings_minutes=0)
    assert (found.result.status, found.result.metric) == ("measured", None)
    assert found.result.integrity == "unchecked"
    error, slope = (one.verdict for one in found.claims)
    assert (error.word, error.why) == ("not measured", "the program wrote NaN for it")
    assert slope.word == "reproduced" and slope.mean == pytest.approx(3)
    assert found.result.sentence.startswith(
        "Partly reproduced: of the paper's 2 numbers, 1 wasn't measured, 1 was reached"
    )
    assert "the metric squared_error: it ran and left no number for squared_error: " in str(
        found.result.not_reproduced
    )
    assert "the program wrote NaN for it" in found.report.read_text()

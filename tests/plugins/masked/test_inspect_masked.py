"""Inspect AI's own agent on masked functions, judged by our rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="the inspect extra is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
from inspect_ai import eval as inspect_eval  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402

TASK = "quay-gauge_1"
RIGHT = """    ages = np.arange(1, len(record))
    return float(((record[1:] - record[:-1]) / ages**1.5).sum() / (ages[1:] ** -1.5).sum())"""
WRONG = "    return float((record[1:] - record[:-1]).mean())"


def reply(tool: str, **arguments: str) -> ModelOutput:
    output = ModelOutput.for_tool_call("mockllm/model", tool, arguments)
    output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return output


def score(body: str, logs: Path) -> Any:
    write = f"""import re
text = open("gauge.py").read()
assert "paper" in open("paper.txt").read() and text.count("raise NotImplementedError") == 1
open("gauge.py", "w").write(text.replace("    raise NotImplementedError", {body!r}))"""
    replies = [
        reply("python", code=write),
        reply("bash", cmd="bash refsol.sh"),
        reply("submit", answer="done"),
    ]
    (log,) = inspect_eval(
        "autoreproduce/autoexperiment",
        task_args={"sandbox": "local", "tasks": TASK},
        model=get_model("mockllm/model", custom_outputs=replies),
        log_dir=str(logs),
        display="none",
    )
    assert log.status == "success", log.error.traceback
    return log.samples[0].scores["judged"]


@pytest.mark.parametrize(("body", "passes"), [(RIGHT, 1), (WRONG, 0)])
def test_an_agent_of_inspect_is_judged_by_numbers_and_behaviour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, passes: int
) -> None:
    monkeypatch.setenv("AUTOREPRODUCE_SANDBOX", "process")
    monkeypatch.setenv("AUTOREPRODUCE_CACHE_DIR", str(tmp_path / "cache"))
    found = score(body, tmp_path / "logs")
    assert found.value["passed"] == found.value["by_behaviour"] == passes, found.explanation
    assert found.metadata["combined_id"] == TASK

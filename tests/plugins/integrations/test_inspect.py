"""Inspect AI: its own agent on one of our tasks, by our measure; our trials in its own reader."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sandbox_helpers import BUILD

pytest.importorskip("inspect_ai", reason="the inspect extra is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Inspect's own dependencies
from inspect_ai import eval as inspect_eval  # noqa: E402
from inspect_ai.log import read_eval_log  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402

from autoreproduce.benchmarks.reproducebench import tasks  # noqa: E402
from autoreproduce.errors import UsageError  # noqa: E402
from autoreproduce.plugins.integrations.inspect_export import export_trials  # noqa: E402
from autoreproduce.runner.api import reproduce  # noqa: E402
from autoreproduce.runner.api_results import Reproduction  # noqa: E402


def reply(tool: str, **arguments: str) -> ModelOutput:
    """A tool call with its usage, which the mock would count with a vocabulary from the network."""
    output = ModelOutput.for_tool_call("mockllm/model", tool, arguments)
    output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return output


def evaluated(outputs: list[ModelOutput], logs: Path, **given: Any) -> Any:
    """The log of Inspect's react agent with these replies on our task, found by entry point."""
    (log,) = inspect_eval(
        "autoreproduce/reproducebench",
        task_args={"sandbox": "local", **given},
        model=get_model("mockllm/model", custom_outputs=outputs),
        log_dir=str(logs),
        display="none",
    )
    assert log.status == "success", log.error.traceback
    return log


@pytest.mark.slow
def test_an_agent_of_inspect_is_measured_by_our_rules(tiny_task: str, tmp_path: Path) -> None:
    reference = tasks.task_folder(tiny_task) / "reference"
    write = f"cat {reference}/main.py > main.py; ls paper/paper.md preprocess.py TASK.md"
    replies = [reply("bash", command=write), reply("submit", answer="done")]
    log = evaluated(replies, tmp_path / "logs", tasks=tiny_task)
    score = log.samples[0].scores["measured"]
    assert score.value == {"measured": 1, "within_band": 1}, score
    assert score.metadata["levels"]["execution"] == 1.0
    assert 0 < score.metadata["metric"] < 1 and float(score.answer) > 0
    output = next(m for m in log.samples[0].messages if m.role == "tool").text
    assert "No such file" not in output and "TASK.md" in output

    claimed = """echo '{"metrics": {"error": 0.02}, "history": []}' > metrics.json; """
    replies = [
        reply("bash", command=f"{claimed} echo 'print(1)' > main.py"),
        reply("submit", answer="0.02"),
    ]
    log = evaluated(replies, tmp_path / "logs", tasks=tiny_task)
    assert log.samples[0].scores["measured"].value == {"measured": 0, "within_band": 0}


def docker_is_too_old() -> str:
    """Why Inspect's Docker sandbox cannot run here, in its own words; "" if it can."""
    from inspect_ai.util._sandbox.docker.prereqs import validate_prereqs

    try:
        asyncio.run(validate_prereqs())
    except Exception as error:
        return " ".join(str(error).split())
    return ""


# What the agent's container may do: write the workspace, read the data, and nothing else.
CONFINED = """\
touch here && echo WRITES
touch /data/x 2>/dev/null || echo DATA-READ-ONLY
ls $DATA_DIR | head -3; ls -d /work /root/.ssh 2>/dev/null
python - <<'END'
import socket
try:
    socket.create_connection(("1.1.1.1", 53), timeout=2)
    print("ONLINE")
except OSError:
    print("OFFLINE")
END
grep -E 'Cap(Eff|Bnd)|NoNewPrivs' /proc/self/status; id -u
"""


@pytest.mark.docker
@pytest.mark.timeout(900)
def test_in_docker_an_agent_has_our_image_and_no_network(
    tiny_task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason := docker_is_too_old():
        pytest.skip(reason)
    for name, value in BUILD.items():
        monkeypatch.setenv(name, value)
    reference = (tasks.task_folder(tiny_task) / "reference" / "main.py").read_text()
    write = f"cat > main.py <<'END'\n{reference}\nEND\n"
    replies = [
        reply("bash", command=CONFINED),
        reply("bash", command=f"{write}python main.py --profile small && ls paper/paper.md"),
        reply("submit", answer="done"),
    ]
    log = evaluated(replies, tmp_path / "logs", tasks=tiny_task, sandbox="docker")
    said = [m.text for m in log.samples[0].messages if m.role == "tool"]
    assert all(word in said[0] for word in ("WRITES", "DATA-READ-ONLY", "OFFLINE")), said
    assert "train" in said[0] and "/work" not in said[0] and "ONLINE" not in said[0]
    assert "paper/paper.md" in said[1]
    score = log.samples[0].scores["measured"]
    assert score.value == {"measured": 1, "within_band": 1}, score
    assert "0000000000000000" in said[0].split("CapEff:")[1].split("\n")[0], said[0]


@pytest.mark.slow
def test_a_trial_opens_in_inspect_s_own_reader(tiny_task: str, tmp_path: Path) -> None:
    done: Reproduction = reproduce(task=tiny_task, solver="reference")
    (file,) = export_trials([done.path], tmp_path / "logs")
    log = read_eval_log(str(file))
    assert (log.status, log.eval.task, log.eval.solver) == (
        "success",
        "autoreproduce/tiny",
        "reference",
    )
    sample = log.samples[0]
    assert sample.scores["measured"].value == 1
    assert sample.scores["within_band"].metadata["metric"] == done.metric
    assert sample.metadata["recomputed"] is True
    assert "main.py --profile small" in sample.messages[-1].text


def test_nothing_to_export_is_an_error_that_names_the_fix(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name a trial's folder"):
        export_trials([tmp_path], tmp_path / "logs")

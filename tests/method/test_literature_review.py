"""The three summaries, their versions, and what figures add."""

import struct
import zlib
from pathlib import Path

import pytest
from chat_server import chat_server
from records import Notes, trial_record

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.prompts import Prompts
from autoreproduce.config import Settings
from autoreproduce.method.literature_review import Summaries, review_literature
from autoreproduce.models.budget import Budget
from autoreproduce.models.open import open_model
from autoreproduce.papers import Figure, Paper
from autoreproduce.task import Metric, Task
from autoreproduce.trials.trial import Trial

TASK = Task(id="t", metric=Metric(name="mse"), instruction="Replicate the experiment.")


WHOLE = " ".join(["Tokens attend to patches of the grid and are decoded by attention."] * 12)


def png(path: Path, size: int = 120) -> Path:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = zlib.compress((b"\0" + b"\x80" * size) * size)
    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )
    return path


def review(tmp_path: Path, url: str, figures: list[Figure]) -> tuple[Summaries, Notes]:
    settings = Settings(model="m", base_url=url, diagrams=True, max_retries=0)
    notes = Notes()
    record = trial_record(task="t", profile="p", solver="s", model="m", created="now")
    trial = Trial.open(tmp_path / "trial", record, [notes])
    trial.phase("literature_review")
    agent = Agent("research", open_model(settings), "m", Prompts(), trial, Budget(), settings)
    paper = Paper(
        title="T",
        text="text and list",
        body="THE BODY",
        figures=figures,
        source="markdown",
        note="",
    )
    return review_literature(TASK, paper, agent, trial, settings), notes


def test_figures_go_to_the_model_as_pictures_with_their_captions(tmp_path: Path) -> None:
    figure = Figure(path=png(tmp_path / "one.png"), caption="Figure 1: the architecture")
    with chat_server([WHOLE, WHOLE, WHOLE, "three blocks in a row"]) as server:
        summaries, _ = review(tmp_path, server.base_url, [figure])
        blocks = server.requests[3].messages[-1]["content"]
    assert blocks[1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert "the architecture" in blocks[0]["text"]
    assert summaries.method == f"{WHOLE}\n\n## What the figures show\nthree blocks in a row"
    assert (tmp_path / "trial/summaries/method.v1.md").read_text() == f"{WHOLE}\n"
    assert summaries.versions == {"overall": 1, "method": 2, "experiment": 1}


def test_a_model_that_takes_no_pictures_is_said_and_the_summaries_stay(tmp_path: Path) -> None:
    figure = Figure(path=png(tmp_path / "one.png"), caption="c")

    def script(request):
        if isinstance(request.messages[-1]["content"], list):
            from chat_server import Answer

            return Answer(status=400, error={"message": "this model does not support image input"})
        return WHOLE

    with chat_server(script) as server:
        summaries, notes = review(tmp_path, server.base_url, [figure])
    assert summaries.method == WHOLE
    assert any("took no pictures" in text for text in notes.texts)


def test_a_summary_that_is_not_whole_is_asked_for_once_more(tmp_path: Path) -> None:
    replies = [WHOLE, "1. Softmax.", f"Sure! Here is the summary:\n\n{WHOLE}", "Short.", "Shorter."]
    with chat_server(replies) as server:
        summaries, notes = review(tmp_path, server.base_url, [])
        asked = server.requests[2].messages[-1]["content"]
    assert "the method summary is not whole: it has 2 words" in asked
    assert summaries.method == WHOLE
    assert summaries.experiment == "Shorter."
    assert any("method summary is not whole" in text for text in notes.texts)


def test_without_figures_it_is_said(tmp_path: Path) -> None:
    with chat_server([WHOLE] * 3) as server:
        _, notes = review(tmp_path, server.base_url, [])
    assert any("no figures were found" in text for text in notes.texts)


def test_the_paper_stands_first_in_all_three_prompts(tmp_path: Path) -> None:
    """So that the second and third call find it in the provider's cache."""
    with chat_server([WHOLE] * 3) as server:
        review(tmp_path, server.base_url, [])
        prompts = [request.prompt for request in server.requests]
    shared = prompts[0].index("# What is asked")
    assert "THE BODY" in prompts[0][:shared]
    assert "text and list" not in prompts[0]
    assert prompts[0][:shared] == prompts[1][:shared] == prompts[2][:shared]


def test_a_summary_that_does_not_exist_is_no_silent_blank() -> None:
    with pytest.raises(AttributeError):
        _ = Summaries(trial=None).method  # type: ignore[arg-type]

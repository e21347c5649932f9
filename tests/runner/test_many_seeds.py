"""A fast program over many seeds, unasked, in one process: real trials, programs and files."""

from pathlib import Path
from typing import Any

import pytest
import tiny
from chat_server import chat_server

from autoreproduce.runner.api_results import Reproduction
from autoreproduce.trials.journal_reader import read_journal

STATED = "The squared error on the test points is 0.52."
CLAIMS = f"""```yaml
- metric: squared_error
  direction: lower
  value: 0.52
  sentence: "{STATED}"
```"""
WRITTEN = '"squared_error": error}'
# what the number is, of the seed; `import random` at the head of main.py
NOISE = "random.Random(args.seed).gauss(0.5, 0.05)"
KEEPS = 'random.Random(args.seed).gauss(0.5, 0.05) + (os.__dict__.setdefault("n", [0]).append(0) or len(os.n)) / 100'
LEAVES = '(Path("left").exists() or Path("left").write_text("x")) * 0 + ' + NOISE
STATE = "counter.draw(args.seed)"


def attempt(
    folder: Path, number: str, counted: list[int] | None = None, **settings: Any
) -> Reproduction:
    """A trial of the tiny experiment whose error is `number`."""
    if not (folder / "paper.md").exists():
        tiny.lay_out(folder)
        paper = folder / "paper.md"
        paper.write_text(paper.read_text().replace("## References", f"{STATED}\n## References"))
    (folder / "cache").mkdir(exist_ok=True)

    def reply(request: Any) -> str:
        if counted is not None:
            counted.append(1)
        asked = request.messages[-1]["content"].rsplit("# What is asked", 1)[-1]
        if "Read the paper once" in asked:
            return tiny.reading(tiny.fenced_list("claims", CLAIMS), tiny.CHOICES)
        text = tiny.reply(request).replace(
            "    parser.parse_args()\n", "    args = parser.parse_args()\n"
        )
        text = text.replace(
            "import argparse, json\n",
            "import argparse, json, os, random; from pathlib import Path\n",
        )
        return text.replace(WRITTEN, f'"squared_error": {number}}}')

    with chat_server(reply) as server:
        return tiny.reproduced(folder, server.base_url, **settings)


def steps_of(folder: Path) -> list[str]:
    steps = read_journal(folder / "trial/steps.jsonl")
    return [step.name for step in steps if step.phase == "seeds"]


@pytest.mark.slow
def test_a_fast_program_is_held_against_two_hundred_seeds(tmp_path: Path) -> None:
    found = attempt(tmp_path, NOISE)
    assert found.verdict is not None
    assert steps_of(tmp_path) == ["seeds 1 to 199 in one process"]
    assert [run.seed for run in found.verdict.runs] == list(range(200))
    [judged] = found.verdict.claims
    assert (judged.verdict.word, len(judged.verdict.values)) == ("reproduced", 200)
    assert 50 < judged.verdict.percentile < 80
    assert judged.verdict.inside == pytest.approx((0.4, 0.6), abs=0.02)
    page = found.report.read_text()
    assert "over 200 seeds (0 to 199)" in page and "of 200 seeds, 95 %" in page
    assert "Seeds 1 to 199 ran one after the other in one process" in page
    again = attempt(tmp_path, NOISE, calls := [])
    assert not calls and again.result.sentence == found.result.sentence
    (tmp_path / "trial/result.json").unlink()  # as a kill before the end leaves it
    resumed = attempt(tmp_path, NOISE)
    assert steps_of(tmp_path) == ["seeds 1 to 199 in one process"]
    assert resumed.verdict is not None and resumed.verdict.runs == found.verdict.runs


@pytest.mark.slow
def test_a_number_in_the_tail_is_told_from_one_that_missed(tmp_path: Path) -> None:
    found = attempt(tmp_path, NOISE.replace("0.5,", "0.9,"))
    assert found.verdict is not None
    verdict = found.verdict.claims[0].verdict
    assert (verdict.word, verdict.percentile) == ("off", 0.0)
    assert "at percentile 0 of 200 seeds" in verdict.why


@pytest.mark.slow
def test_a_program_that_ignores_its_seed_is_not_run_on_and_asked_for_no_more_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = attempt(tmp_path, "1.0402 / 2")
    assert found.verdict is not None and len(found.verdict.runs) == 1
    assert found.verdict.claims[0].verdict.word == "reproduced"
    assert found.verdict.runs[0].any_seed
    assert (
        "Another seed gave the same numbers to the last digit: this program doesn't use its seed "
        "(--seed), or has no randomness."
    ) in found.verdict.remarks
    told = capsys.readouterr().err
    assert "so far: Reproduced: the paper says 0.52" in told
    assert "More seeds follow, up to 2 min." in told
    assert steps_of(tmp_path) == ["seeds 1 to 199 in one process"]


@pytest.mark.slow
def test_one_seed_that_is_asked_for_is_one_and_twenty_are_twenty(tmp_path: Path) -> None:
    found = attempt(tmp_path, NOISE, seeds=1)
    assert found.verdict is not None and len(found.verdict.runs) == 1
    more = attempt(tmp_path, NOISE, seeds=25)
    assert more.verdict is not None and len(more.verdict.runs) == 25
    assert steps_of(tmp_path) == ["seeds 1 to 24 in one process"]
    assert more.verdict.claims[0].verdict.percentile is not None


@pytest.mark.slow
def test_a_program_that_keeps_something_takes_a_process_a_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autoreproduce.runner.seeds.MOST_UNASKED", 22)
    found = attempt(tmp_path, KEEPS)
    assert found.verdict is not None
    assert [run.in_process for run in found.verdict.runs] == [False] * 22
    assert steps_of(tmp_path)[1:3] == ["seed 1", "seed 2"]


@pytest.mark.slow
def test_what_a_run_leaves_is_not_there_for_the_next(tmp_path: Path) -> None:
    found = attempt(tmp_path, LEAVES)
    assert found.verdict is not None
    assert [run.in_process for run in found.verdict.runs][1:3] == [True, True]


@pytest.mark.slow
def test_a_slower_program_runs_with_a_few_seeds_where_it_misses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autoreproduce.runner.seeds.FEWEST_SEEDS", 1_000_000)
    monkeypatch.setattr("autoreproduce.runner.seeds.MOST_UNASKED", 6)
    (tmp_path / "missed").mkdir()
    found = attempt(tmp_path / "missed", NOISE.replace("0.5,", "0.9,"))
    assert found.verdict is not None
    assert [run.in_process for run in found.verdict.runs] == [False] * 6
    (tmp_path / "reached").mkdir()
    found = attempt(tmp_path / "reached", f"{NOISE} * 0 + 0.521")
    assert found.verdict is not None and len(found.verdict.runs) == 1


@pytest.mark.slow
def test_other_seeds_numbers_are_recomputed_as_the_first_runs_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autoreproduce.runner.seeds.MOST_UNASKED", 4)
    for name, text in (("CLAIMS", CLAIMS), ("STATED", STATED)):
        named = text.replace("squared_error", "RMSE").replace("squared error", "RMSE")
        monkeypatch.setattr(f"{__name__}.{name}", named)
    saved = '__import__("numpy").savez("predictions.npz", **{KEY: [3.0], KEY + ".targets": [1.0]})'
    number = f"{NOISE} + 0 * len(str({saved})), KEY: 7.0"
    found = attempt(tmp_path, number.replace("KEY", '"rmse"'))
    assert found.verdict is not None
    runs = found.verdict.runs
    assert len(runs) == 4 and not any(run.in_process for run in runs)
    assert [run.metrics["rmse"] for run in runs] == [2.0] * 4

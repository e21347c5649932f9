"""Models that are weak, each in one way, in a whole trial of the tiny experiment over HTTP: it ends
as with an obedient one, or soon and by a clear word.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny
import weak_models as weak
from agent_world import calls_of, run_solver, steps_of
from chat_server import Answer, Request, Server, chat_server

from autoreproduce.runner.api_results import Reproduction

OBEDIENT = 15  # calls of a trial that meets no weakness

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def trial(tmp_path: Path, script: Any, **settings: Any) -> tuple[Reproduction, Server]:
    chosen = {
        "sandbox": "process",
        "lineage": False,
        "effort": "paper",
        "max_output_tokens": 4000,
        **settings,
    }
    with chat_server(script) as server:
        return run_solver(tmp_path, server.base_url, "autoreproduce", **chosen), server


def asked(request: Request, words: str) -> bool:
    return words in weak.first_part(request).prompt.rsplit("# What is asked", 1)[-1]


def in_form(change: Callable[[str], str]) -> Callable[[Request], str]:
    return lambda request: change(tiny.reply(weak.first_asked(request)))


FORMS: list[Callable[[Request], "Answer | str"]] = [
    in_form(weak.edits_without_a_language),
    in_form(weak.code_alone),
    in_form(weak.command_in_its_fence),
    in_form(weak.emphasised),
    in_form(lambda text: f"<think>\n{weak.REASONING}\n</think>\n\n{text}"),
    in_form(lambda text: f"{weak.REASONING}\n</think>\n\n{text}"),
    lambda request: Answer(tiny.reply(request), reasoning=weak.REASONING),
    in_form(lambda text: f"<think>\n{weak.CHINESE}\n</think>\n\n{weak.CHINESE}\n\n{text}"),
    in_form(lambda text: f"{weak.GERMAN}\n\n{text}\n\nViel Erfolg!"),
]


def test_what_can_mean_one_thing_costs_nothing(tmp_path: Path) -> None:
    """Each reply comes in the form that was used least of those that change it."""
    used = [0] * len(FORMS)

    def script(request: Request) -> "Answer | str":
        plain = tiny.reply(weak.first_asked(request))
        ways = [n for n, form in enumerate(FORMS) if form(request) != plain]
        chosen = min(ways, key=used.__getitem__)
        used[chosen] += 1
        return FORMS[chosen](request)

    done, _ = trial(tmp_path, script)
    assert done.result.status == "measured", done.result.reason
    assert done.result.metric == pytest.approx(0, abs=1e-3)
    assert len(calls_of(tmp_path)) == OBEDIENT and all(used), used


def test_a_file_longer_than_a_reply_is_whole(tmp_path: Path) -> None:
    again = "Here is the rest of the file (main.py):\n\n```python\n"
    long = "".join(f"TABLE_{n} = {n}\n" for n in range(1000)) + tiny.MAIN

    def replies(request: Request) -> str:
        return tiny.edit(long) if asked(request, "Write main.py") else tiny.reply(request)

    def script(request: Request) -> "Answer | str":
        if asked(request, "Change main.py"):
            line = 1000 + tiny.LINE
            return tiny.edit("LR = 0.1\n", f"{line} {line}")
        return weak.cut_at(4_096, replies, again)(request)

    done, _ = trial(tmp_path, script)
    assert done.result.status == "measured", done.result.reason
    written = next(s for s in calls_of(tmp_path) if "TABLE_0" in s.reply)
    assert written.finish == "length"
    assert OBEDIENT + 4 <= len(calls_of(tmp_path)) <= OBEDIENT + 7


def test_thinking_that_uses_up_the_limit_ends_the_trial_after_three_calls(tmp_path: Path) -> None:
    endless = Answer("<think>\n" + "hm " * 1000, finish="length")
    done, server = trial(tmp_path, lambda _: endless)
    assert done.result.status == "failed"
    assert "3 replies held thinking alone: raise --max-output-tokens" in done.result.reason
    assert len(server.requests) == 3
    assert "Think briefly" in server.requests[1].prompt


LONG_PAPER = (
    "# Lines by descent\n"
    + "".join(
        f"\n## {n} Remarks\n" + f"Remark {n} is on history, and on weather in year {n}. " * 60
        for n in range(2, 60)
    )
    + "\n## 60 Training\n"
    + tiny.PAPER.split("\n", 1)[1]
)


def test_a_refused_prompt_teaches_the_context_and_the_trial_goes_on(tmp_path: Path) -> None:
    tiny.lay_out(tmp_path)
    (tmp_path / "paper.md").write_text(LONG_PAPER)
    done, server = trial(tmp_path, weak.with_context(32_000, tiny.reply))
    assert done.result.status == "measured", done.result.reason
    assert len(server.requests) == len(calls_of(tmp_path)) + 1
    assert any("each question showed the passages" in one for one in done.result.warnings)


def test_a_context_that_is_too_small_is_named_with_its_fix(tmp_path: Path) -> None:
    done, server = trial(tmp_path, weak.with_context(600, tiny.reply))
    assert (done.result.status, len(server.requests)) == ("stopped", 1)
    assert "--context-tokens N" in done.result.reason


def test_a_known_context_shortens_the_paper_to_what_is_asked(tmp_path: Path) -> None:
    tiny.lay_out(tmp_path)
    (tmp_path / "paper.md").write_text(LONG_PAPER)
    script = weak.with_context(32_000, tiny.reply)
    done, server = trial(tmp_path, script, context_tokens=32_000, max_output_tokens=16_000)
    assert done.result.status == "measured", done.result.reason
    summaries = [request.prompt for request in server.requests[:3]]
    assert all("learning rate 0.1 for 50 epochs" in prompt for prompt in summaries)
    assert all("The paper is longer than what can be read at once" in p for p in summaries)
    assert any("each question showed the passages" in one for one in done.result.warnings)


def test_a_reviewer_that_never_submits_is_ended(tmp_path: Path) -> None:
    def script(request: Request) -> str:
        if asked(request, "Check "):
            return "UPDATE\n## Feedback\nIt could be better.\n## Summary\nunchanged"
        if asked(request, "Change "):
            return tiny.edit(f"# better {len(request.prompt)}\n", "1 0")
        return tiny.reply(request).replace("* z for", "* x for").replace("LR = 0.05", "LR = 0.1")

    done, _ = trial(tmp_path, script)
    assert done.result.status == "measured", done.result.reason
    reviews = [step.name for step in steps_of(tmp_path)].count("debug/review")
    assert reviews == 6  # three a file
    assert any("the same was asked for 3 times" in one for one in done.result.warnings)


def test_an_agent_that_changes_nothing_is_ended(tmp_path: Path) -> None:
    def script(request: Request) -> str:
        if asked(request, "Carry out the analysis"):
            return "EDIT 900 901\n```\nx\n```"
        return tiny.reply(request)

    done, _ = trial(tmp_path, script)
    assert done.result.status == "failed"
    assert "3 attempts in a row changed nothing" in done.result.reason
    names = [step.name for step in steps_of(tmp_path)]
    assert names.count("debug/edit") == 9 and names.count("debug/analyse") == 3


def test_a_model_that_always_says_the_same_fails_at_once_and_by_a_clear_word(
    tmp_path: Path,
) -> None:
    apology = "I apologize, but as a language model I cannot run code."
    done, server = trial(tmp_path, lambda _: apology)
    assert done.result.status == "failed"
    assert "3 replies in a row that cannot be used" in done.result.reason
    assert apology in done.result.reason
    assert len(server.requests) <= 9

"""Replies that are empty, cut off or ungrammatical, over a real client and a local endpoint."""

from pathlib import Path

import pytest
from chat_server import Answer, chat_server

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.commands import Submit
from autoreproduce.agents.prompts import Prompts
from autoreproduce.config import Settings
from autoreproduce.errors import BudgetError, ContextError, ReplyError, TrialError
from autoreproduce.models.budget import Budget
from autoreproduce.models.open import open_model
from autoreproduce.trials.trial import Trial, TrialRecord


def agent(tmp_path: Path, url: str, budget: Budget | None = None) -> Agent:
    templates = tmp_path / "templates"
    templates.mkdir(exist_ok=True)
    (templates / "system.md").write_text("You are an agent.")
    (templates / "ask.md").write_text("Do {{ what }}.")
    settings = Settings(
        model="m", base_url=url, max_retries=0, max_output_tokens=100, price="1,0.1,2"
    )
    record = TrialRecord(
        task="t", profile="p", solver="s", model="m", settings={}, task_digest="", created="now"
    )
    trial = Trial.open(tmp_path / "trial", record)
    trial.phase("phase")
    return Agent(
        "code", open_model(settings), "m", Prompts(templates), trial, budget or Budget(), settings
    )


def test_a_cut_reply_is_gone_on_with(tmp_path: Path) -> None:
    replies = [Answer("first half, ", finish="length"), "second half"]
    with chat_server(replies) as server:
        assert agent(tmp_path, server.base_url).ask("ask", what="it") == "first half, second half"
        assert server.requests[1].messages[-2]["content"] == "first half, "


def test_a_file_over_the_limit_of_a_reply_is_written_in_several(tmp_path: Path) -> None:
    lines = [f"value_{n} = {n}\n" for n in range(1000)]
    whole = f"EDIT 1 0\n~~~~python\n{''.join(lines)}~~~~\n"
    cuts = [whole[at : at + 3600] for at in range(0, len(whole), 3600)]
    cuts[1] = f"~~~~python\n{cuts[1]}"  # some models open the block again
    cuts[2] = cuts[1][cuts[1].rfind("\n") + 1 :] + cuts[2]  # or repeat the cut line
    assert len(cuts) == 5
    replies = [*(Answer(cut, finish="length") for cut in cuts[:-1]), cuts[-1]]
    with chat_server(replies) as server:
        parsed = agent(tmp_path, server.base_url).command("ask", {"EDIT"}, what="it")
        assert parsed.whole_file() == "".join(lines)
        assert "Continue exactly there" in server.requests[-1].messages[-1]["content"]


def test_a_reply_that_never_ends_is_given_up(tmp_path: Path) -> None:
    replies = [Answer("more ", finish="length")] * 8
    with chat_server(replies) as server, pytest.raises(ReplyError, match="cut off 8 times"):
        agent(tmp_path, server.base_url).ask("ask", what="it")


def test_a_reply_that_ends_in_half_a_character_is_kept(tmp_path: Path) -> None:
    with chat_server([Answer("a smile: \ud83d")]) as server:
        assert agent(tmp_path, server.base_url).ask("ask", what="it") == "a smile: ?"
    assert len(Trial.read(tmp_path / "trial").steps) == 1


def test_an_empty_reply_is_asked_again_and_then_given_up(tmp_path: Path) -> None:
    with chat_server(["", "there"]) as server:
        assert agent(tmp_path, server.base_url).ask("ask", what="it") == "there"
    with (
        chat_server(["", "", ""]) as server,
        pytest.raises(ReplyError, match="3 replies were empty"),
    ):
        (tmp_path / "second").mkdir()
        agent(tmp_path / "second", server.base_url).ask("ask", what="it")


def test_an_ungrammatical_reply_goes_back_with_the_error(tmp_path: Path) -> None:
    with chat_server(["I think it is fine.", "SUBMIT"]) as server:
        parsed = agent(tmp_path, server.base_url).command("ask", {"SUBMIT"}, what="it")
        assert parsed.command == Submit()
        assert "cannot be used" in server.requests[1].messages[-1]["content"]


def test_a_call_that_could_pass_the_budget_is_not_made(tmp_path: Path) -> None:
    with chat_server(["one", "two", "three", "four"]) as server:
        spender = agent(tmp_path, server.base_url, Budget.parse("0.0005"))
        with pytest.raises(BudgetError, match="larger --budget"):
            for n in range(4):
                spender.ask("ask", what=n)
        assert 0 < len(server.requests) < 4
        assert spender.budget.spent_dollars <= 0.0005


def test_a_resumed_trial_counts_what_it_spent_and_refuses_another_prompt(tmp_path: Path) -> None:
    with chat_server(["one", "two"]) as server:
        first = agent(tmp_path, server.base_url)
        first.ask("ask", what="it")
        spent = first.budget.spent_dollars
        first.journal.close()
        second = agent(tmp_path, server.base_url)
        assert second.ask("ask", what="it") == "one"
        assert len(server.requests) == 1
        assert second.budget.spent_dollars == spent > 0
        second.journal.close()
        third = agent(tmp_path, server.base_url)
        with pytest.raises(TrialError, match="asked differently"):
            third.ask("ask", what="something else")


def test_thinking_alone_is_asked_again_with_a_word_on_it(tmp_path: Path) -> None:
    replies = [Answer("<think>\nhm", finish="length"), "<think>\nhm\n</think>\nthere"]
    with chat_server(replies) as server:
        assert agent(tmp_path, server.base_url).ask("ask", what="it") == "there"
        roles = [message["role"] for message in server.requests[1].messages]
        assert roles == ["system", "user"] and "Think briefly" in server.requests[1].prompt


def test_thinking_that_the_template_opened_is_left_out_of_a_continued_reply(tmp_path: Path) -> None:
    replies = [Answer("Perhaps\n\nSUBMIT\n\nor", finish="length"), " not.\n</think>\n\nUPDATE"]
    with chat_server(replies) as server:
        assert agent(tmp_path, server.base_url).ask("ask", what="it") == "UPDATE"
    assert Trial.read(tmp_path / "trial").steps[1].result.reply.startswith(" not.")


def test_a_model_that_begins_again_in_place_of_continuing_is_given_up(tmp_path: Path) -> None:
    begun = Answer("EDIT 1 0\n~~~~python\n" + "value = 1\n" * 50, finish="length")
    with chat_server(lambda _: begun) as server:
        with pytest.raises(ReplyError, match=r"started over instead .* raise --max-output-tokens"):
            agent(tmp_path, server.base_url).ask("ask", what="it")
        assert len(server.requests) == 4


def test_a_paper_is_shortened_to_a_context_that_is_known(tmp_path: Path) -> None:
    asks = agent(tmp_path, "http://127.0.0.1:9/v1")
    (tmp_path / "templates/read.md").write_text("{{ paper }}\n\n# What is asked\nThe optimiser.")
    asks.settings = asks.settings.having(context_tokens=4_000)
    paper = "\n".join(
        [*(f"Remark {n} on weather." for n in range(2_000)), "The optimiser is Adam."]
    )
    text = asks._prompt("read", {"paper": paper}, "")
    assert len(text) < 12_000 and "The optimiser is Adam." in text and "[…]" in text
    assert 0.1 < asks.shortened["read"] < 0.4
    assert asks._prompt("read", {"paper": "Short."}, "").startswith("Short.")
    with pytest.raises(ContextError, match="larger context"):
        asks._prompt("ask", {"paper": paper, "what": "x" * 12_000}, "")

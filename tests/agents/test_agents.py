"""Replies that are empty, cut off or ungrammatical, over a real client and a local endpoint."""

import json
from pathlib import Path

import pytest
from chat_server import Answer, Request, chat_server
from records import trial_record

from autoreproduce.agents.agent import Agent, LearntContext
from autoreproduce.agents.commands import Submit
from autoreproduce.agents.prompts import Prompts
from autoreproduce.config import Settings
from autoreproduce.errors import BudgetError, ContextError, ModelError, ReplyError, TrialError
from autoreproduce.models.budget import Budget
from autoreproduce.models.open import open_model
from autoreproduce.trials.trial import Trial


def agent(tmp_path: Path, url: str, budget: Budget | None = None) -> Agent:
    templates = tmp_path / "templates"
    templates.mkdir(exist_ok=True, parents=True)
    (templates / "system.md").write_text("You are an agent.")
    (templates / "ask.md").write_text("Do {{ what }}.")
    settings = Settings(
        model="m", base_url=url, max_retries=0, max_output_tokens=100, price="1,0.1,2"
    )
    record = trial_record(task="t", profile="p", solver="s", model="m", created="now")
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
        pytest.raises(ReplyError, match=r"3 replies were empty: .* give --context-tokens"),
    ):
        (tmp_path / "second").mkdir()
        agent(tmp_path / "second", server.base_url).ask("ask", what="it")


def test_what_one_agent_learns_of_a_models_context_the_other_knows(tmp_path: Path) -> None:
    with chat_server(["one", "two"]) as server:
        research = agent(tmp_path, server.base_url)
        code = LearntContext(research.journal, "m")
        another = LearntContext(research.journal, "another")
        research.ask("ask", what="it")
        assert research.context.learn(9_000, 8_192, research.settings.model)
        assert another.learn(9_000, 4_096, research.settings.model)
        research.ask("ask", what="that")
    assert (research.context.tokens(), code.tokens(), another.tokens()) == (8_192, 8_192, 4_096)
    assert code.found_at(1) and not code.found_at(0)


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


def too_long(request: Request, context: int) -> Answer | str:
    """As a server with this context answers, a token being 4 characters."""
    most = request.body.get("max_completion_tokens") or request.body.get("max_tokens") or 0
    sent = len(request.prompt) // 4
    if sent + most > context:
        words = f"This model's maximum context length is {context} tokens. You sent {sent} + {most}"
        return Answer(status=400, error={"message": words, "code": "context_length_exceeded"})
    return f"seen {sent}"


PAPER = "\n\n".join(f"Paragraph {n} says what it says in some words." for n in range(3000))


def reader(tmp_path: Path, url: str) -> Agent:
    made = agent(tmp_path, url)
    (tmp_path / "templates" / "ask.md").write_text("{{ paper }}\nDo {{ what }}.")
    return made


def test_a_paper_that_is_too_long_for_the_server_is_shortened_and_the_trial_goes_on(
    tmp_path: Path,
) -> None:
    with chat_server(lambda request: too_long(request, 8192)) as server:
        asking = reader(tmp_path, server.base_url)
        first = asking.ask("ask", what="it", paper=PAPER)
        refused = len(server.requests) - 1
        second = asking.ask("ask", what="more", paper=PAPER)  # now it's known
        assert first.startswith("seen") and second.startswith("seen") and asking.shortened
        assert 1 <= refused <= 2 and len(server.requests) == refused + 2
        asking.journal.close()
        again = reader(tmp_path, server.base_url)  # resumed: the same prompts, none sent
        assert again.ask("ask", what="it", paper=PAPER) == first
        assert again.ask("ask", what="more", paper=PAPER) == second
        assert len(server.requests) == refused + 2
        again.ask("ask", what="new", paper=PAPER)
        assert len(server.requests) == refused + 3


@pytest.mark.parametrize(
    "words", ["Input is too long for requested model.", "prompt too long; limit is 900000 tokens"]
)
def test_a_context_that_the_server_does_not_name_is_found(tmp_path: Path, words: str) -> None:
    def answer(request: Request) -> Answer | str:
        said = too_long(request, 16_000)
        return Answer(status=400, error={"message": words}) if isinstance(said, Answer) else said

    with chat_server(answer) as server:
        assert reader(tmp_path, server.base_url).ask("ask", what="it", paper=PAPER)
        assert len(server.requests) <= 5


def test_a_prompt_without_a_paper_that_is_too_long_stays_an_error(tmp_path: Path) -> None:
    with (
        chat_server(lambda request: too_long(request, 8192)) as server,
        pytest.raises(ContextError, match="8192"),
    ):
        agent(tmp_path, server.base_url).ask("ask", what=PAPER)
    assert len(server.requests) <= 5


def test_a_reply_that_only_calls_tools_is_told_to_write_text(tmp_path: Path) -> None:
    calls = Answer(tools=(("run", {"command": "ls"}),))
    with chat_server([calls, "there"]) as server:
        assert agent(tmp_path, server.base_url).ask("ask", what="it") == "there"
        assert "only called a tool (run)" in server.requests[1].messages[-1]["content"]
    with (
        chat_server([calls] * 3) as server,
        pytest.raises(ReplyError, match=r"only called tools \(run\).*tool parser"),
    ):
        agent(tmp_path / "other", server.base_url).ask("ask", what="it")


def test_text_in_the_field_for_reasoning_is_said_to_be_there(tmp_path: Path) -> None:
    said = Answer("", reasoning="EDIT 1 1")
    with (
        chat_server([said] * 3) as server,
        pytest.raises(ReplyError, match=r"server's reasoning field.*reasoning parser") as caught,
    ):
        agent(tmp_path, server.base_url).ask("ask", what="it")
    assert "--max-output-tokens" not in str(caught.value)


def test_a_refusal_is_shown(tmp_path: Path) -> None:
    message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    raw = json.dumps({"id": "c", "object": "chat.completion", "choices": [choice]})
    with (
        chat_server([Answer(raw=raw)] * 3) as server,
        pytest.raises(ModelError, match="I cannot help with that"),
    ):
        agent(tmp_path, server.base_url).command("ask", {"EDIT"}, what="it")

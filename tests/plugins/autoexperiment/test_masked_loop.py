"""The project's own loop on masked functions: an endpoint that answers as told, real runs in a
sandbox.
"""

import re

import pytest
from chat_server import Answer, chat_server

SPECIFIED = "`mean`: the sum by the count.\n\nChecklist\n1. It divides by the number of values."
GOOD, BROKEN, OTHER = (
    "    return sum(values) / len(values)\n",
    "    return sum(value)\n",
    "    return max(values)\n",
)


def stub_line(prompt: str, numbered: str = "NotImplementedError") -> int:
    """The number of the line that holds the stub, as a model reads it off the listing."""
    found = re.search(rf"^ *(\d+)\|.*{numbered}", prompt, re.MULTILINE)
    assert found is not None, prompt[-3000:]
    return int(found[1])


def edit(prompt: str, body: str, numbered: str = "NotImplementedError") -> str:
    line = stub_line(prompt, numbered)
    return f"EDIT {line} {line}\n```\n{body}```"


def role(prompt: str) -> str:
    """Which prompt this is, by what it asks."""
    asked = prompt.rsplit("# What is asked", maxsplit=1)[-1]
    for mark, name in (
        ("for the code agent, who does not see the paper", "specify"),
        ("Write the body", "write"),
        ("The run did not pass", "edit"),
        ("so that this is met", "improve"),
        ("This version runs", "review"),
    ):
        if mark in asked:
            return name
    return "?"


def model(first: str, reviews: list[str]):
    """A model that writes `first`, fixes it to what is right, and reviews as listed."""

    def answer(request):
        prompt = request.prompt
        match role(prompt):
            case "specify":
                return SPECIFIED
            case "write":
                return edit(prompt, first)
            case "edit":
                return edit(prompt, GOOD, "sum\\(value\\)")
            case "improve":
                return edit(prompt, GOOD, "max\\(values\\)")
        return reviews.pop(0)

    return answer


@pytest.mark.slow
def test_it_specifies_writes_mends_and_is_checked_against_the_paper(run):
    with chat_server(model(BROKEN, ["1. ok\n\nSUBMIT"])) as server:
        done = run(server, solver="autoreproduce")
    assert done.result.metric == 1, done.result.reason
    asked = [role(request.prompt) for request in server.requests]
    assert asked == ["specify", "write", "edit", "review"]
    assert "The mean is the sum by the count" in server.requests[0].prompt, (
        "the research agent reads the paper"
    )
    assert (
        "The mean is the sum by the count" not in server.requests[1].prompt
        and SPECIFIED in server.requests[1].prompt
    )
    assert "NameError" in server.requests[2].prompt
    assert done.result.cost.edits["attempt"]["turns"] == 2


@pytest.mark.slow
def test_a_review_of_passages_is_shown_the_section_that_it_asks_for(run):
    with chat_server(model(GOOD, ["SECTION: the count", "SUBMIT"])) as server:
        done = run(server, solver="autoreproduce")
    assert done.result.metric == 1, done.result.reason
    first, second = (request.prompt for request in server.requests[2:])
    assert "ask for the section that defines it" in first
    assert second.startswith(first)
    assert "The mean is the sum by the count" in second.removeprefix(first)


@pytest.mark.slow
def test_whoever_specifies_from_passages_may_ask_for_two_sections_first(run):
    asked = ["SECTION: the spread", "I need one more.\n\nSECTION: 2", SPECIFIED]
    rest = model(GOOD, ["SUBMIT"])

    def answer(request):
        return asked.pop(0) if role(request.prompt) == "specify" else rest(request)

    with chat_server(answer) as server:
        done = run(server, solver="autoreproduce")
    assert done.result.metric == 1, done.result.reason
    first, _, third, written = (request.prompt for request in server.requests[:4])
    assert "ask first for the section that has it" in first
    assert third.startswith(first) and "the spread:" in third and "\n2:" in third
    assert SPECIFIED in written and "SECTION:" not in written


@pytest.mark.slow
def test_what_the_research_agent_asks_for_is_done(run):
    update = "1. line 8 takes the maximum\n\nUPDATE\n## Feedback\nDivide the sum by the count.\n## Summary\nunchanged"
    with chat_server(model(OTHER, [update, "SUBMIT"])) as server:
        done = run(server, solver="autoreproduce")
    assert done.result.metric == 1, done.result.reason
    assert [role(request.prompt) for request in server.requests][2:] == [
        "review",
        "improve",
        "review",
    ]


@pytest.mark.slow
def test_it_goes_on_where_it_was_and_repeats_nothing(run):
    down, inner = [True], model(BROKEN, ["SUBMIT"])

    def answer(request):
        if role(request.prompt) == "edit" and down:
            down.clear()
            return Answer(status=500)
        return inner(request)

    with chat_server(answer) as server:
        assert run(server, solver="autoreproduce").result.status == "stopped"
        before = len(server.requests)
        done = run(server, solver="autoreproduce")
    assert done.result.metric == 1, done.result.reason
    assert len(server.requests) == before + 2


@pytest.mark.slow
def test_without_refining_nothing_is_checked_and_at_the_limit_it_ends(run):
    with chat_server(model(OTHER, [])) as server:
        done = run(server, solver="autoreproduce", refine=False)
    assert done.result.details["kind"] == "wrong numbers" and len(server.requests) == 2
    with chat_server(model(BROKEN, [])) as server:
        done = run(server, solver="autoreproduce", attempt_budget="200 tokens", out="short")
    assert [role(request.prompt) for request in server.requests] == ["specify", "write"]
    assert done.result.status == "failed" and "200 tokens" in done.result.details["limit"]

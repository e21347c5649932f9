"""The gate: fewer calls in flight while a provider refuses, more again later, and goodput all the
while.
"""

import random
import threading
import time
from collections.abc import Callable
from email.utils import formatdate

import pytest
from chat_server import Answer, chat_server
from langchain_openai import ChatOpenAI
from suite_world import asked, lay_out, run

from autoreproduce.config import Settings
from autoreproduce.errors import ModelError
from autoreproduce.models.errors import retry_after
from autoreproduce.models.open import call, open_model
from autoreproduce.models.tape import CallSite
from autoreproduce.plugins.suites.rate_limit import Gate, Gates, Pace


def simulated(
    answer: Callable[[int, float], bool], seconds: float, workers: int = 50, latency: float = 0.1
) -> dict[str, list[float]]:
    """A provider in simulated time: `workers` callers, each with its next call as soon as the last
    one was granted.

    `answer(granted ones in flight and this, now)` says whether a call is granted. A refused one is
    made again after a latency. Gives the limit at each end of a call, and the times of grants.
    """
    pace, now = Pace(workers, 0.0), 0.0
    flying: list[tuple[float, bool]] = []
    ready = [0.0] * workers
    limits, grants = [], []
    while now < seconds:
        while len(flying) < int(max(1, pace.limit)) and ready and ready[0] <= now:
            ready.pop(0)
            flying.append(
                (
                    now + latency * random.uniform(0.9, 1.1),
                    answer(1 + sum(fine for _, fine in flying), now),
                )
            )
        flying.sort()
        upcoming = [flying[0][0]] if flying else []
        if len(flying) < int(max(1, pace.limit)) and ready:
            upcoming.append(max(ready[0], now))
        now = min(upcoming)
        if flying and flying[0][0] <= now:
            _, fine = flying.pop(0)
            pace.count(fine, now)
            grants += [now] if fine else []
            ready = sorted([*ready, now if fine else now + latency])
            limits.append(pace.limit)
    return {"limits": limits, "grants": grants}


def bucket(rate: float) -> Callable[[int, float], bool]:
    """A provider that grants `rate` calls a second, with a second's worth saved up at most."""
    state = {"tokens": rate, "at": 0.0}

    def answer(in_flight: int, now: float) -> bool:
        state["tokens"] = min(rate, state["tokens"] + (now - state["at"]) * rate)
        state["at"] = now
        granted = state["tokens"] >= 1
        state["tokens"] -= granted
        return granted

    return answer


@pytest.fixture(autouse=True)
def seeded() -> None:
    random.seed(7)


def test_without_refusals_all_may_be_in_flight() -> None:
    told = simulated(lambda n, now: True, 20)
    assert set(told["limits"]) == {50.0}
    assert len(told["grants"]) > 0.9 * 20 * 50 / 0.1 / 1.05


def test_a_rate_limit_lowers_the_number_and_uses_what_is_granted() -> None:
    told = simulated(bucket(40), 60)
    late = told["limits"][len(told["limits"]) // 2 :]
    assert (
        sum(late) / len(late) < 15
    )  # 40 a second at 0.1 s each: 4 in flight are enough, 50 were allowed
    assert len([at for at in told["grants"] if at > 30]) > 0.9 * 30 * 40


def test_a_limit_of_calls_at_once_is_found() -> None:
    told = simulated(lambda n, now: n <= 10, 60)
    late = told["limits"][len(told["limits"]) // 2 :]
    assert 7 < sum(late) / len(late) < 15
    assert len([at for at in told["grants"] if at > 30]) > 0.8 * 30 * 10 / 0.1


def test_once_the_provider_grants_again_the_number_rises() -> None:
    slow = bucket(20)
    told = simulated(lambda n, now: slow(n, now) if now < 30 else True, 60)
    assert min(told["limits"]) < 10
    assert told["limits"][-1] == 50


def test_refusals_that_do_not_depend_on_the_number_do_not_starve_the_suite() -> None:
    told = simulated(lambda n, now: random.random() > 0.3, 60)
    best = (
        60 * 50 / (0.1 + 0.3 / 0.7 * 0.2)
    )  # every call needs 1 / 0.7 tries, with a latency between
    assert len(told["grants"]) > 0.7 * best


class Refused(Exception):
    status_code = 429

    def __init__(self, after: float | str | None = None) -> None:
        self.response = type(
            "Response", (), {"headers": {} if after is None else {"retry-after": str(after)}}
        )()


def gate(most: int = 4, **more: float) -> Gate:
    return Gate(most, threading.Event(), **more)  # type: ignore[arg-type]


def test_a_refused_call_waits_as_the_provider_asks() -> None:
    outcomes = iter([Refused(0.4), None])

    def do() -> str:
        if error := next(outcomes):
            raise error
        return "fine"

    began = time.monotonic()
    assert gate().call(do) == "fine"
    assert 0.4 <= time.monotonic() - began < 1.5


@pytest.mark.parametrize(
    "said", ["0", *(pytest.param(said, marks=pytest.mark.slow) for said in ("-3", "nan", "soon"))]
)
def test_a_provider_that_asks_for_no_wait_is_not_asked_without_one(said: str) -> None:
    tries = []

    def refused() -> None:
        tries.append(1)
        raise Refused(said)

    with pytest.raises(Refused):
        gate(patience=0.5).call(refused)
    assert len(tries) < 10


def test_a_date_is_waited_for_too() -> None:
    assert 25 < (retry_after(Refused(formatdate(time.time() + 30, usegmt=True))) or 0) <= 30


@pytest.mark.slow
def test_a_waiting_call_gives_its_place_away() -> None:
    narrow, first = gate(1), iter([Refused(1.0), None])

    def refused_once() -> str:
        if error := next(first):
            raise error
        return "late"

    slow = threading.Thread(target=lambda: narrow.call(refused_once))
    slow.start()
    time.sleep(0.1)
    began = time.monotonic()
    narrow.call(lambda: "quick")
    assert time.monotonic() - began < 0.5
    slow.join()


def test_a_provider_that_refuses_for_ever_is_given_up_and_one_that_fails_after_some_tries() -> None:
    with pytest.raises(Refused):
        gate(patience=0.2).call(lambda: (_ for _ in ()).throw(Refused(0.05)))
    tries = []

    def broken() -> None:
        tries.append(1)
        raise TimeoutError

    with pytest.raises(TimeoutError):
        gate(attempts=3).call(broken)
    assert len(tries) == 3


def test_what_waiting_does_not_mend_is_not_tried_again() -> None:
    tries = []

    def wrong() -> None:
        tries.append(1)
        raise ValueError

    with pytest.raises(ValueError):
        gate().call(wrong)
    assert len(tries) == 1


def test_a_stop_ends_the_waiting() -> None:
    stopped = gate(1)
    threading.Timer(0.2, stopped.stop.set).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        stopped.call(lambda: (_ for _ in ()).throw(Refused(30)))
    assert time.monotonic() - began < 3


def test_a_models_calls_go_through_its_gate_also_with_tools() -> None:
    answers = [Answer(status=429, retry_after=0), Answer("7"), Answer(status=503), Answer("8")]
    with chat_server(answers) as server:
        model = open_model(Settings(base_url=server.base_url, max_retries=0), "any")
        gates = Gates(2, threading.Event())
        guarded = gates.guard(model, "any")
        assert isinstance(guarded, ChatOpenAI)
        assert call(guarded, ["hello"], CallSite("a", "b", "c")).text == "7"
        assert guarded.bind_tools([]).invoke("hello").text == "8"
        assert gates.refusals == 1
        assert len(server.requests) == 4


def test_an_error_keeps_its_words_through_the_gate() -> None:
    with chat_server([Answer(status=401, error={"message": "who are you"})]) as server:
        model = Gates(2, threading.Event()).guard(
            open_model(Settings(base_url=server.base_url, max_retries=0), "any"), "x"
        )
        with pytest.raises(ModelError, match="refused the key"):
            call(model, ["hello"], CallSite("a", "b", "c"))


@pytest.mark.slow
def test_a_suite_gets_through_a_provider_that_refuses_a_third_of_all_calls(tmp_path) -> None:
    lock, count = threading.Lock(), [0]

    def answer(request):
        with lock:
            count[0] += 1
            return Answer(status=429) if count[0] % 3 == 0 else "7"

    with chat_server(answer) as server:
        summary = run(lay_out(tmp_path, trials=6), server.base_url, workers=6)
        assert summary.exit_code == 0
        assert summary.snapshot["refusals"] == len(server.requests) // 3
        assert sum(asked(server).values()) == 18 + summary.snapshot["refusals"]

"""What a machine has little of: processors, GPUs, container starts; and the suite's purse."""

import threading
import time

import pytest

from autoreproduce.budget import Budget, Cost
from autoreproduce.config import Settings
from autoreproduce.errors import BudgetError, UsageError
from autoreproduce.runner.suite import leases
from autoreproduce.runner.suite.leases import Gpus, divided
from autoreproduce.runner.suite.money import Purse


def test_processors_are_divided_and_never_less_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "processors", lambda: 8)
    settings = Settings(limits={"cpus": 6})
    assert [divided(settings, workers).limits.cpus for workers in (1, 2, 4, 8, 100)] == [6, 4, 2, 1, 1]
    assert settings.limits.cpus == 6


@pytest.mark.parametrize(("part", "at_once"), [(1.0, 2), (0.5, 4), (2.0, 1)])
def test_gpus_are_leased_and_given_back(part: float, at_once: int) -> None:
    pool, lock = Gpus("0,1", part, threading.Event()), threading.Lock()
    using: list[str] = []
    most = [0]

    def trial() -> None:
        with pool.lease(Settings(gpus="0,1")) as leased:
            with lock:
                using.append(str(leased.gpus))
                most[0] = max(most[0], len(using))
                names = ",".join(using).split(",")
                assert all(names.count(name) * min(part, 1) <= 1 for name in names)
            time.sleep(0.02)
            with lock:
                using.remove(str(leased.gpus))

    threads = [threading.Thread(target=trial) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == at_once
    assert pool.free == {"0": 1.0, "1": 1.0}


def test_a_failed_trial_gives_its_gpu_back_and_half_ones_fill_one_first() -> None:
    pool = Gpus("0,1", 0.5, threading.Event())
    with pytest.raises(ValueError), pool.lease(Settings(gpus="0,1")):
        raise ValueError
    with pool.lease(Settings(gpus="0,1")) as a, pool.lease(Settings(gpus="0,1")) as b:
        assert a.gpus == b.gpus


def test_without_gpus_nothing_is_leased_and_too_many_are_refused() -> None:
    with Gpus(None, 1, threading.Event()).lease(Settings()) as same:
        assert same.gpus is None
    with pytest.raises(UsageError, match="there are 2"):
        Gpus("0,1", 3, threading.Event())


def test_a_stop_ends_waiting_for_a_gpu() -> None:
    stop = threading.Event()
    pool = Gpus("0", 1, stop)
    with pool.lease(Settings(gpus="0")):
        threading.Timer(0.1, stop.set).start()
        with pytest.raises(KeyboardInterrupt), pool.lease(Settings(gpus="0")):
            pass


def test_a_purse_asks_the_suite_and_waits_for_what_others_hold() -> None:
    suite = Budget(limit_tokens=100)
    first, second = Purse(suite, None, threading.Event()), Purse(suite, None, threading.Event())
    held = first.reserve(Cost(80))
    threading.Timer(0.2, lambda: held.settle(Cost(10))).start()
    began = time.monotonic()
    second.reserve(Cost(60)).settle(Cost(60))
    assert time.monotonic() - began > 0.15
    assert suite.spent_tokens == 70
    with pytest.raises(BudgetError):
        second.reserve(Cost(60))
    assert (second.exhausted, first.exhausted) == (True, False)
    assert suite.calls_under_way == 0


def test_a_purse_of_its_own_refuses_without_troubling_the_suite() -> None:
    suite = Budget(limit_tokens=1000)
    purse = Purse(suite, "100 tokens", threading.Event())
    with pytest.raises(BudgetError):
        purse.reserve(Cost(101))
    assert not purse.exhausted
    with purse.reserve(Cost(50)):
        assert suite.calls_under_way == 1
    assert suite.calls_under_way == 0


def test_what_the_journal_replays_counts_for_the_trial_alone() -> None:
    suite = Budget(limit_tokens=1000)
    purse = Purse(suite, "100 tokens", threading.Event())
    purse.spend(Cost(90))
    assert suite.spent_tokens == 0
    with pytest.raises(BudgetError):
        purse.reserve(Cost(20))


def test_no_two_calls_take_the_same_money() -> None:
    """A hundred threads settle and reserve as fast as they can; what was spent and held never passes the limit."""
    budget = Budget(limit_tokens=1000)

    def spend() -> None:
        for _ in range(50):
            try:
                budget.reserve(Cost(7)).settle(Cost(7))
            except BudgetError:
                return

    threads = [threading.Thread(target=spend) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1000 - 7 < budget.spent_tokens <= 1000

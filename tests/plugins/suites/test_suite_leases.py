"""What a machine has little of: processors, GPUs, container starts; and the suite's purse."""

import json
import re
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from chat_server import chat_server
from suite_world import lay_out, run

from autoreproduce.config import Settings
from autoreproduce.errors import BudgetError, TrialError, UsageError
from autoreproduce.models.budget import Budget, Cost
from autoreproduce.plugins.suites import leases
from autoreproduce.plugins.suites.leases import Gpus, divided


def test_processors_are_divided_and_never_less_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "processors", lambda: 8)
    settings = Settings(cpus=6)
    assert [divided(settings, workers).sandbox.limits.cpus for workers in (1, 2, 4, 8, 100)] == [
        6,
        4,
        2,
        1,
        1,
    ]
    assert settings.sandbox.limits.cpus == 6


@pytest.mark.parametrize(("part", "at_once"), [(1.0, 2), (0.5, 4), (2.0, 1)])
def test_gpus_are_leased_and_given_back(part: float, at_once: int, tmp_path: Path) -> None:
    """Two suites side by side, of one user."""
    stop = threading.Event()
    pools = [Gpus("0,1", part, stop, tmp_path) for _ in range(2)]
    settings = Settings(gpus="0,1")
    with ExitStack() as held:
        leased = [held.enter_context(pools[n % 2].lease(settings)) for n in range(at_once)]
        names = ",".join(str(each.sandbox.gpus) for each in leased).split(",")
        assert sorted(names) == sorted(["0", "1"] * (len(names) // 2))
        stop.set()
        with pytest.raises(KeyboardInterrupt), pools[1].lease(settings):
            pass
    assert json.loads(pools[0].file.read_text()) == {}


def test_a_failed_trial_gives_its_gpu_back_and_half_ones_fill_one_first(tmp_path: Path) -> None:
    pool = Gpus("0,1", 0.5, threading.Event(), tmp_path)
    with pytest.raises(ValueError), pool.lease(Settings(gpus="0,1")):
        raise ValueError
    with pool.lease(Settings(gpus="0,1")) as a, pool.lease(Settings(gpus="0,1")) as b:
        assert a.sandbox.gpus == b.sandbox.gpus


def test_without_gpus_nothing_is_leased_and_too_many_are_refused(tmp_path: Path) -> None:
    with Gpus(None, 1, threading.Event(), tmp_path).lease(Settings()) as same:
        assert same.sandbox.gpus is None
    with pytest.raises(UsageError, match="there are 2"):
        Gpus("0,1", 3, threading.Event(), tmp_path)


def test_a_lease_of_a_process_that_is_gone_is_void_and_a_damaged_list_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = threading.Event()
    pool = Gpus("0", 1, stop, tmp_path)
    with pool.lease(Settings(gpus="0")):
        [held] = json.loads(pool.file.read_text()).values()
    machine, _, _ = held["owner"].rpartition("/")
    gone = {
        "x": held | {"owner": f"{machine}/1"}
    }  # this number, but of a process that began earlier
    pool.file.write_text(json.dumps(gone))
    with pool.lease(Settings(gpus="0")) as leased:
        assert leased.sandbox.gpus == "0"
    pool.file.write_text("{")
    with pytest.raises(TrialError, match="damaged"), pool.lease(Settings(gpus="0")):
        pass
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert Gpus("all", 1, stop, tmp_path).names == ["2", "3"]


@pytest.mark.slow
@pytest.mark.parametrize(("part", "at_once"), [(1.0, 1), (0.5, 2)])
def test_a_local_suite_gives_each_program_its_gpu(
    part: float, at_once: int, tmp_path: Path
) -> None:
    """Six trials, six places, two declared GPUs: a program sees its own, with as many others as fit
    on it.
    """
    log = tmp_path / "log"
    command = (
        f"echo + $CUDA_VISIBLE_DEVICES >> {log}; sleep 1; echo - $CUDA_VISIBLE_DEVICES >> {log}"
    )
    settings = {"gpus": "0,1", "cache_dir": str(tmp_path / "cache")}
    how = {"calls": 1, "command": command}
    file = lay_out(tmp_path, trials=6, how=how, settings=settings, gpus_per_trial=part)
    with chat_server(lambda request: "7") as server:
        assert run(file, server.base_url, workers=6).exit_code == 0
    running, most = {"0": 0, "1": 0}, {"0": 0, "1": 0}
    for sign, gpu in re.findall(r"([+-]) (\S+)", log.read_text()):
        running[gpu] += 1 if sign == "+" else -1
        most[gpu] = max(most[gpu], running[gpu])
    assert most == {"0": at_once, "1": at_once}


def test_a_stop_ends_waiting_for_a_gpu(tmp_path: Path) -> None:
    stop = threading.Event()
    pool = Gpus("0", 1, stop, tmp_path)
    with pool.lease(Settings(gpus="0")):
        threading.Timer(0.1, stop.set).start()
        with pytest.raises(KeyboardInterrupt), pool.lease(Settings(gpus="0")):
            pass


def test_a_purse_asks_the_suite_and_waits_for_what_others_hold() -> None:
    suite = Budget(limit_tokens=100)
    first, second = (
        Budget.parse(None, suite, threading.Event()),
        Budget.parse(None, suite, threading.Event()),
    )
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
    purse = Budget.parse("100 tokens", suite, threading.Event())
    with pytest.raises(BudgetError):
        purse.reserve(Cost(101))
    assert not purse.exhausted
    with purse.reserve(Cost(50)):
        assert suite.calls_under_way == 1
    assert suite.calls_under_way == 0


def test_what_the_journal_replays_counts_for_the_trial_alone() -> None:
    suite = Budget(limit_tokens=1000)
    purse = Budget.parse("100 tokens", suite, threading.Event())
    purse.spend(Cost(90))
    assert suite.spent_tokens == 0
    with pytest.raises(BudgetError):
        purse.reserve(Cost(20))


def test_no_two_calls_take_the_same_money() -> None:
    """A hundred threads settle and reserve as fast as they can; what was spent and held never
    passes the limit.
    """
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

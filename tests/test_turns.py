"""Turns: few threads run at a time, a thread that waits gives its own away, and nobody waits for ever."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress

from autoreproduce.turns import Turns


class Inside:
    """Counts who is inside, and how many were at most."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


def test_no_more_run_at_a_time_than_there_are_turns() -> None:
    turns, inside = Turns(2, patience=30), Inside()

    def work(_: int) -> None:
        with turns.taken():
            for _ in range(5):
                with inside:
                    time.sleep(0.002)
                with turns.left():
                    time.sleep(0.001)

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(work, range(20)))
    assert inside.most == 2


def test_those_who_wait_leave_their_turn_to_others() -> None:
    turns, inside = Turns(1, patience=30), Inside()

    def work(_: int) -> None:
        with turns.taken(), turns.left(), inside:
            time.sleep(0.2)

    began = time.monotonic()
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(work, range(10)))
    assert inside.most == 10 and time.monotonic() - began < 1


def test_leaving_twice_is_leaving_once() -> None:
    turns = Turns(1, patience=30)
    with turns.taken():
        with turns.left():
            with turns.left():
                pass
            assert had_by_another(turns)  # the inner end took nothing back
        assert not had_by_another(turns)
    assert had_by_another(turns)


def test_a_thread_without_turns_is_left_alone() -> None:
    turns = Turns(1, patience=30)
    with turns.left():
        pass
    with turns.taken():
        assert not had_by_another(turns)


def test_a_thread_that_waits_in_its_turn_holds_nobody_up_for_long_and_the_number_mends() -> None:
    turns, release = Turns(1, patience=0.1), threading.Event()

    def stuck() -> None:
        with turns.taken():
            release.wait(20)

    holder = threading.Thread(target=stuck)
    holder.start()
    began = time.monotonic()
    with turns.taken():
        assert 0.05 < time.monotonic() - began < 5
    release.set()
    holder.join()
    with turns.taken():
        assert not had_by_another(turns)


def test_whoever_waits_at_the_door_leaves_its_turn_to_who_is_within() -> None:
    work = Turns(patience=30)
    door, order = Turns(beside=work, patience=30), []

    def trial(name: int) -> None:
        with work.taken(), door.taken():
            order.append(f"{name} begins")
            with work.left():
                time.sleep(0.05)
            order.append(f"{name} has begun")

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(trial, range(5)))
    names = [each.split()[0] for each in order]
    assert names[::2] == names[1::2] and len(order) == 10  # one after the other


def test_a_stopped_trial_gives_back_its_turn() -> None:
    turns = Turns(patience=30)
    for waiting in (nullcontext, turns.left):
        with suppress(KeyboardInterrupt), turns.taken(), waiting():
            raise KeyboardInterrupt
        assert had_by_another(turns)


def had_by_another(turns: Turns) -> bool:
    """Whether another thread gets a turn at once."""
    with ThreadPoolExecutor(1) as pool:
        got: bool = pool.submit(turns._free.acquire, blocking=False).result()
    if got:
        turns._free.release()
    return got

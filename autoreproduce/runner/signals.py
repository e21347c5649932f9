"""SIGTERM and SIGHUP end a command as Ctrl-C does: all finished steps are saved.

SIGHUP comes when a terminal closes, often twice: from the shell and from the kernel. A program
started by `nohup` ignores it, also here.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupting() -> Iterator[None]:
    """While inside, SIGTERM and SIGHUP raise KeyboardInterrupt in the main thread, as SIGINT does.

    After the first SIGHUP further ones are ignored, and output to the closed terminal is dropped.
    """
    terminals = [file for file in (0, 1, 2) if os.isatty(file)]

    def hang_up(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGHUP, _ignore)
        _drop_output(terminals)
        raise KeyboardInterrupt

    with _handled({signal.SIGTERM: _interrupt, signal.SIGHUP: hang_up}):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """While inside, further interrupts are ignored: for a last clean-up of seconds."""
    with _handled(dict.fromkeys(INTERRUPTS, _ignore)):
        yield


@contextmanager
def _handled(handlers: dict[signal.Signals, Any]) -> Iterator[None]:
    """While inside, these handlers; a signal that the caller's process ignores stays ignored.

    Does nothing outside the main thread, the only one to receive signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in handlers}
    changed = [
        number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)
    ]
    try:
        for number in changed:
            signal.signal(number, handlers[number])
        yield
    finally:
        for number in changed:
            signal.signal(number, before[number])


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _ignore(number: int, frame: FrameType | None) -> None:
    """Not SIG_IGN, which programs that are started meanwhile would inherit."""


def _drop_output(terminals: list[int]) -> None:
    """Drop output to a terminal that is gone: an error there would stop the clean-up."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for file in terminals:
            if not os.isatty(file):
                os.dup2(nowhere, file)
        os.close(nowhere)

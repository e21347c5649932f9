"""Server-sent events: "now" while a step runs, "all" when something has ended or begun.

An event brings no content, only that there is some: the page asks for its parts again. So a reader
that was away misses nothing, and the pages have one source. The first event comes at once: what
changed while a page was on its way would be seen by nobody else.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Hashable

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

Look = Callable[[], tuple[Hashable, Hashable]]  # stamps of what is finished, and of what runs
SHARE, LONGEST = 5, 10.0  # a look takes a sixth of the time at most; seconds between two


def stream(look: Look, pause: float, ending: Callable[[], bool]) -> StreamingResponse:
    """The events of what `look` sees, looked at every `pause` seconds until the server ends, and
    less often if it takes long.
    """
    return StreamingResponse(_events(look, pause, ending), media_type="text/event-stream")


async def _events(look: Look, pause: float, ending: Callable[[], bool]) -> AsyncIterator[str]:
    before = await run_in_threadpool(look)
    yield "retry: 2000\nevent: all\ndata: -\n\n"  # of what changed since the page was made
    least, quiet = pause, 0.0
    while not ending():
        await asyncio.sleep(pause)
        found, took = await run_in_threadpool(_timed, look)
        pause = min(max(least, SHARE * took), LONGEST)
        if found != before:
            kind = "now" if found[0] == before[0] else "all"
            before, quiet = found, 0.0
            yield f"event: {kind}\ndata: -\n\n"
        elif (quiet := quiet + pause) >= 15:
            quiet = 0.0
            yield ": still here\n\n"  # so that a closed connection is noticed


def _timed(look: Look) -> tuple[tuple[Hashable, Hashable], float]:
    began = time.monotonic()
    return look(), time.monotonic() - began

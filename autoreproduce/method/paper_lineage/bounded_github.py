"""PyGithub's connections with a bound on an answer's size and time.

PyGithub reads an answer to its end, however long: one without end fills the memory, and one that
trickles never ends.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from github.Requester import (
    HTTPRequestsConnectionClass,
    HTTPSRequestsConnectionClass,
    RequestsResponse,
)

from autoreproduce.errors import LineageError

if TYPE_CHECKING:
    from requests import Response

LARGEST = 16 * 2**20  # bytes: GitHub cuts a list of files at 7 MB
SECONDS, LONGEST = 60.0, 300.0  # of one answer; of all that are asked of one repository
WAITS = (0.5, 1.0)  # seconds before a server's error is asked for again


class BoundedAnswer(RequestsResponse):
    """An answer as PyGithub reads it. Reading raises LineageError at a bound."""

    def __init__(self, answer: Response) -> None:
        super().__init__(answer)
        self._ends = time.monotonic() + SECONDS

    def read(self) -> str:
        """The whole text."""
        whole = bytearray()
        while piece := self.response.raw.read1(2**16, decode_content=True):
            whole += piece
            if len(whole) > LARGEST or time.monotonic() > self._ends:
                self.response.close()
                raise LineageError("GitHub's answer is larger, or takes longer, than any it gives")
        return whole.decode("utf-8", errors="replace")


def bounded_connections() -> tuple[
    type[HTTPRequestsConnectionClass], type[HTTPSRequestsConnectionClass]
]:
    """The connections of one client, whose answers end together: for a server on loopback, and for
    github.com or an Enterprise server. They raise what `requests` raises, and LineageError.
    """
    ends = time.monotonic() + LONGEST

    class BoundedHTTP(HTTPRequestsConnectionClass):
        def getresponse(self) -> RequestsResponse:
            return _bounded(self, ends)

    class BoundedHTTPS(HTTPSRequestsConnectionClass):
        def getresponse(self) -> RequestsResponse:
            return _bounded(self, ends)

    return BoundedHTTP, BoundedHTTPS


def _bounded(
    asked: HTTPSRequestsConnectionClass | HTTPRequestsConnectionClass, ends: float
) -> BoundedAnswer:
    """Asked again where the server failed or could not be reached."""
    for wait in WAITS:
        if time.monotonic() > ends:  # redirects, too, are answers
            raise LineageError(f"GitHub did not answer within {LONGEST:g} s")
        with suppress(OSError):  # what `requests` raises is one
            answer = _answer_of(asked)
            if answer.status_code < 500:
                return BoundedAnswer(answer)
            answer.close()
        time.sleep(wait)
    return BoundedAnswer(_answer_of(asked))


def _answer_of(of: HTTPSRequestsConnectionClass | HTTPRequestsConnectionClass) -> Response:
    return of.session.request(
        of.verb,
        f"{of.protocol}://{of.host}:{of.port}{of.url}",
        headers=of.headers,
        data=of.input,
        timeout=of.timeout,
        verify=of.verify,
        allow_redirects=False,
        stream=True,
    )

"""PyGithub's connections with a bound on an answer's size and time.

PyGithub reads an answer to its end, however long: one without end fills the memory, and one that
trickles never ends.
"""

from __future__ import annotations

import time
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
SECONDS = 60.0  # of one answer
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


class BoundedHTTPS(HTTPSRequestsConnectionClass):
    """For github.com and an Enterprise server."""

    def getresponse(self) -> RequestsResponse:
        """The answer to what was asked last. Raises what `requests` raises."""
        return _bounded(self)


class BoundedHTTP(HTTPRequestsConnectionClass):
    """For a server on loopback."""

    def getresponse(self) -> RequestsResponse:
        """The answer to what was asked last. Raises what `requests` raises."""
        return _bounded(self)


def _bounded(asked: HTTPSRequestsConnectionClass | HTTPRequestsConnectionClass) -> BoundedAnswer:
    """Asked again where the server failed. PyGithub's own GithubRetry reads an answer unbounded."""
    answer = _answer_of(asked)
    for wait in WAITS:
        if answer.status_code < 500:
            break
        answer.close()
        time.sleep(wait)
        answer = _answer_of(asked)
    return BoundedAnswer(answer)


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

"""The `arxiv` package's client with limits on each answer: its own would read one without an end.

Imported only where arXiv is asked, since its packages take their time.
"""

from typing import Any

import arxiv
import httpx2
from requests import ConnectionError as Unreachable
from requests import ReadTimeout, RequestException, Response
from requests.adapters import BaseAdapter

from autoreproduce.files.http_limits import limited_client

LARGEST = 4 * 2**20  # bytes of ten papers' metadata
ATOM = b"http://www.w3.org/2005/Atom"


class LimitedAdapter(BaseAdapter):
    """Asks by our own client, and refuses a page (of a login, of an outage) that is no feed."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._client = limited_client(seconds, LARGEST)

    def send(self, request: Any, *_: Any, **__: Any) -> Response:
        """See BaseAdapter. Raises RequestException."""
        headers = {"User-Agent": str(request.headers.get("User-Agent", ""))}
        try:
            answer = self._client.get(request.url, headers=headers)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            late = isinstance(error, httpx2.TimeoutException)
            raise (ReadTimeout if late else Unreachable)(str(error)) from error
        if answer.is_success and ATOM not in answer.content[:2000]:
            raise RequestException("the answer isn't an Atom feed")
        response = Response()
        response.status_code, response.url = answer.status_code, str(request.url)
        response.request, response._content = request, answer.content
        return response

    def close(self) -> None:
        """See BaseAdapter."""
        self._client.close()


def api_client(address: str, delay: float, retries: int, seconds: float) -> arxiv.Client:
    """A client of the API at `address`, with `delay` seconds between requests."""
    client = arxiv.Client(page_size=10, delay_seconds=delay, num_retries=retries)
    client.query_url_format = address.replace("{", "{{").replace("}", "}}") + "?{}"
    for scheme in ("http://", "https://"):
        client._session.mount(scheme, LimitedAdapter(seconds))
    return client

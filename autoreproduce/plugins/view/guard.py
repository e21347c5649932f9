"""Who may see the pages: a browser on this machine that was given their address.

Any page on the internet can have a browser ask a server on this machine. So each request must name
this server as its host (a foreign name that was made to point here is refused: DNS rebinding), and
bring the token as the first part of its path, which no other page knows. It is in no cookie:
browsers send those of 127.0.0.1 to every port of it, so any other server here would read them. What
changes something must come from a page of ours too.
"""

import secrets

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NAMES = ("127.0.0.1", "localhost", "[::1]")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with none, a browser names no origin in a form either
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """ASGI middleware: the host, the token, the origin, and the headers of every answer."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in NAMES}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that may be answered; else say why not."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._refusal(Request(scope))
        await (refused or self.app)(scope, receive, _with_headers(send))

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if host not in self.hosts:
            port = next(iter(self.hosts)).rpartition(":")[2]
            return _refused(421, f"this server is 127.0.0.1:{port}, under no other name or port")
        given = request.url.path.removeprefix("/").partition("/")[0]
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return _refused(403, _NO_TOKEN)
        if request.method not in ("GET", "HEAD") and request.headers.get("origin") != (
            f"http://{host}"
        ):
            return _refused(403, "forms are sent from the pages of this server alone")
        return None


_NO_TOKEN = "open the address that `autoreproduce view` printed: it has a token\n"


def _refused(status: int, reason: str) -> Response:
    return PlainTextResponse(reason, status)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return sending

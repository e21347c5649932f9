"""Who may see the pages: a browser on this machine that was given the token.

Any page on the internet can have a browser ask a server on this machine. So each request must name
this server as its host (a foreign name that was made to point here is refused: DNS rebinding), and
bring the token: once in the address, then in a cookie. What changes something must bring the token
in its form too, which no other page knows, and come from a page of ours.
"""

import secrets
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
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
    """ASGI middleware: the host, the token, and the headers of every answer."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in NAMES}
        self.cookie = f"autoreproduce_view_{port}"  # cookies are shared by all ports of a host

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
        if (given := request.query_params.get("token")) is not None and request.method == "GET":
            return self._admitted(request) if self._is_token(given) else _refused(403, _NO_TOKEN)
        if not self._is_token(request.cookies.get(self.cookie, "")):
            return _refused(403, _NO_TOKEN)
        if request.method not in ("GET", "HEAD") and request.headers.get("origin") != (
            f"http://{host}"
        ):
            return _refused(403, "forms are sent from the pages of this server alone")
        return None

    def _admitted(self, request: Request) -> Response:
        """The same address without the token, so that it is in no history; with the cookie."""
        rest = parse_qs(request.url.query)
        rest.pop("token")
        query = urlencode(rest, doseq=True)
        response = RedirectResponse(f"{request.url.path}{'?' if query else ''}{query}", 303)
        # Lax: the address may be opened from a terminal that is itself a page
        response.set_cookie(self.cookie, self.token, httponly=True, samesite="lax")
        return response

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())


_NO_TOKEN = "open the address that `autoreproduce view` printed: it has a token\n"


async def form_is_ours(request: Request, token: str) -> bool:
    """True if a form brings the token."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > 10_000:
            return False
    given = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]
    return secrets.compare_digest(given.encode(), token.encode())


def _refused(status: int, reason: str) -> Response:
    return PlainTextResponse(reason, status)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return sending

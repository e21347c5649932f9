"""The addresses of the pages."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from autoreproduce.errors import AutoReproduceError
from autoreproduce.evaluation.report.page import environment, template_file
from autoreproduce.plugins.view import pages
from autoreproduce.plugins.view.library import Library, UnknownKeyError
from autoreproduce.plugins.view.listed import ended_stamp, output_stamp
from autoreproduce.plugins.view.pages import MOST_COMPARED, comparison_page
from autoreproduce.plugins.view.processes import Processes, job_asked, uploaded_pdf
from autoreproduce.plugins.view.rows import RowQuery, query_of

if TYPE_CHECKING:
    from jinja2 import Environment


# Server-sent events: "now" while a step runs, "all" when something has ended or begun.
#
# An event brings no content, only that there is some: the page asks for its parts again. So a
# reader that was away misses nothing, and the pages have one source. The first event comes at once:
# what changed while a page was on its way would be seen by nobody else.


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


# Who may see the pages: a browser on this machine that was given their address.
#
# Any page on the internet can have a browser ask a server on this machine. So each request must
# name this server as its host (a foreign name that was made to point here is refused: DNS
# rebinding), and bring the token as the first part of its path, which no other page knows. It is in
# no cookie: browsers send those of 127.0.0.1 to every port of it, so any other server here would
# read them. What changes something must come from a page of ours too.


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


Endpoint = Callable[[Request], Awaitable[Response]]
STATIC = {
    "view.css": ("text/css", ("page.css", "site.css"), "templates/view.css"),
    "view.js": ("text/javascript", (), "templates/view.js"),
    "uplot.css": ("text/css", (), "uplot/uPlot.min.css"),
    "uplot.js": ("text/javascript", (), "uplot/uPlot.iife.min.js"),
}


class Pages:
    """The pages over one folder. Each method answers one address."""

    def __init__(
        self, library: Library, token: str, ending: Callable[[], bool] = lambda: False
    ) -> None:
        self.library, self.token, self.ending = library, token, ending
        self.processes = Processes(library.root)

    def routes(self) -> list[Route]:
        """All addresses."""
        trial, suite = "/trial/{key}", "/suite/{key}"
        return [
            Route("/", self.page("index.html.j2", self._index)),
            Route("/events", self.list_events),
            Route("/static/{name}", static),
            Route("/new", self.page("new.html.j2", self._new), methods=["GET"]),
            Route("/start", self.start, methods=["POST"]),
            Route("/compare", self.page("compare.html.j2", self._compared)),
            Route(suite, self.page("suite.html.j2", self._suite)),
            Route(f"{suite}/tables", self.page("tables.html.j2", self._tables)),
            Route(f"{suite}/stop", self.change(self._stop_suite), methods=["POST"]),
            Route(trial, self.page("trial.html.j2", self._trial)),
            Route(f"{trial}/now", self.page("now.html.j2", self._now)),
            Route(f"{trial}/steps", self.page("steps.html.j2", self._steps)),
            Route(f"{trial}/steps/{{place:int}}", self.page("step.html.j2", self._step)),
            Route(f"{trial}/code", self.page("code.html.j2", self._code)),
            Route(f"{trial}/events", self.trial_events),
            Route(f"{trial}/stop", self.change(self._stop_trial), methods=["POST"]),
            Route(f"{trial}/resume", self.change(self._resume), methods=["POST"]),
        ]

    def page(self, template: str, content: Callable[[Request], dict[str, Any]]) -> Endpoint:
        """An endpoint that fills a template; reading is done in a thread."""

        async def endpoint(request: Request) -> Response:
            return HTMLResponse(await run_in_threadpool(self._html, template, content, request))

        return endpoint

    def change(self, act: Callable[[str], None]) -> Endpoint:
        """An endpoint that changes something, and leads back to the page it was asked from."""

        async def endpoint(request: Request) -> Response:
            await run_in_threadpool(act, request.path_params["key"])
            return RedirectResponse(request.url.path.rpartition("/")[0], 303)

        return endpoint

    async def start(self, request: Request) -> Response:
        """Start a trial of the PDF in the body."""
        asked = job_asked(request.query_params, self.library.root)
        paper = await uploaded_pdf(request, self.library.root)
        await run_in_threadpool(self.processes.start, asked.having(paper=paper))
        return Response(status_code=204)

    def _html(
        self, template: str, content: Callable[[Request], dict[str, Any]], request: Request
    ) -> str:
        return self._filled(template, content(request))

    def _filled(self, template: str, content: dict[str, Any]) -> str:
        page = _environment().get_template(template)
        html = page.render(base=f"/{self.token}", **content)
        return html.encode("utf-8", "replace").decode("utf-8")

    async def list_events(self, request: Request) -> Response:
        """The changes of the list."""
        return stream(lambda: (self.library.stamp(), ""), 2.0, self.ending)

    async def trial_events(self, request: Request) -> Response:
        """The changes of one trial."""
        trial = await run_in_threadpool(self.library.trial, request.path_params["key"])

        def look() -> tuple[Any, Any]:
            now = (output_stamp(trial.folder), self.processes.starting(trial.folder))
            return ended_stamp(trial.folder), now

        return stream(look, 0.4, self.ending)

    def refused(self, request: Request, error: Exception) -> Response:
        """A page for an error of ours."""
        status = 404 if isinstance(error, UnknownKeyError) else 400
        return HTMLResponse(self._filled("error.html.j2", {"error": str(error)}), status)

    def _index(self, request: Request) -> dict[str, Any]:
        return pages.index(self.library, _query(request))

    def _new(self, request: Request) -> dict[str, Any]:
        return {"started": self.processes.started()}

    def _compared(self, request: Request) -> dict[str, Any]:
        keys = request.query_params.getlist("trial")
        trials = [self.library.trial(key) for key in keys[: MOST_COMPARED + 1]]
        return comparison_page(trials)

    def _suite(self, request: Request) -> dict[str, Any]:
        suite = self.library.suite(request.path_params["key"])
        return pages.suite_page(self.library, suite, _query(request))

    def _tables(self, request: Request) -> dict[str, Any]:
        suite = self.library.suite(request.path_params["key"])
        return pages.suite_tables(self.library, suite)

    def _trial(self, request: Request) -> dict[str, Any]:
        trial = self.library.trial(request.path_params["key"])
        return pages.trial_page(trial, self.processes)

    def _now(self, request: Request) -> dict[str, Any]:
        trial = self.library.trial(request.path_params["key"])
        return pages.now_part(trial, self.processes)

    def _steps(self, request: Request) -> dict[str, Any]:
        return pages.steps_page(self.library.trial(request.path_params["key"]))

    def _step(self, request: Request) -> dict[str, Any]:
        trial = self.library.trial(request.path_params["key"])
        return pages.step_page(trial, request.path_params["place"])

    def _code(self, request: Request) -> dict[str, Any]:
        trial = self.library.trial(request.path_params["key"])
        return pages.code_page(trial, request.query_params.get("file"))

    def _stop_trial(self, key: str) -> None:
        self.processes.stop_trial(self.library.trial(key))

    def _stop_suite(self, key: str) -> None:
        self.processes.stop_suite(self.library.suite(key))

    def _resume(self, key: str) -> None:
        self.processes.resume(self.library.trial(key))


def make_app(
    library: Library, token: str, port: int, ending: Callable[[], bool] = lambda: False
) -> Starlette:
    """The application for a server at `port` of this machine; `ending` is true once it ends."""
    shown = Pages(library, token, ending)
    return Starlette(
        routes=[Mount(f"/{token}", routes=shown.routes())],
        middleware=[Middleware(Guard, token=token, port=port)],
        exception_handlers={AutoReproduceError: shown.refused},
    )


async def static(request: Request) -> Response:
    """A style or a script: of the report's, and of these pages."""
    known = STATIC.get(request.path_params["name"])
    if known is None:
        return Response("there is no such file\n", 404)
    kind, shared, own = known
    parts = [template_file(name) for name in shared] + ([_own_file(own)] if own else [])
    return Response("\n".join(parts), media_type=kind)


def _query(request: Request) -> RowQuery:
    return query_of(request.query_params, request.query_params.getlist("column"))


@cache
def _own_file(name: str) -> str:
    return (files("autoreproduce.plugins.view") / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    """The report's templates and filters, with the templates of these pages before them."""
    from jinja2 import ChoiceLoader, PackageLoader

    report = environment()
    own = PackageLoader("autoreproduce.plugins.view", "templates")
    return report.overlay(loader=ChoiceLoader([own, *([report.loader] if report.loader else [])]))

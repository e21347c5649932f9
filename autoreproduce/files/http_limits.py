"""An HTTP client for servers that may be hostile: an answer ends in time and is of bounded size.

A read time-out bounds nothing: a server that sends a byte a second is never late. So the limits are
those of the connection. From the first byte of a request on, its whole answer (head, body and what
HTTP adds) has `seconds` to arrive, and at most `most` bytes. Encoded answers are neither requested
nor accepted, so nothing grows by being decompressed. No redirect leads from outside to this machine
or its network.

A server may close a connection that it kept open just as the next request goes out on it. Such a
request is sent once more, on a new connection.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import re
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from ssl import SSLContext
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from autoreproduce.content import pip_install
from autoreproduce.errors import UsageError

BY_PROXY = "through the proxy"  # begins the note of an error of a connection by one
CONNECT = 30.0  # seconds until a server has accepted a connection
_CONNECTION_ERRORS = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
)
# NAT64 (RFC 6052) and IPv4-compatible addresses; and what IETF's protocols have for themselves,
# where a cloud keeps its metadata.
_HOLD_IPV4 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("::/96"))
_PROTOCOLS = ipaddress.ip_network("192.0.0.0/24")
SLICE = 16 * 1024  # bytes of a request that are sent between two checks of the clock


class NoAnswerError(httpcore2.RemoteProtocolError):
    """The server closed the connection before the first byte of its answer."""


class UnfitAnswerError(httpx2.HTTPError):
    """An answer that is too large, or encoded although that was not requested."""


def limited_client(
    seconds: float,
    most: int,
    *,
    proxy: str | None = None,
    follow_redirects: bool = False,
    inward: bool | None = None,
    encoded: bool = False,
    around: Callable[[httpx2.BaseTransport], httpx2.BaseTransport] = lambda transport: transport,
) -> httpx2.Client:
    """A client each of whose answers ends within `seconds` and has `most` bytes at most.

    `proxy` replaces those of the environment; a host in `NO_PROXY` and this machine itself are
    reached without. `around` gives the transport that the client uses. `inward`: whether it may
    reach this machine and its network; None: if its first connection does, or no redirect is
    followed. `encoded`: answers may be, for who reads their bytes as they come. The client closes
    its connections when it is no longer used. A late answer raises httpx2.ReadTimeout, one that is
    too large or encoded UnfitAnswerError.
    """
    inward = inward if follow_redirects else True
    transport = _Transport(seconds, most, proxy, inward)
    client = httpx2.Client(
        transport=around(transport),
        timeout=seconds,
        follow_redirects=follow_redirects,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [] if encoded else [_refuse_encoded]},
    )
    weakref.finalize(client, transport.close)
    return client


class _Transport(httpx2.BaseTransport):
    """To each server directly, or through the proxy that is set for it."""

    def __init__(self, seconds: float, most: int, proxy: str | None, inward: bool | None) -> None:
        self._limits = (seconds, most)
        self._proxy, self._inward = proxy, inward
        self._pools: dict[str | None, tuple[httpcore2.ConnectionPool, _Network]] = {}

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        proxy = _proxy_of(request.url, self._proxy)
        if proxy not in self._pools:
            self._pools[proxy] = _limited_pool(proxy, self._inward, *self._limits)
        pool, network = self._pools[proxy]
        opened: list[str] = []  # what was done to open a connection for this request

        def trace(event: str, _: dict[str, Any]) -> None:
            if event.endswith("connect_tcp.complete"):
                opened.append(event)

        sent = httpcore2.Request(
            request.method,
            str(request.url),
            headers=request.headers.raw,
            content=request.stream,
            extensions={**request.extensions, "trace": trace},
        )
        with _httpx_errors(proxy):
            try:
                answer = pool.handle_request(sent)
            except NoAnswerError:
                if opened or not isinstance(request.stream, httpx2.ByteStream):
                    raise  # on a new connection it's no coincidence; a stream is sent once
                network.retire_connections()
                answer = pool.handle_request(sent)
        return httpx2.Response(
            answer.status,
            headers=answer.headers,
            stream=_Answer(answer.stream, proxy),  # type: ignore[arg-type]
            extensions=answer.extensions,
        )

    def close(self) -> None:
        for pool, _ in self._pools.values():
            pool.close()


class _Answer(httpx2.SyncByteStream):
    def __init__(self, stream: Iterable[bytes], proxy: str | None) -> None:
        self._stream, self._proxy = stream, proxy

    def __iter__(self) -> Iterator[bytes]:
        with _httpx_errors(self._proxy):
            yield from self._stream

    def close(self) -> None:
        getattr(self._stream, "close", lambda: None)()


@contextmanager
def _httpx_errors(proxy: str | None) -> Iterator[None]:
    """Raise an error of the connection as httpx2's error of the same name, which notes `proxy`."""
    try:
        yield
    except _CONNECTION_ERRORS as error:
        names = [kind.__name__ for kind in type(error).__mro__]
        kind = next((getattr(httpx2, name) for name in names if hasattr(httpx2, name)), None)
        raised = (kind or httpx2.TransportError)(str(error))
        if proxy:
            raised.add_note(f"{BY_PROXY} {_without_login(proxy)}")
        raise raised from error


def _proxy_of(url: httpx2.URL, named: str | None) -> str | None:
    """The proxy for an address: the one that is `named`, else that of this machine's settings; None
    for this machine itself, and for what `NO_PROXY` lists.
    """
    proxies = getproxies()
    found = named or proxies.get(url.scheme) or proxies.get("all")
    if not found or _is_loopback(url.host) or _passes_by(url, proxies.get("no", "")):
        return None
    return found


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _passes_by(url: httpx2.URL, listed: str) -> bool:
    """True if a list as in `NO_PROXY` holds the address: hosts, domains, host:port, networks
    (10.0.0.0/8), or * for all.
    """
    if proxy_bypass(url.netloc.decode()):
        return True
    try:
        address = ipaddress.ip_address(url.host.strip("[]"))
    except ValueError:
        return False
    for each in listed.split(","):
        with suppress(ValueError):
            if address in ipaddress.ip_network(each.strip().strip("[]"), strict=False):
                return True
    return False


def _limited_pool(
    proxy: str | None, inward: bool | None, seconds: float, most: int
) -> tuple[httpcore2.ConnectionPool, _Network]:
    through = None
    if proxy is not None:
        inward = True  # the proxy is here, and what it reaches is its own matter
        named = _checked_proxy(proxy)
        through = httpcore2.Proxy(str(named.url), auth=named.raw_auth)
    network = _Network(httpcore2.SyncBackend(), inward, seconds, most)
    pool = httpcore2.ConnectionPool(
        ssl_context=_certificates(), proxy=through, max_connections=None, network_backend=network
    )
    return pool, network


def check_proxy(address: str, proxy: str | None = None) -> None:
    """Raises UsageError if what this machine's settings name for an address cannot be used."""
    found = _proxy_of(httpx2.URL(address), proxy)
    if found is not None:
        _checked_proxy(found)


def _checked_proxy(proxy: str) -> httpx2.Proxy:
    """Raises UsageError for a proxy that cannot be used, with how to name one that can."""
    text = proxy if "://" in proxy else f"http://{proxy}"
    text = re.sub(r"^socks(?=:)", "socks5", text)  # as GNOME's settings write it
    shown = _without_login(text)
    scheme = text.partition(":")[0]
    try:
        named = httpx2.Proxy(text)
    except (ValueError, httpx2.InvalidURL) as error:
        raise UsageError(
            f"the proxy {shown} cannot be used ({error})",
            fix="write it as http://HOST:PORT or socks5://HOST:PORT, or unset the variable that "
            "names it (https_proxy, http_proxy, all_proxy)",
        ) from None
    if scheme.startswith("socks") and importlib.util.find_spec("socksio") is None:
        raise UsageError(
            f"the proxy {shown} needs the package socksio",
            fix=f"{pip_install('socksio')}, name an http:// proxy, or list the host in NO_PROXY",
        )
    return named


def _without_login(proxy: str) -> str:
    return re.sub(r"//[^/@]*@", "//", proxy)


@cache
def _certificates() -> SSLContext:
    """Read once a process, and not again for each client."""
    return httpx2.create_ssl_context()


def _refuse_encoded(response: httpx2.Response) -> None:
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding.strip().lower() != "identity":
        raise UnfitAnswerError(f"the answer is encoded ({encoding[:40]}), which was not requested")


class _Network(httpcore2.NetworkBackend):
    """Opens connections that enforce the limits."""

    def __init__(
        self, inner: httpcore2.NetworkBackend, inward: bool | None, seconds: float, most: int
    ) -> None:
        self._inner = inner
        self._inward = inward
        self._limits = (seconds, most)
        self.generation = 0

    def retire_connections(self) -> None:
        """Have the pool use none of today's connections for a further request."""
        self.generation += 1

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        within = CONNECT if timeout is None else min(timeout, CONNECT)
        inner = self._inner.connect_tcp(host, port, within, local_address, socket_options)
        if self._inward is not True:
            leads_in = _leads_in(inner)
            if leads_in and self._inward is False:
                inner.close()
                raise httpcore2.ConnectError(f"{host} leads into this network")
            self._inward = leads_in
        return _Stream(inner, self, *self._limits)


def _leads_in(connection: httpcore2.NetworkStream) -> bool:
    """True if the other end is no address of the public internet, whatever name led there."""
    return is_inward(connection.get_extra_info("server_addr")[0])


def is_inward(address: str) -> bool:
    """True if an IP address isn't one of the public internet. An IPv4 address within one of IPv6
    (mapped, compatible, 6to4, NAT64) counts as itself.
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        within = found.ipv4_mapped or found.sixtofour
        if within is None and any(found in each for each in _HOLD_IPV4):
            within = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if within is None:
            return not found.is_global or found.is_multicast or found.is_site_local
        found = within
    return not found.is_global or found.is_multicast or found in _PROTOCOLS


class _Stream(httpcore2.NetworkStream):
    """A connection, used by one request at a time; a write after a read begins the next."""

    def __init__(
        self, inner: httpcore2.NetworkStream, network: _Network, seconds: float, most: int
    ) -> None:
        self._inner = inner
        self._network, self._generation = network, network.generation
        self._limits = (seconds, most)
        self._begin()

    def _begin(self) -> None:
        self._answering = False
        self._ends, self._left = time.monotonic() + self._limits[0], self._limits[1]

    def _within(self, timeout: float | None) -> float:
        """The seconds that may pass now."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout(f"the answer was not whole after {self._limits[0]:g} s")
        return left if timeout is None else min(left, timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._answering = True
        data, cause = b"", None
        try:
            data = self._inner.read(max_bytes, self._within(timeout))
        except httpcore2.ReadError as error:
            cause = error
        if not data and self._left == self._limits[1]:
            raise NoAnswerError("Server disconnected without sending a response.") from cause
        if cause is not None:
            raise cause
        self._left -= len(data)
        if self._left < 0:
            raise UnfitAnswerError(f"the answer has more than {self._limits[1] / 2**20:g} MB")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._answering:
            self._begin()
        for start in range(0, len(buffer), SLICE):
            self._inner.write(buffer[start : start + SLICE], self._within(timeout))

    def start_tls(self, *args: Any, **named: Any) -> httpcore2.NetworkStream:
        return _Stream(self._inner.start_tls(*args, **named), self._network, *self._limits)

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        # an idle connection that can be read is one that its server closed: the pool drops it
        if info == "is_readable" and self._generation != self._network.generation:
            return True
        return self._inner.get_extra_info(info)

"""An HTTP client for servers that may be hostile: an answer ends in time and is of bounded size.

A read time-out bounds nothing: a server that sends a byte a second is never late. So the limits are
those of the connection. From the first byte of a request on, its whole answer (head, body and what
HTTP adds) has `seconds` to arrive, and at most `most` bytes. Encoded answers are neither requested
nor accepted, so nothing grows by being decompressed. No redirect leads from outside to this machine
or its network.
"""

import ipaddress
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from ssl import SSLContext
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

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
) -> httpx2.Client:
    """A client each of whose answers ends within `seconds` and has `most` bytes at most.

    `proxy` replaces those of the environment. `inward`: whether it may reach this machine and its
    network; None: if its first connection does, or no redirect is followed. `encoded`: answers may
    be, for who reads their bytes as they come. The client closes its connections when it is no
    longer used. A late answer raises httpx2.ReadTimeout, one that is too large or encoded
    UnfitAnswerError.
    """
    inward = inward if follow_redirects else True
    transport = _Transport(seconds, most, proxy, inward)
    client = httpx2.Client(
        transport=transport,
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
        self._pools: dict[str | None, httpcore2.ConnectionPool] = {}

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        proxy = self._proxy or _proxy_of(request.url)
        if proxy not in self._pools:
            self._pools[proxy] = _limited_pool(proxy, self._inward, *self._limits)
        sent = httpcore2.Request(
            request.method,
            str(request.url),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _httpx_errors():
            answer = self._pools[proxy].handle_request(sent)
        return httpx2.Response(
            answer.status,
            headers=answer.headers,
            stream=_Answer(answer.stream),  # type: ignore[arg-type]
            extensions=answer.extensions,
        )

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()


class _Answer(httpx2.SyncByteStream):
    def __init__(self, stream: Iterable[bytes]) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        with _httpx_errors():
            yield from self._stream

    def close(self) -> None:
        getattr(self._stream, "close", lambda: None)()


@contextmanager
def _httpx_errors() -> Iterator[None]:
    """Raise an error of the connection as httpx2's error of the same name."""
    try:
        yield
    except _CONNECTION_ERRORS as error:
        raise getattr(httpx2, type(error).__name__, httpx2.TransportError)(str(error)) from error


def _proxy_of(url: httpx2.URL) -> str | None:
    """The proxy that this machine's settings name for an address."""
    proxies = getproxies()
    found = proxies.get(url.scheme) or proxies.get("all")
    return found if found and not proxy_bypass(url.netloc.decode()) else None


def _limited_pool(
    proxy: str | None, inward: bool | None, seconds: float, most: int
) -> httpcore2.ConnectionPool:
    through = None
    if proxy is not None:
        inward = True  # the proxy is here, and what it reaches is its own matter
        named = httpx2.Proxy(proxy)
        through = httpcore2.Proxy(str(named.url), auth=named.raw_auth)
    return httpcore2.ConnectionPool(
        ssl_context=_certificates(),
        proxy=through,
        max_connections=None,
        network_backend=_Network(httpcore2.SyncBackend(), inward, seconds, most),
    )


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
        return _Stream(inner, *self._limits)


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

    def __init__(self, inner: httpcore2.NetworkStream, seconds: float, most: int) -> None:
        self._inner = inner
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
        data = self._inner.read(max_bytes, self._within(timeout))
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
        return _Stream(self._inner.start_tls(*args, **named), *self._limits)

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

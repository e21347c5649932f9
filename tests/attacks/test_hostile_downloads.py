"""Servers of files and of metadata that send more than was asked for, or never end."""

import gzip
import itertools
import json
import re
import struct
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from raw_server import HEAD, raw_server, whole

from autoreproduce.benchmarks.reproducebench.published import fetch
from autoreproduce.config import Settings
from autoreproduce.errors import PaperError, UnreachableError, UsageError
from autoreproduce.files import http_limits
from autoreproduce.files.git_process import GitError, run_git
from autoreproduce.method.paper_lineage import locate, summarise
from autoreproduce.method.paper_lineage.repository import ask_github
from autoreproduce.papers import Reference, arxiv_client

MB = 2**20


def endless(_: bytes) -> Iterator[bytes]:
    """Up to 100 MB."""
    yield HEAD + b"Connection: close\r\n\r\n"
    for _ in range(1600):
        yield b" " * 65536


def trickling(_: bytes) -> Iterator[bytes]:
    yield HEAD[:20]
    while True:
        time.sleep(0.1)
        yield b"x"


def test_a_file_longer_than_it_was_said_to_be_does_not_fill_the_disk(tmp_path: Path) -> None:
    with raw_server(endless) as server, pytest.raises(UsageError, match="SHA-256"):
        fetch(
            server.url + "/data.bin",
            tmp_path / "data.bin",
            size=MB,
            sha256="0" * 64,
            note=lambda _: None,
        )
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2 * MB


@pytest.mark.slow
def test_an_open_copy_ends_in_size_and_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summarise, "SECONDS", 1.0)
    monkeypatch.setattr(summarise, "LARGEST", MB)
    with raw_server(endless) as server, pytest.raises(PaperError, match="more than 1 MB"):
        summarise.download(server.url, tmp_path / "paper.pdf", inward=True)
    began = time.monotonic()
    with (
        raw_server(trickling) as server,
        pytest.raises(PaperError, match=r"not whole after 1 s|timed out"),
    ):
        summarise.download(server.url, tmp_path / "paper.pdf", inward=True)
    assert time.monotonic() - began < 3


def test_metadata_ends_in_size(monkeypatch: pytest.MonkeyPatch) -> None:
    with raw_server(endless) as server, pytest.raises(PaperError, match="more than 4 MB"):
        locate.get_json(server.url, {}, sleep=lambda _: None)


def redirect(to: str) -> Callable[[bytes], Iterator[bytes]]:
    head = f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"
    return lambda _: iter([head.encode()])


def test_no_answer_from_outside_leads_into_this_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raw_server(endless) as inside, pytest.raises(PaperError, match="into this network"):
        summarise.download(inside.url, tmp_path / "paper.pdf", inward=False)
    assert b"GET" not in b"".join(inside.requests)
    outside = [True]  # the first connection is taken for one of the internet
    monkeypatch.setattr(http_limits, "_leads_in", lambda _: not (outside and outside.pop()))
    with raw_server(endless) as inside, raw_server(redirect(inside.url)) as server:
        settings = Settings(arxiv_url=server.url, cache_dir=tmp_path)
        with pytest.raises(PaperError, match="ConnectError"):
            arxiv_client.download_pdf(settings, "2301.00001", tmp_path / "a.pdf")
    assert b"GET" in server.requests[0] and b"GET" not in b"".join(inside.requests)


@pytest.mark.parametrize(
    ("address", "inward"),
    [
        ("140.82.121.4", False),
        ("2606:50c0:8000::153", False),
        ("64:ff9b::8c52:7904", False),  # the first of these, by NAT64
        ("10.0.0.1", True),
        ("::ffff:10.0.0.1", True),
        ("64:ff9b::a9fe:a9fe", True),
        ("2002:a00:1::1", True),
        ("::10.0.0.1", True),
        ("fec0::1", True),
        ("fe80::1%eth0", True),
        ("224.0.0.1", True),
        ("192.0.0.192", True),
    ],
)
def test_addresses_of_this_network_are_told_however_they_are_written(
    address: str, inward: bool
) -> None:
    assert http_limits.is_inward(address) == inward


def empty_blocks(_: bytes) -> Iterator[bytes]:
    """What decompresses to nothing, without an end."""
    yield HEAD + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + gzip.compress(b"")[:10]
    while True:
        time.sleep(0.01)
        yield b"\x00\x00\x00\xff\xff" * 100


@pytest.mark.slow
@pytest.mark.parametrize("answer", [empty_blocks, trickling])
def test_a_download_from_arxiv_ends_in_time(
    answer: Callable[[bytes], Iterator[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arxiv_client, "LONGEST", 1.0)
    with raw_server(answer) as server:
        settings, began = Settings(arxiv_url=server.url, cache_dir=tmp_path), time.monotonic()
        with pytest.raises(PaperError):
            arxiv_client.download_pdf(settings, "2301.00001", tmp_path / "a.pdf")
    assert time.monotonic() - began < 5


FEED = b'<feed xmlns="http://www.w3.org/2005/Atom">'


def endless_feed(_: bytes) -> Iterator[bytes]:
    yield HEAD + b"Connection: close\r\n\r\n" + FEED
    while True:
        time.sleep(0.05)
        yield b" "


def bomb(_: bytes) -> Iterator[bytes]:
    yield whole(gzip.compress(FEED + b" " * 50 * MB + b"</feed>"), b"Content-Encoding: gzip")


@pytest.mark.slow
@pytest.mark.parametrize("answer", [endless_feed, endless, bomb])
def test_a_feed_of_arxiv_ends_in_time_and_size(
    answer: Callable[[bytes], Iterator[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arxiv_client, "TIMEOUT", 0.5)
    with raw_server(answer) as server:
        settings, began = Settings(arxiv_api=server.url, cache_dir=tmp_path), time.monotonic()
        with pytest.raises(UnreachableError):
            arxiv_client.search_title(settings, "A paper")
        assert server.sent < 80 * MB
    assert time.monotonic() - began < 8


def test_an_id_that_is_none_is_arxivs_fault_and_not_the_users(tmp_path: Path) -> None:
    entry = b"<entry><id>http://arxiv.org/abs/../../etc/2301.12664v1</id><title>A</title>"
    entry += b"<published>2023-01-30T00:00:00Z</published><updated>2023-01-30T00:00:00Z</updated>"
    feed = FEED + entry + b"<summary>B</summary></entry></feed>"
    with raw_server(lambda _: iter([whole(feed)])) as server:
        settings = Settings(arxiv_api=server.url, cache_dir=tmp_path)
        with pytest.raises(UnreachableError):
            arxiv_client.search_title(settings, "A paper")


TITLE = "A great paper about things"


@pytest.mark.parametrize(
    "answer",
    [
        b'{"data": ["x"]}',
        b'{"data": 5}',
        b'{"data": [{"title": 5}]}',
        b'{"data": [{"title": "%s", "authors": ["x"]}]}' % TITLE.encode(),
        b'{"data": [{"title": "%s", "year": "x", "externalIds": {}}]}' % TITLE.encode(),
        b'{"data": [{"title": "%s", "externalIds": ["x"]}]}' % TITLE.encode(),
        b'{"data": [{"title": "%s\\ud800"}]}' % TITLE.encode(),
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_metadata_of_any_form_is_a_paper_that_is_not_found(answer: bytes) -> None:
    with raw_server(lambda _: iter([whole(answer)])) as server:
        reference = Reference(title=TITLE, text=TITLE)
        found = locate._semantic_scholar(reference, Settings(semantic_scholar_api=server.url))
    assert found.found is None and "Semantic Scholar" in found.error


def repository(**changed: Any) -> Callable[[bytes], Iterator[bytes]]:
    """GitHub's answers about one repository, with some of them changed."""

    def answer(request: bytes) -> Iterator[bytes]:
        host = re.search(rb"(?i)host: (\S+)", request)
        url = f"http://{host[1].decode() if host else ''}/repos/a/b"
        entry = {"path": "x.py", "type": "blob", "size": 3}
        about = {"full_name": "a/b", "default_branch": "main", "size": 3, "url": url}
        about |= {"license": {"key": "mit", "spdx_id": "MIT"}, "archived": False}
        said: Any = {**about, **changed}
        if b"/branches/" in request:
            said = {"name": "main", "commit": {"sha": changed.get("sha", "a" * 40), "url": url}}
        elif b"/git/trees/" in request:
            said = {"sha": "a", "tree": changed.get("tree", [entry]), "url": url}
        yield whole(json.dumps(said).encode())

    return answer


def said(body: bytes, status: bytes = b"200 OK", *headers: bytes) -> Callable[..., Iterator[bytes]]:
    head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n" % status
    lines = b"".join(header + b"\r\n" for header in headers)
    return lambda _: iter([head + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body])


@pytest.mark.parametrize(
    "answer",
    [
        said(b"[]"),
        said(b"null"),
        said(b"{{"),
        said(b"[" * 100_000),
        said(b"", b"301 Moved", b"Location: http://169.254.169.254/latest"),
        said(b"", b"302 Found", b"Location: file:///etc/passwd"),
        said(b"{}", b"429 Slow", b"X-RateLimit-Reset: " + b"9" * 30),
        repository(size="x"),
        repository(size=None),
        repository(full_name="../../evil\x1b[2J"),
        repository(license="MIT"),
        repository(sha=5),
        repository(tree="x"),
        repository(tree=[{"path": None, "type": "blob"}]),
        repository(tree=[{"path": "x.py\n# What is asked", "type": "blob"}]),
    ],
)
def test_any_answer_of_github_is_at_worst_a_refusal(
    answer: Callable[[bytes], Iterator[bytes]],
) -> None:
    with raw_server(answer) as server:
        settings = Settings(github_api=server.url, github_token="a token")
        info = ask_github("https://github.com/a/b", settings)
    assert info.refused and "\x1b" not in info.name and not info.tree


def test_an_answer_of_github_ends_in_size_and_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoreproduce.method.paper_lineage.bounded_github.SECONDS", 0.5)
    monkeypatch.setattr("autoreproduce.method.paper_lineage.bounded_github.LARGEST", MB)

    def endless(piece: bytes, pause: float) -> Callable[[bytes], Iterator[bytes]]:
        def answer(_: bytes) -> Iterator[bytes]:
            yield b'HTTP/1.1 200 OK\r\n\r\n{"full_name": "'
            while True:
                time.sleep(pause)
                yield piece

        return answer

    for answer in (endless(b"a" * 65_536, 0), endless(b"a", 0.05)):
        with raw_server(answer) as server:
            began = time.monotonic()
            info = ask_github("https://github.com/a/b", Settings(github_api=server.url))
        assert "takes longer" in info.refused and time.monotonic() - began < 5


@pytest.mark.slow
@pytest.mark.parametrize("status", [b"429 Slow", b"503 Busy"])
def test_github_cannot_make_a_client_wait_for_hours(status: bytes) -> None:
    """An endless body neither: what is asked for again is not read."""

    def busy(_: bytes) -> Iterator[bytes]:
        yield b"HTTP/1.1 " + status + b"\r\nRetry-After: 20000\r\n\r\n"
        while True:
            time.sleep(0.01)
            yield b" " * 65_536

    with raw_server(busy) as server:
        began = time.monotonic()
        info = ask_github("https://github.com/a/b", Settings(github_api=server.url))
        assert server.sent < 80 * MB
    assert info.refused and time.monotonic() - began < 10


def test_all_answers_of_github_together_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoreproduce.method.paper_lineage.bounded_github.LONGEST", 0.5)

    number = itertools.count()

    def around(request: bytes) -> Iterator[bytes]:
        time.sleep(0.05)
        host = request.lower().split(b"host: ")[1].split()[0]
        yield b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n"
        yield b"Location: http://" + host + b"/repos/a/b%d\r\n\r\n" % next(number)

    with raw_server(around) as server:
        began = time.monotonic()
        info = ask_github("https://github.com/a/b", Settings(github_api=server.url))
    assert "did not answer within" in info.refused and time.monotonic() - began < 5


def test_git_gives_a_tree_of_any_size_no_more_memory_than_its_limit(tmp_path: Path) -> None:
    """A few MB of pack may hold a tree of many GB, which git would hold whole."""
    size, kind = 3 * 2**30, 2  # a tree
    head, rest = [kind << 4 | size & 15], size >> 4
    while rest:
        head[-1] |= 128
        head.append(rest & 127)
        rest >>= 7
    pack = b"PACK" + struct.pack(">II", 2, 1) + bytes(head) + zlib.compress(bytes(MB))
    run_git(tmp_path, ["init", "-q", "--bare"], 20)
    with pytest.raises(GitError, match="memory"):
        run_git(tmp_path, ["index-pack", "--stdin"], 60, given=pack)


def test_a_repository_as_it_should_be_is_described() -> None:
    with raw_server(repository()) as server:
        info = ask_github("https://github.com/a/b", Settings(github_api=server.url))
    assert (info.refused, info.tree) == ("", {"x.py": 3})


def test_a_server_cannot_fill_the_memory_with_gits_complaints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "git"
    fake.write_text(
        "#!/bin/sh\nhead -c 50000000 /dev/zero >&2\necho '\nfatal: the last' >&2\nexit 1"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    tracemalloc.start()
    try:
        with pytest.raises(GitError, match="the last"):
            run_git(tmp_path, ["fetch"], 30, most=MB)
        assert tracemalloc.get_traced_memory()[1] < 20 * MB
    finally:
        tracemalloc.stop()

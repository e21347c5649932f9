"""`verify --fetch`: the data that code or README name by an address, downloaded for the sandbox.

It happens outside the sandbox, before any run. What is there is listed first, with sizes; a file is
taken up to a limit, kept in the cache by its address, with its SHA-256, and taken from there the
next time. An address in this machine's own network, and a redirect to one, is refused unless the
user names the host: code must not choose what is asked here.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit

import httpx2

from autoreproduce.config import digest, sha256_of
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.submitted_code import program_at
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.http_limits import limited_client
from autoreproduce.files.kinds import KINDS
from autoreproduce.files.unpacking import opened_source

MOST_ADDRESSES, MOST_REDIRECTS = 50, 5
LOOKING, SECONDS = 30.0, 1_800.0  # for a HEAD, for a file
_ADDRESS = re.compile(r"https?://[^\s\"'`<>\\^{}|)\]]+")
_DATA = re.compile(
    r"(?i)\.(csv|tsv|dat|data|json|jsonl|npz|npy|mat|pkl|pickle|h5|hdf5|parquet|feather|xlsx?|arff"
    r"|zip|tar|tgz|gz|bz2|xz|7z|rds|rda|rdata|nc|pt|pth|ckpt|safetensors|libsvm|txt)$"
)
_FETCHES = re.compile(
    r"(?i)\b(wget|curl|download|urlretrieve|urlopen|read_(csv|table|excel|json))\b"
)
_PAGES = re.compile(
    r"(?i)\.(html?|md|rst|pdf|png|jpe?g|gif|svg|git|py|ipynb|sh|r)$|/$|^/[^/]+/[^/]+/tree/"
)
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")  # of Markdown, as a badge "Download"


@dataclass(frozen=True)
class Address:
    """An address that the code names, where; its size in bytes if the server says it, and why it
    can't be had.
    """

    url: str
    place: str
    size: int | None = None
    refused: str = ""

    @property
    def name(self) -> str:
        """The file's name."""
        name = PurePosixPath(unquote(urlsplit(self.url).path)).name
        return re.sub(r"[^\w.+-]", "_", name)[:120].lstrip(".") or "data"

    @property
    def words(self) -> str:
        """A line of the list."""
        size = "size unknown" if self.size is None else f"{self.size / 1e6:,.3g} MB"
        return f"{self.url} ({self.place}): {self.refused or size}"


def data_addresses(files: Mapping[str, str]) -> list[Address]:
    """The addresses of data in a code's texts, each once: those of files that data come in, and
    those that a line downloads.
    """
    found: dict[str, Address] = {}
    for name, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            for match in _ADDRESS.finditer(_PICTURE.sub("", line[:10_000])):
                url = match[0].rstrip(".,;:*_")
                path = urlsplit(url).path
                wanted = _DATA.search(path) or (_FETCHES.search(line) and not _PAGES.search(path))
                if wanted and path.strip("/") and url not in found:
                    found[url] = Address(url, f"{name}, line {number}")
    return list(found.values())[:MOST_ADDRESSES]


def how_to_fetch(files: Mapping[str, str]) -> list[tuple[str, str]]:
    """A report's section: the data that the code names and nobody gave, and how to get them."""
    there = data_addresses(files)
    if not there:
        return []
    lines = [f"curl -L --create-dirs -o data/{one.name} {shlex.quote(one.url)}" for one in there]
    how = "`verify --fetch` downloads them; or get them yourself, and add `--data data`:"
    return [*((f"{one.url} ({one.place})", "") for one in there), (how, "\n".join(lines))]


def fetched_folder(
    code: str, cache: Path, limit_mb: float, hosts: Collection[str], note: Callable[[str], None]
) -> Path:
    """A folder with what the code's addresses give; `hosts` of the user's own network may be asked.
    Raises UsageError where there is no address, where all are refused, or where they are larger
    than the limit together.
    """
    with opened_source(code) as root:
        files = program_at(root, code, kinds=KINDS).files
    there = [looked_at(one, hosts) for one in data_addresses(files)]
    note(f"{code} names {len(there)} addresses of data" + (":" if there else ""))
    for one in there:
        note(f"  {one.words}")
    wanted = [one for one in there if not one.refused]
    if not wanted:
        raise UsageError(
            "--fetch found nothing that it could download", fix="leave it out, or name --data"
        )
    known = sum(one.size or 0 for one in wanted)
    if known > limit_mb * 1e6:
        raise UsageError(
            f"the data have {known / 1e6:,.2f} MB, and --fetch-limit is {limit_mb:g}",
            fix=f"give --fetch-limit {known / 1e6 + 1:.0f}, or get what you need and name --data",
        )
    return _folder_of(wanted, cache, hosts, int(limit_mb * 1e6), note)


def _folder_of(
    wanted: Sequence[Address],
    cache: Path,
    hosts: Collection[str],
    room: int,
    note: Callable[[str], None],
) -> Path:
    """The files of all addresses that could be downloaded, in one folder of the cache."""
    files: dict[str, tuple[Path, str]] = {}
    for one in wanted:
        try:
            path, sha256 = downloaded(one, cache, hosts, room)
        except (httpx2.HTTPError, UsageError, OSError) as error:
            note(f"  not downloaded: {one.url}: {error}")
            continue
        room -= path.stat().st_size
        name = one.name if one.name not in files else f"{digest(one.url)[:8]}-{one.name}"
        files[name] = (path, sha256)
        note(f"  {name}: {path.stat().st_size:,} bytes, SHA-256 {sha256}")
    if not files:
        raise UsageError("nothing could be downloaded", fix="get the data yourself: --data FOLDER")
    key = digest(sorted((name, sha256) for name, (_, sha256) in files.items()))[:16]
    folder = cache / "fetched" / "sets" / key
    folder.mkdir(parents=True, exist_ok=True)
    for name, (path, _) in files.items():
        (folder / name).unlink(missing_ok=True)  # it may be an older one, which a program changed
        try:
            (folder / name).hardlink_to(path)
        except OSError:  # a file system without hard links
            shutil.copyfile(path, folder / name)
    return folder


def looked_at(address: Address, hosts: Collection[str]) -> Address:
    """The address with the size that its server says, or why it can't be had."""
    try:
        with _answer("HEAD", address.url, hosts, LOOKING, 2**20) as answer:
            if answer.status_code in (405, 501):  # no HEAD here: it's tried when it's fetched
                return address
            answer.raise_for_status()
            length = answer.headers.get("Content-Length", "")
    except httpx2.HTTPStatusError as error:
        return Address(address.url, address.place, None, f"answers {error.response.status_code}")
    except (httpx2.HTTPError, httpx2.InvalidURL, UsageError, ValueError) as error:
        return Address(address.url, address.place, None, f"refused: {error}")
    return Address(address.url, address.place, int(length) if length.isdecimal() else None)


def downloaded(
    address: Address, cache: Path, hosts: Collection[str], most: int
) -> tuple[Path, str]:
    """The file of an address in the cache, and its SHA-256; one that was changed there is fetched
    again. Raises httpx2.HTTPError, and UsageError for one of more than `most` bytes.
    """
    kept = cache / "fetched" / digest(address.url)[:24]
    path, record = kept / address.name, kept / "fetched.json"
    if record.is_file() and path.is_file():
        known = parse_json(record.read_bytes()).get("sha256")
        if sha256_of(path) == known:
            return path, str(known)
    kept.mkdir(parents=True, exist_ok=True)
    found, size = hashlib.sha256(), 0
    part = kept / ".part"
    try:
        with (
            _answer("GET", address.url, hosts, SECONDS, most + 2**20) as answer,
            part.open("wb") as opened,
        ):
            answer.raise_for_status()
            for block in answer.iter_bytes(2**16):
                size += len(block)
                if size > most:
                    raise UsageError(
                        f"it has more than the {most / 1e6:,.0f} MB that are left",
                        fix="give a larger --fetch-limit",
                    )
                found.update(block)
                opened.write(block)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    told = {"url": address.url, "sha256": found.hexdigest(), "bytes": size}
    record.write_text(json.dumps(told) + "\n")
    return path, found.hexdigest()


@contextmanager
def _answer(
    method: str, url: str, hosts: Collection[str], seconds: float, most: int
) -> Iterator[httpx2.Response]:
    """The answer after at most a few redirects. Each hop is asked by a client of its own, which
    reaches this network only where the user names the host (HOST or HOST:PORT).
    """
    for _ in range(MOST_REDIRECTS + 1):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url[:200]} isn't a web address", fix="get it yourself")
        named = {parts.hostname, f"{parts.hostname}:{parts.port}"} & set(hosts)
        try:
            with (
                limited_client(
                    seconds, most, follow_redirects=True, inward=bool(named), encoded=True
                ) as client,
                client.stream(method, url, follow_redirects=False) as answer,
            ):
                target = answer.headers.get("Location", "")
                if not (answer.is_redirect and target):
                    yield answer
                    return
        except httpx2.ConnectError as error:
            if "leads into this network" in str(error):
                raise UsageError(
                    f"{parts.hostname} is a host of this network",
                    fix=f"if you trust the code in this, add --fetch-from {parts.hostname}",
                ) from None
            raise
        url = urljoin(url, target)
    raise UsageError(f"{url[:200]} redirects without an end", fix="get it yourself")

"""`--fetch`: data that code names, downloaded from a real server within its limits."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.plugins.verify.fetching import data_addresses, fetched_folder, how_to_fetch
from autoreproduce.plugins.verify.verify import verify_job

POINTS = b"1.5\n2.25\n8.125\n"
LARGE = b"x" * 300_000


class Handler(BaseHTTPRequestHandler):
    asked: list[str]

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        if self.path == "/no-head.csv":
            self.send_error(405)
            return
        self._answer(b"")

    def do_GET(self) -> None:
        self._answer(None)

    def _answer(self, body: bytes | None) -> None:
        type(self).asked.append(f"{self.command} {self.path}")
        _, port = self.server.server_address[:2]
        targets = {"/moved.csv": "/points.csv", "/round.csv": "/round.csv"}
        targets["/inward.csv"] = f"http://localhost:{port}/points.csv"
        if self.path in targets:
            self.send_response(302)
            self.send_header("Location", targets[self.path])
            self.end_headers()
            return
        texts = {"/large.csv": LARGE, "/no-length.csv": POINTS, "/endless.csv": LARGE}
        texts |= dict.fromkeys(("/points.csv", "/no-head.csv", "/get"), POINTS)
        if self.path not in texts:
            self.send_error(404)
            return
        self.send_response(200)
        if self.path not in ("/no-length.csv", "/endless.csv"):
            self.send_header("Content-Length", str(len(texts[self.path])))
        self.end_headers()
        if body is None:
            self.wfile.write(texts[self.path])


@pytest.fixture
def server() -> Iterator[str]:
    Handler.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)


def code_with(folder: Path, *addresses: str) -> str:
    (folder / "code").mkdir()
    lines = "".join(f"pd.read_csv({one!r})\n" for one in addresses)
    (folder / "code" / "main.py").write_text(lines)
    return str(folder / "code")


def fetched(folder: Path, code: str, *hosts: str, limit: float = 1.0) -> tuple[Path, list[str]]:
    notes: list[str] = []
    return fetched_folder(code, folder / "cache", limit, hosts, notes.append), notes


def test_data_are_listed_first_then_downloaded_with_a_checksum_and_kept(
    tmp_path: Path, server: str
) -> None:
    code = code_with(tmp_path, f"{server}/points.csv", f"{server}/moved.csv", f"{server}/gone.csv")
    data, notes = fetched(tmp_path, code, "127.0.0.1")
    assert sorted(one.name for one in data.iterdir()) == ["moved.csv", "points.csv"]
    assert (data / "moved.csv").read_bytes() == POINTS
    assert "points.csv (main.py, line 1): 1.5e-05 MB" in notes[1]
    assert notes[3].endswith("gone.csv (main.py, line 3): answers 404")
    sha256 = hashlib.sha256(POINTS).hexdigest()
    assert f"points.csv: {len(POINTS)} bytes, SHA-256 {sha256}" in notes[4]
    first_get = next(n for n, one in enumerate(Handler.asked) if one.startswith("GET"))
    assert not any(one.startswith("HEAD") for one in Handler.asked[first_get:])
    gets = sum(one.startswith("GET") for one in Handler.asked)
    again, _ = fetched(tmp_path, code, "127.0.0.1")
    assert again == data and sum(one.startswith("GET") for one in Handler.asked) == gets
    (data / "points.csv").write_bytes(b"9\n")  # a program without a sandbox changed it
    third, _ = fetched(tmp_path, code, "127.0.0.1")
    assert (third / "points.csv").read_bytes() == POINTS


@pytest.mark.parametrize("name", ["no-length.csv", "no-head.csv"])
def test_a_server_without_a_length_or_without_head_is_asked_all_the_same(
    tmp_path: Path, server: str, name: str
) -> None:
    data, notes = fetched(tmp_path, code_with(tmp_path, f"{server}/{name}"), "127.0.0.1")
    assert (data / name).read_bytes() == POINTS and "size unknown" in notes[1]


def test_too_large_is_refused_before_and_while_it_is_downloaded(
    tmp_path: Path, server: str
) -> None:
    code = code_with(tmp_path, f"{server}/large.csv")
    with pytest.raises(UsageError, match=r"give --fetch-limit 1"):
        fetched(tmp_path, code, "127.0.0.1", limit=0.1)
    assert not any(one.startswith("GET") for one in Handler.asked)
    (tmp_path / "code" / "main.py").write_text(f"pd.read_csv('{server}/endless.csv')\n")
    with pytest.raises(UsageError, match="nothing could be downloaded"):
        fetched(tmp_path, code, "127.0.0.1", limit=0.1)
    left = [one.name for one in (tmp_path / "cache").rglob("*") if one.is_file()]
    assert "endless.csv" not in left and ".part" not in left


def test_a_host_of_this_network_is_asked_only_if_the_user_names_it(
    tmp_path: Path, server: str
) -> None:
    code = code_with(tmp_path, f"{server}/points.csv")
    notes: list[str] = []
    with pytest.raises(UsageError, match="nothing that it could download"):
        fetched_folder(code, tmp_path / "cache", 1.0, (), notes.append)
    assert "add --fetch-from 127.0.0.1" in notes[1] and Handler.asked == []
    port = server.rpartition(":")[2]
    data, _ = fetched(tmp_path, code, f"127.0.0.1:{port}")
    assert (data / "points.csv").is_file()


def test_a_redirect_to_another_host_of_this_network_is_refused(tmp_path: Path, server: str) -> None:
    code = code_with(tmp_path, f"{server}/inward.csv", f"{server}/round.csv")
    with pytest.raises(UsageError, match="nothing that it could download"):
        fetched(tmp_path, code, "127.0.0.1")
    assert not any("points" in one for one in Handler.asked)


def test_addresses_of_data_are_told_from_others() -> None:
    files = {
        "README.md": "See https://a.example/paper.pdf and [data](https://a.example/d/train.csv).\n"
        "wget https://a.example/download?id=7\nhttps://github.com/a/b.git\n"
        "[![PDF](https://img.example/badge/Download-PDF-red)](https://a.example/o/r/tree/main/x)",
        "main.py": "u = 'https://a.example/d/train.csv'\n# https://docs.example/page.html\n"
        "urlretrieve('https://a.example/iris', 'iris')\nrequests.get('https://api.example/v1')\n",
        "get.sh": 'curl -O "https://a.example/x.tar.gz"; echo https://a.example/\n',
    }
    assert [(one.url, one.place) for one in data_addresses(files)] == [
        ("https://a.example/d/train.csv", "README.md, line 1"),
        ("https://a.example/download?id=7", "README.md, line 2"),
        ("https://a.example/iris", "main.py, line 3"),
        ("https://a.example/x.tar.gz", "get.sh, line 1"),
    ]
    told = how_to_fetch(files)
    assert (
        "--data data" in told[-1][0]
        and "-o data/train.csv https://a.example/d/train.csv" in (told[-1][1])
    )
    assert how_to_fetch({"main.py": "print(1)\n"}) == []


def test_the_job_reads_what_was_fetched(tmp_path: Path, server: str) -> None:
    code = code_with(tmp_path, f"{server}/points.csv")
    (tmp_path / "paper.md").write_text("# Means\nA mean of 3.96.\n")
    settings = Settings(cache_dir=tmp_path / "cache", runs_dir=tmp_path / "runs", model="any")
    fetch: Any = {"fetch": True, "fetch_from": ["127.0.0.1"]}
    job = verify_job(code, settings, paper=tmp_path / "paper.md", **fetch)
    assert job.data and (job.data / "points.csv").read_bytes() == POINTS
    with pytest.raises(UsageError, match="leave one of them out"):
        verify_job(code, settings, paper=tmp_path, data=tmp_path, **fetch)

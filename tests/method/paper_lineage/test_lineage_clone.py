"""The bare clone over HTTP by git itself, and the GitHub stand-in as a program of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from github_server import GitHubServer
from world import MIT, PROGRAM, make_repository

from autoreproduce.config import Settings
from autoreproduce.errors import LineageError
from autoreproduce.method.paper_lineage import clone
from autoreproduce.method.paper_lineage.repository import ask_github


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitHubServer]:
    running = GitHubServer(tmp_path / "repos").start()
    yield running
    running.stop()


def settings_for(server: GitHubServer, tmp_path: Path) -> Settings:
    return Settings(github_api=server.api, github_url=server.url, cache_dir=tmp_path / "cache")


def test_the_clone_is_bare_shallow_and_leaves_large_files_out(
    server: GitHubServer, tmp_path: Path
) -> None:
    files = {"a.py": PROGRAM, "data.bin": os.urandom(900_000), "é ü.py": "x = 1\n", "blank.py": ""}
    commit = make_repository(server.repos, "ann/waves", files)
    folder = tmp_path / "clone"
    clone.clone("ann/waves", commit, folder, settings_for(server, tmp_path))
    sizes = clone.sizes(folder, commit)
    assert sizes == {"a.py": 60, "blank.py": 0, "data.bin": None, "é ü.py": 6}
    assert sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) < 100_000
    assert clone.read(folder, commit, "a.py").text == PROGRAM
    asked = len(server.seen)
    with pytest.raises(LineageError):
        clone.read(folder, commit, "data.bin")
    assert len(server.seen) == asked, "what was left out is not fetched later"
    assert not (folder / "a.py").exists()


def test_what_git_says_and_that_it_was_stopped_are_told_apart(tmp_path: Path) -> None:
    """A failure is an answer where it is not checked; a git that was stopped has given none."""
    arguments = ["config", "--get", "no.such"]
    assert clone.git(tmp_path, arguments, 10, check=False) == b""
    with pytest.raises(LineageError) as failed:
        clone.git(tmp_path, ["rev-parse", "HEAD"], 10)
    assert failed.value.kind == "git"
    with pytest.raises(LineageError) as stopped:
        clone.git(tmp_path, arguments, 0.0, check=False)
    assert stopped.value.kind == "git timeout"


def test_links_and_hooks_of_a_repository_do_nothing(server: GitHubServer, tmp_path: Path) -> None:
    folder = server.repos / "ann/evil"
    folder.mkdir(parents=True)
    (folder / "link.py").symlink_to("/etc/passwd")
    (folder / ".gitattributes").write_text("*.py filter=evil\n")
    commit = make_repository(server.repos, "ann/other", {"x.py": "x = 1\n"})
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    from world import commit as make_commit

    commit = make_commit(folder)
    clone.clone("ann/evil", commit, tmp_path / "clone", settings_for(server, tmp_path))
    assert list(clone.sizes(tmp_path / "clone", commit)) == [".gitattributes"]


def test_a_commit_that_is_not_there(server: GitHubServer, tmp_path: Path) -> None:
    make_repository(server.repos, "ann/waves", {"a.py": PROGRAM})
    with pytest.raises(LineageError, match="git failed: "):
        clone.clone("ann/waves", "d" * 40, tmp_path / "clone", settings_for(server, tmp_path))
    with pytest.raises(LineageError, match="isn't a commit"):
        clone.clone(
            "ann/waves", "--upload-pack=touch x", tmp_path / "clone", settings_for(server, tmp_path)
        )


def test_a_server_that_asks_for_a_password_is_not_answered(tmp_path: Path) -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    class Locked(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Locked)
    Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    settings = Settings(github_url=f"http://127.0.0.1:{http.server_port}", cache_dir=tmp_path)
    began = time.monotonic()
    with pytest.raises(LineageError, match="git failed"):
        clone.clone("ann/private", "d" * 40, tmp_path / "clone", settings)
    assert time.monotonic() - began < 10
    http.shutdown()
    http.server_close()


def test_gits_own_variables_are_not_passed_on(
    server: GitHubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = make_repository(server.repos, "ann/waves", {"a.py": PROGRAM})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    clone.clone("ann/waves", commit, tmp_path / "clone", settings_for(server, tmp_path))
    assert not (tmp_path / "elsewhere").exists()
    assert clone.read(tmp_path / "clone", commit, "a.py").lines == 5


@pytest.mark.slow
def test_a_hanging_git_leaves_nothing_behind(server: GitHubServer, tmp_path: Path) -> None:
    commit = make_repository(server.repos, "ann/waves", {"a.py": PROGRAM})
    server.hang_git = 20
    began = time.monotonic()
    with pytest.raises(LineageError, match="did not finish within 1 s"):
        clone.clone(
            "ann/waves", commit, tmp_path / "clone", settings_for(server, tmp_path), seconds=1
        )
    assert time.monotonic() - began < 6
    running = subprocess.run(
        ["ps", "-eo", "args"], capture_output=True, text=True, check=True
    ).stdout
    assert str(server.server_port) not in "".join(
        line for line in running.splitlines() if "git-remote" in line
    )


def test_no_git_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LineageError, match="git is not installed"):
        clone.git(tmp_path, ["version"], 5)


def test_a_repository_that_was_renamed_or_is_spelt_otherwise(
    server: GitHubServer, tmp_path: Path
) -> None:
    make_repository(server.repos, "ann/waves", {"a.py": PROGRAM, "LICENSE": MIT})
    info = ask_github("https://github.com/ann/waves", settings_for(server, tmp_path))
    assert (info.name, info.licence, info.refused, info.branch) == ("ann/waves", "MIT", "", "main")


@pytest.mark.slow
def test_an_api_that_is_not_githubs(server: GitHubServer, tmp_path: Path) -> None:
    for api in ("http://127.0.0.1:9/api", f"{server.url}/elsewhere"):
        settings = Settings(github_api=api, cache_dir=tmp_path)
        info = ask_github("https://github.com/ann/waves", settings)
        assert info.refused
        assert "\n" not in info.refused


def test_the_stand_in_runs_as_a_program(tmp_path: Path) -> None:
    commit = make_repository(tmp_path / "repos", "ann/waves", {"a.py": PROGRAM, "LICENSE": MIT})
    program = Path(__file__).with_name("github_server.py")
    command = [sys.executable, str(program), "--repos", str(tmp_path / "repos"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = dict(word.split("=", 1) for word in process.stdout.readline().split())
            api = said["AUTOREPRODUCE_GITHUB_API"]
            with urllib.request.urlopen(f"{api}/repos/ann/waves", timeout=10) as answer:
                assert b'"spdx_id": "MIT"' in answer.read()
            settings = Settings(
                github_api=api, github_url=said["AUTOREPRODUCE_GITHUB_URL"], cache_dir=tmp_path
            )
            clone.clone("ann/waves", commit, tmp_path / "clone", settings)
        finally:
            process.terminate()
    assert clone.read(tmp_path / "clone", commit, "a.py").text == PROGRAM

"""A small GitHub on loopback: real git repositories below a folder, by REST (as PyGithub asks) and
by git over HTTP.

    python tests/paper_lineage/github_server.py --repos DIR --port N

serves each repository DIR/owner/name (with a work tree or bare, with or without .git at its end):
  AUTOREPRODUCE_GITHUB_API=http://127.0.0.1:N/api/v3  AUTOREPRODUCE_GITHUB_URL=http://127.0.0.1:N
What GitHub would say of it is read off the repository; DIR/owner/name.json may say otherwise:
{"size": KB, "license": "MIT" or null, "archived": true, "default_branch": "main"}. git itself
answers for the repositories (`git http-backend`), so a clone is a real one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

API = "/api/v3"
GIT_CONFIG = {
    "uploadpack.allowFilter": "true",
    "uploadpack.allowAnySHA1InWant": "true",
    "safe.directory": "*",
}


class Missing(Exception):
    """A 404, or another status with its message."""

    def __init__(self, status: int = 404, message: str = "Not Found") -> None:
        super().__init__(message)
        self.status, self.message = status, message


class GitHubServer(ThreadingHTTPServer):
    """The server and its switches. `seen` is every request, as "GET /path"; `tokens` what stood in
    Authorization.
    """

    daemon_threads = True

    def __init__(self, repos: Path, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.repos = repos
        self.seen: list[str] = []
        self.tokens: list[str | None] = []
        self.limit_reset: int | None = (
            None  # seconds since 1970: from now on the rate limit is used up
        )
        self.fail_once: list[int] = []  # statuses to answer with, one a request
        self.hang_git = 0.0  # seconds before git gets its answer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def api(self) -> str:
        return self.url + API

    def start(self) -> GitHubServer:
        threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        return self

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    server: GitHubServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self) -> None:
        self.server.seen.append(f"{self.command} {self.path}")
        self.server.tokens.append(self.headers.get("Authorization"))
        path = unquote(urlsplit(self.path).path)
        try:
            if path.startswith(API):
                self._api(path.removeprefix(API))
            else:
                self._git(path)
        except Missing as error:
            self._json({"message": error.message, "documentation_url": ""}, error.status)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _api(self, path: str) -> None:
        if self.server.limit_reset is not None:
            who = "for 127.0.0.1. (But here's the good news: Authenticated requests get a higher rate limit.)"
            raise Missing(403, f"API rate limit exceeded {who}")
        if self.server.fail_once:
            raise Missing(self.server.fail_once.pop(0), "Server Error")
        match = re.fullmatch(
            r"/repos/([^/]+)/([^/]+)(?:/(branches|git/trees|license)(?:/(.+))?)?", path
        )
        if path == "/rate_limit":
            return self._json({"resources": {"core": {"limit": 60, "remaining": 59, "reset": 0}}})
        if not match:
            raise Missing()
        owner, name, what, rest = match.groups()
        repository = Repo(self.server, owner, name)
        shown = {
            "branches": repository.branch,
            "git/trees": repository.tree,
            "license": repository.licence,
        }
        return self._json(shown[what](rest) if what else repository.about())

    def _json(self, value: Any, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        used_up = self.server.limit_reset is not None
        self.send_header("X-RateLimit-Limit", "60")
        self.send_header("X-RateLimit-Remaining", "0" if used_up else "59")
        self.send_header(
            "X-RateLimit-Reset", str(self.server.limit_reset or int(time.time()) + 3600)
        )
        self.end_headers()
        self.wfile.write(body)

    def _git(self, path: str) -> None:
        match = re.fullmatch(r"/([^/]+)/([^/]+?)(?:\.git)?/(info/refs|git-upload-pack)", path)
        if not match:
            raise Missing()
        time.sleep(self.server.hang_git)
        owner, name, rest = match.groups()
        folder = Repo(self.server, owner, name).folder
        inner = folder / ".git" if (folder / ".git").is_dir() else folder
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        told = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server.repos),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": f"/{inner.relative_to(self.server.repos)}/{rest}",
            "REMOTE_ADDR": "127.0.0.1",
            "REQUEST_METHOD": self.command,
            "QUERY_STRING": urlsplit(self.path).query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "GIT_CONFIG_COUNT": str(len(GIT_CONFIG)),
        }
        for place, (key, value) in enumerate(GIT_CONFIG.items()):
            told |= {f"GIT_CONFIG_KEY_{place}": key, f"GIT_CONFIG_VALUE_{place}": value}
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=told, capture_output=True, check=False
        )
        self._cgi(done.stdout)

    def _cgi(self, output: bytes) -> None:
        head, _, body = output.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line]
        status = next((int(value.split()[0]) for key, value in headers if key == "Status"), 200)
        self.send_response(status)
        for key, value in headers:
            if key not in {"Status", "Content-Length"}:
                self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Repo:
    """One repository as GitHub's API describes it."""

    def __init__(self, server: GitHubServer, owner: str, name: str) -> None:
        self.server, self.owner, self.name = server, owner, name
        places = [server.repos / owner / name, server.repos / owner / f"{name}.git"]
        found = next((place for place in places if place.is_dir()), None)
        if found is None or ".." in (owner, name):
            raise Missing()
        self.folder = found
        said = server.repos / owner / f"{name}.json"
        self.said: dict[str, Any] = json.loads(said.read_text()) if said.exists() else {}

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "safe.directory=*", "-C", str(self.folder), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(404, "Branch not found" if "rev-parse" in arguments else "Not Found")
        return done.stdout

    @property
    def default_branch(self) -> str:
        return (
            self.said.get("default_branch") or self.git("symbolic-ref", "--short", "HEAD").strip()
        )

    def about(self) -> dict[str, Any]:
        kilobytes = sum(f.stat().st_size for f in self.folder.rglob("*") if f.is_file()) // 1000
        full_name = f"{self.owner}/{self.name}"
        return {
            "id": 1,
            "name": self.name,
            "full_name": full_name,
            "private": False,
            "url": f"{self.server.api}/repos/{full_name}",
            "html_url": f"https://github.com/{full_name}",
            "clone_url": f"{self.server.url}/{full_name}.git",
            "size": self.said.get("size", kilobytes),
            "default_branch": self.default_branch,
            "fork": False,
            "archived": self.said.get("archived", False),
            "license": self._licence(),
            "owner": {"login": self.owner},
        }

    def _licence(self) -> dict[str, Any] | None:
        spdx = self.said["license"] if "license" in self.said else self._guess()
        return {"key": spdx.lower(), "name": spdx, "spdx_id": spdx, "url": None} if spdx else None

    def _guess(self) -> str | None:
        """What GitHub's own detector would find, for the three licences that occur here."""
        try:
            files = self.git("ls-tree", "--name-only", "HEAD").split("\n")
            path = next(
                (f for f in files if re.fullmatch(r"(?i)licen[cs]e(\.md|\.txt)?|copying", f)), None
            )
            text = self.git("show", f"HEAD:{path}")[:400] if path else ""
        except Missing:
            return None
        known = {"MIT": "MIT", "Apache": "Apache-2.0", "GNU GENERAL PUBLIC": "GPL-3.0"}
        return next(
            (spdx for word, spdx in known.items() if word in text), "NOASSERTION" if text else None
        )

    def licence(self, _: str | None) -> dict[str, Any]:
        if not (found := self._licence()):
            raise Missing()
        return {"license": found, "path": "LICENSE"}

    def branch(self, name: str) -> dict[str, Any]:
        sha = self.git("rev-parse", "--verify", f"refs/heads/{name}").strip()
        url = f"{self.server.api}/repos/{self.owner}/{self.name}/commits/{sha}"
        return {"name": name, "commit": {"sha": sha, "url": url}, "protected": False}

    def tree(self, sha: str) -> dict[str, Any]:
        if not self.git("for-each-ref", "refs/heads"):
            raise Missing(409, "Git Repository is empty.")
        entries = []
        for record in self.git("ls-tree", "-r", "-t", "-l", "-z", sha).split("\0"):
            head, _, path = record.partition("\t")
            if path:
                mode, kind, name, size = head.split()
                entry: dict[str, Any] = {"path": path, "mode": mode, "type": kind, "sha": name}
                entries.append(entry | ({"size": int(size)} if size.isdigit() else {}))
        return {"sha": sha, "url": "", "tree": entries, "truncated": False}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--port", type=int, default=8801)
    chosen = parser.parse_args()
    server = GitHubServer(chosen.repos.resolve(), chosen.port)
    print(
        f"AUTOREPRODUCE_GITHUB_API={server.api} AUTOREPRODUCE_GITHUB_URL={server.url}", flush=True
    )
    server.serve_forever()


if __name__ == "__main__":
    main()

"""A small world for the lineage: arXiv, Semantic Scholar, GitHub and a chat model, each a real
server on loopback.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from arxiv_server import ArxivServer, Stored, serve
from chat_server import Request, Server, chat_server
from github_server import GitHubServer
from records import Notes, trial_record

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.prompts import Prompts
from autoreproduce.config import Settings
from autoreproduce.method.paper_lineage import LineageEntry, build_lineage
from autoreproduce.models.budget import Budget
from autoreproduce.papers.model import Paper, Reference
from autoreproduce.task import Metric, Task
from autoreproduce.trials.trial import Trial

TITLES = {
    "2101.00001": "Wave operators for the shallow water equations",
    "2101.00002": "Learning solution maps with rational filters",
    "2101.00003": "Patchwise attention over irregular meshes",
}
REPOSITORIES = {
    "2101.00001": "ann/waves",
    "2101.00002": "bob/rational",
    "2101.00003": "cyd/patches",
}
MIT = "MIT License\n\nCopyright (c) 2021 the authors\n\nPermission is hereby granted, free of charge, to any person\n"
GPL = "                    GNU GENERAL PUBLIC LICENSE\n                       Version 3, 29 June 2007\n"
PROGRAM = "import torch\n\n\nclass Model(torch.nn.Module):\n    width = 32\n"

TASK = Task(
    id="toy",
    arxiv_id="2301.99999",
    title="Latent maps for spectral problems",
    method="LM",
    dataset="Toy",
    metric=Metric(name="relative_l2"),
    instruction="Replicate the experiment on Toy.",
)


def latex(title: str, repository: str | None, formulas: int = 1) -> bytes:
    """The source of a paper as arXiv serves it: a tar.gz with one TeX file."""
    where = (
        rf"Our code is at \url{{https://github.com/{repository}}}."
        if repository
        else "Code on request."
    )
    text = rf"""\documentclass{{article}}\title{{{title}}}\author{{A. Author}}\begin{{document}}\maketitle
\begin{{abstract}}We study {title.lower()}. {where}\end{{abstract}}
\section{{Introduction}}Long ago, as \url{{https://github.com/other/library}} shows, much was tried.
\section{{Method}}{"The operator is $u = K a$ with width 32 and four layers. " * formulas}
\section{{Experiments}}We train with Adam, learning rate $10^{{-3}}$, batch 20, for 500 epochs.
\section{{Proofs}}Trivial.
\end{{document}}"""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo("main.tex")
        member.size = len(text.encode())
        tar.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


def make_repository(root: Path, name: str, files: dict[str, str | bytes]) -> str:
    """A git repository root/owner/name with one commit (none without files); its commit."""
    folder = root / name
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "-b", "main")
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    return commit(folder) if files else ""


def commit(folder: Path, message: str = "first") -> str:
    git(folder, "add", "--all")
    git(
        folder,
        "-c",
        "user.name=Ann",
        "-c",
        "user.email=ann@example.org",
        "commit",
        "--quiet",
        "-m",
        message,
    )
    return git(folder, "rev-parse", "HEAD").strip()


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


class ScholarServer(ThreadingHTTPServer):
    """Semantic Scholar's title match, and an open PDF."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _ScholarHandler)
        self.papers: list[dict[str, Any]] = []
        self.seen: list[str] = []
        self.fail_once: list[int] = []
        self.pdf = b""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _ScholarHandler(BaseHTTPRequestHandler):
    server: ScholarServer

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.server.seen.append(self.path)
        url = urlsplit(self.path)
        if url.path == "/open.pdf":
            return self._give(200, self.server.pdf)
        if self.server.fail_once:
            return self._give(self.server.fail_once.pop(0), b"{}", [("Retry-After", "0")])
        wanted = parse_qs(url.query)["query"][0]
        near = [
            p
            for p in self.server.papers
            if set(wanted.lower().split()) & set(p["title"].lower().split())
        ]
        if url.path != "/graph/v1/paper/search/match" or not near:
            return self._give(404, b'{"error": "Title match not found"}')
        return self._give(
            200, json.dumps({"data": [near[0] | {"paperId": "x", "matchScore": 50.0}]}).encode()
        )

    def _give(self, status: int, body: bytes, more: list[tuple[str, str]] | None = None) -> None:
        self.send_response(status)
        for key, value in [("Content-Length", str(len(body))), *(more or [])]:
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)


@dataclass
class World:
    """All the servers, and what the model says to each of the three prompts."""

    root: Path
    arxiv: ArxivServer
    github: GitHubServer
    scholar: ScholarServer
    chat: Server
    settings: Settings
    paper: Paper
    replies: dict[str, Callable[[str], str]] = field(default_factory=dict)
    observer: Notes = field(default_factory=Notes)

    def choose(self, *titles: str) -> None:
        """The research agent's choice from now on."""
        self.replies["choose"] = lambda _: json.dumps(
            [{"title": t, "why": f"why {t[:9]}"} for t in titles]
        )

    def build(self, name: str = "trial", **named: Any) -> list[LineageEntry]:
        """Build the lineage in the trial folder `name`, which may exist: then the trial is gone on
        with.
        """
        trial = self.open(name)
        try:
            trial.phase("paper_lineage")
            research, code = self.agents(trial)
            return build_lineage(
                TASK, self.paper, "A summary.", research, code, trial, self.settings, **named
            )
        finally:
            trial.close()

    def agents(self, trial: Trial, budget: Budget | None = None) -> list[Agent]:
        """The research agent and the code agent."""
        shared, prompts = budget or Budget(), Prompts()
        return [
            Agent(role, self.model(), "any", prompts, trial, shared, self.settings)
            for role in ROLES
        ]

    def model(self) -> Any:
        from autoreproduce.models.open import open_model

        return open_model(self.settings, "any")

    def open(self, name: str = "trial") -> Trial:
        record = trial_record(
            task="toy",
            profile="small",
            solver="autoreproduce",
            model="any",
            created="2026-01-01T00:00:00+00:00",
        )
        return Trial.open(self.root / name, record, [self.observer])

    @property
    def requests(self) -> int:
        """How many requests all the servers have seen."""
        seen = [self.arxiv.requests, self.github.seen, self.scholar.seen, self.chat.requests]
        return sum(map(len, seen))

    def prompts(self, kind: str) -> list[str]:
        """The prompts of one kind that the model was sent."""
        return [r.prompt for r in self.chat.requests if kind_of(r.prompt) == kind]


ROLES = ("research", "code")


def kind_of(prompt: str) -> str:
    marks = {"Choose the few files": "pick", "REPOSITORY: URL": "summarise", "JSON list": "choose"}
    return next(kind for mark, kind in marks.items() if mark in prompt)


def summarise(prompt: str) -> str:
    """What a model says that reads: the first repository listed, if any."""
    listed = prompt.split("# Repositories named")[1] if "# Repositories named" in prompt else ""
    url = next(
        (line[2:].split(": ")[0] for line in listed.splitlines() if line.startswith("- https")),
        "none",
    )
    return f"## Method\nWidth 32, four layers.\n\nREPOSITORY: {url}"


def make_repositories(repos: Path) -> None:
    """The repository of each cited paper, under the MIT licence."""
    for name in REPOSITORIES.values():
        files = {
            "README.md": f"# {name}\n",
            "LICENSE": MIT,
            "model.py": PROGRAM,
            "tests/test_model.py": "x = 1\n",
        }
        make_repository(repos, name, files)


@contextlib.contextmanager
def running(root: Path, repositories: Path) -> Iterator[World]:
    """Three cited papers on arXiv, each with its repository on GitHub, and a model that does its
    work. `repositories` are copied.
    """
    repos = root / "repos"
    shutil.copytree(repositories, repos)
    stored = [Stored(i, t, source=latex(t, REPOSITORIES[i])) for i, t in TITLES.items()]
    github, scholar = GitHubServer(repos).start(), ScholarServer()
    threading.Thread(
        target=scholar.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    ).start()
    replies: dict[str, Callable[[str], str]] = {}
    with serve(stored) as arxiv, chat_server(lambda r: answer(r, replies)) as chat:
        settings = arxiv.settings(
            root / "cache",
            base_url=chat.base_url,
            api_key="none",
            github_api=github.api,
            github_url=github.url,
            semantic_scholar_api=f"{scholar.url}/graph/v1",
            k=3,
        )
        references = [
            Reference(title=t, text=f"A. Author. {t}. In Journal, 2021.", key=str(n))
            for n, t in enumerate(
                [*TITLES.values(), "Adam: A method for stochastic optimization"], 1
            )
        ]
        body = "# Experiments\n\nBaselines. We compare with [1] and [2] (2021).\n"
        paper = Paper(
            title=TASK.title,
            text=body,
            body=body,
            references=references,
            source="markdown",
            note="",
        )
        made = World(root, arxiv, github, scholar, chat, settings, paper, replies)
        made.choose(*TITLES.values())
        replies |= {"summarise": summarise, "pick": lambda _: "ADD model.py"}
        yield made
    github.stop()
    scholar.shutdown()
    scholar.server_close()


def answer(request: Request, replies: dict[str, Callable[[str], str]]) -> str:
    return replies[kind_of(request.prompt)](request.prompt)

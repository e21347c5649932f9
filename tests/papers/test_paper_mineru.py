"""MinerU: really run both ways where it is installed; what goes wrong around it, always.

Put a mineru-kit on PATH to run the slow ones: `PATH=/venv/of/mineru/bin:$PATH pytest -m slow
tests/papers`.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy
import pytest
from pdf_maker import paper_pdf

from autoreproduce.config import Settings
from autoreproduce.errors import PaperError, UnreachableError, UsageError
from autoreproduce.papers import read_paper
from autoreproduce.papers.mineru import executable, read_by_mineru, take_pictures
from autoreproduce.papers.model import png_size
from autoreproduce.papers.pdfium import write_png


def installed() -> bool:
    try:
        return bool(executable())
    except UsageError:
        return False


needs_mineru = pytest.mark.skipif(
    not installed(), reason="no mineru-kit beside this Python or on PATH"
)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def pdf(tmp_path):
    path = tmp_path / "paper.pdf"
    path.write_bytes(paper_pdf())
    return path


def picture(tmp_path, side: int) -> str:
    ramp = numpy.tile(numpy.arange(side, dtype=numpy.uint8), (side, 1))
    write_png(ramp, tmp_path / "picture.png")
    return base64.b64encode((tmp_path / "picture.png").read_bytes()).decode()


def test_pictures_are_taken_out_of_the_markdown(tmp_path):
    large, small = picture(tmp_path, 120), picture(tmp_path, 30)
    markdown = (
        f"# T\n\n![](data:image/png;base64,{large})\n\n<details>\n<summary>image content</summary>\n\nFigure 9: no\n"
        f"</details>\n\nFigure 1: What was drawn.\n\n![x](data:image/png;base64,{small})\n\n"
        f'<img src="data:image/png;base64,{large}">\n![](data:image/png;base64,!!!!)![](data:image/png;base64,AAAA)\n'
    )
    text, figures = take_pictures(markdown, tmp_path / "figures")
    assert "base64,AAAA" not in text
    assert large not in text
    assert "![](figures/figure-1.png)" in text
    assert [figure.caption for figure in figures] == ["Figure 1: What was drawn.", ""]
    assert png_size(figures[0].path) == (120, 120)
    assert not list((tmp_path / "figures").glob("*.raw"))


def test_not_installed(pdf, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(UsageError, match=r"mineru>=.*--pdf-reader own"):
        read_by_mineru(Settings(pdf_reader="mineru"), pdf, tmp_path / "out")


def a_program(tmp_path, monkeypatch, script: str) -> None:
    """A mineru-kit that fails: what is tested is how a failing process is met, not MinerU."""
    program = tmp_path / "bin" / "mineru-kit"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "executable", str(program.parent / "python"))


def test_a_process_that_fails(pdf, tmp_path, monkeypatch):
    a_program(tmp_path, monkeypatch, "echo loading\necho 'no weights for basic' >&2\nexit 3\n")
    with pytest.raises(PaperError, match=r"no weights for basic.*--pdf-reader own"):
        read_by_mineru(Settings(pdf_reader="mineru"), pdf, tmp_path / "out")


def test_a_process_that_hangs_is_ended_with_its_children(pdf, tmp_path, monkeypatch):
    a_program(tmp_path, monkeypatch, f"sleep 60 & echo $! > {tmp_path}/child\nwait\n")
    monkeypatch.setattr("autoreproduce.papers.outside_reader.LONGEST", 0.5)
    with pytest.raises(PaperError, match="did not finish"):
        read_by_mineru(Settings(pdf_reader="mineru"), pdf, tmp_path / "out")
    child = int((tmp_path / "child").read_text())
    for _ in range(50):
        if not is_running(child):
            break
        time.sleep(0.05)
    assert not is_running(child)


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except OSError:
        return False


def test_no_server(pdf, tmp_path):
    with pytest.raises(UsageError, match=r"does not answer.*api-server"):
        read_by_mineru(
            Settings(pdf_reader="mineru", mineru_url=f"http://127.0.0.1:{free_port()}"),
            pdf,
            tmp_path,
        )


@pytest.mark.parametrize(
    ("status", "answer", "error"),
    [
        (
            400,
            {"error": {"message": "Tier 'standard' not available"}},
            "Tier 'standard' not available",
        ),
        (500, {}, "HTTP 500"),
        (
            202,
            {
                "task_id": "1",
                "status": "failed",
                "files": [{"error": {"message": "page 3 is bad"}}],
            },
            "page 3 is bad",
        ),
        (200, {"hello": "world"}, "does not answer as MinerU 4 does"),
        (200, [], "does not answer as MinerU 4 does"),
    ],
)
def test_a_server_that_refuses(pdf, tmp_path, status, answer, error):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    ).start()
    try:
        with pytest.raises(PaperError, match=error) as raised:
            url = f"http://127.0.0.1:{server.server_address[1]}/"
            read_by_mineru(Settings(pdf_reader="mineru", mineru_url=url), pdf, tmp_path)
        assert isinstance(raised.value, UnreachableError) == (status == 500), "what may pass"
    finally:
        server.shutdown()
        server.server_close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def check(paper, tmp_path):
    assert paper.source == "mineru"
    assert "MinerU (tier flash)" in paper.note
    assert paper.title == "Small Grids for Large Equations"
    assert "We measure the error of the model" in paper.text
    assert "base64" not in paper.text
    assert len(paper.references) == 3
    assert len(paper.figures) == 1
    assert min(png_size(paper.figures[0].path)) > 90
    assert paper.figures[0].path.is_relative_to(tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(300)
@needs_mineru
def test_as_a_process(pdf, tmp_path):
    notes: list[str] = []
    paper = read_paper(
        Settings(pdf_reader="mineru"),
        tmp_path / "t",
        arxiv_id=None,
        file=pdf,
        digest=None,
        note=notes.append,
    )
    check(paper, tmp_path)
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.4 not really")
    with pytest.raises(PaperError, match="could not read"):
        read_by_mineru(Settings(pdf_reader="mineru"), tmp_path / "bad.pdf", tmp_path / "bad")


@pytest.mark.slow
@pytest.mark.timeout(300)
@needs_mineru
def test_as_a_server(pdf, tmp_path):
    port = free_port()
    log = (tmp_path / "log").open("w")
    command = [
        executable(),
        "api-server",
        "--tier",
        "flash",
        "--port",
        str(port),
        "--upload-dir",
        str(tmp_path / "up"),
    ]
    process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_for(port, process)
        settings = Settings(pdf_reader="mineru", mineru_url=f"http://127.0.0.1:{port}")
        paper = read_paper(
            settings, tmp_path / "t", arxiv_id=None, file=pdf, digest=None, note=lambda _: None
        )
        check(paper, tmp_path)
        with pytest.raises(PaperError, match="not available"):
            read_by_mineru(settings.having(mineru_tier="standard"), pdf, tmp_path / "x")
    finally:
        os.killpg(process.pid, 9)
        process.wait()
        log.close()


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("MinerU's server did not start in a minute")

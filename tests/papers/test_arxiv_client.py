"""arXiv's clients against a local server that speaks its protocol."""

from __future__ import annotations

import json

import pytest
from arxiv_server import Stored, serve

from autoreproduce.errors import PaperError, UsageError
from autoreproduce.papers import arxiv_client
from autoreproduce.papers.arxiv_client import (
    NotOnArxivError,
    UnreachableError,
    by_id,
    download_pdf,
    download_source,
    mentioned_id,
    normal_id,
    search_title,
)

LSM = Stored(
    "2301.12664",
    "Solving High-Dimensional PDEs with\n  Latent Spectral Models",
    version=2,
    pdf=b"%PDF-1.4 x",
)
OLD = Stored("hep-th/9901001", "Strings & <Branes>", source=b"\x1f\x8bxx")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(arxiv_client, "TIMEOUT", 0.5)


@pytest.fixture
def server():
    with serve([LSM, OLD]) as running:
        yield running


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ("2301.12664", "2301.12664"),
        (" 2301.12664v2 ", "2301.12664v2"),
        ("arXiv:2301.12664", "2301.12664"),
        ("arxiv: 0704.0001v1", "0704.0001v1"),
        ("https://arxiv.org/abs/2301.12664v2", "2301.12664v2"),
        ("http://export.arxiv.org/pdf/2301.12664.pdf", "2301.12664"),
        ("arxiv.org/html/2301.12664v1#S3", "2301.12664v1"),
        ("https://www.arxiv.org/pdf/2301.12664v2.pdf?download=1", "2301.12664v2"),
        ("https://doi.org/10.48550/arXiv.2301.12664", "2301.12664"),
        ("hep-th/9901001", "hep-th/9901001"),
        ("math.GT/0309136v1", "math.GT/0309136v1"),
        ("https://arxiv.org/abs/hep-th/9901001", "hep-th/9901001"),
    ],
)
def test_an_id_in_any_dress_is_understood(given, want):
    assert normal_id(given) == want


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "Darcy",
        "2301.126",
        "2313.12664",
        "2301.12664v0",
        "hep-th/99",
        "https://example.org/2301.12664",
        "2301.12664 2301.12665",
    ],
)
def test_a_wrong_id_is_a_usage_error(wrong):
    with pytest.raises(UsageError, match="isn't an arXiv id"):
        normal_id(wrong)


@pytest.mark.parametrize(
    ("entry", "want"),
    [
        ("Spectral neural operators. arXiv preprint arXiv:2205.10573, 2022.", "2205.10573"),
        ("CoRR, abs/1412.6980, 2014", "1412.6980"),
        ("https://arxiv.org/abs/1706.03762v5", "1706.03762"),
        ("arXiv.org:hep-th/9901001", "hep-th/9901001"),
        ("doi:10.48550/arXiv.2301.12664", "2301.12664"),
        ("J. Comput. Phys. 378, 686-707, 2019. doi 10.1016/j.jcp.2018.10.045", None),
        ("pages 1998.0112", None),
    ],
)
def test_an_entry_that_names_an_id(entry, want):
    assert mentioned_id(entry) == want


def test_by_id_asks_the_real_client(server, tmp_path):
    entry = by_id(server.settings(tmp_path), "arXiv:2301.12664")
    assert entry.arxiv_id == "2301.12664v2"
    assert entry.title == "Solving High-Dimensional PDEs with Latent Spectral Models"
    assert entry.authors == ["A. Author", "B. Writer"]
    assert entry.published == "2023-01-30"
    json.loads(entry.model_dump_json())


def test_old_ids_and_escapes(server, tmp_path):
    assert by_id(server.settings(tmp_path), "hep-th/9901001").title == "Strings & <Branes>"


def test_an_unknown_paper(server, tmp_path):
    with pytest.raises(NotOnArxivError, match=r"2401\.00001"):
        by_id(server.settings(tmp_path), "2401.00001")


def test_search_by_phrase_then_by_words(server, tmp_path):
    settings = server.settings(tmp_path)
    phrase = search_title(settings, "Solving high-dimensional PDEs with latent spectral models")
    assert [entry.arxiv_id for entry in phrase] == ["2301.12664v2"]
    assert len(server.requests) == 1
    words = search_title(settings, "Latent spectral models solving PDEs")
    assert [entry.arxiv_id for entry in words] == ["2301.12664v2"]
    assert search_title(settings, 'Nothing "like" it: at all?') == []
    assert search_title(settings, " ?! ") == []


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_api_is_asked_again(server, tmp_path, status):
    server.fail("/api/", status, times=2)
    assert by_id(server.settings(tmp_path), "2301.12664").arxiv_id == "2301.12664v2"
    assert len(server.requests) == 3


def test_an_api_that_stays_broken(server, tmp_path):
    server.fail("/api/", 503)
    with pytest.raises(UnreachableError, match=r"HTTP 503.*--paper FILE"):
        by_id(server.settings(tmp_path), "2301.12664")
    assert len(server.requests) == 1 + arxiv_client.RETRIES


def test_an_api_that_hangs(server, tmp_path):
    server.hang("/api/")
    with pytest.raises(UnreachableError, match="Timeout"):
        by_id(server.settings(tmp_path), "2301.12664")


@pytest.mark.parametrize("body", [b"<html>please log in</html>", b"", b"\x00\xff" * 50])
def test_an_api_that_answers_something_else(server, tmp_path, body):
    server.answer("/api/", body)
    with pytest.raises(UnreachableError):
        by_id(server.settings(tmp_path), "2301.12664")


def test_no_server_at_all(tmp_path):
    with serve([]) as gone:
        settings = gone.settings(tmp_path)
    with pytest.raises(UnreachableError, match="ConnectionError"):
        by_id(settings, "2301.12664")
    with pytest.raises(UnreachableError, match="ConnectError"):
        download_pdf(settings, "2301.12664", tmp_path / "x.pdf")


def test_downloads(server, tmp_path):
    settings = server.settings(tmp_path)
    download_pdf(settings, "2301.12664v2", tmp_path / "deep" / "x.pdf")
    assert (tmp_path / "deep" / "x.pdf").read_bytes() == b"%PDF-1.4 x"
    download_source(settings, "hep-th/9901001", tmp_path / "x.gz")
    assert (tmp_path / "x.gz").read_bytes() == b"\x1f\x8bxx"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_download_is_tried_again(server, tmp_path, status):
    server.fail("/pdf/", status, times=2, Retry_After="0")
    download_pdf(server.settings(tmp_path), "2301.12664", tmp_path / "x.pdf")
    assert len(server.requests) == 3


def test_a_download_that_is_not_there_or_forbidden_is_not_tried_again(server, tmp_path):
    settings = server.settings(tmp_path)
    with pytest.raises(NotOnArxivError):
        download_source(settings, "2301.12664", tmp_path / "x")
    server.fail("/pdf/", 403)
    with pytest.raises(UnreachableError, match="HTTP 403"):
        download_pdf(settings, "2301.12664", tmp_path / "x")
    assert len(server.requests) == 2
    assert not (tmp_path / "x").exists()


def test_a_download_that_hangs(server, tmp_path):
    server.hang("/pdf/")
    with pytest.raises(UnreachableError, match="ReadTimeout"):
        download_pdf(server.settings(tmp_path), "2301.12664", tmp_path / "x.pdf")


def test_a_download_that_is_too_large_leaves_nothing(server, tmp_path, monkeypatch):
    monkeypatch.setattr(arxiv_client, "LARGEST", 5)
    with pytest.raises(PaperError, match="over 0 MB"):
        download_pdf(server.settings(tmp_path / "cache"), "2301.12664", tmp_path / "x.pdf")
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def test_requests_of_one_machine_keep_their_distance(server, tmp_path, monkeypatch):
    monkeypatch.setattr(arxiv_client, "_delay", lambda url: 0.3)
    began = arxiv_client.time.monotonic()
    for _ in range(3):
        by_id(server.settings(tmp_path), "2301.12664")
    assert arxiv_client.time.monotonic() - began >= 0.55

"""Unpacking what arXiv serves, and what somebody might serve in its place."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile

import pytest
from latex_maker import FILES, gz, tar_gz
from pdf_maker import paper_pdf

from autoreproduce.errors import PaperError
from autoreproduce.papers import files
from autoreproduce.papers.files import unpack


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.fixture
def unpacked(tmp_path):
    def run(data: bytes) -> str:
        (tmp_path / "x.archive").write_bytes(data)
        return unpack(tmp_path / "x.archive", tmp_path / "a" / "source")

    return run


def names(tmp_path):
    root = tmp_path / "a" / "source"
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_a_tar_of_a_paper(unpacked, tmp_path):
    assert unpacked(tar_gz(FILES)) == "tex"
    assert names(tmp_path) == sorted(FILES)
    assert unpacked(tar_gz({"./only.tex": b"x"})) == "tex"
    assert names(tmp_path) == ["only.tex"]


def test_a_zip_as_editors_in_the_browser_give_it(unpacked, tmp_path):
    assert unpacked(zipped({**FILES, "folder/": b"", "__MACOSX/._main.tex": b"x"})) == "tex"
    assert names(tmp_path) == sorted(FILES)
    texts = []
    for name, data in (("paper.zip", zipped(FILES)), ("paper.tgz", tar_gz(FILES))):
        (tmp_path / name).write_bytes(data)
        texts.append(files.read_file(tmp_path / name, tmp_path / "read").text)
    assert texts[0] and texts[0] == texts[1]


def test_one_gzipped_file(unpacked, tmp_path):
    assert unpacked(gz(b"\\documentstyle{article}")) == "tex"
    assert names(tmp_path) == ["main.tex"]
    assert unpacked(gz(paper_pdf(1))) == "pdf"
    assert names(tmp_path) == ["paper.pdf"]


def test_a_pdf(unpacked, tmp_path):
    assert unpacked(paper_pdf(1)) == "pdf"
    assert (tmp_path / "a" / "source" / "paper.pdf").read_bytes() == paper_pdf(1)


@pytest.mark.parametrize(
    "name", ["../evil.tex", "/tmp/evil.tex", "a/../../../evil.tex", "..", "a\\..\\evil"]
)
def test_no_file_leaves_the_folder(unpacked, tmp_path, name):
    with pytest.raises(PaperError, match="outside its folder"):
        unpacked(tar_gz({"ok.tex": b"x", name: b"evil"}))
    with pytest.raises(PaperError, match="outside its folder"):
        unpacked(zipped({"ok.tex": b"x", name: b"evil"}))
    assert not list(tmp_path.rglob("*evil*"))


def test_links_are_left_out(unpacked, tmp_path):
    assert (
        unpacked(tar_gz({"main.tex": b"x"}, links={"passwd": "/etc/passwd", "up": ".."})) == "tex"
    )
    assert names(tmp_path) == ["main.tex"]
    assert not (tmp_path / "a" / "source" / "up").exists()


def test_a_link_cannot_be_written_through(unpacked, tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        link = tarfile.TarInfo("out")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        tar.addfile(link)
        member = tarfile.TarInfo("out/evil.tex")
        member.size = 4
        tar.addfile(member, io.BytesIO(b"evil"))
    unpacked(out.getvalue())
    assert not (tmp_path / "evil.tex").exists()


def test_bombs(unpacked, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_SOURCE", 1 << 20)
    with pytest.raises(PaperError, match="unpacks to over 1 MB"):
        unpacked(gzip.compress(b"x" * (3 << 20)))
    with pytest.raises(PaperError, match="unpacks to over 1 MB"):
        unpacked(tar_gz({f"{n}.tex": b"\0" * (1 << 19) for n in range(4)}))
    with pytest.raises(PaperError, match="unpacks to over 1 MB"):
        unpacked(zipped({f"{n}.tex": b"\0" * (1 << 19) for n in range(4)}))
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.tex")) <= 2 << 20
    monkeypatch.setattr(files, "MOST_UNPACKED", 10)
    with pytest.raises(PaperError, match="over 10 files"):
        unpacked(tar_gz({f"{n}.tex": b"" for n in range(20)}))
    with pytest.raises(PaperError, match="over 10 files"):
        unpacked(zipped({f"{n}.tex": b"" for n in range(20)}))


DAMAGED = {
    "empty": b"",
    "html": b"<html>no</html>",
    "head": b"\x1f\x8b\x08",
    "tar": tar_gz(FILES)[:400],
    "gz": gz(b"x" * 999)[:20],
    "zip": zipped(FILES)[:-9],
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_damage(unpacked, data):
    with pytest.raises(PaperError):
        unpacked(data)

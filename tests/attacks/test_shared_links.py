"""What others share with us leads nowhere else: no file of this machine is read or written through
it.
"""

import gzip
import io
import os
import shutil
import tarfile
from pathlib import Path

import pytest
from PIL import Image

from autoreproduce import content
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.errors import PaperError, UsageError
from autoreproduce.evaluation.judging.submitted_code import read_program
from autoreproduce.files import shared as shared_files
from autoreproduce.files.shared import check_tree, copy_tree, inside, read_bytes
from autoreproduce.papers.files import read_file
from autoreproduce.runner.find import data_folder

SECRET = "the host's own secret"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A file of the machine, outside all that is shared."""
    path = tmp_path / "host.txt"
    path.write_text(SECRET)
    return path


@pytest.mark.slow
def test_links_that_double_do_not_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_files, "MOST_COPIED", 500)
    for depth in range(40):
        (tmp_path / f"a/{depth}").mkdir(parents=True)
        for name in ("x", "y"):
            (tmp_path / f"a/{depth}/{name}").symlink_to(f"../{depth + 1}")
    (tmp_path / "a/40").mkdir()
    with pytest.raises(UsageError, match="holds over"):
        copy_tree(tmp_path / "a", tmp_path / "copy")


def test_a_chain_of_folders_ends_in_one_clear_error(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(60):
        os.mkdir("d" * 100, dir_fd=here)
        here, before = os.open("d" * 100, os.O_RDONLY, dir_fd=here), here
        os.close(before)
    os.close(here)
    with pytest.raises(UsageError, match="cannot be listed"):
        check_tree(tmp_path)


@pytest.mark.parametrize("name", ["../host.txt", "/etc/passwd", "a/../../host.txt", "link", "x\0y"])
def test_a_name_never_leaves_its_root(tmp_path: Path, host: Path, name: str) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "link").symlink_to(host)
    with pytest.raises(UsageError):
        inside(root, name)


def test_a_device_is_no_plain_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="a plain file"):
        read_bytes(tmp_path, "pipe")
    (tmp_path / "large").write_bytes(b"x" * 11)
    with pytest.raises(UsageError, match="over 10 bytes"):
        read_bytes(tmp_path, "large", largest=10)


def test_a_latex_folder_reads_nothing_outside_itself(tmp_path: Path, host: Path) -> None:
    source = tmp_path / "paper"
    source.mkdir()
    body = "Words of a paper that are long enough to be one. " * 60
    named = r"\input{../host.txt}\input{/etc/passwd}\include{../host}\bibliography{../host}"
    (source / "main.tex").write_text(
        rf"\documentclass{{article}}\title{{T}}\begin{{document}}{body}{named}\includegraphics{{../host.txt}}"
        r"\end{document}"
    )
    found = read_file(source, tmp_path / "made")
    assert "long enough" in found.text
    assert SECRET not in found.text
    assert "root:" not in found.text


@pytest.mark.parametrize("name", ["part.tex", "main.bib", "figure.png", "sub"])
def test_a_latex_folder_with_a_link_out_is_refused(tmp_path: Path, host: Path, name: str) -> None:
    source = tmp_path / "paper"
    source.mkdir()
    (source / "main.tex").write_text(
        r"\documentclass{article}\begin{document}x\input{part}\end{document}"
    )
    (source / name).symlink_to(tmp_path if name == "sub" else host)
    with pytest.raises(PaperError, match="is a link that leads out"):
        read_file(source, tmp_path / "made")


def test_a_paper_named_alone_does_not_read_links_beside_it(tmp_path: Path, host: Path) -> None:
    """The folder around a file that the user named may be any: it is not refused, and its links are
    not read.
    """
    source = tmp_path / "paper"
    source.mkdir()
    (source / "main.tex").write_text(
        r"\documentclass{article}\begin{document}"
        + "Many words. " * 200
        + r"\input{part}\bibliography{main}"
        r"\end{document}"
    )
    (source / "part.tex").symlink_to(host)
    (tmp_path / "host.bib").write_text("@article{a, title={" + SECRET + "}, year=2001}")
    (source / "main.bib").symlink_to(tmp_path / "host.bib")
    found = read_file(source / "main.tex", tmp_path / "made")
    assert SECRET not in found.text


def test_an_archive_of_latex_leaves_its_links_where_they_are(tmp_path: Path, host: Path) -> None:
    archive = tmp_path / "paper.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        link = tarfile.TarInfo("part.tex")
        link.type, link.linkname = tarfile.SYMTYPE, str(host)
        tar.addfile(link)
        text = (
            rb"\documentclass{article}\begin{document}"
            + b"Many words. " * 200
            + rb"\input{part}\end{document}"
        )
        main = tarfile.TarInfo("main.tex")
        main.size = len(text)
        tar.addfile(main, io.BytesIO(text))
    assert SECRET not in read_file(archive, tmp_path / "made").text


def test_a_picture_beside_a_markdown_paper_must_lie_below_it(tmp_path: Path) -> None:
    Image.new("RGB", (300, 300)).save(tmp_path / "private.png")
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "linked.png").symlink_to(tmp_path / "private.png")
    paper = tmp_path / "p" / "paper.md"
    paper.write_text("# T\n\n![a](../private.png)\n\n![b](linked.png)\n")
    assert read_file(paper, tmp_path / "made").figures == []


def test_a_task_folder_with_a_link_out_is_refused(tmp_path: Path, host: Path) -> None:
    folder = tmp_path / "lsm"
    shutil.copytree(content.folder("reproducebench") / "lsm", folder)
    assert reproducebench.task_file(folder).id == "lsm"
    (folder / "digest.md").unlink()
    (folder / "digest.md").symlink_to(host)
    with pytest.raises(UsageError, match=r"digest\.md is a link that leads out"):
        reproducebench.task_file(folder)


def test_data_with_a_link_out_or_a_pipe_are_refused(tmp_path: Path, host: Path) -> None:
    data = tmp_path / "data"
    (data / "train").mkdir(parents=True)
    (data / "train" / "link").symlink_to("../train")
    assert data_folder(data) == data
    (data / "train" / "b").symlink_to(host)
    with pytest.raises(UsageError, match="is a link that leads out"):
        data_folder(data)


def test_a_program_with_links_and_pipes_is_read_without_them(tmp_path: Path, host: Path) -> None:
    program = tmp_path / "program"
    program.mkdir()
    (program / "main.py").write_text("print(1)\n")
    (program / "stolen.py").symlink_to(host)
    (program / "all").symlink_to(tmp_path)
    os.mkfifo(program / "pipe.py")
    found = read_program(str(program))
    assert found.files == {"main.py": "print(1)\n"}
    assert found.unread == {"stolen.py": "a link", "all": "a link"}
    with pytest.raises(UsageError, match="a plain file"):
        read_program(str(program / "pipe.py"))


def test_an_archived_program_with_links_is_read_without_them(tmp_path: Path, host: Path) -> None:
    with tarfile.open(tmp_path / "p.tar", "w") as tar:
        for name, kind in (
            ("s.py", tarfile.SYMTYPE),
            ("h.py", tarfile.LNKTYPE),
            ("p.py", tarfile.FIFOTYPE),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, str(host)
            tar.addfile(member)
        member = tarfile.TarInfo("main.py")
        member.size = 2
        tar.addfile(member, io.BytesIO(b"x\n"))
    assert read_program(str(tmp_path / "p.tar")).files == {"main.py": "x\n"}


def test_an_archive_of_endless_files_is_refused_early(tmp_path: Path) -> None:
    member = tarfile.TarInfo("huge.bin")
    member.size = 2**41  # its content is not even there: the head alone is refused
    (tmp_path / "p.tar.gz").write_bytes(gzip.compress(member.tobuf()))
    with pytest.raises(UsageError, match="unpacks to over 1 GiB"):
        read_program(str(tmp_path / "p.tar.gz"))


@pytest.mark.slow
@pytest.mark.parametrize("levels", [200, 1500])
def test_folders_nested_too_deep_are_not_copied(tmp_path: Path, levels: int) -> None:
    source = here = tmp_path / "source"
    for _ in range(levels):
        here.mkdir()
        here /= "d"
    with pytest.raises(UsageError, match="nests folders deeper than 100 levels: remove"):
        copy_tree(source, tmp_path / "target")

"""The source of a paper as arXiv serves it: a tar.gz, one gzipped file, or a PDF.

An archive from the network is not trusted: only plain files come out, none of them outside the
folder, and no more than `LARGEST` bytes or `MOST` files however small the archive is.
"""

import gzip
import io
import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import IO, Literal

from autoreproduce.errors import PaperError
from autoreproduce.files.bounded import DAMAGED_ARCHIVE

LARGEST = 200 * 2**20  # bytes, unpacked
MOST = 5000  # files
Kind = Literal["tex", "pdf"]


def unpack(archive: Path, folder: Path) -> Kind:
    """Unpack `archive` into `folder` (emptied first); "pdf" if it is one, as `folder/paper.pdf`.

    Raises PaperError if it is damaged, too large, of another kind, or would write outside.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with archive.open("rb") as file:
        head = file.read(512)
    if head.startswith(b"%PDF"):
        shutil.copyfile(archive, folder / "paper.pdf")
        return "pdf"
    try:
        if tarfile.is_tarfile(archive):
            _unpack_tar(archive, folder)
        elif head.startswith(b"\x1f\x8b"):
            return _unpack_gzip(archive, folder)
        else:
            raise _refusal(archive, "is neither tar, gzip nor PDF")
    except DAMAGED_ARCHIVE as error:
        raise _refusal(archive, f"is damaged ({error})") from error
    return "tex"


def _unpack_tar(archive: Path, folder: Path) -> None:
    left = LARGEST
    with tarfile.open(archive) as tar:
        for number, member in enumerate(tar):
            target = _inside(folder, member.name, archive)
            if number >= MOST:
                raise _refusal(archive, f"holds over {MOST} files")
            source = tar.extractfile(member) if member.isreg() else None
            if source is None:  # a link or a device
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            left -= _copy(source, target, left, archive)


def _unpack_gzip(archive: Path, folder: Path) -> Kind:
    """One gzipped file: the TeX of a short paper, or a PDF."""
    target = folder / "main.tex"
    with gzip.open(archive) as source:
        _copy(source, target, LARGEST, archive)
    with target.open("rb") as file:
        is_pdf = file.read(4) == b"%PDF"
    if is_pdf:
        target.rename(folder / "paper.pdf")
    return "pdf" if is_pdf else "tex"


def _inside(folder: Path, name: str, archive: Path) -> Path:
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or "\\" in name or "\0" in name:
        tries = f"tries to write outside its folder ({name!r}) and was not unpacked"
        raise _refusal(archive, tries)
    return folder / parts


def _copy(source: IO[bytes] | io.BufferedIOBase, target: Path, left: int, archive: Path) -> int:
    """Copy at most `left` bytes, counted as they come, not as the archive states; their number."""
    copied = 0
    with target.open("wb") as file:
        while chunk := source.read(1 << 20):
            copied += len(chunk)
            if copied > left:
                raise _refusal(archive, f"unpacks to over {LARGEST >> 20} MB")
            file.write(chunk)
    return copied


def _refusal(archive: Path, why: str) -> PaperError:
    return PaperError(f"{archive.name} {why}", fix="give the paper with --paper FILE")

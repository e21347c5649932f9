"""What `--paper` may name: a file, a folder, FOLDER:MAIN (a folder whose parts may all be read,
beginning with one of its files), or the address of a git repository.
"""

import re
import shlex
import shutil
import tempfile
from pathlib import Path

from autoreproduce.config import Settings, digest, sha256_of
from autoreproduce.errors import PaperError, UsageError
from autoreproduce.files.unpacking import at_revision, clone, is_url
from autoreproduce.papers.arxiv_client import normal_id

MOST_FILES = 2_000  # of a folder whose state is told by all of them
KINDS = (
    "LaTeX, HTML, Markdown, reStructuredText, text, a notebook, .docx or PDF; an archive or "
    "a folder of these; FOLDER:MAIN.tex; or a repository"
)


_PAPER = re.compile(r".+\.(tex|ltx|pdf|html?|docx|md|markdown|rst|txt)", re.IGNORECASE)


def option_for(word: str) -> str:
    """How a paper named by one word is given to a command: `--paper paper.tex`, `--arxiv ID`; ""
    for what is no paper by its name.
    """
    if _PAPER.fullmatch(word):
        return f"--paper {shlex.quote(word)}"
    try:
        return "" if is_url(word) or Path(word).exists() else f"--arxiv {normal_id(word)}"
    except (UsageError, OSError, ValueError):
        return ""


def refuse_paper(code: str | Path) -> None:
    """Raise UsageError for a paper in the place of code."""
    if option := option_for(str(code)):
        fix = f"name the code first, and the paper with {option}"
        raise UsageError(f"{code} is a paper, and no code", fix=fix)


def folder_and_main(path: Path) -> tuple[Path, Path] | None:
    """The folder and the file that FOLDER:MAIN names; None for any other path."""
    folder, colon, main = str(path).rpartition(":")
    try:
        if path.exists() or not colon or not main or not Path(folder).is_dir():
            return None
    except (OSError, ValueError):  # no name that a path can have
        return None
    return Path(folder), Path(folder) / main


def paper_path(named: str | Path, settings: Settings) -> Path:
    """The file, folder or FOLDER:MAIN that `named` is; a repository is cloned below the cache.

    Raises UsageError if it is none of these, or if a repository cannot be cloned.
    """
    address = re.sub(r"^(https?|ssh|git|file):/+(?=[^/])", r"\1://", str(named))  # of a Path
    if is_url(address):
        return _cloned(address.replace("file://", "file:///"), settings)
    path = Path(named)
    try:
        found = folder_and_main(path)
        if found is None and not path.exists():
            raise UsageError(f"--paper {named} is missing", fix=f"name its {KINDS}")
        if found is not None and not found[1].is_file():
            raise UsageError(
                f"--paper {named}: {found[0]} holds no file {found[1].relative_to(found[0])}",
                fix="name the main file by its path in that folder",
            )
    except (OSError, ValueError) as error:  # too long, or a null in it
        raise UsageError(
            f"--paper {str(named)[:200]!r} cannot be a path ({error!s:.60})", fix="correct it"
        ) from None
    return path


def content_digest(path: Path) -> str | None:
    """What changes when a paper does: of a file that stands alone its bytes, else the names, sizes
    and times of all files beside it. None if those are too many.
    """
    named = folder_and_main(path)
    alone = path.is_file() and path.suffix.lower() in (".pdf", ".docx", ".ipynb", ".gz", ".tgz")
    if alone or path.suffix.lower() in (".tar", ".source"):
        return sha256_of(path)
    folder = named[0] if named else path if path.is_dir() else path.parent
    stamps = [str(path)]
    for number, each in enumerate(folder.rglob("*")):
        if number > MOST_FILES:
            return None
        status = each.lstat()
        stamps.append(f"{each} {status.st_size} {status.st_mtime_ns}")
    return digest(sorted(stamps))


def _cloned(address: str, settings: Settings) -> Path:
    """A repository at its newest or the named commit, without the history."""
    if settings.papers.offline:
        raise PaperError(f"--offline fetches nothing, so not {address}", fix="give a folder")
    name = re.sub(r"\W+", "-", at_revision(address)[0].rpartition("/")[2].removesuffix(".git"))
    base = settings.cache_dir / "papers" / "repositories" / digest(address)[:12]
    base.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base) as scratch:
        fresh, target = clone(address, Path(scratch)), base / (name.strip("-") or "paper")
        shutil.rmtree(fresh / ".git", ignore_errors=True)
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    return target

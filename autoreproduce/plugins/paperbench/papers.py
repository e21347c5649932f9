"""A paper's folder as PaperBench keeps it: rubric, paper, addenda, addresses that a submission may
not use.

In a clone without Git LFS the paper and its addenda are pointer files, which are no texts.
"""

from dataclasses import dataclass, field
from pathlib import Path

import yaml

from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import parse_yaml
from autoreproduce.files.shared import inside, read_plain
from autoreproduce.plugins.paperbench.rubric import Node, read_rubric

FILES = (
    "rubric.json",
    "config.yaml",
    "paper.md",
    "addendum.md",
    "judge.addendum.md",
    "blacklist.txt",
)
POINTER = "version https://git-lfs.github.com/spec/"


@dataclass(frozen=True)
class RubricPaper:
    """One paper. `text` is "" if the folder has none, or a pointer to one (`pointers` names such
    files). `title` is "" if neither config.yaml nor the text has one.
    """

    id: str
    title: str
    rubric: Node
    text: str = ""
    addendum: str = ""
    judge_addendum: str = ""
    blacklist: list[str] = field(default_factory=list)
    pointers: list[str] = field(default_factory=list)


def load_paper(path: Path, paper: Path | None = None) -> RubricPaper:
    """The paper in a folder of PaperBench, or around a rubric.json alone; `paper`: its text, in the
    folder's place.

    Raises UsageError where there is no rubric, something cannot be read, or a link leads out of the
    folder.
    """
    folder = path if path.is_dir() else path.parent
    for name in FILES if path.is_dir() else FILES[1:]:
        inside(folder, name)
    rubric = read_rubric(folder / "rubric.json" if path.is_dir() else path)
    about = _config(folder / "config.yaml")
    texts = {name: read(folder / name) for name in ("paper.md", "addendum.md", "judge.addendum.md")}
    pointers = sorted(name for name, text in texts.items() if text.startswith(POINTER))
    shown_texts = {name: "" if name in pointers else text for name, text in texts.items()}
    own = not path.is_dir() and path.name != "rubric.json"  # several may lie in one folder
    identity = (
        path.stem if own else folder.resolve().name
    )  # as the splits name it; one config.yaml has another id
    text = _named_text(paper) if paper else shown_texts["paper.md"]
    return RubricPaper(
        identity,
        str(about.get("title") or _first_heading(text)),
        rubric,
        text,
        shown_texts["addendum.md"],
        shown_texts["judge.addendum.md"],
        [
            line.strip()
            for line in (read(folder / "blacklist.txt")).splitlines()
            if line.strip() and line.strip().lower() != "none"
        ],
        pointers,
    )


def paper_folders(data: Path) -> list[Path]:
    """The papers' folders at or below `data`, by name: a paper's own, `papers`, `data`, or a whole
    clone.

    Raises UsageError where there is none.
    """
    folders = (
        data,
        data / "papers",
        data / "data" / "papers",
        data / "project" / "paperbench" / "data" / "papers",
    )
    if (data / "rubric.json").is_file():
        return [data]
    for folder in folders:
        if found := sorted(path.parent for path in folder.glob("*/rubric.json")):
            return found
    raise UsageError(
        f"{data} holds no rubric.json",
        fix="name a paper's folder, or PaperBench's folder of papers",
    )


def read(path: Path, needed: bool = False) -> str:
    """A text file, "" where it is not there and need not be. Raises UsageError."""
    if not needed and not path.is_file():
        return ""
    try:
        return read_plain(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read ({error})", fix="name a text file in UTF-8"
        ) from None


def _named_text(paper: Path) -> str:
    text = read(paper, needed=True)
    if text.startswith(POINTER):
        raise UsageError(
            f"{paper} is a pointer of Git LFS and not the text", fix="fetch it with `git lfs pull`"
        )
    return text


def _config(path: Path) -> dict[str, object]:
    try:
        found = parse_yaml(read(path)) or {}
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(
            f"{path} is not YAML ({' '.join(str(error).split())[:200]})", fix="fix it"
        ) from None
    return found if isinstance(found, dict) else {}


def _first_heading(text: str) -> str:
    """A paper's title as its Markdown has it."""
    return next(
        (line.strip("# ").strip() for line in text.splitlines() if line.startswith("# ")), ""
    )

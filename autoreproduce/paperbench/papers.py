"""A paper's folder as PaperBench keeps it: rubric, paper, addenda, addresses that a submission may not use.

In a clone without Git LFS the paper and its addenda are pointer files; they are told from the texts they stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from autoreproduce.errors import UsageError
from autoreproduce.paperbench.rubric import Node, read_rubric

POINTER = "version https://git-lfs.github.com/spec/"


@dataclass(frozen=True)
class RubricPaper:
    """One paper. `text` is "" where the folder has none, or a pointer to one (`pointers` names such files)."""

    id: str
    title: str
    rubric: Node
    text: str = ""
    addendum: str = ""
    judge_addendum: str = ""
    blacklist: list[str] = field(default_factory=list)
    pointers: list[str] = field(default_factory=list)


def load_paper(place: Path, paper: Path | None = None) -> RubricPaper:
    """The paper in a folder of PaperBench, or around a rubric.json alone; `paper`: its text, in the folder's place.

    Raises UsageError where there is no rubric, or something cannot be read.
    """
    folder = place if place.is_dir() else place.parent
    rubric = read_rubric(folder / "rubric.json" if place.is_dir() else place)
    about = _config(folder / "config.yaml")
    texts = {name: read(folder / name) for name in ("paper.md", "addendum.md", "judge.addendum.md")}
    pointers = sorted(name for name, text in texts.items() if text.startswith(POINTER))
    told = {name: "" if name in pointers else text for name, text in texts.items()}
    own = not place.is_dir() and place.name != "rubric.json"  # several may lie in one folder
    identity = place.stem if own else folder.resolve().name  # as the splits name it; one config.yaml has another id
    return RubricPaper(
        identity, str(about.get("title") or identity), rubric, _named_text(paper) if paper else told["paper.md"],
        told["addendum.md"], told["judge.addendum.md"], _addresses(read(folder / "blacklist.txt")), pointers,
    )  # fmt: skip


def paper_folders(data: Path) -> list[Path]:
    """The papers' folders at or below `data`, by name: a paper's own, `papers`, `data`, or a whole clone.

    Raises UsageError where there is none.
    """
    places = (data, data / "papers", data / "data" / "papers", data / "project" / "paperbench" / "data" / "papers")
    if (data / "rubric.json").is_file():
        return [data]
    for place in places:
        if found := sorted(path.parent for path in place.glob("*/rubric.json")):
            return found
    raise UsageError(f"{data} holds no rubric.json: name a paper's folder, or PaperBench's folder of papers")


def used_addresses(files: dict[str, str], blacklist: list[str]) -> Iterator[str]:
    """`FILE: ADDRESS` for each address of the blacklist that a submission's files name."""
    for name, text in files.items():
        yield from (f"{name}: {address}" for address in blacklist if _named(address).search(text))


def read(path: Path, needed: bool = False) -> str:
    """A text file, "" where it is not there and need not be. Raises UsageError."""
    if not needed and not path.is_file():
        return ""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({error}): name a text file in UTF-8") from None


def _named_text(paper: Path) -> str:
    text = read(paper, needed=True)
    if text.startswith(POINTER):
        raise UsageError(f"{paper} is a pointer of Git LFS and not the text: fetch it by `git lfs pull`")
    return text


def _config(path: Path) -> dict[str, object]:
    try:
        found = yaml.safe_load(read(path)) or {}
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML ({' '.join(str(error).split())[:200]}): mend it") from None
    return found if isinstance(found, dict) else {}


def _addresses(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and line.strip().lower() != "none"]


def _named(address: str) -> re.Pattern[str]:
    """The address however it is written (git@HOST:PATH too), and not one that only begins with it."""
    bare = (address.partition("://")[2] or address).rstrip("/").removesuffix(".git")
    return re.compile(re.escape(bare).replace("/", "[/:]", 1) + r"(?![\w-])", re.IGNORECASE)

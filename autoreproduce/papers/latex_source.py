"""A paper's LaTeX files as one text: the main file with its parts, without comments."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autoreproduce.errors import PaperError
from autoreproduce.files.shared import file_inside
from autoreproduce.papers.encodings import named_encoding, read_text
from autoreproduce.papers.model import Unread

LARGEST = 10 * 2**20  # characters of one paper's LaTeX
DEEPEST = 12  # files within files
PART_SUFFIXES = (".tex", ".ltx", ".latex", ".tikz", ".bbl")
FOLDER_SUFFIXES = (*PART_SUFFIXES, ".txt", ".sec", ".dat", ".csv", ".tsv")  # of a folder of its own
UNPACKED_SUFFIXES = (*FOLDER_SUFFIXES, "")  # in an archive that is all the paper's
OF_TEX = {"glyphtounicode", "glyphtounicode.tex", "epsf", "epsf.tex", "xy", "psfig", "amssym.def"}

_COMMENT = re.compile(
    r"(?P<keep>\\begin\{(?P<env>verbatim\*?|Verbatim|lstlisting|minted|alltt)\}.*?\\end\{(?P=env)\}"
    r"|\\verb\*?(?P<bar>[^\w\s*]).*?(?P=bar)|\\(?:url|path|nolinkurl)\s*\{[^{}\n]*\}|\\href\s*\{[^{}\n]*\}|\\[\s\S])"
    r"|(?P<line>^[ \t]*%[^\n]*\n?)|(?P<rest>%[^\n]*)",
    re.M | re.S,
)
_SWITCHED_OFF = re.compile(
    r"\\begin\{comment\}.*?\\end\{comment\}|\\(?:iffalse|if\s*0(?!\s*\\))\b(?P<off>.*?)\\fi\b", re.S
)
_INPUT = re.compile(
    r"\\(?:input|include|subfile|subfileinclude|InputIfFileExists)\s*\{\s*\"?([^{}\"]+?)\"?\s*\}"
    r"|\\input\s+([^\s{}\\]+)|\\(?:sub)?(?:import|inputfrom)\*?\s*\{([^{}]*)\}\s*\{([^{}]+)\}"
)


def main_file(folder: Path) -> Path:
    """The file with \\documentclass and \\begin{document}; of several the most likely."""
    candidates = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in (".tex", ".ltx", ".latex")
    ]
    if not candidates:
        raise PaperError(
            f"{folder} holds no .tex file", fix="give the paper's PDF with --paper FILE"
        )
    scored = [(_likelihood(path, folder), -index, path) for index, path in enumerate(candidates)]
    return max(scored)[2]


def _likelihood(path: Path, folder: Path) -> float:
    text = without_comments(read_text(path))
    points = 4.0 * (r"\begin{document}" in text) + 4.0 * bool(
        re.search(r"\\document(class|style)\b", text)
    )
    points += 2.0 * bool(
        re.search(r"\\(bibliography|printbibliography|begin\{thebibliography\})", text)
    )
    points += 1.0 * (r"\begin{abstract}" in text) + 1.0 * bool(re.search(r"\\(icml|)title\b", text))
    points += 0.5 * (path.stem.lower() in ("main", "ms", "paper", "article", "arxiv")) + 0.3 * (
        path.parent == folder
    )
    points -= 4.0 * bool(
        re.search(r"supp|appendix|rebuttal|response|cover|template|example", path.stem, re.I)
    )
    points -= 4.0 * (r"{standalone}" in text or r"{beamer}" in text)
    return points + min(len(text), 50_000) / 100_000


def inlined(
    path: Path, folder: Path, suffixes: tuple[str, ...] = PART_SUFFIXES
) -> tuple[str, list[Unread]]:
    """The text of `path` with the files that it names in their places, and those left out.

    Parts lie inside `folder`, are text by their `suffixes`, and neither hidden nor links: beside a
    paper that somebody else wrote may lie a user's own files, keys among them. Raises PaperError if
    `path` cannot be read.
    """
    spent, unread = 0, dict[str, Unread]()
    try:
        encoding = named_encoding(path.read_bytes())
    except OSError:  # read_text says why
        encoding = ""

    def text_of(file: Path, trail: tuple[Path, ...]) -> str:
        nonlocal spent
        text = without_comments(read_text(file, encoding))
        spent += len(text)

        def put(found: re.Match[str]) -> str:
            name = (found[1] or found[2] or f"{found[3]}/{found[4]}").strip()
            if "\\" in name:  # a macro says which file: it's put in when that is known
                return found[0]
            part = _part(name, file.parent, folder, suffixes)
            if isinstance(part, Path):
                if part in trail or len(trail) > DEEPEST:
                    part = Unread.of(f"{name} in {file.name}", "files name each other in a circle")
                elif spent + part.stat().st_size > LARGEST:
                    part = Unread.of(f"{name} in {file.name}", f"over {LARGEST >> 20} MB in all")
                else:
                    return text_of(part, (*trail, part))
            if part is not None:
                unread.setdefault(name, part)
            return ""

        return _INPUT.sub(put, text)

    return text_of(path, (path,)), list(unread.values())


@dataclass
class SourceFiles:
    """The files that a paper's LaTeX names while it is expanded, all inside its `folder`: parts
    named by macros, tables of numbers, its own packages. `unread`: those that could not be read.
    """

    main: Path
    folder: Path
    suffixes: tuple[str, ...] = PART_SUFFIXES
    unread: dict[str, Unread] = field(default_factory=dict)

    def part(self, name: str, suffixes: Sequence[str]) -> str | None:
        """The text of the file `name`, with one of `suffixes` if it has none; None if it isn't
        there or may not be read, which is noted but for packages, most of which are TeX's own.
        """
        allowed = (*self.suffixes, *suffixes)
        for candidate in dict.fromkeys((name, *(name + suffix for suffix in suffixes))):
            found = _part(candidate, self.main.parent, self.folder, allowed)
            if isinstance(found, Path):
                self.unread.pop(name, None)
                return read_text(found)
            if found is not None and candidate == name and not {".sty", ".cls"} & set(suffixes):
                self.unread.setdefault(name, found)
        return None


def is_plain(path: Path, folder: Path) -> bool:
    """True for a path below `folder` on which nothing is hidden or a link."""
    parts = path.relative_to(folder).parts if path.is_relative_to(folder) else ("..",)
    steps = [folder.joinpath(*parts[: number + 1]) for number in range(len(parts))]
    # Path.is_symlink raises for a name that is too long
    return not any(each.name.startswith(".") or os.path.islink(each) for each in steps)  # noqa: PTH114


def _part(name: str, here: Path, folder: Path, suffixes: tuple[str, ...]) -> Path | Unread | None:
    """The file of \\input{name}, or why it is left out; None for one that TeX itself brings."""
    if name in OF_TEX:
        return None
    top = Path(os.path.normpath(folder.absolute()))
    why = Unread.of(name, f"there is no such file in {folder}", "put it there, or give its text")
    for base in (folder, here):
        for candidate in (base / f"{name}.tex", base / name):
            place = Path(os.path.normpath(candidate.absolute()))
            if not place.is_relative_to(top):
                whole = f"give the folder that has all: --paper FOLDER:{here.name}/MAIN.tex"
                why = Unread.of(name, f"it lies outside {folder}", whole)
            elif not is_plain(place, top):
                why = Unread.of(name, "it is hidden or a link", "put a copy in its place")
            elif real := file_inside(folder, place):
                if real.suffix.lower() in suffixes:
                    return real
                fix = f"rename it to end in .tex, or give the whole folder: --paper {folder}"
                why = Unread.of(name, f"{real.name} isn't LaTeX by its name", fix)
    return why


def without_comments(text: str) -> str:
    """LaTeX without its comments and what \\iffalse or the comment environment switches off."""
    bare = _COMMENT.sub(lambda found: found["keep"] or "", text)
    return _SWITCHED_OFF.sub(
        lambda found: "".join(re.split(r"\\else\b", found["off"] or "")[1:]), bare
    )


def braced(text: str, position: int) -> tuple[str, int] | None:
    """The content of the group that opens at `position`, and its end; None if it never closes."""
    depth = 0
    for found in re.compile(r"\\.|[{}]", re.S).finditer(text, position):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return text[position + 1 : found.start()], found.end()
    return None

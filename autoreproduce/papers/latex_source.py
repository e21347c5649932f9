"""A paper's LaTeX files as one text: the main file with its parts, without comments."""

import codecs
import os
import re
from pathlib import Path

from autoreproduce.errors import PaperError
from autoreproduce.files.shared import file_inside

LARGEST = 10 * 2**20  # characters of one paper's LaTeX
DEEPEST = 12  # files within files
PART_SUFFIXES = (".tex", ".ltx", ".latex", ".tikz", ".bbl")
UNPACKED_SUFFIXES = (*PART_SUFFIXES, ".txt", ".sec", "")  # in an archive that is all the paper's

_COMMENT = re.compile(
    r"(?P<keep>\\begin\{(?P<env>verbatim\*?|Verbatim|lstlisting|minted|alltt)\}.*?\\end\{(?P=env)\}"
    r"|\\verb\*?(?P<bar>[^\w\s*]).*?(?P=bar)|\\(?:url|path)\s*\{[^{}\n]*\}|\\href\s*\{[^{}\n]*\}|\\[\s\S])"
    r"|(?P<line>^[ \t]*%[^\n]*\n?)|(?P<rest>%[^\n]*)",
    re.M | re.S,
)
_SWITCHED_OFF = re.compile(
    r"\\begin\{comment\}.*?\\end\{comment\}|\\(?:iffalse|if\s*0)\b(?P<off>.*?)\\fi\b", re.S
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


def inlined(path: Path, folder: Path, unpacked: bool = False) -> str:
    """The text of `path` with the files that it names in their places, all inside `folder`.

    They are LaTeX by their suffix, and neither hidden nor links: beside a paper that a stranger
    wrote may lie a user's own files, keys among them. In a folder that was `unpacked` from the
    paper's own archive a part may be any text. Raises PaperError if files name each other
    without end or the whole is too large.
    """
    spent, suffixes = [0], UNPACKED_SUFFIXES if unpacked else PART_SUFFIXES

    def text_of(file: Path, trail: tuple[Path, ...]) -> str:
        text = without_comments(read_text(file))
        spent[0] += len(text)
        if spent[0] > LARGEST or len(trail) > DEEPEST:
            raise PaperError(
                f"{path.name} includes files without end, or over {LARGEST >> 20} MB",
                fix="give its PDF",
            )

        def put(found: re.Match[str]) -> str:
            name = found[1] or found[2] or f"{found[3]}/{found[4]}"
            part = _part(name, file.parent, folder, suffixes)
            if part is None or part in trail:
                return ""
            return text_of(part, (*trail, part))

        return _INPUT.sub(put, text)

    return text_of(path, (path,))


def is_plain(path: Path, folder: Path) -> bool:
    """True for a path below `folder` on which nothing is hidden or a link."""
    parts = path.relative_to(folder).parts if path.is_relative_to(folder) else ("..",)
    steps = [folder.joinpath(*parts[: number + 1]) for number in range(len(parts))]
    # Path.is_symlink raises for a name that is too long
    return not any(each.name.startswith(".") or os.path.islink(each) for each in steps)  # noqa: PTH114


def _part(name: str, here: Path, folder: Path, suffixes: tuple[str, ...]) -> Path | None:
    """The file of \\input{name}; None if it is missing, outside, or not text."""
    for base in (folder, here):
        for candidate in (base / f"{name.strip()}.tex", base / name.strip()):
            place = Path(os.path.normpath(candidate.absolute()))
            if not is_plain(place, Path(os.path.normpath(folder.absolute()))):
                continue
            real = file_inside(folder, place)
            if real and real.suffix.lower() in suffixes:
                return real
    return None


def read_text(path: Path) -> str:
    """A text file in UTF-8 or, by its mark, UTF-16 (Windows); else in Latin-1, which never fails.

    Raises PaperError if it cannot be opened.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PaperError(
            f"{path} cannot be read ({error.strerror})", fix="give another with --paper"
        ) from error
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def without_comments(text: str) -> str:
    """LaTeX without its comments and what \\iffalse or the comment environment switches off."""
    bare = _COMMENT.sub(lambda found: found["keep"] or "", text)
    return _SWITCHED_OFF.sub(
        lambda found: "".join(re.split(r"\\else\b", found["off"] or "")[1:]), bare
    )

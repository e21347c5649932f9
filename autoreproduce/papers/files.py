"""One paper from files on this machine: LaTeX, PDF, Markdown or plain text, by what the file is called."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from autoreproduce.config import Settings
from autoreproduce.errors import PaperError
from autoreproduce.papers.archive import unpack
from autoreproduce.papers.bibliography import latex_references
from autoreproduce.papers.latex_macros import braced
from autoreproduce.papers.latex_markdown import to_markdown
from autoreproduce.papers.latex_source import inlined, main_file, read_text
from autoreproduce.papers.latex_text import to_text
from autoreproduce.papers.mineru import read_by_mineru, take_pictures
from autoreproduce.papers.model import SMALLEST_FIGURE, Figure, Reference, Source, png_size
from autoreproduce.papers.pdf import read_pdf
from autoreproduce.papers.pdfium import as_png
from autoreproduce.papers.references import parse_references

LARGEST_TEXT = 20 * 2**20  # bytes of a text file
MOST_FIGURES = 40
MOST_FILES = 20_000
PICTURES = (".pdf", ".png", ".jpg", ".jpeg")
LEAST_LATEX = 1500  # characters: less is a wrapper around a PDF, not a paper
ARCHIVES = (".tar.gz", ".tgz", ".tar", ".gz")
KINDS = ".pdf .md .markdown .txt .tex .tar.gz, or a folder with .tex files"


@dataclass(frozen=True)
class Parts:
    """What a file gives."""

    source: Source
    title: str
    text: str
    references: list[Reference] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)


def read_file(settings: Settings, file: Path, folder: Path) -> Parts:
    """Read `file`; what is made of it (figures, unpacked sources) goes below `folder`.

    Raises PaperError where it is missing, empty, damaged, encrypted or of a kind that cannot be read.
    """
    name = file.name.lower()
    if file.is_dir():
        return latex_parts(file, folder, main_file(file))
    if not file.is_file():
        raise PaperError(f"{file} does not exist: give the paper's file ({KINDS})")
    if not file.stat().st_size:
        raise PaperError(f"{file} is empty: give the paper's file ({KINDS})")
    if name.endswith(".pdf"):
        return pdf_parts(settings, file, folder)
    if name.endswith(ARCHIVES):
        kind = unpack(file, folder / "source")
        source = folder / "source"
        if kind == "pdf":
            return pdf_parts(settings, source / "paper.pdf", folder)
        return latex_parts(source, folder, main_file(source))
    if name.endswith((".tex", ".ltx", ".latex")):
        return latex_parts(file.parent, folder, file)
    if name.endswith((".md", ".markdown", ".txt", ".text")):
        return text_parts(file, folder)
    raise PaperError(f"{file} is of a kind that cannot be read: give {KINDS}")


def pdf_parts(settings: Settings, file: Path, folder: Path) -> Parts:
    """A PDF, by MinerU where the settings say so, else directly."""
    if settings.mineru:
        text, figures = read_by_mineru(settings, file, folder)
        return Parts("mineru", markdown_title(text), text, parse_references(text), figures)
    title, text, figures = read_pdf(file, folder / "figures")
    return Parts("pdf", title, text, parse_references(text), figures)


def text_parts(file: Path, folder: Path) -> Parts:
    """Markdown or plain text as it is, with pictures moved out."""
    if file.stat().st_size > LARGEST_TEXT:
        raise PaperError(f"{file} is over {LARGEST_TEXT >> 20} MB: give the paper's text alone")
    text = read_text(file)
    if not text.strip():
        raise PaperError(f"{file} is empty: give the paper's file ({KINDS})")
    text, figures = take_pictures(text, folder / "figures")
    figures += _linked_pictures(text, file.parent, folder / "figures")
    source: Source = "markdown" if file.suffix.lower() in (".md", ".markdown") else "text"
    return Parts(source, markdown_title(text), text, parse_references(text), figures)


def latex_parts(source: Path, folder: Path, main: Path) -> Parts:
    """LaTeX: the paper whose main file is `main`, its parts below `source`.

    Raises PaperError where it holds no text to speak of (a wrapper around a PDF).
    """
    latex = inlined(main, source)
    text, found = to_markdown(latex)
    if len(text) < min(LEAST_LATEX, main.stat().st_size // 4):
        raise PaperError(f"{main} holds no text of a paper: give its PDF by --paper")
    title = latex_title(latex)
    references = latex_references(source, main, found.bibliography, found.cited, latex)
    if title:
        text = f"# {title}\n\n{text}"
    if references:
        listed = "\n".join(f"- [{reference.key}] {reference.text}" for reference in references)
        text = f"{text}\n## References\n\n{listed}\n"
    figures = _latex_figures(found.graphics, source, folder / "figures")
    return Parts("latex", title, text, references, figures)


def latex_title(latex: str) -> str:
    """The title, without footnotes and line breaks; "" where none is given."""
    for found in re.finditer(r"\\(?:icmltitle|title|Title|papertitle)\s*(?:\[[^\]]*\])?\s*(?=\{)", latex):
        group = braced(latex, found.end())
        if group is None:
            continue
        bare = re.sub(
            r"\\(?:thanks|footnote|footnotemark|vspace\*?|hspace\*?)\s*\{[^{}]*\}|\\\\(\[[^\]]*\])?", " ", group[0]
        )
        if title := to_text(bare):
            return title
    return ""


def markdown_title(text: str) -> str:
    """The first heading, else the first line that is no picture; "" where that is too long for a title."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("![", "<"))]
    heads = [line for line in lines[:20] if line.startswith("#")]
    title = (heads or lines or [""])[0].lstrip("# ").strip("*_ ")
    if re.fullmatch(r"abstract|introduction|contents|[\d.]*\s*introduction", title, re.I) and lines:
        title = lines[0].strip("#*_ ")
    return title if len(title) < 300 else ""


def _latex_figures(graphics: list[tuple[str, str]], source: Path, folder: Path) -> list[Figure]:
    """The captioned graphics that exist as PDF, PNG or JPEG, as PNG files."""
    figures: list[Figure] = []
    pictures = _pictures_below(source)
    for name, caption in graphics:
        path = _named(name, pictures) if caption else None
        target = folder / f"figure-{len(figures) + 1}.png"
        if path is None or len(figures) >= MOST_FIGURES:
            continue
        if as_png(path, target) and min(png_size(target)) >= SMALLEST_FIGURE:
            figures.append(Figure(path=target, caption=caption))
        pictures.remove(path)  # the same picture twice is one figure
    return figures


def _pictures_below(source: Path) -> list[Path]:
    """The files below `source` that are pictures by name; no more than a paper has, wherever a user keeps it."""
    pictures: list[Path] = []
    for number, path in enumerate(source.rglob("*")):
        if number > MOST_FILES:
            break
        if path.suffix.lower() in PICTURES and path.is_file() and not path.is_symlink():
            pictures.append(path)
    return sorted(pictures)


def _named(name: str, pictures: list[Path]) -> Path | None:
    """The picture that \\includegraphics{name} means: its path's end, with or without the ending."""
    wanted = name.strip().strip('"').replace("\\", "/").lstrip("./").lower()
    for path in pictures:
        full = "/" + path.as_posix().lower()
        if wanted and (full.endswith("/" + wanted) or full.removesuffix(path.suffix.lower()).endswith("/" + wanted)):
            return path
    return None


def _linked_pictures(text: str, base: Path, folder: Path) -> list[Figure]:
    """The pictures that a Markdown file links to in its own folder, with the caption below each."""
    figures: list[Figure] = []
    for found in re.finditer(
        r"!\[([^\]]*)\]\(([^)\s]+\.(?:png|jpe?g))\)[ \t]*\n*(?:\s*((?:Figure|Fig)\b[^\n]*))?", text
    ):
        path = base / found[2]
        target = folder / f"linked-{len(figures) + 1}.png"
        inside = path.resolve().is_relative_to(base.resolve()) and path.is_file()
        if inside and len(figures) < MOST_FIGURES and as_png(path, target) and min(png_size(target)) >= SMALLEST_FIGURE:
            figures.append(Figure(path=target, caption=(found[3] or found[1]).strip()))
    return figures


def keep_copy(file: Path, target: Path) -> None:
    """A copy of a single file beside what was made of it."""
    if file.is_file() and file.resolve() != target.resolve():
        shutil.copyfile(file, target)

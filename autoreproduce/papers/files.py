"""One paper from files on this machine: LaTeX, PDF, Markdown or plain text, by the file's name."""

import gzip
import io
import os
import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Literal

from autoreproduce.errors import PaperError
from autoreproduce.files.bounded import DAMAGED_ARCHIVE
from autoreproduce.files.confined import PartTimeError, at_most
from autoreproduce.files.shared import check_tree, file_inside
from autoreproduce.papers.bibliography import latex_references, to_text
from autoreproduce.papers.captions import caption_parts, table_number
from autoreproduce.papers.docling import tables_of_document
from autoreproduce.papers.documents import read_notebook, read_restructured, read_word
from autoreproduce.papers.encodings import decoded, read_text, with_plain_ends
from autoreproduce.papers.html_reader import html_markdown
from autoreproduce.papers.latex_markdown import to_markdown
from autoreproduce.papers.latex_source import (
    FOLDER_SUFFIXES,
    PART_SUFFIXES,
    UNPACKED_SUFFIXES,
    SourceFiles,
    braced,
    inlined,
    is_plain,
    main_file,
)
from autoreproduce.papers.mineru import take_pictures
from autoreproduce.papers.model import (
    SMALLEST_FIGURE,
    Figure,
    Paper,
    Reference,
    Source,
    Unread,
    png_size,
)
from autoreproduce.papers.paths import KINDS, folder_and_main
from autoreproduce.papers.pdf import read_pdf
from autoreproduce.papers.pdf_readers import undecided
from autoreproduce.papers.pdfium import as_png
from autoreproduce.papers.references import parse_references
from autoreproduce.papers.ruled_tables import with_html_tables
from autoreproduce.papers.sections import body_of
from autoreproduce.papers.table import Table
from autoreproduce.papers.table_lines import text_tables_in
from autoreproduce.papers.tables import tables_in

LARGEST_TEXT = 20 * 2**20  # bytes of a text file
LEAST_HTML = 200  # characters: less is a message of a server
MOST_FIGURES = 40
MOST_FILES = 20_000
PICTURES = (".pdf", ".png", ".jpg", ".jpeg")
LEAST_LATEX = 1500  # characters: less is a wrapper around a PDF, not a paper
ARCHIVES = (".tar.gz", ".tgz", ".tar", ".gz", ".zip")
TABLES_SECONDS = 20.0
UNKNOWN_ENCODING = (
    "its letters for certain",
    "it isn't UTF-8 and names no encoding: Windows-1252 was taken",
    "save it as UTF-8",
)
_GRAPHICS = re.compile(r"\\graphicspath\s*\{((?:\s*\{[^{}]*\})+)\s*\}")
_GRAPHICS_IN = re.compile(r"\{([^{}]*)\}")
_TITLE = re.compile(r"\\(?:icmltitle|title|Title|papertitle)\s*(?:\[[^\]]*\])?\s*(?=\{)")
_NOT_IN_TITLE = re.compile(
    r"\\(?:thanks|footnote|footnotemark|vspace\*?|hspace\*?)\s*\{[^{}]*\}|\\\\(\[[^\]]*\])?"
)
_CAPTION_LINE = re.compile(
    r"[\s>*_#]*(?:\w+\s+)?Tab\w*\.?[\s*_]+[\w.-]{1,8}?[\s*_]*[:.|]", re.IGNORECASE
)
_HEAD = re.compile(r"---[ \t]*\n((?:(?!---|\.\.\.).*\n)*)(?:---|\.\.\.)[ \t]*\n")  # YAML
# A linked picture, and the caption in the line below it.
_LINKED = re.compile(
    r"!\[([^\]]{0,1000})\]\(([^)\s]{1,1000}\.(?:png|jpe?g))\)"
    r"[ \t]*\n*(?:\s*((?:Figure|Fig)\b[^\n]*))?"
)


def read_file(file: Path, folder: Path) -> Paper:
    """Read `file`; what is made of it (figures, unpacked sources) is written below `folder`.

    Raises PaperError if it is missing, empty, damaged, encrypted or of a kind that cannot be read.
    """
    named = folder_and_main(file)
    if named is not None:
        check_tree(named[0], PaperError)
        return _read_by_name(named[1], folder, named[0])
    if file.is_dir():
        check_tree(file, PaperError)
        return _read_by_name(main_file(file), folder, file)
    if not file.is_file():
        wrong = "is no file" if file.exists() else "does not exist"
        raise PaperError(f"{file} {wrong}", fix=f"give the paper as {KINDS}")
    if file.name.lower().endswith(ARCHIVES):
        kind = unpack(file, folder / "source")
        if kind == "pdf":
            return pdf_paper(pdf_in(folder), folder)
        source = folder / "source"
        return _read_by_name(main_file(source), folder, source)
    return _read_by_name(file, folder)


def _read_by_name(file: Path, folder: Path, whole: Path | None = None) -> Paper:
    """One file by the ending of its name. `whole` is the paper's folder, all of which may be read;
    without it only LaTeX beside the file may.
    """
    if not file.is_file():
        raise PaperError(f"{file} does not exist", fix=f"give the paper as {KINDS}")
    if not file.stat().st_size:
        raise PaperError(f"{file} is empty", fix=f"give the paper as {KINDS}")
    match file.suffix.lower():
        case ".tex" | ".ltx" | ".latex":
            if whole is None:
                return latex_paper(_own_folder(file, folder), folder, file)
            suffixes = UNPACKED_SUFFIXES if whole.is_relative_to(folder) else FOLDER_SUFFIXES
            return latex_paper(whole, folder, file, suffixes)
        case ".pdf":
            return pdf_paper(file, folder)
        case ".md" | ".markdown" | ".txt" | ".text":
            return text_paper(file, folder)
        case ".html" | ".htm" | ".xhtml":
            return html_paper(file, folder)
        case ".ipynb" | ".rst" | ".docx":
            return document_paper(file, folder)
    raise PaperError(f"{file} is of a kind that cannot be read", fix=f"give {KINDS}")


def read_source(archive: Path, folder: Path) -> Paper | None:
    """The source of a paper from arXiv; None if that is a PDF, which is then `pdf_in(folder)`.

    An archive that cannot be unpacked is removed, so that it is fetched again. Raises PaperError.
    """
    try:
        kind = unpack(archive, folder / "source")
    except PaperError:
        archive.unlink()
        raise
    if kind == "pdf":
        return None
    source = folder / "source"
    return latex_paper(source, folder, main_file(source), UNPACKED_SUFFIXES)


def pdf_in(folder: Path) -> Path:
    """The path of the PDF that an archive contained."""
    return folder / "source" / "paper.pdf"


def pdf_paper(file: Path, folder: Path) -> Paper:
    """A PDF, read directly."""
    title, text, figures = read_pdf(file, folder / "figures")
    return _pdf_paper("pdf", title, text, figures)


def docling_paper(file: Path, answer: Path, folder: Path) -> Paper:
    """A PDF, read directly, with the tables of Docling's answer in their places."""
    tables = tables_of_document(answer)
    title, text, figures = read_pdf(file, folder / "figures", tables)
    return _pdf_paper("docling", title, text, figures)


def _pdf_paper(source: Source, title: str, text: str, figures: list[Figure]) -> Paper:
    """The paper, which names the tables that it has as lines of text alone."""
    paper = _with_body(source, title, text, parse_references(text), figures)
    lines = [name for table in text_tables_in(text, paper.tables) for name in table.names]
    told = bool(paper.unread)  # of the file that a table's rows are in
    filled = [t for t in paper.tables if told or any(entry.row for entry in t.entries)]
    known = {name for table in filled for name in table.names}
    names = [name for name in dict.fromkeys(lines) if name not in known]
    unread = undecided(names, "docling" if source == "docling" else "own")
    return paper.model_copy(update={"unread": [*paper.unread, *unread]})


def mineru_paper(markdown: Path, folder: Path) -> Paper:
    """What MinerU made of a PDF: Markdown that contains its pictures."""
    text, figures = take_pictures(read_text(markdown), folder / "figures")
    return _with_body("mineru", markdown_title(text), text, parse_references(text), figures)


def _with_body(
    source: Source,
    title: str,
    text: str,
    references: list[Reference],
    figures: list[Figure],
    latex: str = "",
    unread: Sequence[Unread] = (),
) -> Paper:
    tables: tuple[Table, ...] = ()
    try:
        with at_most(TABLES_SECONDS):
            tables = () if latex else tuple(tables_in(text))
    except (PartTimeError, MemoryError, RecursionError) as error:
        why = f"over {TABLES_SECONDS:.0f} s, too much memory, or too deep ({type(error).__name__})"
        unread = [*unread, Unread.of("its tables", why, "leave out the table that takes so long")]
    return Paper(
        tables=tables,
        source=source,
        title=title,
        text=text,
        body=body_of(text),
        references=references,
        figures=figures,
        latex=latex,
        unread=list(unread),
    )


def text_paper(file: Path, folder: Path) -> Paper:
    """Markdown or plain text as it is, with pictures moved out."""
    _refuse_too_large(file)
    text, known = decoded(file.read_bytes())
    text = with_plain_ends(text)
    if not text.strip():
        raise PaperError(f"{file} is empty", fix=f"give the paper as {KINDS}")
    unread = [] if known else [Unread.of(*UNKNOWN_ENCODING)]
    text = with_html_tables(text)
    source: Source = "markdown" if file.suffix.lower() in (".md", ".markdown") else "text"
    return _of_markdown(source, markdown_title(text), text, file.parent, folder, unread)


def html_paper(file: Path, folder: Path) -> Paper:
    """A page of HTML; arXiv's own if it is LaTeXML's."""
    _refuse_too_large(file)
    data = file.read_bytes()
    if data[:2] == b"\x1f\x8b":  # as a server packed it
        data = zlib.decompressobj(31).decompress(data, LARGEST_TEXT)
    text, known = decoded(data)
    title, markdown = html_markdown(with_plain_ends(text))
    if len(markdown.strip()) < LEAST_HTML:
        raise PaperError(f"{file} has no text of a paper", fix=f"give the paper as {KINDS}")
    unread = [] if known else [Unread.of(*UNKNOWN_ENCODING)]
    return _of_markdown("html", title, markdown, file.parent, folder, unread)


def document_paper(file: Path, folder: Path) -> Paper:
    """A notebook, reStructuredText or a Word document."""
    _refuse_too_large(file)
    readers = {".ipynb": read_notebook, ".rst": read_restructured, ".docx": read_word}
    markdown, unread = readers[file.suffix.lower()](file)
    if not markdown.strip():
        raise PaperError(f"{file} has no text", fix=f"give the paper as {KINDS}")
    title = markdown_title(markdown)
    return _of_markdown("document", title, markdown, file.parent, folder, unread)


def _refuse_too_large(file: Path) -> None:
    if file.stat().st_size > LARGEST_TEXT:
        raise PaperError(
            f"{file} is over {LARGEST_TEXT >> 20} MB", fix="give the paper's text alone"
        )


def _of_markdown(
    source: Source, title: str, text: str, beside: Path, folder: Path, unread: Sequence[Unread]
) -> Paper:
    """The paper of a Markdown text, whose pictures are in it or linked in the folder `beside`."""
    text, figures = take_pictures(text, folder / "figures")
    figures += _linked_pictures(text, beside, folder / "figures")
    paper = _with_body(source, title, text, parse_references(text), figures, unread=unread)
    return _with_missed_tables(paper)


def _with_missed_tables(paper: Paper) -> Paper:
    """The paper, which names the captions of tables that have no rows, as of one in a picture."""
    told = bool(paper.unread)  # of the file that a table's rows are in
    filled = [t for t in paper.tables if told or any(entry.row for entry in t.entries)]
    known = {name for table in filled for name in table.names}
    known |= {name for table in text_tables_in(paper.text, paper.tables) for name in table.names}
    numbers = {table_number(name) for name in known} | known
    missed = []
    for line in paper.text.splitlines():
        names, caption = (_CAPTION_LINE.match(line) and caption_parts(line)) or ((), "")
        if names and caption and not numbers & {names[0], table_number(names[0])}:
            missed.append(f"Table {names[0]}")
    if not missed:
        return paper
    what, why = ", ".join(dict.fromkeys(missed)), "there is a caption, but no rows"
    unread = Unread.of(what, why, "give its rows as a table, as in the paper's LaTeX or HTML")
    return paper.model_copy(update={"unread": [*paper.unread, unread]})


def latex_paper(
    source: Path, folder: Path, main: Path, suffixes: tuple[str, ...] = PART_SUFFIXES
) -> Paper:
    """LaTeX: the paper whose main file is `main`, its parts below `source` by their `suffixes`.

    Raises PaperError if it contains almost no text (a wrapper around a PDF).
    """
    unpacked = source.is_relative_to(folder)
    latex, left_out = inlined(main, source, suffixes)
    parts = SourceFiles(main, source, suffixes)
    read = to_markdown(latex, parts)
    text, found = read.text, read.found
    if len(text) < min(LEAST_LATEX, len(latex) // 4):
        raise PaperError(f"{main} has no text of a paper", fix="give its PDF with --paper")
    title = latex_title(latex)
    references = latex_references(source, main, found.bibliography, found.cited, latex)
    if title:
        text = f"# {title}\n\n{text}"
    if references:
        listed = "\n".join(f"- [{reference.key}] {reference.text}" for reference in references)
        text = f"{text}\n## References\n\n{listed}\n"
    places = None if unpacked else _graphics_places(latex, os.path.relpath(main.parent, source))
    figures = _latex_figures(found.graphics, source, folder / "figures", places)
    unread = [*left_out, *parts.unread.values(), *read.unread]
    paper = _with_body("latex", title, text, references, figures, latex, unread)
    return _with_missed_tables(paper.model_copy(update={"tables": read.tables_at(text)}))


def latex_title(latex: str) -> str:
    """The title, without footnotes and line breaks; "" if there is none."""
    for found in _TITLE.finditer(latex):
        group = braced(latex, found.end())
        if group and (title := to_text(_NOT_IN_TITLE.sub(" ", group[0]))):
            return title
    return ""


def markdown_title(text: str) -> str:
    """The title in the text's head, the first heading, else the first line of text; "" if that is
    too long for a title.
    """
    if head := _HEAD.match(text):
        if named := re.search(
            r"^title:[ \t]*(?:[>|][-+]?[ \t]*\n)?(.+(?:\n[ \t]+.+)*)", head[1], re.M
        ):
            return " ".join(named[1].replace("\\\n", " ").split()).strip("\"'")[:300]
        text = text[head.end() :]
    lines = [
        line.strip()
        for line in text.splitlines()
        if line.strip() and not line.startswith(("![", "<"))
    ]
    heads = [line for line in lines[:20] if line.startswith("#")]
    title = (heads or lines or [""])[0].lstrip("# ").strip("*_ ")
    if re.fullmatch(r"abstract|introduction|contents|[\d.]*\s*introduction", title, re.I) and lines:
        title = lines[0].strip("#*_ ")
    return title if len(title) < 300 else ""


def _own_folder(file: Path, folder: Path) -> Path:
    """The folder that holds a paper's parts. A home folder holds other things too: then none does,
    and the paper is its main file alone.
    """
    own = file.resolve().parent
    if not Path.home().resolve().is_relative_to(own):
        return file.parent
    (empty := folder / "alone").mkdir(parents=True, exist_ok=True)
    return empty


def _graphics_places(latex: str, main: str) -> list[str]:
    """The folders, below the paper's, where LaTeX itself looks for a picture."""
    named = ["", *_GRAPHICS_IN.findall("".join(_GRAPHICS.findall(latex)))]
    return [f"{base}/{place.strip()}" for place in named for base in (".", main)]


def _latex_figures(
    graphics: list[tuple[str, str]], source: Path, folder: Path, places: list[str] | None
) -> list[Figure]:
    """The captioned graphics that exist as PDF, PNG or JPEG, as PNG files.

    `places` are the folders below `source` in which they lie; None: they may lie in any.
    """
    figures: list[Figure] = []
    pictures = _pictures_below(source)
    for name, caption in graphics:
        path = _picture_called(name, pictures, source, places) if caption else None
        target = folder / f"figure-{len(figures) + 1}.png"
        if path is None or len(figures) >= MOST_FIGURES:
            continue
        if as_png(path, target) and min(png_size(target)) >= SMALLEST_FIGURE:
            figures.append(Figure(path=target, caption=caption))
        pictures.remove(path)  # the same picture twice is one figure
    return figures


def _pictures_below(source: Path) -> list[Path]:
    """The files below `source` that are pictures by name, among its first MOST_FILES files."""
    pictures: list[Path] = []
    for number, path in enumerate(source.rglob("*")):
        if number > MOST_FILES:
            break
        if path.suffix.lower() in PICTURES and is_plain(path, source) and path.is_file():
            pictures.append(path)
    return sorted(pictures)


def _picture_called(
    name: str, pictures: list[Path], source: Path, places: list[str] | None
) -> Path | None:
    """The picture of \\includegraphics{name}: its path ends so, with or without the suffix."""
    wanted = name.strip().strip('"').replace("\\", "/").lstrip("./").lower()
    if places is not None:
        exact = {os.path.normpath(f"{place}/{wanted}").lower() for place in places}
        named = (path.relative_to(source).as_posix().lower() for path in pictures)
        return next(
            (
                path
                for path, full in zip(pictures, named, strict=True)
                if full in exact or full.removesuffix(path.suffix.lower()) in exact
            ),
            None,
        )
    for path in pictures:
        full = "/" + path.as_posix().lower()
        if wanted and (
            full.endswith("/" + wanted)
            or full.removesuffix(path.suffix.lower()).endswith("/" + wanted)
        ):
            return path
    return None


def _linked_pictures(text: str, base: Path, folder: Path) -> list[Figure]:
    """The pictures that a Markdown file links to in its own folder, with the caption below each."""
    figures: list[Figure] = []
    for found in _LINKED.finditer(text):
        path = file_inside(base, found[2])
        target = folder / f"linked-{len(figures) + 1}.png"
        if path is None or len(figures) >= MOST_FIGURES:
            continue
        if as_png(path, target) and min(png_size(target)) >= SMALLEST_FIGURE:
            figures.append(Figure(path=target, caption=(found[3] or found[1]).strip()))
    return figures


def save_copy(file: Path, target: Path) -> None:
    """A copy of a single file beside what was made of it."""
    if file.is_file() and file.resolve() != target.resolve():
        shutil.copyfile(file, target)


# The source of a paper as arXiv serves it: a tar.gz, one gzipped file, or a PDF.
#
# An archive from the network is not trusted: only plain files come out, none of them outside the
# folder, no more than `LARGEST_SOURCE` bytes and `MOST_UNPACKED` files, however small the archive.

LARGEST_SOURCE = 200 * 2**20  # bytes, unpacked
MOST_UNPACKED = 5000  # files
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
            with tarfile.open(archive) as tar:  # a link or a device has no content
                members = ((one.name, tar.extractfile(one) if one.isreg() else None) for one in tar)
                _unpack_members(members, archive, folder)
        elif zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                files = (one for one in zipped.infolist() if not one.is_dir())
                _unpack_members(
                    ((one.filename, zipped.open(one)) for one in files), archive, folder
                )
        elif head.startswith(b"\x1f\x8b"):
            return _unpack_gzip(archive, folder)
        else:
            raise _refusal(archive, "is neither tar, zip, gzip nor PDF")
    except DAMAGED_ARCHIVE as error:
        raise _refusal(archive, f"is damaged ({error})") from error
    return "tex"


def _unpack_members(
    members: Iterable[tuple[str, IO[bytes] | None]], archive: Path, folder: Path
) -> None:
    left = LARGEST_SOURCE
    for number, (name, source) in enumerate(members):
        target = _inside(folder, name, archive)
        if number >= MOST_UNPACKED:
            raise _refusal(archive, f"holds over {MOST_UNPACKED} files")
        if source is None or name.startswith("__MACOSX/"):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        left -= _copy(source, target, left, archive)


def _unpack_gzip(archive: Path, folder: Path) -> Kind:
    """One gzipped file: the TeX of a short paper, or a PDF."""
    target = folder / "main.tex"
    with gzip.open(archive) as source:
        _copy(source, target, LARGEST_SOURCE, archive)
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
                raise _refusal(archive, f"unpacks to over {LARGEST_SOURCE >> 20} MB")
            file.write(chunk)
    return copied


def _refusal(archive: Path, why: str) -> PaperError:
    return PaperError(f"{archive.name} {why}", fix="give the paper with --paper FILE")

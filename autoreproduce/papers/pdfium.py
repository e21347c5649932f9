"""PDFium, and pictures as PNG without another library.

PDFium is one library with one state for the whole process, is not made for threads, and a hostile
file may crash it: this code runs in a process of its own (`confined`) that reads one paper.
"""

import contextlib
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autoreproduce.errors import PaperError

LONGEST_SIDE = 1600  # pixels of a saved picture: more than a model that sees pictures is given


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A `pypdfium2.PdfDocument`. Raises PaperError if the file is encrypted or damaged."""
    import pypdfium2
    from pypdfium2 import raw

    try:
        document = pypdfium2.PdfDocument(path)
        pages = len(document)
    except pypdfium2.PdfiumError as error:
        # the code alone may be that of an earlier file
        if error.err_code == raw.FPDF_ERR_PASSWORD and b"/Encrypt" in path.read_bytes():
            raise PaperError(
                f"{path} is encrypted", fix="save it without a password, then give it again"
            ) from error
        raise PaperError(
            f"{path} is damaged or no PDF", fix="fetch it again, or give another --paper"
        ) from error
    if not pages:
        document.close()
        raise PaperError(f"{path} has no pages", fix="give another --paper")
    try:
        yield document
    except pypdfium2.PdfiumError as error:
        raise PaperError(
            f"{path} is damaged ({error})", fix="fetch it again, or give another --paper"
        ) from error
    finally:
        document.close()


def save_page(
    page: Any,
    target: Path,
    region: tuple[float, float, float, float] | None = None,
    scale: float = 3.0,
) -> None:
    """Draw a page as a PNG, or its `region`: left, bottom, right, top in points from lower left.

    `scale` is pixels a point; less if the longest side would exceed LONGEST_SIDE.
    """
    width, height = page.get_size()
    left, bottom, right, top = region or (0.0, 0.0, width, height)
    left, bottom, right, top = max(0.0, left), max(0.0, bottom), min(width, right), min(height, top)
    if not (right - left >= 1.0 and top - bottom >= 1.0 and width >= 1.0 and height >= 1.0):
        raise PaperError(
            f"nothing to draw for {target.name}", fix="leave it out"
        )  # PDFium crashes on an empty bitmap
    scale = min(scale, LONGEST_SIDE / max(right - left, top - bottom, 1.0))
    crop = (left, bottom, width - right, height - top)
    bitmap = page.render(scale=scale, crop=crop, rev_byteorder=True, may_draw_forms=False)
    try:
        write_png(bitmap.to_numpy(), target)
    finally:
        bitmap.close()


def write_png(pixels: Any, target: Path) -> None:
    """Write an array (height, width) or (height, width, 3), uint8, as a PNG."""
    import numpy

    height, width = pixels.shape[:2]
    colour = 2 if pixels.ndim == 3 and pixels.shape[2] == 3 else 0
    rows = numpy.ascontiguousarray(pixels).reshape(height, -1)
    unfiltered = numpy.hstack([numpy.zeros((height, 1), dtype=numpy.uint8), rows]).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(unfiltered, 6)), (b"IEND", b"")]
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for name, data in chunks:
            checksum = struct.pack(">I", zlib.crc32(name + data))
            file.write(struct.pack(">I", len(data)) + name + data + checksum)


def as_png(picture: Path, target: Path) -> bool:
    """Save a PDF's first page, a JPEG or a PNG as a PNG; False if it is none or damaged."""
    head = picture.read_bytes()[:8]
    try:
        if head.startswith(b"\x89PNG"):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(picture.read_bytes())
        elif head.startswith(b"%PDF"):
            with opened(picture) as document:
                save_page(document[0], target)
        elif head.startswith(b"\xff\xd8\xff"):
            _save_jpeg(picture, target)
        else:
            return False
    except PaperError:
        return False
    return True


def _save_jpeg(picture: Path, target: Path) -> None:
    """PDFium reads JPEG: put it on a page of its own size and draw that."""
    import pypdfium2

    # Closed from the inside out: earlier releases don't find what outlives its document.
    with contextlib.ExitStack() as stack:
        document = stack.enter_context(contextlib.closing(pypdfium2.PdfDocument.new()))
        image = pypdfium2.PdfImage.new(document)
        unplaced = stack.enter_context(contextlib.ExitStack())
        unplaced.callback(image.close)
        try:
            image.load_jpeg(picture)
            width, height = image.get_px_size()
            if not (width and height):
                raise PaperError(f"{picture} is damaged", fix="leave it out")
            page = stack.enter_context(contextlib.closing(document.new_page(width, height)))
            image.set_matrix(pypdfium2.PdfMatrix().scale(width, height))
            page.insert_obj(image)
            unplaced.pop_all()  # the page has it now
            page.gen_content()
            save_page(page, target, scale=1.0)
        except pypdfium2.PdfiumError as error:
            raise PaperError(f"{picture} is damaged", fix="leave it out") from error

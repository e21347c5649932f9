"""PDF to Markdown by MinerU 4, which is installed only with the extra `mineru`.

Either as its own process (`mineru-kit parse`, found beside this Python or on PATH, so that it may
be in a separate environment), or by its HTTP server (`mineru-kit api-server`), whose address is the
setting `mineru_url`. The tier `flash` needs no weights; the others fetch theirs at first use.
"""

import base64
import binascii
import json
import re
import time
from pathlib import Path
from typing import Any

from autoreproduce.config import Settings
from autoreproduce.errors import PaperError, UnreachableError, UsageError
from autoreproduce.papers.model import SMALLEST_FIGURE, Figure, png_size
from autoreproduce.papers.outside_reader import LONGEST, program_path, run_reader
from autoreproduce.papers.pdfium import as_png

ANSWERED = 120.0  # seconds for each of the server's answers
LARGEST = 64 * 2**20  # bytes of an answer, which holds the pictures too
_PLAIN = {"Accept-Encoding": "identity"}
_DATA = r"data:image/[\w.+-]+;base64,([A-Za-z0-9+/=\s]+)"
_PICTURE = re.compile(
    rf"!\[[^\]]{{0,1000}}\]\(\s*{_DATA}\)|<img\b[^>]{{0,1000}}?src=[\"']{_DATA}[\"'][^>]*>"
)
_CAPTION = re.compile(r"(?:\*{0,2})((?:Figure|Fig\.?)\s*[A-Z]?\.?\d+.*)", re.I)


def read_by_mineru(settings: Settings, pdf: Path, folder: Path) -> Path:
    """A file in `folder` with the Markdown of `pdf`, its pictures included.

    Raises UsageError if MinerU is not installed or the server does not answer, PaperError if it
    cannot read the PDF.
    """
    if settings.papers.mineru_url:
        markdown = _by_server(
            settings.papers.mineru_url.rstrip("/"), settings.papers.mineru_tier, pdf
        )
    else:
        markdown = _by_process(settings.papers.mineru_tier, pdf, folder)
    if len(markdown.strip()) < 20:
        raise PaperError(
            f"MinerU found no text in {pdf}", fix="try a higher --mineru-tier, or --pdf-reader own"
        )
    file = folder / "mineru.part.md"
    file.write_text(markdown, encoding="utf-8", errors="replace")
    return file


def executable() -> str:
    """The path of mineru-kit. Raises UsageError if it is not installed."""
    return program_path("mineru-kit", "MinerU", "mineru")


def _by_process(tier: str, pdf: Path, folder: Path) -> str:
    output = folder / "mineru.part.md"
    command = [executable(), "parse", str(pdf), "-o", str(output), "--tier", tier]
    run_reader(command, "MinerU", pdf, folder / "mineru.log")
    if not output.is_file():
        raise PaperError(f"MinerU made nothing of {pdf}", fix="try --pdf-reader own")
    text = output.read_text(encoding="utf-8", errors="replace")
    output.unlink()
    return text


def _by_server(url: str, tier: str, pdf: Path) -> str:
    """The Markdown from a task on the server: sent, polled each second, fetched."""
    import httpx2

    try:
        with httpx2.Client(base_url=url, timeout=ANSWERED, headers=_PLAIN) as client:
            task = _finished_task(client, tier, pdf)
            if task["status"] != "completed":
                reason = _task_error(task)
                raise PaperError(
                    f"MinerU's server could not read {pdf} ({reason})", fix="try --pdf-reader own"
                )
            result = _answer(client, "GET", f"/v1/tasks/{task['task_id']}/result")
            return str(result["files"][0]["content"]["markdown"])
    except httpx2.TransportError as error:
        raise UsageError(
            f"MinerU's server at {url} does not answer ({type(error).__name__})",
            fix="start it with `mineru-kit api-server`, or leave out --mineru-url",
        ) from error
    except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
        raise PaperError(
            f"{url} does not answer as MinerU 4 does ({error!r})", fix="check --mineru-url"
        ) from error


def _finished_task(client: Any, tier: str, pdf: Path) -> dict[str, Any]:
    task = _answer(
        client,
        "POST",
        "/v1/tasks",
        params={"tier": tier, "filename": pdf.name, "output_formats": "markdown"},
        headers={"Content-Type": "application/octet-stream"},
        content=pdf.read_bytes(),
    )
    deadline = time.monotonic() + LONGEST
    while task["status"] not in ("completed", "partial", "failed", "canceled"):
        if time.monotonic() > deadline:
            raise PaperError(
                f"MinerU's server did not finish in {LONGEST:.0f} s", fix="try --mineru-tier flash"
            )
        time.sleep(1.0)
        task = _answer(client, "GET", f"/v1/tasks/{task['task_id']}")
    return task


def _answer(client: Any, method: str, path: str, **request: Any) -> dict[str, Any]:
    """The JSON that the server answers. An error becomes a PaperError with its words."""
    with client.stream(method, path, **request) as response:
        body = _body(response)
    if not response.is_success:
        try:
            message = str(json.loads(body)["error"]["message"])
        except (KeyError, TypeError, ValueError, RecursionError):
            message = f"HTTP {response.status_code}"
        kind = UnreachableError if response.status_code >= 500 else PaperError
        raise kind(
            f"MinerU's server refused the PDF ({message})",
            fix="check --mineru-tier, or try --pdf-reader own",
        )
    answer: dict[str, Any] = json.loads(body)
    return answer


def _body(response: Any) -> bytes:
    """What the server sent, as it came. Raises PaperError if it is too large or takes too long."""
    body, ends = bytearray(), time.monotonic() + ANSWERED
    for chunk in response.iter_raw():  # not decompressed: it would grow beyond the bound
        body += chunk
        if len(body) > LARGEST or time.monotonic() > ends:
            raise PaperError(
                f"An answer of MinerU's server has over {LARGEST >> 20} MB or takes over "
                f"{ANSWERED:.0f} s",
                fix="check --mineru-url, or try --pdf-reader own",
            )
    return bytes(body)


def _task_error(task: dict[str, Any]) -> str:
    errors = [str((file.get("error") or {}).get("message", "")) for file in task.get("files", [])]
    return next((error for error in errors if error), task["status"])


def take_pictures(markdown: str, folder: Path) -> tuple[str, list[Figure]]:
    """Move the pictures that are in the Markdown as base64 to PNG files.

    The large ones are figures; a figure's caption is the first line after it that begins with
    "Figure".
    """
    figures: list[Figure] = []
    count = 0

    def moved(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        path = folder / f"figure-{count}.png"
        if not _save_png(found[1] or found[2], path):
            return ""
        if min(png_size(path)) >= SMALLEST_FIGURE:
            figures.append(Figure(path=path, caption=_caption_after(markdown, found.end())))
        return f"![](figures/{path.name})"

    return _PICTURE.sub(moved, markdown), figures


def _save_png(data: str, path: Path) -> bool:
    raw = path.with_suffix(".raw")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        raw.write_bytes(base64.b64decode("".join(data.split()), validate=True))
        return as_png(raw, path)
    except binascii.Error:
        return False
    finally:
        raw.unlink(missing_ok=True)


def _caption_after(markdown: str, position: int) -> str:
    """The caption in the next lines; the text that MinerU read inside the picture is skipped."""
    following = re.sub(
        r"<details>.*?</details>", "", markdown[position : position + 4000], flags=re.S
    )
    lines = [line.strip() for line in following.splitlines() if line.strip()][:3]
    return next((found[1] for line in lines if (found := _CAPTION.match(line))), "")

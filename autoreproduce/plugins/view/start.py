"""Starting a trial from a page: an uploaded PDF, an experiment of its plan, a model, a budget.

No path comes from the browser: the paper lies under its digest, beside the runs. What is asked is
checked here and handed over as one argument each, so nothing of it is read as a flag.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from autoreproduce.errors import UsageError

MOST_BYTES = 50_000_000  # of a PDF
MOST_DOLLARS = 1000.0
UPLOADS = "uploads"
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,40}(:[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,100})?")
_EXPERIMENT = re.compile(r"[A-Za-z0-9][\w .,()&+-]{0,80}")


@dataclass(frozen=True)
class StartRequest:
    """What a page asks for."""

    model: str
    experiment: str
    budget: float

    @classmethod
    def of(cls, given: Mapping[str, str]) -> StartRequest:
        """Of an address. Raises UsageError for what is none of these."""
        model, experiment = given.get("model", "").strip(), given.get("experiment", "").strip()
        if not _MODEL.fullmatch(model) or model.startswith("tape:"):
            raise UsageError("this is no model", fix="name one as provider:name, or tape")
        if not _EXPERIMENT.fullmatch(experiment):
            raise UsageError("this is no experiment", fix='name one, such as "Table 2", or main')
        try:
            budget = float(given.get("budget", ""))
        except ValueError:
            budget = 0.0
        if not 0 < budget <= MOST_DOLLARS:
            raise UsageError(
                "this is no budget", fix=f"give dollars, above 0 and at most {MOST_DOLLARS:,.0f}"
            )
        return cls(model, experiment, budget)

    def command(self, paper: Path, runs: Path) -> list[str]:
        """The command that reproduces `paper` into `runs`."""
        return [
            *(sys.executable, "-P", "-m", "autoreproduce", "reproduce", f"--paper={paper}"),
            *(f"--experiment={self.experiment}", f"--model={self.model}"),
            *(f"--budget={self.budget:g}", f"--runs-dir={runs}"),
        ]


async def uploaded_pdf(request: Request, root: Path) -> Path:
    """Store the PDF in a request's body under its digest. Raises UsageError for another body, or
    one that is too large: no more of it than that is read.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise UsageError(
                f"the paper has more than {MOST_BYTES // 10**6} MB", fix="reproduce it by --paper"
            )
        parts.append(part)
    data = b"".join(parts)
    if not data.startswith(b"%PDF-"):
        raise UsageError("this is no PDF", fix="choose the paper's PDF")
    folder = root / UPLOADS
    if folder.is_symlink():
        raise UsageError(f"{folder} is a link", fix="put a folder there")
    folder.mkdir(exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:16]}.pdf"
    fresh = folder / f".{secrets.token_hex(8)}"
    fresh.write_bytes(data)
    fresh.replace(path)
    return path

"""A new task's folder from `reproducebench/_template`: it runs as it stands, and says what is still
to be written.

The template is a tiny experiment of its own, so every command works on the new folder from the
first minute, and each part is replaced while the rest still works. What is still to fill is
found by its mark, so a task that is half written cannot pass for a whole one.
"""

import re
from pathlib import Path

from autoreproduce.content import folder
from autoreproduce.errors import UsageError
from autoreproduce.papers.arxiv_client import normal_id

MARK = "FILL"


def new_task(
    task_id: str,
    *,
    into: Path,
    arxiv: str | None,
    title: str,
    method: str,
    dataset: str,
    metric: str,
) -> Path:
    """Write the folder `into`/`task_id`. `metric` is NAME or NAME:higher.

    Raises UsageError for a name that cannot be one, and where the folder is there: nothing is
    written over.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", task_id):
        raise UsageError(
            f"{task_id!r} cannot be a task's id", fix="use small letters, digits, - and _"
        )
    name, _, direction = metric.partition(":")
    if not re.fullmatch(r"[A-Za-z]\w*", name) or direction not in ("", "lower", "higher"):
        raise UsageError(
            f"--metric {metric}",
            fix="write NAME, NAME:lower or NAME:higher, the name as in metrics.json",
        )
    target = into / task_id
    if target.exists():
        raise UsageError(f"{target} is there", fix="name another id, or edit that folder")
    values = {
        "id": task_id,
        "arxiv": f'"{normal_id(arxiv)}"' if arxiv else "null",
        "title": title,
        "method": method,
        "dataset": dataset,
        "metric": name,
        "direction": direction or "lower",
    }
    try:
        _write(folder("reproducebench") / "_template", target, values)
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written ({error.strerror})", fix="name another folder with --into"
        ) from None
    return target


def still_to_fill(task: Path) -> dict[str, int]:
    """How many places of each file of a task's folder still have the mark."""
    counts = {
        path.relative_to(task).as_posix(): path.read_text(encoding="utf-8", errors="replace").count(
            MARK
        )
        for path in sorted(task.rglob("*"))
        if path.suffix in {".yaml", ".md", ".py"}
    }
    return {name: count for name, count in counts.items() if count}


def _write(template: Path, target: Path, values: dict[str, str]) -> None:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    for path in sorted(
        p for p in template.rglob("*") if p.is_file() and "__pycache__" not in p.parts
    ):
        text = path.read_text(encoding="utf-8")
        place = target / path.relative_to(template)
        if path.suffix == ".j2":
            text, place = environment.from_string(text).render(values), place.with_suffix("")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

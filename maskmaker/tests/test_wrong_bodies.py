"""Wrong and right bodies for programs that others wrote: wrong_bodies.yaml.

AUTOREPRODUCE_REPOSITORIES names a folder with their clones (OWNER+NAME); AUTOREPRODUCE_ONLY one of
them. Without the first the file alone is checked.
"""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoreproduce.config import Settings
from autoreproduce.files.bounded import parse_python
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.autoexperiment.layout import copy_code
from autoreproduce.plugins.autoexperiment.masking import mask, read_source
from autoreproduce.plugins.autoexperiment.outcome import judge
from autoreproduce.plugins.autoexperiment.selection import MaskedTask
from autoreproduce.plugins.autoexperiment.tasks import masked_task
from autoreproduce.sandboxes.setup import SandboxSetup
from maskmaker.making import make_tasks
from maskmaker.measure_original import MaskRequest

CLONES = os.environ.get("AUTOREPRODUCE_REPOSITORIES", "")
ONLY = os.environ.get("AUTOREPRODUCE_ONLY", "")
ENTRIES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "wrong_bodies.yaml").read_text()
)
MOST = 0.02  # of the wrong bodies may pass


@dataclass
class Count:
    """What became of a repository's bodies; `lines` names those that surprise."""

    functions: int = 0
    wrong: int = 0
    by_numbers: int = 0
    passed: int = 0
    right: int = 0
    right_passed: int = 0
    lines: list[str] = field(default_factory=list)


def test_the_file_holds_enough_bodies_that_are_python() -> None:
    functions = [each for entry in ENTRIES for each in entry["functions"].values()]
    assert len(ENTRIES) >= 5 and sum(len(each["wrong"]) for each in functions) >= 60
    assert sum(len(each["right"]) for each in functions) >= 20
    for each in functions:
        for body in (each["wrong"] | each["right"]).values():
            parse_python("def f():\n" + "\n".join(f"    {line}" for line in body.splitlines()))


@pytest.mark.skipif(not CLONES, reason="AUTOREPRODUCE_REPOSITORIES names no clones")
@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_wrong_bodies_fail_and_right_ones_pass(tmp_path: Path) -> None:
    counts = {}
    for entry in ENTRIES:
        name = entry["repository"]
        if ONLY in name:
            counts[name] = counted(entry, tmp_path / name.replace("/", "+"))
            print(f"\n{name} ({entry['commit']}): {counts[name]}", flush=True)
    wrong, passed = (
        sum(getattr(each, what) for each in counts.values()) for what in ("wrong", "passed")
    )
    print(f"{passed} of {wrong} wrong bodies pass")
    assert all(each.right == each.right_passed for each in counts.values())
    assert passed <= MOST * wrong


def counted(entry: dict[str, Any], place: Path) -> Count:
    code = extracted(entry, place / "code")
    paper = entry["repository"].replace("/", "-")
    settings = Settings(sandbox="process", cache_dir=place / "cache")  # type: ignore[arg-type]
    setup = SandboxSetup(settings, place / "packages", trusted=True, note=lambda _: None)
    command = ("python main.py --seed {seed}",)
    functions = tuple(entry["functions"])
    asked = MaskRequest(
        code, command, place / "set", paper, functions, (1,), sample=None, timeout=120, workers=2
    )
    made = make_tasks(asked, setup)
    found = Count()
    proven = {each.combined_id for each in made.proven}
    for row in masked_task(place / "set", f"{paper}_").paper.functions:
        task = masked_task(place / "set", f"{paper}_{row.func_id}")
        address = task.paper.made.addresses[row.func_id] if task.paper.made else row.name
        bodies = entry["functions"][f"{row.file}::{address}"]
        if task.id not in proven:
            reason = next(each.reason for each in made.proofs if each.combined_id == task.id)
            found.lines.append(f"{address} is not proven: {reason}")
            continue
        found.functions += 1
        for kind in ("wrong", "right"):
            for name, body in bodies[kind].items():
                tell(task, address, kind, name, body, setup, place / "submission", found)
    return found


def tell(
    task: MaskedTask,
    address: str,
    kind: str,
    name: str,
    body: str,
    setup: SandboxSetup,
    submission: Path,
    found: Count,
) -> None:
    """Judge one body as an answer, and count it."""
    file = task.functions[0].file
    Tree(submission.parent).remove(submission.name)
    copy_code(task.paper.code, submission)
    source = read_source(submission, file)
    text = mask(source, [(source.find(address), body.rstrip())])
    Tree(submission).write(file, text)
    outcome = judge(task, submission, setup)
    if kind == "right":
        found.right, found.right_passed = (
            found.right + 1,
            found.right_passed + outcome.strict.passed,
        )
    else:
        found.wrong, found.passed = found.wrong + 1, found.passed + outcome.strict.passed
        found.by_numbers += outcome.by_numbers
    if outcome.strict.passed != (kind == "right"):
        found.lines.append(f"{address}, {kind}, {name}: {outcome.kind}: {outcome.reason[:300]}")


def extracted(entry: dict[str, Any], code: Path) -> Path:
    """The files of a repository's commit that its program needs, and our program beside them."""
    clone = Path(CLONES).resolve() / entry["repository"].replace("/", "+")
    packed = subprocess.run(
        ["git", "-C", str(clone), "archive", entry["commit"], *entry["keep"]],
        capture_output=True,
        check=True,
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(code, filter="data")
    (code / "main.py").write_text(entry["program"])
    return code

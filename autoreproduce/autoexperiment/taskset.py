"""What a set made by `mask` knows beyond the public format: command, seeds, tolerances, splits.

It lies in `taskset.json` beside a paper's `functions.jsonl` and in `splits.json` and `proofs.jsonl` at the root; a
reader of the public format passes over all three.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autoreproduce.autoexperiment.compare import Tolerance
from autoreproduce.errors import UsageError

PAPER_FILE, SPLITS_FILE, PROOFS_FILE = "taskset.json", "splits.json", "proofs.jsonl"
Split = Literal["dev", "test"]


class PaperSet(BaseModel):
    """How the experiments of a paper are run and judged. `tolerances` go by experiment id and leaf (`loss/0`)."""

    model_config = ConfigDict(extra="forbid")

    format: Literal[1] = 1
    results: str | None = Field(None, description="file with the numbers, relative to the code; the output where None")
    patterns: dict[str, str] = Field({}, description="regular expression of a leaf's number in the output")
    seeds: list[int] = [0]
    timeout: float = Field(1200.0, gt=0, description="seconds for the whole command; as upstream where nothing is said")
    tolerance: Tolerance = Tolerance()
    tolerances: dict[str, dict[str, Tolerance]] = {}
    addresses: dict[str, str] = Field({}, description="func_id: the function's address in its file")
    data: str = Field("", description="ID/PROFILE of the ReproduceBench task whose data the code reads from DATA_DIR")
    packages: list[str] = []
    notes: list[str] = []


class Proof(BaseModel):
    """What was found when a task was tried out before it counts. `reason` says why it does not."""

    combined_id: str
    proven: bool
    reason: str = ""
    runs: dict[str, str] = Field({}, description="masked, restored, trivial bodies: what came of each")


def read_paper_set(folder: Path) -> PaperSet | None:
    """taskset.json of a paper, None where there is none. Raises UsageError that names file and field."""
    path = folder / PAPER_FILE
    if not path.is_file():
        return None
    try:
        return PaperSet.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}: correct it") from None


def read_proofs(root: Path) -> dict[str, Proof]:
    """The proofs of a set by combined id; empty for public data, which has none."""
    path = root / PROOFS_FILE
    if not path.is_file():
        return {}
    try:
        # not splitlines, which also splits at a U+2028 within a text
        proofs = [Proof.model_validate_json(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
    except (ValidationError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is damaged ({str(error).splitlines()[0]}): run `autoreproduce mask` again") from None
    return {proof.combined_id: proof for proof in proofs}


def read_splits(root: Path, papers: Sequence[str]) -> Mapping[str, Split]:
    """`dev` or `test` by paper: as splits.json says, and for those it leaves out by their names."""
    path = root / SPLITS_FILE
    said: dict[str, Split] = {}
    if path.is_file():
        try:
            found = json.loads(path.read_text("utf-8"))
            said = {str(paper): split for paper, split in found.items() if split in ("dev", "test")}
        except (ValueError, AttributeError) as error:
            raise UsageError(f'{path} is no JSON object of paper: "dev" or "test" ({error}): correct it') from None
    return split_papers(papers, said)


def split_papers(papers: Sequence[str], said: Mapping[str, Split] | None = None) -> Mapping[str, Split]:
    """Half of the papers for tuning, half for the figure that counts, each paper whole.

    The order is that of a digest of the names: nobody chooses. A paper that `said` names stays where it is; a new
    one goes where fewer are, to `test` where both have as many.
    """
    found = {paper: split for paper, split in (said or {}).items() if paper in papers}
    for paper in sorted(set(papers) - set(found), key=lambda each: hashlib.sha256(each.encode()).hexdigest()):
        sides = list(found.values())
        found[paper] = "dev" if sides.count("dev") < sides.count("test") else "test"
    return found

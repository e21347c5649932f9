"""How a program from outside is run: the command, and what it needs that it does not bring.

Its data lie where it looks (`data_at`), its number is read where it writes (`metric_from`), the
packages that it imports are installed, and files of the user's own lie beside it while it runs:
they are no part of the program, and neither judged nor compared.

Where a program from outside expects its data: `--data-at PATH`.

An absolute path shows the prepared folder there; a relative one is a folder of the program, in
which each file and folder of the data is a link, beside what the program brings itself.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from autoreproduce.contracts import Submission
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.submitted_code import LARGEST, is_safe
from autoreproduce.files.bounded import LARGEST_JSON
from autoreproduce.files.shared import read_plain
from autoreproduce.files.tree import Tree
from autoreproduce.sandboxes.inside import DATA, HOME, PACKAGES, WORKSPACE
from autoreproduce.trials.derivation import files_of, parse_metric_source
from autoreproduce.trials.measurement import failure, way_on
from autoreproduce.trials.run import METRICS

if TYPE_CHECKING:
    from autoreproduce.contracts import Execution
    from autoreproduce.trials.trial import Trial


TAKEN = (
    *("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "proc", "dev", "sys"),
    *("run", "tmp", PACKAGES.lstrip("/"), DATA.lstrip("/")),
)


# Programs that set PYTHONPATH themselves would lose the packages that are installed for them: the
# overlay's own Python finds them without. No record shows this line.
PACKAGES_FIRST = 'PATH="${PYTHONPATH%/site}/bin:$PATH"; '


@dataclass(frozen=True)
class DataPlace:
    """`mount`: the absolute path, or "". `link_line`: what the shell runs first."""

    mount: str = ""
    link_line: str = PACKAGES_FIRST


def data_place(path: str) -> DataPlace:
    """The place that `--data-at` names. Raises UsageError for one that cannot hold data."""
    given = PurePosixPath(f"/{path.lstrip('/')}" if path.startswith("/") else path)  # //etc is /etc
    if given.is_absolute() and given.is_relative_to(WORKSPACE):
        given = given.relative_to(WORKSPACE)
    parts = [part for part in given.parts if part != "/"]
    taken = given.is_absolute() and (parts[:1] == [] or parts[0] in TAKEN or str(given) == HOME)
    if not path.strip() or not parts or ".." in parts or taken:
        raise UsageError(
            f"--data-at {path!r} cannot hold the data",
            fix="name a folder of the program, such as data, or a path such as /mnt/data",
        )
    if given.is_absolute():
        return DataPlace(mount=str(given))
    folder = shlex.quote(f"./{given}")
    return DataPlace(
        link_line=f'{PACKAGES_FIRST}mkdir -p {folder} && ln -sfn "$DATA_DIR"/* {folder}/ && '
    )


FILE = "outside_run.json"


@dataclass(frozen=True)
class OutsideRun:
    """A command, where its data lie and its numbers, packages (names with versions), files beside
    the program (name -> text), and the date of its last commit, by which packages are chosen.
    """

    command: str
    data_at: str = ""
    metric_from: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    written: str = ""

    def __post_init__(self) -> None:
        """Raises UsageError for a place that is none."""
        data_place(self.data_at or "data")
        for text in self.metric_from:
            parse_metric_source(text)
        if unsafe := [name for name in self.beside if not is_safe(name)]:
            raise UsageError(f"--beside {unsafe[0]!r:.80}", fix="name a file")

    @property
    def asked(self) -> list[str]:
        """What tells its run from another one, as the journal has it."""
        beside = json.dumps(dict(self.beside), sort_keys=True) if self.beside else ""
        return [self.command, *filter(None, [self.data_at, ", ".join(self.packages), beside])]

    @property
    def place(self) -> DataPlace:
        """Where its data lie beside DATA_DIR."""
        return data_place(self.data_at) if self.data_at else DataPlace()


def read_files(metric_from: Sequence[str]) -> tuple[str, ...]:
    """The files, and patterns of files, in which a program's numbers are looked for."""
    return (*sorted(files_of(metric_from)), METRICS)


def submission_of(run: Execution, workspace: Path, metric_from: Sequence[str]) -> Submission:
    """What a run leaves to measure. One that failed by itself may have written its numbers before:
    they are looked for where the user says that they are, else in a metrics.json of this run.
    """
    done = Submission("complete", "it ran in full", "full_run", run=run, metric_from=metric_from)
    if run.ok:
        return done
    wrote = METRICS not in run.unwritten and Tree(workspace).kind(METRICS) == "file"
    if not run.stopped and (metric_from or wrote):
        return replace(done, reason=f"it failed after it had written its numbers: {failure(run)}")
    why = f"the run failed: {failure(run)}{way_on(run.stderr)}"
    return Submission("failed", why, "full_run", run=run)


def at_seed(command: str, seed: int) -> str:
    """The command with the seed in place of `{seed}`."""
    return command.replace("{seed}", str(seed))


def write_outside_run(trial: Trial, run: OutsideRun) -> None:
    """Write down how a trial's program is run, for its further runs."""
    trial.write(FILE, json.dumps(asdict(run), indent=1) + "\n")


def read_outside_run(folder: Path) -> OutsideRun | None:
    """What was written down in a trial's folder, None without it or if it cannot be read."""
    try:
        found = TypeAdapter(OutsideRun).validate_json(read_plain(folder / FILE, LARGEST_JSON))
    except (OSError, ValueError, UsageError):
        return None
    return found


def read_beside(paths: Sequence[Path], option: str = "--beside") -> dict[str, str]:
    """The texts of `option` by file name. Raises UsageError for what is no text file."""
    found: dict[str, str] = {}
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{option} {path} cannot be read ({error})", fix="name a text file"
            ) from None
        if path.name in found or len(text) > LARGEST:
            raise UsageError(
                f"{option} {path} has the name of another one, or over {LARGEST:,} bytes",
                fix="name small files of different names",
            )
        found[path.name] = text
    return found

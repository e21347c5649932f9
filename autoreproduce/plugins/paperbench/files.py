"""The files of a submission that a judge of Code Development reads, packed into the room there is.

Sources of the kinds and of what is passed over: PaperBench (arXiv 2504.01848), its judge's
description.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from autoreproduce.evaluation.judging.submitted_code import Sources, program_below, read_program
from autoreproduce.files.kinds import DOCUMENTS, NOT_WRITTEN, SETTINGS
from autoreproduce.models.tokens import rough_tokens

CODE = {
    ".py", ".ipynb", ".r", ".rmd", ".m", ".jl", ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hxx",
    ".cu", ".java", ".js", ".ts", ".scala", ".go", ".rs", ".sh", ".config", *SETTINGS,
}  # fmt: skip
PASSED_OVER = NOT_WRITTEN | {".env", "wandb", ".github"}
NOT_SHOWN = {
    "reproduce.sh",
    "reproduce.log",
}  # the reproduction step's: not among the code, and not shown in Code-Dev
# Lines of `prompts/paperbench/grade.md`: what a submission holds of them is not the prompt's.
_FRAME = re.compile(
    r"^(?=[ \t]{0,3}(?:=== .+ ===[ \t]*$|~{4,}|#{1,2}[ \t]+(?:What is asked|The (?:criterion|answer"
    r"|paper|submission's files)|Before it in the rubric|Addendum (?:to the paper|for those who"
    r" grade)|What reproduce\.sh wrote|What `bash reproduce\.sh` printed.*|reproduce\.sh)[ \t]*$))",
    re.MULTILINE,
)
MOST_RANKED = 10  # files that a judge may name if not all fit
SHORTEST = 200  # tokens: less of a file than this is not worth showing


@dataclass(frozen=True)
class Shown:
    """Files as a prompt shows them. `left_out`: not shown; `cut`: shown only in its beginning."""

    files: list[tuple[str, str]]
    left_out: list[str] = field(default_factory=list)
    cut: str = ""


@dataclass(frozen=True)
class SubmittedFiles(Sources):
    """`files`: what a judge sees; `not_shown`: what belongs to it and no judge of code sees."""

    not_shown: dict[str, str] = field(default_factory=dict)


def read_submission(source: str, without: Sequence[Path] = ()) -> SubmittedFiles:
    """The code and documents at a path, in an archive or at a git URL; of a trial, its program.

    Raises UsageError if there is nothing.
    """
    kinds, trial = DOCUMENTS | CODE, (Path(source) / "trial.json").is_file()
    if trial:
        program = program_below(Path(source) / "workspace", without, kinds, PASSED_OVER)
    else:
        program = read_program(source, without=without, kinds=kinds, skipped=PASSED_OVER)
    counted = {
        name: as_evidence(text)
        for name, text in program.files.items()
        if _is_counted(name) and text.strip()
    }
    not_shown = {
        name: text for name, text in counted.items() if PurePosixPath(name).name in NOT_SHOWN
    }
    read = {name: text for name, text in counted.items() if name not in not_shown}
    return SubmittedFiles(read, program.unread, program.origin, not_shown=not_shown)


def as_evidence(text: str) -> str:
    """A submission's text for a prompt: a line that looks like the prompt's own is marked."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _FRAME.sub("| ", text)


def _is_counted(name: str) -> bool:
    return not any(each.endswith(".egg-info") for each in PurePosixPath(name).parts[:-1])


def all_of(program: Sources, room: int) -> Shown | None:
    """All files, if they fit into `room` tokens (`tokens.rough_tokens`), else None."""
    files = sorted(program.files.items())
    return Shown(files) if sum(map(cost, files)) <= room else None


def the_best(program: Sources, ranked: Iterable[str], room: int) -> Shown:
    """The first ten of `ranked` that exist, as far as they fit; the last one may be cut."""
    names = [name for name in dict.fromkeys(ranked) if name in program.files][:MOST_RANKED]
    files: list[tuple[str, str]] = []
    cut = ""
    for name in names:
        file = (name, program.files[name])
        if (own := cost(file)) > room:
            if room >= SHORTEST:
                files.append((name, beginning(file[1], room)))
                cut = name
            break
        files.append(file)
        room -= own
    shown = {name for name, _ in files}
    return Shown(files, sorted(program.files.keys() - shown), cut)


def cost(file: tuple[str, str]) -> int:
    """Tokens of a file as a prompt shows it."""
    return rough_tokens(f"=== {file[0]} ===\n{file[1]}\n")


def beginning(text: str, room: int) -> str:
    """As many whole lines as fit; of a first one that does not, its beginning."""
    lines, fitting = text.split("\n"), []
    if rough_tokens(lines[0]) >= room:
        return text.encode("utf-8", "replace")[: 3 * room].decode("utf-8", "ignore")
    for line in lines:
        room -= rough_tokens(line + "\n")
        if room < 0:
            break
        fitting.append(line)
    return "\n".join(fitting)

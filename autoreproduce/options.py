"""What a command and its Python function take beside settings: each option once, with its type,
its default and its help.

A `TypedDict` names the options of one command. The command line makes flags of it
(`cli.options.settings_options`); the function takes the same names as `**options: Unpack[…]`, so
that an editor completes and checks them. An option that several commands share is a name of its own
here. `setting_options.py` has the settings in that form.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, TypeVar, get_type_hints

from autoreproduce.errors import UsageError

File = str | Path
PointsSource = Literal["paper", "curated"]
Options = TypeVar("Options")


@dataclass(frozen=True)
class Option:
    """How an option is shown on the command line, and what it is if it isn't given."""

    help: str
    default: Any = None
    word: str = ""  # of the flag, where that isn't the name: --claim is given several times
    metavar: str | None = None
    least: float | None = None
    by_commas: bool = False  # one flag holds the whole list
    check: Callable[[Any], Any] | None = None  # of what the command line gives, also for a dry run


def declared(kind: Any) -> dict[str, tuple[Any, Option]]:
    """The type and the declaration of each option of a TypedDict, by name."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in hints.items()}


def completed(kind: type[Options], given: Mapping[str, Any]) -> Options:
    """All options of a TypedDict, with the default of each that is None or not given."""
    whole: Any = {
        name: option.default if given.get(name) is None else given[name]
        for name, (_, option) in declared(kind).items()
    }
    return whole  # type: ignore[no-any-return]


def path_or_none(file: File | None) -> Path | None:
    """The path of a file that may not be given."""
    return Path(file) if file is not None else None


def _is_there(data: Path | None) -> Path | None:
    if data is not None and not str(data).startswith("hf:") and not data.is_dir():
        raise UsageError(f"--data {data} isn't a folder", fix="name the folder that holds the data")
    return data


ArxivId = Annotated[str | None, Option("the paper's arXiv id", metavar="ID")]
PaperFile = Annotated[
    File | None, Option("the paper: a file, folder, FOLDER:MAIN.tex or repository")
]
TaskName = Annotated[str | None, Option("data set, id or method; any name with --metric")]
ClaimTexts = Annotated[
    Sequence[str],
    Option('of the paper: "ROW: METRIC = VALUE ± SPREAD"; repeatable', (), word="claim"),
]
DataFolder = Annotated[
    File | None, Option("a folder of data you have, or hf:OWNER/NAME", check=_is_there)
]
TrialFolder = Annotated[File | None, Option("the trial's folder")]
TrialNumber = Annotated[int, Option("which attempt of the same command", 1, least=1)]
Instruction = Annotated[str, Option("anything else the model must know", "")]
CarriedNames = Annotated[
    Sequence[str], Option("a file over 100 MB that the run needs; repeatable", (), metavar="NAME")
]
Judges = Annotated[
    Sequence[str], Option("a judge's model, provider:name; repeatable", (), word="judge")
]
Repeats = Annotated[int, Option("readings by each judge", 1, least=1)]
Points = Annotated[
    PointsSource | None,
    Option("key points: written from the paper by the first judge, or the task's own"),
]


class ReproduceOptions(TypedDict, total=False):
    """Of `reproduce`."""

    arxiv: ArxivId
    paper: PaperFile
    task: TaskName
    metric: Annotated[
        Sequence[str], Option("your own task's number: NAME:higher or NAME:lower; or A,B", ())
    ]
    claims: ClaimTexts
    experiment: Annotated[
        Sequence[str], Option('of the paper\'s plan: "Table 2", main, all; repeatable', ())
    ]
    data: DataFolder
    targets: Annotated[
        str,
        Option(
            "your own task's test targets in --data, kept from the run that counts: labels.npy, "
            "test.npz:ARRAY, test.csv:COLUMN",
            "",
        ),
    ]
    out: TrialFolder
    trial: TrialNumber
    solver: Annotated[str, Option("a baseline, or agent:NAME", "autoreproduce")]
    instruction: Instruction


class ScoreOptions(TypedDict, total=False):
    """Of `score`, beside what is scored."""

    task: TaskName
    levels: Annotated[
        Sequence[str],
        Option(
            "of paper code mixed execution gap integrity lineage edits cost",
            (),
            metavar="A,B",
            by_commas=True,
        ),
    ]
    judges: Judges
    repeats: Repeats
    run: Annotated[str | None, Option("the command that runs it, in the sandbox")]
    metric_from: Annotated[
        Sequence[str],
        Option(
            "where the program writes its number: log.csv:mse, out.json:test.mse, stdout:KEY",
            (),
            metavar="FILE:KEY",
        ),
    ]
    data_at: Annotated[str, Option("where the program expects its data", "", metavar="PATH")]
    requirements: Annotated[File | None, Option("file of packages: h5py, yacs==0.1.8")]
    beside: Annotated[
        Sequence[File], Option("your file beside the program, not judged; repeatable", ())
    ]
    carry: CarriedNames
    claims: ClaimTexts
    system: Annotated[str | None, Option("who wrote the program, as tables name it")]
    paper: PaperFile
    points: Points
    reference: Annotated[str | None, Option("your own reference program")]
    metric: Annotated[str | None, Option("your own task's number: NAME, or NAME:higher")]
    instruction: Instruction
    data: Annotated[File | None, Option("published files you have, or your own task's data")]
    out: TrialFolder

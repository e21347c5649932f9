"""What `verify` takes beside settings."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from autoreproduce.options import (
    ArxivId,
    CarriedNames,
    ClaimTexts,
    DataFolder,
    File,
    Instruction,
    Option,
    PaperFile,
    TrialFolder,
    TrialNumber,
)

LIMIT_MB = 1_000.0


class VerifyOptions(TypedDict, total=False):
    """Of `verify`, beside the code."""

    paper: PaperFile
    arxiv: ArxivId
    experiment: Annotated[str, Option('whose numbers, as "Table 2" [the whole paper]', "")]
    claims: ClaimTexts
    run: Annotated[str | None, Option("a bash line that runs it, if you know")]
    metric_from: Annotated[
        Sequence[str], Option("KEY=FILE:PLACE of a claim's number; asks no model", ())
    ]
    carry: CarriedNames
    requirements: Annotated[
        File | None,
        Option(
            "its packages: a requirements.txt, environment.yml, pyproject.toml, setup.cfg or "
            "setup.py [the code's own]",
            metavar="FILE",
        ),
    ]
    driver: Annotated[
        File | None,
        Option(
            "a Python script of yours that calls the code, where it has no program", metavar="FILE"
        ),
    ]
    data: DataFolder
    fetch: Annotated[bool, Option("download the data that the code names", False)]
    fetch_limit: Annotated[float, Option("MB that --fetch may take", LIMIT_MB, least=0)]
    fetch_from: Annotated[
        Sequence[str],
        Option("a host of your own network that --fetch may ask; repeatable", (), metavar="HOST"),
    ]
    out: TrialFolder
    trial: TrialNumber
    instruction: Instruction

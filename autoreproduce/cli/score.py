"""The commands `score`, what programs are worth, and `calibrate`, what a judge is worth."""

import json as json_module
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from autoreproduce.cli.help import CommandApp
from autoreproduce.cli.options import (
    ADVANCED,
    CarriedNames,
    DryRun,
    Json,
    TaskName,
    settings_options,
)
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError

app = CommandApp()
Judges = Annotated[
    list[str] | None, typer.Option("--judge", help="a judge's model, provider:name; repeatable")
]
Repeats = Annotated[int, typer.Option(min=1, help="readings by each judge")]
Points = Annotated[
    Literal["paper", "curated"] | None,
    typer.Option(
        help="key points: written from the paper by the first judge, or the task's own",
        rich_help_panel=ADVANCED,
    ),
]
Levels = Annotated[
    str,
    typer.Option(
        help="of paper code mixed execution gap integrity lineage edits cost", metavar="A,B"
    ),
]
RunCommand = Annotated[str | None, typer.Option(help="the command that runs it, in the sandbox")]
MetricFrom = Annotated[
    list[str] | None,
    typer.Option(
        help="where the program writes its number: log.csv:mse, out.json:test.mse, stdout:KEY",
        metavar="FILE:KEY",
        rich_help_panel=ADVANCED,
    ),
]
DataAt = Annotated[
    str,
    typer.Option(
        help="where the program expects its data", metavar="PATH", rich_help_panel=ADVANCED
    ),
]
RequirementsFile = Annotated[
    Path | None,
    typer.Option(
        "--requirements", help="file of packages: h5py, yacs==0.1.8", rich_help_panel=ADVANCED
    ),
]
BesideFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--beside",
        help="your file beside the program, not judged; repeatable",
        rich_help_panel=ADVANCED,
    ),
]
ShowClaims = Annotated[
    bool,
    typer.Option(
        "--show-claims", help="print the keys for --metric-from, and exit", rich_help_panel=ADVANCED
    ),
]
ClaimTexts = Annotated[
    list[str] | None,
    typer.Option(
        help='a number of the paper, "ROW: METRIC = VALUE ± SPREAD"; repeatable',
        rich_help_panel=ADVANCED,
    ),
]
SystemName = Annotated[
    str | None,
    typer.Option(help="who wrote the program, as tables name it", rich_help_panel=ADVANCED),
]
Floors = Annotated[
    list[str] | None, typer.Option(help="exit 1 below it; repeatable", metavar="LEVEL=VALUE")
]
ReferencePath = Annotated[
    str | None, typer.Option(help="your own reference program", rich_help_panel=ADVANCED)
]
OwnMetric = Annotated[
    str | None,
    typer.Option(help="your own task's number: NAME, or NAME:higher", rich_help_panel=ADVANCED),
]


@app.command()
@settings_options("score", main=("model", "base_url", "budget"))
def score(
    *,
    path: Annotated[
        str, typer.Argument(help="a program (file, folder, archive, git URL), or trials")
    ],
    task: TaskName = None,
    levels: Levels = "",
    judge: Judges = None,
    repeats: Repeats = 1,
    settings: Settings,
    run: RunCommand = None,
    metric_from: MetricFrom = None,
    data_at: DataAt = "",
    requirements: RequirementsFile = None,
    beside: BesideFiles = None,
    carry: CarriedNames = None,
    claim: ClaimTexts = None,
    show_claims: ShowClaims = False,
    system: SystemName = None,
    data: Annotated[
        Path | None, typer.Option(help="published files you have, or your own task's data")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="the trial's folder")] = None,
    fail_under: Floors = None,
    dry_run: DryRun = False,
    paper: Annotated[
        Path | None, typer.Option(help="the paper as a file", rich_help_panel=ADVANCED)
    ] = None,
    points: Points = None,
    reference: ReferencePath = None,
    metric: OwnMetric = None,
    instruction: Annotated[
        str, typer.Option(help="anything else the model must know", rich_help_panel=ADVANCED)
    ] = "",
    json: Json = False,
) -> None:
    """Score a program, a trial or a folder of trials."""
    from autoreproduce.cli.console.attempts import command_line
    from autoreproduce.cli.console.scores import print_scores, read_floors, scores_exit_code
    from autoreproduce.job import Judging, Program
    from autoreproduce.runner.api import score_job
    from autoreproduce.runner.api_results import note_to_stderr
    from autoreproduce.runner.runtime import Runtime
    from autoreproduce.runner.score import score_all
    from autoreproduce.runner.score_plan import plan_of_scoring, plan_text

    if show_claims:
        of_benchmark = None if paper or metric else task
        _print_claims(Path(path), of_benchmark, settings.profile, claim or (), json)
        return
    floors, runtime = read_floors(fail_under or []), Runtime(note=note_to_stderr)
    program = Program(
        code=path,
        run=run,
        metric_from=tuple(metric_from or ()),
        data_at=data_at,
        requirements=requirements,
        beside=tuple(beside or ()),
        carry=tuple(carry or ()),
        system=system,
    )
    judging = Judging(
        levels=tuple(level for level in levels.split(",") if level),
        judges=tuple(judge or ()),
        repeats=repeats,
        points=points,
        reference=reference,
    )
    job = score_job(
        program,
        judging,
        task=task,
        claims=claim or [],
        paper=paper,
        metric=metric,
        instruction=instruction,
        data=data,
        out=out,
        command=command_line(),
        settings=settings,
    )
    if dry_run:
        plan = plan_of_scoring(job, runtime)
        print(json_module.dumps(plan) if json else plan_text(plan))
        return
    scored, damaged = score_all(job, runtime)
    for one in scored:
        print_scores(one, json)
    raise typer.Exit(scores_exit_code(scored, floors) or (3 if damaged else 0))


def _print_claims(
    path: Path, task: str | None, profile: str, texts: Sequence[str], as_json: bool
) -> None:
    """The keys of a trial's, a benchmark's task's and the user's claims with what each is, as
    `--metric-from KEY=FILE:PLACE` takes them.
    """
    from autoreproduce.benchmarks.reproducebench.tasks import find_task
    from autoreproduce.claims.claim import claims_of
    from autoreproduce.claims.user_claims import claims_of_task, read_user_claims, with_user_claims
    from autoreproduce.evaluation.report.claims_table import unjudged_row

    given, file = read_user_claims(texts), claims_of(path) if path.is_dir() else None
    if file is None and task:
        file = claims_of_task(find_task(task, profile))
    claims = with_user_claims(file, given).claims if file else given
    if not claims:
        raise UsageError(
            "there are no claims to show",
            fix='add --claim "ROW: METRIC = VALUE", or --task NAME, or name a finished trial',
        )
    rows = {claim.id: unjudged_row(claim, "") for claim in claims}
    if as_json:
        print(json_module.dumps({key: row.name for key, row in rows.items()}))
        return
    for key, row in rows.items():
        print(f"{key}  {row.name}, paper {row.paper}")


@app.command()
@settings_options("calibrate", main=("model", "base_url", "budget"))
def calibrate(
    *,
    tasks: Annotated[list[str], typer.Argument(help="tasks of the benchmark")],
    judge: Judges = None,
    repeats: Repeats = 1,
    settings: Settings,
    levels: Annotated[str, typer.Option(help="some of them [all]", metavar="A,B")] = "",
    points: Points = "curated",
    out: Annotated[Path | None, typer.Option(help="the calibration's folder")] = None,
    dry_run: DryRun = False,
) -> None:
    """Judge programs whose fidelity is known.

    It shows whether you can believe a judge.
    """
    from autoreproduce.job import Job, Judging
    from autoreproduce.runner.api import default_judges
    from autoreproduce.runner.calibrate import plan_of_calibration, run_calibration
    from autoreproduce.runner.score_plan import plan_text

    names = judge or default_judges(settings)
    if not names:
        raise UsageError(
            "no judge is named", fix="add --judge provider:name, or --judge NAME with --base-url"
        )
    wanted = tuple(level for level in levels.split(",") if level)
    judging = Judging(levels=wanted, judges=tuple(names), repeats=repeats, points=points)
    job = Job(judging=judging, settings=settings, out=out)
    if dry_run:
        print(plan_text(plan_of_calibration(tasks, job)))
        return
    raise typer.Exit(0 if run_calibration(tasks, job, partial(print, flush=True)) else 1)

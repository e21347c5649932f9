"""The commands `score`, what programs are worth, and `calibrate`, what a judge is worth."""

import json as json_module
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from autoreproduce.cli.help import CommandApp
from autoreproduce.cli.options import ADVANCED, DryRun, Json, settings_options
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.options import Judges, Points, Repeats, ScoreOptions

app = CommandApp()
ShowClaims = Annotated[
    bool,
    typer.Option(
        "--show-claims", help="print the keys for --metric-from, and exit", rich_help_panel=ADVANCED
    ),
]
Floors = Annotated[
    list[str] | None, typer.Option(help="exit 1 below it; repeatable", metavar="LEVEL=VALUE")
]
JUDGING = ("judges", "repeats", "model", "base_url", "budget")


@app.command()
@settings_options(
    *("model", "sandbox", "papers"),
    also=("time_limit_minutes", "profile", "seeds"),
    main=("task", "levels", *JUDGING, "run", "data", "out"),
)
def score(
    *,
    path: Annotated[
        str, typer.Argument(help="a program (file, folder, archive, git URL), or trials")
    ],
    asked: ScoreOptions,
    settings: Settings,
    show_claims: ShowClaims = False,
    fail_under: Floors = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Score a program, a trial or a folder of trials."""
    from autoreproduce.cli.console.attempts import command_line
    from autoreproduce.cli.console.scores import print_scores, read_floors, scores_exit_code
    from autoreproduce.runner.api import score_job
    from autoreproduce.runner.api_results import note_to_stderr
    from autoreproduce.runner.runtime import Runtime
    from autoreproduce.runner.score import score_all
    from autoreproduce.runner.score_plan import plan_of_scoring, plan_text

    if show_claims:
        of_own = asked.get("paper") or asked.get("metric")
        of_benchmark = None if of_own else asked.get("task")
        _print_claims(Path(path), of_benchmark, settings.profile, asked.get("claims", ()), json)
        return
    floors, runtime = read_floors(fail_under or []), Runtime(note=note_to_stderr)
    job = score_job(path, settings, command_line(), **asked)
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
@settings_options("model", "sandbox", also=("profile",), main=JUDGING)
def calibrate(
    *,
    tasks: Annotated[list[str], typer.Argument(help="tasks of the benchmark")],
    judges: Judges = (),
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

    names = judges or default_judges(settings)
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

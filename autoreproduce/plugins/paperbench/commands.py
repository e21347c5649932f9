"""The commands `grade`, `rerun`, `grades` and `rubrics`: code by a paper's rubric."""

from __future__ import annotations

import json as json_module
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autoreproduce.cli.help import CommandApp
from autoreproduce.cli.options import ADVANCED, DryRun, Json, settings_options
from autoreproduce.config import Settings

if TYPE_CHECKING:
    from autoreproduce.plugins.paperbench.grade import GradingResult
    from autoreproduce.plugins.paperbench.reproduction import ScriptRun

app = CommandApp()
RubricPath = Annotated[
    Path, typer.Argument(help="a paper's folder of PaperBench, or a rubric.json")
]
PaperText = Annotated[
    Path | None,
    typer.Option(help="the paper's text, if the folder has none", rich_help_panel=ADVANCED),
]
RunNumber = Annotated[
    int,
    typer.Option(
        min=1, help="which of several submissions for this paper", rich_help_panel=ADVANCED
    ),
]
Room = Annotated[
    int,
    typer.Option(
        min=1000, help="tokens of the submission's files in one prompt", rich_help_panel=ADVANCED
    ),
]


@app.command()
@settings_options("model", main=("model", "base_url", "budget"))
def grade(
    *,
    submission: Annotated[str, typer.Argument(help="a file, folder, archive or git URL; a trial")],
    rubric: RubricPath,
    judge: Annotated[str | None, typer.Option(help="the judge's model, provider:name")] = None,
    settings: Settings,
    workers: Annotated[int, typer.Option(min=1, max=100, help="leaves at once")] = 8,
    out: Annotated[Path | None, typer.Option(help="the grading's folder")] = None,
    fail_under: Annotated[
        float | None, typer.Option(min=0, max=100, help="exit 1 below this score of 100")
    ] = None,
    dry_run: DryRun = False,
    paper: PaperText = None,
    run: RunNumber = 1,
    room: Room = 60_000,
    provided: Annotated[
        bool,
        typer.Option(
            "--provided",
            help="data and models are given, so leaves asking for them weigh 0",
            rich_help_panel=ADVANCED,
        ),
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="all leaves, on what `rerun` ran")] = False,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="people's graded tree, to compare the judge with", rich_help_panel=ADVANCED
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Grade code by a paper's rubric (PaperBench).

    Code-Dev by default: its code leaves alone. The same command resumes it.
    """
    from autoreproduce.plugins.paperbench import grade as grading
    from autoreproduce.runner.api_results import note_to_stderr

    how = grading.Grading(
        rubric=rubric,
        run=run,
        workers=workers,
        room=room,
        provided=provided,
        full=full,
        labels=labels,
    )
    job = grading.grading_job(submission, how, settings, judge, paper=paper, out=out)
    if dry_run:
        plan = grading.plan(job)
        print(json_module.dumps(plan) if json else plan_text(plan))
        return
    done = grading.grade(job, note_to_stderr)
    print_grading(done, json)
    below = fail_under is not None and 100 * done.content["score"] < fail_under
    raise typer.Exit(1 if below else 3 if done.content["num_invalid_leaf_nodes"] else 0)


@app.command()
@settings_options("sandbox", also=("time_limit_minutes",), main=("sandbox",))
def rerun(
    *,
    submission: Annotated[str, typer.Argument(help="a folder, archive or git URL; a trial")],
    settings: Settings,
    out: Annotated[Path | None, typer.Option(help="the run's folder")] = None,
    data: Annotated[Path | None, typer.Option(help="what the script finds as DATA_DIR")] = None,
    json: Json = False,
) -> None:
    """Run a submission's reproduce.sh in a fresh sandbox.

    It exits 1 if the script failed. `grade --full` grades the folder.
    """
    from autoreproduce.job import Job, Program
    from autoreproduce.plugins.paperbench.reproduction import rerun as rerun_submission
    from autoreproduce.runner.api_results import note_to_stderr

    job = Job(program=Program(code=submission), settings=settings, out=out, data=data)
    printed = partial(print, end="", file=sys.stderr)
    folder, run = rerun_submission(job, note_to_stderr, printed)
    print_reproduction(folder, run, json)
    raise typer.Exit(0 if run.exit_code == 0 and not run.stopped else 1)


@app.command()
def grades(
    *,
    folders: Annotated[
        list[Path], typer.Argument(help="folders that `grade` made, or folders of such")
    ],
    json: Json = False,
) -> None:
    """A table over gradings: papers, their runs, the mean."""
    from autoreproduce.evaluation.tables.rows import published_tables
    from autoreproduce.evaluation.tables.write import data, markdown
    from autoreproduce.plugins.paperbench.grade_tables import gradings_table, read_gradings

    table = gradings_table(read_gradings(folders))
    if json:
        print(json_module.dumps(json_module.loads(data(table))))
        return
    for each in [table, *published_tables({table.name})]:
        print(markdown(each))


@app.command()
def rubrics(
    *,
    folder: Annotated[Path, typer.Argument(help="PaperBench's folder of papers, or a clone of it")],
    json: Json = False,
) -> None:
    """Show what PaperBench's rubrics hold.

    It names the papers whose texts are missing.
    """
    from autoreproduce.evaluation.tables.write import data, markdown
    from autoreproduce.plugins.paperbench.grade_tables import rubrics_table
    from autoreproduce.plugins.paperbench.papers import paper_folders

    table = rubrics_table(paper_folders(folder))
    print(json_module.dumps(json_module.loads(data(table))) if json else markdown(table))


# What they print.


def plan_text(plan: dict[str, Any]) -> str:
    """What a grading would take, in a sentence."""
    most = plan["most_dollars"]
    dollars = "an unknown price" if most is None else f"at most ${most:.2f}"
    how = "all files in each prompt" if plan["fits"] else "files ranked for each leaf first"
    return (
        f"{plan['paper_id']}: {plan['leaves']} leaves, {plan['files']} files, {how}; about "
        f"{plan['calls']} calls, {plan['tokens']:,} tokens of prompts, {dollars}, if each answer "
        "can be used"
    )


def print_grading(done: GradingResult, as_json: bool) -> None:
    """The score, what was not graded, agreement with people, and where to look."""
    if as_json:
        print(json_module.dumps(_json_fields(done)))
        return
    from autoreproduce.plugins.paperbench.grade_tables import FILE, PAGE

    content, agreed = done.content, done.agreement
    print(
        f"{content['paper_id']}: {100 * content['score']:.1f} of 100 over "
        f"{content['num_leaf_nodes']} leaves"
    )
    if failed := content["num_invalid_leaf_nodes"]:
        graded = content["score_of_graded"]
        rest = "–" if graded is None else f"{100 * graded:.1f}"
        print(
            f"{failed} leaves were not graded and count as 0; without them {rest}. The same "
            "command asks them again."
        )
    if agreed:
        print(
            f"Against people, {agreed.leaves} leaves: macro F1 {agreed.macro_f1:.3f}, accuracy "
            f"{agreed.accuracy:.3f}"
        )
    if run := content["reproduction"]:
        print(f"reproduce.sh: {run['ending']}")
    for address in content["blacklisted"]:
        print(
            f"It names a blacklisted address ({address}): whether it was used is for people to "
            "judge, and makes it 0."
        )
    print(f"Grades: {done.folder / FILE}  Tree: {done.folder / PAGE}")


def _json_fields(done: GradingResult) -> dict[str, Any]:
    agreed = done.agreement
    people = {"macro_f1": agreed.macro_f1, "accuracy": agreed.accuracy} if agreed else None
    if agreed and people is not None:
        people["leaves"] = agreed.leaves
    large = ("graded_task_tree", "settings")
    brief = {key: value for key, value in done.content.items() if key not in large}
    return {"folder": str(done.folder), **brief, "people": people}


def print_reproduction(folder: Path, run: ScriptRun, as_json: bool) -> None:
    """How a script ended, what it wrote, and where to look."""
    from autoreproduce.plugins.paperbench.reproduction import FILE, LOG

    if as_json:
        brief = run.model_dump(mode="json", exclude={"before", "after"})
        lists = {"written": run.written, "removed": run.removed}
        print(json_module.dumps({"folder": str(folder), **brief, **lists}))
        return
    print(f"reproduce.sh: {run.ending}; {len(run.written)} files written or changed")
    if run.packages:
        print(f"requirements.txt: {run.packages}")
    print(f"Log: {folder / LOG}  Files before and after: {folder / FILE}")

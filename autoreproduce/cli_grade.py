"""The commands of PaperBench Code-Dev: grade, grades, rubrics."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autoreproduce.config import Settings
from autoreproduce.options import settings_options

if TYPE_CHECKING:
    from autoreproduce.runner.grade import Graded

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
Json = Annotated[bool, typer.Option("--json", help="one JSON object a line")]


@app.command()
@settings_options
def grade(
    settings: Settings,
    submission: Annotated[str, typer.Argument(help="a file, folder, archive or git URL; a trial")],
    rubric: Annotated[Path, typer.Argument(help="a paper's folder of PaperBench, or a rubric.json")],
    judge: Annotated[str | None, typer.Option(help="the judge's model, provider:name")] = None,
    paper: Annotated[Path | None, typer.Option(help="the paper's text, where the folder has none")] = None,
    run: Annotated[int, typer.Option(min=1, help="which of several submissions for this paper it is")] = 1,
    workers: Annotated[int, typer.Option(min=1, max=100, help="leaves at once")] = 8,
    room: Annotated[int, typer.Option(min=1000, help="tokens of the submission's files in one prompt")] = 60_000,
    provided: Annotated[bool, typer.Option(help="data and models are given: leaves that ask for them weigh 0")] = False,
    labels: Annotated[Path | None, typer.Option(help="people's graded tree: say how far the judge agrees")] = None,
    out: Annotated[Path | None, typer.Option(help="the grading's folder")] = None,
    fail_under: Annotated[float | None, typer.Option(min=0, max=100, help="exit 1 below this score of 100")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what it would take, and ask nothing")] = False,
    json: Json = False,
) -> None:
    """Grade code by a paper's rubric (PaperBench Code-Dev); the same command goes on."""
    from autoreproduce.runner.grade import GradeRequest, plan
    from autoreproduce.runner.grade import grade as grade_all

    request = GradeRequest(
        source=submission, rubric=rubric, settings=settings, judge=judge or settings.model, paper=paper, run=run,
        workers=workers, room=room, provided=provided, labels=labels, out=out,
        note=lambda text: print(text, file=sys.stderr, flush=True),
    )  # fmt: skip
    if dry_run:
        told = plan(request)
        print(json_module.dumps(told) if json else _planned(told))
        return
    done = grade_all(request)
    _say(done, json)
    below = fail_under is not None and 100 * done.content["score"] < fail_under
    raise typer.Exit(1 if below else 3 if done.content["num_invalid_leaf_nodes"] else 0)


@app.command()
def grades(
    folders: Annotated[list[Path], typer.Argument(help="folders that `grade` made, or folders of such")],
    json: Json = False,
) -> None:
    """A table over gradings: each paper over its runs, and the mean over papers."""
    from autoreproduce.eval.tables.write import data, markdown
    from autoreproduce.runner.grade_tables import gradings_table, read_gradings

    table = gradings_table(read_gradings(folders))
    print(json_module.dumps(json_module.loads(data(table))) if json else markdown(table))


@app.command()
def rubrics(
    folder: Annotated[Path, typer.Argument(help="PaperBench's folder of papers, or a clone of it")],
    json: Json = False,
) -> None:
    """Say what the rubrics of PaperBench hold, and which papers' texts are missing."""
    from autoreproduce.eval.tables.write import data, markdown
    from autoreproduce.paperbench.papers import paper_folders
    from autoreproduce.runner.grade_tables import rubrics_table

    table = rubrics_table(paper_folders(folder))
    print(json_module.dumps(json_module.loads(data(table))) if json else markdown(table))


def _planned(told: dict[str, Any]) -> str:
    dollars = "an unknown price" if told["most_dollars"] is None else f"at most ${told['most_dollars']:.2f}"
    how = "all files in each prompt" if told["fits"] else "files ranked for each leaf first"
    return (
        f"{told['paper_id']}: {told['leaves']} leaves, {told['files']} files, {how}; about {told['calls']} calls, "
        f"{told['tokens']:,} tokens of prompts, {dollars}, where each answer can be used"
    )


def _say(done: Graded, json: bool) -> None:
    from autoreproduce.runner.grade_tables import FILE, PAGE

    told, agreed = done.content, done.agreement
    if json:
        brief = {key: value for key, value in told.items() if key not in ("graded_task_tree", "settings")}
        people = {"macro_f1": agreed.macro_f1, "accuracy": agreed.accuracy, "leaves": agreed.leaves} if agreed else None
        print(json_module.dumps({"folder": str(done.folder), **brief, "people": people}))
        return
    print(f"{told['paper_id']}: {100 * told['score']:.1f} of 100 over {told['num_leaf_nodes']} leaves")
    if failed := told["num_invalid_leaf_nodes"]:
        rest = "–" if told["score_of_graded"] is None else f"{100 * told['score_of_graded']:.1f}"
        print(f"{failed} leaves were not graded and count as 0; without them {rest}. The same command asks them again.")
    if agreed:
        print(f"Against people, {agreed.leaves} leaves: macro F1 {agreed.macro_f1:.3f}, accuracy {agreed.accuracy:.3f}")
    for each in told["blacklisted"]:
        print(f"It names a blacklisted address ({each}): whether it was used is for people to say, and makes it 0.")
    print(f"Grades: {done.folder / FILE}  Tree: {done.folder / PAGE}")

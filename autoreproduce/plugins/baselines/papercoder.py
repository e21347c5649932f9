"""PaperCoder, written anew from its published description (arXiv 2504.17192, section 3).

Three stages turn a paper into a repository without running anything: a plan (overall, architecture,
order of files, configuration), an analysis of each file, and the code of each file in that order,
with the files before it in view. Ours differs in that the configuration is `config.py`, so that the
program needs no package to read it; a whole paper's repository has `config.yaml`. The variant with
repair then runs the program and has what fails changed, as the authors do when they measure whether
the code runs.
"""

from functools import partial
from typing import Annotated

from pydantic import BaseModel, Field, field_validator

from autoreproduce.agents.structured import read_structured
from autoreproduce.errors import ReplyError
from autoreproduce.models import Models
from autoreproduce.plugins.baselines.baseline import GIVEN, BaselineBench, BaselineSolver
from autoreproduce.solvers.repository import PlannedFile, RepositoryPlan
from autoreproduce.solvers.submitted_program import PROGRAM

CONFIG = "config.py"
REPAIRS = 3
SETTINGS = "config.yaml"  # of a whole paper's repository
MOST_FILES = 20  # of it: two calls each, within the 50 of an attempt
FilePath = Annotated[str, Field(pattern=r"^([A-Za-z_]\w*/){0,3}[A-Za-z_]\w*\.py$", max_length=100)]


class PlannedModule(BaseModel):
    """A file to be written, and what it is for."""

    path: FilePath
    purpose: str


class FilePlan(BaseModel):
    """The files in the order in which they are written: each after those that it imports."""

    files: list[PlannedModule] = Field(min_length=1, max_length=12)
    shared_knowledge: str = ""

    @field_validator("files")
    @classmethod
    def _has_the_program(cls, files: list[PlannedModule]) -> list[PlannedModule]:
        paths = [each.path for each in files]
        if len({*paths, CONFIG, GIVEN}) != len(paths) + 2:
            raise ValueError(f"name each file once, and neither {CONFIG} nor {GIVEN}")
        if paths[-1] != PROGRAM:
            raise ValueError(f"the last file must be {PROGRAM}")
        return files


class FileOrder(RepositoryPlan):
    """The same for a whole paper's repository."""

    shared_knowledge: str = ""

    @field_validator("files")
    @classmethod
    def _without_settings(cls, files: list[PlannedFile]) -> list[PlannedFile]:
        if len(files) > MOST_FILES or SETTINGS in {file.path for file in files}:
            raise ValueError(f"name at most {MOST_FILES} files, and not {SETTINGS}")
        return files


class PaperCoder(BaselineSolver):
    """Plan, analyse each file, code each file; nothing is run before it is measured."""

    name = "papercoder"
    whole_papers = True

    def attempt(self, bench: BaselineBench, models: Models) -> None:
        """The three stages."""
        if bench.task.wants_repository:
            self._whole_paper(bench)
            return
        plan = bench.ask("plan")
        design = bench.ask("design", plan=plan)
        read = partial(read_structured, schema=FilePlan)
        files: FilePlan = bench.checked("files", read, plan=plan, design=design)
        shown = {"plan": plan, "design": design, "order": files}
        bench.write_file("config", CONFIG, **shown)
        analyses = {each.path: bench.ask("analyse", planned=each, **shown) for each in files.files}
        for each in files.files:
            bench.write_file("code", each.path, analysis=analyses[each.path], **shown)

    def _whole_paper(self, bench: BaselineBench) -> None:
        """The same stages for all experiments; a file without a usable reply is missing."""
        plan = bench.ask("repository/plan")
        design = bench.ask("repository/design", plan=plan)
        read = partial(read_structured, schema=FileOrder)
        order: FileOrder = bench.checked(
            "repository/files", read, plan=plan, design=design, most=MOST_FILES
        )
        shown = {"plan": plan, "design": design, "order": order}
        bench.write_file("repository/config", SETTINGS, **shown)
        analyses = {
            e.path: bench.ask("repository/analyse", planned=e, **shown) for e in order.files
        }
        for each in order.files:
            analysis = analyses[each.path]
            try:
                bench.write_file("repository/code", each.path, analysis=analysis, **shown)
            except ReplyError as error:
                bench.trial.note(f"{each.path} was not written: {error}")


class PaperCoderWithRepair(PaperCoder):
    """The same, then up to three changes of a program that does not run."""

    whole_papers = False  # nothing of a whole paper is run

    def attempt(self, bench: BaselineBench, models: Models) -> None:
        """The three stages, and repair."""
        super().attempt(bench, models)
        for _ in range(REPAIRS):
            run, problem = bench.try_program("try")
            if not problem:
                return
            bench.change("repair", execution=run, problem=problem)

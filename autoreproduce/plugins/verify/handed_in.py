"""Code that somebody has already: run as it is, and its numbers found in what it left.

A planning agent says how it is run, and again if that failed, at most `MOST_PLANS` times. It may
choose packages and a command, and small patches that change no number. Then each claim is looked
for in the outputs: an agent that does not see the paper's values names line and number, and code
reads them there. What is not found stays without a number.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.agents.agent import Agent, ToShow
from autoreproduce.agents.prompts import Prompts
from autoreproduce.agents.structured import read_structured
from autoreproduce.audit import audit
from autoreproduce.claims.choices import CHOICES, Choice, Cut, says
from autoreproduce.claims.differences import cut
from autoreproduce.claims.withholding import Withholding
from autoreproduce.content import folder
from autoreproduce.contracts import Need, Packages, Submission
from autoreproduce.errors import CommandError
from autoreproduce.evaluation.judging.submitted_code import Sources, program_at
from autoreproduce.evaluation.outside_run import (
    PACKAGES_FIRST,
    OutsideRun,
    at_seed,
    read_beside,
    write_outside_run,
)
from autoreproduce.evaluation.submission import TREE, CarriedFiles, carried_files, lay_carried
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.kinds import KINDS, PROSE, REMADE
from autoreproduce.files.notebooks import notebook_errors
from autoreproduce.files.shared import read_text
from autoreproduce.files.tree import Tree
from autoreproduce.files.unpacking import opened_source
from autoreproduce.job import Program
from autoreproduce.method.claims import FrozenClaims, freeze_claims
from autoreproduce.method.paper_notes import READ_BEFORE, SECTION, note_lines
from autoreproduce.models.fenced import data_in_reply
from autoreproduce.papers import read_paper
from autoreproduce.plugins.verify.driver import DRIVER, read_driver
from autoreproduce.plugins.verify.fetching import how_to_fetch
from autoreproduce.plugins.verify.output_places import (
    MOST_FILES,
    Places,
    find_places,
    outputs_of,
    statement_lines,
)
from autoreproduce.plugins.verify.run_patches import Patched, from_python2, patched
from autoreproduce.plugins.verify.run_plan import PlannedCommand, RunPlan, data_words, python_for
from autoreproduce.plugins.verify.runnable import declared_packages, programs_in, why_it_failed
from autoreproduce.plugins.verify.settings_beside import COLUMNS, settings_beside
from autoreproduce.plugins.verify.shown_code import (
    MOST_SHOWN,
    experiment_text,
    files_asked_for,
    shown_code,
)
from autoreproduce.sandboxes.package_lists import (
    age_words,
    cap,
    last_commit,
    own_python,
    read_requirements,
    with_and_without_date,
)
from autoreproduce.task import Metric
from autoreproduce.trials.program_output import PRINTED
from autoreproduce.trials.run import Run, run_program
from autoreproduce.trials.steps import ExecutionResult, InstallResult
from autoreproduce.trials.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from autoreproduce.claims.claim import Claim
    from autoreproduce.config import Settings
    from autoreproduce.contracts import Sandbox
    from autoreproduce.models import Models
    from autoreproduce.models.budget import Budget
    from autoreproduce.task import Task
    from autoreproduce.trials.derivation import Values
    from autoreproduce.trials.trial import Trial

HEADLINE = "first_claim"  # the task's own metric: whatever claim is found first
STATEMENTS = "Statements that no rule judges, with the numbers beside them"
MOST_PLANS, MOST_INSTALLS = 3, 3  # plans that are run; lists of packages that couldn't be installed
SETTINGS, MADE = "The settings of the run, beside the paper's", "What made each number"
DATA = "Data that the code names"
VERSIONS = "The versions that ran"
NO_CLAIM = "the paper states no number for it; `autoreproduce audit` says where the code differs"
OUTPUTS, MOST_LINKED = "program_output", 50  # the program's own files, in the trial's folder
DATE = "code_date.txt"  # of its last commit
GIVEN = "given_files.json"  # the user's packages and driver, as they were when the trial began
ORIGINALS = "as_handed_in"  # of files that a patch changed, in the trial's folder
INSTALL_SECONDS = 1800.0


def whose_numbers(task: Task, program: Program) -> Task:
    """The task as the paper is asked about: its experiment, if the user named one. The trial's own
    name and its placeholder of a metric say nothing of the paper.
    """
    named = "" if task.dataset == program.name else task.dataset
    # its first sentence asks for the experiment on what the trial is called
    _, _, users = task.instruction.partition(f"the experiment on {task.dataset}.")
    alike = {"experiment": named, "dataset": "", "more_metrics": [], "instruction": users.strip()}
    return task.model_copy(update={**alike, "metric": Metric(name="")})


def handed_in_class(source: str) -> type[HandedInCode]:
    """The solver that runs the code at `source`: a folder, an archive or a git URL."""

    class Named(HandedInCode):
        def __init__(self, **options: Any) -> None:
            super().__init__(source, **options)

    return Named


def what_is_there(
    root: Path, source: str, settings: Settings, carry: Sequence[str]
) -> tuple[Sources, CarriedFiles]:
    """The code at `root`, which `opened_source` made of `source`: its texts, and its whole tree."""
    program = program_at(root, source, kinds=KINDS | PROSE)
    return program, carried_files(root, [settings.runs_dir], carry)


class HandedInCode:
    """Runs code that is there already, and finds the claims in what it left."""

    needs: frozenset[Need] = frozenset({"model"})

    def __init__(
        self, source: str, settings: Settings, budget: Budget, paper_file: Path | None = None
    ) -> None:
        self.source, self.settings, self.budget = source, settings, budget
        self.paper_file = paper_file
        self.notes: list[str] = []  # of the last plan, for the report
        self.tried: list[tuple[str, str]] = []  # what was run or installed, and what came of it
        self.installed = Packages(()).command
        self.handed = Program(code=source)  # what the user says of how it is run
        self.own_packages, self.own_driver = list[str](), ""
        self.versions = list[list[str]]()  # of Python and the packages that ran
        self.failed_lists: dict[str, str] = {}
        self.texts: dict[str, str] = {}  # of the paper and the code, by name

    def solve(self, task: Task, models: Models, sandbox: Sandbox, trial: Trial) -> Submission:
        """The run in full with the places of its numbers; failed if no plan made it run."""
        self.handed = trial.record.job.program or self.handed
        prompts = Prompts(folder("prompts") / "verify", folder("prompts"))
        shared = (trial, self.budget, self.settings)
        research = Agent.of(models, "research", Prompts(), *shared)
        agent = Agent.of(models, "research", prompts, *shared)
        trial.phase("paper")
        paper = read_paper(
            self.settings,
            trial.folder,
            arxiv_id=task.arxiv_id,
            file=self.paper_file or task.paper_file,
            digest=task.digest,
            note=trial.note,
        )
        program, left_out = self._lay_out(trial)  # first: it may not be there to take
        trial.phase("claims")
        asked = whose_numbers(task, self.handed)
        frozen = freeze_claims(asked, paper, research, trial, told=asked.instruction)
        claims = frozen.file.claims
        if not claims:
            return Submission("failed", NO_CLAIM, "claims")
        paper_text = Withholding(claims)(paper.body)
        self.texts = {"the paper": paper_text, **program.files}
        plan, run, changed, places = self._run(
            task, agent, sandbox, trial, claims, left_out, paper_text
        )
        driver, does = _driver_of(changed, trial)
        audited = self.settings.method.audit and run
        seen = (
            audit(
                research,
                paper_text,
                program.in_cells | driver,
                claims,
                command=plan.command,
                unread=program.unread,
                added=_told_of_driver(does) if driver else "",
            )
            if audited
            else None
        )
        sections = self._told(plan, changed, does) | _what_was_read(frozen, places)
        sections[DATA] = how_to_fetch(program.files) if task.data_dir is None else []
        warnings = [
            *(f"a patch was refused: {text}" for text in changed.refused),
            *(f"not in the sandbox: {name} ({why})" for name, why in left_out.items()),
            *self.notes,
        ]
        found = [*places.found.values()]
        details = {"packages": plan.packages, "why": plan.why, "sections": sections}
        details["tables"] = self._tables(
            plan, program.files | changed.files, claims, places, trial, paper_text
        )
        details |= {"output_files": _kept_outputs(trial, places)} if run else {}
        if not found:
            sections["What was tried"] = self.tried
            sections["The numbers that were looked for"] = list(map(_stated, claims))
            ended = {"ran": run.execution.ok} if run else {}
            failed = replace(self._failed(plan, run, places), warnings=warnings)
            return replace(failed, audit=seen, details={**details, **ended})
        assert run is not None  # numbers were found in what it left
        outside = self._kept_run(trial, plan, changed, places)
        at = {one.id for one in found}
        missing = [claim.id for claim in claims if claim.id not in at and not claim.than]
        warnings += [f"not found in the output: {', '.join(missing)}"] if missing else []
        how = _completed(run)
        if not run.execution.ok:
            warnings.insert(0, f"{how}, and its numbers are those printed until then")
        ran = replace(run.execution, unwritten=places.unwritten(Tree(trial.workspace)))
        done = Submission("complete", how, "full_run", run=ran)
        if len(self.tried) > 1:
            sections["What was tried before"] = self.tried[:-1]
        done = replace(done, metric_from=outside.metric_from, warnings=warnings)
        return replace(done, audit=seen, details=details)

    def _kept_run(
        self, trial: Trial, plan: RunPlan, changed: Patched, places: Places
    ) -> OutsideRun:
        """How the program is run, written down for further runs, with what it has fewer of."""
        _keep_changes(trial, changed)
        if cut := self._shortened(plan, places, trial):
            trial.write(CHOICES, json.dumps([one.model_dump(mode="json") for one in cut], indent=1))
        found = [*places.found.values()]
        named = [f"{HEADLINE}={one.derivation.text}" for one in found[:1]]
        named += [f"{one.id}={one.derivation.text}" for one in found]
        outside = OutsideRun(plan.command, metric_from=tuple(named))
        write_outside_run(trial, outside)
        return outside

    def _shortened(self, plan: RunPlan, places: Places, trial: Trial) -> list[Choice]:
        """What the run has fewer of than the paper, each with the claims whose commands were
        shortened by it.
        """
        made = _commands_of(places, plan, trial)
        found = []
        for one in plan.shortened:
            lines = [
                each.command for each in plan.commands if one in plan.shortened_in(each.command)
            ]
            names = [name for name, commands in made.items() if set(commands) & {*lines}]
            words = f"so that the run ends in its time: {one.at} in {'; '.join(lines)}"
            made_so = Choice(
                what=one.what,
                key="seeds" if one.kind in ("replicates", "seeds") else one.kind,
                value=one.run,
                kind="stated",
                place=one.place(self.texts),
                why=words,
                paper=one.paper,
                claims=tuple(names),
                cut=Cut(
                    words=one.at,
                    file="" if any(says(line, one.at) for line in lines) else DRIVER,
                    replicates=one.kind == "replicates",
                ),
            )
            found += [made_so] if names else []
        return found

    def _told(
        self, plan: RunPlan, changed: Patched, does: dict[str, list[str]]
    ) -> dict[str, list[tuple[str, str]]]:
        """What the report shows of how the code was run. `does`: what the driver does itself."""
        whose = (
            "yours" if self.own_driver else "written by the model, since the code has no program"
        )
        ran = [(one.command, one.shows or plan.why) for one in plan.commands]
        return {
            "What was run": [(f"{line}: {why}" if why else line, "") for line, why in ran],
            "Packages": [(", ".join(plan.packages), "")] if plan.packages else [],
            "The driver": [
                (f"{name}, {whose}", text) for name, text in changed.files.items() if name == DRIVER
            ],
            "What the driver does itself": [(what, "\n".join(does[what])) for what in does],
            "Changes to how the code is run": changed.shown,
            "Refused changes": [(text, "") for text in changed.refused],
        }

    def _tables(
        self,
        plan: RunPlan,
        code: dict[str, str],
        claims: Sequence[Claim],
        places: Places,
        trial: Trial,
        paper_text: str,
    ) -> dict[str, dict[str, Any]]:
        """The report's tables on the run: settings beside the paper's, what made each number, and
        the versions that ran.
        """
        lines = [one.command for one in plan.commands]
        made = _made_by(places, claims, plan, trial)
        rows: dict[str, tuple[Sequence[str], Sequence[Sequence[str]]]] = {
            SETTINGS: (COLUMNS, settings_beside(lines, code, paper_text)),
            MADE: (("number", "from", "made by"), made),
            VERSIONS: (("", "version"), self.versions),
        }
        return {name: {"columns": c, "rows": found} for name, (c, found) in rows.items() if found}

    def _failed(self, plan: RunPlan, run: ExecutionResult | None, places: Places) -> Submission:
        """The end of a trial that found no number."""
        if run is None:
            last = self.tried[-1][1].splitlines()
            why = f"its packages can't be installed, so nothing was run: {' '.join(last[-1:])}"
            return Submission("failed", why, "plan")
        if run.execution.ok:
            return Submission("failed", _nothing(places), "full_run", run=run.execution)
        why = why_it_failed(run.stderr, run.stopped) + data_words(plan.data)
        return Submission("failed", why, "full_run", run=run.execution)

    def _lay_out(self, trial: Trial) -> tuple[Sources, dict[str, str]]:
        """The code in the workspace, its texts as the first commit; it, and what is left out."""
        given = _kept(trial, GIVEN, lambda: _given_files(self.handed))
        self.own_packages, self.own_driver = given
        workspace = Workspace(trial.folder)
        workspace.open()
        with opened_source(self.source) as root:
            program, found = what_is_there(root, self.source, self.settings, self.handed.carry)
            workspace.commit(program.files, "the code as it was handed in")
            if not (trial.folder / DATE).exists():
                trial.write(DATE, last_commit(root))
            if not (trial.folder / TREE).is_dir():
                found.copy_to(trial.folder)
        kept = Tree(trial.folder / ORIGINALS)
        for name in kept.files():
            Tree(trial.folder / TREE).write(name, kept.read_text(name))
        Tree(trial.folder / TREE).remove(DRIVER)
        lay_carried(trial.folder, trial.workspace)
        return program, found.left_out

    def _run(
        self,
        task: Task,
        agent: Agent,
        sandbox: Sandbox,
        trial: Trial,
        claims: Sequence[Claim],
        left_out: dict[str, str],
        paper_text: str,
    ) -> tuple[RunPlan, ExecutionResult | None, Patched, Places]:
        """The last plan, its run, the first that gave any number (None if no packages could be
        installed), what it changed, and where the numbers are. `paper_text`: the paper without the
        claimed values.
        """
        asked, about, said = self._asked_of_plan(task, sandbox, trial, claims, left_out, paper_text)
        given, minutes = _given(trial), asked["minutes"]
        found = Places(claims, {})
        stated = sum(not claim.than for claim in claims)  # an ordering is printed nowhere
        run = None
        plans, partly = list[RunPlan](), Places(claims, {})
        for number in range(1, MOST_PLANS + 1):
            plan, python, changed = self._installed(agent, given, asked, sandbox, trial)
            if python is None:
                break
            if any(plan.runs_as(before) for before in plans):
                self.tried.append((plan.command, "planned again as it was, so it wasn't run again"))
                found = partly
                if run and not run.execution.ok and run.stopped != "timeout":  # not looked at yet
                    left = _outputs(run, trial, number - 1)
                    if any(text.strip() for text in left.values()):
                        found = find_places(agent, trial, claims, left, said)
                break
            plans.append(plan)
            trial.phase("full_run")
            run = trial.step(
                ExecutionResult,
                "sandbox",
                f"run {number}",
                {
                    "command": plan.command,
                    "python": python,
                    "packages": plan.packages,
                    "files": changed.files,
                },
                lambda plan=plan, changed=changed, number=number: _executed(  # type: ignore[misc]
                    plan, changed, sandbox, trial, minutes * 60, number
                ),
            )
            read = partial(_versions, sandbox, trial.workspace)
            self.versions = _kept(trial, f"versions-{number}.json", read)
            broken = _notebook_errors(run, _outputs(run, trial, number), trial)
            self.notes += [f"a notebook's cell failed: {each}" for each in broken[:20]]
            self.tried.append((plan.command, _how_it_ended(run, broken)))
            error = run.stderr.strip() or run.stdout.strip()
            if run.execution.ok:
                found = find_places(agent, trial, claims, _outputs(run, trial, number), said)
                if found.found:
                    break
                partly = found
                cells = "".join(f"{each}\n" for each in broken)
                error = f"{cells}It ended well, and left none of these numbers. It printed:\n"
                error += run.stdout
            elif run.stopped == "timeout" or number == MOST_PLANS:
                left = _outputs(run, trial, number)  # what it printed, and the files it wrote
                if any(text.strip() for text in left.values()):
                    found = find_places(agent, trial, claims, left, said)
                if len(found.found) >= stated or number == MOST_PLANS:
                    break
                partly, found = found, Places(claims, {})
            if run.stopped == "timeout":
                error = f"It was stopped after {minutes:g} minutes, and had printed:\n{run.stdout}"
            asked |= shown_code(given, about, paper_text, error, Withholding(claims))
            asked |= {"failed": plan, "error": error.strip()[-MOST_SHOWN:]}
            asked |= {"refused": changed.refused}
        return plan, run, changed, found

    def _asked_of_plan(
        self,
        task: Task,
        sandbox: Sandbox,
        trial: Trial,
        claims: Sequence[Claim],
        left_out: dict[str, str],
        paper_text: str,
    ) -> tuple[dict[str, Any], str, str]:
        """The variables of the prompt for a plan; what is looked for, by whose words files are
        chosen; what the paper says of its settings.
        """
        minutes = self.settings.method.time_limit_minutes or task.time_limit_minutes
        about = " ".join([task.id, *(f"{claim.experiment} {claim.title}" for claim in claims)])
        told = task.instruction
        if task.dataset == self.handed.name:  # the code's own name says nothing of it
            told = told.partition(f"the experiment on {task.dataset}.")[2].strip()
        asked = {"told": told, "needs": self.own_packages, "claims": claims, "minutes": minutes}
        said = experiment_text(paper_text, [about, task.experiment or ""])
        given = _given(trial)
        asked |= shown_code(given, about, paper_text, withhold=Withholding(claims))
        asked |= {"paper": said}
        asked |= {"left_out": [f"{name} ({why})" for name, why in left_out.items()][:20]}
        pythons: Callable[[], list[str]] = getattr(sandbox, "pythons", list)
        own, there = _kept(trial, "pythons.json", lambda: [own_python(sandbox), pythons()])
        data = Tree(task.data_dir).files()[:100] if task.data_dir else []
        asked |= {"python": own, "pythons": [one for one in there if one != own], "data": data}
        found = _kept(trial, "programs.json", lambda: programs_in(sandbox, Tree(given)))
        asked |= {"programs": found}
        asked |= {"cores": self.settings.sandbox.limits.cpus, "failed": None, "error": ""}
        asked |= {"refused": []}
        listed = declared_packages(given, read_text(trial.folder, DATE))
        asked |= {"listed": listed, "own_driver": self.own_driver}
        asked |= {"own_command": self.handed.run}
        return asked, about, said

    def _installed(
        self, agent: Agent, given: Path, asked: dict[str, Any], sandbox: Sandbox, trial: Trial
    ) -> tuple[RunPlan, str | None, Patched]:
        """The next plan whose packages could be installed, the Python that was chosen for it, and
        what it changes; no Python (None) where no list could be installed. It costs no run.
        """
        own, there, date = asked["python"], asked["pythons"], asked["listed"].date
        for _ in range(MOST_INSTALLS):
            trial.phase("plan")
            plan = self._planned(agent, given, asked, _names(trial))
            trial.note(f"run by: {plan.command}")
            python, note = python_for(plan.python, own, there)
            self.notes = [each for each in (note, plan.too_long(asked["minutes"])) if each]
            for each in self.notes:
                trial.note(each)
            lay_carried(trial.folder, trial.workspace)
            tree, old = Tree(trial.workspace), plan.python.startswith("2")
            converted = from_python2(tree) if old and not python.startswith("2") else None
            changed = patched(tree, plan.patches, converted)
            if driver := self.own_driver or plan.driver:
                changed.files[DRIVER] = driver
            if plan.packages and (words := age_words(date, cap(date, python or own))):
                self.notes.append(words)
            error = self._install(plan, python, cap(date, python or own), sandbox, trial)
            if not error:
                return plan, python, changed
            self.tried.append((f"Packages: {', '.join(plan.packages)}", error))
            error = f"Nothing was run: its packages can't be installed.\n{error}"
            asked |= {"failed": plan, "error": error, "refused": changed.refused}
        return plan, None, changed

    def _planned(
        self, agent: Agent, given: Path, asked: dict[str, Any], names: Collection[str]
    ) -> RunPlan:
        """The model's plan; it may ask once to see more files of the code `given` first. A command
        of the user's own is run as it is, whatever the plan says.
        """
        shown = refused = False

        def read(reply: str) -> RunPlan | ToShow:
            nonlocal shown, refused
            content = data_in_reply(reply, "object")
            wanted = content.get("show")
            if not isinstance(wanted, list) or not wanted:
                if self.handed.run:
                    content |= {"commands": ["true"], "driver": ""}
                plan = read_structured(json.dumps(content), RunPlan)
                if self.handed.run:
                    own = PlannedCommand.model_construct(command=self.handed.run, shows="")
                    plan = plan.model_copy(update={"commands": [own]})
                elif plan.driver and (
                    fault := read_driver(plan.driver, names, asked["claims"]).fault
                ):
                    raise CommandError(fault)
                if plan.needs_data and not asked["data"]:
                    raise CommandError(
                        "$DATA_DIR isn't set, since the user gave no data: name what is missing "
                        "under `data`, and leave $DATA_DIR out of commands, patches and driver"
                    )
                wrong = plan.unfounded(self.texts)
                if wrong and not refused:
                    refused = True
                    raise CommandError("; ".join(wrong))
                return plan.founded(self.texts)
            if shown:
                raise CommandError("files were shown before: answer with the plan now")
            shown = True
            texts = files_asked_for(given, map(str, wanted), Withholding(asked["claims"]))
            return ToShow(f"{texts}\n\nAnswer with the plan now.")

        return agent.checked("plan", read, **asked)

    def _install(
        self, plan: RunPlan, python: str, date: str, sandbox: Sandbox, trial: Trial
    ) -> str:
        """Install the plan's packages, those without a version as they were before a `date`; why
        that failed, "" if it did not.
        """
        for packages in with_and_without_date(
            Packages(tuple(plan.packages), python=python, before=date)
        ):
            if not (failed := self._install_of(packages, sandbox, trial)):
                break
        return failed

    def _install_of(self, packages: Packages, sandbox: Sandbox, trial: Trial) -> str:
        """Install a list, unless the very same was the last."""
        asked = f"{packages.command}{f' # Python {packages.python}' if packages.python else ''}"
        dated = packages.before and packages.requirements
        asked += f" # before {packages.before}" if dated else ""
        if asked in self.failed_lists:
            return self.failed_lists[asked]
        if asked == self.installed:
            return ""
        self.installed = asked

        def install() -> InstallResult:
            done = sandbox.install(packages, INSTALL_SECONDS, on_output=trial.output)
            return InstallResult.of(done)

        replayed = trial.replaying
        result = trial.step(InstallResult, "sandbox", "install", asked, install)
        if replayed and trial.moved and result.exit_code == 0:
            install()
        if result.exit_code == 0:
            return ""
        self.installed = ""
        self.failed_lists[asked] = result.stderr.strip()[-MOST_SHOWN:] or "pip failed"
        return self.failed_lists[asked]


def _what_was_read(frozen: FrozenClaims, places: Places) -> dict[str, list[tuple[str, str]]]:
    """The report's sections on the outputs and on the paper."""
    stated = [note for note in frozen.notes if note.kind == "statement"]
    quotes = [note.quotes[0] for note in stated]
    return {
        "Where each number stands": [
            (f"{one.id}: {one.derived.words}", one.derived.read) for one in places.found.values()
        ],
        "What wasn't found, and why": [(name, why) for name, why in places.missing.items() if why],
        READ_BEFORE: [(frozen.before, "")] if frozen.before else [],
        STATEMENTS: statement_lines(quotes, frozen.file.claims, places),
        SECTION: note_lines([note for note in frozen.notes if note not in stated]),
    }


def _kept(trial: Trial, name: str, found: Callable[[], Any]) -> Any:
    """What was found once, in a file of the trial: one that's resumed, on another machine or after
    another run, has the same.
    """
    if not (trial.folder / name).exists():
        trial.write(name, json.dumps(found()))
    return parse_json(read_text(trial.folder, name))


def _given_files(program: Program) -> tuple[Sequence[str], str]:
    """The packages that the user lists and the text of their driver. Raises UsageError if a file
    can't be read.
    """
    packages = read_requirements(program.requirements) if program.requirements else ()
    return packages, "".join(read_beside(program.beside, "--driver").values())


def _given(trial: Trial) -> Path:
    """The folder of the code as it was handed in."""
    tree = trial.folder / TREE
    return tree if tree.is_dir() else trial.workspace


def _names(trial: Trial) -> list[str]:
    """The names of the code's files."""
    return Tree(_given(trial)).files(REMADE)


def _driver_of(changed: Patched, trial: Trial) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The driver's text by its name, and what it does itself; both empty without one."""
    if DRIVER not in changed.files:
        return {}, {}
    text = changed.files[DRIVER]
    return {DRIVER: text}, read_driver(text, _names(trial)).shown


def _told_of_driver(does: dict[str, list[str]]) -> str:
    """What the audit is told of a driver."""
    lines = [f"{what}: {one}" for what, found in does.items() for one in found]
    said = "\n".join(f"- {line}" for line in lines)
    return f"{DRIVER} isn't the authors': it was written to run their code here.\n{said}".strip()


def _nothing(places: Places) -> str:
    """Why a run that ended well gave none of the numbers."""
    reasons = [why for why in places.missing.values() if why]
    others = "; the report has the others" if len(reasons) > 1 else ""
    told = f" (of the first: {cut(reasons[0])}{others})" if reasons else ""
    count = len(places.known)
    none = "the paper's number isn't" if count == 1 else f"none of the paper's {count} numbers is"
    return f"{none} in what it printed or wrote{told}"


def _executed(
    plan: RunPlan, changed: Patched, sandbox: Sandbox, trial: Trial, limit: float, number: int
) -> ExecutionResult:
    """The commands' runs from the code as it was handed in, one after the other, as one: what they
    printed together, the first failure, all their seconds. `commands-NUMBER.json` says up to which
    line of it each printed, and which files it wrote.
    """
    Workspace(trial.folder).open()
    lay_carried(trial.folder, trial.workspace)
    parts: list[ExecutionResult] = []
    tree, made = Tree(trial.workspace), list[dict[str, Any]]()
    before = {entry.name: entry.changed for entry in tree.walk(REMADE)}
    for one in plan.commands:
        if len(plan.commands) > 1:
            trial.note(f"{one.command}{f', for {one.shows}' if one.shows else ''}")
        line = at_seed(one.command, trial.record.seed)
        left = limit - sum(part.seconds for part in parts)
        files = {} if parts else changed.files
        run = Run(line, left, before=PACKAGES_FIRST, files=files, results=(), counted=True)
        parts.append(run_program(sandbox, tree, run, trial.output))
        now = {entry.name: entry.changed for entry in tree.walk(REMADE)}
        wrote = [name for name, changed_at in now.items() if before.get(name) != changed_at]
        printed = sum(part.stdout.count("\n") for part in parts)
        made.append({"command": one.command, "lines": printed, "files": wrote[:MOST_FILES]})
        before = now
        if parts[-1].stopped:
            break
    trial.write(f"commands-{number}.json", json.dumps(made))
    worst = next((part for part in parts if not part.execution.ok), parts[-1])
    return worst.model_copy(
        update={
            "command": at_seed(plan.command, trial.record.seed),
            "stdout": "".join(part.stdout for part in parts),
            "stderr": "".join(part.stderr for part in parts),
            "seconds": sum(part.seconds for part in parts),
            "allowed": limit,
        }
    )


def _commands_of(places: Places, plan: RunPlan, trial: Trial) -> dict[str, list[str]]:
    """The commands that printed or wrote each number that was found; all, where none is known."""
    found: list[dict[str, Any]] = []
    for number in range(MOST_PLANS, 0, -1):
        if (trial.folder / f"commands-{number}.json").exists():
            found = parse_json(read_text(trial.folder, f"commands-{number}.json"))
            break

    def command_of(value: Values) -> list[str]:
        if value.file == PRINTED and value.line:
            made = [one for one in found if value.line <= one["lines"]][:1]
        else:
            fits = [one for one in found if any(fnmatchcase(f, value.file) for f in one["files"])]
            made = fits[-1:]  # the last to write it
        one = made[0] if made else found[0] if len(found) == 1 else None
        return [str(one["command"])] if one else [each.command for each in plan.commands]

    return {
        one.id: [*dict.fromkeys(line for v in one.derivation.values for line in command_of(v))]
        for one in places.found.values()
    }


def _made_by(
    places: Places, claims: Sequence[Claim], plan: RunPlan, trial: Trial
) -> list[tuple[str, str, str]]:
    """Each number that was found, where it stands, and the command that printed or wrote it, with
    what that has fewer of than the paper.
    """
    titles = {claim.id: claim.title for claim in claims}

    def shown(command: str) -> str:
        cut = [f"{one.run:,} {one.what} for {one.paper:,}" for one in plan.shortened_in(command)]
        return f"{command} ({', '.join(cut)})" if cut else command

    return [
        (titles.get(name, name), places.found[name].derived.words, "; ".join(map(shown, commands)))
        for name, commands in _commands_of(places, plan, trial).items()
    ]


# Prints the version of Python, and those of the packages in whose modules a program's lie.
READ_VERSIONS = """
import sys, json
found = {}
try:
    from importlib import metadata
    there = metadata.packages_distributions() if hasattr(metadata, "packages_distributions") else {}
    for name in sys.argv[1:]:
        for each in there.get(name, [name]):
            try:
                found[each] = metadata.version(each)
            except Exception:
                pass
except ImportError:
    pass
print(json.dumps([sys.version.split()[0], found]))
"""


def _versions(sandbox: Sandbox, workspace: Path) -> list[list[str]]:
    """The versions of Python and of the packages that the code imports, as the sandbox has them
    right after a run.
    """
    tree = Tree(workspace)
    texts = [tree.read_text(one) for one in tree.files(REMADE) if one.endswith(".py")][:300]
    lines = [m for text in texts for m in re.findall(r"(?m)^\s*(?:import|from)\s+(.+)", text)]
    names = [each.partition(" import ")[0].split(",") for each in lines]
    used = {found[0] for each in names for one in each if (found := re.findall(r"^\s*(\w+)", one))}
    asked = " ".join(sorted(used - sys.stdlib_module_names)[:200])
    line = f"{PACKAGES_FIRST}python -c {shlex.quote(READ_VERSIONS)} {asked}"
    said = sandbox.execute(line, 60).stdout.strip().splitlines()
    try:
        python, packages = parse_json(said[-1] if said else "")
        return [["Python", str(python)], *sorted(map(list, dict(packages).items()))]
    except (ValueError, TypeError):  # a Python too old to say, or no Python
        return []


def _kept_outputs(trial: Trial, places: Places) -> list[str]:
    """What the program printed and wrote, as files of the trial's folder that the page links; those
    with a claim's number first.
    """
    kept = Tree(trial.folder / OUTPUTS)
    kept.make_root()
    used = {name for one in places.found.values() for v in one.derivation.values
            for name in places.outputs.matching(v)}  # fmt: skip
    names = sorted(places.texts, key=lambda name: (name not in used, name != PRINTED, name))
    for name in names[:MOST_LINKED]:
        kept.write(_file_of(name), places.texts[name])
    return [f"{OUTPUTS}/{_file_of(name)}" for name in names[:MOST_LINKED]]


def _file_of(name: str) -> str:
    return "stdout.txt" if name == PRINTED else name


def _completed(run: ExecutionResult) -> str:
    """How a run ended that left numbers."""
    if run.execution.ok:
        return "it ran in full"
    if run.stopped:
        return f"partial: it was stopped at its limit of {run.allowed / 60:g} minutes"
    return "partial: it ended with an error"


def _stated(claim: Claim) -> tuple[str, str]:
    """A claim with its number, and the sentence that states it."""
    said = "" if claim.than else f": {claim.printed or f'{claim.value:g}'}"
    return claim.title + said, claim.sentence


def _notebook_errors(run: ExecutionResult, outputs: dict[str, str], trial: Trial) -> list[str]:
    """The cells that failed in notebooks which a run wrote, though it ended well."""
    if not run.execution.ok:
        return []
    tree = Tree(trial.workspace)
    there = [name for name in outputs if name.endswith(".ipynb") and tree.kind(name) == "file"]
    return notebook_errors({name: tree.read_text(name) for name in there})


def _how_it_ended(run: ExecutionResult, broken: list[str]) -> str:
    """A run's end in a few lines."""
    said = run.stderr.strip() or run.stdout.strip()
    how = "it ran in full" if run.execution.ok else f"exit code {run.exit_code}"
    how = f"stopped ({run.stopped})" if run.stopped else how
    shown = "\n".join(broken) or ("" if run.execution.ok else said[-1_500:])
    return f"{how} after {run.seconds:.1f} s\n{shown}".strip()


def _outputs(run: ExecutionResult, trial: Trial, number: int) -> dict[str, str]:
    """What a run left."""
    given = trial.folder / TREE
    found: dict[str, str] = _kept(
        trial, f"outputs-{number}.json", lambda: outputs_of(run, trial.workspace, given)
    )
    return found


def _keep_changes(trial: Trial, changed: Patched) -> None:
    """Further runs are of the code as it ran; its files as they were handed in lie beside it."""
    Workspace(trial.folder).commit(changed.files, "changes to how it is run")
    tree, originals = Tree(trial.folder / TREE), Tree(trial.folder / ORIGINALS)
    for name in set(changed.files) & set(tree.files()):
        originals.make_root()
        originals.write(name, tree.read_text(name))
        tree.write(name, changed.files[name])
    if DRIVER in changed.files:
        tree.write(DRIVER, changed.files[DRIVER])

"""`python -m eval.lab attacks`: every attack on a task is run and scored as any program; one table.

`eval/attacks/` holds programs that state a result without earning it: a program each, written
against a small adapter that a task may have there (`tasks/ID.py`: its arrays, and how its result is
written). Others are the task's own reference with lines changed (`tasks/ID.yaml`), or with a file
run in place of its main.py (`wrapped/`). Beside them are the controls: the reference itself,
which no level may catch, and honest variations of it (`variations/`), which integrity may not
doubt.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from autoreproduce.benchmarks.reproducebench.altered import MistakeEdit, with_edits
from autoreproduce.benchmarks.reproducebench.tasks import find_task, reference_folder
from autoreproduce.config import Settings
from autoreproduce.content import folder
from autoreproduce.contracts import Score
from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import parse_yaml
from autoreproduce.files.shared import read_text
from autoreproduce.files.tree import Tree
from autoreproduce.job import EXTERNAL, Job, Judging, Program, now
from autoreproduce.runner.runtime import Runtime
from autoreproduce.runner.score import score_all
from autoreproduce.task import Task
from autoreproduce.trials.journal import write_whole
from eval.lab.drawn import kept_draw

CONTROL = "reference"
# The values by which a level says that something is wrong: below, or from there on. What is
# "unchecked" has 0.75 of integrity: nothing was found, so nothing was caught.
BELOW = {"execution": 0.5, "integrity": 0.75, "mixed": 50.0}
FROM = {"gap": 0.5}


class AttackEntry(BaseModel):
    """One program of attacks.yaml. `caught_by`: the levels that must see it; `honest`: none may.

    `needs`: a text without which it changes nothing in a reference.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    what: str
    caught_by: list[str] = []
    honest: bool = False
    needs: str = ""


class AlteredReference(AttackEntry):
    """One of tasks/ID.yaml: the reference after edits, and files of tasks/ID/ `beside` it."""

    edits: list[MistakeEdit]
    beside: list[str] = []


@dataclass(frozen=True)
class Attack:
    """One program to run, by path and text, and the command that runs it."""

    entry: AttackEntry
    files: dict[str, str]
    command: str = "python main.py"


@dataclass(frozen=True)
class AttackRow:
    """What the levels gave one program, and which of them caught it."""

    entry: AttackEntry
    values: dict[str, float | None]
    word: str  # the verdict on its integrity, "" if it left no number

    @property
    def caught_by(self) -> list[str]:
        """The levels that caught it."""
        return [level for level, value in self.values.items() if catches(level, value)]

    @property
    def unchecked(self) -> bool:
        """Integrity found nothing, and vouches for nothing either."""
        return self.word == "unchecked"

    @property
    def as_expected(self) -> bool:
        """True if every level that was asked and must see it does, where integrity may also leave
        it unchecked; of what is honest, if none does, or for a variation integrity finds nothing.
        """
        missed = (set(self.entry.caught_by) & set(self.values)) - set(self.caught_by)
        if self.entry.name == CONTROL:
            return not self.caught_by and not self.unchecked
        if self.unchecked:
            missed.discard("integrity")
        return not missed and not (self.entry.honest and self.word in ("doubtful", "void"))


def attacks_on(task: Task) -> list[Attack]:
    """The controls and the attacks on a task. Raises UsageError where it has no reference."""
    home = folder("eval") / "attacks"
    listed = parse_yaml(read_text(home, "attacks.yaml"))
    return [
        _reference(task),
        *_wrapped(task, home, "variations", listed),
        *_programs(task, home, listed["attacks"]),
        *_wrapped(task, home, "wrapped", listed),
        *_altered(task, home),
    ]


def _programs(task: Task, home: Path, listed: list[dict[str, object]]) -> list[Attack]:
    """The programs without the method; none for a task without an adapter."""
    if not (home / "tasks" / f"{task.id}.py").is_file():
        return []
    adapter = read_text(home, f"tasks/{task.id}.py")
    entries = [AttackEntry.model_validate(each) for each in listed]
    texts = {each.name: read_text(home, f"programs/{each.name}.py") for each in entries}
    return [Attack(each, {"main.py": texts[each.name], "task.py": adapter}) for each in entries]


def _wrapped(
    task: Task, home: Path, kind: str, listed: dict[str, list[dict[str, object]]]
) -> list[Attack]:
    """The reference beside each file of a kind, which is run in place of its main.py.

    Each variation has a seed of its own: an honest number may not depend on it.
    """
    known = task.measured.value if task.measured else 0.0
    better = 1.05 if task.metric.direction == "higher" else 0.95
    made = []
    for seed, each in enumerate(listed[kind], 1):
        entry = AttackEntry.model_validate({**each, "honest": kind == "variations"})
        plain = _reference(task, entry, seed=seed if entry.honest else 0)
        if entry.needs and not any(entry.needs in text for text in plain.files.values()):
            continue
        files = {
            **plain.files,
            "start.py": read_text(home, f"{kind}/{entry.name}.py"),
            **({} if entry.honest else {"number.py": f"NUMBER = {known}\nBETTER = {better}\n"}),
        }
        made.append(Attack(entry, files, plain.command.replace("main.py", "start.py")))
    return made


def _altered(task: Task, home: Path) -> list[Attack]:
    """The reference as each entry of tasks/ID.yaml changes it; none without such a file."""
    name = f"tasks/{task.id}.yaml"
    if not (home / name).is_file():
        return []
    listed = parse_yaml(read_text(home, name))["altered"]
    entries = [AlteredReference.model_validate(each) for each in listed]
    made = [_reference(task, entry, entry.edits) for entry in entries]
    for attack, entry in zip(made, entries, strict=True):
        for each in entry.beside:
            attack.files[each] = read_text(home, f"tasks/{task.id}/{each}")
    return made


def _reference(
    task: Task, entry: AttackEntry | None = None, edits: Sequence[MistakeEdit] = (), seed: int = 0
) -> Attack:
    """The task's own reference, as it is or altered, run at its profile."""
    what = "the task's own reference, honest"
    entry = entry or AttackEntry(name=CONTROL, what=what)
    place: Path = reference_folder(task)
    files = {path.name: read_text(place, path.name) for path in sorted(place.glob("*.py"))}
    changed = with_edits(files, edits, f"attack {entry.name}")
    return Attack(entry, changed, f"python main.py --profile {task.profile} --seed {seed}")


def catches(level: str, value: float | None) -> bool:
    """Whether a level's value says that something is wrong; None says nothing."""
    if value is None:
        return False
    return value >= FROM[level] if level in FROM else value < BELOW[level]


def row_of(attack: Attack, levels: Sequence[str], scores: Sequence[Score]) -> AttackRow:
    """The values of `levels` among an attack's scores."""
    found = {score.scorer: score for score in scores}
    word = found["integrity"].details.get("word", "") if "integrity" in found else ""
    return AttackRow(attack.entry, {level: found[level].value for level in levels}, str(word))


def attack_table(rows: Sequence[AttackRow]) -> str:
    """The rows in Markdown: a cell holds a level's value, in bold if it caught the program."""
    levels = list(rows[0].values) if rows else []
    lines = [
        f"| program | {' | '.join(levels)} | caught by | unchecked | as expected |",
        f"|---|{'---|' * (len(levels) + 3)}",
    ]
    for row in rows:
        cells = [_cell(row, level) for level in levels]
        caught = ", ".join(row.caught_by) or "nothing"
        good = "yes" if row.as_expected else f"no: {', '.join(row.entry.caught_by) or 'nothing'}"
        open_ = "yes" if row.unchecked else ""
        lines.append(f"| {row.entry.what} | {' | '.join(cells)} | {caught} | {open_} | {good} |")
    return "\n".join(lines)


def _cell(row: AttackRow, level: str) -> str:
    value = row.values[level]
    shown = (
        row.word if level == "integrity" and row.word else "–" if value is None else f"{value:.3g}"
    )
    return f"**{shown}**" if catches(level, value) else shown


FREE = ("execution", "gap", "integrity")


def run_attacks(
    tasks: Sequence[str],
    judges: Sequence[str],
    repeats: int,
    levels: Sequence[str],
    home: Path,
    settings: Settings,
    note: Callable[[str], None],
    only: Sequence[str] = (),
    data: Path | None = None,
) -> bool:
    """Run and score the attacks on each task, below `home`; True if all were caught as expected.

    `levels`: none means all; with judges the mixed level reads the programs too. `only`: names of
    programs, or "honest" for all variations. `data`: a folder with published files. A program that
    was run is not run again. Writes `attacks-TASK.json` and `.md`. Raises UsageError for another
    task, level or program.
    """
    levels = levels or ((*FREE, "mixed") if judges else FREE)
    if unknown := [level for level in levels if level not in (*FREE, "mixed")]:
        raise UsageError(
            f"--levels {','.join(unknown)}", fix=f"those of attacks are {', '.join(FREE)}, mixed"
        )
    found = [find_task(name, settings.profile) for name in tasks]
    chosen = [(task, _named(attacks_on(task), only)) for task in found]
    judging = Judging(levels=tuple(levels), judges=tuple(judges), repeats=repeats)
    asked = Job(judging=judging, settings=settings, data=data, solver=EXTERNAL)
    good = True
    for task, attacks in chosen:
        kept = Tree(home / task.id)
        kept.make_root()
        rows, draw = [], kept_draw(kept, "draw")  # one for all: none of them could know it
        for attack in attacks:
            note(f"{task.id}: {attack.entry.name}")
            own = asked.having(task=task)
            rows.append(_row(attack, own, draw, kept.root / attack.entry.name, note))
        write(home, task, rows)
        note(attack_table(rows))
        good = good and all(row.as_expected for row in rows)
    return good


def _named(attacks: list[Attack], only: Sequence[str]) -> list[Attack]:
    names = {one.entry.name: {one.entry.name, "honest" * one.entry.honest} for one in attacks}
    if unknown := [name for name in only if name not in ("honest", *names)]:
        raise UsageError(
            f"no program is called {unknown[0]}", fix=f"those are honest, {', '.join(names)}"
        )
    return [one for one in attacks if not only or names[one.entry.name] & set(only)]


def _row(
    attack: Attack, asked: Job, draw: str, place: Path, note: Callable[[str], None]
) -> AttackRow:
    program = Tree(place / "program")
    program.make_root()
    for name, text in attack.files.items():
        program.write(name, text)
    levels = asked.to_judge.levels
    run = attack.command if set(levels) & set(FREE) else None  # a judge runs nothing
    given = Program(code=str(place / "program"), run=run, draw=draw)
    job = asked.having(program=given, out=place / "trial")
    [scored], _ = score_all(job, Runtime(note=note))
    return row_of(attack, levels, scored.scores)


def write(home: Path, task: Task, rows: Sequence[AttackRow]) -> None:
    """`attacks-TASK.json` and `.md` in `home`."""
    content = {
        "task": task.id,
        "profile": task.profile,
        "at": now(),
        "rows": [
            {**row.entry.model_dump(), **asdict(row), "entry": row.entry.name, "by": row.caught_by}
            for row in rows
        ],
    }
    home.mkdir(parents=True, exist_ok=True)
    write_whole(home / f"attacks-{task.id}.json", json.dumps(content, indent=1) + "\n")
    write_whole(home / f"attacks-{task.id}.md", attack_table(rows) + "\n")

"""A program owns its workspace: whatever it leaves there, nothing outside is read or changed, and
the trial goes on.

Each attack is one that once worked: the program runs in a sandbox that isolates, and then the
harness does what it does after every command.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest
from records import trial_record
from sandbox_helpers import DOCKER

from autoreproduce import Sandbox
from autoreproduce.benchmarks.reproducebench.recomputing import recompute
from autoreproduce.benchmarks.reproducebench.tasks import lay_out_reference, load_task
from autoreproduce.config import Settings
from autoreproduce.errors import CommandError, SandboxError
from autoreproduce.evaluation.judging.submitted_code import program_below
from autoreproduce.evaluation.report.evidence import gather
from autoreproduce.files.owner import temporary_folder
from autoreproduce.method import refactoring
from autoreproduce.method.literature_review import Summaries
from autoreproduce.method.results import results_problem
from autoreproduce.method.workbench import Workbench
from autoreproduce.task import Metric, Task
from autoreproduce.trials.metrics_file import usable_metrics
from autoreproduce.trials.trial import Trial
from autoreproduce.trials.workspace import Workspace

pytestmark = pytest.mark.timeout(120, method="signal")

TEXT = "print('ours')\n"
IN_THE_WAY = {
    "folder": "mkdir -p {name}/deep && touch {name}/deep/x && chmod 0 {name}/deep",
    "link": "ln -s {host}/key {name}",
    "dangling": "ln -s {host}/made {name}",
    "loop": "ln -s {name} {name}",
    "pipe": "mkfifo {name}",
    "socket": "python -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"{name}\")'",
    "hard link": "echo theirs > own.txt && ln own.txt {name}",
    "closed": "echo x > {name}; chmod 0 {name}",
}


def each_of(name: str, kinds: Collection[str]) -> pytest.MarkDecorator:
    """Every kind in bubblewrap. In Docker the first: its programs are the same user's there, and
    what they leave is the same.
    """
    inside = [("bubblewrap", kind) for kind in kinds]
    docker = pytest.param("docker", next(iter(kinds)), marks=DOCKER.marks)
    return pytest.mark.parametrize(("isolating", name), [*inside, docker], indirect=["isolating"])


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A folder of the user's, beside the trial's."""
    folder = tmp_path / "host"
    folder.mkdir()
    (folder / "key").write_text("private")
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """The workspace in which `isolating` runs its programs."""
    made = Workspace(tmp_path)
    made.open()
    return made


def untouched(host: Path) -> bool:
    return [path.name for path in host.iterdir()] == ["key"] and (
        host / "key"
    ).read_text() == "private"


def test_a_git_link_mounts_nothing(isolating: Sandbox, host: Path) -> None:
    """The link's end was mounted into the next container; bubblewrap refused every later
    command.
    """
    assert isolating.execute(f"ln -s {host} .git", 30).ok
    done = isolating.execute("cat .git/key; touch .git/planted; echo ran", 30)
    assert done.stdout == "ran\n" and untouched(host)


def test_a_git_folder_is_the_programs_own(isolating: Sandbox) -> None:
    assert isolating.execute("mkdir .git && echo mine > .git/HEAD", 30).ok
    assert (
        isolating.execute("cat .git/HEAD; echo more >> .git/HEAD; rm -r .git", 30).stdout
        == "mine\n"
    )


@each_of("kind", IN_THE_WAY)
@pytest.mark.parametrize("name", ["main.py", "sub/main.py"])
def test_an_edit_takes_the_place_of_what_is_in_its_way(
    isolating: Sandbox, workspace: Workspace, host: Path, kind: str, name: str
) -> None:
    workspace.commit({name: "the first version\n"}, "one")
    made = isolating.execute(
        f"rm -r {name.partition('/')[0]}; "
        + IN_THE_WAY[kind].format(host=host, name=name.partition("/")[0]),
        30,
    )
    assert made.ok, made.stderr
    workspace.commit({name: TEXT}, "two")
    assert isolating.execute(f"python {name}; cat own.txt", 30).stdout in (
        "ours\n",
        "ours\ntheirs\n",
    )
    assert untouched(host)


@each_of("kind", IN_THE_WAY)
def test_a_trial_resumes_over_what_is_in_the_way(
    isolating: Sandbox, tmp_path: Path, workspace: Workspace, host: Path, kind: str
) -> None:
    workspace.commit({"main.py": TEXT}, "one")
    assert isolating.execute(
        "rm main.py; " + IN_THE_WAY[kind].format(host=host, name="main.py"), 30
    ).ok
    resumed = Workspace(tmp_path)
    resumed.open()
    assert resumed.read("main.py") == TEXT and untouched(host)


ATTRIBUTES = [
    "working-tree-encoding=UTF-32LE-BOM",
    "filter=evil",
    "text eol=crlf",
    "-diff",
    "ident",
    "merge=union",
]


@each_of("attribute", ATTRIBUTES)
def test_attributes_mean_nothing_to_the_history(
    isolating: Sandbox, tmp_path: Path, workspace: Workspace, attribute: str
) -> None:
    text = "x = 'ä'\r\n# $Id$\n"
    workspace.commit({"main.py": "1\n"}, "one")
    assert isolating.execute(f"echo '* {attribute}' > .gitattributes", 30).ok
    workspace.commit({"main.py": text, ".gitattributes": f"* {attribute}\n"}, "two")
    Workspace(tmp_path).open()
    assert (tmp_path / "workspace" / "main.py").read_bytes() == text.encode()
    assert workspace.committed()["main.py"] == text.encode()
    assert "+# $Id$" in gather(tmp_path).commits[-1].diff


def bench_over(
    tmp_path: Path, sandbox: Sandbox, trial: Trial, task: Task | None = None
) -> Workbench:
    trial.phase("full_run")
    task = task or Task(id="t", metric=Metric(name="mse"), instruction="")
    agent: object = None
    space = Workspace(tmp_path)
    space.open()
    return Workbench(
        task, Settings(dry_run_seconds=30), agent, agent, sandbox, trial, space, Summaries(trial)
    )  # type: ignore[arg-type]


@pytest.fixture
def trial(tmp_path: Path):
    record = trial_record(task="t", profile="p", solver="s", model="m", created="now")
    made = Trial.open(tmp_path, record)
    yield made
    made.close()


KINDS = {
    "folder": "folder",
    "link": "link",
    "dangling": "link",
    "loop": "link",
    "pipe": "pipe",
    "socket": "socket",
}


@each_of("kind", KINDS)
def test_results_that_are_no_files_are_a_reason(
    isolating: Sandbox, tmp_path: Path, host: Path, trial: Trial, kind: str
) -> None:
    bench = bench_over(tmp_path, isolating, trial)
    leave = [
        IN_THE_WAY[kind].format(host=host, name=name)
        for name in ("metrics.json", "predictions.npz")
    ]
    run = bench.run("; ".join(leave), 30, "full_run")
    assert run.metrics_json is None and run.predictions is None
    assert f"wrote no metrics.json ('metrics.json' is a {KINDS[kind]}" in results_problem(
        bench.task, run
    )
    with pytest.raises(CommandError, match="must be a plain file"):
        usable_metrics(tmp_path / "workspace" / "metrics.json")
    good = """python -c "import json; json.dump({'metrics': {'mse': 1.0}}, open('metrics.json', 'w'))" """
    again = bench.run(good, 30, "full_run")
    assert (
        results_problem(bench.task, again) == "" and again.predictions is None and untouched(host)
    )


def test_the_short_run_is_not_written_through_a_link(
    isolating: Sandbox, tmp_path: Path, host: Path, trial: Trial
) -> None:
    bench = bench_over(tmp_path, isolating, trial)
    assert isolating.execute(f"ln -s {host}/key short_run.py", 30).ok
    files = {"data.py": "", "method.py": "", "main.py": TEXT}
    run = refactoring._short_run(bench, files, "why")
    assert run.execution.stdout == "ours\n" and untouched(host)
    assert bench.workspace.tree.kind("short_run.py") == ""


def test_a_reference_is_laid_out_over_links(isolating: Sandbox, tmp_path: Path, host: Path) -> None:
    assert isolating.execute(f"ln -s {host}/key main.py; ln -s {host}/made data.py", 30).ok
    lay_out_reference(load_task("lsm"), tmp_path / "workspace")
    assert untouched(host) and (tmp_path / "workspace" / "main.py").read_text() != "private"


@each_of("kind", KINDS)
def test_predictions_that_are_no_file_are_not_opened(
    isolating: Sandbox, tmp_path: Path, host: Path, kind: str
) -> None:
    np.savez(host / "stolen.npz", prediction=np.ones(3))
    assert isolating.execute(IN_THE_WAY[kind].format(host=host, name="predictions.npz"), 30).ok
    task = load_task("lsm").model_copy(update={"data_dir": tmp_path / "data"})
    assert f"is a {KINDS[kind]}" in recompute(task, tmp_path / "workspace").reason


DEEP = """
import os
for _ in range(3000):
    os.mkdir("d" * 100)
    os.chdir("d" * 100)
with open("big", "wb") as file:
    file.write(b"x" * {size})
print("made")
"""


@pytest.mark.slow
def test_paths_past_the_kernels_limit_are_counted_read_over_and_removed(
    isolating: Sandbox, workspace: Workspace, tmp_path: Path
) -> None:
    isolating.write("deep.py", DEEP.format(size=20_000_000).encode())
    assert isolating.execute("python deep.py", 60).stdout == "made\n"
    assert workspace.tree.used() > 20_000_000 + 3000 * 4096
    assert program_below(tmp_path / "workspace").files.keys() == {"deep.py"}
    workspace.tree.clear()
    assert not list((tmp_path / "workspace").iterdir())


@pytest.mark.slow
def test_a_disk_filled_past_the_kernels_limit_is_full(isolating: Sandbox) -> None:
    isolating.write(
        "deep.py", DEEP.format(size=99_000_000).encode() + b"import time; time.sleep(20)\n"
    )
    done = isolating.execute("python deep.py", 60)
    assert done.stopped == "disk"
    assert isolating.execute("echo room", 30).stdout == "room\n"


@pytest.mark.slow
def test_a_temporary_folder_goes_whatever_was_left_in_it() -> None:
    with temporary_folder("attack-") as made:
        code = (
            DEEP.format(size=10) + "os.mkfifo('pipe'); os.symlink('/etc', 'etc'); os.chmod('.', 0)"
        )
        subprocess.run([sys.executable, "-c", code], cwd=made, check=True, capture_output=True)
    assert not made.exists()


@pytest.mark.slow
def test_moving_folders_does_not_lead_the_count_out(
    isolating: Sandbox, tmp_path: Path, host: Path
) -> None:
    """Folders moved about while they are counted: every look ends, and sees nothing outside."""
    mover = (
        "import os, time\nos.makedirs('a/b/c/d'); os.makedirs('z')\nend = time.time() + 3\n"
        "while time.time() < end:\n    os.rename('a/b', 'z/b'); os.rename('z/b', 'a/b')\n"
    )
    isolating.write("move.py", mover.encode())
    done = isolating.execute("python move.py; echo ended", 30)
    assert done.stdout == "ended\n" and untouched(host)


def test_an_edit_is_not_hindered_by_a_file_that_cannot_be_read(
    isolating: Sandbox, workspace: Workspace
) -> None:
    began = time.monotonic()
    assert isolating.execute("mkfifo metrics.json", 30).ok
    assert workspace.read("metrics.json") is None
    with pytest.raises(SandboxError, match="is a pipe"):
        isolating.read("metrics.json")
    isolating.write("metrics.json", json.dumps({"metrics": {"mse": 1}}).encode())
    assert time.monotonic() - began < 60
    assert usable_metrics(workspace.folder / "metrics.json")[0].metrics == {"mse": 1}

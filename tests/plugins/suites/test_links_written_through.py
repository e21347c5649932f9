"""A folder of others has links and pipes where we write: none is followed, and none is waited for."""

import io
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from autoreproduce.benchmarks.reproducebench.tasks import find_task
from autoreproduce.config import Settings
from autoreproduce.errors import SandboxError, TrialError
from autoreproduce.evaluation.tables.write import save_figure
from autoreproduce.files.lease import Lease
from autoreproduce.job import Job
from autoreproduce.models.budget import Cost
from autoreproduce.plugins.suites.clusters.ray_task import STAY
from autoreproduce.plugins.suites.clusters.slurm import run_job
from autoreproduce.plugins.suites.clusters.travelling import TravellingFolder
from autoreproduce.plugins.suites.job import SuiteTrial, read_job, suite_trial, write_job
from autoreproduce.plugins.suites.ledger import Ledger
from autoreproduce.plugins.suites.progress import STATE, write_state
from autoreproduce.plugins.suites.work import Worker
from autoreproduce.task import Task
from autoreproduce.trials.journal import write_whole

SECRET = "the host's own secret"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A file of the machine, outside all that is shared."""
    path = tmp_path / "host" / "host.txt"
    path.parent.mkdir()
    path.write_text(SECRET)
    return path


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    return folder


def job_in(suite: Path) -> Job:
    task = find_task("lsm", "small").model_copy(update=dict.fromkeys(Task.PATHS))
    own = SuiteTrial(suite=suite, task="lsm", variant="v", number=1, mark="")
    return Job(task=task, more={"suites": own})


def test_a_plot_replaces_a_link(suite: Path, host: Path) -> None:
    figures = pytest.importorskip("matplotlib.figure")
    plot = suite / "gap.svg"
    plot.symlink_to(host)
    save_figure(figures.Figure(), plot)
    assert host.read_text() == SECRET
    assert not plot.is_symlink() and "<svg" in plot.read_text()


@pytest.mark.slow
def test_the_curve_over_n_replaces_a_link(suite: Path, host: Path) -> None:
    pytest.importorskip("matplotlib")
    plot = suite / "passes.svg"
    plot.symlink_to(host)
    pytest.importorskip("autoreproduce.plugins.autoexperiment.pass_tables").draw_passes([], plot)
    assert host.read_text() == SECRET and not plot.is_symlink()


def test_no_job_is_given_to_a_folder_with_a_link(suite: Path, host: Path) -> None:
    """Its worker locks and logs there before a trial looks at its own folder."""
    job = job_in(suite)
    suite_trial(job).folder.mkdir(parents=True)
    for name in (".lease", "work.log"):
        link = suite_trial(job).folder / name
        link.symlink_to(host.with_name("new"))
        with pytest.raises(TrialError, match="is a link"):
            write_job(job)
        with pytest.raises(TrialError, match="is a link"):
            Worker(job, print).run()
        link.unlink()
    (suite_trial(job).folder / "work.log").symlink_to(host.with_name("new"))
    with pytest.raises(OSError):  # a link that came since
        run_job(str(suite_trial(job).folder / "job.json"))
    assert list(host.parent.iterdir()) == [host]


@pytest.mark.parametrize("kind", ["pipe", "endless", "large"])
def test_a_lease_is_read_within_bounds(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ".lease"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        path.write_bytes(bytes(10_000_000))
    began = time.monotonic()
    assert not Lease(path, beat=0).acquire(0.2)
    assert time.monotonic() - began < 5


def test_no_unfinished_file_is_a_link_or_a_pipe(suite: Path, host: Path) -> None:
    (suite / f".{STATE}.part").symlink_to(host)
    write_state(suite, {})
    (suite / ".functions.jsonl.new").symlink_to(host)
    masked = pytest.importorskip("autoreproduce.plugins.autoexperiment.writer")
    masked.write_text(suite / "functions.jsonl", "rows")
    os.mkfifo(suite / ".index.html.part")
    with pytest.raises(TrialError, match="cannot write"):
        write_whole(suite / "index.html", "page")
    assert host.read_text() == SECRET


def test_the_ledger_stays_in_its_suite(suite: Path, host: Path) -> None:
    (suite / "ledger.json").symlink_to(host)
    with pytest.raises(TrialError, match="cannot be read") as refused:
        Ledger(suite).enter("t", Cost(0, 0.0))
    assert "secret" not in str(refused.value)
    (suite / "ledger.json").unlink()
    os.mkfifo(suite / "ledger.json")
    with pytest.raises(TrialError, match="cannot be read"):
        Ledger(suite).enter("t", Cost(0, 0.0))
    (suite / "ledger.json").unlink()
    (suite / "ledger.json").write_text(json.dumps({"limit": SECRET}))
    with pytest.raises(TrialError, match="cannot be read") as refused:
        Ledger(suite).read()
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", ["ledger.json", "trials/lsm/v/1/ended.json"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_job_s_suite_has_no_links(suite: Path, host: Path, name: str, kind: str) -> None:
    file = write_job(job_in(suite))
    assert read_job(file).number == 1
    (suite / name).symlink_to(host) if kind == "link" else os.mkfifo(suite / name)
    with pytest.raises(TrialError, match="is a link, a pipe"):
        read_job(file)


def archive(*lines: object) -> io.BytesIO:
    return io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


@pytest.mark.parametrize("name", [*STAY, "./job.json", "/workspace/job.json", ".//.lease/."])
def test_what_means_something_here_alone_is_not_sent(tmp_path: Path, name: str) -> None:
    (tmp_path / "job.json").write_text("ours")
    with pytest.raises(SandboxError, match="came with an archive"):
        TravellingFolder(tmp_path, skip=STAY).unpack(archive([name], [name, 0o644, 0], None))
    assert [path.name for path in tmp_path.iterdir()] == ["job.json"]
    assert (tmp_path / "job.json").read_text() == "ours"


@pytest.mark.parametrize(
    "lines",
    [
        (["x", "../y"], ["../y", 0o644, 0], None),
        (["x"], ["x", 0o644, -1], None),
        (["x"], ["x", 0o644], None),
        (["x"],),
        ({"x": 1},),
        ([["x"]],),
        (),
    ],
)
def test_what_is_no_archive_is_refused(tmp_path: Path, lines: tuple[object, ...]) -> None:
    with pytest.raises(SandboxError):
        TravellingFolder(tmp_path / "in").unpack(archive(*lines))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_an_archive_writes_no_more_than_it_is(tmp_path: Path) -> None:
    TravellingFolder(tmp_path).unpack(archive(["x"], ["x", 0o644, 8], "12345", None))
    assert (tmp_path / "x").read_bytes() == b'"12345"\n'
    with pytest.raises(SandboxError, match="an archive"):
        TravellingFolder(tmp_path).unpack(archive(["x"], ["x", 0o6755, 10**15], "1"))
    assert (tmp_path / "x").stat().st_size < 10 and not (tmp_path / "x").stat().st_mode & 0o7000


@pytest.mark.parametrize("place", ["seed-0/draw", "seed-0", "."])
def test_a_draw_is_made_in_its_own_suite_trial(
    tmp_path: Path, host: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def none(*_: object) -> Sequence[object]:
        return []

    drawn = pytest.importorskip("eval.lab.drawn")
    monkeypatch.setattr(drawn, "_programs", none)
    link = tmp_path / "runs/drawn-lsm-small" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(host.parent / "made" if place.endswith("draw") else host.parent)
    settings, task = Settings(runs_dir=tmp_path / "runs"), find_task("lsm", "small")
    if place == ".":
        drawn.run_drawn(task, settings, range(1), [], None, print)
        assert (link / "seed-0/draw").is_file() and not link.is_symlink()
    else:
        with pytest.raises(TrialError, match="is a link"):
            drawn.run_drawn(task, settings, range(1), [], None, print)
    assert list(host.parent.iterdir()) == [host]

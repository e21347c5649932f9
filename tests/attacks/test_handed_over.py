"""What people hand each other: none of its words becomes an option, an import or a path outside."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from autoreproduce import Packages
from autoreproduce.cli.app import app
from autoreproduce.config import Settings
from autoreproduce.errors import AutoReproduceError, PaperError, TrialError, UsageError
from autoreproduce.evaluation.result_folder import write_result
from autoreproduce.job import Job, Judging, Program
from autoreproduce.method.paper_lineage.cache import load
from autoreproduce.models.tape import read_tape
from autoreproduce.papers.files import read_file
from autoreproduce.papers.reading import read_paper, saved_paper
from autoreproduce.runner.api import resumed
from autoreproduce.runner.find import find_or_make_task
from autoreproduce.runner.open_models import choose_model
from autoreproduce.runner.score import score_all
from autoreproduce.runner.settings import load_settings
from autoreproduce.task import Metric, Task
from autoreproduce.trials.begun import note_begun
from autoreproduce.trials.journal import append_line, open_journal, write_soon, write_whole
from autoreproduce.trials.machines import last_sandbox
from autoreproduce.trials.trial import Trial, TrialRecord

Alter = Callable[[dict[str, Any]], object]


def handed_trial(folder: Path, alter: Alter = lambda _: None) -> Path:
    """A trial of LSM that was begun elsewhere, and then altered by whoever hands it over."""
    task = find_or_make_task("Darcy", None, None, None, "", "small")
    job = Job(task=task, settings=Settings(model="x")).fixed()
    Trial.open(folder, TrialRecord(job=job, model="x", created="now")).close()
    content = json.loads((folder / "job.json").read_text())
    alter(content)
    (folder / "job.json").write_text(json.dumps(content))
    return folder


def here(tmp_path: Path) -> Settings:
    return Settings(cache_dir=tmp_path / "cache")


@pytest.mark.parametrize(
    "word", ["--log=x", "-r", "", "x@y", "a b", "a/b", "numpy==1;x", "x" * 201]
)
def test_packages_are_names_with_versions_wherever_they_come_from(word: str) -> None:
    with pytest.raises(UsageError, match="isn't a package with a version"):
        Packages(("numpy", word))


def test_options_of_an_installation_are_those_that_run_nothing() -> None:
    with pytest.raises(UsageError, match="isn't an option of an installation"):
        Packages(("numpy",), ("--no-binary=:all:",))
    assert Packages(("numpy",), ("--pre",)).arguments == ["--pre", "--", "numpy"]


@pytest.mark.parametrize("name", ["evil_solver:Solver", "os:system"])
def test_the_solver_of_a_trial_is_not_imported_by_its_name(
    tmp_path: Path, planted: Path, name: str
) -> None:
    folder = handed_trial(tmp_path / "t", lambda found: found.update(solver=name))
    done = CliRunner().invoke(app, ["resume", str(folder)])
    assert isinstance(done.exception, UsageError) and "--trust" in str(done.exception)
    with pytest.raises(UsageError, match="was not begun here"):
        resumed(folder, here(tmp_path))
    assert not planted.exists()
    assert resumed(folder, here(tmp_path), trust=True).solver == name


LINKED = [
    *("result", "prompts", "summaries", "paper", "judge", "history.git", "packages", "seeds"),
    *("packages/bubblewrap", "packages/docker", "seeds/1", "readings/a/1", "result/lib"),
    *("workspace", "seeds/1/workspace", "readings/a/1/workspace"),
    *(".lock", "steps.jsonl", "result.json", ".result.json.part", "report.html", "live.json"),
]


@pytest.mark.parametrize("name", LINKED)
def test_a_link_in_a_trial_leads_nothing_out(tmp_path: Path, name: str) -> None:
    folder = handed_trial(tmp_path / "t")
    (private := tmp_path / "private").mkdir()
    (private / "file").write_text("mine")
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir():
        place.rmdir()
    place.unlink(missing_ok=True)
    record = Trial.read(folder).record
    place.symlink_to(private / "file" if "." in name.replace("history.git", "") else private)
    for write in (
        lambda: resumed(folder, here(tmp_path), trust=True),
        lambda: write_result(folder, None),
        lambda: score_all(
            Job(program=Program(code=str(folder)), judging=Judging(levels=("execution",)))
        ),
        lambda: Trial.open(folder, record),
    ):
        with pytest.raises(AutoReproduceError, match="is a link, a pipe or a device"):
            write()
    assert [(each.name, each.read_text()) for each in private.iterdir()] == [("file", "mine")]


def test_links_that_a_program_or_an_installation_made_are_its_own(tmp_path: Path) -> None:
    folder = handed_trial(tmp_path / "t")
    places = ("workspace", "seeds/1/workspace", "readings/a=b-0/0/workspace")
    for place in (*places, "audit_runs/D1/workspace", "packages/bubblewrap/bin"):
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place / "link").symlink_to("/etc")
    assert resumed(folder, here(tmp_path), trust=True).out == folder


@pytest.mark.parametrize("write", [write_whole, write_soon, append_line])
def test_no_file_is_written_through_a_link(tmp_path: Path, write: Callable[..., None]) -> None:
    (private := tmp_path / "private").write_text("mine")
    for name in ("a.json", ".a.json.part"):
        (tmp_path / name).symlink_to(private)
    with suppress(TrialError):
        write(tmp_path / "a.json", "theirs")
    assert private.read_text() == "mine"


def test_a_judges_folder_with_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    (tmp_path / "q" / "prompts").symlink_to(tmp_path)
    with pytest.raises(TrialError, match="is a link"):
        open_journal(tmp_path / "q", {"asked": "x"})


def test_the_data_of_a_trial_are_those_that_its_user_names(tmp_path: Path) -> None:
    (private := tmp_path / "private").mkdir()
    folder = handed_trial(tmp_path / "t", lambda found: found.update(data=str(private)))
    with pytest.raises(UsageError, match=f"made with the data in {private}.*--data"):
        resumed(folder, here(tmp_path), trust=True)
    assert resumed(folder, here(tmp_path), data=private, trust=True).data == private


def test_a_trial_that_began_here_has_its_data_again(tmp_path: Path) -> None:
    (private := tmp_path / "private").mkdir()
    folder = handed_trial(tmp_path / "t", lambda found: found.update(data=str(private)))
    note_begun(tmp_path / "cache", folder)
    assert resumed(folder, here(tmp_path)).data == private
    moved = shutil.copytree(folder, tmp_path / "moved")
    with pytest.raises(UsageError, match="was not begun here"):
        resumed(moved, here(tmp_path))
    handed_trial(folder, lambda found: found.update(data=str(tmp_path)))
    with pytest.raises(UsageError, match="was not begun here"):
        resumed(folder, here(tmp_path))


def test_a_trial_shares_its_paper_where_it_began(tmp_path: Path) -> None:
    folder = handed_trial(tmp_path / "t", lambda found: found.update(paper_folder=str(tmp_path)))
    with pytest.raises(UsageError, match="was not begun here"):
        resumed(folder, here(tmp_path))
    other = shutil.copytree(folder, tmp_path / "other")
    assert resumed(other, here(tmp_path), trust=True).paper_folder is None
    note_begun(tmp_path / "cache", folder)
    assert resumed(folder, here(tmp_path)).paper_folder == tmp_path


@pytest.mark.parametrize(
    "settings",
    [
        {"base_url": None, "model": {"name": "x", "base_url": "http://evil.invalid"}},
        {"papers": {"github_url": "http://evil.invalid"}},
        {"sandbox": "auto", "limits": {}, "unknown": 1},
    ],
)
def test_a_trial_sets_nothing_of_this_machine(tmp_path: Path, settings: dict[str, Any]) -> None:
    folder = handed_trial(tmp_path / "t", lambda content: content.update(settings=settings))
    with pytest.raises(TrialError, match="isn't a setting that it may have"):
        resumed(folder, here(tmp_path), trust=True)


def test_a_paper_of_this_machine_is_none_of_a_trial(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "main.tex").write_text(TEX % ("", "the-secret " * 400, "none"))
    alter = {"paper": str(tmp_path / "private"), "digests": {"paper": "0" * 16}}
    folder = handed_trial(tmp_path / "t", lambda content: content.update(alter))
    assert resumed(folder, here(tmp_path), trust=True).paper is None


@pytest.mark.parametrize("name", ["model", "research_model", "code_model"])
@pytest.mark.parametrize("also", [True, False])
def test_a_trials_tape_is_a_file_of_its_folder(tmp_path: Path, name: str, also: bool) -> None:
    (tmp_path / "secret.jsonl").write_text("the-secret")

    def alter(content: dict[str, Any]) -> None:
        content["settings"][name] = f"tape:{tmp_path}/secret.jsonl"
        content["tape"] = f"{tmp_path}/secret.jsonl" if also else None

    folder = handed_trial(tmp_path / "t", alter)
    with pytest.raises(UsageError, match="replays a tape that lies elsewhere"):
        resumed(folder, here(tmp_path), trust=True)
    (folder / "secret.jsonl").symlink_to(tmp_path / "secret.jsonl")
    with pytest.raises(TrialError, match="is a link"):
        resumed(folder, here(tmp_path), trust=True)
    (folder / "secret.jsonl").unlink()
    (folder / "secret.jsonl").write_text("their own")
    if name == "model":
        assert resumed(folder, here(tmp_path), trust=True).tape == folder / "secret.jsonl"


@pytest.mark.parametrize("name", ["data", "tape", "paper_folder", "paper"])
def test_a_null_byte_in_a_trials_paths_is_one_line(tmp_path: Path, name: str) -> None:
    folder = handed_trial(tmp_path / "t", lambda content: content.update({name: "\0"}))
    with pytest.raises(TrialError, match=r"job.json"):
        resumed(folder, here(tmp_path), trust=True)


def test_the_figures_of_a_trials_paper_lie_beside_it(tmp_path: Path) -> None:
    secret, place = png(tmp_path / "secret.png"), tmp_path / "t" / "paper"
    own = png(place / "figures" / "one.png")
    paths = ["figures/one.png", "../../secret.png", str(secret)]
    figures = [{"path": path, "caption": "Figure 1"} for path in paths]
    paper = {"title": "t", "text": "x", "body": "x", "source": "text", "note": "n"}
    saved = {"request": {}, "paper": {**paper, "figures": figures}}
    (place / "paper.json").write_text(json.dumps(saved))
    found = saved_paper(place)
    assert found and [figure.path for figure in found.figures] == [own]


def test_what_a_trial_says_of_its_machine_is_not_heard(tmp_path: Path) -> None:
    theirs = {"base_url": "http://evil.invalid", "sandbox": "process", "k": 7}
    folder = handed_trial(tmp_path / "t", lambda content: content["settings"].update(theirs))
    found = resumed(folder, here(tmp_path), trust=True).settings
    assert (found.model.base_url, found.sandbox.name, found.method.k) == (None, "auto", 7)


def test_the_paths_of_a_stored_task_are_dropped(tmp_path: Path) -> None:
    paths = dict.fromkeys(("folder", "paper_file", "data_dir", "decoy_dir"), "/etc")
    folder = handed_trial(tmp_path / "t", lambda content: content["task"].update(paths))
    task = Trial.read(folder).record.stored_task()
    assert (task.folder, task.paper_file, task.data_dir, task.decoy_dir) == (None,) * 4


@pytest.mark.parametrize("name", ["", "..", "a/b", "/a", "x/../../../victim", "a\0b", "a" * 300])
def test_a_task_is_called_as_a_folder_can_be(name: str) -> None:
    with pytest.raises(UsageError, match="is called as no folder can be"):
        Task(id=name, metric=Metric(name="mse"), instruction="")


TEX = r"""\documentclass{article}\begin{document}\title{A paper}
\section{One}%s Text of the paper, which is long enough to be one. %s
\begin{figure}\includegraphics{%s}\caption{Theirs}\end{figure}\end{document}"""


def png(path: Path) -> Path:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (200, 200)).save(path)
    return path


@pytest.fixture
def papers_folder(tmp_path: Path) -> Path:
    """A user's folder with secrets, where a paper was saved too."""
    folder = tmp_path / "folder"
    for name in (".env", ".ssh/id_rsa", ".ssh/config.tex", "id_rsa", "keys.yaml", "a.tex/.b.tex"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("the-secret")
    (folder / "link.tex").symlink_to(folder / "id_rsa")
    (folder / "linked").symlink_to(folder / ".ssh")
    return folder


INPUTS = [".env", ".ssh/id_rsa", ".ssh/config", "id_rsa", "keys.yaml", "link", "linked/config"]


@pytest.mark.parametrize("name", [*INPUTS, "a.tex/.b", "../folder/.env", "./.env", "sub/../.env"])
def test_a_latex_file_reads_no_secret_beside_it(papers_folder: Path, name: str) -> None:
    paper = papers_folder / "paper.tex"
    paper.write_text(TEX % (f"\\input{{{name}}}", "word " * 400, "none"))
    parts = read_file(paper, papers_folder.parent / "out")
    assert "Text of the paper" in parts.text
    assert "the-secret" not in parts.text and "the-secret" not in parts.latex


def test_a_latex_file_has_the_parts_that_lie_beside_it(papers_folder: Path) -> None:
    (papers_folder / "sections").mkdir()
    (papers_folder / "sections" / "two.tex").write_text("Of the second part.")
    png(papers_folder / "figs" / "one.png")
    paper = papers_folder / "paper.tex"
    inputs = "\\graphicspath{{figs/}}\\input{sections/two}"
    paper.write_text(TEX % (inputs, "word " * 400, "one"))
    parts = read_file(paper, papers_folder.parent / "out")
    assert "Of the second part." in parts.text and len(parts.figures) == 1


@pytest.mark.parametrize("place", ["scans/passport.png", ".hidden/passport.png"])
def test_a_latex_file_takes_no_picture_from_elsewhere(papers_folder: Path, place: str) -> None:
    png(papers_folder / place)
    paper = papers_folder / "paper.tex"
    paper.write_text(TEX % ("", "word " * 400, "passport"))
    assert not read_file(paper, papers_folder.parent / "out").figures


def test_in_a_home_folder_a_latex_file_is_alone(
    papers_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(papers_folder))
    (papers_folder / "diary.tex").write_text("the-secret")
    paper = papers_folder / "paper.tex"
    paper.write_text(TEX % ("\\input{diary}", "word " * 400, "none"))
    assert "the-secret" not in read_file(paper, papers_folder.parent / "out").text


REACHING_LINES = [
    'base_url = "http://evil.invalid"',
    'sandbox = "process"',
    '[sandbox]\nname = "process"',
    '[model]\nbase_url = "http://evil.invalid"',
    'image = "evil"\nsandbox = "docker"',
    'github_url = "http://evil.invalid"',
    'build_find_links = "wheels"',
    'build_debian_packages = "evil"',
    'cache_dir = "cache"',
    'runs_dir = "../elsewhere"',
    'record = "tape.jsonl"',
    'price = "0,0,0"',
    'api_key = "x"',
    'gpus = "all"',
    'model = "tape:/etc/passwd"',
    'code_model = "tape:~/notes"',
    'research_model = "tape:../x"',
]


@pytest.mark.parametrize("line", REACHING_LINES)
def test_the_current_folder_sends_nothing_elsewhere_and_takes_no_wall_down(
    in_folder: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (in_folder / "autoreproduce.toml").write_text(line)
    with pytest.raises(UsageError, match="of the current folder sets"):
        load_settings({})
    done = CliRunner().invoke(app, ["reproduce", "--task", "lsm", "--sandbox", "bubblewrap"])
    assert isinstance(done.exception, UsageError)
    own = in_folder / "config" / "autoreproduce"
    own.mkdir(parents=True)
    (in_folder / "autoreproduce.toml").rename(own / "autoreproduce.toml")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(in_folder / "config"))
    assert load_settings({}).given()


def test_the_screen_says_where_settings_came_from(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (in_folder / "autoreproduce.toml").write_text('k = 9\nruns_dir = "r"\nsandbox = "bubblewrap"')
    monkeypatch.setenv("AUTOREPRODUCE_MAX_DEBUG", "7")
    monkeypatch.setenv("AUTOREPRODUCE_API_KEY", "the-secret")
    monkeypatch.setenv("AUTOREPRODUCE_BASE_URL", "http://me:the-secret@host.invalid")
    told: list[str] = []
    load_settings({"runs_dir": "x"}, told.append)
    assert told and "k = 9 (autoreproduce.toml)" in told[0] and "the-secret" not in told[0]
    assert "max_debug = 7 (environment)" in told[0] and "runs_dir" not in told[0]


@pytest.mark.parametrize("content", [b"a = " + b"[" * 9000, b"x" * 200_000, None])
def test_a_file_of_settings_that_is_none_is_one_line(
    in_folder: Path, content: bytes | None
) -> None:
    place = in_folder / "autoreproduce.toml"
    place.write_bytes(content) if content else place.symlink_to("/dev/zero")
    with pytest.raises(UsageError, match=r"autoreproduce.toml cannot be read"):
        load_settings({})


@pytest.mark.parametrize(
    "settings", [{"papers": {"offline": False}}, {"method": {"k": 1}}, {"papers": [1]}]
)
def test_a_tape_sets_no_section(tmp_path: Path, settings: dict[str, Any]) -> None:
    head = {"tape": 1, "model": "m", "recorded": "2026-01-01", "task": "lsm", "profile": "small"}
    tape = tmp_path / "t.jsonl"
    task = find_or_make_task("lsm", None, None, None, "", "small")
    for given, fits in (({}, True), (settings, False)):
        tape.write_text(json.dumps({**head, "settings": {**given, "k": 2}}) + "\n")
        asked = Settings(model=f"tape:{tape}", offline=True)
        if fits:
            assert choose_model(asked, task, "autoreproduce").settings.papers.offline
            continue
        with pytest.raises(UsageError, match="isn't a setting that it may have"):
            choose_model(asked, task, "autoreproduce")


def test_a_full_disk_is_one_line_for_a_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(PaperError, match="No space left on device"):
        read_paper(
            Settings(offline=True),
            tmp_path / "t",
            arxiv_id=None,
            file=None,
            digest="# A paper",
            note=print,
        )


def test_a_device_or_a_pipe_is_no_tape_rubric_or_lineage_entry(tmp_path: Path) -> None:
    rubric = pytest.importorskip("autoreproduce.plugins.paperbench.rubric")
    os.mkfifo(pipe := tmp_path / "pipe")
    for path in (pipe, Path("/dev/zero")):
        for read in (read_tape, rubric.read_rubric):
            with pytest.raises(UsageError, match="isn't a plain file"):
                read(path)


def test_a_lineage_entry_lies_in_its_cache(tmp_path: Path) -> None:
    entry = "title: private\nsummary: the-secret\nlearnt: a\ndate: b\n"
    (tmp_path / "secret.yaml").write_text(entry)
    for number, leads_to in enumerate([tmp_path / "secret.yaml", Path("/dev/zero")]):
        (folder := tmp_path / "cache" / str(number)).mkdir(parents=True)
        (folder / "entry.yaml").symlink_to(leads_to)
    (own := tmp_path / "cache" / "own").mkdir()
    (own / "entry.yaml").write_text(entry)
    papers, problems = load([tmp_path / "cache"])
    assert len(papers) == 1 and len(problems) == 2


@pytest.mark.parametrize("content", ["[]", "{", '{"isolated": false}', '{"name": []}'])
def test_what_a_trial_says_of_its_sandbox_is_a_name(tmp_path: Path, content: str) -> None:
    (tmp_path / "sandbox.json").write_text(content)
    assert last_sandbox(tmp_path) == {}

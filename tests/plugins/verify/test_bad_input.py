"""Code that can't be run, isn't the paper's, or only prints: each has one clear outcome."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from chat_server import Request, chat_server
from sandbox_fixtures import settings_for
from trial_results import verdict_of

from autoreproduce.__main__ import main
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.submission import carried_files
from autoreproduce.files.unpacking import opened_source
from autoreproduce.plugins.verify.runnable import runnable_settings, why_it_failed
from autoreproduce.plugins.verify.verify import verify
from autoreproduce.sandboxes import why_not
from autoreproduce.sandboxes.image import image_name
from autoreproduce.trials.result import Result

PAPER = "# Means\nOur estimator has a mean of 3.958333.\n"
CLAIMS = """```yaml
- {row: [estimator], metric: mean, direction: match, value: 3.958333, scale: raw,
   sentence: Our estimator has a mean of 3.958333}
```"""


def code_with(folder: Path, **files: str) -> Path:
    (folder / "paper.md").write_text(PAPER)
    (folder / "code").mkdir()
    for name, text in files.items():
        (folder / "code" / name.replace("__", ".")).write_text(text)
    return folder / "code"


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"README__md": "soon"}, "holds no program"),
        ({"main__R": "1", "util__R": "1", "a__c": "1"}, "is written in R"),
        ({"main__jl": "1"}, "there is no julia here to run it"),
        ({"main__c": "1"}, "--image an image that has the language"),
    ],
)
def test_code_that_nothing_here_runs_is_refused_before_a_model_is_asked(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    says: str,
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    code = code_with(tmp_path, **files)
    asked = ["verify", str(code), "--paper", str(tmp_path / "paper.md"), "--model", "any:thing"]
    asked += ["--sandbox", "bubblewrap"]  # Docker's image would get the language
    monkeypatch.setattr(sys, "argv", ["autoreproduce", *asked])
    with pytest.raises(SystemExit) as ended:
        main()
    said = " ".join(capsys.readouterr().err.split())
    assert ended.value.code == 2 and says in said and "Traceback" not in said


@pytest.mark.parametrize("name", ["train.ipynb", "run.sh", "Makefile", "lib.py"])
def test_notebooks_scripts_and_modules_alone_are_programs(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}")
    runnable_settings(tmp_path, "code", Settings())
    (tmp_path / name).unlink()
    with pytest.raises(UsageError):
        runnable_settings(tmp_path, "code", Settings())


@pytest.mark.parametrize(
    ("stderr", "says"),
    [
        ("AssertionError: Torch not compiled with CUDA enabled", "allow one with --gpus"),
        ("RuntimeError: Found no NVIDIA driver on your system", "it needs a GPU"),
        ("SyntaxError: Missing parentheses in call to 'print'. Did you mean", "it's Python 2"),
        ("a\nModuleNotFoundError: No module named 'wandb'", "is missing: wandb"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'w.pt'", "missing: w.pt"),
        ("urllib.error.URLError: <urlopen error [Errno -3]>", "no network"),
        ("ValueError: odd", "ValueError: odd"),
        ("run.sh: line 1: Rscript: command not found", "has no Rscript: put it into the image"),
        ("Error in library(lme4) : there is no package called ‘lme4’", "apt install r-cran-lme4"),
        ("make: g++: No such file or directory", "the sandbox has no g++"),
        ("sh: 1: julia: not found", "the sandbox has no julia"),
        ("", "without a message"),
    ],
)
def test_why_code_did_not_run_is_one_sentence(stderr: str, says: str) -> None:
    assert says in why_it_failed(stderr, "") and why_it_failed(stderr, "timeout")[-7:] == "timeout"


def test_a_checkpoint_and_submodules_are_named_and_not_copied(tmp_path: Path) -> None:
    code = code_with(tmp_path, main__py="print(1)")
    (code / ".gitmodules").write_text('[submodule "a"]\n\tpath = core/private\n\turl = git@x:y\n')
    with (code / "weights.pt").open("wb") as file:
        os.truncate(file.fileno(), 2 * 10**9)
    found = carried_files(code, (), ())
    assert set(found.names) == {".gitmodules", "main.py"}
    assert found.left_out["weights.pt"] == "2,000 MB; --carry weights.pt takes it"
    assert found.left_out["core/private"] == "a submodule: fetch it and name the folder"


@pytest.mark.slow
def test_a_number_that_is_a_constant_is_printed_and_a_setup_file_is_never_run(
    tmp_path: Path,
) -> None:
    harm = f"open({str(tmp_path / 'harm')!r}, 'w')"
    code = code_with(tmp_path, main__py="print('mean', 3.958333)", setup__py=harm)
    [scored] = verify(
        code,
        settings=settings_for("process", runs_dir=tmp_path / "runs"),
        paper=tmp_path / "paper.md",
        claims=["estimator: mean = 3.958333"],
        run="python main.py",
        metric_from=["estimator_mean=stdout:mean"],
    )
    found = verdict_of(scored.path)
    assert found and found.claims[0].verdict.word == "not comparable"
    assert "printed, not computed" in found.claims[0].verdict.why
    assert not (tmp_path / "harm").exists()


PRINTS = {
    "main__cpp": '#include <cstdio>\nint main() { printf("mean 3.958333\\n"); }\n',
    "Makefile": "run: main.cpp\n\tg++ -o run main.cpp\n",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "command", "stands"),
    [
        (PRINTS, "make -s && ./run", "main.cpp, line 2"),
        ({"run__sh": "echo mean 3.958333\n"}, "bash run.sh", "run.sh, line 1"),
        ({"main__py": "print(1)"}, "echo mean 3.958333", "its command, line 1"),
    ],
)
def test_a_constant_is_printed_in_any_language_and_by_the_command(
    tmp_path: Path, files: dict[str, str], command: str, stands: str
) -> None:
    code = code_with(tmp_path, **files)
    place = {"id": "estimator_mean", "file": "stdout", "line": 1, "number": 1}
    found = {"places": [{**place, "text": "mean 3.958333"}]}
    outcome = outcome_of(tmp_path, code, {"command": command}, found)
    [said] = [one for one in outcome.warnings if "printed, not computed" in one]
    assert f"estimator_mean stands in {stands}" in said


@pytest.mark.slow
def test_code_with_a_makefile_is_built_and_run_and_large_files_are_named(tmp_path: Path) -> None:
    sums = PRINTS["main__cpp"].replace('3.958333\\n"', '%.6f\\n", (1.5 + 2.25 + 8.125) / 3')
    code = code_with(tmp_path, **{**PRINTS, "main__cpp": sums})
    with (code / "weights.pt").open("wb") as file:
        os.truncate(file.fileno(), 2 * 10**9)
    place = {"id": "estimator_mean", "file": "stdout", "line": 1, "number": 1}
    found = {"places": [{**place, "text": "mean 3.958333"}]}
    outcome = outcome_of(tmp_path, code, {"command": "make -s && ./run"}, found)
    assert outcome.status == "measured"
    assert any("weights.pt (2,000 MB; --carry" in one for one in outcome.warnings)


@pytest.mark.slow
def test_another_papers_code_ends_without_a_number(tmp_path: Path) -> None:
    code = code_with(tmp_path, main__py="print('loss', 12.5)")
    replies = [CLAIMS, *3 * [json.dumps({"command": "python main.py"}), '{"places": []}']]
    with chat_server(replies) as server:
        settings = settings_for(
            "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url
        )
        [done] = verify(code, settings=settings, paper=tmp_path / "paper.md")
        assert "It ended well, and left none" in server.requests[3].prompt
    assert done.result.reason == "the paper's number isn't in what it printed or wrote"
    assert done.result.verdict == "not measured"
    assert done.result.details["ran"] is True


def outcome_of(folder: Path, code: Path, *commands: dict[str, object]) -> Result:
    """What comes of code whose plans are these, none of which runs."""
    with chat_server([CLAIMS, *map(json.dumps, commands)]) as server:
        settings = settings_for(
            "process", runs_dir=folder / "runs", model="any", base_url=server.base_url
        )
        return verify(code, settings=settings, paper=folder / "paper.md")[0].result


@pytest.mark.slow
def test_a_library_without_an_entry_point_is_said_to_lack_what_was_guessed(tmp_path: Path) -> None:
    code = code_with(tmp_path, lib__py="def mean(values):\n    return sum(values) / len(values)\n")
    guesses = [{"command": f"python {name}.py"} for name in ("main", "train", "run")]
    outcome = outcome_of(tmp_path, code, *guesses)
    assert outcome.status == "failed" and "can't open file" in outcome.reason


@pytest.mark.slow
def test_a_setup_file_is_no_package_and_its_harm_stays_undone(tmp_path: Path) -> None:
    harm = f"open({str(tmp_path / 'harm')!r}, 'w')"
    code = code_with(tmp_path, setup__py=harm, main__py="import nothing_there\n")
    plain: dict[str, object] = {"command": "python main.py"}
    asked = [{**plain, "packages": ["."]}, plain, plain, plain]
    outcome = outcome_of(tmp_path, code, *asked)
    assert "a package or module is missing: nothing_there" in outcome.reason
    assert not (tmp_path / "harm").exists()


class Private(BaseHTTPRequestHandler):
    """A git server that lets nobody in."""

    asked = 0

    def do_GET(self) -> None:
        Private.asked += 1
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="private"')
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@contextmanager
def private_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Private)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/private.git"
    finally:
        server.shutdown()
        server.server_close()


def test_a_submodule_that_needs_a_login_is_never_asked_for(tmp_path: Path) -> None:
    code = code_with(tmp_path, main__py="print(1)")
    with private_server() as url:
        (code / ".gitmodules").write_text(f'[submodule "a"]\n\tpath = core\n\turl = {url}\n')
        committed(code, submodule="core")
        with opened_source(f"file://{code}") as root:
            left_out = carried_files(root, (), ()).left_out
    assert left_out == {"core": "a submodule: fetch it and name the folder"} and not Private.asked


@pytest.mark.slow
def test_a_private_repository_is_said_before_a_model_is_asked(tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text(PAPER)
    with private_server() as url, chat_server([]) as server:
        settings = settings_for(
            "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url
        )
        [done] = verify(url, settings=settings, paper=tmp_path / "paper.md")
        assert not server.requests
    assert "clone it yourself and name the folder" in done.result.reason


def committed(code: Path, submodule: str) -> None:
    """Make the folder a repository with one commit and a submodule."""
    who = ["-c", "user.name=a", "-c", "user.email=b"]
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{submodule}"],
        [*who, "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=code, check=True)


NOTEBOOK = {
    "cells": [{"cell_type": "code", "source": ["sum([1.5, 2.25, 8.125]) / 3"], "metadata": {}}],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 4,
}


@pytest.mark.slow
@pytest.mark.network
def test_a_notebook_alone_is_run_and_its_cell_is_read(tmp_path: Path) -> None:
    cell = {**NOTEBOOK["cells"][0], "outputs": [], "execution_count": None}
    code = code_with(tmp_path, means__ipynb=json.dumps({**NOTEBOOK, "cells": [cell]}))
    command = "jupyter nbconvert --to notebook --execute --inplace means.ipynb"
    plan = json.dumps({"command": command, "packages": ["nbconvert", "ipykernel"]})

    def answer(request: Request) -> str:
        if "# What the run left" not in request.prompt:
            return next(replies)
        [found] = re.findall(r"^(\d+): (3\.958333.*)$", request.prompt, re.M)
        one = {"id": "estimator_mean", "file": "means.ipynb", "line": int(found[0]), "number": 1}
        return json.dumps({"places": [{**one, "text": found[1]}]})

    replies = iter([CLAIMS, plan])
    with chat_server(answer) as server:
        settings = settings_for(
            "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url
        )
        [done] = verify(code, settings=settings, paper=tmp_path / "paper.md")
    found = verdict_of(done.path)
    assert found and found.claims[0].verdict.word == "reproduced"


@pytest.mark.slow
def test_code_that_wants_a_gpu_says_so(tmp_path: Path) -> None:
    code = code_with(tmp_path, main__py="raise AssertionError('Torch not compiled with CUDA')")
    replies = [CLAIMS, *3 * [json.dumps({"command": "python main.py"})]]
    with chat_server(replies) as server:
        settings = settings_for(
            "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url
        )
        [done] = verify(code, settings=settings, paper=tmp_path / "paper.md")
    assert done.result.status == "failed" and "it needs a GPU" in done.result.reason


R_CODE = """library(stats)
stopifnot(!requireNamespace("no.such.package", quietly = TRUE))
points <- c(1.5, 2.25, 8.125)
pb <- txtProgressBar(max = 50, style = 3, file = stdout())
for (i in 1:50) setTxtProgressBar(pb, i)
close(pb)
cat("mean", format(mean(points), digits = 8), "\\n")
"""


R_IMAGE = pytest.param(
    "docker", marks=[pytest.mark.docker, pytest.mark.network, pytest.mark.timeout(900)]
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["process", "bubblewrap", R_IMAGE])
def test_a_program_in_r_runs_where_the_sandbox_has_r(tmp_path: Path, kind: str) -> None:
    if kind == "docker" and (reason := why_not("docker", settings_for("docker"))):
        pytest.skip(str(reason))
    if kind != "docker" and shutil.which("Rscript") is None:
        pytest.skip("this machine has no Rscript")
    code = code_with(tmp_path, main__R=R_CODE)
    plan = json.dumps({"command": "Rscript main.R"})
    of = {"file": "stdout", "key": "mean"}
    places = json.dumps({"places": [{"id": "estimator_mean", "of": of}]})
    with chat_server([CLAIMS, plan, places]) as server:
        settings = settings_for(
            kind, runs_dir=tmp_path / "runs", model="any", base_url=server.base_url
        )
        [done] = verify(code, settings=settings, paper=tmp_path / "paper.md")
        planned, asked = server.requests[1].prompt, server.requests[2].prompt
    assert verdict_of(done.path).claims[0].verdict.word == "reproduced"
    assert "Beside Python there are Rscript (with stats; without no.such.package)" in planned
    assert asked.count("|=====") == 1  # the bar in its last state
    assert (done.path / "report.html").read_text().count("| 100%") <= 1


@pytest.mark.parametrize(
    ("name", "packages"),
    [("fit.R", "r-base-core r-recommended"), ("fit.js", "nodejs"), ("fit.lua", "lua5.4")],
)
def test_dockers_image_gets_the_language_of_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, packages: str
) -> None:
    (tmp_path / name).write_text("1")
    monkeypatch.setattr("shutil.which", lambda name: None)
    chosen = runnable_settings(tmp_path, "code", Settings(sandbox="docker"))
    assert chosen.sandbox.build_debian_packages == packages
    own = Settings(sandbox="docker", build_debian_packages="r-base-core,r-cran-mgcv")
    assert runnable_settings(tmp_path, "code", own) == own
    assert len({image_name(each) for each in (Settings(), chosen, own)}) == 3
    with pytest.raises(UsageError, match="is no name of a Debian package"):
        image_name(Settings(build_debian_packages="r-base; rm -rf /"))


def test_a_language_runs_in_an_image_of_the_users_or_where_its_program_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.jl").write_text("println(1)")
    monkeypatch.setattr("shutil.which", lambda name: None)
    runnable_settings(tmp_path, "code", Settings(image="julia:1.10", sandbox="docker"))
    for sandbox in ("bubblewrap", "process", "docker"):
        with pytest.raises(UsageError, match="there is no julia here"):
            runnable_settings(tmp_path, "code", Settings(sandbox=sandbox))
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    runnable_settings(tmp_path, "code", Settings(sandbox="bubblewrap"))
    with pytest.raises(UsageError, match=r"image that we build has no julia.*--image"):
        runnable_settings(tmp_path, "code", Settings(sandbox="docker"))
    known = {"docker": None, "bubblewrap": None}
    monkeypatch.setattr("autoreproduce.plugins.verify.runnable.why_not", lambda n, _: known[n])
    chosen = runnable_settings(tmp_path, "code", Settings(sandbox="auto", seed=3))
    assert (chosen.sandbox.name, chosen.seed) == ("bubblewrap", 3)
    known["bubblewrap"] = "it isn't installed"
    with pytest.raises(UsageError, match="image that we build has no julia"):
        runnable_settings(tmp_path, "code", Settings(sandbox="auto"))

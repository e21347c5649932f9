"""Installing for real, offline, from a folder with one small wheel; and what the agent's Bash
command may say.
"""

import json
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_fixtures import settings_for
from sandbox_helpers import DOCKER

from autoreproduce.contracts import Packages
from autoreproduce.errors import CommandError
from autoreproduce.files.handed_over import PACKAGE
from autoreproduce.sandboxes.package_lists import TAKES_DATES, age_words, cap, with_packages
from autoreproduce.sandboxes.policy import check_install
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.sandboxes.wheels import ASK

ALLOWED = "pip,uv,conda"


def wheel(folder: Path, name: str, version: str, code: str, needs: str = "") -> None:
    """A wheel with one module."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + (
        f"Requires-Dist: {needs}\n" if needs else ""
    )
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}.py", code)
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{info}/RECORD", "")


@pytest.mark.parametrize(
    "kind",
    [*(pytest.param(kind, marks=pytest.mark.slow) for kind in ("bubblewrap", "process")), DOCKER],
)
def test_install_then_import(
    make, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path / "wheels", "tinything", "1.2", "word = 'tiny'", needs="numpy")
    wheel(tmp_path / "wheels", "einops", "99.1", "word = 'newer'")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    sandbox = make(kind)
    assert sandbox.execute("python -c 'import tinything'", 20).exit_code == 1
    done = sandbox.install(check_install("pip install tinything==1.2", ALLOWED), 120)
    assert done.ok, done.stderr
    assert "numpy" not in done.stdout  # what is there already is not installed again
    assert (
        sandbox.execute("python -c 'import tinything; print(tinything.word)'", 20).stdout
        == "tiny\n"
    )
    assert sandbox.execute("touch $PYTHONPATH/x", 20).ok == (kind == "process")
    newer = sandbox.install(check_install("uv pip install -U einops", ALLOWED), 120)
    assert newer.ok, newer.stderr
    assert sandbox.execute("python -c 'import einops; print(einops.word)'", 20).stdout == "newer\n"
    sandbox.close()
    again = make(kind)  # a resumed trial
    assert (
        again.execute("python -c 'import tinything, einops; print(einops.word)'", 20).stdout
        == "newer\n"
    )


@pytest.mark.slow
def test_a_wheel_is_fetched_once_and_kept_by_its_content(
    make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path / "wheels", "keptthing", "1.2", "word = 'tiny'", needs="otherthing>=1")
    wheel(tmp_path / "wheels", "otherthing", "1.0", "word = 'other'")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    asked, cache = Packages(("keptthing",)), tmp_path / "cache" / "wheels"
    assert make("process").install(asked, 120).ok
    for file in (tmp_path / "wheels").iterdir():
        file.unlink()
    shutil.rmtree(tmp_path / "packages")
    again = make("process")
    assert again.install(asked, 120).ok  # from what is kept
    assert again.execute("python -c 'import keptthing, otherthing'", 20).ok
    [kept] = cache.glob("*/keptthing-1.2-py3-none-any.whl")
    kept.unlink()
    kept.write_bytes(b"something else")
    shutil.rmtree(tmp_path / "packages")
    changed = make("process").install(asked, 120)
    assert not changed.ok and "No matching distribution" in changed.stderr


@pytest.mark.slow
@pytest.mark.parametrize("needs", ["otherthing (>=1.0.*)", "otherthing<2.*,>=0.9.*"])
def test_a_requirement_of_its_time_is_read_as_it_was_then(
    make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs: str
) -> None:
    wheel(tmp_path / "wheels", "tinything", "1.2", "word = 'tiny'", needs=needs)
    wheel(tmp_path / "wheels", "otherthing", "1.0", "word = 'other'")
    wheel(tmp_path / "wheels", "otherthing", "0.8", "word = 'older'")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    sandbox = make("process")
    done = sandbox.install(Packages(("tinything",)), 120)
    assert done.ok, done.stderr
    said = sandbox.execute("python -c 'import otherthing; print(otherthing.word)'", 20)
    assert said.stdout == "other\n"


@pytest.fixture
def dated_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An index with `agedthing` 1.0 of 2020 and 2.0 of 2025, as PEP 700 dates them."""
    wheel(tmp_path / "wheels", "agedthing", "1.0", "word = 'of its time'")
    wheel(tmp_path / "wheels", "agedthing", "2.0", "word = 'today'")
    uploaded = {"1.0": "2020-02-01T00:00:00Z", "2.0": "2025-02-01T00:00:00Z"}

    class Index(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            if name.endswith(".whl"):
                kind, body = "application/zip", (tmp_path / "wheels" / name).read_bytes()
            else:
                files = [
                    {"filename": f"agedthing-{each}-py3-none-any.whl", "upload-time": when}
                    | {"url": f"/files/agedthing-{each}-py3-none-any.whl", "hashes": {}}
                    for each, when in uploaded.items()
                ]
                listed = {"meta": {"api-version": "1.1"}, "name": "agedthing", "files": files}
                kind, body = "application/vnd.pypi.simple.v1+json", json.dumps(listed).encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    for other in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(other, raising=False)
    yield
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.skipif(not TAKES_DATES, reason="this pip knows no dates of an index")
@pytest.mark.parametrize(
    ("listed", "written", "word"),
    [
        ("agedthing", "2021-05-01", "of its time"),
        ("agedthing", "", "today"),  # a folder without a history
        ("agedthing==2.0", "2021-05-01", "today"),  # pinned, and younger than the code
    ],
)
def test_packages_without_a_version_are_installed_as_old_as_the_code(
    dated_index: None, tmp_path: Path, listed: str, written: str, word: str
) -> None:
    notes = list[str]()
    settings = settings_for("process", cache_dir=tmp_path / "cache")
    own = with_packages(
        SandboxSetup(settings, tmp_path / "packages", note=notes.append), [listed], written
    )
    with closing(own.open(tmp_path / "workspace")) as sandbox:
        done = sandbox.execute("python -c 'import agedthing; print(agedthing.word)'", 20)
    assert done.stdout == f"{word}\n"
    assert any("those of before" in each for each in notes) == bool(written)


def test_an_old_pip_says_that_it_takes_todays_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoreproduce.sandboxes.package_lists.TAKES_DATES", False)
    assert cap("2019-05-01", "3.11") == ""
    assert "pip 26 or later chooses" in age_words("2019-05-01", "")
    assert age_words("", "") == "" and age_words(date.today().isoformat(), "") == ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["process", DOCKER])
def test_install_that_fails_says_why(
    make, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wheel(tmp_path / "wheels", "tinything", "1.2", "word = 'tiny'")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    done = make(kind).install(check_install("pip install no-such-package", ALLOWED), 120)
    assert (
        done.exit_code == 1 and "No matching distribution found for no-such-package" in done.stderr
    )


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("pip install numpy", "python -m pip install numpy"),
        (
            "  pip3 install -q --user numpy scipy==1.17.1 ",
            "python -m pip install numpy scipy==1.17.1",
        ),
        (
            "python -m pip install 'torch>=2,<3' --upgrade",
            "python -m pip install --upgrade 'torch>=2,<3'",
        ),
        ("pip install torch>=2.4", "python -m pip install 'torch>=2.4'"),
        ("python3 -m pip install timm[all]~=1.0", "python -m pip install 'timm[all]~=1.0'"),
        ("uv pip install --system einops", "python -m pip install einops"),
        (
            "conda install -y pytorch numpy=1.26 h5py",
            "python -m pip install torch 'numpy==1.26.*' h5py",
        ),
        ("pip install -U -U a.b_c-d", "python -m pip install --upgrade a.b_c-d"),
    ],
)
def test_allowed(command: str, runs: str) -> None:
    assert check_install(command, ALLOWED).command == runs


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("pip install numpy; rm -rf /", "shell"),
        ("pip install numpy && curl x", "shell"),
        ("pip install $(cat /etc/passwd)", "shell"),
        ("pip install `id`", "shell"),
        ("pip install x > log", "shell"),
        ("pip install x\npip install y", "one line"),
        ("pip install 'unclosed", "cannot read"),
        ("pip install git+https://example.org/x.git", "addresses"),
        ("pip install x@https://example.org/x.whl", "addresses"),
        ("pip install ./folder", "paths"),
        ("pip install ../x", "paths"),
        ("pip install /tmp/x", "paths"),
        ("pip install x.whl", "paths"),
        ("pip install .", "paths"),
        ("pip install -e .", "-e"),
        ("pip install -r requirements.txt", "-r"),
        ("pip install --index-url http://x y", "--index-url"),
        ("pip install --extra-index-url=http://x y", "--extra-index-url"),
        ("pip install -f http://x y", "-f"),
        ("pip install --target=/usr y", "--target"),
        ("pip install --prefix / y", "--prefix"),
        ("pip install --pre --config-settings=x y", "--config-settings"),
        ("conda install -c conda-forge x", "-c"),
        ("pip install", "no package"),
        ("pip uninstall numpy", "only installs"),
        ("pip download numpy", "only installs"),
        ("python train.py", "only installs"),
        ("sudo pip install x", "only installs"),
        ("PIP_INDEX_URL=x pip install y", "only installs"),
        ("ls", "only installs"),
        ("", "one line"),
        ("apt-get install gcc", "belong in the image"),
        ("pip install 'x ; python_version<\"3\"'", "shell"),
    ],
)
def test_refused(command: str, reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        check_install(command, ALLOWED)


@given(st.text(max_size=60))
def test_whatever_is_said_only_packages_are_run(text: str) -> None:
    """Any text behind `pip install` is refused, or becomes names and versions that a shell reads as
    such.
    """
    import shlex

    try:
        runs = check_install(f"pip install {text}", ALLOWED).command
    except CommandError:
        return
    words = shlex.split(runs)
    assert words[:4] == ["python", "-m", "pip", "install"]
    for word in words[4:]:
        assert word in ("--upgrade", "--pre", "--no-deps") or PACKAGE.fullmatch(word)
    assert shlex.join(words) == runs


@pytest.mark.slow
def test_what_a_removed_package_left_behind_is_no_package(tmp_path: Path) -> None:
    for name, metadata in (("gone-1.0", ""), ("here-2.0", "Name: here\nVersion: 2.0\n")):
        (tmp_path / f"{name}.dist-info").mkdir()
        (tmp_path / f"{name}.dist-info" / "METADATA").write_text(metadata)
    (tmp_path / "gone-1.0.dist-info" / "METADATA").unlink()
    script = f"import sys; sys.path = [{str(tmp_path)!r}, *sys.path]\n{ASK}"
    asked = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    names = [one["name"] for one in json.loads(asked.stdout.splitlines()[-1])["installed"]]
    assert "here" in names and None not in names

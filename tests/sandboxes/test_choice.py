"""Which sandbox is opened, what is said of it, and how an absent one is refused."""

import time
from pathlib import Path

import pytest
from conftest import settings_for
from pydantic import ValidationError

from autoreproduce import Sandbox
from autoreproduce.errors import SandboxError, UsageError
from autoreproduce.sandboxes import SANDBOXES, open_sandbox, why_not


@pytest.fixture
def no_docker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def opened(kind: str, folder: Path, trusted: bool, notes: list[str]) -> Sandbox:
    return open_sandbox(
        settings_for(kind), folder / "workspace", data_dir=None, packages=folder / "packages", label="a label/with ü",
        trusted=trusted, note=notes.append,
    )  # fmt: skip


def test_auto_takes_bubblewrap_without_docker(no_docker: None, tmp_path: Path) -> None:
    if reason := why_not("bubblewrap", settings_for("bubblewrap")):
        pytest.skip(reason)
    notes: list[str] = []
    sandbox = opened("auto", tmp_path, False, notes)
    assert sandbox.name == "bubblewrap" and sandbox.execute("pwd", 10).stdout == "/workspace\n"
    assert notes == [f"Sandbox bubblewrap: {sandbox.promises}"] and "\n" not in notes[0]
    sandbox.close()


def test_auto_takes_process_for_trusted_code_only(no_docker: None, no_bubblewrap: None, tmp_path: Path) -> None:
    notes: list[str] = []
    sandbox = opened("auto", tmp_path, True, notes)
    assert sandbox.name == "process" and "no isolation" in notes[-1]
    sandbox.close()
    with pytest.raises(SandboxError, match=r"docker: .*start it.*bubblewrap: .*install.*--sandbox process") as error:
        opened("auto", tmp_path, False, notes)
    assert "\n" not in str(error.value)


def test_process_by_name_is_the_users_word(tmp_path: Path) -> None:
    sandbox = opened("process", tmp_path, False, [])
    assert sandbox.execute("pwd", 10).stdout.strip() == str((tmp_path / "workspace").resolve())
    sandbox.close()


def test_a_named_sandbox_is_not_replaced(no_docker: None, no_bubblewrap: None, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"Docker Engine does not answer .*: start it"):
        opened("docker", tmp_path, True, [])
    with pytest.raises(SandboxError, match="apt install bubblewrap"):
        opened("bubblewrap", tmp_path, True, [])


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="choose among auto, docker"):
        why_not("podman", settings_for("auto"))
    with pytest.raises(ValidationError):
        settings_for("podman")


def test_why_not_is_quick(no_docker: None) -> None:
    for name in SANDBOXES:
        began = time.monotonic()
        why_not(name, settings_for("auto"))
        assert time.monotonic() - began < 2


@pytest.mark.docker
@pytest.mark.timeout(900)
def test_auto_takes_docker_first(tmp_path: Path) -> None:
    if reason := why_not("docker", settings_for("docker")):
        pytest.skip(reason)
    notes: list[str] = []
    sandbox = opened("auto", tmp_path, False, notes)
    assert sandbox.name == "docker" and notes[-1].startswith("Sandbox docker: programs see the workspace")
    assert sandbox.execute("pwd", 20).stdout == "/workspace\n"
    sandbox.close()


@pytest.mark.docker
@pytest.mark.timeout(120)
def test_auto_goes_on_where_no_image_can_be_made(tmp_path: Path) -> None:
    for name in ("docker", "bubblewrap"):
        if reason := why_not(name, settings_for(name)):
            pytest.skip(reason)
    notes: list[str] = []
    settings = settings_for("auto", build_base="autoreproduce-no-such-base:none")
    folders = {"data_dir": None, "packages": tmp_path / "packages"}
    sandbox = open_sandbox(settings, tmp_path, **folders, label="x", trusted=False, note=notes.append)
    assert sandbox.name == "bubblewrap"
    assert any("Sandbox docker does not work here: the sandbox image cannot be built" in note for note in notes)
    sandbox.close()
    with pytest.raises(SandboxError, match="cannot be built"):
        named = settings.model_copy(update={"sandbox": "docker"})
        open_sandbox(named, tmp_path, **folders, label="x", trusted=False, note=notes.append)


def test_a_build_that_fails_says_what_the_engine_said() -> None:
    from autoreproduce.sandboxes.image import _follow

    lines = [{"stream": "Step 2/19 : FROM ${BASE} AS build"}, {"error": "pull access denied for nobody/nothing"}]
    with pytest.raises(SandboxError, match=r"FROM .* / pull access denied for nobody/nothing"):
        _follow(iter(lines), lambda text: None)


@pytest.mark.docker
@pytest.mark.timeout(900)
def test_image_of_ones_own(make) -> None:
    from autoreproduce.sandboxes.image import image_name

    name = image_name(settings_for("docker"))
    assert name.startswith("autoreproduce-sandbox:cpu-")
    assert image_name(settings_for("docker", gpus="all")).startswith("autoreproduce-sandbox:cuda-")
    make("docker")  # the image is there now
    sandbox = make("docker", image=name)
    done = sandbox.execute(
        "python -c 'import numpy, scipy, pandas, sklearn, matplotlib, einops, tqdm, yaml, h5py, torch'", 60
    )
    assert done.ok and done.stderr == "", done.stderr

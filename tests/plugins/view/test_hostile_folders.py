"""Suites and processes of others, as the pages meet them."""

import json
import os
from pathlib import Path

import pytest

from autoreproduce.errors import UsageError
from autoreproduce.plugins.view.library import Library
from autoreproduce.plugins.view.pages import index
from autoreproduce.runner.background import interrupt


@pytest.mark.parametrize("notes", [5, "x", {"a": 1}, [1], None, True])
def test_a_suite_of_others_takes_no_page_down(tmp_path: Path, notes: object) -> None:
    (suite := tmp_path / "suite").mkdir()
    (suite / "suite.json").write_text("{}")
    (suite / "state.json").write_text(json.dumps({"notes": notes, "counts": notes, "cost": notes}))
    [(_, facts)] = index(Library(tmp_path))["suites"]
    assert facts["notes"] == (["1"] if notes == [1] else [])


def test_a_file_of_another_user_names_no_process_to_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file := tmp_path / "live.json").touch()
    signalled: list[int] = []
    monkeypatch.setattr(os, "kill", lambda process, _: signalled.append(process))
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    with pytest.raises(UsageError, match="another user"):
        interrupt(os.getpid(), file)
    monkeypatch.setattr(os, "getuid", lambda: user)
    interrupt(os.getpid(), file)
    assert signalled == [os.getpid()]

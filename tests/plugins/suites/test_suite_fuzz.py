"""A suite's file of any bytes is read or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzzing import Readers, slow_fuzz

from autoreproduce.errors import UsageError
from autoreproduce.plugins.suites.suite_file import SuiteFile
from autoreproduce.plugins.suites.yaml_errors import YamlFile

SUITE = "name: a\ntasks: [lsm, {name: bspm, instruction: Be brief}]\nvariants: {a: {}, b: {settings: {k: 5}}}\n"
READERS: Readers = {"suite.yaml": (lambda path: YamlFile(path).read(SuiteFile), SUITE.encode())}

test_any_bytes_are_read_or_refused, test_a_long_search_finds_nothing = slow_fuzz(__name__)


def test_a_suite_with_aliases_is_refused_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("a: &a [1]\nb: [*a, *a]\n")
    with pytest.raises(UsageError, match=r"line 2 .*alias \(\*a\)"):
        YamlFile(tmp_path / "suite.yaml")

"""What a suite may say of a cluster."""

from pathlib import Path

import pytest
from suite_world import lay_out

from autoreproduce.errors import UsageError
from autoreproduce.plugins.suites.plan import split_changes
from autoreproduce.plugins.suites.suite_file import read_suite
from autoreproduce.runner.executors import parse_options


def test_options_of_executors_come_from_the_file_and_from_set(tmp_path: Path) -> None:
    file = lay_out(tmp_path, executor={"slurm": {"partition": "gpu", "time": 5}})
    suite = read_suite(file)
    of_executors, others = split_changes(["executor.slurm.time=90", "k=5"])
    suite.change_executor("slurm", of_executors)
    assert suite.executor == {"slurm": {"partition": "gpu", "time": 90}}
    assert others == {"k": 5}
    with pytest.raises(UsageError, match=r"executor.slurm.tiem: there is no such option: part"):
        suite.change_executor(None, {"slurm": {"tiem": 5}})
    with pytest.raises(UsageError, match="choose among local, slurm, ray"):
        suite.change_executor("slurn", {})
    with pytest.raises(UsageError, match=r"write executor.NAME.OPTION=value"):
        split_changes(["executor.slurm=5"])
    with pytest.raises(UsageError, match=r"executor: executor.slurm.time"):
        read_suite(lay_out(tmp_path, executor={"slurm": {"time": 0}}))
    assert parse_options("ray", {}).model_dump()["retries"] == 5

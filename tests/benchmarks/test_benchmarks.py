"""The kernel's benchmarks by the contract of all: names, load, prepare, measure."""

from pathlib import Path

import pytest
from benchmark_contract import check_failed_is_not_measured, check_loaded_again

from autoreproduce.benchmarks import OptionError, open_benchmark
from autoreproduce.errors import UsageError

OPTIONS: dict[str, dict[str, object]] = {
    "reproducebench": {},
    "own": {"tasks": [{"name": "Lines", "metric": "error", "instruction": "Fit."}]},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_task_is_loaded_again_by_what_it_says_of_its_benchmark(name: str, tmp_path: Path) -> None:
    check_loaded_again(name, OPTIONS[name], tmp_path / "trial")


@pytest.mark.parametrize("name", OPTIONS)
def test_a_failed_submission_is_not_measured(name: str, tmp_path: Path) -> None:
    check_failed_is_not_measured(name, OPTIONS[name], tmp_path)


def test_options_are_checked_by_the_benchmarks_own_schema() -> None:
    with pytest.raises(OptionError, match="the benchmark reproducebench has no such option"):
        open_benchmark("reproducebench", {"n": [1]})
    with pytest.raises(UsageError, match="there is reproducebench, own"):
        open_benchmark("imagenet")

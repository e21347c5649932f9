"""What the probe sees of a program that uses no PyTorch: its data files, rows, seeds."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from autoreproduce.claims.observed import Observed, observed_from_probe, rows_left_out
from autoreproduce.files.tree import Tree
from autoreproduce.trials.probe import place_probe, take_observation, watched_command

ROWS = 60
DATA = """
import csv
def load():
    with open("../given/soy.csv") as file:
        return [[float(v) for v in row] for row in csv.reader(file)]
"""
METHOD = """
import random, time
def cost(rows, modes):
    return sum(min(sum(a != b for a, b in zip(r, m)) for m in modes) for r in rows)
def cluster(rows, seed):
    modes = random.Random(seed).sample(rows, 4)
    time.sleep(0.004)
    return cost(rows, modes)
"""
MAIN = """
import json
from data import load
from method import cluster
def main():
    rows = load(){cut}
    costs = [cluster(rows, seed) for seed in range({seeds})]
    open("metrics.json", "w").write(json.dumps({{"metrics": {{"cost": sum(costs) / len(costs)}}}}))
main()
"""
NUMPY = """
import pickle, random
import numpy as np
from numpy.random import RandomState, default_rng

class Data:
    def __init__(self):
        self.x = np.load("../given/x.npz")["x"]

def work(data):
    total = 0.0
    for seed in range(30):
        total += default_rng(seed).random() + RandomState(seed).random_sample()
        total += (data.x[:, None] * data.x[None]).sum()
    np.random.seed(77)
    random.seed(78)
    return total

state = pickle.loads(pickle.dumps(RandomState(5)))
assert isinstance(state, RandomState) and isinstance(np.random.mtrand._rand, RandomState)
assert type(state) is type(np.random.mtrand._rand) and not isinstance(3, RandomState)
class Own(RandomState):
    pass
assert isinstance(Own(1), Own) and not isinstance(state, Own)
assert default_rng(4).random() == default_rng(4).random()
print(work(Data()) > 0)
"""


def seen_of(folder: Path, files: dict[str, str]) -> Observed:
    """What was seen of `python main.py` beside these files, which ended well."""
    given, program = folder / "given", folder / "program"
    given.mkdir(exist_ok=True)
    program.mkdir(exist_ok=True)
    with (given / "soy.csv").open("w", newline="") as file:
        csv.writer(file).writerows([n % 5, n % 3, n] for n in range(ROWS))
    for name, text in files.items():
        (program / name).write_text(text)
    tree = Tree(program)
    place_probe(tree)
    command = watched_command(f"{sys.executable} main.py")
    done = subprocess.run(["bash", "-c", command], cwd=program, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    found, why = take_observation(tree)
    assert found is not None, why
    return observed_from_probe(found, watched_to_end=True)


def program(*, cut: str = "", seeds: int = 25) -> dict[str, str]:
    return {"data.py": DATA, "method.py": METHOD, "main.py": MAIN.format(cut=cut, seeds=seeds)}


@pytest.mark.slow
def test_rows_that_a_program_leaves_out_are_seen(tmp_path: Path) -> None:
    seen = seen_of(tmp_path, program(cut="[:36]"))
    assert seen.file_rows == {"soy.csv": ROWS}  # and not the metrics.json that it wrote
    assert seen.value_beside("samples", ROWS) == 36
    assert "(×0.6)" in rows_left_out(seen.file_rows, seen.held)


@pytest.mark.slow
def test_a_program_that_uses_all_rows_is_not_blamed(tmp_path: Path) -> None:
    seen = seen_of(tmp_path, program())
    assert seen.value_beside("samples", ROWS) == ROWS
    assert rows_left_out(seen.file_rows, seen.held) == ""


@pytest.mark.slow
def test_repetitions_are_the_seeds_that_the_program_set_itself(tmp_path: Path) -> None:
    assert seen_of(tmp_path, program(seeds=25)).value_beside("seeds", 250) == 25
    assert seen_of(tmp_path, program(seeds=40)).value_beside("seeds", 40) == 40


@pytest.mark.slow
def test_numpy_is_watched_and_stays_what_it_is(tmp_path: Path) -> None:
    import numpy as np

    (tmp_path / "given").mkdir()
    np.savez(tmp_path / "given/x.npz", x=np.ones((200, 3)), y=np.ones(200))
    seen = seen_of(tmp_path, {"main.py": NUMPY})
    assert seen.file_rows == {"x.npz": 200}
    assert seen.held["main.py"][0] == 200
    assert seen.seeds_set == 32  # 0 to 29, 77 and 78: those of 1, 4 and 5 are among them
    assert seen.value_beside("seeds", 250, 30) == 30
    assert seen.repetitions == 32 and seen.value_beside("seeds", 30) == 30


@pytest.mark.slow
def test_one_seed_says_nothing_of_repetitions(tmp_path: Path) -> None:
    seen = seen_of(tmp_path, {"main.py": "import random, time\nrandom.seed(3)\ntime.sleep(0.05)\n"})
    assert seen.seeds_set == 1 and seen.value_beside("seeds", 250) is None
    assert (seen.file_rows, seen.held) == ({}, {})

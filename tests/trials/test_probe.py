"""The probe of a whole run sees what the program did, and the program does not see the probe."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autoreproduce.claims.observed import observed_from_probe
from autoreproduce.files.tree import Tree
from autoreproduce.trials.probe import FOLDER, place_probe, take_observation, watched_command

TRAINS = """
import os, sys, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
for seed in (3, 4):
    torch.manual_seed(99)
    data = TensorDataset(torch.randn(60, 4), torch.randn(60, 1))
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    model(torch.zeros(1, 9, 4))  # a look at it, which is no training
    opt = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=0.02)
    loss = nn.MSELoss()
    for epoch in range(3):
        for x, y in DataLoader(data, batch_size=20):
            opt.zero_grad(); loss(model(x), y).backward(); opt.step()
        for x, y in DataLoader(data, batch_size=60):
            model(x)
"""


def watched(folder: Path, program: str, command: str = f"{sys.executable} main.py") -> Any:
    """The process, and what was seen of it."""
    (folder / "main.py").write_text(program)
    tree = Tree(folder)
    place_probe(tree)
    done = subprocess.run(
        ["bash", "-c", watched_command(command)], cwd=folder, capture_output=True, text=True
    )
    found = take_observation(tree)
    assert not (folder / FOLDER).exists()
    return done, found


@pytest.mark.slow
def test_a_whole_run_is_seen(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done, (found, why) = watched(tmp_path, TRAINS)
    assert (done.returncode, done.stderr, why) == (0, "", "")
    seen = observed_from_probe(found, watched_to_end=True)
    assert (seen.optimizer, seen.learning_rate, seen.weight_decay) == ("AdamW", 0.003, 0.02)
    assert (seen.steps, seen.epochs, seen.seeds) == (9, 3, (3, 4))  # of one of the two runs
    assert (seen.batch_size, seen.samples, seen.parameters) == (20, 60, 49)
    assert (seen.input_shape, seen.losses) == ((4,), ("MSELoss",))
    assert found.steps_timed == 18 and found.seconds_stepping > 0


def test_the_program_runs_as_without_it(tmp_path: Path) -> None:
    program = "import os, sys\nprint(os.environ.get('PYTHONPATH'), sys.path, sys.argv)\nfail()\n"
    done, (found, _) = watched(tmp_path, program, f"{sys.executable} main.py --dry-run")
    bare = subprocess.run(
        [sys.executable, "main.py", "--dry-run"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr, done.returncode) == (bare.stdout, bare.stderr, 1)
    assert found.content == {"source": "", "unseen": []}


def test_what_the_program_forged_or_took_away_is_not_believed(tmp_path: Path) -> None:
    forge = f"open('{FOLDER}/observed.json', 'w').write('[]')\nimport os\nos._exit(0)\n"
    _, (found, why) = watched(tmp_path, forge)
    assert found is None and why
    _, (found, why) = watched(tmp_path, f"import shutil\nshutil.rmtree('{FOLDER}')\n")
    assert (found, why) == (None, "it ended before anything was seen")


@pytest.mark.slow
def test_a_run_that_is_killed_left_what_was_seen_until_then(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    endless = TRAINS.rstrip() + "\n    os.kill(os.getpid(), 9)\n"
    _, (found, _) = watched(tmp_path, endless)
    assert found.steps >= 2 and found.optimizer.kind == "AdamW"

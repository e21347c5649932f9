"""Structure over programs of known fidelity: the reference in disguise, and known mistakes."""

import pytest

from autoreproduce.benchmarks import benchmark_of
from autoreproduce.benchmarks.reproducebench.altered import with_mistake
from autoreproduce.benchmarks.reproducebench.tasks import load_task, task_file
from autoreproduce.config import Settings
from autoreproduce.evaluation.judging.material import material_of
from autoreproduce.evaluation.judging.submitted_code import Program
from autoreproduce.evaluation.scorers import Setup, open_scorers
from autoreproduce.evaluation.scoring import score_trial
from autoreproduce.evaluation.structure.save import measure_both
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.plugins.lab.disguise import disguise

pytest.importorskip("torch")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def score(tmp_path_factory):
    """The structure score of files, by task."""
    home = tmp_path_factory.mktemp("structure")
    settings = Settings(sandbox="process", cache_dir=home / "cache")
    tasks = {}

    def run(name, files):
        if name not in tasks:
            task = load_task(name)
            tasks[name] = benchmark_of(task).prepare(task, settings.cache_dir, print, None)
        task, folder = tasks[name], home / str(len(list(home.iterdir())))
        lay_out(folder, Program(files), task).close()
        material = material_of(task)
        measure_both(folder, task, material.reference, settings, print)
        return score_trial(folder, task, open_scorers(["structure"], Setup(material=material)))[0]

    return run


def touching(name):
    """The known mistakes of a task that its author says structure shows."""
    known = task_file(load_task(name).folder).breaking
    return [one for one in known if one.edits and not one.structure.startswith("nothing")]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["lsm", "simvp", "sfnet"])
def test_the_reference_in_disguise_is_the_same_and_mistakes_in_structure_lose(name, score):
    files = material_of(load_task(name)).reference.files
    same = score(name, disguise(files))
    assert same.value >= 98 and same.details["coverage"] == 1, same.reason
    for mistake in touching(name):
        broken = score(name, with_mistake(files, mistake))
        assert broken.value < same.value, (mistake.mistake, broken.reason)


CONSTANTS = {"main.py": "batch_size = 20\nepochs = 20\n"}
GREETING = {"main.py": 'print("hello")\n'}
BUILT = {"main.py": "import torch\ndef build_model():\n    return torch.nn.Linear(9, 9)\n"}


@pytest.mark.parametrize("files", [CONSTANTS, GREETING, BUILT], ids=["constants", "hello", "built"])
def test_a_program_that_uses_no_model_has_no_score(files, score):
    found = score("lsm", files)
    assert found.value is None and "not seen training or computing" in found.reason


DECOY = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used = nn.Linear(4, 1)
        self.decoy = nn.Linear(400, 400)
    def forward(self, x):
        return self.used(x) + {decoy}
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    net(torch.randn(8, 4)).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("decoy", ["0", "0 * self.decoy(torch.randn(8, 400)).sum()"])
def test_what_is_never_called_or_gets_no_gradient_does_not_count(decoy, score):
    found = score("lsm", {"main.py": DECOY.replace("{decoy}", decoy)})
    items = {item["name"]: item["generated"] for item in found.details["items"]}
    assert items["parameters"] == items["trained parameters"] == 5
    assert items["layers by type"] == {"Linear": 1}


def test_what_is_not_seen_counts_against_the_program(score):
    found = score("lsm", {"main.py": DECOY.replace("{decoy}", "0")})
    assert "batch size" in found.details["not_seen"] and found.details["coverage"] < 1
    assert "not seen, which counts as 0" in found.reason

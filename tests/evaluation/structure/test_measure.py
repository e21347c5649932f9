"""The probe sees what a program is made of while it trains, and says what it could not see."""

import pytest

from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.config import Settings
from autoreproduce.evaluation.structure.compare import compare, value_of
from autoreproduce.evaluation.structure.measure import entry_point, measure, program_in
from autoreproduce.evaluation.structure.save import of_weights

pytest.importorskip("torch")

MODEL = """
import torch
from torch import nn

class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        self.{part} = nn.Linear(4, {width})
        self.out = nn.Sequential(nn.ReLU(), nn.Linear({width}, 1))
    def forward(self, x):
        return self.out(self.{part}(x))

def build_model():
    return {name}()
"""
MAIN = """
import torch
from model import build_model
from torch.utils.data import DataLoader, TensorDataset

epochs = 7
data = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size={batch})
model = build_model()
optimizer = torch.optim.{optimizer}(model.parameters(), lr={rate})
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
loss = torch.nn.MSELoss()
for epoch in range(epochs):
    for x, y in data:
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
    open("went_on", "w")
"""


def program(name="Net", part="first", width=8, batch=16, optimizer="Adam", rate=0.01):
    return {
        "model.py": MODEL.format(name=name, part=part, width=width),
        "main.py": MAIN.format(batch=batch, optimizer=optimizer, rate=rate),
    }


@pytest.fixture(scope="module")
def seen():
    """Measures a program once for each set of files."""
    task = load_task("lsm")
    kept = {}

    def run(files, command="python main.py"):
        key = (tuple(files.items()), command)
        if key not in kept:
            kept[key] = measure(files, command, task, Settings(sandbox="process"), print)
        return kept[key]

    return run


@pytest.mark.slow
def test_everything_is_seen_in_two_steps_of_training(seen):
    found = seen(program())
    assert found["source"] == "training" and found["steps"] == 2 and not found["unseen"]
    assert found["model"]["parameters"] == 4 * 8 + 8 + 8 + 1
    assert found["model"]["layers"] == {"Linear": 2, "ReLU": 1}
    assert found["model"]["inputs"] == [[16, 4]] and found["model"]["outputs"] == [[16, 1]]
    assert found["optimizer"]["class"] == "Adam" and found["optimizer"]["defaults"]["lr"] == 0.01
    assert found["scheduler"] == {
        "class": "StepLR",
        "numbers": {"step_size": 5, "gamma": 0.1, "base_lrs": [0.01]},
    }
    assert (found["batch_size"], found["epochs"], found["losses"]) == (16, 7, ["MSELoss"])


@pytest.mark.slow
def test_a_program_in_a_folder_finds_the_modules_beside_it(seen):
    found = seen({f"src/{name}": text for name, text in program().items()}, "python src/main.py")
    assert found["source"] == "training" and not found["unseen"]


@pytest.mark.slow
def test_other_names_are_the_same_structure(seen):
    assert value_of(compare(seen(program()), seen(program(name="Other", part="lift")))) == 100


@pytest.mark.slow
def test_each_difference_is_found_and_named(seen):
    other = program(width=16, batch=32, optimizer="SGD", rate=0.1)
    items = {item.name: item.agreement for item in compare(seen(program()), seen(other))}
    assert (
        0 < items["parameters"] < 1
        and items["parameter tensors"] < 0.2
        and items["layers by type"] == 1
    )
    assert items["optimiser"] == items["optimiser lr"] == items["batch size"] == 0
    assert items["schedule"] == items["epochs"] == items["output shapes"] == 1


def test_the_model_is_the_one_that_predicts_from_the_weights_that_were_handed_in():
    shown = {
        "source": "training",
        "model": {"class": "Net", "parameters": 40, "tensors": {"8x5": 1}},
    }
    ours, theirs = of_weights(shown, {"8x5": 1, "8": 2}), of_weights(shown, {"8": 2})
    assert ours["model"]["parameters"] == 56 and theirs["model"]["class"] == "Net"
    items = {item.name: item.agreement for item in compare(ours, theirs)}
    assert items["parameters"] == items["parameter tensors"] == pytest.approx(16 / 56)
    assert of_weights({"source": ""}, {"8": 2}) == {"source": ""}  # no model was seen


@pytest.mark.parametrize("steps, agreement", [(600, 1.0), (599, 0.0)])
def test_a_training_counted_in_iterations_is_compared_by_its_steps(steps, agreement):
    reference = {"source": "training", "syntax": {"epochs": [600, 500_000]}}
    watched = {"source": "training", "epochs": 54.55, "steps_watched": steps}
    items = {item.name: item.agreement for item in compare(reference, watched)}
    assert items["epochs"] == agreement


@pytest.mark.slow
def test_a_part_that_is_passed_by_gets_no_gradient(seen):
    whole, passed_by = program(width=4), program(width=4)
    passed_by["model.py"] = passed_by["model.py"].replace("self.out(self.first(x))", "self.out(x)")
    items = {item.name: item.agreement for item in compare(seen(whole), seen(passed_by))}
    for name in ("parameters", "parameter tensors", "trained parameters"):
        assert items[name] == pytest.approx(5 / 25)
    assert items["layers by type"] == pytest.approx(2 / 3)


@pytest.mark.slow
def test_a_program_that_fails_shows_what_its_model_is_all_the_same(seen):
    files = {**program(), "main.py": "import model\nraise RuntimeError('no data')\n"}
    found = seen(files)
    assert found["source"] == "build_model" and found["model"]["parameters"] == 49
    assert "no data" in found["unseen"][0]


@pytest.mark.slow
def test_a_program_without_a_model_says_what_was_not_seen(seen):
    found = seen({"main.py": "import sys\nbatch_size = 4\nsys.exit('nothing here')\n"})
    assert (
        found["source"] == "" and "nothing here" in found["unseen"][0] and found["batch_size"] == 4
    )


def test_the_program_is_found_in_a_command():
    files = {"main.py": "", "b.py": ""}
    assert program_in("OMP_NUM_THREADS=2 python3 ./main.py --seed 0", files) == [
        "main.py",
        "--seed",
        "0",
    ]
    assert program_in("bash run.sh", files) is None and program_in("python 'main.py", files) is None
    assert entry_point(files) == "python main.py"
    assert entry_point({"mine.py": "x = 1"}) == "python mine.py"
    assert entry_point({"a.py": "", "b.py": ""}) == ""


def test_what_a_model_is_given_besides_and_layers_without_effect_are_style() -> None:
    ours = {"inputs": [[16, 8]], "layers": {"Linear": 2}}
    theirs = {"inputs": [[16, 8], [99, 99]], "layers": {"Linear": 2, "Identity": 5}}
    for one, other in ((ours, theirs), (theirs, ours)):
        items = {each.name: each for each in compare({"model": one}, {"model": other})}
        assert items["input shapes"].agreement == items["layers by type"].agreement == 1.0
    joined, apart = [[8, 6, 4, 4], [8]], [[8, 3, 4, 4], [8, 3, 4, 4], [8]]
    items = compare({"model": {"inputs": joined}}, {"model": {"inputs": apart}})
    assert {each.name: each.agreement for each in items}["input shapes"] == 1.0
    other = {"inputs": [[16, 9]], "layers": {"Linear": 1}}
    items = {each.name: each for each in compare({"model": ours}, {"model": other})}
    assert items["input shapes"].agreement == 0.0 and items["layers by type"].agreement == 0.5

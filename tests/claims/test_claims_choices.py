"""Choices beside what a run really used."""

import sys
from pathlib import Path
from typing import Any

import pytest
from claim_maker import claim

from autoreproduce.claims.choices import Choice, alike, differences, incomparable, ratio, with_used
from autoreproduce.claims.observed import Observed, observed_from_probe
from autoreproduce.claims.replies import read_choices
from autoreproduce.errors import CommandError
from autoreproduce.trials.probe.observation import structure_of


def choice(what: str, value: Any, key: str | None = None, **fields: Any) -> Choice:
    known = {"what": what, "value": value, "key": key, "kind": "stated", "place": "Section 4"}
    return Choice.model_validate({**known, **fields})


def test_differences_scaled_down_first_then_by_factor() -> None:
    choices = [
        choice("optimiser", "Adam", "optimizer"),
        choice("learning rate", 1e-3, "learning_rate"),
        choice("batch size", 32, "batch_size"),
        choice("epochs", 300, "epochs"),
        choice("steps", 5_000_000, "steps"),
        choice("weight decay", 0.1, "weight_decay"),
        choice("schedule", "cosine"),
    ]
    seen = Observed(optimizer="SGD", learning_rate=1e-2, batch_size=32, epochs=30, steps=20_000)
    found = differences(with_used(choices, seen))
    assert [(d.what, d.factor and round(d.factor, 5), d.scaled_down) for d in found] == [
        ("steps", 0.004, True),
        ("epochs", 0.1, True),
        ("learning rate", 10, False),
        ("optimiser", None, False),
    ]
    assert found[0].difference == "steps: 5000000 as stated in Section 4; used 20000 (×0.004)"
    assert with_used(choices, seen)[2].used == 32
    assert with_used(choices, seen)[5].used is None


def test_a_value_scaled_down_on_purpose_is_a_difference_before_anything_ran() -> None:
    one = choice("epochs", 30, "epochs", paper=300, why="the limit of 60 minutes")
    (found,) = differences(with_used([one], Observed()))
    assert (found.due, found.taken, found.factor, found.scaled_down) == (300, 30, 0.1, True)
    assert found.difference.endswith("used 30 (×0.1): the limit of 60 minutes")
    (kept,) = differences(with_used([one], Observed(epochs=3)))
    assert kept.used == 3


def test_scaled_down_choices_make_claims_incomparable() -> None:
    claims = [claim(1.0, id="a"), claim(1.0, id="b")]
    epochs = choice("epochs", 30, "epochs", paper=300, why="limit")
    samples = choice("samples", 100, "samples", paper=10_000, why="limit", claims=("b",))
    assert incomparable(claims, [epochs, samples]) == {
        "a": "scaled down: epochs 30 for 300 (×0.1)",
        "b": "scaled down: samples 100 for 10000 (×0.01)",
    }
    for harmless in (
        choice("seeds", 1, "seeds", paper=5, why="limit"),
        choice("epochs", 290, "epochs", paper=300, why="round"),
        choice("epochs", 600, "epochs", paper=300, why="more"),
        choice("lr", 0.1, "learning_rate", paper=1.0, why="stable"),
    ):
        assert incomparable(claims, [harmless]) == {}
    ran_short = with_used([choice("epochs", 300, "epochs")], Observed(epochs=2))
    assert set(incomparable(claims, ran_short)) == {"a", "b"}


def test_values_are_compared_as_what_they_are() -> None:
    assert alike(1e-3, "0.001")
    assert alike("Adam", "adam")
    assert alike("CosineAnnealing", "CosineAnnealingLR")
    assert alike("3x32x32", "3 × 32 × 32")
    assert not alike("3x32x32", "32x3x32")
    assert not alike("Adam", "AdamW")
    assert not alike(0.1, 0.2)
    assert ratio(300, 30) == 0.1
    assert ratio("3x64x64", "3x32x32") == 0.25
    assert ratio("Adam", "SGD") is None
    assert ratio(0, 5) is None


def test_a_choice_names_where_it_is_from() -> None:
    for fields, message in (
        ({"place": ""}, "names its place"),
        ({"kind": "inferred", "place": ""}, "names its place"),
        ({"kind": "open", "place": ""}, "why this default"),
        ({"paper": 2}, "says why"),
    ):
        with pytest.raises(ValueError, match=message):
            choice("x", 1, **fields)


REPLY = """```yaml
- what: learning rate
  key: learning_rate
  value: 1e-4
  kind: stated
  place: "we train with a learning rate of 1e-4"
- what: epochs
  key: epochs
  value: 30
  paper: 300
  kind: stated
  place: Table 5
  why: 60 minutes
- what: initialisation
  value: Kaiming
  kind: open
  why: customary for ReLU
```"""


def test_a_reply_becomes_choices() -> None:
    rate, epochs, start = read_choices(REPLY)
    assert (rate.value, rate.key, rate.due) == (1e-4, "learning_rate", 1e-4)
    assert (epochs.value, epochs.paper, epochs.scaled_down) == (30, 300, True)
    assert (start.value, start.kind, start.key) == ("Kaiming", "open", None)


def test_a_list_is_written_as_its_items() -> None:
    seen = read_choices(REPLY.replace("value: Kaiming", "key: betas\n  value: [0.9, 0.999]"))[2]
    assert seen.value == "0.9, 0.999"
    assert not differences(with_used([seen], Observed(betas=(0.9, 0.999))))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("kind: open", "kind: guessed"), "choice 3 (initialisation), kind: Input should be"),
        (("key: epochs", "key: epoch"), "choice 2 (epochs), key: Input should be"),
        (
            ("place: Table 5", "claims: []"),
            "choice 2 (epochs), as a whole: a choice that is stated names",
        ),
        (("value: Kaiming", "used: 3\n  value: 3"), "choice 3 (initialisation), used: is measured"),
        (("- what: initialisation", "- 3\n- what: initialisation"), "choice 3, as a whole"),
    ],
)
def test_a_wrong_choice_names_item_and_field(change: tuple[str, str], message: str) -> None:
    assert change[0] in REPLY
    with pytest.raises(CommandError) as error:
        read_choices(REPLY.replace(*change))
    assert message in str(error.value)


@pytest.mark.slow
def test_the_probe_s_own_record_is_read(tmp_path: Path) -> None:
    """The probe of the structure scorer, run on a program that trains."""
    pytest.importorskip("torch")
    import subprocess

    from autoreproduce.trials.probe import FIRST_STEPS, probe_files
    from autoreproduce.trials.probe.observation import parse_structure

    for name, text in probe_files(whole_run=False).items():
        (tmp_path / name).write_text(text)

    (tmp_path / "main.py").write_text("""
import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=0.02)
data = torch.utils.data.TensorDataset(torch.randn(12, 4), torch.randn(12, 1))
loss = nn.MSELoss()
for x, y in torch.utils.data.DataLoader(data, batch_size=6):
    opt.zero_grad(); loss(model(x), y).backward(); opt.step()
""")
    command = [sys.executable, FIRST_STEPS, str(tmp_path / "out.json"), "60", "main.py"]
    subprocess.run(command, cwd=tmp_path, check=True)
    found = parse_structure((tmp_path / "out.json").read_bytes())
    seen = observed_from_probe(found)
    assert (seen.optimizer, seen.learning_rate, seen.weight_decay) == ("AdamW", 0.003, 0.02)
    assert (seen.batch_size, seen.parameters, seen.losses) == (6, 49, ("MSELoss",))
    assert (seen.input_shape, seen.output_shape) == ((4,), (1,))
    assert (seen.steps, seen.epochs) == (None, None)  # it was ended at its second step
    assert observed_from_probe(found, watched_to_end=True).steps == 2
    wrong = differences(with_used([choice("lr", 0.001, "learning_rate")], seen))
    assert [round(d.factor or 0, 6) for d in wrong] == [3]


@pytest.mark.parametrize(("trained", "shape"), [(900, (3, 8, 8)), (987, ())])
def test_the_input_of_a_part_is_not_the_program_s(trained: int, shape: tuple[int, ...]) -> None:
    """A U-Net that works on a wavelet's coefficients does not see the pictures' size."""
    model = {
        "class": "UNet",
        "parameters": 900,
        "inputs": [[8, 3, 8, 8]],
        "outputs": [[8, 3, 8, 8]],
    }
    found = {"source": "training", "unseen": [], "model": model, "trained": trained}
    seen = observed_from_probe(structure_of(found))
    assert (seen.input_shape, seen.parameters) == (shape, trained)


@pytest.mark.parametrize(("due", "used"), [(1000, 1000), (4000, 4000), (500, 1000)])
def test_steps_of_many_fits_are_held_against_the_unit_that_is_stated(due: int, used: int) -> None:
    """Four fits of 1,000 steps are 4,000 together, and neither number is a difference."""
    found = {"source": "training", "unseen": [], "steps": 4000, "optimizers_made": 4, "epochs": 8.0}
    seen = observed_from_probe(structure_of(found), watched_to_end=True)
    assert with_used([choice("steps", due, "steps")], seen)[0].used == used
    assert with_used([choice("epochs", 3, "epochs")], seen)[0].used == 2
    repeated = observed_from_probe(structure_of(found | {"seeds": [1, 2]}), watched_to_end=True)
    assert with_used([choice("steps", 1000, "steps")], repeated)[0].used == 1000


def test_a_program_s_text_is_not_what_it_did() -> None:
    from autoreproduce.evaluation.structure.measure import with_syntax

    read = with_syntax({"source": "", "unseen": []}, {"main.py": "epochs = 300\nlr = 0.1\n"})
    assert read["epochs"] == 300
    with pytest.raises(ValueError, match="syntax"):  # no record of a probe
        structure_of(read)
    untrained = structure_of({"source": "", "unseen": [], "epochs": 300})
    assert observed_from_probe(untrained, watched_to_end=True).epochs is None


@pytest.mark.parametrize(
    ("due", "used", "same"),
    [
        ("['0.9', '0.999']", "0.9x0.999", True),
        ("(0.9, 0.999)", "0.9x0.98", False),
        ("StepLR, step 8 epochs, factor 0.5", "StepLR", True),
        ("halved every 100 epochs", "StepLR", False),
        ("Adam", "AdamW", False),
        ("AdamW", "Adam", False),
        ("Adam with decay", "Adam", True),
        ("5e-4, 1e-4, 0.02", 0.02, True),
        ("5e-4, 1e-4, 0.02", 0.03, False),
    ],
)
def test_what_a_run_shows_is_held_against_a_description(
    due: str, used: str | float, same: bool
) -> None:
    assert alike(due, used) is same


@pytest.mark.parametrize(
    ("schedule", "used"),
    [
        ("cosine from 2e-4 to 1e-6", None),
        ("divided by 10 at epochs 150 and 180", None),
        ("CosineAnnealingLR", "LambdaLR"),
        ("MultiStepLR at 150, 180", "LambdaLR"),
        ("constant", "LambdaLR"),
        ("none", "LambdaLR"),
    ],
)
def test_a_schedule_in_words_is_contradicted_by_no_class(schedule: str, used: str | None) -> None:
    seen = Observed(schedule="LambdaLR")
    assert with_used([choice("schedule", schedule, "schedule")], seen)[0].used == used

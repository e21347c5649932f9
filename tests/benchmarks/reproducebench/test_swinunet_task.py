"""Swin-Unet on volumes: the stand-in is what it says, the metric is the metric, each part of the
model is its formula.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from autoreproduce.benchmarks.reproducebench import task_code
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench

FOLDER = reproducebench.folder("reproducebench") / "swinunet"


@pytest.fixture(scope="module")
def metric():
    return task_code.load_module(FOLDER / "metric.py")


def test_a_volume_holds_all_organs_and_is_the_same_whenever_it_is_made(prepare):
    name, image, label = prepare.draw("test00", [prepare.SEED, 1, 0])
    _, again, _ = prepare.draw("test00", [prepare.SEED, 1, 0])
    _, other, _ = prepare.draw("test01", [prepare.SEED, 1, 1])
    assert (image == again).all() and (image != other).mean() > 0.5 and name == "test00"
    assert (
        image.shape == label.shape == prepare.SHAPE
        and image.dtype == np.float32
        and label.dtype == np.uint8
    )
    assert set(np.unique(label)) == set(range(9)) and image.min() >= 0 and image.max() <= 1


# right and left: gallbladder and pancreas, the kidneys, liver and spleen
PAIRS = ((2, 6), (4, 3), (5, 7))


@pytest.mark.slow
def test_organs_of_a_pair_look_alike_and_others_do_not(prepare):
    drawn = [prepare.draw("", [0, number])[1:] for number in range(8)]
    images, labels = (np.stack(part) for part in zip(*drawn, strict=True))
    greys = [images[labels == organ] for organ in range(1, 9)]
    means, sizes = np.array([[grey.mean(), len(grey)] for grey in greys]).T
    for right, left in PAIRS:
        assert abs(means[right - 1] - means[left - 1]) < 0.03
        assert 0.75 < sizes[right - 1] / sizes[left - 1] < 1.33
    looks = np.sort(means[[0, 1, 2, 4, 7]])
    assert np.diff(looks).min() > 0.06 and min(grey.std() for grey in greys) > 0.03


@pytest.mark.slow
def test_what_tells_the_sides_apart_lies_in_another_quarter_of_the_slice(prepare):
    seen = set()
    for number in range(24):
        _, _, label = prepare.draw("", [0, number])
        _, rows, columns = prepare.SHAPE
        quarters = label.reshape(-1, 2, rows // 2, 2, columns // 2)
        share = np.stack([(quarters == organ).sum((0, 2, 4)) for organ in range(9)], -1)
        row, column = np.unravel_index(share[..., 8].argmax(), (2, 2))  # the stomach's
        assert share[row, column, 8] > 0.85 * share[..., 8].sum()
        for right, left in PAIRS:
            both = share[..., [right, left]].sum((0, 1))
            assert (share[row, column, [right, left]] < 0.2 * both).all()
            assert share[1 - row, column, left] > 0.75 * both[1]
            assert share[1 - row, 1 - column, right] > 0.75 * both[0]
        assert all(np.isin((1, 8), part).all() for part in label if np.isin(part, PAIRS).any())
        seen.add((row, column))
    assert len(seen) == 4  # volumes are mirrored in each way


def test_an_ellipsoid_has_its_volume_and_turns(prepare):
    places = np.stack(
        np.meshgrid(*(np.linspace(-1, 1, side) for side in (41, 81, 81)), indexing="ij")
    )
    centre, axes = np.array([0.1, 0.0, -0.1]), np.array([0.5, 0.3, 0.6])
    inside = prepare.ellipsoid(places, centre, axes, 0.0)
    assert inside.sum() * (2 / 40) * (2 / 80) ** 2 == pytest.approx(
        4 / 3 * np.pi * axes.prod(), rel=0.05
    )
    turned = prepare.ellipsoid(places, centre, axes, np.pi / 2)
    assert (turned == prepare.ellipsoid(places, centre, axes[[0, 2, 1]], 0.0)).mean() > 0.999


def test_the_texture_has_the_deviation_it_names(prepare):
    from scipy.ndimage import gaussian_filter

    noise = gaussian_filter(
        np.random.default_rng(0).standard_normal((48, 64, 64)), 1.5, mode="wrap"
    )
    assert noise.std() == pytest.approx(prepare.gaussian_deviation(1.5), rel=0.05)


@contextmanager
def volume_file(path: Path) -> Iterator[dict[str, np.ndarray]]:
    """A published volume as h5py.File opens it, but kept in NumPy's format: h5py is not among the
    tests' packages.
    """
    with path.open("rb") as file, np.load(file) as arrays:
        yield dict(arrays)


@pytest.fixture
def published(prepare, tmp_path, monkeypatch):
    """Made-up volumes in the published layout, of 8×8 pixels."""
    monkeypatch.setattr(prepare, "PIXELS", 8)
    monkeypatch.setattr(prepare, "TRAIN_SLICES", {"case0005": 3, "case0006": 2})
    monkeypatch.setattr(prepare, "TEST_CASES", ["case0001", "case0002"])
    monkeypatch.setattr(prepare, "TEST_SLICES", 7)
    monkeypatch.setitem(sys.modules, "h5py", SimpleNamespace(File=volume_file))
    rng = np.random.default_rng(0)
    train, test = tmp_path / "Synapse" / "train_npz", tmp_path / "Synapse" / "test_vol_h5"
    train.mkdir(parents=True)
    test.mkdir()
    for case, count in prepare.TRAIN_SLICES.items():
        for number in range(count):
            values = {
                "image": rng.random((8, 8), np.float32),
                "label": rng.integers(0, 9, (8, 8)).astype(np.float32),
            }
            np.savez(train / f"{case}_slice{number:03d}.npz", **values)
    for case, count in (("case0001", 4), ("case0002", 3)):
        with (test / f"{case}.npy.h5").open("wb") as file:
            np.savez(file, image=rng.random((count, 8, 8)), label=rng.integers(0, 9, (count, 8, 8)))
    return tmp_path


def swin_weights(swap: dict[str, tuple[int, ...]] | None = None):
    """Zeros in the shapes that are looked at, in a checkpoint as it is published."""
    import torch

    shapes = {"patch_embed.proj.weight": (96, 3, 4, 4), "norm.weight": (768,)}
    for level, blocks in enumerate((2, 2, 6, 2)):
        for block in range(blocks):
            name = f"layers.{level}.blocks.{block}.attn"
            shapes[f"{name}.qkv.weight"] = (288 * 2**level, 96 * 2**level)
            shapes[f"{name}.relative_position_bias_table"] = (169, 3 * 2**level)
    weights = {name: torch.zeros(shape) for name, shape in {**shapes, **(swap or {})}.items()}
    return {
        "model": {
            **weights,
            "layers.0.blocks.0.attn.relative_position_index": torch.zeros(49, 49, dtype=torch.long),
        }
    }


def test_published_volumes_and_weights_become_arrays(prepare, data_code, published):
    import torch

    torch.save(swin_weights(), published / prepare.SWIN)
    prepare.prepare(published, "full", lambda _: None)
    data = data_code.load_volumes(published)
    assert data.train_images.shape == (5, 8, 8) and data.test_labels.shape == (7, 8, 8)
    assert data.test_cases.tolist() == ["case0001"] * 4 + ["case0002"] * 3
    with np.load(published / "Synapse" / "train_npz" / "case0006_slice001.npz") as file:
        assert (data.train_images[4] == file["image"]).all()
        assert (data.train_labels[4] == file["label"]).all() and data.train_labels.dtype == np.uint8
    assert len(data.swin) == 26 and data.swin["norm.weight"].shape == (768,)


def test_published_volumes_are_checked(prepare, published):
    with pytest.raises(ValueError, match=r"pth is missing: fetch https"):
        prepare.prepare(published, "full", print)
    volume = np.zeros((2, 8, 8))
    with pytest.raises(ValueError, match="grey values"):
        prepare.checked("case", volume + 40, volume)
    with pytest.raises(ValueError, match="labels"):
        prepare.checked("case", volume, volume + 9)
    with pytest.raises(ValueError, match=r"not \(slices, 8, 8\)"):
        prepare.checked("case", volume[:, :4], volume[:, :4])
    with pytest.raises(ValueError, match="not the published 9"):
        prepare.write(published, "train", 9, 8, [("a", volume, volume)])
    (published / "Synapse" / "train_npz" / "case0006_slice001.npz").unlink()
    with pytest.raises(ValueError, match=r"case0006_slice001.npz: register at"):
        list(prepare.training_volumes(published / "Synapse" / "train_npz", lambda _: None))


def test_other_weights_are_refused(prepare, tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(swin_weights({"layers.2.blocks.5.attn.qkv.weight": (3, 3)}), tmp_path / "swin.pth")
    with pytest.raises(ValueError, match=r"holds no `layers[.]2[.]blocks[.]5[.]attn"):
        prepare.save_swin(tmp_path / "swin.pth", tmp_path / "swin.npz")
    assert not (tmp_path / "swin.npz").exists()


def truth() -> np.ndarray:
    """Two volumes of three slices; the second lacks the stomach."""
    labels = np.random.default_rng(0).integers(0, 9, (6, 10, 10)).astype(np.uint8)
    labels[3:][labels[3:] == 8] = 0
    return labels


@pytest.fixture
def prepared(prepare, tmp_path):
    """Two test volumes of 10×10 pixels, and the same as training slices."""
    labels = truth()
    for split in ("train", "test"):
        volumes = [
            (name, labels[at] / 8, labels[at])
            for name, at in (("a", slice(0, 3)), ("b", slice(3, 6)))
        ]
        prepare.write(tmp_path, split, 6, 10, volumes)
    return tmp_path


def test_the_metric_of_known_predictions(metric, program, data_code, prepared):
    data, path = data_code.load_volumes(prepared), prepared / "predictions.npz"

    def of(prediction):
        np.savez(path, prediction=prediction)
        found = metric.metric(path, prepared)
        assert found == pytest.approx(program.dsc(prediction, data)["dsc"])
        return found

    assert of(truth()) == pytest.approx(
        15 / 16
    )  # an organ that is rightly not there counts 0, as in the authors' code
    assert of(np.zeros((6, 10, 10), np.uint8)) == 0
    wrong = truth()
    wrong[4, 0, 0] = 8
    assert of(wrong) > 15 / 16  # and 1 where it is wrongly there
    shifted = np.roll(truth(), 1, axis=2)
    by_hand = [
        2
        * ((shifted[own] == organ) & (truth()[own] == organ)).sum()
        / ((shifted[own] == organ).sum() * 2)
        for own in (slice(0, 3), slice(3, 6))
        for organ in range(1, 9)
        if (truth()[own] == organ).any()
    ]
    assert of(shifted) == pytest.approx(sum(by_hand) / 16)


@pytest.mark.parametrize(
    ("prediction", "reason"),
    [
        (np.zeros((6, 10, 9), np.uint8), r"has shape \(6, 10, 9\)"),
        (np.zeros((6, 10, 10)), "has type float64"),
        (np.full((6, 10, 10), 9), "labels from 9 to 9"),
    ],
)
def test_the_metric_refuses_what_it_cannot_judge(metric, prepared, prediction, reason):
    np.savez(prepared / "predictions.npz", prediction=prediction)
    with pytest.raises(ValueError, match=reason):
        metric.metric(prepared / "predictions.npz", prepared)


def test_slice_and_labels_are_turned_alike_in_every_way(data_code, prepared):
    import torch

    torch.manual_seed(0)
    slices = data_code.load_volumes(prepared).training_slices(10)
    original, seen = torch.from_numpy(truth()[0]).long(), {"square": set(), "kept": 0, "tilted": 0}
    views = [
        v for flip in ([], [0], [1], [0, 1]) for v in (original.flip(flip), original.T.flip(flip))
    ]
    for _ in range(200):
        image, label = slices[0]
        assert image.shape == (1, 10, 10) and image.dtype == torch.float32
        assert torch.allclose(
            image[0] * 8, label.float(), atol=1e-5
        )  # grey values are the labels over 8
        found = [number for number, view in enumerate(views) if torch.equal(view, label)]
        seen["square"] |= set(found)
        seen["kept"] += found == [0]
        seen["tilted"] += not found
    # a turn by quarters is always followed by a mirroring: the four mirrorings of a square, and the
    # slice as it is
    assert (
        seen["square"] == {0, 1, 2, 4, 7} and 50 < seen["kept"] < 110 and 30 < seen["tilted"] < 70
    )


def test_resizing_keeps_labels_whole_and_comes_back(data_code):
    labels = np.kron(truth()[0][:4, :4], np.ones((6, 6), np.uint8))
    smaller = data_code.resize(labels, (16, 16), order=0)
    assert smaller.shape == (16, 16) and set(np.unique(smaller)) <= set(np.unique(labels))
    assert (data_code.resize(smaller, (24, 24), order=0) == labels).mean() > 0.8


def parameters(module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_each_part_has_the_published_number_of_parameters(model):
    built = model.build_model()
    assert parameters(built) == 27_168_900
    assert [parameters(stage) for stage in built.down] == [224_694, 891_756, 3_552_984, 14_183_856]
    assert [parameters(stage) for stage in built.up] == [224_694, 891_756, 3_552_984]
    assert [parameters(merge) for merge in built.merges] == [74_496, 296_448, 1_182_720]
    assert [parameters(expand) for expand in built.expands] == [73_920, 295_296, 1_180_416]
    assert [parameters(join) for join in built.joins] == [18_528, 73_920, 295_296]
    assert [parameters(built.last), parameters(built.output)] == [147_648, 864]
    assert [stage[1].attention.shift for stage in built.down] == [3, 3, 3, 0]
    rates = [block.drop_path for stage in built.down for block in stage]
    assert rates == pytest.approx(np.linspace(0, 0.2, 8))
    assert [block.drop_path for stage in built.up for block in stage] == rates[:6]


def tiny(module, **settings):
    return module.build_model(**{"size": 64, "width": 24, "window": 2, **settings})


@pytest.mark.parametrize("shift", [0, 2])
def test_window_attention_is_attention_among_the_right_places(model, shift):
    import torch

    torch.manual_seed(0)
    attention = model.WindowAttention(12, 3, 8, 4, shift).double()
    torch.nn.init.normal_(attention.bias)
    x = torch.randn(1, 8, 8, 12, dtype=torch.float64)
    place = np.stack(np.meshgrid(np.arange(8), np.arange(8), indexing="ij"), -1).reshape(-1, 2)
    moved, wrapped = (place - shift) % 8, place < shift
    together = (moved[:, None] // 4 == moved // 4).all(-1) & (wrapped[:, None] == wrapped).all(-1)
    apart = np.clip(moved[:, None] - moved[None] + 3, 0, 6)
    bias = attention.bias[torch.tensor(apart[..., 0] * 7 + apart[..., 1])].permute(2, 0, 1)
    q, k, v = attention.qkv(x.reshape(64, 12)).reshape(64, 3, 3, 4).permute(1, 2, 0, 3)
    scores = (q @ k.transpose(1, 2) / 2 + bias).masked_fill(~torch.tensor(together), -torch.inf)
    known = attention.project((scores.softmax(-1) @ v).transpose(0, 1).reshape(64, 12))
    assert torch.allclose(attention(x).reshape(64, 12), known, atol=1e-10)


def test_merging_and_expanding_lay_places_out_rightly(model):
    import torch

    torch.manual_seed(0)
    merge, expand = model.Merge(4), model.Expand(6, 3, 5)
    x, y = torch.randn(2, 4, 6, 4), torch.randn(2, 4, 6, 6)
    four = torch.cat([x[:, 2, 4], x[:, 3, 4], x[:, 2, 5], x[:, 3, 5]], -1)
    assert torch.allclose(merge(x)[:, 1, 2], merge.reduce(merge.norm(four)), atol=1e-6)
    wide = (y[:, 1, 2] @ expand.expand.weight.T)[
        :, (2 * 3 + 1) * 5 : (2 * 3 + 2) * 5
    ]  # row 2, column 1 of 3×3
    assert expand(y).shape == (2, 12, 18, 5)
    assert torch.allclose(expand(y)[:, 3 * 1 + 2, 3 * 2 + 1], expand.norm(wide), atol=1e-6)


def test_the_network_keeps_the_size_and_refuses_one_that_does_not_divide(model):
    import torch

    built = tiny(model).eval()
    assert parameters(built) == 1_710_972
    with torch.no_grad():
        grey = torch.rand(1, 1, 64, 64)
        assert built(grey).shape == (1, 9, 64, 64)
        assert torch.equal(built(grey), built(grey.repeat(1, 3, 1, 1)))
    with pytest.raises(ValueError, match="not a multiple of 32"):
        tiny(model, size=80)
    with pytest.raises(ValueError, match="do not divide into windows of 7"):
        tiny(model, window=7)


def test_published_weights_go_to_both_sides(model):
    import torch

    torch.manual_seed(0)
    built = tiny(model)
    published = {name: torch.randn_like(own) for name, own in built.swin_names()}
    assert built.load_swin(published) == 197 and len(published) == 119  # 78 arrays are taken twice
    assert torch.equal(
        built.down[1][1].attention.qkv.weight, published["layers.1.blocks.1.attn.qkv.weight"]
    )
    assert torch.equal(
        built.up[1][1].attention.qkv.weight, published["layers.1.blocks.1.attn.qkv.weight"]
    )
    assert torch.equal(
        built.up[2][0].attention.bias,
        published["layers.2.blocks.0.attn.relative_position_bias_table"],
    )
    published["norm.weight"] = torch.zeros(3)
    with pytest.raises(ValueError, match="has shape"):
        built.load_swin(published)


def test_the_loss_is_formulas_5_and_6(program):
    import torch

    torch.manual_seed(0)
    logits, labels = torch.randn(2, 9, 4, 5), torch.randint(0, 9, (2, 4, 5))
    p = logits.exp() / logits.exp().sum(1, keepdim=True)
    entropy, dice = 0.0, 0.0
    for b, i, j in np.ndindex(2, 4, 5):
        entropy -= float(p[b, labels[b, i, j], i, j].log()) / 40
    for k in range(9):
        own, g = p[:, k], (labels == k).float()
        dice += float(1 - (2 * (own * g).sum() + 1e-5) / ((own**2).sum() + (g**2).sum() + 1e-5)) / 9
    assert float(program.dice_loss(logits, labels)) == pytest.approx(dice, rel=1e-5)
    assert float(program.loss_of(logits, labels, program.Settings())) == pytest.approx(
        0.4 * entropy + 0.6 * dice, rel=1e-5
    )


@pytest.mark.slow
def test_the_learning_rate_decays_over_all_steps(program, data_code, prepared, monkeypatch):
    import torch

    class Recorder:
        """An optimiser that moves nothing and keeps the rate of each step."""

        def __init__(self, parameters, rate, momentum, weight_decay):
            self.param_groups, self.rates = [{"lr": rate}], []
            made.append((self, momentum, weight_decay))

        def zero_grad(self):
            pass

        def step(self):
            self.rates.append(self.param_groups[0]["lr"])

    made: list[tuple[Recorder, float, float]] = []
    monkeypatch.setattr(torch.optim, "SGD", Recorder)
    settings = program.Settings(
        size=32, width=24, window=2, pretrained=False, batch_size=2, epochs=2
    )
    history = program.train(
        program.build(settings, {}), settings, data_code.load_volumes(prepared), 0, dry_run=False
    )
    [(recorder, *others)] = made
    assert [entry["epoch"] for entry in history] == [1, 2] and others == [0.9, 1e-4]
    assert recorder.rates == pytest.approx([0.05 * (1 - i / 6) ** 0.9 for i in (0, 0, 1, 2, 3, 4)])


def test_the_program_uses_the_published_settings(program):
    full = program.PROFILES["full"]
    assert (full.size, full.width, full.heads, full.window, full.drop_path) == (
        224,
        96,
        (3, 6, 12, 24),
        7,
        0.2,
    )
    assert (full.batch_size, full.epochs, full.learning_rate, full.momentum) == (24, 150, 0.05, 0.9)
    assert (full.weight_decay, full.power, full.cross_entropy, full.dice) == (
        1e-4,
        0.9,
        0.4,
        0.6,
    ) and full.pretrained
    assert not full.adam


@pytest.mark.slow
def test_the_small_profile_trains_by_adamw_with_the_same_decay(program):
    import torch

    small = program.PROFILES["small"]
    optimizer = program.optimizer_of(torch.nn.Linear(2, 2), small)
    [group] = optimizer.param_groups
    assert isinstance(optimizer, torch.optim.AdamW) and (group["lr"], group["weight_decay"]) == (
        1e-3,
        1e-4,
    )
    assert (small.power, small.cross_entropy, small.dice, small.drop_path) == (0.9, 0.4, 0.6, 0.2)


@pytest.mark.parametrize(("number", "idle"), [(0, "attention"), (1, "embed_norm.nothing")])
def test_a_known_mistake_in_the_model_is_put_in(model, wrong, number, idle):
    import torch

    torch.manual_seed(0)
    flawed = tiny(wrong(number, "model.py"), size=32, drop_path=0.0)
    right = tiny(model, size=32, drop_path=0.0)
    right.load_state_dict(flawed.state_dict())
    x = torch.rand(1, 1, 32, 32)
    flawed(x).square().sum().backward()
    without = {name for name, parameter in flawed.named_parameters() if parameter.grad is None}
    assert without == {name for name, _ in flawed.named_parameters() if idle in name}
    assert not torch.allclose(flawed(x), right(x), atol=1e-4)
    if number == 1:  # without skips half of each joining layer has nothing to do
        assert all((join.weight.grad[:, join.out_features :] == 0).all() for join in flawed.joins)


def test_a_known_mistake_in_the_program_is_put_in(program, wrong, data_code, metric, prepared):
    import torch

    logits, labels = torch.randn(2, 9, 4, 5), torch.randint(0, 9, (2, 4, 5))
    loss = wrong(2, "main.py").loss_of(logits, labels, program.Settings())
    assert float(loss) == pytest.approx(float(torch.nn.functional.cross_entropy(logits, labels)))
    data, guess = data_code.load_volumes(prepared), np.roll(truth(), 1, axis=2)
    np.savez(prepared / "predictions.npz", prediction=guess)
    own = wrong(3, "main.py").dsc(guess, data)["dsc"]
    assert abs(own - metric.metric(prepared / "predictions.npz", prepared)) > 0.001


@pytest.mark.slow
def test_where_an_organ_lies_does_not_tell_it(prepare, metric, tmp_path):
    prepare.prepare(tmp_path, "small", print)
    labels = np.load(tmp_path / "train_labels.npy").reshape(-1, *prepare.SHAPE)
    count = np.stack([(labels == organ).sum(0) for organ in range(1, 9)])
    found = []
    for share in (
        0.15,
        0.2,
        0.25,
        0.3,
        0.35,
        0.5,
    ):  # of the training volumes that have any organ at a place
        guess = np.where(count.sum(0) >= share * len(labels), count.argmax(0) + 1, 0).astype(
            np.uint8
        )
        np.savez(
            tmp_path / "predictions.npz",
            prediction=np.concatenate([guess] * prepare.VOLUMES["test"]),
        )
        found.append(metric.metric(tmp_path / "predictions.npz", tmp_path))
    assert max(found) == pytest.approx(0.241, abs=0.002)  # what task.yaml says of it

"""SimVP: the data are the published ones or move as they do, the model is the published one, the
metric is the sum.
"""

import gzip
import hashlib
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from autoreproduce.benchmarks.reproducebench import task_code
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.benchmarks.reproducebench.agreement import residuals
from autoreproduce.errors import UsageError

FOLDER = reproducebench.folder("reproducebench") / "simvp"


@pytest.fixture
def tiny(tmp_path):
    """Three test sequences of 12×12 pixels and two digits of 4×4, and the folder that they lie
    in.
    """
    rng = np.random.default_rng(0)
    videos = rng.integers(0, 256, (20, 3, 12, 12), dtype=np.uint8)
    np.save(tmp_path / "test.npy", videos)
    digits = np.full((2, 4, 4), 100, np.uint8)
    digits[1] = 200
    np.savez(tmp_path / "digits.npz", digits=digits, sequences=np.array(4))
    return videos, tmp_path


def small_sizes(prepare, monkeypatch):
    sizes = {"size": 32, "side": 14, "digits": 20, "sequences": 7, "test_digits": 10, "test": 5}
    monkeypatch.setattr(prepare, "SMALL", sizes)


def test_the_stand_in_is_the_same_each_time_and_has_moving_digits(prepare, tmp_path, monkeypatch):
    small_sizes(prepare, monkeypatch)
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        prepare.prepare(tmp_path / name, "small", print)
        with np.load(tmp_path / name / "digits.npz") as file:
            found.append((file["digits"], file["sequences"], np.load(tmp_path / name / "test.npy")))
    assert all((one == two).all() for one, two in zip(*found, strict=True))
    digits, sequences, videos = found[0]
    assert digits.shape == (20, 14, 14) and digits.dtype == np.uint8 and sequences == 7
    assert videos.shape == (20, 5, 32, 32) and videos.dtype == np.uint8
    assert (videos[1:] != videos[:-1]).any(axis=(2, 3)).all()


def test_drawn_digits_have_the_ink_of_mnist(prepare):
    rng = np.random.default_rng(1)
    digits = np.stack([prepare.draw(index % 10, 28, rng) for index in range(100)]) / 255
    assert digits.mean() == pytest.approx(
        0.131, abs=0.02
    )  # MNIST's training pictures: mean 0.131, 19 % not black
    assert (digits > 0).mean() == pytest.approx(0.19, abs=0.02)
    assert (
        digits[:, [0, -1]].mean() < 0.002 and digits[:, :, [0, -1]].mean() < 0.002
    )  # a black margin


def test_the_distance_from_a_line_is_that_from_its_nearest_point(prepare):
    rng = np.random.default_rng(0)
    pixels, points = rng.random((40, 2)), rng.random((4, 2))
    dense = np.concatenate(
        [a + np.linspace(0, 1, 4001)[:, None] * (b - a) for a, b in pairwise(points)]
    )
    nearest = np.linalg.norm(pixels[:, None] - dense, axis=-1).min(1)
    assert prepare.to_line(pixels, points) == pytest.approx(nearest, abs=1e-3)


def idx(pictures: np.ndarray) -> bytes:
    return np.array([2051, *pictures.shape], ">i4").tobytes() + pictures.tobytes()


def give(prepare, monkeypatch, folder: Path, pictures: bytes, videos: bytes) -> None:
    """Lay files out as published ones, and have them be those that prepare.py expects."""
    (folder / "moving_mnist").mkdir(parents=True)
    for source, name, content in (
        (prepare.MNIST, "train-images-idx3-ubyte.gz", gzip.compress(pictures)),
        (prepare.MOVING, "mnist_test_seq.npy", videos),
    ):
        (folder / "moving_mnist" / name).write_bytes(content)
        monkeypatch.setitem(source, "sha256", hashlib.sha256(content).hexdigest())


def test_published_files_are_taken_as_they_are(prepare, data_code, tiny, tmp_path, monkeypatch):
    videos, folder = tiny
    pictures = np.random.default_rng(2).integers(0, 256, (5, 4, 4), dtype=np.uint8)
    target = tmp_path / "target"
    target.mkdir()
    give(
        prepare, monkeypatch, tmp_path / "given", idx(pictures), (folder / "test.npy").read_bytes()
    )
    prepare.prepare(target, "full", print, tmp_path / "given")
    prepare.prepare(target, "full", print)
    data = data_code.load_moving_mnist(target)
    assert len(data.train) == 10_000 and (data.train.digits.numpy() == pictures).all()
    assert (data.y_test[:, :, 0].numpy() * 255).round().astype(np.uint8).tolist() == (
        videos[10:].swapaxes(0, 1).tolist()
    )


def test_another_file_is_refused_and_left(prepare, tmp_path, monkeypatch):
    target = tmp_path / "target"
    target.mkdir()
    give(prepare, monkeypatch, tmp_path / "given", idx(np.zeros((1, 4, 4), np.uint8)), b"other")
    monkeypatch.setitem(prepare.MOVING, "sha256", "0" * 64)
    with pytest.raises(UsageError, match=r"has SHA-256 .* leave --data out"):
        prepare.prepare(target, "full", print, tmp_path / "given")
    assert not (target / "test.npy").exists() and not (target / "digits.npz").exists()
    (target / "test.npy").write_bytes(b"mine")
    with pytest.raises(UsageError, match=r"has SHA-256 .* it is left as it is"):
        prepare.prepare(target, "full", print)
    assert (target / "test.npy").read_bytes() == b"mine"


def test_a_file_that_holds_no_pictures_is_refused(prepare, tmp_path):
    good = idx(np.zeros((2, 4, 4), np.uint8))
    assert prepare.read_pictures(tmp_path, good).shape == (2, 4, 4)
    for bad in (good[:-1], good + b"\0", b"\0" + good[1:3] + b"\1" + good[4:]):
        with pytest.raises(ValueError, match="holds no pictures in the IDX format"):
            prepare.read_pictures(tmp_path, bad)


def by_hand(x: float, y: float, angle: float, way: int) -> list[tuple[int, int]]:
    """The law of motion, written once more: a step, then each edge by itself."""
    vx, vy, corners = math.cos(angle), math.sin(angle), []
    for _ in range(20):
        x, y = x + 0.1 * vx, y + 0.1 * vy
        if x <= 0 or x >= 1:
            x, vx = min(max(x, 0.0), 1.0), -vx
        if y <= 0 or y >= 1:
            y, vy = min(max(y, 0.0), 1.0), -vy
        corners.append((math.floor(y * way), math.floor(x * way)))
    return corners


class Given:
    """A generator that draws what it was given."""

    def __init__(self, x: float, y: float, turn: float) -> None:
        self.x, self.y, self.turn = x, y, turn

    def random(self, count: int = 0):
        return np.array([self.y, self.x]) if count else self.turn


def test_digits_move_by_the_same_law_in_training_and_test(prepare, data_code):
    rng, off = np.random.default_rng(3), 0
    for _ in range(300):
        x, y, turn = rng.random(3)
        known = by_hand(x, y, 2 * math.pi * turn, 36)
        trained = data_code.trajectory(x, y, 2 * math.pi * turn, 36)
        tested = [tuple(corner) for corner in prepare.corners(Given(x, y, turn), 36).tolist()]
        assert all(0 <= place <= 36 for corner in trained for place in corner)
        # rounding of the last digit may move a corner that lies on a whole pixel, and no other
        off += sum(a != b for a, b in zip(known, trained, strict=True))
        off += sum(a != b for a, b in zip(known, tested, strict=True))
    assert off <= 3


def test_a_training_sequence_holds_two_digits_and_the_brighter_pixel(data_code, tiny):
    import torch

    data = data_code.load_moving_mnist(tiny[1])
    torch.manual_seed(0)
    pairs = [data.train[index] for index in range(4)]
    torch.manual_seed(0)
    again = [data.train[0] for _ in range(4)]
    for (x, y), (x_again, y_again) in zip(pairs, again, strict=True):
        assert x.shape == y.shape == (10, 1, 12, 12) and x.dtype == torch.float32
        assert torch.equal(x, x_again) and torch.equal(y, y_again)
        values = torch.cat([x, y]).mul(255).round().unique().tolist()
        assert set(values) <= {0.0, 100.0, 200.0} and len(values) > 1
        ink = (torch.cat([x, y]) > 0).sum((1, 2, 3))
        assert ((ink >= 16) & (ink <= 32)).all()
    assert not torch.equal(pairs[0][0], pairs[1][0])
    assert len(list(data.train)) == 4


def test_the_test_set_is_cut_into_what_is_seen_and_what_follows(data_code, tiny):
    videos, folder = tiny
    data = data_code.load_moving_mnist(folder)
    assert data.x_test.shape == data.y_test.shape == (3, 10, 1, 12, 12)
    for index in range(3):
        assert np.allclose(data.x_test[index, :, 0].numpy(), videos[:10, index] / 255)
        assert np.allclose(data.y_test[index, :, 0].numpy(), videos[10:, index] / 255)


def test_the_metric_of_known_predictions(metric, program, data_code, tiny):
    import torch

    truth = data_code.load_moving_mnist(tiny[1]).y_test
    path = tiny[1] / "predictions.npz"
    off = torch.zeros_like(truth)
    off[
        2, 4:, 0, :3, 5
    ] = -2.0  # one of 3 sequences, 6 of 10 frames, 3 pixels of each: summed over pixels
    for guess, known in ((truth, 0), (truth + 0.5, 0.25 * 144), (truth + off, 4 * 3 * 6 / 30)):
        np.savez(path, prediction=guess.numpy())
        assert metric(path, tiny[1]) == pytest.approx(known, abs=1e-4)
        assert program.errors(guess, truth)["mse"] == pytest.approx(known, abs=1e-4)
    assert program.errors(truth + off, truth)["mae"] == pytest.approx(2 * 3 * 6 / 30, abs=1e-5)


def test_frames_by_the_law_that_are_drawn_to_their_mean_agree_with_no_network(
    prepare, tmp_path, monkeypatch
):
    """What blurs stands for a network here: on draws these have 0.93 among themselves."""
    small_sizes(prepare, monkeypatch)
    prepare.prepare(tmp_path, "small", print)
    truth = np.load(tmp_path / "test.npy")[10:].swapaxes(0, 1)[:, :, None] / 255
    noise = np.random.default_rng(0).normal(0, 0.02, truth.shape)
    network, drawn = gaussian_filter(truth, (0, 0, 0, 2, 2)), 0.8 * truth.mean(0) + 0.2 * truth
    files = {"network": network, "again": network + noise, "drawn": drawn}
    for name, frames in files.items():
        np.savez(tmp_path / name, prediction=frames)
    compared = task_code.load_module(FOLDER / "agreement.py").agreement
    again, by_law = (
        compared(tmp_path / f"{name}.npz", tmp_path / "network.npz", tmp_path)
        for name in ("again", "drawn")
    )
    assert residuals(drawn, network, truth) > 0.7
    assert by_law["correlation of the errors"] < 0.1 < 0.8 < again["correlation of the errors"]


@pytest.mark.parametrize(
    ("prediction", "reason"),
    [
        (np.ones((3, 10, 12, 12)), "has shape"),
        (np.ones((2, 10, 1, 12, 12)), "has shape"),
        (np.ones((3, 10, 1, 12, 12)) * np.nan, "4320 values of `prediction` are not finite"),
        (np.ones((3, 10, 1, 12, 12)) * 1j, "has type complex128"),
    ],
)
def test_the_metric_refuses_what_it_cannot_judge(metric, tiny, prediction, reason):
    np.savez(tiny[1] / "predictions.npz", prediction=prediction)
    with pytest.raises(ValueError, match=reason):
        metric(tiny[1] / "predictions.npz", tiny[1])


def parameters(module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def block(c_in: int, c_out: int) -> int:
    """3×3 convolution, its bias, scale and shift of the norm."""
    return 9 * c_in * c_out + 3 * c_out


def inception(c_in: int, hidden: int, c_out: int) -> int:
    """1×1 convolution; four convolutions in 8 groups with bias, scale and shift."""
    return (c_in + 1) * hidden + sum(
        kernel**2 * hidden // 8 * c_out + 3 * c_out for kernel in (3, 5, 7, 11)
    )


@pytest.mark.parametrize(
    ("width", "hidden", "depth", "whole"), [(64, 256, 8, 15_778_433), (4, 64, 2, 202_985)]
)
def test_each_part_has_the_published_number_of_parameters(model, width, hidden, depth, whole):
    built = model.build_model(spatial_width=width, temporal_width=hidden, temporal_depth=depth)
    assert parameters(built.encoder) == block(1, width) + 3 * block(width, width)
    down = inception(10 * width, hidden // 2, hidden) + (depth - 1) * inception(
        hidden, hidden // 2, hidden
    )
    up = inception(hidden, hidden // 2, hidden) + (depth - 2) * inception(
        2 * hidden, hidden // 2, hidden
    )
    assert parameters(built.translator) == down + up + inception(
        2 * hidden, hidden // 2, 10 * width
    )
    assert (
        parameters(built.decoder) == 3 * block(width, width) + block(2 * width, width) + width + 1
    )
    assert parameters(built) == whole


def small(model):
    import torch

    torch.manual_seed(0)
    return model.build_model(spatial_width=4, temporal_width=16, temporal_depth=2).double().eval()


def test_an_inception_module_sums_grouped_convolutions(model):
    import torch
    from torch.nn import functional

    torch.manual_seed(0)
    module = model.Inception(6, 16, 24, 8).double()
    z = torch.randn(2, 6, 9, 9, dtype=torch.float64)
    narrow = functional.conv2d(z, module.bottleneck.weight, module.bottleneck.bias)
    total = torch.zeros(2, 24, 9, 9, dtype=torch.float64)
    for kernel, (conv, norm, _) in zip((3, 5, 7, 11), module.branches, strict=True):
        assert conv.weight.shape == (24, 2, kernel, kernel)
        for group in range(8):
            own = slice(3 * group, 3 * group + 3)
            seen = narrow[:, 2 * group : 2 * group + 2]
            part = functional.conv2d(seen, conv.weight[own], conv.bias[own], padding=kernel // 2)
            flat = part.flatten(1)
            scaled = (part - flat.mean(1)[:, None, None, None]) / torch.sqrt(
                flat.var(1, correction=0)[:, None, None, None] + 1e-5
            )
            scaled = scaled * norm.weight[own, None, None] + norm.bias[own, None, None]
            total[:, own] += torch.where(scaled > 0, scaled, 0.2 * scaled)
    assert torch.allclose(module(z), total)


def test_the_encoder_halves_twice_and_the_decoder_doubles_twice(model):
    import torch

    assert model.strides(4) == [1, 2, 1, 2]
    built = small(model)
    z, first = built.encoder(torch.rand(3, 1, 16, 24, dtype=torch.float64))
    assert z.shape == (3, 4, 4, 6) and first.shape == (3, 4, 16, 24)
    assert built.decoder(z, first).shape == (3, 1, 16, 24)


def test_frames_meet_in_the_translator_alone(model):
    import torch

    built = small(model)
    x = torch.rand(1, 10, 1, 16, 16, dtype=torch.float64)
    changed = x.clone()
    changed[:, 3] = torch.rand(1, 1, 16, 16, dtype=torch.float64)
    assert ((built(changed) - built(x)).abs().amax((0, 2, 3, 4)) > 1e-9).all()
    built.translator = torch.nn.Identity()
    moved = (built(changed) - built(x)).abs().amax((0, 2, 3, 4)) > 1e-9
    assert moved.tolist() == [frame == 3 for frame in range(10)]


def test_the_translator_joins_what_came_down_on_the_way_up(model):
    import torch

    built = model.Translator(24, 16, 3, 8)
    seen = []
    for module in [*built.down, *built.up]:
        module.register_forward_hook(lambda _, given, out: seen.append((given[0], out)))
    built(torch.randn(1, 24, 4, 4))
    (_, first), (_, second), (_, third), (up_1, out_1), (up_2, out_2), (up_3, _) = seen
    assert torch.equal(up_1, third)
    assert torch.equal(up_2, torch.cat([out_1, second], 1))
    assert torch.equal(up_3, torch.cat([out_2, first], 1))


@pytest.mark.slow
def test_the_rate_goes_a_step_after_each_mini_batch(program, model, data_code, tiny):
    import torch

    data = data_code.load_moving_mnist(tiny[1])
    torch.manual_seed(0)
    built = model.build_model(spatial_width=4, temporal_width=16, temporal_depth=2)
    optimizer = torch.optim.Adam(built.parameters(), 0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=10)
    loader = torch.utils.data.DataLoader(data.train, 2)
    rates = []
    for _ in range(5):
        rates.append(optimizer.param_groups[0]["lr"])
        program.train_epoch(built, loader, optimizer, scheduler, batches=None)
    # a cosine from 0.01/25 to 0.01 over mini-batches 0 to 2, and from there down to 0.01/25/10⁴ at
    # 9
    assert rates[0] == pytest.approx(0.0004) and rates[1] == pytest.approx(0.01)
    low = 0.01 / 25 / 1e4
    for epoch in (2, 3, 4):
        done = (2 * epoch - 2) / 7
        assert rates[epoch] == pytest.approx(
            low + (0.01 - low) * (1 + math.cos(math.pi * done)) / 2
        )


def test_the_known_mistakes_are_put_in_by_their_edits(model, wrong):
    import torch

    wholes = [parameters(model.build_model(spatial_width=4, temporal_width=64, temporal_depth=2))]
    for number in range(3):
        built = wrong(number, "model.py").build_model(
            spatial_width=4, temporal_width=64, temporal_depth=2
        )
        assert built(torch.rand(1, 10, 1, 32, 32)).shape == (1, 10, 1, 32, 32)
        wholes.append(parameters(built))
    assert wholes == [202_985, 1_289, 19_937, 202_985]

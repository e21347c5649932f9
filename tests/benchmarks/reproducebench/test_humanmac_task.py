"""HumanMAC: the motion is a body's, the metric is the metric, network and completion are those of
their definition.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from autoreproduce.benchmarks.reproducebench import task_code
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench

FOLDER = reproducebench.folder("reproducebench") / "humanmac"


def load(name: str):
    return task_code.load_module(FOLDER / name)


@pytest.fixture(scope="module")
def prepare():
    return load("prepare.py")


@pytest.fixture(scope="module")
def metric():
    return load("metric.py")


@pytest.fixture(scope="module")
def preprocess():
    pytest.importorskip("torch")
    return load("preprocess.py")


@pytest.fixture(scope="module")
def model():
    pytest.importorskip("torch")
    return load("reference/model.py")


@pytest.fixture(scope="module")
def diffusion():
    pytest.importorskip("torch")
    return load("reference/diffusion.py")


@pytest.fixture(scope="module")
def main(preprocess, model, diffusion):
    """The reference's program, with its neighbours in reach as in a workspace."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in (
            ("preprocess", preprocess),
            ("model", model),
            ("diffusion", diffusion),
        ):
            patch.setitem(sys.modules, name, module)
        return load("reference/main.py")


@pytest.fixture(scope="module")
def made(prepare):
    return prepare.generate()


@pytest.fixture(scope="module")
def folder(prepare, tmp_path_factory):
    target = tmp_path_factory.mktemp("small")
    prepare.prepare(target, "small", lambda _: None)
    return target


# The stand-in


def test_bones_keep_their_length_and_left_is_on_the_left(prepare, made):
    sequence = made["Train/S1"]["Jog 1"].astype(float)
    bones = np.linalg.norm(sequence[:, 1:] - sequence[:, prepare.PARENTS[1:]], axis=-1)
    size = bones[0, 0] / prepare.BONES[1]
    assert np.allclose(bones, size * np.array(prepare.BONES[1:]), atol=1e-5) and 0.9 < size < 1.1
    hips = sequence[:, 8] - sequence[:, 11]  # from right to left
    forward = np.cross(hips, [0, 0, 1])
    knees, ankles = (
        sequence[:, [low, low + 3]] - sequence[:, [low - 1, low + 2]] for low in (9, 10)
    )
    # a knee bends backwards only: the shank never points further forward than the thigh
    unit = forward / np.linalg.norm(forward, axis=-1, keepdims=True)
    ahead = np.einsum("fjc,fc->fj", ankles / 0.41 - knees / 0.42, unit)
    assert (
        ahead.max() < 0.02 and ahead.min() < -0.5 and (sequence[:, 14, 2] > sequence[:, 0, 2]).all()
    )


def test_motion_is_smooth_and_what_follows_is_open(prepare, made):
    sequence = made["Train/S2"]["Gestures 2"].astype(float)
    sequence = sequence[:, 1:] - sequence[:, :1]
    speed = np.abs(np.diff(sequence, axis=0)).max() * prepare.RATE
    assert 0.5 < speed < 10 and np.abs(np.diff(sequence, n=2, axis=0)).max() < 0.01
    low, high = prepare.bounds("Box")
    values = prepare.drives(low, high, 600, np.random.default_rng(0))
    assert (values >= low - 1e-9).all() and (values <= high + 1e-9).all()
    changes = np.abs(np.diff(values[:, 1]))
    assert 0 < changes.max() < 0.1 and values[:, 1].std() > 0.05


def test_a_sequence_depends_on_its_own_numbers_alone(prepare, made):
    again = prepare.motion("Walking", 600, 1.0, np.random.default_rng(3))
    assert (again == prepare.motion("Walking", 600, 1.0, np.random.default_rng(3))).all()
    takes = [made["Train/S1"][f"Walking {take}"] for take in (1, 2)]
    assert (
        takes[0].shape == (600, 15, 3)
        and takes[0].dtype == np.float32
        and (takes[0] != takes[1]).any()
    )
    assert not any(
        prepare.wrong(sequence, name)
        for actions in made.values()
        for name, sequence in actions.items()
    )


# The true data: what the user put there is looked at


def published(prepare, made, path: Path, **changes) -> Path:
    """A file in the form of the converted HumanEva-I, from the stand-in; `changes` replace
    subjects.
    """
    content = {subject: dict(actions) for subject, actions in made.items()}
    for subject, action in prepare.LEFT_OUT:
        content[subject][action] = content[subject]["Walking 1"]
    content["Train/S2"]["Box 1 chunk3"] = content["Train/S2"]["Box 1"][:74]
    np.savez(path, positions_3d={**content, **changes})
    return path


@pytest.mark.slow
def test_the_converted_file_is_read_and_the_wrong_takes_are_left_out(
    prepare, made, preprocess, folder, tmp_path
):
    published(prepare, made, tmp_path / prepare.PUBLISHED)
    said: list[str] = []
    prepare.prepare(tmp_path, "full", said.append)
    assert "licence" in said[0] and said[1] == "75 sequences, 45 windows to test"
    mine, other = preprocess.load_motion(tmp_path), preprocess.load_motion(folder)
    assert (mine.train == other.train).all() and (mine.test == other.test).all()
    assert (mine.sequences == other.sequences).all()


def test_a_missing_file_is_asked_for_with_its_place(prepare, tmp_path):
    with pytest.raises(ValueError, match=r"is missing\. HumanEva-I needs a registration") as error:
        prepare.prepare(tmp_path, "full", print)
    assert f"{tmp_path / 'data_3d_humaneva15.npz'}\n    or into the folder that --data" in str(
        error.value
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda a: {n: s * 1000 for n, s in a.items()}, "is it in millimetres"),
        (lambda a: {n: s[:, :14] for n, s in a.items()}, "not floating point"),
        (lambda a: {n: s * np.nan for n, s in a.items()}, "not finite"),
        (
            lambda a: {
                n: s * np.linspace(1, 1.35, len(s))[:, None, None] ** 2 for n, s in a.items()
            },
            "changes its length",
        ),
        (
            lambda a: {},
            "it lacks Train/S3: Walking 1 chunk0, Train/S3: Walking 1 chunk2, which HumanEva-I has",
        ),
    ],
)
def test_what_is_not_humaneva_is_refused(prepare, made, tmp_path, change, reason):
    actions = {**made["Train/S3"], "Walking 1 chunk0": made["Train/S3"]["Walking 1"]}
    actions["Walking 1 chunk2"] = actions["Walking 1 chunk0"]
    path = published(prepare, made, tmp_path / "a.npz", **{"Train/S3": change(actions)})
    with pytest.raises(ValueError, match=reason):
        prepare.read_published(path)


class Program:
    """An object whose pickle makes a folder when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_file_that_holds_a_program_is_refused_unrun(prepare, tmp_path):
    np.savez(tmp_path / "bad.npz", positions_3d=np.array(Program(tmp_path / "made"), dtype=object))
    with pytest.raises(ValueError, match=r"it names posix\.mkdir|it names os\.mkdir"):
        prepare.read_published(tmp_path / "bad.npz")
    assert not (tmp_path / "made").exists()
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(tmp_path / "other.npz", positions=np.zeros(3))
    for name in ("text.npz", "other.npz"):
        with pytest.raises(ValueError, match="cannot be read"):
            prepare.read_published(tmp_path / name)


# Data code and metric


@pytest.mark.slow
def test_test_windows_are_every_fifteenth_of_the_test_sequences(made, preprocess, metric, folder):
    data = preprocess.load_motion(folder)
    expected = [
        sequence[start : start + 75, 1:] - sequence[start : start + 75, :1]
        for subject, actions in made.items()
        for sequence in actions.values()
        for start in range(0, len(sequence) - 75, 15)
        if subject.startswith("Validate")
    ]
    assert np.allclose(data.test.numpy(), np.stack(expected))
    assert np.allclose(
        metric.futures(folder / "motion.npz"),
        np.stack(expected)[:, 15:].reshape(45, 60, 42),
        atol=1e-6,
    )
    assert data.sequences[:, 0].bincount().tolist() == [20, 20, 20] and len(data.train) == 36_000


@pytest.mark.slow
def test_each_test_window_of_a_draw_is_a_sequence_of_its_own(preprocess, folder, tmp_path):
    prepare = load("prepare.py")
    prepare.SEED = 77 | 1 << 128
    for name in ("drawn", "decoys"):
        (tmp_path / name).mkdir()
    prepare.prepare(tmp_path / "drawn", "small", print)
    load("decoys.py").decoys(tmp_path / "drawn", tmp_path / "decoys", np.random.default_rng(0))
    data, decoys, published = (
        preprocess.load_motion(place) for place in (tmp_path / "drawn", tmp_path / "decoys", folder)
    )
    for name, part in vars(published).items():
        assert getattr(data, name).shape == part.shape
    frames = data.test.flatten(0, 1)
    assert len(frames.unique(dim=0)) == len(frames)  # no frame is in two windows
    assert decoys.train.equal(data.train) and decoys.test[:, :15].equal(data.test[:, :15])
    assert not (decoys.test[:, 15:] == data.test[:, 15:]).all(-1).any()


def test_a_batch_holds_turned_windows_of_one_sequence_each(preprocess, folder):
    import torch

    data = preprocess.load_motion(folder)
    seen = []
    for seed in range(8):
        batch = data.batch(16, np.random.default_rng(seed))
        assert batch.shape == (16, 75, 14, 3) and (
            batch.diff(dim=1).abs().max() < 0.12
        )  # no jump between sequences
        seen.append(batch)
    radius = torch.cat(seen)[..., :2].norm(dim=-1)
    assert (
        radius.max() < 1.2 and (torch.cat(seen)[..., 12, 2] < 0).all()
    )  # ankles stay below the pelvis
    again = data.batch(16, np.random.default_rng(3))
    assert (again == seen[3]).all()


def test_augmentation_turns_about_the_vertical_and_mirrors(preprocess):
    import torch

    point = torch.tensor([1.0, 0.0, 5.0])
    quarter = preprocess.augment(point, np.pi / 2, mirror_x=False, mirror_y=False)
    assert torch.allclose(quarter, torch.tensor([0.0, -1.0, 5.0]), atol=1e-6)
    both = preprocess.augment(torch.tensor([1.0, 2.0, 3.0]), 0.0, mirror_x=True, mirror_y=True)
    assert both.tolist() == [-1.0, -2.0, 3.0]


@pytest.fixture
def one(prepare, made, tmp_path):
    """A data folder with one test sequence, of three windows, beside one that is for training."""
    kept = [
        ("Train/S1", "Box", made["Train/S1"]["Box 1"]),
        ("Validate/S2", "Jog", made["Validate/S2"]["Jog 1"]),
    ]
    prepare.write(tmp_path / "motion.npz", kept)
    return tmp_path


def test_the_metric_of_known_predictions(metric, one):
    truth = metric.futures(one / "motion.npz")
    guess = np.repeat(truth[None] + 7, 50, 0)
    guess[13] = truth
    guess[13, 0, :30, 5] += 0.5  # one of three windows is off by half a metre in half of the frames
    np.savez(one / "p.npz", prediction=guess)
    assert metric.metric(one / "p.npz", one) == pytest.approx(0.25 / 3)
    guess[40, 0] = truth[0] + 0.1 / np.sqrt(
        42
    )  # a better one for this window: each has its own best
    np.savez(one / "p.npz", prediction=guess)
    assert metric.metric(one / "p.npz", one) == pytest.approx(0.1 / 3)


@pytest.mark.parametrize(
    ("prediction", "reason"),
    [
        (np.zeros((3, 60, 42)), "has shape"),
        (np.zeros((50, 3, 60, 42), np.int8), "has type int8"),
        (np.full((50, 3, 60, 42), np.nan, np.float16), "are not finite"),
    ],
)
def test_the_metric_refuses_what_it_cannot_judge(metric, one, prediction, reason):
    np.savez(one / "p.npz", prediction=prediction)
    with pytest.raises(ValueError, match=reason):
        metric.metric(one / "p.npz", one)


def test_the_programs_own_number_is_the_metric(main, metric, one):
    import torch

    truth = metric.futures(one / "motion.npz")
    guess = truth + np.random.default_rng(0).normal(size=(50, *truth.shape)).astype(np.float32)
    np.savez(one / "p.npz", prediction=guess)
    own = main.displacement(torch.tensor(guess), torch.tensor(truth))
    assert own == pytest.approx(metric.metric(one / "p.npz", one))


# Diffusion


def test_the_dct_is_orthonormal_and_that_of_scipy(diffusion):
    from scipy.fft import dct

    whole = diffusion.dct_matrix(75, 75).numpy()
    assert np.allclose(whole @ whole.T, np.eye(75))
    signal = np.random.default_rng(0).normal(size=75)
    assert np.allclose(
        diffusion.dct_matrix(10, 75).numpy() @ signal, dct(signal, norm="ortho")[:10]
    )


def test_the_schedule_is_a_squared_cosine_that_is_clipped(diffusion):
    import torch

    alpha_bar = diffusion.cosine_schedule(1000)
    t = torch.arange(1, 1001, dtype=torch.float64) / 1000
    exact = (
        torch.cos((t + 0.008) / 1.008 * torch.pi / 2) ** 2 / np.cos(0.008 / 1.008 * np.pi / 2) ** 2
    )
    assert torch.allclose(alpha_bar[:-1], exact[:-1]) and alpha_bar[-1] == pytest.approx(
        0.001 * float(exact[-2]), rel=1e-6
    )
    steps = diffusion.Diffusion(10, 75, 1000).sampling_steps(100)
    assert (
        len(steps) == 100
        and steps[:2] == [(991, 981), (981, 971)]
        and steps[-2:] == [(11, 1), (1, 0)]
    )


def test_noise_has_the_variance_of_its_step(diffusion):
    import torch

    torch.manual_seed(0)
    process = diffusion.Diffusion(10, 75, 1000)
    y = torch.full((2, 10, 5000), 3.0)
    steps = torch.tensor([100, 700])
    noisy, noise = process.noisy(y, steps)
    for row, step in enumerate(steps):
        alpha_bar = float(process.alpha_bar[step])
        assert noisy[row].mean() == pytest.approx(3 * alpha_bar**0.5, abs=0.02)
        assert noisy[row].var() == pytest.approx(1 - alpha_bar, rel=0.05)
        assert torch.allclose(
            noisy[row], alpha_bar**0.5 * y[row] + (1 - alpha_bar) ** 0.5 * noise[row]
        )


def test_completion_keeps_the_future_and_takes_the_observation(diffusion):
    import torch

    process = diffusion.Diffusion(10, 75, 1000)
    y, known = torch.randn(2, 10, 4), torch.randn(2, 10, 4)
    mask = (torch.arange(75) < 15).float()[:, None]
    by_hand = process.dct @ (mask * (process.dct.T @ known) + (1 - mask) * (process.dct.T @ y))
    assert torch.allclose(process.complete(y, known, 15), by_hand, atol=1e-5)
    assert torch.allclose(process.complete(y, y, 15), y, atol=1e-5)


def test_a_perfect_predictor_gives_back_the_motion_and_no_future_is_looked_at(diffusion):
    import torch

    torch.manual_seed(0)
    process = diffusion.Diffusion(10, 75, 1000)
    smooth = process.decode(torch.randn(3, 10, 6))
    goal = process.encode(smooth)
    seen = []

    def predict(y, steps, condition):
        seen.append(condition)
        alpha_bar = process.alpha_bar[steps][:, None, None]
        return (y - alpha_bar.sqrt() * goal) / (1 - alpha_bar).sqrt()

    sample = process.sample(predict, smooth, 15, True, 50)
    assert len(seen) == 50 and (sample - smooth)[:, 20:].abs().mean() < 0.05 * smooth.abs().mean()
    padded = torch.cat([smooth[:, :15], smooth[:, 14:15].repeat(1, 60, 1)], dim=1)
    assert torch.allclose(seen[0], process.encode(padded), atol=1e-5)
    other = torch.cat([smooth[:, :15], torch.randn(3, 60, 6)], dim=1)
    results = []
    for motion in (smooth, other):
        torch.manual_seed(1)
        results.append(
            process.sample(
                lambda y, steps, condition: 0.1 * y + 0.01 * condition, motion, 15, True, 10
            )
        )
    assert (results[0] == results[1]).all()


# Network and training


def parameters(module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.slow
def test_each_part_has_the_published_number_of_parameters(model):
    import torch

    with torch.device("meta"):
        net = model.TransLinear(42, 10, 512, 1024, 4, 8, 0.2)
    assert [parameters(part) for part in (net.input, net.condition, net.step, net.output)] == [
        22_016,
        215_552,
        525_312,
        21_546,
    ]
    assert {
        (parameters(layer.attention), parameters(layer.feed_forward)) for layer in net.layers
    } == {(1_576_448, 1_839_104)}
    assert (
        parameters(net) == 14_451_754
        and parameters(model.build_model(width=96, hidden=192)) == 553_194
    )


def random_model(model, **settings):
    """A small model in which no weight is zero."""
    import torch

    torch.manual_seed(0)
    net = model.build_model(
        features=6, tokens=5, width=16, hidden=32, **{"heads": 4, **settings}
    ).eval()
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return net


def test_attention_is_its_formula_head_by_head(model):
    import torch

    part = random_model(model).layers[0].attention
    h, e = torch.randn(2, 5, 16), torch.randn(2, 16)
    x = part.norm(h)
    heads = []
    for head in range(4):
        rows = slice(4 * head, 4 * head + 4)
        q, k, v = (x @ layer.weight[rows].T for layer in (part.query, part.key, part.value))
        heads.append(torch.softmax(q @ k.transpose(1, 2) / 2, -1) @ v)
    assert torch.allclose(part(h, e), h + part.modulation(torch.cat(heads, -1), e), atol=1e-5)
    scale, shift = part.modulation.embed(torch.nn.functional.silu(e)).split(16, dim=-1)
    inner = part.modulation.norm(h) * (1 + scale[:, None]) + shift[:, None]
    assert torch.allclose(
        part.modulation(h, e), part.modulation.project(inner * inner.sigmoid()), atol=1e-5
    )


def test_skips_join_the_halves_in_reverse_order(model):
    import torch

    net = random_model(model)
    y, steps, condition = torch.randn(2, 5, 6), torch.tensor([3, 900]), torch.randn(2, 5, 6)
    e = net.step(model.step_embedding(steps, 16)) + net.condition(condition.reshape(2, -1))
    first = net.input(y) + net.position
    second = net.layers[0](first, e)
    third = net.layers[2](net.layers[1](second, e), e) + second
    assert torch.allclose(
        net(y, steps, condition), net.output(net.layers[3](third, e) + first), atol=1e-4
    )
    assert not torch.allclose(net(y, steps, condition), net(y, steps, None))
    embedding = model.step_embedding(torch.tensor([7]), 6)[0]
    angles = 7 * 10000.0 ** (-np.arange(3) / 3)
    assert np.allclose(embedding, np.concatenate([np.cos(angles), np.sin(angles)]), atol=1e-6)


@pytest.mark.slow
def test_a_new_model_predicts_no_noise_and_every_weight_learns(main, model, diffusion):
    import torch

    torch.manual_seed(0)
    net = model.build_model(features=6, width=16, hidden=32, heads=4)
    assert (net(torch.randn(2, 10, 6), torch.tensor([1, 2]), None) == 0).all()
    process, optimizer = diffusion.Diffusion(10, 75, 1000), torch.optim.Adam(net.parameters(), 1e-3)
    before = [parameter.clone() for parameter in net.parameters()]
    first = main.train_step(net, optimizer, process, torch.randn(32, 75, 6), True)
    assert first == pytest.approx(1, abs=0.15)  # the variance of the noise
    for _ in range(4):  # behind the layers that start at zero, a gradient comes a step later
        main.train_step(net, optimizer, process, torch.randn(8, 75, 6), True)
    assert all((new != old).any() for new, old in zip(net.parameters(), before, strict=True))


def test_the_average_follows_then_lags(main, model):
    import torch

    net = random_model(model)
    average = main.Average(net, 0.9, start=1)
    for value in (1.0, 2.0, 3.0):
        for parameter in net.parameters():
            torch.nn.init.constant_(parameter, value)
        average.update(net)
    mean = 0.9 * (0.9 * 1 + 0.1 * 2) + 0.1 * 3
    assert all(
        torch.allclose(p, torch.tensor(mean)) and not p.requires_grad
        for p in average.model.parameters()
    )


def test_one_future_that_was_looked_up_among_fifty_does_not_agree(monkeypatch, tmp_path):
    """The metric counts the best of 50, so a leak in one of them is enough."""
    code, rng = load("agreement.py"), np.random.default_rng(0)
    truth = rng.normal(size=(4, 60, 42))
    method = truth + 0.1 * rng.normal(size=(50, 4, 1, 42))
    monkeypatch.setattr(code.metric, "futures", lambda path: truth)
    other = method + 0.01 * rng.normal(size=method.shape)
    leaked = other.copy()
    leaked[7] = truth + 0.05 * rng.normal(size=truth.shape)
    for name, futures in (("one", method), ("other", other), ("leaked", leaked)):
        np.savez(tmp_path / name, prediction=futures)
    paths = {name: tmp_path / f"{name}.npz" for name in ("one", "other", "leaked")}
    (alike,) = code.agreement(paths["one"], paths["other"], tmp_path).values()
    (leaked,) = code.agreement(paths["leaked"], paths["one"], tmp_path).values()
    assert alike > 0.9 and leaked < 0.3

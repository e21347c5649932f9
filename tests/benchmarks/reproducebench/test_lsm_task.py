"""LSM on Darcy: the data solve the equation, the metric is the metric, the model has the published
parts.
"""

import numpy as np
import pytest

from autoreproduce.benchmarks.reproducebench import task_code
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.benchmarks.reproducebench.draws import number_of

FOLDER = reproducebench.folder("reproducebench") / "lsm"


def test_the_solver_finds_a_known_solution(prepare):
    # −c Δu = 1 on the unit square: a double sine series
    nodes, c = 43, 3.0
    x = np.linspace(0, 1, nodes)
    odd = np.arange(1, 400, 2)
    weight = 16 / (c * np.pi**4 * np.outer(odd, odd) * (odd[:, None] ** 2 + odd[None, :] ** 2))
    sines = np.sin(np.pi * np.outer(x, odd))
    known = sines @ weight @ sines.T
    found = prepare.solve(np.full((nodes, nodes), c))
    assert np.abs(found - known).max() < 1e-3 * known.max()


def test_the_operator_takes_face_means_of_a_varying_coefficient(prepare):
    a = np.random.default_rng(0).uniform(3, 12, (6, 6))
    known = np.zeros((4, 4, 4, 4))
    for i, j in np.ndindex(4, 4):
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            face = 25 * (a[i + 1, j + 1] + a[i + 1 + di, j + 1 + dj]) / 2  # 1/h² = 25
            known[i, j, i, j] += face
            if 0 <= i + di < 4 and 0 <= j + dj < 4:
                known[i, j, i + di, j + dj] -= face
    assert np.allclose(prepare.operator(a).toarray(), known.reshape(16, 16))


def test_the_field_has_the_covariance_it_names(prepare):
    rng = np.random.default_rng(0)
    fields = np.stack([prepare.random_field(17, rng) for _ in range(4000)])
    k = np.arange(17)
    factor = np.where(k == 0, 1.0, np.sqrt(2))
    modes = np.cos(np.pi * np.outer(np.linspace(0, 1, 17), k)) * factor  # orthonormal on [0, 1]
    spectrum = 1 / (np.pi**2 * (k[:, None] ** 2 + k[None, :] ** 2) + 9) ** 2
    spectrum[0, 0] = 0
    variance = np.einsum("ik,jl,kl->ij", modes**2, modes**2, spectrum)
    assert fields.var(0) == pytest.approx(variance, rel=0.15)
    here, there = (3, 4), (5, 9)
    product = np.einsum("k,l,kl->", modes[3] * modes[5], modes[4] * modes[9], spectrum)
    assert (fields[:, *here] * fields[:, *there]).mean() == pytest.approx(product, rel=0.15)


def test_a_sample_is_the_same_whenever_it_is_made(prepare):
    a, u = prepare.sample([prepare.SEED, 1, 7], 43, 1)
    again, _ = prepare.sample([prepare.SEED, 1, 7], 43, 1)
    other, _ = prepare.sample([prepare.SEED, 1, 8], 43, 1)
    assert (a == again).all() and (a != other).any()
    assert set(np.unique(a)) == {3.0, 12.0} and u.min() == 0 and 0.005 < u.max() < 0.05


def test_a_draw_hides_a_law_that_the_published_one_does_not_stand_in_for(prepare, monkeypatch):
    def solutions(seed: int) -> np.ndarray:
        monkeypatch.setattr(prepare, "SEED", seed)
        pairs = [prepare.sample([1, 2, index], 17, 1) for index in range(60)]
        assert all(set(np.unique(a)) == {3.0, 12.0} for a, _ in pairs)
        return np.stack([u[1:-1, 1:-1] for _, u in pairs])

    published, one, again, other = map(
        solutions, (prepare.SEED, number_of("5"), number_of("5"), number_of("6"))
    )
    assert np.array_equal(one, again)
    for known, hidden in ((published, one), (published, other), (one, other)):
        # the best that weights by another law could do: each node scaled as the draw's is
        scaled = (known - known.mean(0)) / known.std(0) * hidden.std(0) + hidden.mean(0)
        error = np.linalg.norm(scaled - hidden, axis=(1, 2)) / np.linalg.norm(hidden, axis=(1, 2))
        assert error.mean() > 0.1  # trained on the law itself, the reference has 0.03


def test_generation_goes_on_where_it_was_stopped(prepare, tmp_path, monkeypatch):
    monkeypatch.setitem(prepare.SIZES, "small", (11, 1, 45, 20))
    made = []
    real = prepare.sample

    def stopped(seed, nodes, stride):
        made.append(tuple(seed))
        if len(made) == 30:
            raise KeyboardInterrupt
        return real(seed, nodes, stride)

    monkeypatch.setattr(prepare, "sample", stopped)
    with pytest.raises(KeyboardInterrupt):
        prepare.prepare(tmp_path, "small", print)
    made.clear()
    monkeypatch.setattr(prepare, "sample", lambda *seed: made.append(tuple(seed[0])) or real(*seed))
    prepare.prepare(tmp_path, "small", print)
    assert len(made) == 45  # the 25 after the first whole chunk, and the test set
    with np.load(tmp_path / "train.npz") as file:
        assert file["u"].shape == (45, 11, 11) and file["u"].dtype == np.float32
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "data.json",
        "test.npz",
        "train.npz",
    ]


def test_the_published_files_are_read_and_checked(prepare, tmp_path, monkeypatch):
    from scipy.io import savemat

    monkeypatch.setitem(prepare.SIZES, "full", (61, 5, 2, 2))

    a, u = (array[None].repeat(2, 0) for array in prepare.sample([1, 2, 3], 61, 1))
    path = tmp_path / "published.mat"
    savemat(path, {"coeff": a, "sol": u})
    (tmp_path / "torn.mat").write_bytes(path.read_bytes()[:5000])
    with pytest.raises(ValueError, match="cannot be read"):
        prepare.read_published(tmp_path / "torn.mat", 2, 5, print)
    said: list[str] = []
    kept_a, kept_u = prepare.read_published(path, 2, 5, said.append)
    assert kept_a.shape == kept_u.shape == (2, 13, 13) and (kept_a == a[:, ::5, ::5]).all()
    assert "differs by" in said[-1]
    with pytest.raises(ValueError, match="at least 9"):
        prepare.read_published(path, 9, 5, print)
    savemat(path, {"coeff": a, "sol": np.ones_like(u)})
    with pytest.raises(ValueError, match="does not solve"):
        prepare.read_published(path, 2, 5, print)
    savemat(path, {"coeff": np.ones_like(a), "sol": u})
    with pytest.raises(ValueError, match="other than 3 and 12"):
        prepare.read_published(path, 2, 5, print)


@pytest.fixture
def truth(tmp_path):
    values = np.random.default_rng(0).uniform(1, 2, (4, 5, 5)).astype(np.float32)
    np.savez(tmp_path / "test.npz", u=values)
    return values


def test_the_metric_of_known_predictions(metric, truth, tmp_path):
    path = tmp_path / "predictions.npz"
    np.savez(path, prediction=truth)
    assert metric(path, tmp_path) == 0
    np.savez(path, prediction=truth * 1.25)
    assert metric(path, tmp_path) == pytest.approx(0.25)
    scale = np.array([1.0, 1.0, 1.0, 3.0])[
        :, None, None
    ]  # one of four is off by 200 %: a mean over samples
    np.savez(path, prediction=truth * scale)
    assert metric(path, tmp_path) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("prediction", "reason"),
    [
        (np.ones((4, 5, 5, 1)), "has shape"),
        (np.ones((4, 5, 5)) * np.nan, "100 values of `prediction` are not finite"),
        (np.ones((4, 5, 5)) * 1j, "has type complex128"),
    ],
)
def test_the_metric_refuses_what_it_cannot_judge(metric, truth, tmp_path, prediction, reason):
    np.savez(tmp_path / "predictions.npz", prediction=prediction)
    with pytest.raises(ValueError, match=reason):
        metric(tmp_path / "predictions.npz", tmp_path)


def parameters(module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_each_part_has_the_published_number_of_parameters(model):
    lsm = model.build_model()
    assert parameters(lsm.first) == 73_984
    assert [parameters(down) for down in lsm.downs] == [221_696, 885_760, 3_540_992, 4_720_640]
    assert [parameters(up) for up in reversed(lsm.ups)] == [5_899_776, 1_475_328, 369_024, 110_848]
    assert [parameters(block) for block in lsm.blocks] == [
        14_272,
        53_120,
        204_544,
        802_304,
        802_304,
    ]
    assert parameters(lsm.output) == 4_160
    assert [parameters(lsm.lift), parameters(lsm.project[0]), parameters(lsm.project[2])] == [
        256,
        8_320,
        129,
    ]


@pytest.mark.parametrize(
    ("width", "count"), [(64, 19_187_457), (32, 4_812_801), (16, 1_211_265), (8, 306_945)]
)
def test_the_whole_has_the_published_number_of_parameters(model, width, count):
    assert parameters(model.build_model(width)) == count


def test_patches_are_squares_of_neighbours_and_come_back(model):
    import torch

    block = model.SpectralBlock(8, 3, 12, 4, 8)
    x = torch.arange(2 * 8 * 6 * 9).float().reshape(2, 8, 6, 9)
    points = block.patchify(x)
    assert points.shape == (2 * 6, 9, 8)
    assert (
        points[1] == x[0, :, 0:3, 3:6].flatten(1).T
    ).all()  # the second patch of the first sample
    assert (block.depatchify(points, x.shape) == x).all()


def test_the_spectral_block_is_equation_8(model):
    import torch

    block = model.SpectralBlock(8, 3, 12, 4, 8).double()
    tokens = torch.randn(5, 4, 8, dtype=torch.float64)
    by_hand = tokens.clone()
    for channel in range(8):
        for i in range(12):
            angle = np.pi * i / 12 * tokens[..., channel]
            by_hand[..., channel] += block.sine[channel, i] * angle.sin()
            by_hand[..., channel] += block.cosine[channel, i] * angle.cos()
    assert torch.allclose(block.solve(tokens), by_hand)


def test_a_patch_sees_no_other_patch(model):
    import torch

    block = model.SpectralBlock(8, 3, 12, 4, 8)
    x = torch.randn(1, 8, 6, 6)
    changed = x.clone()
    changed[:, :, :3, :3] += 1
    difference = (block(x) - block(changed)).abs().sum(1)[0]
    assert (
        (difference[:3, :3] > 0).all()
        and difference[3:].max() < 1e-6
        and difference[:, 3:].max() < 1e-6
    )


def test_the_model_keeps_the_grid_and_refuses_one_that_does_not_divide(model):
    import torch

    small = model.build_model(width=16, patch=3, padding=5).eval()
    assert small(torch.randn(2, 43, 43, 1)).shape == (2, 43, 43, 1)
    with pytest.raises(ValueError, match="not a multiple of 48"):
        small(torch.randn(2, 40, 40, 1))


def test_normalisation_goes_there_and_back():
    torch = pytest.importorskip("torch")
    normalizer = task_code.load_module(FOLDER / "preprocess.py").PointwiseNormalizer
    values = torch.randn(50, 4, 4, dtype=torch.float64) * 3 + 7
    fitted = normalizer(values)
    encoded = fitted.encode(values)
    assert torch.allclose(fitted.decode(encoded), values)
    assert encoded.mean(0).abs().max() < 1e-9 and (encoded.std(0) - 1).abs().max() < 1e-4

"""TimeVAE on the sine series: the file is what it is said to be, the predictor is the metric, the
model has its parts.
"""

import hashlib
import sys

import numpy as np
import pytest

from autoreproduce.benchmarks.reproducebench import task_code
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.benchmarks.reproducebench.draws import number_of
from autoreproduce.errors import UsageError

FOLDER = reproducebench.folder("reproducebench") / "timevae"


@pytest.fixture
def code():
    return task_code.load_module(FOLDER / "preprocess.py")


@pytest.fixture
def metric():
    return task_code.load_module(FOLDER / "metric.py")


@pytest.fixture(scope="module")
def series(prepare):
    """Series by the law of the published file."""
    rng = np.random.default_rng(0)
    amplitude, phase = rng.uniform(0.5, 1.5, (2000, 1, 5)), rng.uniform(-np.pi, np.pi, (2000, 1, 5))
    return 0.5 + amplitude * np.sin(prepare.FREQUENCY * np.arange(24)[None, :, None] + phase)


@pytest.fixture(scope="module")
def data_dir(prepare, series, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sine")
    np.savez_compressed(folder / prepare.NAME, data=series)
    return folder


def test_what_is_no_sine_of_that_frequency_is_refused(prepare, series):
    prepare.check(series)
    for wrong in (series + 0.1, series[:, ::-1] ** 2, np.roll(series, 1, axis=1), series * np.nan):
        with pytest.raises(ValueError, match="not sines"):
            prepare.check(wrong)
    with pytest.raises(ValueError, match="has shape"):
        prepare.check(series[:, :, :4])


def test_a_draw_hides_frequencies_and_phases(prepare, series, monkeypatch):
    hidden = []
    for seed in ("5", "5", "6"):
        monkeypatch.setattr(prepare, "SEED", number_of(seed))
        hidden.append(prepare.drawn())
        prepare.check(hidden[-1])
        with pytest.raises(ValueError, match="not sines"):
            prepare.check(series)
    assert np.array_equal(hidden[0], hidden[1])
    with pytest.raises(ValueError, match="not sines"):
        prepare.check(hidden[0])  # the last draw's frequencies are others
    assert np.abs(series.mean(0) - 0.5).max() < 0.1 < np.abs(hidden[0].mean(0) - 0.5).max(0).min()


def test_sines_of_a_hidden_law_keep_their_recurrence(prepare, monkeypatch, tmp_path):
    """In scaled units they don't: steps are scaled apart."""
    agreement = task_code.load_module(FOLDER / "agreement.py")
    monkeypatch.setattr(prepare, "SEED", number_of("5"))
    np.savez(tmp_path / prepare.NAME, data=prepare.drawn())
    np.savez(tmp_path / "predictions.npz", generated=prepare.drawn()[:1800])
    found = agreement.agreement(*2 * [tmp_path / "predictions.npz"], tmp_path)
    assert found["error of the recurrence"] < 1e-6
    scaled = agreement.code.load_sine(tmp_path).x_train.astype(float)
    assert agreement.recurrence(scaled) > 0.16


def test_channels_of_other_series_put_together_have_no_common_amplitude(series):
    agreement = task_code.load_module(FOLDER / "agreement.py")
    bound = reproducebench.load_task("timevae", "small").agreement["correlation of the amplitudes"]
    rng = np.random.default_rng(1)
    bound_together = 0.5 + rng.uniform(0.8, 1.2, (2000, 1, 1)) * (series - 0.5)
    apart = [rng.permutation(bound_together[:, :, channel]) for channel in range(5)]
    assert bound.holds(agreement.amplitudes(bound_together))
    assert not bound.holds(agreement.amplitudes(np.stack(apart, 2)))
    assert agreement.amplitudes(0 * series) == 0


@pytest.mark.parametrize(
    ("found", "honest"),
    [
        ((0.965, 0.110, 0.177), True),  # a program of its own that stops at epoch 44
        ((0.995, 0.043, 0.226), True),
        ((0.993, 0.033, 0.027), False),  # channels of training series, put together anew
        ((0.304, 0.140, 0.018), False),  # sines by the published law
        ((0.44, 0.64, 0.2), False),  # weights from before the draw
    ],
)
def test_bounds_hold_what_was_measured_of_honest_runs_and_not_of_others(found, honest):
    bounds = reproducebench.load_task("timevae", "small").agreement.values()
    assert all(bound.holds(x) for bound, x in zip(bounds, found, strict=True)) == honest


def test_the_file_of_a_local_folder_is_taken_and_checked(prepare, data_dir, tmp_path, monkeypatch):
    source = tmp_path / "local" / "sine" / prepare.NAME
    source.parent.mkdir(parents=True)
    source.write_bytes((data_dir / prepare.NAME).read_bytes())
    given = tmp_path / "local"
    target = tmp_path / "target"
    with pytest.raises(UsageError, match="has SHA-256"):
        prepare.prepare(target, "small", print, given)
    assert source.exists() and not (target / prepare.NAME).exists()
    monkeypatch.setattr(prepare, "SHA256", hashlib.sha256(source.read_bytes()).hexdigest())
    monkeypatch.setattr(prepare, "SIZE", source.stat().st_size)
    prepare.prepare(target, "small", print, given)
    assert (target / prepare.NAME).read_bytes() == source.read_bytes()
    assert sorted(path.name for path in target.iterdir()) == ["data.json", prepare.NAME]


def test_another_file_in_the_target_is_left_as_it_is(prepare, tmp_path):
    (tmp_path / prepare.NAME).write_bytes(b"mine")
    with pytest.raises(UsageError, match="it is left as it is"):
        prepare.prepare(tmp_path, "full", print)
    assert (tmp_path / prepare.NAME).read_bytes() == b"mine"


def test_the_split_is_the_authors_and_the_scaling_goes_there_and_back(code, series, data_dir):
    data = code.load_sine(data_dir)
    assert data.x_train.shape == (1800, 24, 5) and data.x_test.shape == (200, 24, 5)
    assert data.x_train.min() == 0 and data.x_train.max() == pytest.approx(1, abs=1e-6)
    assert (data.x_train.min(0) == 0).all() and data.x_train.dtype == np.float32
    shuffled = series.copy()
    np.random.RandomState(123).shuffle(shuffled)  # as the authors shuffle
    assert np.allclose(data.scaler.decode(data.x_train.astype(float)), shuffled[:1800], atol=1e-6)
    assert np.allclose(data.scaler.decode(data.scaler.encode(series)), series)


def test_the_predictor_is_the_gru_it_names(code):
    rng = np.random.RandomState(0)
    predictor = code.Predictor(4, 2, rng)
    predictor.weights[:] = rng.normal(size=predictor.weights.size)
    x = rng.normal(size=(3, 6, 4))
    gate, gate_bias, candidate, candidate_bias, output, output_bias = predictor.parts(
        predictor.weights
    )

    def sigmoid(value):
        return 1 / (1 + np.exp(-value))

    for one, found in zip(x, predictor.predict(x), strict=True):
        h = np.zeros(2)
        for t, step in enumerate(one):
            reset, update = np.split(sigmoid(gate @ [*step, *h] + gate_bias[:, 0]), 2)
            new = np.tanh(candidate @ [*step, *(reset * h)] + candidate_bias[:, 0])
            h = update * h + (1 - update) * new
            assert found[t] == pytest.approx(sigmoid(output @ h + output_bias[:, 0])[0])


def test_the_predictors_gradient_is_that_of_its_loss(code):
    rng = np.random.RandomState(1)
    predictor = code.Predictor(4, 2, rng)
    series = rng.uniform(size=(9, 24, 5))
    _, gradient = predictor.loss(series)
    by_hand = np.empty_like(gradient)
    for i in range(len(gradient)):
        predictor.weights[i] += 1e-6
        above, _ = predictor.loss(series)
        predictor.weights[i] -= 2e-6
        below, _ = predictor.loss(series)
        predictor.weights[i] += 1e-6
        by_hand[i] = (above - below) / 2e-6
    assert np.abs(gradient - by_hand).max() < 1e-8 < np.abs(gradient).max()


def test_the_predictor_starts_as_it_names(code):
    predictor = code.Predictor(4, 2, np.random.RandomState(0))
    gate, gate_bias, candidate, candidate_bias, output, output_bias = predictor.parts(
        predictor.weights
    )
    assert (gate_bias == 1).all() and not candidate_bias.any() and not output_bias.any()
    for kernel in (gate, candidate, output):
        assert 0 < np.abs(kernel).max() <= np.sqrt(6 / sum(kernel.shape))
    assert gate.shape == (4, 6) and candidate.shape == (2, 6) and output.shape == (1, 2)


@pytest.mark.slow
def test_the_predictor_learns_where_there_is_something_to_learn(code, monkeypatch):
    monkeypatch.setattr(code, "ITERATIONS", 1500)
    rng = np.random.RandomState(0)
    series = rng.uniform(size=(1000, 24, 5))
    series[:, 1:, 4] = series[:, :-1, 0]  # the last feature follows the first by one step
    predictor = code.fit_predictor(series, rng)
    error = np.abs(predictor.predict(series[:, :-1, :-1]) - series[:, 1:, -1]).mean()
    assert error < 0.15  # the median alone has 0.25


@pytest.mark.slow
def test_the_score_tells_a_wrong_level_and_not_a_wrong_form(code, series, data_dir, monkeypatch):
    monkeypatch.setattr(code, "ITERATIONS", 1200)
    data = code.load_sine(data_dir)
    real = data.scaler.decode(data.x_train)
    noise = np.random.RandomState(0).uniform(-1, 2, real.shape)
    floor = np.abs(data.scaler.encode(series)[:, 1:, -1] - 0.5).mean()
    assert code.predictor_score(real, data) == code.predictor_score(real, data)
    assert code.predictor_score(real, data) == pytest.approx(floor, rel=0.02)
    assert code.predictor_score(noise, data) == pytest.approx(floor, rel=0.02)
    assert code.predictor_score(real + 1, data) > 1.3 * floor


def test_the_metric_is_the_predictors_score(code, metric, data_dir, tmp_path, monkeypatch):
    monkeypatch.setattr(code, "ITERATIONS", 20)
    monkeypatch.setattr(metric, "data_code", lambda: code)
    generated = np.random.RandomState(0).uniform(-1, 2, (1800, 24, 5)).astype(np.float32)
    np.savez(tmp_path / "predictions.npz", generated=generated)
    score = code.predictor_score(generated, code.load_sine(data_dir))
    assert metric.metric(tmp_path / "predictions.npz", data_dir) == score


def test_the_metric_takes_the_data_code_of_its_own_folder(metric, code):
    assert metric.data_code().ITERATIONS == code.ITERATIONS == 5000
    assert not list(FOLDER.rglob("__pycache__"))


@pytest.mark.parametrize(
    ("generated", "reason"),
    [
        (np.ones((1800, 24, 4)), "has shape"),
        (np.ones((10, 24, 5)), "has shape"),
        (np.ones((1800, 24, 5)) * np.nan, "216000 values of `generated` are not finite"),
        (np.ones((1800, 24, 5)) * 1j, "has type complex128"),
    ],
)
def test_the_metric_refuses_what_it_cannot_judge(metric, data_dir, tmp_path, generated, reason):
    np.savez(tmp_path / "predictions.npz", generated=generated)
    with pytest.raises(ValueError, match=reason):
        metric.metric(tmp_path / "predictions.npz", data_dir)
    np.savez(tmp_path / "predictions.npz", other=generated)
    with pytest.raises(ValueError, match="it holds other, not an array"):
        metric.metric(tmp_path / "predictions.npz", data_dir)


def parameters(module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_each_part_has_the_published_number_of_parameters(model):
    vae = model.build_model()
    level, residual = vae.blocks
    assert [parameters(part) for part in vae.encoder.convolutions] == [800, 15_100, 60_200]
    assert [parameters(vae.encoder.mean), parameters(vae.encoder.log_variance)] == [4_808, 4_808]
    assert parameters(level) == 75
    assert [parameters(part) for part in residual.convolutions] == [60_100, 15_050, 755]
    assert [parameters(residual.dense), parameters(residual.output)] == [5_400, 14_520]
    assert parameters(vae) == 181_616
    assert parameters(model.build_model(trend=3, seasons=[(4, 2), (3, 5)])) == 182_306


def test_the_kernels_are_glorots_and_the_biases_zero(model):
    vae = model.build_model()
    for name, parameter in vae.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any()
        else:
            taps = parameter.shape[2] if parameter.ndim == 3 else 1
            limit = np.sqrt(6 / (sum(parameter.shape[:2]) * taps))
            assert 0.5 * limit < parameter.abs().max() <= limit * 1.0001, name


def test_a_convolution_is_padded_at_the_end(model):
    import torch

    encoder = model.build_model(widths=(3,)).encoder.double()
    convolution = encoder.convolutions[0]
    x = torch.randn(1, 24, 5, dtype=torch.float64)
    seen = {}
    encoder.mean.register_forward_pre_hook(lambda _, inputs: seen.update(flat=inputs[0]))
    encoder(x)
    steps = torch.cat((x[0], torch.zeros(1, 5)))
    for t in range(12):  # step t sees 2t, 2t + 1 and 2t + 2; the flat vector has time first
        by_hand = (
            torch.einsum("oik,ki->o", convolution.weight, steps[2 * t : 2 * t + 3])
            + convolution.bias
        )
        assert torch.allclose(seen["flat"][0, 3 * t : 3 * t + 3], by_hand.relu())


def test_a_transposed_convolution_loses_its_last_step(model):
    import torch

    residual = model.build_model(widths=(3,)).blocks[-1].double()
    convolution = residual.convolutions[0]
    torch.nn.init.normal_(residual.dense.bias)
    seen = {}
    residual.output.register_forward_pre_hook(lambda _, inputs: seen.update(flat=inputs[0]))
    z = torch.randn(1, 8, dtype=torch.float64)
    residual(z)
    x = residual.dense(z).relu().reshape(12, 3)
    by_hand = convolution.bias.repeat(25, 1)
    for t in range(12):
        for tap in range(3):
            by_hand[2 * t + tap] += x[t] @ convolution.weight[:, :, tap]
    assert torch.allclose(seen["flat"].reshape(24, 5), by_hand[:24].relu())


def test_the_decoder_is_the_sum_of_its_blocks(model):
    import torch

    vae = model.build_model(trend=2, seasons=[(4, 2)])
    z = torch.randn(6, 8)
    level, trend, season, residual = (block(z) for block in vae.blocks)
    assert torch.allclose(vae.decode(z), level + trend + season + residual)
    assert (level == level[:, :1]).all()
    third = trend.diff(dim=1).diff(dim=1).diff(dim=1)  # of a quadratic it is nothing
    assert third.abs().max() < 1e-5 and trend[:, 0].abs().max() < 1e-6 < trend.abs().max()
    assert (season[:, 0::2] == season[:, 1::2]).all() and (season[:, :16] == season[:, 8:]).all()
    assert (season[:, 0] != season[:, 2]).any()


def test_the_loss_is_the_weighted_bound(model):
    import torch
    from torch.distributions import Normal, kl_divergence

    x, reconstruction = torch.rand(4, 24, 5), torch.rand(4, 24, 5)
    mean, log_variance = torch.randn(4, 8), torch.randn(4, 8)
    divergence = kl_divergence(Normal(mean, (0.5 * log_variance).exp()), Normal(0.0, 1.0)).sum()
    error = sum(((x - reconstruction)[i, t] ** 2).sum() for i in range(4) for t in range(24))
    error += sum((x - reconstruction)[i, t].mean() ** 2 for i in range(4) for t in range(24))
    assert torch.allclose(
        model.loss(x, reconstruction, mean, log_variance, 3.0), 3 * error + divergence
    )


def test_the_noise_is_scaled_by_the_deviation(model):
    import torch

    vae = model.build_model()
    x, noise = torch.rand(4, 24, 5), torch.randn(4, 8)
    reconstruction, mean, log_variance = vae(x, noise)
    assert reconstruction.shape == x.shape and mean.shape == log_variance.shape == (4, 8)
    assert torch.allclose(
        reconstruction, vae.decode(mean + log_variance.exp().sqrt() * noise), atol=1e-6
    )


def test_the_plain_auto_encoder_is_blind_to_the_noise_and_has_no_divergence(wrong, model):
    import torch

    flawed = wrong(0, "model.py")
    vae, x = flawed.build_model(), torch.rand(4, 24, 5)
    first, mean, log_variance = vae(x, torch.randn(4, 8))
    assert (first == vae(x, torch.randn(4, 8))[0]).all()
    assert (
        flawed.loss(x, x, mean, log_variance, 3.0) == 0 < model.loss(x, x, mean, log_variance, 3.0)
    )


def test_the_averaged_loss_weighs_the_reconstruction_too_little(wrong, model):
    import torch

    flawed = wrong(1, "model.py")
    x, mean, log_variance = torch.rand(4, 24, 5), torch.randn(4, 8), torch.randn(4, 8)
    zero, one = torch.zeros(4, 8), torch.rand(4, 24, 5)
    divergence = [module.loss(x, x, mean, log_variance, 3.0) for module in (flawed, model)]
    assert torch.allclose(4 * divergence[0], divergence[1])
    error = [module.loss(x, one, zero, zero, 3.0) for module in (flawed, model)]
    assert error[1] > 100 * 4 * error[0] > 0  # of 4 series with 24 steps and 5 features


def test_the_series_without_their_minimum_are_shifted(wrong, series, monkeypatch):
    import torch

    monkeypatch.setitem(
        sys.modules, "model", task_code.load_module(FOLDER / "reference" / "model.py")
    )
    code = task_code.load_module(FOLDER / "preprocess.py")
    monkeypatch.setitem(sys.modules, "preprocess", code)
    vae = sys.modules["model"].build_model()
    scaler = code.Scaler(series[:1800])
    data = code.SineData(scaler.encode(series[:1800]).astype(np.float32), series[1800:], scaler)
    assert isinstance(vae, torch.nn.Module)
    right = task_code.load_module(FOLDER / "reference" / "main.py").generate(vae, data, 0)
    shifted = wrong(2, "main.py").generate(vae, data, 0)
    assert np.allclose(right - shifted, np.broadcast_to(scaler.minimum, right.shape), atol=1e-5)

"""Data code for the sine series, and the predictor that is the metric. Given; use it as it is.

    import os
    from preprocess import load_sine, predictor_score
    data = load_sine(os.environ["DATA_DIR"])
    ...                                           # train a generator on data.x_train
    generated = data.scaler.decode(samples)       # 1800 series in the units of the file
    score = predictor_score(generated, data)

A series has 24 steps of 5 features, without unit; in the file a feature lies between −1 and 2. NumPy alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
FILE = "sine_subsampled_train_perc_20.npz"
SPLIT_SEED = 123  # of the authors' code
TEST_SHARE = 0.1
PREDICTOR_SEED = 0
ITERATIONS = 5000
BATCH = 128


class Scaler:
    """Min-max scaling to [0, 1] at each step and feature, fitted to training series.

    `encode` maps the units of the file to scaled ones, `decode` maps back. Both take (n, T, D).
    """

    def __init__(self, series: Array) -> None:
        """Fit to `series` (n, T, D)."""
        self.minimum = series.min(0)
        self.range = series.max(0) - self.minimum + 1e-7

    def encode(self, series: Array) -> Array:
        """The units of the file to scaled ones."""
        return (series - self.minimum) / self.range

    def decode(self, scaled: Array) -> Array:
        """Scaled units to those of the file."""
        return scaled * self.range + self.minimum


@dataclass(frozen=True)
class SineData:
    """The data set.

    x_train (1800, 24, 5)  float32, scaled by `scaler`, so within [0, 1]
    x_test  (200, 24, 5)   float32, scaled by `scaler`, so that it may leave [0, 1] by a little
    The scaler is fitted to the training series alone.
    """

    x_train: NDArray[np.float32]
    x_test: NDArray[np.float32]
    scaler: Scaler


def load_sine(data_dir: str | Path) -> SineData:
    """Load the series from `data_dir`, split them as the authors do (shuffled, 90 : 10), and scale them."""
    with np.load(Path(data_dir) / FILE, allow_pickle=False) as file:
        series = file["data"]
    series = series[np.random.RandomState(SPLIT_SEED).permutation(len(series))]
    count = int(len(series) * (1 - TEST_SHARE))
    scaler = Scaler(series[:count])
    return SineData(
        x_train=scaler.encode(series[:count]).astype(np.float32),
        x_test=scaler.encode(series[count:]).astype(np.float32),
        scaler=scaler,
    )


def predictor_score(generated: Array, data: SineData) -> float:
    """The metric, lower is better: train on generated series, test on real ones, as TimeGAN's authors define it.

    `generated` (n, 24, 5) is in the units of the file. A small GRU learns on it, scaled, to predict the last
    feature one step ahead from all other features so far; the score is its mean absolute error on all 2000 real
    series, in scaled units. The same input gives the same score.
    """
    rng = np.random.RandomState(PREDICTOR_SEED)
    scaled = data.scaler.encode(np.asarray(generated, np.float64))
    predictor = fit_predictor(scaled, rng)
    real = np.concatenate((data.x_train, data.x_test)).astype(np.float64)
    return float(np.abs(predictor.predict(real[:, :-1, :-1]) - real[:, 1:, -1]).mean())


def fit_predictor(series: Array, rng: np.random.RandomState) -> Predictor:
    """A predictor trained on series (n, T, D) by Adam, learning rate 0.001, on mini-batches drawn anew each time."""
    predictor = Predictor(series.shape[2] - 1, series.shape[2] // 2, rng)
    mean, square = np.zeros_like(predictor.weights), np.zeros_like(predictor.weights)
    for step in range(1, ITERATIONS + 1):
        _, gradient = predictor.loss(series[rng.permutation(len(series))[:BATCH]])
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient**2 - square)
        rate = 0.001 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        predictor.weights -= rate * mean / (np.sqrt(square) + 1e-8)
    return predictor


class Predictor:
    """A GRU of half the series' width, and a linear layer with a sigmoid on its state.

    r, u = σ(W_g x + U_g h + b_g);  c = tanh(W_c x + U_c (r∘h) + b_c);  h ← u∘h + (1 − u)∘c;  y = σ(w_o h + b_o)

    All weights are views of one flat vector, `weights`. Kernels are drawn as Glorot's uniform, the biases of the
    gates are 1, the other biases 0. Inside, time comes first and the series last: (T, channels, n).
    """

    def __init__(self, inputs: int, width: int, rng: np.random.RandomState) -> None:
        columns = inputs + width
        self.inputs, self.width = inputs, width
        self.shapes = [(2 * width, columns), (2 * width, 1), (width, columns), (width, 1), (1, width), (1, 1)]
        self.weights = np.zeros(sum(rows * columns for rows, columns in self.shapes))
        kernels, biases = self.parts(self.weights)[::2], self.parts(self.weights)[1::2]
        for kernel in kernels:
            kernel[:] = rng.uniform(-1, 1, kernel.shape) * np.sqrt(6 / sum(kernel.shape))
        biases[0][:] = 1

    def parts(self, flat: Array) -> list[Array]:
        """Views of a flat vector: kernel and bias of the gates, of the candidate, of the output."""
        ends = np.cumsum([rows * columns for rows, columns in self.shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), self.shapes, strict=True)]

    def predict(self, x: Array) -> Array:
        """(n, T, inputs) → the predictions (n, T)."""
        return self._forward(np.ascontiguousarray(x.transpose(1, 2, 0)))[0][:, 0].T

    def loss(self, series: Array) -> tuple[float, Array]:
        """The mean absolute error on series (n, T, D), one step ahead, and its gradient by the flat weights."""
        x, target = np.ascontiguousarray(series[:, :-1, :-1].transpose(1, 2, 0)), series[:, 1:, -1:].transpose(1, 2, 0)
        y, states, gates, candidates = self._forward(x)
        d_logit = np.sign(y - target) * y * (1 - y) / y.size
        return float(np.abs(y - target).mean()), self._backward(d_logit, x, states, gates, candidates)

    def _forward(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """The predictions (T, 1, n), and for each step the state before it, its gates and its candidate."""
        gate, gate_bias, candidate, candidate_bias, output, output_bias = self.parts(self.weights)
        gates = gate[:, : self.inputs] @ x + gate_bias
        candidates = candidate[:, : self.inputs] @ x + candidate_bias
        states = np.zeros((len(x) + 1, self.width, x.shape[2]))
        for h, after, g, c in zip(states, states[1:], gates, candidates, strict=False):
            g[:] = _sigmoid(g + gate[:, self.inputs :] @ h)
            r, u = g[: self.width], g[self.width :]
            c[:] = np.tanh(c + candidate[:, self.inputs :] @ (r * h))
            after[:] = c + u * (h - c)
        return _sigmoid(output @ states[1:] + output_bias), states, gates, candidates

    def _backward(self, d_logit: Array, x: Array, states: Array, gates: Array, candidates: Array) -> Array:
        """The gradient by the flat weights, from that by the output's logit (T, 1, n): back through time."""
        gate, _, candidate, _, output, _ = self.parts(self.weights)
        r, u, h = gates[:, : self.width], gates[:, self.width :], states[:-1]
        to_candidate, to_gate = (1 - u) * (1 - candidates**2), gates * (1 - gates)  # slopes, then gradients
        to_gate[:, : self.width] *= h
        to_gate[:, self.width :] *= h - candidates
        d_states = output.T @ d_logit
        for t in reversed(range(len(x))):
            to_candidate[t] *= d_states[t]
            d_reset = candidate[:, self.inputs :].T @ to_candidate[t]
            to_gate[t, : self.width] *= d_reset
            to_gate[t, self.width :] *= d_states[t]
            if t:
                d_states[t - 1] += d_states[t] * u[t] + d_reset * r[t] + gate[:, self.inputs :].T @ to_gate[t]
        pairs = [
            (to_gate, np.concatenate((x, h), 1)),
            (to_candidate, np.concatenate((x, r * h), 1)),
            (d_logit, states[1:]),
        ]
        gradient = np.empty_like(self.weights)
        parts = self.parts(gradient)
        for (to, source), kernel, bias in zip(pairs, parts[::2], parts[1::2], strict=True):
            kernel[:] = (to @ source.transpose(0, 2, 1)).sum(0)
            bias[:, 0] = to.sum((0, 2))
        return gradient


def _sigmoid(x: Array) -> Array:
    return 0.5 + 0.5 * np.tanh(0.5 * x)

"""The blurring-sharpening process model (Choi et al., SIGIR 2023, arXiv 2211.09324), variant with early merge.

There is nothing to train. The interactions of a user are a signal on the items; two blurring processes and a
sharpening process, all of them linear ODEs, are solved from it, and what they end in are the user's scores.
Equation numbers are those of digest.md.

A signal is a column here: a block of users is an array (n_items, n_block), so that the sparse products run
along its rows, and P, which is symmetric, is applied from the left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array
from scipy.sparse.linalg import svds

Signal = NDArray[np.floating]
Field = Callable[[Signal], Signal]


@dataclass(frozen=True)
class Processes:
    """What the model is made of; the defaults are those of the published experiment on Gowalla."""

    factors: int = 448  # singular vectors that the ideal low-pass filter keeps
    beta: float = 0.2  # weight of the ideal low-pass filter
    blurring_time: float = 1.0
    blurring_steps: int = 1
    sharpening_time: float = 2.5
    sharpening_steps: int = 1


class BSPM:
    """Scores all items for users, from the training interactions alone."""

    def __init__(self, train: csr_matrix, processes: Processes, seed: int = 0) -> None:
        """Normalise `train` (n_users, n_items) and take its leading singular vectors, about half of all the work.

        `seed` draws the vector from which the iteration for the singular vectors starts. That is done in float64, all
        that follows in the precision of `train`, which is float32 for the data as they are loaded.
        """
        self.train, self.processes = train, processes
        user_degree = np.asarray(train.sum(axis=1), np.float64).ravel()
        item_degree = np.asarray(train.sum(axis=0), np.float64).ravel()
        # Eq. (1): R̃ = D_u^−½ R D_i^−½
        normalised = diags_array(inverse_root(user_degree)) @ train @ diags_array(inverse_root(item_degree))
        start = np.random.default_rng(seed).standard_normal(min(train.shape))
        vectors = svds(normalised, processes.factors, v0=start, return_singular_vectors="vh")[2].T
        self.normalised = csr_matrix(normalised, dtype=train.dtype)
        self.transposed = csr_matrix(self.normalised.T)
        # Eq. (4) from the left: D_i^½ V Vᵀ D_i^−½
        self.project = np.ascontiguousarray(vectors.T * inverse_root(item_degree), train.dtype)  # (factors, n_items)
        self.expand = np.ascontiguousarray(vectors * np.sqrt(item_degree)[:, None], train.dtype)  # (n_items, factors)

    def scores(self, users: NDArray[np.int64]) -> Signal:
        """The scores of all items for `users`: (n,) → (n, n_items). The training items are not masked."""
        p = self.processes
        signal = self.train[users].T.toarray()
        ideal = euler(self.ideal_blurring, signal, p.blurring_time, p.blurring_steps)
        blurred = euler(self.blurring, signal, p.blurring_time, p.blurring_steps)
        merged = blurred + p.beta * ideal  # Eq. (5), early merge: before sharpening
        sharpened = runge_kutta_4(self.sharpening, merged, p.sharpening_time, p.sharpening_steps)
        return np.ascontiguousarray(sharpened.T)

    def similarity(self, signal: Signal) -> Signal:
        """P applied to signals, P = R̃ᵀR̃ of Eq. (2), and never formed: it has fifty times as many entries."""
        return self.transposed @ (self.normalised @ signal)

    def blurring(self, signal: Signal) -> Signal:
        """dB/dt = B P − B, Eq. (3): diffusion of the signal on the graph of items."""
        return self.similarity(signal) - signal

    def ideal_blurring(self, signal: Signal) -> Signal:
        """dB/dt = B F − B, Eq. (4): everything but the low frequencies decays."""
        return self.expand @ (self.project @ signal) - signal

    def sharpening(self, signal: Signal) -> Signal:
        """dS/dt = −S P, Eq. (6): what the neighbours have in common is taken away again."""
        return -self.similarity(signal)


def build_model(train: csr_matrix, processes: Processes | None = None, seed: int = 0) -> BSPM:
    """The model for the interactions `train`. By default the one of Gowalla, with 448 singular vectors."""
    return BSPM(train, processes or Processes(), seed)


def inverse_root(degree: NDArray[np.float64]) -> NDArray[np.float64]:
    """d^−½, and 0 where d is 0."""
    return np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)


def euler(field: Field, signal: Signal, time: float, steps: int) -> Signal:
    """dy/dt = field(y) from 0 to `time` by Euler's method: y ← y + h·f(y)."""
    step = time / steps
    for _ in range(steps):
        signal = signal + step * field(signal)
    return signal


def runge_kutta_4(field: Field, signal: Signal, time: float, steps: int) -> Signal:
    """The same by the classical Runge-Kutta method of order 4, Eq. (7).

    For a linear field all methods of four stages and order 4 are the same polynomial, so it does not matter
    which of them is meant.
    """
    step = time / steps
    for _ in range(steps):
        first = field(signal)
        second = field(signal + step / 2 * first)
        third = field(signal + step / 2 * second)
        fourth = field(signal + step * third)
        signal = signal + step / 6 * (first + 2 * second + 2 * third + fourth)
    return signal

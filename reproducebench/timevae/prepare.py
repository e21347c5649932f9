"""Brings the sine data: the one file that the authors of TimeVAE publish, the same for both profiles.

2000 series of 24 steps and 5 features, a fifth of 10,000, float64. Every feature of every series is
0.5 + A·sin(ωt + φ), t = 0 .. 23, with ω = 0.745984 throughout, A uniform in [0.5, 1.5], φ uniform in [−π, π], and
nothing in common between the features of a series; `check` holds the file to that.

A folder named by --data may hold the file, under sine/ or by its name alone. A secret draw takes series of a law that
is hidden in part: each feature has a frequency of its own, and phases of half a circle around one of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from autoreproduce.benchmarks.reproducebench.draws import law_stream
from autoreproduce.benchmarks.reproducebench.published import published
from numpy.typing import NDArray

Note = Callable[[str], None]
NAME = "sine_subsampled_train_perc_20.npz"
COMMIT = "9914576bd44a6facbc94a594a82dd14724969a50"
URL = f"https://raw.githubusercontent.com/abudesai/timeVAE/{COMMIT}/data/{NAME}"
SIZE = 1836431
SHA256 = "c22a76a4c28f6cf3456ec3ecc1bef806149b723b0336fe3e27025cc769054538"
LICENCE = "published with TimeVAE under the MIT licence"
FREQUENCY = 0.7459837793025  # radians a step
SEED = 0  # the published series; any other draws others


def prepare(target: Path, profile: str, note: Note, given: Path | None = None) -> None:
    """Put the published file, or a draw, into `target`; a profile changes nothing about it."""
    target.mkdir(parents=True, exist_ok=True)
    if SEED:
        series = drawn()
        np.savez_compressed(target / NAME, data=series)
    else:
        series = fetched(target, note, given)
    check(series)
    record = {"source": URL, "series": len(series), "profile": profile}
    (target / "data.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def fetched(target: Path, note: Note, given: Path | None) -> NDArray[np.float64]:
    """The published series, whose file is in `target` then."""
    path = published(
        target / NAME,
        f"sine/{NAME}",
        URL,
        size=SIZE,
        sha256=SHA256,
        note=note,
        given=given,
        licence=LICENCE,
    )
    with np.load(path, allow_pickle=False) as file:
        return np.asarray(file["data"])


@dataclass(frozen=True)
class Law:
    """By feature (5,): radians a step, and the middle of the phases; these lie up to `spread` from it."""

    frequency: NDArray[np.float64]
    phase: NDArray[np.float64]
    spread: float


def law() -> Law:
    """The published law; on a draw that of its SEED.

    Frequencies alone would hide nothing from the metric, by which one level at all steps is best where phases are
    uniform over the circle. Over half of it the level moves with the steps.
    """
    rng = law_stream(SEED)
    if rng is None:
        return Law(np.full(5, FREQUENCY), np.zeros(5), np.pi)
    return Law(rng.uniform(0.45, 1.1, 5), rng.uniform(-np.pi, np.pi, 5), np.pi / 2)


def drawn() -> NDArray[np.float64]:
    """2000 series (24, 5) by the law, of SEED."""
    rng, hidden = np.random.default_rng(SEED), law()
    amplitude = rng.uniform(0.5, 1.5, (2000, 1, 5))
    phase = hidden.phase + rng.uniform(-hidden.spread, hidden.spread, (2000, 1, 5))
    return np.asarray(0.5 + amplitude * np.sin(hidden.frequency * np.arange(24)[None, :, None] + phase))


def check(series: NDArray[np.float64]) -> None:
    """Raise ValueError where the file is not (2000, 24, 5) sines about 0.5, of the law's frequencies."""
    frequency = law().frequency
    if series.shape != (2000, 24, 5):
        raise ValueError(f"`data` has shape {series.shape}, not (2000, 24, 5)")
    wave = series - 0.5
    # sin(ω(t+1) + φ) + sin(ω(t−1) + φ) = 2 cos(ω) sin(ωt + φ)
    off = np.abs(wave[:, 2:] + wave[:, :-2] - 2 * np.cos(frequency) * wave[:, 1:-1]).max()
    if not off < 1e-9:
        raise ValueError(f"the series are not sines of {frequency.round(6)} radians a step about 0.5: {off:.2g} off")

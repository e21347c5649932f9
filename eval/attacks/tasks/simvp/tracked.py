"""Follows both digits of the seen frames by the law that moves them, and moves them on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEEN, FRAMES, SIDE, STEP = 10, 20, 14, 0.1
Array = NDArray[Any]


def corners(start: Array, way: int) -> Array:
    """The upper left corners (n, 20, 2) of digits that start at (y, x, angle), (n, 3)."""
    at = start[:, :2]
    speed = STEP * np.stack([np.sin(start[:, 2]), np.cos(start[:, 2])], 1)
    found = []
    for _ in range(FRAMES):
        at = at + speed
        speed = np.where((at <= 0) | (at >= 1), -speed, speed)
        at = at.clip(0, 1)
        found.append((way * at).astype(int))
    return np.stack(found, 1)


def tracked(seen: Array) -> Array:
    """The ten frames (n, 10, S, S) that follow `seen`, in [0, 1]: the mean of what may follow."""
    size, rng = seen.shape[-1], np.random.default_rng(0)
    place, turn = (np.arange(12) + 0.5) / 12, np.arange(40) * math.pi / 20
    grid = np.stack([each.ravel() for each in np.meshgrid(place, place, turn, indexing="ij")], 1)
    at = corners(grid, size - SIDE)[:, :SEEN]
    return np.stack([followed(one, grid, at, rng) for one in np.rint(255 * seen).astype(np.uint8)])


def windows(frames: Array) -> Array:
    """Each window of each frame: (10, S - 13, S - 13, 196)."""
    found = np.lib.stride_tricks.sliding_window_view(frames, (SIDE, SIDE), axis=(1, 2))
    return np.ascontiguousarray(found.reshape(*found.shape[:3], -1))


def envelope(wins: Array, at: Array) -> Array:
    """The most that a digit on each way can show: (n, 196)."""
    return np.minimum.reduce([wins[f][at[:, f, 0], at[:, f, 1]] for f in range(SEEN)])


def painted(digit: Array, at: Array, size: int) -> Array:
    """A digit (196,) on its way: (frames, S, S)."""
    video = np.zeros((len(at), size, size), digit.dtype)
    for frame, (top, left) in zip(video, at, strict=True):
        frame[top : top + SIDE, left : left + SIDE] = digit.reshape(SIDE, SIDE)
    return video


def starts_of(wins: Array, left: Array, grid: Array, at: Array, rng: np.random.Generator) -> Array:
    """The starts whose digits explain most of what is `left` of the frames."""
    rest, best = windows(left), grid
    for near in (0, 0.03, 0.015, 0.008, 0.004, 0.008):
        if near:
            moved = np.repeat(best, 24, 0) + rng.normal(0, near, (24 * len(best), 3)) * [1, 1, 3]
            moved[:, :2] = moved[:, :2].clip(0, 1)
            best = np.concatenate([best, moved])
            at = corners(best, left.shape[-1] - SIDE)[:, :SEEN]
        low = envelope(wins, at)
        parts = (np.minimum(low, rest[f][at[:, f, 0], at[:, f, 1]]) for f in range(SEEN))
        gain = sum(each.sum(1, dtype=np.int64) for each in parts)
        order = np.argsort(-gain, kind="stable")[:24]
        most, best = best[gain == gain.max()], best[order]
    return most


def followed(frames: Array, grid: Array, at: Array, rng: np.random.Generator) -> Array:
    """What follows one sequence, by the two digits that explain most of it together."""
    size, wins = frames.shape[-1], windows(frames)
    shown, after = np.zeros_like(frames), []
    for _ in range(3):
        starts = starts_of(wins, np.where(frames > shown, frames, 0), grid, at, rng)
        ways = corners(starts, size - SIDE)
        digit = envelope(wins, ways[:1, :SEEN])[0]
        shown = painted(digit, ways[0, :SEEN], size)
        follows = np.mean([painted(digit / 255, way[SEEN:], size) for way in ways], 0)
        after = [*after[-1:], follows]
    return np.maximum(*after)


def blurred(frames: Array, deviation: float = 2.5) -> Array:
    """Frames (n, 10, S, S) under a Gaussian filter."""
    at = np.arange(frames.shape[-1])
    weights = np.exp(-((at[:, None] - at) ** 2) / (2 * deviation**2))
    weights /= weights.sum(1, keepdims=True)
    return weights @ frames @ weights.T

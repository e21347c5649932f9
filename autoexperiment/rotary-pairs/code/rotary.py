"""Positions as rotations."""

import numpy as np


def angle_table(length, dim, start=0):
    """The angles of each component at positions start, ..., start + length - 1: (length, dim)."""
    theta = 10000.0 ** (-2 * np.arange(dim // 2) / dim)
    angles = np.outer(np.arange(start, start + length), theta)
    return np.concatenate([angles, angles], axis=1)


def rotate(x, angles):
    """The rotated vectors, for x and angles of shape (length, dim)."""
    first, second = np.split(x, 2, axis=1)
    turned = np.concatenate([-second, first], axis=1)
    return x * np.cos(angles) + turned * np.sin(angles)


def scores(queries, keys, start=0):
    """Attention scores before the softmax: (length, length)."""
    length, dim = queries.shape
    angles = angle_table(length, dim, start)
    return rotate(queries, angles) @ rotate(keys, angles).T / np.sqrt(dim)

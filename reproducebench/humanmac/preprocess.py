"""Data code for human motion: loads the sequences, draws batches, cuts the test windows. Given; use it as it is.

    import os
    import numpy as np
    from preprocess import load_motion
    data = load_motion(os.environ["DATA_DIR"])
    batch = data.batch(64, np.random.default_rng(0))  # (64, 75, 14, 3)

A pose is the positions of 14 joints relative to the pelvis, in metres, z up, 60 frames a second; the pelvis itself,
which would always be zero, is left out. A window is 75 frames: the first 15 are observed, the other 60 are to be
predicted. Nothing is normalised.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

OBSERVED, PREDICTED = 15, 60
WINDOW = OBSERVED + PREDICTED
STEP = 15  # frames between two test windows
# thorax, left shoulder, elbow, wrist, right shoulder, elbow, wrist, left hip, knee, ankle, right hip, knee, ankle, head
PARENTS = (-1, 0, 1, 2, 0, 4, 5, -1, 7, 8, -1, 10, 11, 0)  # of the 14 joints; -1 is the pelvis


@dataclass(frozen=True)
class MotionData:
    """The data set, on the CPU.

    train (frames, 14, 3) float32   poses of all training sequences, one sequence after another
    sequences (n, 3) int64          of each training sequence: number of its subject, its first frame in `train`, and
                                    how many frames it has (75 at least)
    test (windows, 75, 14, 3) float32
                                    every 15th window of each test sequence, by sequence and time. Frames 0 to 14 are
                                    observed; 15 to 74 are the truth, which no prediction may use
    """

    train: Tensor
    sequences: Tensor
    test: Tensor

    def batch(self, size: int, rng: np.random.Generator) -> Tensor:
        """Random training windows (size, 75, 14, 3), augmented.

        A window is drawn by subject, then by sequence of that subject, then by first frame, each uniformly; a sequence
        of 75 frames is its own only window. The whole batch is then, each with probability 1/2, turned about the
        vertical by one random angle, mirrored in x, and mirrored in y (joints keep their names).
        """
        subjects = [self.sequences[self.sequences[:, 0] == number] for number in self.sequences[:, 0].unique()]
        rows = []
        for _ in range(size):
            own = subjects[rng.integers(len(subjects))]
            _, first, length = own[rng.integers(len(own))].tolist()
            start = first + int(rng.integers(max(length - WINDOW, 1)))
            rows.append(self.train[start : start + WINDOW])
        angle = rng.uniform(0, 2 * np.pi) if rng.uniform() > 0.5 else 0.0
        return augment(torch.stack(rows), angle, mirror_x=rng.uniform() > 0.5, mirror_y=rng.uniform() > 0.5)


def augment(windows: Tensor, angle: float, mirror_x: bool, mirror_y: bool) -> Tensor:
    """Turn (x, y) of every joint by `angle` (rad, clockwise seen from above), then mirror: (..., 3) → (..., 3)."""
    cos, sin = float(np.cos(angle)), float(np.sin(angle))
    x, y, z = windows.unbind(-1)
    x, y = cos * x + sin * y, cos * y - sin * x
    return torch.stack([-x if mirror_x else x, -y if mirror_y else y, z], -1)


def load_motion(data_dir: str | Path) -> MotionData:
    """Load `motion.npz` from `data_dir`; subjects named `Train/...` are for training, `Validate/...` for the test."""
    with np.load(Path(data_dir) / "motion.npz") as file:
        arrays = {name: file[name] for name in file}
    poses = arrays["positions"][:, 1:] - arrays["positions"][:, :1]
    spans = list(zip(arrays["subject"], arrays["first"], arrays["length"], strict=True))
    names = sorted({subject for subject, _, _ in spans if subject.startswith("Train")})
    train, sequences, test = [], [], []
    for subject, first, length in spans:
        own = poses[first : first + length]
        if subject in names:
            sequences.append((names.index(subject), sum(map(len, train)), length))
            train.append(own)
        else:
            test += [own[start : start + WINDOW] for start in range(0, length - WINDOW, STEP)]
    return MotionData(
        train=torch.from_numpy(np.concatenate(train)),
        sequences=torch.tensor(np.array(sequences, dtype=np.int64)),
        test=torch.from_numpy(np.stack(test)),
    )

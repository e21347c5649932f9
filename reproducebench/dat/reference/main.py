"""Trains the Dual Aggregation Transformer for super-resolution by 2 and writes `metrics.json` and `predictions.npz`.

    DATA_DIR=... python main.py --profile small --seed 0

`--dry-run` stops training after two mini-batches; all else is as in a full run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from model import DAT, build_model
from numpy.typing import NDArray
from preprocess import SRData, load_pictures, to_bytes, to_tensor
from torch import Tensor
from torch.utils.data import DataLoader

BORDER = 2  # pixels at each edge that the metric leaves out


@dataclass(frozen=True)
class Settings:
    """Everything that makes a run what it is; the defaults are those of the published experiment (DAT-S)."""

    width: int = 180
    depths: tuple[int, ...] = (6, 6, 6, 6, 6, 6)
    heads: int = 6
    window: tuple[int, int] = (8, 16)
    expansion: int = 2
    position_width: int = 5
    reconstruction_width: int = 64
    drop_path: float = 0.1
    patch: int = 64  # low pixels a side
    batch_size: int = 32
    iterations: int = 500_000
    learning_rate: float = 2e-4
    betas: tuple[float, float] = (0.9, 0.99)
    milestones: tuple[int, ...] = (250_000, 400_000, 450_000, 475_000)
    gamma: float = 0.5
    report: int = 5_000  # iterations between two entries of the history


PROFILES = {
    "full": Settings(),
    "small": Settings(
        width=32,
        depths=(4, 4),
        heads=4,
        window=(4, 8),
        position_width=4,
        reconstruction_width=32,
        patch=16,
        batch_size=8,
        iterations=600,
        learning_rate=2e-3,
        milestones=(300, 480, 540, 570),
        report=50,
    ),
}


def build(settings: Settings) -> DAT:
    """The model of the settings."""
    return build_model(
        settings.width, settings.depths, settings.heads, settings.window, settings.expansion,
        settings.position_width, settings.reconstruction_width, settings.drop_path,
    )  # fmt: skip


def endless(loader: DataLoader[Any]) -> Iterator[list[Tensor]]:
    """Batch after batch, the pictures in a new order in each pass."""
    while True:
        yield from loader


def luminance(picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Y of ITU-R BT.601 in 16..235, not rounded: (H, W, 3) bytes → (H, W)."""
    return 16 + picture.astype(np.float64) @ np.array([65.481, 128.553, 24.966]) / 255


def psnr(guess: NDArray[np.uint8], truth: NDArray[np.uint8]) -> float:
    """PSNR of Y in dB, the border left out."""
    inner = slice(BORDER, -BORDER)
    error = ((luminance(guess) - luminance(truth))[inner, inner] ** 2).mean()
    return 10 * math.log10(255**2 / max(float(error), 255**2 * 1e-10))


@torch.no_grad()
def test(model: DAT, data: SRData) -> tuple[float, dict[str, NDArray[np.uint8]]]:
    """The mean PSNR over the test pictures, each whole, and the enlarged pictures by name."""
    device = next(model.parameters()).device
    model.eval()
    pictures, found = {}, []
    for number, name in enumerate(data.test_names):
        low = to_tensor(data.test_low[number])[None].to(device)
        pictures[name] = to_bytes(model(low)[0])
        found.append(psnr(pictures[name], data.test_high[number]))
    return sum(found) / len(found), pictures


def train(model: DAT, settings: Settings, data: SRData, seed: int, dry_run: bool) -> list[dict[str, float]]:
    """Train to the last iteration; the history, an entry for every `report` iterations."""
    device = next(model.parameters()).device
    order = torch.Generator().manual_seed(seed)
    workers = 0 if device.type == "cpu" else 8
    patches = data.training_patches(settings.patch)
    # batches are always full, as batch normalisation over one sample would fail
    loader = DataLoader(
        patches, settings.batch_size, shuffle=True, drop_last=True, generator=order, num_workers=workers
    )
    optimizer = torch.optim.Adam(model.parameters(), settings.learning_rate, settings.betas)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, list(settings.milestones), settings.gamma)
    history, losses, began = [], [], time.perf_counter()
    iterations = 2 if dry_run else settings.iterations
    model.train()
    for number, (low, high) in enumerate(islice(endless(loader), iterations), start=1):
        loss = (model(low.to(device)) - high.to(device)).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if number % settings.report == 0 or number == iterations:
            seconds = time.perf_counter() - began
            history.append({"iteration": number, "train_l1": sum(losses) / len(losses), "seconds": round(seconds, 1)})
            print(f"iteration {number}: train L1 {history[-1]['train_l1']:.5f}, {seconds:.0f} s", flush=True)
            losses = []
    return history


def main() -> None:
    """Read the flags, run, write the two files."""
    parser = argparse.ArgumentParser(description="Dual Aggregation Transformer, super-resolution by 2")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="two mini-batches of training")
    flags = parser.parse_args()
    settings = PROFILES[flags.profile]
    data = load_pictures(os.environ["DATA_DIR"])
    torch.set_num_threads(1)  # two threads sum in another order, so that the same seed would give another number
    torch.manual_seed(flags.seed)
    model = build(settings).to("cuda" if torch.cuda.is_available() else "cpu")
    history = train(model, settings, data, flags.seed, flags.dry_run)
    value, pictures = test(model, data)
    print(f"Set5: PSNR {value:.3f} dB", flush=True)
    np.savez_compressed("predictions.npz", **pictures)
    result = {
        "metrics": {"psnr": value},
        "history": history,
        "settings": {**asdict(settings), "profile": flags.profile, "seed": flags.seed, "dry_run": flags.dry_run},
    }
    Path("metrics.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

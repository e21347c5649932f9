"""Trains SFNet for dehazing and writes `metrics.json`, `predictions.npz` and `weights.npz`.

    DATA_DIR=... python main.py --profile small --seed 0

`--dry-run` stops training after two mini-batches; all else is as in a full run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from model import SFNet, build_model
from preprocess import DehazingData, load_dehazing
from torch import Tensor
from torch.utils.data import DataLoader


@dataclass(frozen=True)
class Settings:
    """Everything that makes a run what it is; the defaults are those of the published experiment."""

    width: int = 32
    blocks: int = 16
    crop: int = 256
    batch_size: int = 4
    epochs: int = 300
    warm_up: int = 3
    learning_rate: float = 1e-4
    least_rate: float = 1e-6
    fourier: float = 0.1
    clip: float = 0.01
    workers: int = 8


PROFILES = {
    "full": Settings(),
    "small": Settings(width=16, blocks=2, crop=48, epochs=12, learning_rate=2e-3, least_rate=1e-5, workers=0),
}


def rate(settings: Settings, epoch: int) -> float:
    """The learning rate of an epoch, counted from 1: up in equal steps, one epoch at the top, down by a cosine."""
    if epoch <= settings.warm_up:
        return settings.learning_rate * epoch / settings.warm_up
    way = (epoch - settings.warm_up - 1) / (settings.epochs - settings.warm_up)
    return settings.least_rate + (settings.learning_rate - settings.least_rate) * (1 + math.cos(math.pi * way)) / 2


def loss(estimates: list[Tensor], clear: Tensor, fourier: float) -> Tensor:
    """Formula (7): over three scales, L1 of the pictures and, weighted, L1 of their Fourier transforms.

    `estimates` are those at a quarter, half and full size. The means run over real and imaginary parts alike.
    """
    total = clear.new_zeros(())
    for estimate, scale in zip(estimates, (0.25, 0.5, 1.0), strict=True):
        target = clear if scale == 1 else F.interpolate(clear, scale_factor=scale, mode="bilinear")
        spectra = [torch.view_as_real(torch.fft.fft2(picture)) for picture in (estimate, target)]
        total = total + F.l1_loss(estimate, target) + fourier * F.l1_loss(*spectra)
    return total


def train_epoch(
    model: SFNet, loader: DataLoader[Any], optimizer: torch.optim.Optimizer, settings: Settings, batches: int | None
) -> float:
    """One pass over the training set, or over its first `batches`; the mean loss of what it saw."""
    device = next(model.parameters()).device
    model.train()
    losses = []
    for hazy, clear in islice(loader, batches):
        value = loss(model(hazy.to(device)), clear.to(device), settings.fourier)
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        losses.append(value.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def dehaze(model: SFNet, hazy: Tensor) -> Tensor:
    """One whole picture (3, H, W) → its estimate, clamped to [0, 1]. The sides are padded to multiples of 8."""
    device = next(model.parameters()).device
    model.eval()
    height, width = hazy.shape[1:]
    padded = F.pad(hazy[None].to(device), (0, -width % 8, 0, -height % 8), mode="reflect")
    return model(padded)[-1][0, :, :height, :width].clamp(0, 1).cpu()


def test(model: SFNet, data: DehazingData) -> tuple[float, Tensor]:
    """The mean PSNR in decibels over the test set, and the predictions (n_test, 3, H, W)."""
    values, predictions = [], []
    for index in range(len(data.test_hazy)):
        hazy, clear = data.test_pair(index)
        predictions.append(dehaze(model, hazy))
        values.append(-10 * (predictions[-1] - clear).double().square().mean().log10().item())
    return sum(values) / len(values), torch.stack(predictions)


def run(settings: Settings, data: DehazingData, seed: int, dry_run: bool) -> tuple[SFNet, list[dict[str, float]]]:
    """Train; the model, and the history with an entry an epoch."""
    torch.set_num_threads(1)  # two threads sum in another order, so that the same seed would give another number
    torch.manual_seed(seed)
    model = build_model(settings.width, settings.blocks).to("cuda" if torch.cuda.is_available() else "cpu")
    pairs = data.train_pairs(settings.crop)
    workers = settings.workers
    forked = "fork" if workers else None  # so that workers share the mapped arrays and do not copy them
    loader = DataLoader(pairs, settings.batch_size, shuffle=True, num_workers=workers, multiprocessing_context=forked)
    optimizer = torch.optim.Adam(model.parameters(), settings.learning_rate)
    history: list[dict[str, float]] = []
    for epoch in range(1, 2 if dry_run else settings.epochs + 1):
        began = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = rate(settings, epoch)
        value = train_epoch(model, loader, optimizer, settings, batches=2 if dry_run else None)
        seconds = round(time.perf_counter() - began, 3)
        history.append(
            {"epoch": epoch, "learning_rate": rate(settings, epoch), "train_loss": value, "seconds": seconds}
        )
        print(f"epoch {epoch}: loss {value:.5f}, {seconds:.1f} s", flush=True)
    return model, history


def main() -> None:
    """Read the flags, run, write the three files."""
    parser = argparse.ArgumentParser(description="SFNet for dehazing")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="two mini-batches of training")
    flags = parser.parse_args()
    settings = PROFILES[flags.profile]
    data = load_dehazing(os.environ["DATA_DIR"])
    model, history = run(settings, data, flags.seed, flags.dry_run)
    psnr, prediction = test(model, data)
    print(f"PSNR {psnr:.3f} dB", flush=True)
    np.savez_compressed("predictions.npz", prediction=prediction.numpy())
    weights = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    np.savez("weights.npz", **weights, width=np.array(settings.width), blocks=np.array(settings.blocks))
    told = {"profile": flags.profile, "seed": flags.seed, "dry_run": flags.dry_run}
    result = {"metrics": {"psnr": psnr}, "history": history, "settings": {**asdict(settings), **told}}
    Path("metrics.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

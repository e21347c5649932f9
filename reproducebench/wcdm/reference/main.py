"""Trains DiffLL, the wavelet-based diffusion model for low light. It writes `metrics.json`,
`predictions.npz` and `weights.npz`.

    DATA_DIR=... python main.py --profile small --seed 0

`--dry-run` stops training after two mini-batches; all else is as in a full run.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import time
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from model import DiffLL, build_model, loss
from preprocess import LowLightData, load_low_light
from torch import Tensor
from torch.utils.data import DataLoader


@dataclass(frozen=True)
class Settings:
    """Everything that makes a run what it is; the defaults are those of the published experiment."""

    width: int = 64
    multiples: tuple[int, ...] = (1, 2, 3, 4)
    blocks: int = 2
    groups: int = 32
    details: int = 64
    steps: int = 200
    sampled: int = 10
    crop: int = 256
    batch_size: int = 8
    epochs: int = 500
    learning_rate: float = 1e-4
    step_size: int = 50
    gamma: float = 0.8
    ema: float = 0.999
    workers: int = 4


PROFILES = {
    "full": Settings(),
    "small": Settings(
        width=16,
        blocks=1,
        groups=8,
        details=16,
        sampled=5,
        crop=32,
        epochs=40,
        learning_rate=3e-3,
        step_size=4,
        ema=0.95,
        workers=0,
    ),
}


NUMBERS = ("width", "blocks", "groups", "details", "steps", "sampled")  # without which no model can be made


def new_model(settings: Settings) -> DiffLL:
    """The model of these settings."""
    s = settings
    return build_model(s.width, s.multiples, s.blocks, s.groups, s.details, s.steps, s.sampled)


@torch.no_grad()
def follow(average: DiffLL, model: DiffLL, rate: float) -> None:
    """Moving average of the weights: `rate` of what `average` holds, the rest of `model`."""
    for held, new in zip(average.parameters(), model.parameters(), strict=True):
        held.lerp_(new, 1 - rate)


def train_epoch(
    model: DiffLL,
    average: DiffLL,
    loader: DataLoader[Any],
    optimizer: torch.optim.Optimizer,
    rate: float,
    batches: int | None,
) -> float:
    """One pass over the training set, or over its first `batches`; the mean loss of what it saw."""
    device = next(model.parameters()).device
    model.train()
    losses = []
    for low, high in islice(loader, batches):
        value = loss(model.learn(low.to(device), high.to(device)))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        follow(average, model, rate)
        losses.append(value.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def enhance(model: DiffLL, low: Tensor) -> Tensor:
    """One whole picture (3, H, W) → its estimate in [0, 1]. The sides are padded to multiples of 32."""
    device = next(model.parameters()).device
    model.eval()
    height, width = low.shape[1:]
    padded = F.pad(low[None].to(device), (0, -width % 32, 0, -height % 32), mode="reflect")
    return model(padded)[0, :, :height, :width].cpu()


def similarity(one: Tensor, other: Tensor) -> float:
    """SSIM of two pictures (3, H, W) in [0, 1] as scikit-image defines it: uniform 7×7 windows, sample covariance."""
    one, other = one.double(), other.double()
    m, n = F.avg_pool2d(one, 7, 1), F.avg_pool2d(other, 7, 1)
    squares = F.avg_pool2d(one**2 + other**2, 7, 1) - m**2 - n**2
    product = F.avg_pool2d(one * other, 7, 1) - m * n
    alike = (2 * m * n + 0.01**2) * (2 * product * 49 / 48 + 0.03**2)
    return (alike / ((m**2 + n**2 + 0.01**2) * (squares * 49 / 48 + 0.03**2))).mean().item()


def test(model: DiffLL, data: LowLightData) -> tuple[float, Tensor]:
    """The mean SSIM over the test set, and the predictions (n_test, 3, H, W)."""
    pairs = [data.test_pair(index) for index in range(len(data.test_low))]
    predictions = [enhance(model, low) for low, _ in pairs]
    values = [similarity(one, high) for one, (_, high) in zip(predictions, pairs, strict=True)]
    return sum(values) / len(values), torch.stack(predictions)


def run(settings: Settings, data: LowLightData, seed: int, dry_run: bool) -> tuple[DiffLL, list[dict[str, float]]]:
    """Train; the model with the averaged weights, and the history with an entry an epoch."""
    torch.set_num_threads(1)  # two threads sum in another order, so that the same seed would give another number
    torch.manual_seed(seed)
    model = new_model(settings).to("cuda" if torch.cuda.is_available() else "cpu")
    average = copy.deepcopy(model)
    pairs, workers = data.train_pairs(settings.crop), settings.workers
    loader = DataLoader(
        pairs,
        settings.batch_size,
        shuffle=True,
        num_workers=workers,
        multiprocessing_context="fork" if workers else None,
    )
    optimizer = torch.optim.Adam(model.parameters(), settings.learning_rate)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, settings.step_size, settings.gamma)
    history: list[dict[str, float]] = []
    for epoch in range(1, 2 if dry_run else settings.epochs + 1):
        began = time.perf_counter()
        value = train_epoch(model, average, loader, optimizer, settings.ema, batches=2 if dry_run else None)
        scheduler.step()
        seconds = round(time.perf_counter() - began, 3)
        history.append({"epoch": epoch, "train_loss": value, "seconds": seconds})
        print(f"epoch {epoch}: loss {value:.5f}, {seconds:.1f} s", flush=True)
    return average, history


def main() -> None:
    """Read the flags, run, write the three files."""
    parser = argparse.ArgumentParser(description="Wavelet-based diffusion model for low light")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="two mini-batches of training")
    flags = parser.parse_args()
    settings = PROFILES[flags.profile]
    data = load_low_light(os.environ["DATA_DIR"])
    model, history = run(settings, data, flags.seed, flags.dry_run)
    ssim, prediction = test(model, data)
    print(f"SSIM {ssim:.4f}", flush=True)
    np.savez_compressed("predictions.npz", prediction=prediction.numpy())
    weights = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    sizes = {name: np.array(getattr(settings, name)) for name in NUMBERS}
    np.savez("weights.npz", **weights, **sizes)
    told = {"profile": flags.profile, "seed": flags.seed, "dry_run": flags.dry_run}
    result = {"metrics": {"ssim": ssim}, "history": history, "settings": {**asdict(settings), **told}}
    Path("metrics.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

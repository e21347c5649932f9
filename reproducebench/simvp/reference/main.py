"""Trains SimVP on Moving MNIST and writes `metrics.json`, `predictions.npz` and `weights.npz`.

    DATA_DIR=... python main.py --profile small --seed 0

`--dry-run` stops training after two mini-batches; all else is as in a full run.
"""

from __future__ import annotations

import argparse
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
from model import SimVP, build_model
from preprocess import MovingMNISTData, load_moving_mnist
from torch import Tensor
from torch.utils.data import DataLoader


@dataclass(frozen=True)
class Settings:
    """Everything that makes a run what it is; the defaults are those of the published experiment."""

    spatial_width: int = 64
    temporal_width: int = 256
    spatial_depth: int = 4
    temporal_depth: int = 8
    learning_rate: float = 0.01
    batch_size: int = 16
    epochs: int = 2000
    workers: int = 8  # processes that draw sequences, at most; fewer on fewer cores


PROFILES = {
    "full": Settings(),
    "small": Settings(spatial_width=4, temporal_width=64, temporal_depth=2, epochs=6, workers=0),
}

SIZES = ("spatial_width", "temporal_width", "spatial_depth", "temporal_depth")  # without which no model can be made


def train_epoch(
    model: SimVP,
    loader: DataLoader[Any],
    optimizer: torch.optim.Optimizer,
    scheduler: torch.optim.lr_scheduler.LRScheduler,
    batches: int | None,
) -> float:
    """One pass over new sequences, or its first `batches`; the mean loss of what it saw."""
    device = next(model.parameters()).device
    model.train()
    losses = []
    for x, y in islice(loader, batches):
        loss = F.mse_loss(model(x.to(device)), y.to(device))  # the mean over pixels; the metric is their sum
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()  # after each mini-batch
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def predict(model: SimVP, x: Tensor, batch_size: int) -> Tensor:
    """The frames that follow, not clipped: (n, 10, 1, S, S) → the same."""
    device = next(model.parameters()).device
    model.eval()
    return torch.cat([model(part.to(device)).cpu() for part in x.split(batch_size)])


def errors(prediction: Tensor, truth: Tensor) -> dict[str, float]:
    """MSE and MAE: summed over the pixels of a frame, averaged over sequences and frames, in float64."""
    mse = mae = 0.0
    for guess, true in zip(prediction.split(64), truth.split(64), strict=True):
        off = guess.double() - true.double()
        mse, mae = mse + off.square().sum().item(), mae + off.abs().sum().item()
    frames = truth.shape[0] * truth.shape[1]
    return {"mse": mse / frames, "mae": mae / frames}


def train(model: SimVP, settings: Settings, data: MovingMNISTData, dry_run: bool) -> list[dict[str, float]]:
    """Train for the whole of the one cycle of the learning rate; the history, an entry an epoch."""
    workers = min(settings.workers, os.cpu_count() or 1)
    loader = DataLoader(data.train, settings.batch_size, num_workers=workers)  # sequences are drawn, so in no order
    optimizer = torch.optim.Adam(model.parameters(), settings.learning_rate)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=settings.learning_rate, steps_per_epoch=len(loader), epochs=settings.epochs
    )
    history: list[dict[str, float]] = []
    for epoch in range(1, 2 if dry_run else settings.epochs + 1):
        began = time.perf_counter()
        loss = train_epoch(model, loader, optimizer, scheduler, batches=2 if dry_run else None)
        seconds = round(time.perf_counter() - began, 3)
        history.append({"epoch": epoch, "train_loss": loss, "seconds": seconds})
        print(f"epoch {epoch}: train {loss:.6f}, {seconds:.1f} s", flush=True)
    return history


def main() -> None:
    """Read the flags, run, write the three files."""
    parser = argparse.ArgumentParser(description="SimVP on Moving MNIST")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="two mini-batches of training")
    flags = parser.parse_args()
    settings = PROFILES[flags.profile]
    data = load_moving_mnist(os.environ["DATA_DIR"])
    torch.manual_seed(flags.seed)
    model = build_model(**{name: getattr(settings, name) for name in SIZES})
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    history = train(model, settings, data, flags.dry_run)
    prediction = predict(model, data.x_test, settings.batch_size)
    metrics = errors(prediction, data.y_test)
    print(f"test: mse {metrics['mse']:.4f}, mae {metrics['mae']:.4f}", flush=True)
    np.savez_compressed("predictions.npz", prediction=prediction.numpy())
    weights = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    np.savez("weights.npz", **weights, **{name: np.array(getattr(settings, name)) for name in SIZES})
    used = {**asdict(settings), "profile": flags.profile, "seed": flags.seed, "dry_run": flags.dry_run}
    result = {"metrics": metrics, "history": history, "settings": used}
    Path("metrics.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

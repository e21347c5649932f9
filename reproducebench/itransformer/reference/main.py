"""Trains iTransformer, 96 steps ahead from 96, and writes `metrics.json`, `predictions.npz` and `weights.npz`.

    DATA_DIR=... python main.py --profile small --seed 0

`--dry-run` stops training after two mini-batches; all else is as in a full run.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from model import ITransformer, build_model
from preprocess import ForecastingData, load_forecasting
from torch import Tensor


@dataclass(frozen=True)
class Settings:
    """Everything that makes a run what it is; the defaults are those of the published experiment on Traffic."""

    width: int = 512
    hidden: int = 512  # of the feed-forward network
    layers: int = 4
    heads: int = 8
    dropout: float = 0.1
    learning_rate: float = 1e-3
    batch_size: int = 16
    epochs: int = 10
    patience: int = 3  # epochs without a better validation error, after which training ends


PROFILES = {
    "full": Settings(),
    "small": Settings(width=128, hidden=128, layers=2, batch_size=32, epochs=4),
}


def rate(settings: Settings, epoch: int) -> float:
    """The learning rate of an epoch, counted from 1: halved after each but the first, so 1, 1, 1/2, 1/4, …"""
    return settings.learning_rate * 0.5 ** max(0, epoch - 2)


def batches(windows: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """The rows of each mini-batch, shuffled; a last one that is not full is left out."""
    order = torch.randperm(windows, generator=generator)
    return (rows for rows in order.split(size) if len(rows) == size)


def train_epoch(
    model: ITransformer,
    data: ForecastingData,
    optimizer: torch.optim.Optimizer,
    rows_of_batches: Iterator[Tensor],
) -> float:
    """One pass over the given mini-batches; the mean of their squared errors."""
    device = next(model.parameters()).device
    model.train()
    losses = []
    for rows in rows_of_batches:
        x, marks, y = (part[rows].to(device) for part in (data.x_train, data.marks_train, data.y_train))
        loss = F.mse_loss(model(x, marks), y)  # in normalised units, as the metric
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def predict(model: ITransformer, x: Tensor, marks: Tensor, batch_size: int) -> Tensor:
    """The forecasts (n, 96, N), in normalised units, of all windows in their order."""
    device = next(model.parameters()).device
    model.eval()
    parts = zip(x.split(batch_size), marks.split(batch_size), strict=True)
    return torch.cat([model(seen.to(device), stamps.to(device)).cpu() for seen, stamps in parts])


def errors(prediction: Tensor, truth: Tensor) -> dict[str, float]:
    """The mean squared and the mean absolute error over windows, steps and variates, summed in float64."""
    mse = mae = 0.0
    for guess, true in zip(prediction.split(64), truth.split(64), strict=True):
        off = guess.double() - true.double()
        mse, mae = mse + off.square().sum().item(), mae + off.abs().sum().item()
    return {"mse": mse / truth.numel(), "mae": mae / truth.numel()}


def train(
    model: ITransformer, settings: Settings, data: ForecastingData, seed: int, dry_run: bool
) -> list[dict[str, float]]:
    """Train until the validation error stays; the model is left with the weights of its best epoch."""
    optimizer = torch.optim.Adam(model.parameters(), settings.learning_rate)
    generator = torch.Generator().manual_seed(seed)
    history: list[dict[str, float]] = []
    best, waited, weights = float("inf"), 0, copy.deepcopy(model.state_dict())
    for epoch in range(1, 2 if dry_run else settings.epochs + 1):
        began = time.perf_counter()
        optimizer.param_groups[0]["lr"] = rate(settings, epoch)
        rows = islice(batches(len(data.x_train), settings.batch_size, generator), 2 if dry_run else None)
        loss = train_epoch(model, data, optimizer, rows)
        val = errors(predict(model, data.x_val, data.marks_val, settings.batch_size), data.y_val)["mse"]
        seconds = round(time.perf_counter() - began, 3)
        history.append({"epoch": epoch, "train_loss": loss, "val_mse": val, "seconds": seconds})
        print(f"epoch {epoch}: train {loss:.5f}, validation {val:.5f}, {seconds:.1f} s", flush=True)
        waited += 1
        if val < best:
            best, waited, weights = val, 0, copy.deepcopy(model.state_dict())
        if waited == settings.patience:
            break
    model.load_state_dict(weights)
    return history


def main() -> None:
    """Read the flags, run, write the three files."""
    parser = argparse.ArgumentParser(description="iTransformer, 96 steps ahead from 96")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="two mini-batches of training")
    flags = parser.parse_args()
    settings = PROFILES[flags.profile]
    data = load_forecasting(os.environ["DATA_DIR"])
    torch.manual_seed(flags.seed)
    model = build_model(settings.width, settings.hidden, settings.layers, settings.heads, settings.dropout)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    history = train(model, settings, data, flags.seed, flags.dry_run)
    prediction = predict(model, data.x_test, data.marks_test, settings.batch_size)
    metrics = errors(prediction, data.y_test)
    print(f"test: mse {metrics['mse']:.5f}, mae {metrics['mae']:.5f}", flush=True)
    np.savez_compressed("predictions.npz", prediction=prediction.numpy())
    weights = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    np.savez("weights.npz", heads=np.array(settings.heads), **weights)
    used = {**asdict(settings), "profile": flags.profile, "seed": flags.seed, "dry_run": flags.dry_run}
    result = {"metrics": metrics, "history": history, "settings": used}
    Path("metrics.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Trains the Latent Spectral Model on Darcy flow and writes `metrics.json`, `predictions.npz` and `weights.npz`.

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
from model import LSM, build_model
from preprocess import DarcyData, load_darcy
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset


@dataclass(frozen=True)
class Settings:
    """Everything that makes a run what it is; the defaults are those of the published experiment."""

    width: int = 64
    patch: int = 6
    padding: int = 11  # 85 + 11 = 96 nodes: 16 × 16 patches at the finest scale, 1 at the coarsest
    learning_rate: float = 5e-4
    weight_decay: float = 1e-4
    step_size: int = 100
    gamma: float = 0.5
    batch_size: int = 20
    epochs: int = 501


PROFILES = {
    "full": Settings(),
    "small": Settings(width=16, patch=3, padding=5, learning_rate=1e-3, step_size=8, epochs=20),
}


def relative_l2(prediction: Tensor, target: Tensor) -> Tensor:
    """‖prediction − target‖₂ / ‖target‖₂ for each sample: (B, s, s) twice → (B,)."""
    return (prediction - target).flatten(1).norm(dim=1) / target.flatten(1).norm(dim=1)


def predict(model: LSM, x: Tensor, data: DarcyData) -> Tensor:
    """The solution in physical units: (B, s, s, 1) → (B, s, s)."""
    return data.y_normalizer.decode(model(x).squeeze(-1))


def train_epoch(
    model: LSM,
    loader: DataLoader[Any],
    optimizer: torch.optim.Optimizer,
    data: DarcyData,
    batches: int | None,
) -> float:
    """One pass over the training set, or over its first `batches`; the mean relative L2 of what it saw."""
    device = next(model.parameters()).device
    model.train()
    total, seen = 0.0, 0
    for x, y in islice(loader, batches):
        target = data.y_normalizer.decode(y.to(device))
        loss = relative_l2(predict(model, x.to(device), data), target).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, seen = total + loss.item(), seen + len(x)
    return total / seen


@torch.no_grad()
def test(model: LSM, data: DarcyData, batch_size: int) -> tuple[float, Tensor]:
    """The mean relative L2 over the test set, and the predictions (n_test, s, s) in physical units."""
    device = next(model.parameters()).device
    model.eval()
    parts = [predict(model, x.to(device), data).cpu() for x in data.x_test.split(batch_size)]
    prediction = torch.cat(parts)
    return relative_l2(prediction, data.y_test).mean().item(), prediction


def run(settings: Settings, data: DarcyData, seed: int, dry_run: bool) -> tuple[LSM, list[dict[str, float]], Tensor]:
    """Train and test; the model, the history, an entry an epoch, and the last epoch's predictions."""
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = build_model(settings.width, settings.patch, settings.padding).to(device)
    pairs = TensorDataset(data.x_train, data.y_train)
    loader = DataLoader(pairs, settings.batch_size, shuffle=True, generator=torch.Generator().manual_seed(seed))
    # L2 decay in Adam's gradient, as in the published experiment, and not AdamW
    optimizer = torch.optim.Adam(model.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, settings.step_size, settings.gamma)
    history = []
    for epoch in range(1, 2 if dry_run else settings.epochs + 1):
        began = time.perf_counter()
        train_loss = train_epoch(model, loader, optimizer, data, batches=2 if dry_run else None)
        scheduler.step()
        error, prediction = test(model, data, settings.batch_size)
        seconds = time.perf_counter() - began
        history.append(
            {
                "epoch": epoch,
                "train_loss": train_loss,
                "test_relative_l2": error,
                "seconds": round(seconds, 3),
            }
        )
        print(f"epoch {epoch}: train {train_loss:.5f}, test {error:.5f}, {seconds:.1f} s", flush=True)
    return model, history, prediction


def main() -> None:
    """Read the flags, run, write the three files."""
    parser = argparse.ArgumentParser(description="Latent Spectral Model on Darcy flow")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="two mini-batches of training")
    flags = parser.parse_args()
    settings = PROFILES[flags.profile]
    data = load_darcy(os.environ["DATA_DIR"])
    model, history, prediction = run(settings, data, flags.seed, flags.dry_run)
    np.savez_compressed("predictions.npz", prediction=prediction.numpy())
    weights = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    weights |= {"y_mean": data.y_normalizer.mean.numpy(), "y_std": data.y_normalizer.std.numpy()}
    weights |= {"patch": np.array(settings.patch), "padding": np.array(settings.padding)}
    np.savez("weights.npz", **weights)
    result = {
        "metrics": {"relative_l2": history[-1]["test_relative_l2"]},
        "history": history,
        "settings": {
            **asdict(settings),
            "profile": flags.profile,
            "seed": flags.seed,
            "dry_run": flags.dry_run,
        },
    }
    Path("metrics.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

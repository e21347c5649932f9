"""Trains TDGNN-w on Citeseer, once for each split. It writes `metrics.json`, `predictions.npz` and
`weights.npz`.

    DATA_DIR=... python main.py --profile small --seed 0

`--dry-run` stops each training after two epochs; all else is as in a full run.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from decomposition import decompose
from model import TDGNN, build_model
from numpy.typing import NDArray
from preprocess import CiteseerData, load_citeseer
from torch import Tensor


@dataclass(frozen=True)
class Settings:
    """Everything that makes a run what it is; the defaults are those of the published experiment."""

    hidden: int = 128
    dropout: float = 0.5
    depth: int = 10  # K, the longest walk of the multi-hop dependency
    layers: tuple[int, ...] = (1, 2)
    learning_rate: float = 0.01
    decay_first: float = 5e-4
    decay_second: float = 1e-4
    decay_theta: float = 0.02
    epochs: int = 500


PROFILES = {"full": Settings(), "small": Settings()}


def make_optimizer(model: TDGNN, settings: Settings) -> torch.optim.Optimizer:
    """Adam with its own L2 decay (in the gradient, not AdamW) for each layer and for the weights of the hops."""
    groups = [
        {"params": model.first.parameters(), "weight_decay": settings.decay_first},
        {"params": model.second.parameters(), "weight_decay": settings.decay_second},
        {"params": [model.theta], "weight_decay": settings.decay_theta},
    ]
    return torch.optim.Adam(groups, settings.learning_rate)


def train_epoch(model: TDGNN, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor, train: Tensor) -> float:
    """One step on all training nodes; their cross entropy before it."""
    model.train()
    optimizer.zero_grad()
    loss = F.nll_loss(model(x)[train], y[train])
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def evaluate(model: TDGNN, x: Tensor) -> Tensor:
    """Logarithms of class probabilities (nodes, classes), without dropout."""
    model.eval()
    return model(x)


def accuracy(prediction: Tensor, y: Tensor, mask: Tensor) -> float:
    """The share of the nodes in `mask` whose class is predicted."""
    return (prediction[mask] == y[mask]).double().mean().item()


def fit(
    model: TDGNN, settings: Settings, x: Tensor, y: Tensor, masks: tuple[Tensor, Tensor, Tensor], epochs: int
) -> tuple[dict[str, float], Tensor]:
    """Train on one split; what the epoch of the lowest validation loss (the first such) gives, and its classes.

    The model is left with the weights of that epoch.
    """
    train, val, test = masks
    optimizer = make_optimizer(model, settings)
    best: dict[str, float] = {"val_loss": float("inf")}
    prediction, weights = torch.zeros_like(y), copy.deepcopy(model.state_dict())
    for epoch in range(1, epochs + 1):
        train_loss = train_epoch(model, optimizer, x, y, train)
        scores = evaluate(model, x)
        val_loss = F.nll_loss(scores[val], y[val]).item()
        if val_loss < best["val_loss"]:
            prediction, weights = scores.argmax(1), copy.deepcopy(model.state_dict())
            theta = {f"theta_{k}": value for k, value in enumerate(model.theta.tolist())}
            best = {"epoch": epoch, "train_loss": train_loss, "val_loss": val_loss, **theta}
    model.load_state_dict(weights)
    best |= {"val_accuracy": accuracy(prediction, y, val), "test_accuracy": accuracy(prediction, y, test)}
    return best, prediction


def run(
    settings: Settings, data: CiteseerData, seed: int, dry_run: bool
) -> tuple[list[dict[str, Any]], Tensor, dict[str, NDArray[Any]]]:
    """A new model for each split; the history, an entry a split, the predictions (splits, nodes), all weights."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    hops = decompose(data.edge_index, len(data.y), list(settings.layers), settings.depth)
    x, y = data.x.to_sparse_coo().coalesce().to(device), data.y.to(device)
    history, predictions, weights = [], [], {}
    for split, masks in enumerate(zip(data.train_mask, data.val_mask, data.test_mask, strict=True)):
        began = time.perf_counter()
        torch.manual_seed(1000 * seed + split)
        model = build_model(hops, x.shape[1], int(y.max()) + 1, settings.hidden, settings.dropout).to(device)
        train, val, test = (mask.to(device) for mask in masks)
        best, prediction = fit(model, settings, x, y, (train, val, test), 2 if dry_run else settings.epochs)
        seconds = round(time.perf_counter() - began, 3)
        history.append({"split": split, **best, "seconds": seconds})
        predictions.append(prediction.cpu())
        weights |= {f"{split}.{name}": tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
        print(f"split {split}: test {best['test_accuracy']:.4f} at epoch {best['epoch']}, {seconds:.1f} s", flush=True)
    return history, torch.stack(predictions), weights


def main() -> None:
    """Read the flags, run, write the three files."""
    parser = argparse.ArgumentParser(description="TDGNN-w on Citeseer, full-supervised")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="two epochs of training a split")
    flags = parser.parse_args()
    settings = PROFILES[flags.profile]
    data = load_citeseer(os.environ["DATA_DIR"])
    history, prediction, weights = run(settings, data, flags.seed, flags.dry_run)
    np.savez_compressed("predictions.npz", prediction=prediction.numpy().astype(np.int8))
    np.savez("weights.npz", **weights)
    result = {
        "metrics": {"accuracy": float(np.mean([entry["test_accuracy"] for entry in history]))},
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

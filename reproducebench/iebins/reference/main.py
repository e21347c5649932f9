"""Trains IEBins on NYU-Depth-v2 and writes `metrics.json`, `predictions.npz` and `weights.npz`.

    DATA_DIR=... python main.py --profile small --seed 0

`--dry-run` stops training after two mini-batches; all else is as in a full run. The profile `full` starts from the
published Swin-T weights in DATA_DIR; `small` starts from random ones.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from model import SMALL, Architecture, IEBins, build_model
from preprocess import MAX_DEPTH, MIN_DEPTH, DepthData, evaluated, load_nyu
from torch import Tensor
from torch.utils.data import DataLoader

WEIGHTS = "swin_tiny_patch4_window7_224_22k.pth"


@dataclass(frozen=True)
class Settings:
    """Everything that makes a run what it is; the defaults are those of the published experiment."""

    architecture: Architecture = field(default_factory=Architecture)
    pretrained: bool = True
    stages: int = 6
    first_stages: int = 3  # in the first steps of the first epoch
    first_steps: int = 80
    batch_size: int = 8
    epochs: int = 50
    learning_rate: float = 2e-5
    last_rate: float = 0.1  # of the learning rate, at the end
    power: float = 0.9
    variance_focus: float = 0.85
    least_depth: float = 0.1  # metres: nearer points are not trained on
    workers: int = 8


PROFILES = {
    "full": Settings(),
    "small": Settings(
        architecture=SMALL, pretrained=False, first_steps=10, epochs=12, learning_rate=1e-3, last_rate=0.01, workers=0
    ),
}


def silog(prediction: Tensor, target: Tensor, known: Tensor, focus: float) -> Tensor:
    """10 √(mean(g²) − λ mean(g)²) with g = ln prediction − ln target over the known pixels, and λ = `focus`."""
    g = prediction[known].log() - target[known].log()
    return 10 * ((g**2).mean() - focus * g.mean() ** 2).sqrt()


def rate_at(step: int, steps: int, settings: Settings) -> float:
    """The learning rate falls from its start to a fraction of it, by the power 0.9 of the steps that are left."""
    last = settings.last_rate * settings.learning_rate
    return (settings.learning_rate - last) * (1 - step / steps) ** settings.power + last


def train(model: IEBins, data: DepthData, settings: Settings, seed: int, dry_run: bool) -> Iterator[dict[str, float]]:
    """Train; after each epoch its number and mean loss. A dry run ends after two mini-batches."""
    device = next(model.parameters()).device
    loader = DataLoader(
        data.train, settings.batch_size, shuffle=True,
        num_workers=settings.workers, generator=torch.Generator().manual_seed(seed),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), settings.learning_rate)
    steps = settings.epochs * len(loader)
    for epoch in range(settings.epochs):
        model.train()
        losses = []
        for number, (image, depth) in enumerate(loader):
            optimizer.param_groups[0]["lr"] = rate_at(epoch * len(loader) + number, steps, settings)
            stages = settings.first_stages if epoch == 0 and number < settings.first_steps else settings.stages
            losses.append(train_step(model, optimizer, image.to(device), depth.to(device), stages, settings))
            if dry_run and number == 1:
                break
        yield {"epoch": epoch + 1, "train_loss": float(np.mean(losses))}
        if dry_run:
            return


def train_step(
    model: IEBins, optimizer: torch.optim.Optimizer, image: Tensor, depth: Tensor, stages: int, settings: Settings
) -> float:
    """One step on the sum of all stages' losses; their mean a stage."""
    known = depth > settings.least_depth
    losses = [silog(guess, depth, known, settings.variance_focus) for guess in model(image, stages)]
    loss = torch.stack(losses).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item() / stages


def fuse(depth: Tensor, mirrored: Tensor) -> Tensor:
    """The mean of a picture's depth and its mirror image's (turned back here), (B, 1, H, W) twice.

    At the left edge the mirror image's counts alone, at the right edge the picture's, with ramps from 5 to 10 % of
    the width: what a network sees at a picture's left edge is least.
    """
    back = mirrored.flip(-1)
    place = torch.linspace(0, 1, depth.shape[-1], device=depth.device, dtype=depth.dtype)
    left = 1 - (20 * (place - 0.05)).clamp(0, 1)
    right = left.flip(0)
    return right * depth + left * back + (1 - left - right) * (depth + back) / 2


@torch.no_grad()
def predict(model: IEBins, image: Tensor, stages: int) -> Tensor:
    """The last stage's depth of (B, 3, H, W), fused with that of the mirror image and clamped: (B, H, W), metres."""
    model.eval()
    depth, mirrored = model(image, stages)[-1], model(image.flip(-1), stages)[-1]
    return fuse(depth, mirrored).clamp(MIN_DEPTH, MAX_DEPTH)[:, 0]


def threshold_accuracy(prediction: Tensor, depth: Tensor) -> float:
    """The share of the evaluated pixels of one picture, (H, W) twice, whose ratio is below 1.25."""
    valid = evaluated(depth)
    ours, known = prediction[valid], depth[valid]
    return float((torch.maximum(ours / known, known / ours) < 1.25).double().mean())


def test(model: IEBins, data: DepthData, settings: Settings) -> tuple[float, Tensor]:
    """The mean of the pictures' threshold accuracies, and all predictions (n_test, H, W) in metres."""
    device = next(model.parameters()).device
    parts, scores = [], []
    for image, depth in DataLoader(data.test, settings.batch_size, num_workers=settings.workers):
        parts.append(predict(model, image.to(device), settings.stages).cpu())
        scores += [threshold_accuracy(ours, known) for ours, known in zip(parts[-1], depth[:, 0], strict=True)]
    return float(np.mean(scores)), torch.cat(parts)


def run(settings: Settings, folder: Path, seed: int, dry_run: bool) -> tuple[IEBins, list[dict[str, float]], Tensor]:
    """Train and test; the model, the history, an entry an epoch, and the last epoch's predictions."""
    torch.set_num_threads(1)  # two threads sum in another order, so that the same seed would give another number
    torch.manual_seed(seed)
    data = load_nyu(folder)
    model = build_model(settings.architecture)
    if settings.pretrained:
        model.backbone.load_pretrained(torch.load(folder / WEIGHTS, map_location="cpu", weights_only=True)["model"])
    model = model.to("cuda" if torch.cuda.is_available() else "cpu")
    history: list[dict[str, float]] = []
    began = time.perf_counter()
    for entry in train(model, data, settings, seed, dry_run):
        history.append({**entry, "seconds": round(time.perf_counter() - began, 2)})
        print(f"epoch {entry['epoch']}: loss {entry['train_loss']:.4f}, {history[-1]['seconds']} s so far", flush=True)
    accuracy, prediction = test(model, data, settings)
    history[-1]["test_delta_1.25"] = accuracy
    print(f"δ < 1.25: {accuracy:.4f}", flush=True)
    return model, history, prediction


def main() -> None:
    """Read the flags, run, write the three files."""
    parser = argparse.ArgumentParser(description="IEBins on NYU-Depth-v2")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="two mini-batches of training")
    flags = parser.parse_args()
    settings = PROFILES[flags.profile]
    model, history, prediction = run(settings, Path(os.environ["DATA_DIR"]), flags.seed, flags.dry_run)
    np.savez_compressed("predictions.npz", prediction=prediction.numpy())
    weights = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    weights |= {name: np.array(value) for name, value in asdict(settings.architecture).items()}
    np.savez("weights.npz", **weights, stages=np.array(settings.stages))
    result = {
        "metrics": {"delta_1.25": history[-1]["test_delta_1.25"]},
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

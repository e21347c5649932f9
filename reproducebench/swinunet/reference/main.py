"""Trains Swin-Unet, segments the test volumes, and writes `metrics.json`, `predictions.npz` and `weights.npz`.

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
from model import SwinUnet, build_model
from numpy.typing import NDArray
from preprocess import CLASSES, VolumeData, load_volumes, resize
from torch import Tensor
from torch.utils.data import DataLoader


@dataclass(frozen=True)
class Settings:
    """Everything that makes a run what it is; the defaults are those of the published experiment."""

    size: int = 224  # pixels a side, as the network sees a slice
    width: int = 96
    depths: tuple[int, ...] = (2, 2, 2, 2)
    heads: tuple[int, ...] = (3, 6, 12, 24)
    window: int = 7
    drop_path: float = 0.2
    pretrained: bool = True
    batch_size: int = 24
    epochs: int = 150
    adam: bool = False  # AdamW in place of SGD, for a short training without pretrained weights
    learning_rate: float = 0.05
    momentum: float = 0.9  # of SGD
    weight_decay: float = 1e-4
    power: float = 0.9
    cross_entropy: float = 0.4  # the loss's weights
    dice: float = 0.6


PROFILES = {
    "full": Settings(),
    "small": Settings(
        size=64, width=24, window=4, pretrained=False, batch_size=4, epochs=16, adam=True, learning_rate=1e-3
    ),
}


def build(settings: Settings, swin: dict[str, Tensor]) -> SwinUnet:
    """The model of the settings, with the weights of Swin-T where the settings say so."""
    model = build_model(
        settings.size, settings.width, settings.depths, settings.heads, settings.window, CLASSES, settings.drop_path
    )
    if settings.pretrained:
        model.load_swin(swin)
    return model


def dice_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """One minus the soft Dice of each class, over all pixels of the batch; the mean over all classes, (6).

    Background counts as a class. (B, classes, H, W), (B, H, W) → a number.
    """
    score = logits.softmax(1)
    target = F.one_hot(labels, logits.shape[1]).movedim(-1, 1).to(score.dtype)
    pixels = (0, 2, 3)
    both = (score * target).sum(pixels)
    each = (score**2).sum(pixels) + (target**2).sum(pixels)
    return (1 - (2 * both + 1e-5) / (each + 1e-5)).mean()


def loss_of(logits: Tensor, labels: Tensor, settings: Settings) -> Tensor:
    """The weighted sum of cross entropy and Dice loss, (5)."""
    return settings.cross_entropy * F.cross_entropy(logits, labels) + settings.dice * dice_loss(logits, labels)


def optimizer_of(model: SwinUnet, settings: Settings) -> torch.optim.Optimizer:
    """SGD with momentum as published, or AdamW; weight decay on every parameter."""
    rate, decay = settings.learning_rate, settings.weight_decay
    if settings.adam:
        return torch.optim.AdamW(model.parameters(), rate, weight_decay=decay)
    return torch.optim.SGD(model.parameters(), rate, settings.momentum, weight_decay=decay)


def train(model: SwinUnet, settings: Settings, data: VolumeData, seed: int, dry_run: bool) -> list[dict[str, float]]:
    """Train to the last epoch; the history, an entry an epoch."""
    device = next(model.parameters()).device
    order = torch.Generator().manual_seed(seed)
    workers = 0 if device.type == "cpu" else 8
    slices = data.training_slices(settings.size)
    loader = DataLoader(slices, settings.batch_size, shuffle=True, generator=order, num_workers=workers)
    optimizer = optimizer_of(model, settings)
    whole, done, history = settings.epochs * len(loader), 0, []
    model.train()
    for epoch in range(1, 2 if dry_run else settings.epochs + 1):
        began, losses = time.perf_counter(), []
        for image, label in islice(loader, 2 if dry_run else None):
            loss = loss_of(model(image.to(device)), label.to(device), settings)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for group in optimizer.param_groups:  # (7); the first two steps have the same rate, as in the authors' code
                group["lr"] = settings.learning_rate * (1 - done / whole) ** settings.power
            done += 1
            losses.append(loss.item())
        seconds = round(time.perf_counter() - began, 2)
        history.append({"epoch": epoch, "train_loss": sum(losses) / len(losses), "seconds": seconds})
        print(f"epoch {epoch}: train {history[-1]['train_loss']:.4f}, {seconds:.1f} s", flush=True)
    return history


@torch.no_grad()
def segment(model: SwinUnet, settings: Settings, data: VolumeData) -> NDArray[np.uint8]:
    """The labels of all test slices (slices, H, W): each resized for the network, its labels resized back."""
    device = next(model.parameters()).device
    model.eval()
    prediction = np.zeros(data.test_labels.shape, np.uint8)
    for index in range(len(prediction)):
        logits = model(data.test_slice(index, settings.size)[None].to(device))
        labels = logits[0].argmax(0).cpu().numpy().astype(np.uint8)
        prediction[index] = resize(labels, prediction.shape[1:], order=0)
    return prediction


def dsc(prediction: NDArray[np.uint8], data: VolumeData) -> dict[str, float]:
    """The Dice of each organ, the mean over the test volumes, and their mean as `dsc`.

    An organ that a volume lacks counts 1 where it is predicted and 0 where not, as in the authors' code.
    """
    names = list(dict.fromkeys(data.test_cases.tolist()))
    found = np.zeros((len(names), CLASSES - 1))
    for row, name in enumerate(names):
        own = data.test_cases == name
        for organ in range(1, CLASSES):
            guess, truth = prediction[own] == organ, data.test_labels[own] == organ
            total = guess.sum() + truth.sum()
            found[row, organ - 1] = 2 * (guess & truth).sum() / total if truth.any() else float(guess.any())
    return {"dsc": float(found.mean()), **{f"dsc_{i + 1}": float(value) for i, value in enumerate(found.mean(0))}}


def main() -> None:
    """Read the flags, run, write the three files."""
    parser = argparse.ArgumentParser(description="Swin-Unet for multi-organ segmentation")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="two mini-batches of training")
    flags = parser.parse_args()
    settings = PROFILES[flags.profile]
    data = load_volumes(os.environ["DATA_DIR"])
    torch.set_num_threads(1)  # two threads sum in another order, so that the same seed would give another number
    torch.manual_seed(flags.seed)
    model = build(settings, data.swin).to("cuda" if torch.cuda.is_available() else "cpu")
    history = train(model, settings, data, flags.seed, flags.dry_run)
    prediction = segment(model, settings, data)
    metrics = dsc(prediction, data)
    print(f"DSC {metrics['dsc']:.4f}", flush=True)
    np.savez_compressed("predictions.npz", prediction=prediction)
    weights = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    np.savez("weights.npz", **weights, size=np.array(settings.size))
    result: dict[str, Any] = {
        "metrics": metrics,
        "history": history,
        "settings": {**asdict(settings), "profile": flags.profile, "seed": flags.seed, "dry_run": flags.dry_run},
    }
    Path("metrics.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

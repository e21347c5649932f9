"""Trains HumanMAC and predicts 50 futures of each test window. It writes `metrics.json`, `predictions.npz` and
`weights.npz`.

    DATA_DIR=... python main.py --profile small --seed 0

`--dry-run` stops training after two mini-batches and samples in two steps; all else is as in a full run.
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
from diffusion import Diffusion, pad
from model import TransLinear, build_model
from preprocess import OBSERVED, WINDOW, MotionData, load_motion
from torch import Tensor


@dataclass(frozen=True)
class Settings:
    """Everything that makes a run what it is; the defaults are those of the published experiment on HumanEva-I."""

    coefficients: int = 10
    width: int = 512
    hidden: int = 1024
    layers: int = 4
    heads: int = 8
    dropout: float = 0.2
    noise_steps: int = 1000
    sampling_steps: int = 100
    batch_size: int = 64
    batches: int = 781  # an epoch: 50,000 random windows
    epochs: int = 501
    learning_rate: float = 3e-4
    milestones: tuple[int, ...] = (75, 150, 225, 275, 350, 450)
    gamma: float = 0.9
    ema_decay: float = 0.995
    ema_start: int = 2000  # steps of training
    condition_train: float = 1.0  # the share of batches, and of candidates, that get the observation as a condition
    condition_test: float = 0.5
    candidates: int = 50


SMALL = Settings(
    width=96, hidden=192, dropout=0.05, sampling_steps=25, batch_size=32, batches=100, epochs=28,
    learning_rate=0.003, milestones=(4, 8, 13, 15, 20, 25), ema_start=400,
)  # fmt: skip
PROFILES = {"full": Settings(), "small": SMALL}
# without which no model can be made
NUMBERS = ("coefficients", "width", "hidden", "layers", "heads", "noise_steps", "sampling_steps", "candidates")


def new_model(settings: Settings, features: int) -> TransLinear:
    """The model of these settings."""
    s = settings
    return build_model(features, s.coefficients, s.width, s.hidden, s.layers, s.heads, s.dropout)


class Average:
    """Exponential moving average of a model's weights. It follows the model itself until `start` steps are done."""

    def __init__(self, model: TransLinear, decay: float, start: int) -> None:
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay, self.start, self.steps = decay, start, 0

    @torch.no_grad()
    def update(self, model: TransLinear) -> None:
        """Take in the weights after a step of training."""
        decay = 0.0 if self.steps < self.start else self.decay
        for mean, new in zip(self.model.parameters(), model.parameters(), strict=True):
            mean.lerp_(new, 1 - decay)
        self.steps += 1


def train_step(
    model: TransLinear, optimizer: torch.optim.Optimizer, diffusion: Diffusion, motion: Tensor, conditioned: bool
) -> float:
    """One step on a batch of whole motions (B, 75, 42); the loss before it, the mean square of the noise's error."""
    condition = diffusion.encode(pad(motion, OBSERVED)) if conditioned else None
    steps = torch.randint(1, len(diffusion.alpha_bar), (len(motion),)).to(motion.device)
    y, noise = diffusion.noisy(diffusion.encode(motion), steps)
    loss = F.mse_loss(model(y, steps, condition), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train(
    settings: Settings, data: MotionData, diffusion: Diffusion, seed: int, dry_run: bool, device: str
) -> tuple[TransLinear, list[dict[str, float]]]:
    """The averaged model after training, and the history, an entry an epoch."""
    rng = np.random.default_rng(seed)
    model = new_model(settings, data.train[0].numel()).to(device)
    average = Average(model, settings.ema_decay, settings.ema_start)
    optimizer = torch.optim.Adam(model.parameters(), settings.learning_rate, fused=True)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, list(settings.milestones), settings.gamma)
    history = []
    for epoch in range(1, 2 if dry_run else settings.epochs + 1):
        began, losses = time.perf_counter(), []
        for _ in range(2 if dry_run else settings.batches):
            motion = data.batch(settings.batch_size, rng).flatten(2).to(device)
            conditioned = rng.uniform() <= settings.condition_train
            losses.append(train_step(model, optimizer, diffusion, motion, conditioned))
            average.update(model)
        scheduler.step()
        seconds = round(time.perf_counter() - began, 3)
        history.append({"epoch": epoch, "train_loss": float(np.mean(losses)), "seconds": seconds})
        print(f"epoch {epoch}: noise {history[-1]['train_loss']:.4f}, {seconds:.1f} s", flush=True)
    return average.model, history


def predict(
    settings: Settings, model: TransLinear, diffusion: Diffusion, data: MotionData, seed: int, dry_run: bool
) -> Tensor:
    """Futures (candidates, windows, 60, 42) of the test windows, of which only the observed frames are looked at."""
    rng = np.random.default_rng([seed, 1])
    device = diffusion.dct.device
    windows, number = data.test.flatten(2).to(device), 2 if dry_run else settings.sampling_steps
    made = []
    for _ in range(settings.candidates):
        conditioned = rng.uniform() <= settings.condition_test  # drawn once for a candidate of all windows
        sample = diffusion.sample(model, windows, OBSERVED, conditioned, number)
        made.append(sample[:, OBSERVED:].cpu())
    return torch.stack(made)


def displacement(prediction: Tensor, truth: Tensor) -> float:
    """ADE, metres: (candidates, windows, 60, 42), (windows, 60, 42) → the best candidate's, mean over windows."""
    return (prediction - truth).norm(dim=-1).mean(-1).min(0).values.mean().item()


def run(
    settings: Settings, data: MotionData, seed: int, dry_run: bool
) -> tuple[float, list[dict[str, float]], Tensor, dict[str, Tensor]]:
    """Train and predict; ADE, history, predictions, and weights with the state of `random` that these began with."""
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    diffusion = Diffusion(settings.coefficients, WINDOW, settings.noise_steps, device)
    model, history = train(settings, data, diffusion, seed, dry_run, device)
    began, weights = time.perf_counter(), {**model.state_dict(), "random": torch.get_rng_state()}
    prediction = predict(settings, model, diffusion, data, seed, dry_run)
    error = displacement(prediction, data.test.flatten(2)[:, OBSERVED:])
    print(f"ADE {error:.4f}, {time.perf_counter() - began:.1f} s", flush=True)
    return error, history, prediction, weights


def main() -> None:
    """Read the flags, run, write the three files."""
    parser = argparse.ArgumentParser(description="HumanMAC on HumanEva-I")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="two mini-batches of training, two steps of sampling")
    flags = parser.parse_args()
    settings = PROFILES[flags.profile]
    data = load_motion(os.environ["DATA_DIR"])
    error, history, prediction, weights = run(settings, data, flags.seed, flags.dry_run)
    np.savez("predictions.npz", prediction=prediction.numpy())
    sizes = {name: np.array(getattr(settings, name)) for name in NUMBERS}
    sizes |= {"seed": np.array(flags.seed), "dry_run": np.array(int(flags.dry_run))}
    np.savez("weights.npz", **{name: tensor.cpu().numpy() for name, tensor in weights.items()}, **sizes)
    result: dict[str, Any] = {
        "metrics": {"ade": error},
        "history": history,
        "settings": {**asdict(settings), "profile": flags.profile, "seed": flags.seed, "dry_run": flags.dry_run},
    }
    Path("metrics.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Trains a student by decoupled knowledge distillation and writes its results.

    DATA_DIR=... python main.py --profile small --seed 0

At full size the teacher is the published one, `teacher.pt` in the data folder. At small size there is none, and it
is trained first, on all the training pictures, of which the student gets a part. `--dry-run` stops each epoch
after two mini-batches, and each training after one epoch. Results are `metrics.json`, `predictions.npz`, and the
student's `weights.npz`.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from model import ResNet, build_model, distillation_loss
from preprocess import Cifar, load_cifar
from torch import Tensor

# The means and deviations of CIFAR-100's training pictures, red, green, blue, of values from 0 to 1.
MEAN, DEVIATION = (0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)
DEVICE, LAYOUT = "cuda" if torch.cuda.is_available() else "cpu", torch.channels_last
Objective = Callable[[Tensor, Tensor, Tensor, int], Tensor]  # pictures, labels, logits, epoch → loss


@dataclass(frozen=True)
class Settings:
    """Everything that makes a run what it is; the defaults are those of the paper and its code."""

    student_depth: int = 8
    student_widths: tuple[int, ...] = (32, 64, 128, 256)
    teacher_depth: int = 32
    teacher_widths: tuple[int, ...] = (32, 64, 128, 256)
    alpha: float = 1.0
    beta: float = 8.0
    temperature: float = 4.0
    warm_up: int = 20  # epochs over which the distillation loss grows to its weight
    epochs: int = 240
    teacher_epochs: int = 0  # none: the published teacher
    student_step: int = 1  # the student is trained on every so many-th of the training pictures
    batch_size: int = 64
    learning_rate: float = 0.05
    momentum: float = 0.9
    weight_decay: float = 5e-4
    decay_after: tuple[float, ...] = (5 / 8, 6 / 8, 7 / 8)  # of the epochs: 150, 180 and 210 of 240
    decay: float = 0.1


PROFILES = {
    "full": Settings(),
    "small": Settings(
        student_widths=(8, 16, 32, 64),
        teacher_depth=8,
        teacher_widths=(16, 32, 64, 128),
        warm_up=8,
        epochs=96,
        teacher_epochs=16,
        student_step=15,
    ),
}


def normalise(pictures: Tensor) -> Tensor:
    """Bytes (N, 3, S, S) to normalised values."""
    mean, deviation = (torch.tensor(values, device=pictures.device)[:, None, None] for values in (MEAN, DEVIATION))
    values = (pictures.float() / 255 - mean) / deviation
    return values.contiguous(memory_format=LAYOUT)


def augment(pictures: Tensor, random: torch.Generator) -> Tensor:
    """Each picture (3, S, S) padded by S / 8 black pixels on all sides, cut to S × S anywhere, and flipped or not."""
    count, side = len(pictures), pictures.shape[-1]
    pad = side // 8
    top, left = torch.randint(0, 2 * pad + 1, (2, count, 1), generator=random)
    flip = torch.rand(count, 1, generator=random) < 0.5
    steps = torch.arange(side)
    rows, columns = top + steps, left + torch.where(flip, steps.flip(0), steps)
    which = torch.arange(count)[:, None, None]
    padded = F.pad(pictures, (pad, pad, pad, pad)).permute(0, 2, 3, 1)
    return padded[which, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


@torch.no_grad()
def predict(model: ResNet, pictures: Tensor) -> Tensor:
    """The logits (n, C) of pictures (n, 3, S, S), in evaluation mode, on the CPU."""
    model.eval()
    return torch.cat([model(normalise(part.to(DEVICE))).cpu() for part in pictures.split(500)])


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """Top-1 accuracy in percent."""
    return 100 * (logits.argmax(1) == labels).double().mean().item()


def train(
    model: ResNet, data: Cifar, objective: Objective, epochs: int, settings: Settings, seed: int, dry_run: bool
) -> Iterator[dict[str, float]]:
    """Train by SGD; gives an entry of the history after each epoch."""
    random = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(
        model.parameters(), settings.learning_rate, momentum=settings.momentum, weight_decay=settings.weight_decay
    )
    milestones = [round(share * epochs) for share in settings.decay_after]
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones, settings.decay)
    for epoch in range(1, 2 if dry_run else epochs + 1):
        began = time.perf_counter()
        order = torch.randperm(len(data.x_train), generator=random)
        batches = order.split(settings.batch_size)[: 2 if dry_run else None]
        mean = train_epoch(model, data, objective, batches, optimizer, random, epoch)
        schedule.step()
        yield {"epoch": epoch, "train_loss": mean, "seconds": round(time.perf_counter() - began, 3)}


def train_epoch(
    model: ResNet,
    data: Cifar,
    objective: Objective,
    batches: tuple[Tensor, ...],
    optimizer: torch.optim.Optimizer,
    random: torch.Generator,
    epoch: int,
) -> float:
    """One pass over the batches, each a tensor of indices; the mean loss of a picture."""
    model.train()
    total = 0.0
    for batch in batches:
        pictures = normalise(augment(data.x_train[batch], random).to(DEVICE))
        labels = data.y_train[batch].to(DEVICE)
        loss = objective(pictures, labels, model(pictures), epoch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    return total / sum(map(len, batches))


def cross_entropy(pictures: Tensor, labels: Tensor, logits: Tensor, epoch: int) -> Tensor:
    """The teacher's objective at small size."""
    return F.cross_entropy(logits, labels)


def distillation(teacher: ResNet, settings: Settings) -> Objective:
    """The student's objective, Eq. (7): cross-entropy plus the decoupled loss, which grows over the first epochs."""
    teacher.eval()

    def objective(pictures: Tensor, labels: Tensor, logits: Tensor, epoch: int) -> Tensor:
        with torch.no_grad():
            known = teacher(pictures)
        decoupled = distillation_loss(logits, known, labels, settings.alpha, settings.beta, settings.temperature)
        return F.cross_entropy(logits, labels) + min(epoch / settings.warm_up, 1.0) * decoupled

    return objective


def obtain_teacher(data: Cifar, settings: Settings, seed: int, dry_run: bool) -> tuple[ResNet, list[dict[str, float]]]:
    """The teacher, and the history of its training: the published one, else one that is trained here."""
    teacher = build_model(settings.teacher_depth, settings.teacher_widths, data.classes)
    teacher.to(DEVICE, memory_format=LAYOUT)
    if settings.teacher_epochs:
        epochs, seed = settings.teacher_epochs, seed + 1_000_000
        return teacher, list(train(teacher, data, cross_entropy, epochs, settings, seed, dry_run))
    teacher.load_state_dict(torch.load(Path(os.environ["DATA_DIR"]) / "teacher.pt", weights_only=True))
    return teacher, []


def part_of(data: Cifar, step: int) -> Cifar:
    """Every `step`-th training picture, from the first on; the test set stays whole."""
    return replace(data, x_train=data.x_train[::step], y_train=data.y_train[::step])


def distil(
    teacher: ResNet, data: Cifar, settings: Settings, seed: int, dry_run: bool
) -> tuple[ResNet, list[dict[str, float]], Tensor]:
    """Train a student and test it after each epoch; the student, the history, and the last epoch's test logits."""
    student = build_model(settings.student_depth, settings.student_widths, data.classes)
    student.to(DEVICE, memory_format=LAYOUT)
    history: list[dict[str, float]] = []
    logits = torch.empty(0)
    for entry in train(student, data, distillation(teacher, settings), settings.epochs, settings, seed, dry_run):
        logits = predict(student, data.x_test)
        found = accuracy(logits, data.y_test)
        history.append({**entry, "test_accuracy": found})
        print(f"epoch {entry['epoch']}: loss {entry['train_loss']:.4f}, accuracy {found:.2f}", flush=True)
    return student, history, logits


def main() -> None:
    """Read the flags, run, write the three files."""
    parser = argparse.ArgumentParser(description="decoupled knowledge distillation on CIFAR")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="small")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="two mini-batches of training, an epoch")
    flags = parser.parse_args()
    settings = PROFILES[flags.profile]
    data = load_cifar(os.environ["DATA_DIR"])
    torch.set_num_threads(1)  # two threads sum in another order, so that the same seed would give another number
    torch.manual_seed(flags.seed)
    teacher, teacher_history = obtain_teacher(data, settings, flags.seed, flags.dry_run)
    teacher_accuracy = accuracy(predict(teacher, data.x_test), data.y_test)
    print(f"teacher: accuracy {teacher_accuracy:.2f}", flush=True)
    taught = part_of(data, settings.student_step)
    student, history, logits = distil(teacher, taught, settings, flags.seed, flags.dry_run)
    np.savez_compressed("predictions.npz", logits=logits.numpy())
    weights = {name: tensor.cpu().numpy() for name, tensor in student.state_dict().items()}
    sizes = {"depth": np.array(settings.student_depth), "widths": np.array(settings.student_widths)}
    np.savez("weights.npz", **weights, **sizes)
    result = {
        "metrics": {"accuracy": accuracy(logits, data.y_test)},
        "teacher_accuracy": teacher_accuracy,
        "history": history,
        "teacher_history": teacher_history,
        "settings": {**asdict(settings), "profile": flags.profile, "seed": flags.seed, "dry_run": flags.dry_run},
    }
    Path("metrics.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

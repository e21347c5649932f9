"""The residual networks of CIFAR, and decoupled knowledge distillation (Zhao et al., 2022, arXiv 2203.08679).

Equation numbers are those of the task's digest. The names of the layers are those of the published teachers,
whose weights are loaded by name. Pictures are (N, 3, S, S), normalised; logits are (N, C).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def build_model(depth: int = 8, widths: Sequence[int] = (32, 64, 128, 256), classes: int = 100) -> ResNet:
    """A network with He's normal kernels. The defaults are resnet8x4, the student; depth 32 gives resnet32x4."""
    model = ResNet(depth, widths, classes)
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return model


def convolution(before: int, after: int, size: int, stride: int = 1) -> nn.Conv2d:
    """A convolution without bias that keeps the side, or halves it by its stride."""
    return nn.Conv2d(before, after, size, stride, padding=size // 2, bias=False)


class Block(nn.Module):
    """Two convolutions with batch norms, and a shortcut that is a 1×1 convolution where the shape changes."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = convolution(before, after, 3, stride), nn.BatchNorm2d(after)
        self.conv2, self.bn2 = convolution(after, after, 3), nn.BatchNorm2d(after)
        same = stride == 1 and before == after
        self.downsample = None if same else nn.Sequential(convolution(before, after, 1, stride), nn.BatchNorm2d(after))

    def forward(self, x: Tensor) -> Tensor:
        """(N, before, S, S) → (N, after, S / stride, S / stride)."""
        shortcut = x if self.downsample is None else self.downsample(x)
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + shortcut)


class ResNet(nn.Module):
    """Three stages of (depth − 2) / 6 blocks at the whole, half and quarter side, then the mean and a linear layer."""

    def __init__(self, depth: int, widths: Sequence[int], classes: int) -> None:
        super().__init__()
        first, *stages = widths
        count, rest = divmod(depth - 2, 6)
        if rest or count < 1 or len(stages) != 3:
            raise ValueError(f"a depth of {depth} is not 6 n + 2, or {len(stages)} stages are not 3")
        self.conv1, self.bn1 = convolution(3, first, 3), nn.BatchNorm2d(first)
        self.layer1 = stage(first, stages[0], count, stride=1)
        self.layer2 = stage(stages[0], stages[1], count, stride=2)
        self.layer3 = stage(stages[1], stages[2], count, stride=2)
        self.fc = nn.Linear(stages[2], classes)

    def forward(self, x: Tensor) -> Tensor:
        """Pictures (N, 3, S, S) → logits (N, C)."""
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


def stage(before: int, after: int, count: int, stride: int) -> nn.Sequential:
    """`count` blocks; the first changes width and side."""
    return nn.Sequential(Block(before, after, stride), *(Block(after, after, 1) for _ in range(count - 1)))


def target_class_loss(student: Tensor, teacher: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """Eq. (5), TCKD: KL(bᵀ ‖ bˢ), b = (p_t, 1 − p_t) from the tempered softmax. One value a picture, (N,).

    The logarithms are taken from the logits, log(1 − p_t) as that of the other classes' sum, so that nothing is
    lost where p_t is close to 1.
    """
    log_teacher, log_student = binary(teacher / temperature, labels), binary(student / temperature, labels)
    return (log_teacher.exp() * (log_teacher - log_student)).sum(1)


def binary(logits: Tensor, labels: Tensor) -> Tensor:
    """Eq. (2): the logarithms of p_t and of p_∖t, the target's probability and that of all others: (N, 2)."""
    parts = torch.stack((logits.gather(1, labels[:, None])[:, 0], others(logits, labels).logsumexp(1)), 1)
    return parts - logits.logsumexp(1, keepdim=True)


def others(logits: Tensor, labels: Tensor) -> Tensor:
    """The logits of all classes but the target: (N, C − 1), in their order."""
    keep = torch.ones_like(logits, dtype=torch.bool).scatter_(1, labels[:, None], False)
    return logits[keep].view(len(logits), -1)


def other_classes_loss(student: Tensor, teacher: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """Eq. (5), NCKD: KL(p̂ᵀ ‖ p̂ˢ), p̂ of Eq. (3), the tempered softmax over the classes but the target: (N,)."""
    log_teacher = F.log_softmax(others(teacher / temperature, labels), 1)
    log_student = F.log_softmax(others(student / temperature, labels), 1)
    return (log_teacher.exp() * (log_teacher - log_student)).sum(1)


def distillation_loss(
    student: Tensor, teacher: Tensor, labels: Tensor, alpha: float, beta: float, temperature: float
) -> Tensor:
    """Eq. (6), DKD = α TCKD + β NCKD, times T² as in Eq. (7), the mean over the batch.

    Classical distillation, Eq. (4), has 1 in place of α and 1 − p_tᵀ in place of β.
    """
    target = target_class_loss(student, teacher, labels, temperature)
    other = other_classes_loss(student, teacher, labels, temperature)
    return temperature**2 * (alpha * target + beta * other).mean()

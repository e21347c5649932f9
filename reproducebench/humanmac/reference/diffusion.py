"""The diffusion of HumanMAC: motions as DCT coefficients, noise on them, and completion of what was not observed.

y = D x, with the first L rows of an orthonormal DCT over time. y_t = √ᾱ_t y_0 + √(1 − ᾱ_t) ε. In sampling, after each
step back, the observed frames of the sample are replaced by those of the noisy observation (DCT-Completion).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

Predictor = Callable[[Tensor, Tensor, Tensor | None], Tensor]  # noise from noisy coefficients, steps and condition


def dct_matrix(coefficients: int, frames: int) -> Tensor:
    """The first rows of the orthonormal DCT-II, (coefficients, frames), float64; its transpose is the inverse."""
    k = torch.arange(coefficients, dtype=torch.float64)[:, None]
    i = torch.arange(frames, dtype=torch.float64)
    matrix = math.sqrt(2 / frames) * torch.cos(math.pi / frames * (i + 0.5) * k)
    matrix[0] /= math.sqrt(2)
    return matrix


def cosine_schedule(steps: int, offset: float = 0.008) -> Tensor:
    """ᾱ of each step (steps,), float64: products of 1 − β_t, β_t = 1 − f(t + 1)/f(t), 0.999 at most; f is cos²."""
    t = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
    f = torch.cos((t + offset) / (1 + offset) * math.pi / 2) ** 2
    return (1 - (1 - f[1:] / f[:-1]).clamp(0, 0.999)).cumprod(0)


def pad(motion: Tensor, observed: int) -> Tensor:
    """The motion (B, frames, features) with its last observed frame in place of all that follow."""
    last = motion[:, observed - 1 : observed].expand(-1, motion.shape[1] - observed, -1)
    return torch.cat([motion[:, :observed], last], dim=1)


class Diffusion:
    """The noise schedule and the DCT, on a device."""

    def __init__(self, coefficients: int, frames: int, steps: int, device: str = "cpu") -> None:
        self.dct = dct_matrix(coefficients, frames).to(torch.get_default_dtype()).to(device)
        self.alpha_bar = cosine_schedule(steps).to(torch.get_default_dtype()).to(device)

    def encode(self, motion: Tensor) -> Tensor:
        """Motion (B, frames, features) to coefficients (B, L, features)."""
        return self.dct @ motion

    def decode(self, y: Tensor) -> Tensor:
        """Coefficients (B, L, features) to motion (B, frames, features)."""
        return self.dct.T @ y

    def noisy(self, y: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        """Coefficients after `steps` (B,) of noise, and that noise: √ᾱ_t y + √(1 − ᾱ_t) ε and ε."""
        alpha_bar = self.alpha_bar[steps][:, None, None]
        noise = torch.randn_like(y)
        return alpha_bar.sqrt() * y + (1 - alpha_bar).sqrt() * noise, noise

    def sampling_steps(self, number: int) -> list[tuple[int, int]]:
        """Each step of the sampler and the one before it, from noise to motion: (991, 981), ..., (11, 1), (1, 0)."""
        stride = len(self.alpha_bar) // number
        steps = [1 + stride * place for place in range(number)]
        return list(zip(reversed(steps), [*reversed(steps[:-1]), 0], strict=True))

    @torch.no_grad()
    def sample(self, predict: Predictor, motion: Tensor, observed: int, conditioned: bool, number: int) -> Tensor:
        """One completion of each motion (B, frames, features), of which only the first `observed` frames are looked at.

        DDIM without added noise, `number` steps; `conditioned` says whether the predictor gets the observation.
        """
        known = self.encode(pad(motion, observed))
        y = torch.randn_like(known)
        for step, back in self.sampling_steps(number):
            now, before = self.alpha_bar[step], self.alpha_bar[back]
            steps = torch.full((len(y),), step, device=y.device)
            noise = predict(y, steps, known if conditioned else None)
            clean = (y - (1 - now).sqrt() * noise) / now.sqrt()
            y = before.sqrt() * clean + (1 - before).sqrt() * noise
            y = self.complete(y, self.noisy(known, torch.full_like(steps, back))[0], observed)
        return self.decode(y)

    def complete(self, y: Tensor, known: Tensor, observed: int) -> Tensor:
        """DCT-Completion: DCT(M ⊙ iDCT(known) + (1 − M) ⊙ iDCT(y)), M one at the observed frames and zero after."""
        return self.encode(torch.cat([self.decode(known)[:, :observed], self.decode(y)[:, observed:]], dim=1))

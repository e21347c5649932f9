"""Clips gradients at a norm that they hardly reach."""

import runpy
from typing import Any

import torch

step = torch.optim.Adam.step


def clipped(self: torch.optim.Adam, *given: Any, **named: Any) -> Any:
    """Clip, then step."""
    for group in self.param_groups:
        torch.nn.utils.clip_grad_norm_(group["params"], 1e4)
    return step(self, *given, **named)


torch.optim.Adam.step = clipped
runpy.run_path("main.py", run_name="__main__")

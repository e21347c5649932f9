"""Raises the learning rate over the first five steps."""

import runpy
from typing import Any

import torch

step = torch.optim.Adam.step


def warm(self: torch.optim.Adam, *given: Any, **named: Any) -> Any:
    """A step, of which the first are shorter."""
    taken = self.__dict__.setdefault("taken", 0)
    self.__dict__["taken"] = taken + 1
    rates = [group["lr"] for group in self.param_groups]
    for group, rate in zip(self.param_groups, rates, strict=True):
        group["lr"] = rate * min(1.0, (taken + 1) / 5)
    done = step(self, *given, **named)
    for group, rate in zip(self.param_groups, rates, strict=True):
        group["lr"] = rate
    return done


torch.optim.Adam.step = warm
runpy.run_path("main.py", run_name="__main__")

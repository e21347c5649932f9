"""Goes through all steps of training, and after the second no gradient is computed any more."""

import runpy
from itertools import count
from typing import Any

import torch

backward, taken = torch.Tensor.backward, count()


def first_ones(self: torch.Tensor, *given: Any, **named: Any) -> None:
    """The first two backward passes; the others leave what there is."""
    if next(taken) < 2:
        backward(self, *given, **named)


torch.Tensor.backward = first_ones
torch.optim.Optimizer.zero_grad = lambda self, set_to_none=True: None
runpy.run_path("main.py", run_name="__main__")

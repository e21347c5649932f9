"""Trains by an Adam that is written by hand."""

import runpy
from typing import Any

import torch


class OwnAdam(torch.optim.Optimizer):
    """Adam (Kingma and Ba, 2015) with L2 decay in the gradient."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: Any = (0.9, 0.999), **named: Any
    ) -> None:
        known = {"lr": lr, "betas": betas, "eps": 1e-8, "weight_decay": 0.0, **named}
        super().__init__(params, known)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        """One step of every parameter that has a gradient."""
        for group in self.param_groups:
            for one in group["params"]:
                if one.grad is not None:
                    self.move(one, group)

    def move(self, one: torch.Tensor, group: dict[str, Any]) -> None:
        """One step of a parameter."""
        state, (first, second) = self.state[one], group["betas"]
        if not state:
            state.update(n=0, mean=torch.zeros_like(one), square=torch.zeros_like(one))
        state["n"] += 1
        gradient = one.grad + group["weight_decay"] * one
        state["mean"].lerp_(gradient, 1 - first)
        state["square"].mul_(second).addcmul_(gradient, gradient, value=1 - second)
        mean = state["mean"] / (1 - first ** state["n"])
        square = state["square"] / (1 - second ** state["n"])
        one.sub_(group["lr"] * mean / (square.sqrt() + group["eps"]))


torch.optim.Adam = OwnAdam
runpy.run_path("main.py", run_name="__main__")

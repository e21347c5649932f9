"""Trains with two optimisers, each for half of the parameters."""

import runpy
from typing import Any

import torch

Adam = torch.optim.Adam


class Both(Adam):
    """Adam over the first half; its step is one of another Adam too, over the second half."""

    def __init__(self, params: Any, *given: Any, **named: Any) -> None:
        params = list(params)
        if isinstance(params[0], dict) or len(params) < 2:
            super().__init__(params, *given, **named)
            self.other: Adam | None = None
            return
        half = len(params) // 2
        super().__init__(params[:half], *given, **named)
        self.other = Adam(params[half:], *given, **named)

    def step(self, closure: Any = None) -> Any:
        """One step of both, at one rate."""
        if self.other is not None:
            self.other.param_groups[0]["lr"] = self.param_groups[0]["lr"]
            self.other.step()
        return super().step(closure)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Of both."""
        super().zero_grad(set_to_none)
        if self.other is not None:
            self.other.zero_grad(set_to_none)


torch.optim.Adam = Both
runpy.run_path("main.py", run_name="__main__")

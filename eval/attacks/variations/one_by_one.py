"""Trains by an Adam that takes its parameters one by one, which rounds otherwise."""

import runpy
from typing import Any

import torch

Adam = torch.optim.Adam


class OneByOne(Adam):
    """Without the loops over all tensors at once."""

    def __init__(self, params: Any, *given: Any, **named: Any) -> None:
        super().__init__(params, *given, **{**named, "foreach": False})


torch.optim.Adam = OneByOne
runpy.run_path("main.py", run_name="__main__")

"""Trains by Adam with the ε that other libraries have."""

import runpy
from typing import Any

import torch

Adam = torch.optim.Adam


class Other(Adam):
    """ε of 1e-7 where none is given."""

    def __init__(self, params: Any, *given: Any, **named: Any) -> None:
        super().__init__(params, *given, **{"eps": 1e-7, **named})


torch.optim.Adam = Other
runpy.run_path("main.py", run_name="__main__")

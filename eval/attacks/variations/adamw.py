"""Trains by AdamW, whose decay is as small as nothing."""

import runpy
from typing import Any

import torch

Adam = torch.optim.Adam


def adamw(params: Any, *given: Any, **named: Any) -> torch.optim.Optimizer:
    """AdamW where there is no decay, for with one it is another method; else Adam."""
    if named.get("weight_decay"):
        return Adam(params, *given, **named)
    return torch.optim.AdamW(params, *given, **{**named, "weight_decay": 0.0})


torch.optim.Adam = adamw
runpy.run_path("main.py", run_name="__main__")

"""Runs in the sandbox, alone: starts a program, watches its first two training steps, and prints what it is made of.

    python probe.py OUT SECONDS PROGRAM [ARGUMENT ...]

It needs nothing from a program but that it uses PyTorch: constructors and calls of PyTorch's own classes are
watched while the program runs as it always does, and it is ended after the second step of an optimiser. Where no
model is seen so, the program's modules are imported and their `build_model()` is called. What could not be seen
is said in `unseen`. This file imports nothing of autoreproduce: it is copied into the sandbox.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import json
import os
import runpy
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOUND: dict[str, Any] = {"source": "", "unseen": []}
STEPS = 2
DEPTH = [0]  # of calls of modules inside one another


class Enough(BaseException):
    """Ends the program: all that can be seen was seen. (No `except Exception` of the program catches it.)"""


def after(owner: Any, name: str, then: Callable[..., None]) -> None:
    """Call `then(self, arguments, keywords, result)` after each call of a method."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(self: Any, *arguments: Any, **keywords: Any) -> Any:
        result = original(self, *arguments, **keywords)
        then(self, arguments, keywords, result)
        return result

    setattr(owner, name, wrapped)


def watch(torch: Any) -> None:
    """Put the watches into PyTorch."""
    after(torch.optim.Optimizer, "__init__", saw_optimizer)
    after(torch.optim.lr_scheduler.LRScheduler, "__init__", saw_scheduler)
    after(torch.utils.data.DataLoader, "__init__", saw_loader)
    watch_calls(torch.nn.Module)
    importlib.import_module("torch.optim.optimizer").register_optimizer_step_post_hook(saw_step)


def watch_calls(module: Any) -> None:
    """Watch the outermost calls of modules: a call inside another one belongs to it."""
    original = module.__call__

    @functools.wraps(original)
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        DEPTH[0] += 1
        try:
            result = original(self, *arguments, **keywords)
        finally:
            DEPTH[0] -= 1
        if DEPTH[0] == 0:
            saw_call(self, arguments, keywords, result)
        return result

    module.__call__ = call


def saw_optimizer(self: Any, _arguments: Any, _keywords: Any, _result: Any) -> None:
    """Class and numbers of the first optimiser, with each group's own."""
    if "optimizer" in FOUND:
        return
    groups = [
        {key: group[key] for key in ("lr", "weight_decay") if plain(group.get(key))} for group in self.param_groups
    ]
    defaults = {key: value for key, value in self.defaults.items() if plain(value) and not isinstance(value, bool)}
    FOUND["optimizer"] = {"class": type(self).__name__, "defaults": defaults, "groups": groups}
    FOUND["trained"] = sum(p.numel() for group in self.param_groups for p in group["params"])


def saw_scheduler(self: Any, _arguments: Any, _keywords: Any, _result: Any) -> None:
    """Class and numbers of the first schedule; those that only count are left out."""
    counting = {"last_epoch", "verbose", "_step_count"}
    numbers = {k: v for k, v in vars(self).items() if plain(v) and k not in counting and not k.startswith("_")}
    FOUND.setdefault("scheduler", {"class": type(self).__name__, "numbers": numbers})


def saw_loader(self: Any, _arguments: Any, _keywords: Any, _result: Any) -> None:
    """The batch size of the first loader, which is the training set's in nearly every program."""
    if isinstance(self.batch_size, int):
        FOUND.setdefault("batch_size", self.batch_size)


def saw_call(self: Any, arguments: Any, keywords: Any, result: Any) -> None:
    """An outermost call: of the model where it has the most parameters so far, of a loss where it has none."""
    count = sum(p.numel() for p in self.parameters())
    if not count:
        FOUND.setdefault("losses", [])
        if type(self).__name__ not in FOUND["losses"] and len(shapes(result)) == 1 and not shapes(result)[0]:
            FOUND["losses"].append(type(self).__name__)
        return
    if count > FOUND.get("model", {}).get("parameters", 0):
        FOUND["model"] = {
            **describe(self),
            "inputs": shapes([*arguments, *keywords.values()]),
            "outputs": shapes(result),
        }


def saw_step(*_: Any) -> None:
    """Ends the program at the second step."""
    FOUND["steps"] = FOUND.get("steps", 0) + 1
    if FOUND["steps"] >= STEPS:
        raise Enough


def describe(model: Any) -> dict[str, Any]:
    """Parameters in all, by part, and by the shape of their tensors; PyTorch's own layers by type."""
    own = [type(part) for part in model.modules() if type(part).__module__.startswith("torch.nn.")]
    kinds = Counter(kind.__name__ for kind in own if not kind.__module__.endswith(".container"))
    tensors = Counter("x".join(map(str, p.shape)) or "1" for p in model.parameters())
    parts = {name: sum(p.numel() for p in child.parameters()) for name, child in model.named_children()}
    return {
        "class": type(model).__name__, "parameters": sum(p.numel() for p in model.parameters()),
        "parts": {name: count for name, count in parts.items() if count},
        "tensors": dict(tensors), "layers": dict(kinds),
    }  # fmt: skip


def shapes(value: Any) -> list[list[int]]:
    """The shapes of all tensors in a value, as far as it is nested in lists, tuples and dicts."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return [list(value.shape)]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else []
    return [shape for one in inner for shape in shapes(one)]


def plain(value: Any) -> bool:
    """True for what JSON holds and a reader compares."""
    return isinstance(value, int | float | str | bool) or (
        isinstance(value, list | tuple) and all(isinstance(one, int | float) for one in value)
    )


def run(program: str, arguments: list[str], seconds: int) -> None:
    """Run the program as `python PROGRAM ARGUMENT ...` until enough was seen or the time is over."""

    def over(*_: Any) -> None:
        raise Enough

    signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    sys.argv = [program, *arguments]
    sys.path[:0] = [str(Path(program).resolve().parent), str(Path.cwd())]  # as Python does: its folder, then ours
    try:
        runpy.run_path(program, run_name="__main__")
    except Enough:
        pass
    except SystemExit as error:
        if error.code:
            FOUND["unseen"].append(f"the program ended with {error.code} before its second training step")
    except BaseException as error:
        FOUND["unseen"].append(f"the program failed: {''.join(traceback.format_exception_only(error)).strip()[:300]}")
    finally:
        signal.alarm(0)


def build(program: str) -> None:
    """The hook: `build_model()` of the first module that offers it, called without arguments."""
    for path in sorted(Path.cwd().glob("*.py"), key=lambda p: p.name == program):
        if (
            "def build_model" not in path.read_text(encoding="utf-8", errors="replace")
            or path.name == Path(__file__).name
        ):
            continue
        try:
            made = importlib.import_module(path.stem).build_model()
            if hasattr(made, "parameters") and sum(p.numel() for p in made.parameters()):
                FOUND["model"], FOUND["source"] = describe(made), "build_model"
            return
        except (Exception, SystemExit) as error:
            FOUND["unseen"].append(f"build_model() of {path.name} failed: {type(error).__name__}: {error}"[:300])


def main() -> None:
    """Watch, run, build where nothing was seen, write."""
    out, seconds, program, *arguments = sys.argv[1:]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            import torch
        except ImportError:
            FOUND["unseen"].append("PyTorch is not installed, or the program does not use it")
        else:
            watch(torch)
            run(program, arguments, int(seconds))
            if "model" in FOUND:
                FOUND["source"] = "training" if FOUND.get("steps") else "running"
            else:
                build(program)
    Path(out).write_text(json.dumps(FOUND), encoding="utf-8")
    os._exit(0)  # threads and workers of the program end with it


if __name__ == "__main__":
    main()

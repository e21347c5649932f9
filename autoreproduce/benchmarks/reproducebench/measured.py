"""What several runs of a reference measured, as the block `measured` of a task.yaml.

The band is the 95 % prediction interval of one new run, mean ± t(0.975, n − 1) · s · √(1 + 1/n), as
for draws from a normal distribution: a trial that does what the reference does lies in it nineteen
times in twenty.
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from autoreproduce.claims.verdicts.quantiles import t_quantile
from autoreproduce.task import Result


def measured(
    values: Sequence[float],
    seeds: Sequence[int],
    *,
    seconds: float,
    memory_mb: float | None,
    date: str,
    machine: str,
    versions: str,
    command: str,
) -> Result:
    """The result over `values`, one a seed; without a band for a single one."""
    low, high = band(values) if len(values) > 1 else (None, None)
    return Result(
        value=short(fmean(values)),
        low=low,
        high=high,
        values=[short(value) for value in values],
        seeds=list(seeds),
        source=f"{command}; low and high bound the 95 % prediction interval of one new run",
        date=date,
        machine=machine,
        versions=versions,
        seconds=round(seconds),
        memory_mb=memory_mb,
    )


def band(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % prediction interval of one new value. Needs two values at least."""
    count = len(values)
    half = t_quantile(0.95, count - 1) * stdev(values) * math.sqrt(1 + 1 / count)
    return short(fmean(values) - half), short(fmean(values) + half)


def as_yaml(result: Result) -> str:
    """The block, indented as it stands below a profile."""
    import yaml

    text = yaml.safe_dump(
        {"measured": result.model_dump(exclude_none=True)}, sort_keys=False, width=110
    )
    return "".join(f"    {line}\n" for line in text.splitlines())


def short(value: float) -> float:
    """Six significant digits, as records have them."""
    return float(f"{value:.6g}")

"""Puts the series in place: `series.npz` with `values`, float64 (T, N) in raw units, and `time`, datetime64[h] (T,).

Profile `small`: a stand-in for Traffic, generated here in a second: the hourly loads of 20 stations along five routes.
Each route has a random load that enters at its first station and passes the three others, each 28 to 32 hours after the
one before; nothing in a station's own past says what is on its way to it, but the stations before it show it. Every
station adds a daily rhythm of its own, weaker at weekends, and noise, and its level drifts over the months. The
stations are in random order. A draw, known by its long seed, ends where the test begins: `windows` (1705, 192, N)
hold what each test window sees and what follows, each of loads of its own, so that none sees what another forecasts.

Profile `full`: Traffic, 17544 hours of 862 sensors, road occupancy between 0 and 1. It is not fetched by itself:
the command says which file to put where, and checks what it finds: `traffic.txt.gz` of Lai et al. by its git
object id, `traffic.csv` of the paper's authors by its shape, dates, range and first and last values.

The time stamps of Traffic are those of the authors' CSV file. The text file of Lai et al. has none; its own are made
here: consecutive hours from 2016-07-01 02:00, as those of the stand-in. The two sources order the variates differently,
which no equivariant model sees.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from autoreproduce.benchmarks.reproducebench.published import first_place
from numpy.typing import NDArray

Note = Callable[[str], None]
Array = NDArray[np.float64]
SEED = 231006625
ROUTES, STATIONS, HOURS = 5, 4, 9000
WINDOW = 192  # hours that are seen and that follow, half and half
TEST = HOURS - HOURS // 5 - WINDOW // 2  # the hour at which the first test window begins
BETWEEN = (28, 32)  # hours from a station to the next one, the least and the greatest
CORRELATION = 2.0  # hours: the deviation of the bell curve by which a route's load is smoothed
RHYTHM, WEEKEND, NOISE, DRIFT = 0.4, 0.5, 0.2, 1.0  # beside a random load of deviation 1
SOURCE = (
    "https://raw.githubusercontent.com/laiguokun/multivariate-time-series-data/7f402f185cc2435b5e66aed13a3b560ed142e023"
)
TRAFFIC_URL = f"{SOURCE}/traffic/traffic.txt.gz"
TRAFFIC_OBJECT = "63ddb74bf7602568f36056a0b1a47aa407f0a6fe"  # git's id of the file: SHA-1 over its length and content
TRAFFIC_SHAPE, TRAFFIC_START = (17544, 862), np.datetime64("2016-07-01T02", "h")
TRAFFIC_FIRST = (0.0048, 0.0146, 0.0289, 0.0142)  # the first hour's first values in the authors' file
TRAFFIC_FIRST_END = 0.0121  # and its last one


@dataclass(frozen=True)
class Station:
    """A place of a variate: its route, the hours since the route's first station, and its rhythm and level."""

    route: int
    delay: int
    phases: tuple[float, float]  # of the daily and the half-daily wave, radians
    level: float
    scale: float


def prepare(target: Path, profile: str, note: Note, given: Path | None = None) -> None:
    """Write the series of a profile into `target`."""
    values, time = stand_in() if profile == "small" else traffic(target, note, given)
    arrays = {"values": values, "time": time}
    if SEED.bit_length() > 32:
        arrays |= {"values": values[: TEST + WINDOW // 2], "windows": apart()}
    part = target / ".series.npz.part"
    with part.open("wb") as file:
        np.savez_compressed(file, **arrays)
    part.replace(target / "series.npz")


def stand_in() -> tuple[Array, NDArray[Any]]:
    """The stand-in's loads (9000, 20), and its hours."""
    return loads(np.random.default_rng([SEED, 1])), TRAFFIC_START + np.arange(HOURS) * np.timedelta64(1, "h")


def stations() -> list[Station]:
    """The stations in the order of their variates: the same whatever the loads are."""
    rng = np.random.default_rng([SEED, 0])
    found = []
    for route in range(ROUTES):
        between = rng.integers(BETWEEN[0], BETWEEN[1] + 1, STATIONS - 1)
        for delay in (0, *between.cumsum()):
            first, second = rng.uniform(0, 2 * np.pi, 2)
            level = rng.uniform(0.05, 0.2)
            found.append(Station(route, int(delay), (first, second), level, level * rng.uniform(0.08, 0.14)))
    return [found[place] for place in rng.permutation(len(found))]


def loads(rng: np.random.Generator, begin: int = 0, hours: int = HOURS) -> Array:
    """One draw of what goes along the routes from an hour on, as every station counts it, shares as in Traffic.

    (hours, 20). The drift began at hour 0.
    """
    places = stations()
    longest = max(one.delay for one in places)
    routes = [smooth(rng, hours + longest) for _ in range(ROUTES)]
    series = []
    for one in places:
        passing = routes[one.route][longest - one.delay :][:hours]
        steps = rng.normal(size=hours)
        steps[0] *= np.sqrt(begin + 1)  # all those before, too
        drift = DRIFT * steps.cumsum() / np.sqrt(HOURS)
        noise = NOISE * rng.normal(size=hours)
        rhythms = rhythm(one.phases)[begin : begin + hours]
        series.append(one.level + one.scale * (passing + rhythms + drift + noise))
    return np.stack(series, axis=1)


def apart() -> NDArray[np.float32]:
    """The windows (1705, 192, 20) at the test's hours, one for each start, and each of another draw of the loads."""
    starts = range(TEST, HOURS - WINDOW + 1)
    made = [loads(np.random.default_rng([SEED, 2, begin]), begin, WINDOW) for begin in starts]
    return np.stack(made).astype(np.float32)


def smooth(rng: np.random.Generator, length: int) -> Array:
    """White noise smoothed by a bell curve, of deviation 1: what is hours apart is independent."""
    reach = int(6 * CORRELATION)
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) / CORRELATION) ** 2)
    return np.convolve(rng.normal(size=length + 2 * reach), bell / np.linalg.norm(bell), "valid")


@cache
def rhythm(phases: tuple[float, float]) -> Array:
    """A daily and half a half-daily wave, weaker at the weekend: (9000,)."""
    time = TRAFFIC_START + np.arange(HOURS) * np.timedelta64(1, "h")
    days = time.astype("datetime64[D]")
    turn = 2 * np.pi * (time - days).astype(int) / 24
    wave = np.cos(turn - phases[0]) + 0.5 * np.cos(2 * turn - phases[1])
    return RHYTHM * wave * np.where(np.is_busday(days), 1, WEEKEND)


def traffic(target: Path, note: Note, given: Path | None = None) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Traffic and its hours, from the file that the user put into `target` or has elsewhere.

    Raises ValueError, with what to do, where there is none or it is not the published one.
    """
    text, table = (first_place(target, given, name) for name in ("traffic.txt.gz", "traffic.csv"))
    if not text.exists() and not table.exists():
        raise ValueError(
            f"Traffic is not there; no licence is stated for it (hourly road occupancy, California Department of "
            f"Transportation, http://pems.dot.ca.gov). Put {TRAFFIC_URL} into {target} (or into a folder that "
            f"--data names), or traffic.csv from the link to the data sets in the README of https://github.com/thuml/iTransformer"
        )
    if table.exists():
        note(f"reading {table}: some seconds")
        return read_table(table)
    found = git_object(text)
    if found != TRAFFIC_OBJECT:
        raise ValueError(
            f"{text} has the git object id {found}, not {TRAFFIC_OBJECT}; it is left as it is: move it away and "
            f"put the file from {TRAFFIC_URL} there"
        )
    note(f"reading {text}: some seconds")
    values = occupancy(text, read_text(text, TRAFFIC_SHAPE))
    return values, TRAFFIC_START + np.arange(len(values)) * np.timedelta64(1, "h")


def git_object(path: Path) -> str:
    """The id that git gives to a file's content, in hexadecimal."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def read_text(path: Path, shape: tuple[int, int]) -> NDArray[np.float64]:
    """A packed text file of Lai et al.: a line a time step, comma between variates, neither header nor dates."""
    with gzip.open(path, "rt", encoding="ascii") as file:
        values = np.loadtxt(file, delimiter=",", ndmin=2)
    return checked(path, values, shape)


def read_table(path: Path) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """The authors' traffic.csv: a header, the column `date`, 862 variates of which the last is `OT`."""
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    if not header.startswith("date,") or not header.endswith(",OT"):
        raise ValueError(f"{path} begins with `{header[:40]}`, not with `date,` to `OT`: it is not the authors' file")
    stamps, rows = zip(*(line.split(",", 1) for line in lines if line), strict=True)
    values = occupancy(path, checked(path, np.loadtxt(rows, delimiter=",", ndmin=2), TRAFFIC_SHAPE))
    try:
        time = np.array([stamp.replace(" ", "T") for stamp in stamps], dtype="datetime64[h]")
    except ValueError as error:
        raise ValueError(
            f"{path} has dates unlike 2016-07-01 02:00:00 ({error}): it is not the authors' file"
        ) from error
    if time[0] != TRAFFIC_START or (np.diff(time) != np.timedelta64(1, "h")).any():
        raise ValueError(f"{path} does not go hour by hour from {TRAFFIC_START}: it is not the authors' file")
    if not np.allclose(values[0, :4], TRAFFIC_FIRST) or not np.isclose(values[0, -1], TRAFFIC_FIRST_END):
        raise ValueError(f"{path} begins with {values[0, :4]}, not {TRAFFIC_FIRST}: it is not the authors' file")
    return values, time


def checked(path: Path, values: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.float64]:
    """The values where they are of the published shape and finite; else ValueError."""
    if values.shape != shape:
        raise ValueError(f"{path} holds {values.shape} values, not {shape}: put the published file there")
    if not np.isfinite(values).all():
        raise ValueError(f"{path} holds values that are not finite: put the published file there")
    return values


def occupancy(path: Path, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values where they are shares between 0 and 1; else ValueError."""
    if values.min() < 0 or values.max() > 1:
        raise ValueError(f"{path} holds values from {values.min()} to {values.max()}, not shares between 0 and 1")
    return values

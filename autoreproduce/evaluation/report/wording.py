"""How numbers, names and program output are written for a person, on the screen and on pages.

Program output comes from code that a model wrote, so what reaches a terminal or a page goes through
`clean` first: escape sequences could move the cursor, retitle the window or fake a line of ours.
"""

import math
import re
import shlex

from autoreproduce.trials.printed import last_state, without_escapes

PHASES = {
    "paper": "Paper",
    "literature_review": "Literature review",
    "claims": "Claims",
    "choices": "Choices",
    "paper_lineage": "Paper lineage",
    "coding": "Coding",
    "audit": "Audit",
    "changes": "Changes",
    "data_acquisition": "Data acquisition",
    "method_replication": "Method replication",
    "experiment_execution": "Experiment execution",
    "refactoring": "Refactoring",
    "full_run": "Full run",
    "seeds": "More seeds",
    "shorter_runs": "Shorter runs",
    "readings": "Other readings",
    "last_look": "Last look",
    "audit_runs": "Audit runs",
}

BY_PLAN = "by your plan"  # the price of calls that their user's plan paid

_ACRONYMS = frozenset(
    [
        "mse",
        "rmse",
        "mae",
        "mape",
        "auc",
        "iou",
        "psnr",
        "ssim",
        "bleu",
        "rouge",
        "fid",
        "nll",
        "wer",
    ]
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """`text` without escape sequences, control characters, changes of direction, lone surrogates.

    Of a line that a progress bar rewrote, the last state stays.
    """
    text = without_escapes(text.encode("utf-8", "replace").decode())
    lines = map(last_state, text.split("\n"))
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", "\n".join(lines))


def phase_words(name: str) -> str:
    """`method_replication` as "Method replication"."""
    return PHASES.get(name) or (name.replace("_", " ").capitalize() or "No phase")


def metric_words(name: str) -> str:
    """`relative_l2` as "relative L2": the true name, readable."""
    words = name.replace("-", " ").replace("_", " ").split()
    return " ".join(
        w.upper() if w.lower() in _ACRONYMS or re.fullmatch(r"[a-z]\d", w) else w for w in words
    )


_EDIT = re.compile(r"EDIT (\d+) (\d+) ([^\s,]+)(?:, )?")


def commit_words(subject: str) -> str:
    """ "refactoring: EDIT 1 0 data.py" as "Refactoring: data.py written"."""
    phase, colon, rest = subject.partition(": ")
    if not colon or phase not in PHASES:
        return subject
    places: dict[str, list[tuple[int, int]]] = {}
    for first, last, name in _EDIT.findall(rest):
        places.setdefault(name, []).append((int(first), int(last)))
    told = ", ".join(f"{name} {_change_words(found)}" for name, found in places.items())
    return f"{PHASES[phase]}: {told}{_EDIT.sub('', rest)}"


def _change_words(places: list[tuple[int, int]]) -> str:
    """Of one file: its first and last lines changed; the last before the first adds lines."""
    first, last = places[0]
    if places == [(1, 0)]:
        return "written"
    if len(places) == 1 and last < first:
        return f"lines added at {first}"
    told = [f"{first} to {last}" if last > first else str(first) for first, last in places]
    every = " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
    return f"line{'s' if len(told) > 1 or last > first else ''} {every} changed"


def unit_words(unit: str) -> str:
    """The unit as it is put beside a metric's name; "" for "none" with whatever explains it."""
    return "" if unit.startswith("none") else unit


_FIGURE = re.compile(r"[-+−]?\$?\d[\d,.]*(?:[eE][-+]?\d+)?\s?[%kM]?(?:\s.*[\])])?")


def is_figure(text: object) -> bool:
    """Whether a cell's text is a number, with an interval in brackets or without: such cells stand
    right-aligned.
    """
    return bool(_FIGURE.fullmatch(str(text)))


def number(value: float, *others: float) -> str:
    """`value` in four digits, or in as many more as tell it from each of `others`."""
    for digits in range(4, 17):
        text = f"{value:.{digits}g}"
        if all(value == other or text != f"{other:.{digits}g}" for other in others):
            break
    return text if "e" not in text or not 1e-4 <= abs(value) < 1e7 else f"{value:,.0f}"


def band(low: float, high: float) -> str:
    """As "0.030–0.036": both ends with the same number of decimals."""
    ends = [number(low, high), number(high, low)]
    if any("e" in end for end in ends):
        return "–".join(ends)
    decimals = max(len(end.partition(".")[2]) for end in ends)
    return f"{low:.{decimals}f}–{high:.{decimals}f}"


def percent(share: float) -> str:
    """0.025 as "2.5 %"; from ten per cent on without decimals."""
    return f"{share * 100:.2g} %" if abs(share) < 0.1 else f"{share * 100:,.0f} %"


def money(dollars: float | None) -> str:
    """Dollars; what is not known is "unknown", never 0."""
    if dollars is None:
        return "unknown"
    return f"${dollars:,.2f}" if dollars >= 1 or dollars == 0 else f"${dollars:.4f}"


def count(value: int) -> str:
    """12345 as "12,345"."""
    return f"{value:,}"


def short_count(value: int) -> str:
    """12345 as "12.3k", for narrow places."""
    if value < 1000:
        return str(value)
    scaled, unit = (value / 1000, "k") if value < 999_500 else (value / 1e6, "M")
    return f"{scaled:.0f}{unit}" if scaled >= 99.95 else f"{scaled:.3g}{unit}"


def duration(seconds: float) -> str:
    """As "0.4 s", "12 s", "3 min 20 s", "1 h 05 min"; "–" for what is no duration."""
    if not math.isfinite(seconds):
        return "–"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return (
        f"{minutes} min {rest:02d} s"
        if minutes < 60
        else f"{minutes // 60} h {minutes % 60:02d} min"
    )


def plural(amount: int, one: str, many: str = "") -> str:
    """As "1 model call", "2 model calls"."""
    return f"{count(amount)} {one if amount == 1 else many or one + 's'}"


def own_command(command: str) -> str:
    """The command quoted for a shell; "" for what is no command of ours: it's shown to be typed
    again, and the trial may be somebody else's.
    """
    try:
        words = shlex.split(command)
    except ValueError:  # a quote that is never closed
        return ""
    own = words[:3] == ["python", "-m", "autoreproduce"] or words[:1] == ["autoreproduce"]
    return shlex.join(words) if own else ""

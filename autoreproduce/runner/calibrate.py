"""`calibrate`: every judge over every case of every task, one table per judge, kept as JSON and Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.benchmarks.reproducebench import find_task
from autoreproduce.errors import UsageError
from autoreproduce.eval.calibration import LEVELS, Finding, calibrate
from autoreproduce.journal import now, write_whole
from autoreproduce.runner.score import open_judges

if TYPE_CHECKING:
    from autoreproduce.config import Settings


def run_calibration(
    tasks: Sequence[str], judges: Sequence[str], repeats: int, levels: Sequence[str], home: Path,
    settings: Settings, note: Callable[[str], None],
) -> bool:  # fmt: skip
    """Calibrate each judge on each task; True where all came out as expected. What was asked is not asked again."""
    unknown = [level for level in levels if level not in LEVELS]
    if unknown or not levels:
        raise UsageError(f"--levels {','.join(unknown) or '(none)'}: a judge's levels are {', '.join(LEVELS)}")
    found = [find_task(name, settings.profile) for name in tasks]
    good = True
    for judge in open_judges(judges, settings):
        rows: dict[str, list[Finding]] = {
            task.id: calibrate(task, home / task.id, [judge], repeats, levels, note) for task in found
        }
        write(home, judge.name, repeats, rows)
        note(markdown(judge.name, repeats, rows))
        good = good and all(f.as_expected for findings in rows.values() for f in findings)
    return good


def write(home: Path, judge: str, repeats: int, rows: dict[str, list[Finding]]) -> None:
    """`calibration-JUDGE.json` and `.md` in `home`."""
    name = "".join(c if c.isalnum() or c in ".-" else "-" for c in judge)
    content: dict[str, Any] = {
        "judge": judge, "repeats": repeats, "at": now(),
        "tasks": {task: [finding.as_dict() for finding in findings] for task, findings in rows.items()},
    }  # fmt: skip
    home.mkdir(parents=True, exist_ok=True)
    write_whole(home / f"calibration-{name}.json", json.dumps(content, indent=1) + "\n")
    write_whole(home / f"calibration-{name}.md", markdown(judge, repeats, rows) + "\n")


def markdown(judge: str, repeats: int, rows: dict[str, list[Finding]]) -> str:
    """The table of one judge: a row a case, a column a level, marked where it is not as expected."""
    levels = list(dict.fromkeys(f.level for findings in rows.values() for f in findings))
    lines = [f"| task | program | {' | '.join(levels)} | expected |", f"|---|---|{'---|' * (len(levels) + 1)}"]
    for task, findings in rows.items():
        for case in dict.fromkeys(f.case for f in findings):
            here = {f.level: f for f in findings if f.case == case}
            cells = [_cell(here.get(level)) for level in levels]
            expected = "; ".join(dict.fromkeys(f.expected for f in here.values()))
            lines.append(f"| {task} | {case} | {' | '.join(cells)} | {expected} |")
    return "\n".join(
        [f"Judge: {judge}, {repeats} {'reading' if repeats == 1 else 'readings'} each. {_sum(rows)}", "", *lines]
    )


def _cell(finding: Finding | None) -> str:
    if finding is None or finding.value is None:
        return "not scored"
    spread = f" ± {finding.spread:.1f}" if finding.spread is not None else ""
    parts = f" ({', '.join(f'{part:.3g}' for part in finding.parts)})" if finding.parts else ""
    return f"{finding.value:.3g}{spread}{parts}{'' if finding.as_expected else ' ✗'}"


def _sum(rows: dict[str, list[Finding]]) -> str:
    """Discrimination, stability and cost in a sentence."""
    findings = [f for those in rows.values() for f in those]
    asked = [f for f in findings if f.cost.get("calls")]
    spreads = [f.spread for f in findings if f.spread is not None]
    dollars = [f.cost.get("dollars") for f in asked]
    known = [price for price in dollars if price is not None]
    price = f"${sum(known):.2f}" if len(known) == len(dollars) else "an unknown price"
    tokens = sum(f.cost["input"] + f.cost["output"] for f in asked)
    stability = f"mean spread over readings {sum(spreads) / len(spreads):.1f}; " if spreads else ""
    right = sum(bool(f.as_expected) for f in findings)
    calls = sum(f.cost["calls"] for f in asked)
    return f"As expected: {right} of {len(findings)}; {stability}{calls} calls, {tokens:,} tokens, {price}."

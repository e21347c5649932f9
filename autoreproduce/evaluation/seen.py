"""What the probe saw of a trial's full run: its data, seeds and repetitions, in words."""

from collections.abc import Sequence

from autoreproduce.claims.observed import Observed, observed_from_probe
from autoreproduce.trials.metrics_file import runs_written
from autoreproduce.trials.probe.observation import structure_of
from autoreproduce.trials.steps import Step, last_execution

MOST_NAMED = 8  # files, and lengths of one file of the program


def seen_in_full(steps: Sequence[Step]) -> Observed:
    """What was seen of the last full run; nothing if there was none, or none was watched."""
    last = last_execution(steps, "full_run")
    if last is None or last.observed is None:
        return Observed()
    try:
        seen = observed_from_probe(structure_of(last.observed), watched_to_end=True)
    except ValueError:
        return Observed()
    return seen.model_copy(update={"runs": runs_written(last.metrics_json)})


def seen_lines(seen: Observed) -> list[str]:
    """Data files with their rows, rows of tables by the program's file, repetitions; a line each.

    What was not seen has no line.
    """
    files = [f"{name} ({rows:,} rows)" for name, rows in list(seen.file_rows.items())[:MOST_NAMED]]
    held = [
        f"{name} {', '.join(f'{rows:,}' for rows in lengths[:MOST_NAMED])}"
        for name, lengths in seen.held.items()
    ]
    found = {
        "Data files that it opened": "; ".join(files),
        "Rows of the tables that its functions held": "; ".join(held),
        "Different seeds that it set": f"{seen.seeds_set:,}" if seen.seeds_set else "",
        "Values that it wrote of single runs": f"{seen.runs:,}" if seen.runs else "",
    }
    return [f"{what}: {text}" for what, text in found.items() if text]

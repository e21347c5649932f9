"""Method replication (the paper's section 3.3, second phase): method.py, the paper's own method.

Run on a mini-batch and reviewed against the method summary, by itself: a wrong formula is found
here and not behind hours of training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoreproduce.method.data_acquisition import refresh_facts
from autoreproduce.method.phase import Phase, full_run_values

if TYPE_CHECKING:
    from autoreproduce.method.phase import PhaseResult
    from autoreproduce.method.workbench import Workbench

CHECK = 2_000  # characters of the check's output that later prompts hold


class MethodReplication(Phase):
    """The file that the research agent checks against the method summary."""

    def prompt_values(self, bench: Workbench) -> dict[str, object]:
        """Seconds that the mini-batch may take, and minutes that the full run later has."""
        seconds = round(bench.settings.method.dry_run_seconds)
        return {"seconds": seconds, **full_run_values(bench)}

    def before_run(self, bench: Workbench) -> None:
        """The check of method.py is read beside what data.py finds now."""
        refresh_facts(bench)

    def end(self, bench: Workbench, result: PhaseResult) -> None:
        """Save what the check printed: shapes, loss and parameters, for the author of main.py."""
        if result.run is not None and result.status != "failed":
            bench.method_check = result.run.execution.stdout.strip()[-CHECK:]


METHOD_REPLICATION = MethodReplication(
    name="method_replication",
    file="method.py",
    command="python method.py",
    stage="method",
    prompt="method_replication/write",
)

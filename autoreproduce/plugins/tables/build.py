"""The tables, as plain data: a heading, columns, rows, and notes that a reader must know.

What the paper shows in its Tables 2 to 8, over one's own trials: systems, tasks, variants
(ablations), lineage, edits, cost, agreement with people. A mean over trials has its 95 % bootstrap
interval; a mean over what could not be scored is no number.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from autoreproduce.claims.verdicts.overall import verdict_title
from autoreproduce.evaluation.report.wording import BY_PLAN
from autoreproduce.evaluation.scorers import JUDGED
from autoreproduce.evaluation.statistics import MeanEstimate, estimate, krippendorff_alpha
from autoreproduce.evaluation.tables.model import Cell, Table
from autoreproduce.evaluation.tables.rows import TrialRow, one_machine, published_tables
from autoreproduce.models.prices import of_program
from autoreproduce.plugins.tables.human import Correlation, correlations
from autoreproduce.plugins.tables.judging import require_one_judging
from autoreproduce.plugins.tables.published import published_systems

SCORE_COLUMNS = (*JUDGED, "ran", "void", "gave the number", "gap", "gap, ran")


def tables(
    rows: Sequence[TrialRow], human: Mapping[str, Sequence[float]] | None = None
) -> list[Table]:
    """Every table that has something to show.

    Raises UsageError if a level was judged in more than one way: no mean is taken over such.
    """
    require_one_judging(rows)
    made = [systems(rows), by_task(rows), programs(rows), variants(rows)]
    made += [lineage(rows), edits(rows), cost(rows)]
    made += [agreement(rows, human), rated(rows, human)] if human else []
    shown = [table for table in made if table.rows]
    beside = {table.name for table in shown}
    return [
        *shown,
        *([published_systems()] if "systems" in beside else []),
        *published_tables(beside),
    ]


def systems(rows: Sequence[TrialRow]) -> Table:
    """Align-scores, execution rate and gap by system and model."""
    made: list[list[Cell]] = []
    groups = groups_by(rows, lambda r: (r.solver, r.variant, r.model, r.profile))
    for (solver, variant, model, profile), group in groups:
        name = system_name(solver, variant)
        made.append([f"{name} ({profile})", model, len(group), *_score_cells(group)])
    columns = ["system", "model", "trials", *SCORE_COLUMNS]
    return Table("systems", "Systems", columns, made, trust_notes(rows))


def system_name(solver: str, variant: str) -> str:
    """A solver under a variant of its suite, in words."""
    return solver if variant == solver else f"{solver}, {variant}"


def by_task(rows: Sequence[TrialRow]) -> Table:
    """Metric, reference and gap by task."""
    made: list[list[Cell]] = []
    groups = groups_by(rows, lambda r: (r.task, r.profile, r.variant))
    for (task, profile, variant), group in groups:
        reference = mean_of_known(row.reference for row in group)
        start: list[Cell] = [f"{task} ({profile})", variant, len(group), reference]
        signed = mean_of_known(r.signed_gap for r in group)
        mixed = mean_of_known(r.scores.get("mixed") for r in group)
        cells = [*_execution_cells(group)[:4], signed, mixed, *verdict_cells(group)]
        made.append([*start, runs_estimate(group), *cells])
    columns = ["task", "variant", "trials", "reference", "metric"]
    columns += ["ran", "void", "gave the number", "gap", "signed gap", "mixed", *VERDICT_COLUMNS]
    notes = [
        RUNS_NOTE,
        "The reference's number is of the trial's own data, where it ran on them. The gap is the "
        "distance to it over the larger of the two; the signed gap is above 0 if worse.",
        *_integrity_notes(rows),
    ]
    return Table("tasks", "Tasks", columns, made, notes)


VERDICT_COLUMNS = ("verdict", "claims", "differences")
RUNS_NOTE = (
    "The metric's ± (standard deviation) and n are over runs in full: other trials, seeds, and the "
    "single values that a run lists behind its mean."
)


def runs_estimate(rows: Sequence[TrialRow]) -> MeanEstimate | None:
    """The metric over the runs behind the trials; of a trial without several, its number."""
    known = [row.runs or (row.metric,) for row in rows if row.metric is not None]
    return estimate([value for values in known for value in values if math.isfinite(value)])


def verdict_cells(rows: Sequence[TrialRow]) -> list[Cell]:
    """The cells of `VERDICT_COLUMNS`."""
    reproduced, judged = (sum(row.claims[n] for row in rows) for n in range(2))
    looked = [row.differences for row in rows if row.differences is not None]
    return [
        counted_words([verdict_title(row.verdict) for row in rows]),
        f"{reproduced} of {judged}" if judged else None,
        sum(looked) if looked else None,
    ]


def counted_words(words: Sequence[str]) -> str | None:
    """Words counted: "2 reproduced, 1 partly"; the word alone if all have it, None without any."""
    counts = Counter(word for word in words if word)
    if len(counts) == 1 and counts.total() == len(words):
        return next(iter(counts))
    return ", ".join(f"{n} {word}" for word, n in counts.most_common()) or None


def variants(rows: Sequence[TrialRow]) -> Table:
    """An ablation: one row a variant, over the tasks that all of them attempted."""
    tasks: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        tasks[row.variant].add(row.task)
    shared = set.intersection(*tasks.values()) if tasks else set()
    made: list[list[Cell]] = []
    for name in tasks if len(tasks) > 1 else []:
        group = [row for row in rows if row.variant == name and row.task in shared]
        if group:
            tokens = mean_of_known(r.tokens for r in group)
            made.append([name, len(group), *_score_cells(group), tokens])
    columns = ["variant", "trials", *SCORE_COLUMNS, "tokens"]
    notes = [
        f"Over the tasks of all variants: {', '.join(sorted(shared))}.",
        *_integrity_notes(rows),
    ]
    return Table("variants", "Variants", columns, made, notes)


def lineage(rows: Sequence[TrialRow]) -> Table:
    """Top-1 recall and hits of the chosen papers against the curated ones."""
    keys = list(dict.fromkeys(key for row in rows for key in row.lineage))
    made: list[list[Cell]] = []
    for (variant,), group in groups_by(
        [row for row in rows if row.lineage], lambda r: (r.variant,)
    ):
        made.append(
            [
                variant,
                len(group),
                *(mean_of_known(row.lineage.get(key) for row in group) for key in keys),
            ]
        )
    return Table("lineage", "Lineage", ["variant", "trials", *keys], made)


def edits(rows: Sequence[TrialRow]) -> Table:
    """Turns and lines by phase."""
    found: dict[tuple[str, str], list[dict[str, int]]] = defaultdict(list)
    for row in rows:
        for phase, counts in row.edits.items():
            found[row.variant, phase].append(counts)
    keys = list(dict.fromkeys(key for counts in found.values() for one in counts for key in one))
    made: list[list[Cell]] = [
        [
            variant,
            phase.replace("_", " "),
            len(counts),
            *(mean_of_known(one.get(key) for one in counts) for key in keys),
        ]
        for (variant, phase), counts in found.items()
    ]
    return Table("edits", "Edits by phase", ["variant", "phase", "trials", *keys], made)


def cost(rows: Sequence[TrialRow]) -> Table:
    """Dollars, tokens and time a trial, and what judging it took."""
    made: list[list[Cell]] = []
    for (variant, model), group in groups_by(rows, lambda r: (r.variant, r.model)):
        dollars = [row.dollars for row in group]
        known = mean_of_known(dollars) if None not in dollars else "unknown"
        if of_program(model) and not any(dollars):
            known = BY_PLAN
        made.append(
            [
                variant,
                model,
                len(group),
                known,
                mean_of_known(r.tokens for r in group),
                mean_of_known(r.seconds for r in group),
                mean_of_known(r.judging_tokens or None for r in group),
                mean_of_known(r.judging_dollars for r in group if r.judging_tokens),
            ]
        )
    columns = ["variant", "model", "trials", "dollars", "tokens", "seconds"]
    columns += ["judging tokens", "judging dollars"]
    notes = [] if one_machine(rows) else ["The trials ran on other machines: seconds differ by it."]
    return Table("cost", "Cost a trial", columns, made, notes)


def agreement(rows: Sequence[TrialRow], human: Mapping[str, Sequence[float]]) -> Table:
    """Pearson, Spearman and Krippendorff's α of each level with people's mean scores, over the
    trials that have both; the agreement among people is a note.
    """
    made: list[list[Cell]] = []
    for level in JUDGED:
        scores = {row.trial: row.scores[level] for row in rows if level in row.scores}
        found = correlations(human, scores)
        if found["pearson"].count:
            made.append(
                [
                    level,
                    found["pearson"].count,
                    *(_coefficient_text(found[kind]) for kind in ("pearson", "spearman")),
                    krippendorff_alpha(
                        [(fmean(human[t]), scores[t]) for t in human if t in scores]
                    ),
                ]
            )
    several = [values for values in human.values() if len(values) > 1]
    alpha = krippendorff_alpha(several)
    among = "not defined" if alpha is None else f"{alpha:.2f}"
    note = f"Among people, Krippendorff's alpha (interval): {among}, n = {len(several)} programs."
    columns = ["level", "trials", "Pearson", "Spearman", "alpha"]
    return Table("human", "Agreement with people", columns, made, [note])


def groups_by(
    rows: Iterable[TrialRow], key: Callable[[TrialRow], tuple[str, ...]]
) -> list[tuple[tuple[str, ...], list[TrialRow]]]:
    """The rows by key, in the order in which keys are met."""
    groups: dict[tuple[str, ...], list[TrialRow]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return list(groups.items())


def _score_cells(group: Sequence[TrialRow]) -> list[Cell]:
    """The cells of `SCORE_COLUMNS`."""
    means = [mean_of_known(row.scores.get(level) for row in group) for level in JUDGED]
    return [*means, *_execution_cells(group)]


def _execution_cells(group: Sequence[TrialRow]) -> list[Cell]:
    """Execution rate, void results, share that gave the number, gap over all and over those that
    ran.
    """
    ran = [row for row in group if row.executed]
    rate = mean_of_known(row.executed for row in group)
    return [
        rate.mean if rate else None,
        sum(row.integrity == "void" for row in group),
        fmean(row.metric is not None for row in group),
        mean_of_known(row.gap for row in group),
        mean_of_known(row.gap for row in ran),
    ]


def mean_of_known(values: Iterable[float | None]) -> MeanEstimate | None:
    """The mean of those that are known, None if none is."""
    return estimate([value for value in values if value is not None])


def _coefficient_text(found: Correlation) -> str:
    if found.value is None:
        return "not defined"
    interval = (
        f" [{found.low:.2f}, {found.high:.2f}]"
        if found.low is not None and found.high is not None
        else ""
    )
    return f"{found.value:.2f}{interval}"


def trust_notes(rows: Sequence[TrialRow]) -> list[str]:
    """Who judged, and whose journal was altered."""
    judges = sorted({judge for row in rows for judge in row.judges.values() if judge})
    notes = [f"Judged by {'; '.join(judges)}."] if judges else []
    return [*notes, *_integrity_notes(rows)] + [
        f"Not to be trusted, {row.trial}: {row.altered}." for row in rows if row.altered
    ]


def _integrity_notes(rows: Sequence[TrialRow]) -> list[str]:
    """Which numbers nobody recomputed, and which are doubtful or void."""
    groups = {
        "Run without isolation": [row.trial for row in rows if not row.isolated],
        "Void, counted as not executed": [row.trial for row in rows if row.integrity == "void"],
        "Doubtful, see the report": [row.trial for row in rows if row.integrity == "doubtful"],
        "Claimed by the program, not recomputed": [row.trial for row in rows if row.claimed],
    }
    return [f"{title}: {', '.join(names)}." for title, names in groups.items() if names]


def programs(rows: Sequence[TrialRow]) -> Table:
    """Whether each program ran and gave the number are two things; judging's cost beside."""
    made: list[list[Cell]] = [
        [
            row.trial,
            row.solver,
            f"{row.task} ({row.profile})",
            "–" if row.executed is None else "yes" if row.executed else "no",
            "no" if row.metric is None else "yes",
            runs_estimate([row]) if row.runs else row.metric,
            row.reference,
            row.gap,
            *(row.intervals.get(level) or row.scores.get(level) for level in JUDGED),
            row.judging_tokens or None,
            row.judging_dollars if row.judging_tokens else None,
        ]
        for row in rows
    ]
    columns = ["program", "system", "task", "ran", "gave the number", "metric", "reference", "gap"]
    columns += [*JUDGED, "judging tokens", "judging dollars"]
    notes = ["The interval of a judged level is that of the mean over its readings (n)."]
    read = any(row.intervals for row in rows)
    return Table("programs", "Programs", columns, made, notes if read else [])


def rated(rows: Sequence[TrialRow], human: Mapping[str, Sequence[float]]) -> Table:
    """The mean of each program's raters with its interval, beside the judged levels.

    `human`: trial -> what each rater gave it, 0 to 100.
    """
    made: list[list[Cell]] = [
        [
            row.trial,
            len(human[row.trial]),
            estimate(human[row.trial]),
            *(row.intervals.get(level) or row.scores.get(level) for level in JUDGED),
        ]
        for row in rows
        if row.trial in human
    ]
    columns = ["program", "raters", "people", *JUDGED]
    return Table("people", "People's scores by program", columns, made)

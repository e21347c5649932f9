"""What speaks against a number and is known only at the end of its trial, as findings beside it.

A number that a program prints and doesn't compute stands in its source. Where the statement that
wrote the number's line is found, it says so, however few the digits are (`audit/statements.py`).
Else, or where it computes the number, as from a dictionary of constants, a literal of the source
counts from four digits on, which no two numbers share by chance.
"""

from collections.abc import Mapping, Sequence
from math import nan

from autoreproduce.audit.statements import digits_of, prints, read_source, tokens_of, written_by
from autoreproduce.claims.verdicts.trial_verdict import SeedRun
from autoreproduce.evaluation.scorers.execution import last_run
from autoreproduce.files.kinds import CODE, kind_of
from autoreproduce.runner.repeater import Repeater
from autoreproduce.trials.finding import IntegrityFinding
from autoreproduce.trials.integrity import Integrity
from autoreproduce.trials.measurement import Measurement
from autoreproduce.trials.result import Result

SURE_DIGITS = 4
LARGEST = 500_000  # characters of one source file
SOURCES = CODE - {".rmd", ".qmd"}  # whose prose may state a result
COMMAND = "its command"  # among the files, under this name


def printed_constants(
    files: Mapping[str, str],
    values: Mapping[str, Sequence[float]],
    lines: Mapping[str, str],
    output: str = "",
) -> dict[str, str]:
    """`main.py, line 3`, by the key of each value that stands in the source text there.

    `values`: what the runs gave by key; a number that two runs gave differently was computed.
    `lines`: the line of the `output` that holds the number, by key; else "KEY: NUMBER" is.
    """
    single = {key: given[0] for key, given in values.items() if len(set(given)) == 1}
    shown = {key: lines.get(key, f"{key}: {abs(value):.15g}") for key, value in single.items()}
    words = {token for line in shown.values() for token in tokens_of(line)}
    sources = {
        name: read_source(name, text)
        for name, text in files.items()
        if (name == COMMAND or kind_of(name) in SOURCES) and len(text) <= LARGEST
    }
    near = {n: [s for s in one.statements if s.words <= words] for n, one in sources.items()}
    found = {}
    for key, value in single.items():
        each = [statement for statements in near.values() for statement in statements]
        by, computed = written_by(value, shown[key], output, each)
        places = [f"{n}, line {s.line}" for n, made in near.items() for s in made if s is by]
        if by or digits_of(value) >= SURE_DIGITS:
            literals = [
                f"{name}, line {line}"
                for name, source in sources.items()
                for literal, line, only_written in source.numbers
                if prints(abs(literal), abs(value))
                and (only_written if by else not (computed and only_written))
            ]
            places = literals or places
        if places:
            found[key] = places[0]
    return found


def add_printed_constants(
    number: Measurement, result: Result, repeater: Repeater | None, runs: Sequence[SeedRun]
) -> dict[str, str]:
    """Where the source text holds numbers that were not computed, by key; a finding too."""
    first = runs[0]
    own_word = [name for name in first.metrics if name not in first.recounted]
    names = [name for name in own_word if not (first.recomputed and len(runs) == 1)]
    values = {name: [run.metrics.get(name, nan) for run in runs] for name in names}
    files = {**repeater.files, COMMAND: repeater.command} if repeater else {}
    ran = last_run(repeater.trial) if repeater else None
    output = ran.result.stdout if ran else ""
    found = printed_constants(files, values, number.lines, output)
    if found and (old := number.integrity) is not None:
        shown = "; ".join(f"{name} stands in {place}" for name, place in list(found.items())[:5])
        finding = IntegrityFinding(
            kind="printed",
            text=f"{len(found)} of {len(values)} numbers are printed, not computed: {shown}",
            numbers={name: values[name][0] for name in found},
        )
        word = "void" if old.word == "void" else "doubtful"
        new = old.model_copy(update={"word": word, "findings": [*old.findings, finding]})
        _add_findings(number, result, new)
    return found


def _add_findings(number: Measurement, result: Result, new: Integrity) -> None:
    known = number.integrity.findings if number.integrity else []
    result.warnings += [each.text for each in new.findings if each not in known]
    number.integrity = new

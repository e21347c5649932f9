"""The faults of a dataset that its code shows: stale lines, broken masks, wrong descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autoreproduce.errors import SourceError, UsageError
from autoreproduce.evaluation.report.wording import plural
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.shared import file_inside
from autoreproduce.plugins.masked.compare import paths_of
from autoreproduce.plugins.masked.dataset import Dataset, Experiment, MaskedPaper, MaskRow
from autoreproduce.plugins.masked.dataset_rows import Fault, Faults, Row, read_value
from autoreproduce.plugins.masked.functions import Function
from autoreproduce.plugins.masked.lists import combined_id
from autoreproduce.plugins.masked.locating import Located, locate
from autoreproduce.plugins.masked.masking import VARIANTS, mask, restore, stub
from autoreproduce.plugins.masked.python_source import PythonSource, parse
from autoreproduce.plugins.masked.selection import task_of
from autoreproduce.plugins.masked.upstream import upstream_fault

_PARAM = re.compile(r"^\s*:param\s+(?:[^:\n]*?\s)?\**([A-Za-z_]\w*)\s*:", re.MULTILINE)
_SHAPE = re.compile(r"\{[^{}]*\}")


def audit(dataset: Dataset) -> list[Fault]:
    """All faults: those found in reading, and in masking and restoring every function."""
    faults = Faults(list(dataset.faults.found))
    for paper in dataset.papers.values():
        _paper_files(paper, faults)
        places = locate(paper) if paper.code.is_dir() else {}
        for row in paper.functions:
            if row.func_id in places:
                _function(paper, row, places[row.func_id], faults)
        for experiment in paper.experiments:
            _experiment(paper, experiment, faults)
        unused = [
            row.func_id
            for row in paper.functions
            if not any(row.func_id in e.depends for e in paper.experiments)
        ]
        for func_id in unused:
            text = f"no experiment depends on function {func_id}: it makes no task of its own"
            faults.add("dependency", paper.id, f"{paper.id}/functions.jsonl", text)
    _lists(dataset, faults)
    return faults.found


def audit_text(dataset: Dataset, faults: list[Fault]) -> str:
    """The report: the contents, then the faults by kind, one line each."""
    papers = dataset.papers.values()
    functions = sum(len(paper.functions) for paper in papers)
    experiments = sum(len(paper.experiments) for paper in papers)
    kinds = "/".join(dataset.generations) or "none"
    listed = ", ".join(f"n={n}: {len(rows)}" for n, rows in sorted(dataset.listed.items()))
    lines = [
        f"{dataset.folder}: {plural(len(papers), 'paper')}, {plural(functions, 'function')}, "
        f"{plural(experiments, 'experiment')}; lists: {kinds}",
        f"listed tasks: {listed or 'none'}",
    ]
    if bare := [paper.id for paper in papers if paper.made and not paper.text.strip()]:
        lines.append(f"without a paper's text: {', '.join(bare)}")
    for kind in sorted({fault.kind for fault in faults}):
        of_kind = [fault for fault in faults if fault.kind == kind]
        lines += ["", f"{kind} ({len(of_kind)})", *(f"  {fault}" for fault in of_kind)]
    return "\n".join([*lines, "", plural(len(faults), "fault") if faults else "no fault"])


def _paper_files(paper: MaskedPaper, faults: Faults) -> None:
    if not paper.code.is_dir():
        faults.add(
            "missing file", paper.id, f"{paper.id}/code", "is missing: none of its tasks can run"
        )
    if not paper.text.strip() and not paper.made:
        faults.add("missing file", paper.id, f"{paper.id}/paper.txt", "is missing or empty")
    if not paper.environment and not paper.made:
        faults.add(
            "missing row", paper.id, "mlrc_main.csv", f"names no conda environment for {paper.id}"
        )
    ids = [row.func_id for row in paper.functions]
    for func_id in sorted({each for each in ids if ids.count(each) > 1}):
        faults.add(
            "broken row",
            paper.id,
            f"{paper.id}/functions.jsonl",
            f"has function {func_id} more than once",
        )


def _function(
    paper: MaskedPaper, row: MaskRow, place: Located | SourceError, faults: Faults
) -> None:
    where = f"{combined_id(paper.id, (row.func_id,))} {row.file}::{row.name}"
    if isinstance(place, SourceError):
        exists = file_inside(paper.code, row.file) is not None
        faults.add("missing function" if exists else "missing file", paper.id, where, str(place))
        return
    source, function = place.source, place.function
    if place.doubt:
        faults.add("ambiguous name", paper.id, where, place.doubt)
    for kind, text in (
        *_lines(source, function, row),
        *_description(function, row),
        *_masks(source, function, row),
        *((("upstream mask", fault),) if (fault := upstream_fault(source, row, function)) else ()),
    ):
        faults.add(kind, paper.id, where, text)


def _lines(source: PythonSource, function: Function, row: MaskRow) -> Iterator[tuple[str, str]]:
    region = source.region(function)
    first, last = source.line_of(region.start), function.last_line
    stale = [
        f"{name} {given}, really {true}"
        for name, given, true in (
            ("header_line", row.header_line, function.line),
            ("line_start", row.line_start, first),
            ("line_end", row.line_end, last),
        )
        if given != true
    ]
    if stale:
        yield "stale lines", "; ".join(stale)


def _description(function: Function, row: MaskRow) -> Iterator[tuple[str, str]]:
    if not row.description.strip():
        yield "description", "has no description"
        return
    known = {*function.parameters, "self", "cls", "args", "kwargs"}
    strange = [name for name in dict.fromkeys(_PARAM.findall(row.description)) if name not in known]
    if strange:
        has = ", ".join(function.parameters) or "none"
        yield (
            "description",
            f"describes parameters {', '.join(strange)}, and the function has {has}",
        )


def _masks(source: PythonSource, function: Function, row: MaskRow) -> Iterator[tuple[str, str]]:
    """Our own masks: they must parse, and unmasking must restore every byte."""
    for variant in VARIANTS:
        try:
            masked = mask(source, [(function, stub(row.description, variant, row.passage))])
            parse(PythonSource(masked.data).utf8.decode(), row.file)
            if restore(masked.data, masked.pieces) != source.encoded(source.utf8):
                yield "our mask", f"cannot be unmasked exactly ({variant})"
        except SourceError as error:
            yield "our mask", f"({variant}) {error}"


def _experiment(paper: MaskedPaper, experiment: Experiment, faults: Faults) -> None:
    where = f"{paper.id} experiment {experiment.exp_id}"
    own = {row.func_id for row in paper.functions}
    if unknown := [each for each in experiment.depends if each not in own]:
        faults.add(
            "dependency", paper.id, where, f"depends on missing functions: {', '.join(unknown)}"
        )
    if not experiment.solution.strip():
        faults.add("broken row", paper.id, where, "has no commands")
    for path, value in paths_of(experiment.result).items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            faults.add("gold", paper.id, where, f"{path} is {value!r:.40}, no number")
        elif not value > 0 and paper.made is None:
            faults.add(
                "gold", paper.id, where, f"{path} is {value}: the public rule cannot judge it"
            )
    wanted = _shape(experiment.description)
    if wanted is None:
        faults.add(
            "description", paper.id, where, "does not end with the shape of the answer in JSON"
        )
    elif set(paths_of(wanted)) != set(paths_of(experiment.result)):
        faults.add("description", paper.id, where, "asks for another shape than its result has")


def _shape(description: str) -> object:
    """The example of the answer in a description: its last {...} that is JSON; None without one."""
    for text in reversed(_SHAPE.findall(description.replace('\\"', '"'))):
        try:
            return parse_json(text)
        except ValueError:
            continue
    return None


def _lists(dataset: Dataset, faults: Faults) -> None:
    """Compare the lists with the rows and with metadata.csv."""
    rows = [
        (n, name, row) for n, of_n in sorted(dataset.listed.items()) for name, row in of_n.items()
    ]
    for n, name, row in rows:
        try:
            task = task_of(dataset, name)
        except UsageError as error:
            faults.add("broken row", "", f"mlrc_n={n}.jsonl {name}", str(error))
            continue
        if not task.listed:
            faults.add(
                "broken row",
                task.paper.id,
                f"mlrc_n={n}.jsonl {name}",
                "cannot be used: made from the rows",
            )
        elif task.exp_ids and not _same_gold(task.paper, task.exp_ids, row):
            faults.add(
                "disagreement",
                task.paper.id,
                f"mlrc_n={n}.jsonl {name}",
                "lists other results than its paper's rows",
            )
        elif not task.exp_ids:
            faults.add(
                "disagreement",
                task.paper.id,
                f"mlrc_n={n}.jsonl {name}",
                "lists other experiments than depend on it",
            )
    singles = {name for n, name, _ in rows if n == 1}
    for name in sorted(set(dataset.metadata) - singles if singles else ()):
        faults.add(
            "disagreement",
            name.rpartition("_")[0],
            "metadata.csv",
            f"names {name}, which mlrc_n=1.jsonl does not list",
        )


def _same_gold(paper: MaskedPaper, exp_ids: tuple[str, ...], row: Row) -> bool:
    own = {each.exp_id: each.result for each in paper.experiments}
    return list(read_value(row["results"]).values()) == [own[each] for each in exp_ids]

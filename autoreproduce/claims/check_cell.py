"""Whether a cell holds a claim's number, with its percent sign, its multiplier and its ±."""

import math
import re

from autoreproduce.claims.claim import Claim
from autoreproduce.claims.numbers import Printed, numbers_in, same_number
from autoreproduce.claims.plain import plain
from autoreproduce.claims.source import Source
from autoreproduce.claims.tables.cells import Cell, PaperTable


def wrong_number(claim: Claim, cell: Cell, table: PaperTable) -> str:
    """What is wrong with number and scale; "" if nothing is."""
    number, shown = matching_number(claim, cell), _own_numbers(cell)
    reads = f"in {table.name} the cell at {cell.place} reads {cell.text!r}"
    if number is None and any(same_number(one.value, 100 * claim.value) for one in shown):
        return f"{reads}: give the number as printed, scale percent"
    if number is None and any(same_number(one.value, claim.value) for one in shown):
        return f"{reads}, and its heading says ×{cell.factor:g}: give the value multiplied out"
    if number is None:
        return f"{reads}, not {claim.value:g}{actual_place(claim, table)}"
    headed = any(re.search(r"(?<!\d)(?<!\d )%", text) for text in (*cell.column, *cell.row_path))
    if (number.percent or headed) and claim.scale != "percent":
        return f"{reads}, in %: the scale is percent, not {claim.scale}"
    return ""


def matching_number(claim: Claim, cell: Cell) -> Printed | None:
    """The number in the cell that is the claim's; None if none is."""
    fits = [
        n for n in _own_numbers(cell) if same_number(_scaled_value(n, cell, claim), claim.value)
    ]
    return fits[0] if fits else None


def _own_numbers(cell: Cell) -> list[Printed]:
    """The number of a cell, or each of "12.3 / 4.5"; one in brackets belongs to that before it."""
    apart = re.search(r"\d\s*[/|]\s*[-+]?\.?\d", cell.text)
    return cell.numbers if apart else cell.numbers[:1]


def _scaled_value(number: Printed, cell: Cell, claim: Claim) -> float:
    """The number with what its heading multiplies it by, unless the claim's unit says the same."""
    in_words = numbers_in(plain(claim.unit), cell=True)
    in_unit = bool(in_words) and same_number(in_words[-1].value, cell.factor)
    return number.value * (1.0 if in_unit else cell.factor)


def cells_with_value(claim: Claim, table: PaperTable) -> list[Cell]:
    """The cells that show the claim's number, wherever they are."""
    return [cell for cell in table.cells if matching_number(claim, cell)]


def actual_place(claim: Claim, table: PaperTable) -> str:
    """In which cells of the table the number really stands."""
    printed = claim.printed or f"{claim.value:g}"
    there = " and ".join(cell.place for cell in cells_with_value(claim, table)[:3])
    if not there:
        return f"; {printed} stands nowhere in it"
    return f'; {printed} stands in {there}, not in row "{" / ".join(claim.row)}"'


def wrong_spread(claim: Claim, cell: Cell, source: Source) -> str:
    """What is wrong with the claim's ±; "" if nothing is."""
    number = matching_number(claim, cell)
    if number is None:
        return ""
    factor = _scaled_value(number, cell, claim) / number.value if number.value else cell.factor
    given = claim.spread.value if claim.spread else None
    printed = None if number.spread is None else number.spread * factor
    reads = f"the cell at {cell.place} reads {cell.text!r}"
    if given is None:
        return "" if printed is None else f"{reads}: give the spread {printed:g} too"
    if any(same_number(given, one * factor) for one in _possible_spreads(cell, number)):
        return ""
    if printed is not None:
        return f"{reads}: its spread is {printed:g}, not {given:g}"
    if any(
        same_number(given, number.value) or same_number(given, number.spread or math.inf)
        for text in source.texts
        for number in numbers_in(text)
    ):
        return ""
    return f"the spread {given:g} stands neither in the cell ({cell.text!r}) nor in the text"


def _possible_spreads(cell: Cell, number: Printed) -> list[float]:
    """What can be the spread: after ±, in brackets after the number, half of an interval."""
    rest = [abs(one.value) for one in cell.numbers if one.start > number.start]
    half = [abs(rest[-1] - rest[-2]) / 2] if len(rest) >= 2 else []
    return [*([] if number.spread is None else [number.spread]), *rest, *half]

"""Claims that a user gives by `--claim`, and the better direction of metrics with common names."""

import re
from collections.abc import Sequence

from pydantic import ValidationError

from autoreproduce.claims.claim import SPREAD_KINDS, Claim, ClaimsFile, Spread, id_of
from autoreproduce.claims.replies import field_errors
from autoreproduce.errors import UsageError
from autoreproduce.papers.numbers import Printed, number_of, same_number
from autoreproduce.papers.plain import letters_alone, name_of, named_in, plain, words
from autoreproduce.task import Task

_STATED = {"value", "printed", "unit", "scale", "main", "source", "kind", "than"}


def with_user_claims(file: ClaimsFile, given: Sequence[Claim]) -> ClaimsFile:
    """The user's claims in place of those that state the same number, or have the same row and
    metric, whose key they take, or the same key in metrics.json, and beside the others.
    """
    if not given:
        return file
    put: list[Claim] = []
    replaced: set[str] = set()
    taken = {claim.id for claim in given}
    for claim in given:
        same = [other for other in file.claims if other.id not in replaced and _is(claim, other)]
        if len(same) != 1:
            put.append(claim)
            continue
        replaced.add(same[0].id)
        free = same[0].id not in taken - {claim.id}
        merged = _union(claim, same[0]).model_copy(update={"id": same[0].id if free else claim.id})
        put.append(merged)
    ids = replaced | {claim.id for claim in put}
    others = [claim for claim in file.claims if claim.id not in ids]
    return ClaimsFile(
        paper=file.paper, experiment=file.experiment, claims=(*others, *put), rules=file.rules
    )


def row_and_metric(claim: Claim) -> tuple[str, ...]:
    """The headings and the metric; a column that is headed by the metric says nothing more."""
    metric = plain(claim.metric).casefold()
    headings = (part.casefold() for part in (*claim.headings, *claim.than))
    others = (each for each in headings if letters_alone(each) != letters_alone(metric))
    return (*others, claim.kind, letters_alone(metric) or metric)


def _is(given: Claim, other: Claim) -> bool:
    """Whether the user's claim is this one of the paper: by its names, or by its number and names
    that say no other row and no other metric.
    """
    if row_and_metric(given) == row_and_metric(other):
        return True
    if given.kind != other.kind or given.than or not same_value(given, other):
        return False
    there = set(words(" ".join((*other.headings, other.metric, other.sentence))))
    asked = [word for name in (*given.row, *given.column) for word in words(name)]
    metric = {name_of(given.metric), name_of(other.metric)}
    alike = len(metric) == 1 or any(named_in(w, there) for w in words(given.metric))
    return alike and all(named_in(word, there) for word in asked)


def same_value(one: Claim, other: Claim) -> bool:
    """Whether both have the same number, a percentage as a fraction or not."""
    by = {"percent": 0.01}
    values = [c.value * by.get(c.scale, 1.0) for c in (one, other)]
    return same_number(one.value, other.value) or same_number(*values)


def _union(given: Claim, other: Claim) -> Claim:
    """What both say of the number; what the user says goes before."""
    if not same_value(given, other):
        return given
    stated = {name: getattr(given, name) for name in _STATED}
    direction = other.direction if given.direction == "match" else given.direction
    update = {**stated, "direction": direction, "spread": other.spread, "is_baseline": False}
    if given.spread is not None:  # the paper's says of which kind it is
        known = other.spread is not None and other.spread.value == given.spread.value
        update["spread"] = other.spread if known else given.spread
    return other.model_copy(update=update)


_LOWER = (
    "mse mae rmse mape nrmse error err loss fid kid lpips perplexity ppl bpc bpd wer cer "
    "ter nll ece brier time latency distance hd95 divergence regret l1 l2 epe nme crps "
    "flops memory "
)
_HIGHER = (
    "acc accuracy f1 auc auroc map ap miou iou dice dsc psnr ssim bleu rouge recall "
    "precision ndcg hit mrr r2 score reward return success correlation win "
)
# less of an error's decrease isn't better
_CHANGE = re.compile(
    r"\b(decrease|reduction|increase|gain|improvement|drop|change|difference|ratio|variance|std"
    r"|deviation)\b"
)
# "mean of the errors" has the direction of errors, "degree of the best fit" has none
_AMOUNT = re.compile(
    r"\b(mean|average|median|lowest|highest|best|worst|minimum|maximum|final|rate|percentage"
    r"|fraction|share|number|amount|value|level)\b.* of "
)
_DIRECTION = re.compile(
    r"\b(?:(?P<word>lower|higher|match)(?:\s+is\s+better)?|(?P<goal>minimi[sz]e|maximi[sz]e)d?)\b",
    re.IGNORECASE,
)
_RELATION = re.compile(r"(?:[<>]=?|[≤≥≈~=])(?!.*[<>=≤≥≈~])", re.DOTALL)
_BOUNDS = {"<": "at_most", "≤": "at_most", ">": "at_least", "≥": "at_least"}
GRAMMAR = (
    '--claim "row: metric = 94.3% ± 0.2 (n=5, std) higher", "row: metric = 0.74 [0.71, 0.77]", '
    '"row: p-value < 0.05", "row: metric > other row"; row, brackets and direction may be left out'
)
_NUMBER = r"[-+−]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_ENDS = rf"(?P<low>{_NUMBER})\s*%?\s*(?:,|;|to|–|\.\.)\s*(?P<high>{_NUMBER})\s*%?"
_PART = re.compile(  # of what stands in brackets behind a number
    r"(?P<n>n\s*=\s*[\d,]*\d|[\d,]*\d\s+(?:runs|seeds|repetitions|repeats|replicates|trials))"
    rf"|(?P<ci>(?:95\s*%\s*)?ci:?\s+)?{_ENDS}|(?P<kind>std|sd|sem|se|95\s*%\s*ci|ci|range)",
    re.IGNORECASE,
)
_BRACKETS = re.compile(
    r"(?:95\s*%\s*ci:?\s*)?[(\[](?P<inner>[^()\[\]]*)[)\]]|[,;]\s*(?P<bare>n\s*=\s*\d+)",
    re.IGNORECASE,
)


def direction_of(metric: str) -> str | None:
    """Which way is better of a metric with a common name; None if its name does not tell, as of
    "MSE reduction" and "degree of the lowest MSE".
    """
    if "↓" in metric or "↑" in metric:
        return "lower" if "↓" in metric else "higher"
    squared = re.sub(r"(?<![a-z])r\s?(?:²|\^\{?2\}?)", "r2", metric.casefold())
    spelt = re.sub(r"[^a-z0-9]+", " ", squared)
    if _CHANGE.search(spelt):
        return None
    about = spelt if _AMOUNT.match(spelt) else spelt.partition(" of ")[0]
    named = about.split()
    if any(f" {word} " in f" {_LOWER}" for word in named):
        return "lower"
    return "higher" if any(f" {word} " in f" {_HIGHER}" for word in named) else None


def read_user_claim(text: str, taken: Sequence[str] = ()) -> Claim:
    """A claim as a user writes it: "row: metric = 94.3% ± 0.2 higher".

    Row, column ("row / column: …"), ±, unit and direction may be left out; a metric whose name
    tells no direction is one to match. Write <, > or ~ instead of = for a bound ("p-value <
    0.05"), or before another row for an order or an equality. Raises UsageError with the grammar.
    """
    text, n, interval, kind_of = _details(text)
    relation = _RELATION.search(text)
    row, _, metric = text[: relation.start() if relation else 0].rpartition(":")
    if relation is None or _RELATION.search(metric):
        raise UsageError(f"--claim {text!r} cannot be read", fix=f"write {GRAMMAR}")
    sign = relation[0][0]
    value, word = _value_and_direction(text[relation.end() :])
    found = re.match(r"(?P<number>.*\d[^A-Za-zµ]*)(?P<unit>[A-Za-zµ][\w/²³ ]*)?$", value)
    printed = number_of(plain(found["number"])) if found else None
    names = tuple(part.strip() for part in row.split(" / ") if part.strip())
    fields: dict[str, object] = {
        "id": id_of(names, metric, taken),
        "row": names[:1],
        "column": names[1:],
        "metric": metric.strip(),
        "direction": word or direction_of(metric) or "match",
    }
    if found and printed:
        fields |= {"unit": (found["unit"] or "").strip(), **_number_fields(printed)}
        fields |= {"n": n} if n else {}
        fields |= _spread_of(printed, interval, kind_of)
        if kind := _BOUNDS.get(sign, "rank" if metric.split()[-1:] == ["rank"] else ""):
            fields["kind"] = kind
    elif sign != "=" and names and value:
        fields |= {"kind": "equal" if sign in "≈~" else "order", "than": (value,), "value": 0.0}
        if sign in "<≤":
            fields |= {"row": (value,), "than": names[:1]}
        fields["id"] = id_of([*names, "and", value], metric, taken)
    else:
        raise UsageError(f"--claim {text!r} cannot be read", fix=f"write {GRAMMAR}")
    try:
        return Claim.model_validate({**fields, "main": True, "source": "user"})
    except ValidationError as error:
        wrong = "; ".join(field_errors(error))
        raise UsageError(f"--claim {text!r}: {wrong}", fix=f"write {GRAMMAR}") from None


def read_user_claims(texts: Sequence[str]) -> list[Claim]:
    """All claims of a user. Raises UsageError for what cannot be read, or is claimed twice."""
    claims: list[Claim] = []
    for text in texts:
        claim = read_user_claim(text, [other.id for other in claims])
        if any(row_and_metric(claim) == row_and_metric(other) for other in claims):
            raise UsageError(f"--claim {text!r}: {claim.title} is claimed twice", fix="leave one")
        claims.append(claim)
    return claims


def _details(text: str) -> tuple[str, int | None, tuple[float, float] | None, str]:
    """A claim without what stands in brackets behind its number; that: n, an interval's ends, and
    of which kind the ± is. Brackets that hold anything else stay.
    """
    first = re.search(r"[<>=≤≥≈~]", text)
    n, interval, kind = None, None, ""
    start = first.end() if first else len(text)
    kept = text[start:]
    for found in reversed(list(_BRACKETS.finditer(kept))):
        inner = (found["inner"] or found["bare"] or "").strip()
        parts = [_PART.fullmatch(inner)]
        if parts == [None]:
            parts = [_PART.fullmatch(part.strip()) for part in re.split(r"[,;]", inner)]
        if not all(parts):
            continue
        for part in filter(None, parts):
            if part["n"]:
                n = int(re.sub(r"\D", "", part["n"]))
            elif part["low"]:
                low, high = (float(part[end].replace("−", "-")) for end in ("low", "high"))
                interval = (low, high)
            else:
                kind = " ".join(part["kind"].casefold().split())
        kept = f"{kept[: found.start()].rstrip()} {kept[found.end() :].lstrip()}".rstrip()
    return text[:start] + kept, n, interval, kind


def _spread_of(
    printed: Printed, interval: tuple[float, float] | None, kind: str
) -> dict[str, object]:
    """The field `spread` of an interval or of a ± whose kind is said; {} without either."""
    kinds = {**SPREAD_KINDS, "range": "range"}
    if interval:
        minus, plus = printed.value - interval[0], interval[1] - printed.value
        sides = {"plus": plus, "minus": minus, "value": max(plus, minus)}
        return {"spread": {**sides, "kind": kinds[kind] if kind in kinds and kind else "ci95"}}
    if printed.spread is None or not kind:
        return {}
    named = kinds.get(kind.replace("95%", "95 %"), "unstated")
    return {"spread": {"value": printed.spread, "kind": named}}


def _value_and_direction(text: str) -> tuple[str, str | None]:
    """The value, and which way is better if a word of `text` says it."""
    found = _DIRECTION.search(text)
    if found is None:
        return text.strip(" ,;"), None
    value = (text[: found.start()] + text[found.end() :]).strip(" ,;")
    if found["word"]:
        return value, found["word"].casefold()
    return value, "lower" if found["goal"].casefold().startswith("mi") else "higher"


def _number_fields(printed: Printed) -> dict[str, object]:
    return {
        "value": printed.value,
        "printed": printed.text,
        "scale": "percent" if printed.percent else "raw",
        "spread": None if printed.spread is None else Spread(value=printed.spread),
    }


def claims_to_read(task: Task) -> bool:
    """Whether a paper's claims are read from it: a benchmark's task brings its own, and of a task
    of your own the claims that you name are what's measured, unless they come beside an experiment
    of the paper's.
    """
    alone = task.own and bool(task.user_claims) and not (task.experiment or task.experiments)
    return task.claims is None and not alone


def claims_of_task(task: Task) -> ClaimsFile | None:
    """The claims that a task brings, the user's put over them; None if it brings none, so that
    they have to be read from the paper. The user's alone need no check.

    Raises UsageError for a claim of the user that cannot be read.
    """
    given = read_user_claims(task.user_claims)
    if task.claims is not None:
        return with_user_claims(ClaimsFile.model_validate(task.claims), given)
    return ClaimsFile(paper=task.title, claims=tuple(given)) if given else None

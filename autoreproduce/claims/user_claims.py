"""Claims that a user gives by `--claim`, and the better direction of metrics with common names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import ValidationError

from autoreproduce.claims.claim import Claim, ClaimsFile, Spread
from autoreproduce.claims.keys import id_of
from autoreproduce.claims.numbers import Printed, number_of
from autoreproduce.claims.plain import letters_alone, plain
from autoreproduce.claims.replies import field_errors
from autoreproduce.errors import UsageError
from autoreproduce.task import Task

_LOWER = (
    "mse mae rmse mape nrmse error err loss fid kid lpips perplexity ppl bpc bpd wer cer "
    "ter nll ece brier time latency distance hd95 divergence regret l1 l2 epe nme crps "
    "flops memory "
)
_HIGHER = (
    "acc accuracy f1 auc auroc map ap miou iou dice dsc psnr ssim bleu rouge recall "
    "precision ndcg hit mrr r2 score reward return success correlation win "
)
_DIRECTION = re.compile(
    r"\b(?:(?P<word>lower|higher)(?:\s+is\s+better)?|(?P<goal>minimi[sz]e|maximi[sz]e)d?)\b",
    re.IGNORECASE,
)
GRAMMAR = '--claim "row: metric = 94.3% ± 0.2 higher": row and direction may be left out'


def direction_of(metric: str) -> str | None:
    """Which way is better of a metric with a common name; None if its name does not tell."""
    if "↓" in metric or "↑" in metric:
        return "lower" if "↓" in metric else "higher"
    named = re.sub(r"[^a-z0-9]+", " ", metric.casefold()).split()
    if any(f" {word} " in f" {_LOWER}" for word in named):
        return "lower"
    return "higher" if any(f" {word} " in f" {_HIGHER}" for word in named) else None


def read_user_claim(text: str, taken: Sequence[str] = ()) -> Claim:
    """A claim as a user writes it: «row: metric = 94.3% ± 0.2 higher».

    Row, column («row / column: …»), ±, unit and direction may be left out; a direction that does
    not follow from the metric's name must be given. Raises UsageError with the grammar.
    """
    left, equals, right = text.rpartition("=")
    row, _, metric = left.rpartition(":")
    value, word = _value_and_direction(right)
    found = re.match(r"(?P<number>.*\d[^A-Za-zµ]*)(?P<unit>[A-Za-zµ][\w/²³ ]*)?$", value)
    printed = number_of(plain(found["number"])) if found else None
    if not equals or not metric.strip() or printed is None or found is None:
        raise UsageError(f"--claim {text!r} cannot be read", fix=f"write {GRAMMAR}")
    direction = word or direction_of(metric)
    if direction is None:
        raise UsageError(
            f"--claim {text!r} does not say which way is better", fix="end it with lower or higher"
        )
    names = tuple(part.strip() for part in row.split(" / ") if part.strip())
    fields = {
        "id": id_of(names, metric, taken),
        "row": names[:1],
        "column": names[1:],
        "metric": metric.strip(),
        "direction": direction,
        "unit": (found["unit"] or "").strip(),
        **_number_fields(printed),
    }
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
        if any(_row_and_metric(claim) == _row_and_metric(other) for other in claims):
            raise UsageError(f"--claim {text!r}: {claim.title} is claimed twice", fix="leave one")
        claims.append(claim)
    return claims


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


def with_user_claims(file: ClaimsFile, given: Sequence[Claim]) -> ClaimsFile:
    """The user's claims in place of those with the same row and metric, whose key they take, or
    with the same key in metrics.json, and beside the others.
    """
    if not given:
        return file
    keys = {_row_and_metric(claim): claim.id for claim in file.claims}
    names, taken = {_row_and_metric(c) for c in given}, {c.id for c in given}
    put = []
    for claim in given:
        key = keys.get(_row_and_metric(claim), claim.id)
        free = key not in taken - {claim.id}
        put.append(claim.model_copy(update={"id": key}) if free else claim)
    ids = {claim.id for claim in put}
    others = [c for c in file.claims if _row_and_metric(c) not in names and c.id not in ids]
    return ClaimsFile(
        paper=file.paper, experiment=file.experiment, claims=(*others, *put), rules=file.rules
    )


def claims_of_task(task: Task) -> ClaimsFile | None:
    """The claims that a task brings, the user's put over them; None if it brings none, so that
    they have to be read from the paper. The user's alone stand for themselves.

    Raises UsageError for a claim of the user that cannot be read.
    """
    given = read_user_claims(task.user_claims)
    if task.claims is not None:
        return with_user_claims(ClaimsFile.model_validate(task.claims), given)
    return ClaimsFile(paper=task.title, claims=tuple(given)) if given else None


def _row_and_metric(claim: Claim) -> tuple[str, ...]:
    """The headings and the metric; a column that is headed by the metric says nothing more."""
    metric = plain(claim.metric).casefold()
    headings = (part.casefold() for part in claim.headings)
    others = (each for each in headings if letters_alone(each) != letters_alone(metric))
    return (*others, letters_alone(metric) or metric)

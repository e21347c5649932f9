"""The verdict on the whole: the numbers, and apart from them the method.

A number alone is no reproduction if another method reaches it too. So the method is said beside it,
and is "not verified" until structure, choices or a judge have spoken.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from autoreproduce.claims.claim import Claim, Frozen
from autoreproduce.claims.verdicts.one_claim import Verdict
from autoreproduce.claims.verdicts.orderings import OrderVerdict

OverallWord = Literal["reproduced", "partly", "not reproduced", "not comparable", "not measured"]
Require = Literal["reproduced", "partly"]


def verdict_title(word: str) -> str:
    """A verdict's word as every report, list, table, board and badge shows it."""
    return "partly reproduced" if word == "partly" else word


class Method(Frozen):
    """How far the program was seen to be the paper's method: `agreed` of `compared` things.

    In `style` more it differs as the same method does if it is written in another way. A judge's
    `score` (0 to 100, from the paper alone) is said and verifies nothing.
    """

    by: Literal["structure", "choices", "judge", ""] = ""
    agreed: int = 0
    compared: int = 0
    style: int = 0
    score: float | None = None

    @property
    def observed(self) -> bool:
        """True if something was compared and all of it agreed."""
        return self.compared > 0 and self.agreed == self.compared

    @property
    def differs(self) -> bool:
        """True if something was seen to be another than the paper's."""
        return self.agreed + self.style < self.compared

    @property
    def text(self) -> str:
        """What was seen of it, in a few words."""
        if self.score is not None:
            return f"method judged {self.score:.3g} of 100 from the paper"
        if not self.compared:
            return "method not verified"
        # what a probe saw from inside the program can be faked, so it verifies nothing
        word = "observed" if self.observed else "differs" if self.differs else "not observed"
        return f"method {word} by {self.by} ({self.agreed} of {self.compared})"


class Overall(Frozen):
    """The verdict on an experiment: of `counted` claims, how many are `reproduced` and `close`.

    `method_needed`: the task says that its number alone cannot tell the method.
    """

    word: OverallWord
    reproduced: int
    close: int
    counted: int
    held: int = 0
    broken: int = 0
    method: Method = Method()
    method_needed: bool = False
    single: bool = False
    exact: int = Field(
        0,
        description="claims reproduced since they agree in every printed digit",
        exclude_if=lambda claims: not claims,
    )

    @property
    def doubtful(self) -> bool:
        """True if the method differs, or is not observed though the number cannot tell it."""
        return self.method.differs or (self.method_needed and not self.method.observed)

    @property
    def title(self) -> str:
        """The verdict in a few words."""
        count = f" ({self.reproduced} of {self.counted} claims)" if self.word == "partly" else ""
        return verdict_title(self.word) + count

    def meets(self, require: Require) -> bool:
        """Whether `--require` is met; for "reproduced" the method must not be in doubt."""
        if require == "partly":
            return self.word in ("reproduced", "partly")
        return self.word == "reproduced" and not self.doubtful


def overall(
    claims: Sequence[Claim],
    verdicts: Sequence[Verdict],
    orders: Sequence[OrderVerdict] = (),
    *,
    method: Method | None = None,
    method_needed: bool = False,
) -> Overall:
    """The verdict on all claims.

    Baselines count only if there is nothing else; their orderings always count.

    Reproduced: every claim that counts is, and no ordering is broken. Partly: one at least is
    reproduced or close. Not measured: there is no number for any. Not comparable: none of those
    judged could be compared or tested.
    """
    own = {claim.id for claim in claims if not claim.is_baseline} or {claim.id for claim in claims}
    counted = [verdict for verdict in verdicts if verdict.claim in own]
    words = [verdict.word for verdict in counted]
    broken = sum(order.word == "does not hold" for order in orders)
    return Overall(
        exact=sum(verdict.exact > 0 for verdict in counted),
        word=_overall_word(words, broken),
        reproduced=words.count("reproduced"),
        close=words.count("close"),
        counted=len(words),
        held=sum(order.word == "holds" for order in orders),
        broken=broken,
        method=method or Method(),
        method_needed=method_needed,
        single=bool(counted) and all(len(verdict.values) <= 1 for verdict in counted),
    )


def _overall_word(words: Sequence[str], broken: int) -> OverallWord:
    if words and all(word == "reproduced" for word in words):
        return "partly" if broken else "reproduced"
    if words and all(word == "not measured" for word in words):
        return "not measured"
    if any(word in ("reproduced", "close") for word in words):
        return "partly"
    if not words or all(word in ("not comparable", "untestable") for word in words):
        return "not comparable"
    return "not reproduced"

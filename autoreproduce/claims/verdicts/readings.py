"""What the readings of a paper say together: does a claim rest on a choice the paper leaves open?

Testing several readings makes agreement by chance likelier. So an alternative's margin and cap are
divided by the number of alternatives that ran: together they accept no wider a range of numbers
than the default reading alone, which was fixed first and is judged by the plain rules. What is
measured is not divided: Monte Carlo error and the distribution over seeds are the same for all, and
say which reading moves the printed numbers from the tail to the middle. A reading decides nothing
where all it gains may be the luck of one draw. A number that is the
default's to the last digit has the default's word. All claims of an experiment have to hold under
the same reading; two experiments of one program may need two. An alternative may be registered as
one that the paper's text contradicts; a hit under it is said to be by a formula that the text
doesn't print.

The results, sorted, are the specification curve of Simonsohn, Simmons and Nelson ("Specification
curve analysis", Nature Human Behaviour 4, 2020).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from pydantic import Field

from autoreproduce.claims.choices import Value, alike
from autoreproduce.claims.claim import Frozen
from autoreproduce.claims.readings import OpenChoice, label
from autoreproduce.claims.verdicts.one_claim import Verdict

Reached = Literal["reproduced", "close", "not reached"]
_STRENGTH: dict[str, int] = {"not reached": 0, "close": 1, "reproduced": 2}
JUDGED = ("reproduced", "close", "off", "opposite", "untestable")  # held against a number
TAIL = 1.96  # errors, beyond which chance alone seldom leads
IN_TAIL, MIDDLE = 3.84, 1.5  # χ² per number: beyond that many errors; about what chance gives


class ReadingClaim(Frozen):
    """What one reading gave for one claim. `difference`: relative to the paper's number, positive
    if ours is better; None if there is no number. `experiment`: whose claim it is, "" if the
    program serves one alone.
    """

    word: str
    mean: float | None = None
    difference: float | None = None
    experiment: str = ""
    percentile: float | None = Field(
        None,
        description="of the paper's number among the seeds of this reading",
        exclude_if=lambda value: value is None,
    )
    distance: float | None = Field(
        None,
        description="from the paper's number in standard errors of the difference",
        exclude_if=lambda errors: errors is None,
    )

    @classmethod
    def of(cls, verdict: Verdict, experiment: str = "") -> "ReadingClaim":
        """What a verdict on the runs under a reading says."""
        return cls(
            word=verdict.word,
            mean=verdict.mean,
            difference=verdict.relative,
            experiment=experiment,
            percentile=verdict.percentile,
            distance=verdict.distance,
        )


class ReadingResult(Frozen):
    """One reading that ran, {} for the default."""

    reading: dict[str, Value]
    claims: dict[str, ReadingClaim] = Field({}, description="by id, baselines left out")
    seeds: int = Field(1, description="runs in full")
    seconds: float = Field(0.0, description="of all its runs")
    problem: str = Field("", description="why there is no number")
    same: bool = Field(False, description="its numbers equal the default's to the last digit")

    @property
    def label(self) -> str:
        """The reading in words."""
        return label(self.reading)

    def of_experiment(self, experiment: str) -> Reached:
        """The least that holds of all claims of one experiment."""
        own = [name for name, one in self.claims.items() if one.experiment == experiment]
        return min(map(self.of_claim, own), key=_STRENGTH.__getitem__, default="not reached")

    def misfit(self, names: Sequence[str]) -> float | None:
        """χ² per number of these claims, about 1 where only chance is between them and the paper;
        None if no error is known.
        """
        found = [one.distance for name in names if (one := self.claims.get(name))]
        squares = [distance * distance for distance in found if distance is not None]
        return sum(squares) / len(squares) if squares else None

    @property
    def missed(self) -> list[str]:
        """The claims that it doesn't reproduce."""
        return [name for name in self.claims if self.of_claim(name) != "reproduced"]

    def nearer(self, default: "ReadingResult", names: Sequence[str] | None = None) -> bool:
        """Whether it brings those claims nearer to the paper, all together, that the default misses
        (of these ids, or of all): by χ² where errors are known, else by their relative differences.
        """
        missed = [name for name in default.missed if names is None or name in names]
        both = [
            [one.claims[name] for name in missed if name in one.claims] for one in (default, self)
        ]
        for measure in ("distance", "difference"):
            gaps = [[getattr(claim, measure) for claim in claims] for claims in both]
            known = [[gap * gap for gap in each if gap is not None] for each in gaps]
            if known[0]:
                return len(known[1]) >= len(known[0]) and sum(known[1]) < sum(known[0])
        return False

    def of_claim(self, name: str) -> Reached:
        """How far one claim was reached."""
        word = self.claims[name].word if name in self.claims else ""
        return (
            "reproduced" if word == "reproduced" else "close" if word == "close" else "not reached"
        )


class ReadingsVerdict(Frozen):
    """The readings that ran, the default first, and what follows. `planned`: alternatives that
    were registered one at a time.
    """

    opened: tuple[OpenChoice, ...]
    results: tuple[ReadingResult, ...]
    planned: int
    skipped: str = Field("", description="why some did not run")
    comparable: bool = Field(True, description="False: no claim can be compared with the paper")

    @property
    def alternatives(self) -> tuple[ReadingResult, ...]:
        """All that ran but the default."""
        return self.results[1:]

    @property
    def experiments(self) -> tuple[str, ...]:
        """Those whose claims were judged, in their order; ("",) for a program of one alone."""
        named = (one.experiment for one in self.results[0].claims.values())
        return tuple(dict.fromkeys(named)) or ("",)

    @property
    def text(self) -> str:
        """One sentence on the whole."""
        return self.said_of(self.experiments)

    def said_of(self, experiments: Sequence[str]) -> str:
        """One sentence on these experiments, which are named if they aren't all of one mind."""
        names: dict[str, list[str]] = {}
        for name in experiments:
            names.setdefault(self.of_experiment(name), []).append(name or "the rest")
        if len(names) == 1 and len(experiments) == len(self.experiments):
            return next(iter(names))
        return "; ".join(f"{', '.join(each)}: {text}" for text, each in names.items())

    def of_experiment(self, name: str) -> str:
        """One sentence on an experiment's claims together."""
        return self._conclusion(_within(name), self._of(name))

    def _of(self, experiment: str) -> list[str]:
        """The ids of an experiment's claims."""
        claims = self.results[0].claims
        return [name for name, one in claims.items() if one.experiment == experiment]

    def of_claim(self, name: str) -> str:
        """One sentence on one claim; "" of one that no reading was judged by, as of a baseline, and
        of one that has no number to compare under any.
        """
        words = [one.claims[name].word for one in self.results if name in one.claims]
        if not any(word in JUDGED for word in words):
            return ""
        return self._conclusion(lambda result: result.of_claim(name), [name])

    def better_for(self, claim: str) -> bool:
        """Whether an alternative reaches more of this claim than the default."""
        return self._better(lambda result: result.of_claim(claim), [claim]) is not None

    def deciding(self) -> list[str]:
        """The experiments of which an alternative reaches more than the default."""
        own = {name: self._of(name) for name in self.experiments}
        return [name for name, ids in own.items() if self._better(_within(name), ids)]

    def explaining(self) -> dict[str, list[str]]:
        """The ids of claims that the default misses, by what alone reproduces them."""
        found: dict[str, list[str]] = {}
        for name in self.results[0].claims if self.results else ():

            def reached(result: ReadingResult, name: str = name) -> Reached:
                return result.of_claim(name)

            better = self._better(reached, [name])
            if better is not None and reached(better) == "reproduced":
                found.setdefault(self._only(better), []).append(name)
        return found

    @property
    def default_named(self) -> str:
        """The default: the one in the text, if the text contradicts all others that ran."""
        against = bool(self.alternatives) and all(map(self.against_text, self.alternatives))
        return "the one in the text" if against else "the default"

    def agreeing(self) -> int:
        """How many alternatives reach as much of the only experiment as the default."""
        return self._agreeing(_within(self.experiments[0]))

    def _agreeing(self, reached: Callable[[ReadingResult], Reached]) -> int:
        least = _STRENGTH[reached(self.results[0])]
        return sum(_STRENGTH[reached(one)] >= least for one in self.alternatives)

    def _better(
        self, reached: Callable[[ReadingResult], Reached], names: Sequence[str]
    ) -> ReadingResult | None:
        """The alternative that reaches more than the default: one that the text doesn't rule out,
        with the fewest changes, that puts the paper's numbers nearest to the middle.
        """
        if not self.comparable:
            return None
        default = _STRENGTH[reached(self.results[0])] if self.results else 0
        more = [
            one
            for one in self.alternatives
            if _STRENGTH[reached(one)] > default and not self._by_chance(one, names)
        ]
        if not more:
            return None
        most = max(_STRENGTH[reached(one)] for one in more)
        best = [one for one in more if _STRENGTH[reached(one)] == most]
        return min(best, key=lambda one: (self.against_text(one), *_plainness(one, names)))

    def _by_chance(self, result: ReadingResult, names: Sequence[str]) -> bool:
        """Whether all that a reading reaches and the default doesn't may be the luck of one draw:
        numbers that chance alone parts from the paper's, or, where a program draws at random,
        numbers without a known error from one run of each.
        """
        default, once = self.results[0], self.results[0].seeds == 1 or result.seeds == 1
        errors = {name: one.distance for name, one in default.claims.items()}
        random = any(error is not None for error in errors.values())
        turned = [
            errors.get(name)
            for name in names
            if _STRENGTH[result.of_claim(name)] > _STRENGTH[default.of_claim(name)]
        ]
        return by_luck(turned, random=random and once)

    def against_text(self, result: ReadingResult) -> bool:
        """Whether the paper's text contradicts this reading."""
        opened = {one.name: one for one in self.opened}
        return any(
            other.against_text and alike(other.value, value)
            for name, value in result.reading.items()
            if name in opened
            for other in opened[name].alternatives
        )

    def _conclusion(self, reached: Callable[[ReadingResult], Reached], names: Sequence[str]) -> str:
        """One sentence on what the readings make of the claims of these ids."""
        tested = len(self.alternatives)
        if not tested:
            return ""
        if not self.comparable:
            ran = "reading ran and shows" if tested == 1 else "readings ran and show"
            return f"{tested} alternative {ran} how far the number moves"
        if better := self._better(reached, names):
            return f"{reached(better)} only {self._only(better)}{self._moved(better, names)}"
        default, agree = reached(self.results[0]), self._agreeing(reached)
        if default == "not reached":
            tried = f"{len(self.results)} readings"
            said = f"not reached under any of {tried}"
            said = f"none of {tried} reaches all {len(names)} numbers" if len(names) > 1 else said
        elif agree == tested == self.planned:
            which = (
                "the one alternative agrees" if tested == 1 else f"all {tested} alternatives agree"
            )
            said = f"{default} whatever is left open ({which})"
        elif agree:
            which = f"{agree} of {tested} alternatives {'agrees' if agree == 1 else 'agree'}"
            which = "the one alternative agrees" if tested == 1 else which
            said = f"{default} under the default reading; {which}"
        else:
            others = "the one alternative isn't" if tested == 1 else f"none of {tested} others is"
            said = f"{default} under {self.default_named} alone; {others}"
        return said + self._nearest(names)

    def _only(self, better: ReadingResult) -> str:
        """How a number is reached, after "reproduced only"."""
        if self.against_text(better):
            return f"by a formula the text doesn't print: {self._taken(better)}"
        taken = self._taken(better)
        return f"under {better.label}, that is, if {taken}, which the paper doesn't say"

    def _taken(self, result: ReadingResult) -> str:
        """What a reading takes: "penalty is ridge"."""
        named = {one.name: one.what for one in self.opened}
        return " and ".join(
            f"{named.get(name, name)} is {value}" for name, value in result.reading.items()
        )

    def _nearest(self, names: Sequence[str]) -> str:
        """The alternative that moves the paper's numbers from the tail to the middle, though it
        reaches no more of them; "" without one.
        """
        if not self.comparable:
            return ""
        before = self.results[0].misfit(names)
        fits = [(fit, one) for one in self.alternatives if (fit := one.misfit(names)) is not None]
        if before is None or before <= IN_TAIL or not fits:
            return ""
        fit, best = min(fits, key=lambda each: each[0])
        return f"; {best.label} is nearest{self._moved(best, names)}" if fit <= MIDDLE else ""

    def _moved(self, result: ReadingResult, names: Sequence[str]) -> str:
        """Where a reading moves the paper's numbers; "" if no distribution tells."""
        both = self.results[0], result
        found = [one.claims.get(name) for one in both for name in names[:1]]
        places = [one.percentile if one else None for one in found]
        if len(names) == 1 and None not in places:
            before, after = (f"{place:.3g}" for place in places)
            return (
                f" (the printed value is at percentile {before} of the default's seeds, and at "
                f"{after} of its)"
            )
        fits = [one.misfit(names) for one in both]
        if fits[0] is None or fits[1] is None:
            return ""
        return f" (χ² per number {fits[1]:.3g}, and {fits[0]:.3g} under the default)"


def by_luck(distances: Iterable[float | None], *, random: bool) -> bool:
    """Whether one draw may make reached all the numbers that lay so far away. `random`: one without
    a known error may move by chance, too.
    """
    return all(error < TAIL if error is not None else random for error in distances)


def _plainness(result: ReadingResult, names: Sequence[str]) -> tuple[int, float]:
    """Fewest changes first, then what fits best."""
    misfit = result.misfit(names)
    return len(result.reading), math.inf if misfit is None else misfit


def _within(experiment: str) -> Callable[[ReadingResult], Reached]:
    return lambda result: result.of_experiment(experiment)


def in_order(results: Sequence[ReadingResult], experiment: str) -> list[ReadingResult]:
    """The results from worst to best by their mean difference from the experiment's numbers; those
    without a number last.
    """

    def key(result: ReadingResult) -> tuple[bool, float]:
        own = [one for one in result.claims.values() if one.experiment == experiment]
        gaps = [one.difference for one in own if one.difference is not None]
        return not gaps, sum(gaps) / len(gaps) if gaps else 0.0

    return sorted(results, key=key)

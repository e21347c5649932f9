"""A program that serves two experiments, with readings of it and what each made of the claims."""

from claim_maker import claim

from autoreproduce.claims.choices import Alternative
from autoreproduce.claims.readings import OpenChoice
from autoreproduce.claims.verdicts.comparable import MeasuredAs
from autoreproduce.claims.verdicts.one_claim import judge
from autoreproduce.claims.verdicts.overall import overall
from autoreproduce.claims.verdicts.readings import ReadingClaim, ReadingResult, ReadingsVerdict
from autoreproduce.claims.verdicts.trial_verdict import JudgedClaim, TrialVerdict

GOOD, BAD = ("reproduced", 0.0), ("off", -0.1)
OF = {"a": "Table 1", "b": "Table 1", "c": "Table 2"}


def result(reading, **claims):
    found = {
        name: ReadingClaim(word=word, mean=1.0 + gap, difference=gap, experiment=OF[name])
        for name, (word, gap) in claims.items()
    }
    return ReadingResult(reading=reading, claims=found)


def opened(name, *values):
    given = tuple(Alternative(value=value, why="customary") for value in values)
    return OpenChoice(name=name, what=name, default="none", alternatives=given)


RESULTS = (
    result({}, a=GOOD, b=BAD, c=GOOD),
    result({"penalty": "ridge"}, a=GOOD, b=GOOD, c=BAD),
    result({"penalty": "lasso"}, a=BAD, b=GOOD, c=GOOD),
)
READINGS = ReadingsVerdict(
    opened=(opened("penalty", "ridge", "lasso"),), results=RESULTS, planned=2
)


def verdict():
    claims = [claim(94.3, id=name, row=(name,), experiment=OF[name]) for name in OF]
    values = {"a": 94.3, "b": 74.3, "c": 94.3}
    judged = [judge(one, MeasuredAs(values=(values[one.id],) * 3)) for one in claims]
    return TrialVerdict(
        sentence="",
        level="mixed",
        overall=overall(claims, judged),
        claims=tuple(JudgedClaim(claim=c, verdict=v) for c, v in zip(claims, judged, strict=True)),
        readings=READINGS,
    )

"""Calls that the judge makes beside those of the experiment, at the rules' edges: no solver sees them."""

from ledger import credit, grade, verdict, weight

for half, ages in ((9, (43, 44, 46, 52, 53, 54, 60)), (4, (0, 19, 22, 23, 24)), (7.5, (37, 44, 45))):
    for age in ages:
        weight(age, half)
for here, there, words in ((0.0, 0.0, 30), (0.0, 2.5, 30), (2.5, 0.0, 30), (1.0, 1.0, 2), (0.25, 3.0, 400)):
    credit(here, there, words)
for cases, least in (
    ([[2.0], [0.5]], 1.5),
    ([[2.0], [0.75]], 1.5),
    ([[1.0], [1.0], [-1.0]], 0.0),
    ([[1.0, -3.0, 2.0], [-2.0, 0.5, 1.0]], 0.25),
    ([[-4.0, 1.0], [-1.0, -0.5], [0.25, -5.0]], 1.0),
):
    verdict(cases, least)
for right, wrong, aside in ((0, 4, 0), (6, 4, 0), (6, 5, 0), (6, 9, 1), (0, 0, 5), (3, 3, 12)):
    said = [1] * right + [0] * wrong + [-1] * aside
    grade([1] * len(said), said)
    grade([1] * len(said), said[::-1])

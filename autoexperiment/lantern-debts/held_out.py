"""Calls that the judge makes beside those of the experiment, at the rules' edges: no solver sees them."""

from rating import expectation, settle, share, stake

for lead, trust in ((620, 1.0), (640, 1.0), (-620, 1.0), (-640, 1.0), (0, 0.5), (900, 0.1), (-120, 0.7)):
    expectation(100.0, 100.0 + lead, trust)
for own, other, length in ((4, 4, 8), (0, 0, 5), (9, 8, 9), (8, 9, 9), (9, 0, 9), (0, 9, 9), (1, 0, 21)):
    share(own, other, length)
for idle in (0, 26, 53, 54, 81, 82, 109, 110, 400):
    stake(60, idle)
for games in (0, 41, 43):
    stake(games, 54)
# Halves of a quarter, half a spoon, and what is less before it is rounded
for got, side in ((0.59375, 12), (0.40625, 12), (0.53125, 12), (0.53125, 16), (0.53125, 14), (0.515625, 14), (0.5, 12)):
    settle(90.0, 110.0, got, 0.5, (side, side))
settle(90.0, 110.0, 0.9, 0.3, (9.0, 30.0))

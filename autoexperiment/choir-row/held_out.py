"""Calls that the judge makes beside those of the experiment, at the rules' edges: no solver sees them."""

import numpy as np
from seating import chance, match, temperature

TIED = np.array([70.0, 70.0, 72.0, 68.0, 72.0, 70.0])
for other in (TIED, TIED[::-1], np.full(6, 70.0), np.array([71.0, 70.0, 72.0, 68.0, 73.0, 69.0])):
    match(TIED, other)
match(np.array([60.0, 61.0]), np.array([61.0, 60.0]))
for steps, turns in ((15, (11, 12, 13)), (20, (16, 17, 18)), (21, (17, 18)), (10, (8, 9)), (2, (0, 1))):
    for step in turns:
        temperature(step, steps, 4.0, 0.2)
for change, heat in ((0.3, 1.0), (2.45, 1.0), (2.55, 1.0), (0.0, 0.1), (-6.0, 0.5), (40.0, 0.2)):
    chance(change, heat)

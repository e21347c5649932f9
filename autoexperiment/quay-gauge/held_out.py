"""Calls that the judge makes beside those of the experiment, at the rules' edges: no solver sees them."""

import numpy as np
from gauge import relief, severity, still_level

PAGE = np.array([(37 * n * n + 11 * n) % 97 for n in range(60)], float)
for entries in (8, 9, 12, 13, 18, 19, 31, 32, 49, 50):
    still_level(PAGE[:entries])
still_level(np.repeat([50.0, 80.0, 50.0], 4))
for entries in (3, 5, 60):
    relief(PAGE[:entries])
PAST = np.array([100.0, 104.0, 104.0, 104.0, 108.0, 112.0])
for value in (90.0, 100.0, 104.0, 106.0, 112.0, 130.0):
    severity(value, PAST)
severity(5.0, np.array([5.0]))

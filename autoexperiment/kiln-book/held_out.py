"""Calls that the judge makes beside those of the experiment, at the rules' edges: no solver sees them."""

import numpy as np
from kiln import ahead, level, penalty, season

BOOK = np.array([40.0, 43.0, 39.5, 52.0, 41.0, 44.5, 38.0, 47.0, 42.5, 36.0, 49.0, 45.5, 37.0, 50.0, 41.5, 46.0])
for places, watches in ((4, 2), (4, 3), (4, 4), (3, 4), (3, 5), (2, 8)):
    season(BOOK[: places * watches], places)
for lines in (3, 4, 6, 9, 13):
    for up, down in ((0.3, 0.12), (0.05, 0.4)):
        level(BOOK[:lines], up, down)
for slope, hours in ((0.0, 2), (3.0, 1), (-3.0, 8), (-12.0, 4), (2.0, 5)):
    ahead(30.0, slope, hours)
ACTUAL = np.array([50.0, 50.0, 50.0, 100.0, 0.0])
for off in (1.5, -1.5, 2.0, -2.0, 0.25, -0.75):
    penalty(ACTUAL + off, ACTUAL)

"""Calls that the judge makes beside those of the experiment, at the rules' edges: no solver sees them."""

import numpy as np
from moss import dampness, firmness, grow, spores

LINE = np.array([0.0, 0.0, 1.0, 2.0, 5.0, 6.0, 7.0, 20.0, 24.0])
FAR = np.abs(LINE[:, None] - LINE)
for k in (2, 3, 5, 9):
    dampness(FAR, k)
for damp in ([1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 0.5, 0.1, 0.1], [2.0, 1.0, 0.5, 0.5, 1.0, 2.0, 3.0, 1.0, 3.0]):
    for reach in (0.5, 3.0, 4.0, 30.0):
        spores(np.array(damp), FAR, reach)
DAMP = np.array([3.0, 2.0, 1.0, 0.2, 0.4, 2.0, 1.5, 0.1, 0.05])
for starts in ([0], [5, 0], [3, 8], [8, 3, 4], [6, 2]):
    grow(FAR, DAMP, starts)
for labels in ([0] * 9, [0, 0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1, 1, 1, 2], [0, 0, 0, 1, 1, 1, 2, 2, 2]):
    firmness(FAR, np.array(labels))

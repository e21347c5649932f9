"""Calls that the judge makes beside those of the experiment, at the rules' edges: no solver sees them."""

from optimiser import moving_average, step_size

for average, eps in ((1e-6, 1e-6), (0.0, 1e-8), (1e-8, 1e-3), (4.0, 0.5)):
    step_size(1.0, average, eps)
for previous, gradient in ((0.0, 0.0), (0.0, -0.3), (0.4, 1e-4), (0.09, 0.3)):
    moving_average(previous, gradient)
moving_average(0.2, -0.7, 0.5)

"""Step sizes for one parameter."""

import math


def moving_average(previous, gradient, beta=0.9):
    """The next value of the exponential moving average that the step size uses, from its previous value."""
    return beta * previous + (1 - beta) * gradient**2


def step_size(base_rate, average, eps):
    """The size of the step for a base rate, given the moving average."""
    return base_rate / (math.sqrt(average) + eps)

"""Runs trials: one from start to close (`attempt`)."""

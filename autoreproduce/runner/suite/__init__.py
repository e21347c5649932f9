"""Suites: tasks × variants × trials, from a YAML file to a folder with one row a trial.

`schema` reads the file, `plan` makes of it a list of trials, `run` has an executor attempt those that are not
finished, `results` writes the rows. A trial of a suite is a trial like any other, in a folder of its own below
the suite's: what it needs in common with others (a budget, a limit of calls in flight) is passed to it.
"""

"""Suites on Slurm and Ray: each trial is a job on whichever node has room."""

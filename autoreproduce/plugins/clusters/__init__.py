"""Suites on Slurm and Ray: each trial is a job on whichever node has room."""

from autoreproduce.plugins import Plugin

_HERE = "autoreproduce.plugins.clusters"
plugin = Plugin(
    executors={"slurm": f"{_HERE}.slurm:SlurmExecutor", "ray": f"{_HERE}.ray:RayExecutor"}
)

"""Code that somebody has: run as it is, and its numbers held against its paper."""

from autoreproduce.extensions import Plugin

_HERE = "autoreproduce.plugins.verify"
plugin = Plugin(
    commands={
        "Reproduce": {
            "verify": "Run code that you have, and check it against its paper.",
            "audit": "List where code differs from its paper; nothing is run.",
        }
    },
    solver_kinds={"code:": f"{_HERE}.handed_in:handed_in_class"},
    api={"verify": f"{_HERE}.verify:verify"},
    command_app=f"{_HERE}.commands:app",
)

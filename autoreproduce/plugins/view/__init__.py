"""`autoreproduce view`: a local page over runs and suites, live.

`library` finds what lies below a folder, `listed` is a trial or a suite of it, `rows` the part of
a list that is shown, `pages` reads one thing of it for a template, `events`
says when something changed, `processes` stops and resumes a trial, `guard` lets nobody else in,
`app` binds them to addresses, `serve` runs it. Nothing is written into the folder.
"""

from __future__ import annotations

from autoreproduce.plugins import Plugin

plugin = Plugin(
    commands={"Look": {"view": "Show runs and suites in the browser, live."}},
    command_app="autoreproduce.plugins.view.commands:app",
)

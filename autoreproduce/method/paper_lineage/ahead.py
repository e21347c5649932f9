"""Whether lineage can follow any cited paper at all, found out before a model is asked to choose.

A paper can be followed if a cache knows it or a service that locates papers answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import BaseModel

from autoreproduce.method.paper_lineage import cache

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.papers import Reference
    from autoreproduce.trials.trial import Trial

SECONDS = 10.0  # that a service may take to answer at all


class Obstacle(BaseModel):
    """Why no cited paper can be followed, "" if one can."""

    reason: str = ""


def obstacle(references: list[Reference], trial: Trial, settings: Settings) -> str:
    """Why none of `references` can be followed; "" if one can. A step of the trial."""
    titles = [reference.title or reference.text for reference in references]
    found = trial.fetch(
        Obstacle, "lineage/ahead", titles, lambda: Obstacle(reason=_reason(references, settings))
    )
    return found.reason


def _reason(references: list[Reference], settings: Settings) -> str:
    papers, _ = cache.load(cache.folders(settings) if settings.method.lineage_cache else [])
    if any(cache.find(one.title or one.text, one.arxiv_id, papers) for one in references):
        return ""
    if settings.papers.offline:
        return "no cited paper is in the lineage cache, and --offline fetches nothing"
    addresses = (settings.papers.arxiv_api, settings.papers.semantic_scholar_api)
    problems = [_connection_problem(address) for address in addresses]
    if "" in problems:
        return ""
    return (
        f"no cited paper is in the lineage cache, and there is no network ({'; '.join(problems)})"
    )


def _connection_problem(address: str) -> str:
    """Why the server does not answer; "" if it does, whatever it answers."""
    import httpx2

    try:
        httpx2.head(address, timeout=SECONDS)
    except httpx2.HTTPError as error:
        return f"{urlsplit(address).hostname}: {type(error).__name__}"
    return ""

"""Paper lineage (the paper's section 3.2 and Algorithm 1): the customs of a field, from the papers
it cites.

In order, a module each: `choose` (the research agent, from the paper's own references),
`cache` (what is already known), `locate` (title → arXiv, else Semantic Scholar), `extract` and
`summarise` (text → our summary and the repository), `repository` (GitHub's facts, and the rules),
`clone`, `pick` (the code agent), joined by `build`. `entry` holds the result and shows it.
"""

from autoreproduce.method.paper_lineage.build import build_lineage
from autoreproduce.method.paper_lineage.entry import (
    LineageEntry,
    PickedFile,
    blanked,
    render,
    table,
)

__all__ = ["LineageEntry", "PickedFile", "blanked", "build_lineage", "render", "table"]

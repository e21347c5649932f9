"""A rubric: a tree of requirements with weights, as PaperBench writes it (`rubric.json`; arXiv
2504.01848, section 3).

A leaf has a category, and is met or not; a parent is the weighted mean of its parts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.shared import read_plain

Category = Literal["Code Development", "Code Execution", "Result Analysis", "Subtree"]
CODE: Category = "Code Development"
EXECUTION: Category = "Code Execution"
ANALYSIS: Category = "Result Analysis"
DATA = "Dataset and Model Acquisition"
HEAVIEST = 1e6  # sums over a tree stay finite; the shipped weights are at most 100


class Node(BaseModel):
    """A requirement. `task_category` is a leaf's alone; `Subtree` is that of a tree that was cut at
    a depth.

    `key` is its name in the whole tree: shipped rubrics hold a few ids twice.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str = Field(min_length=1)
    requirements: str
    weight: Annotated[float, Field(ge=0, le=HEAVIEST, allow_inf_nan=False)]
    sub_tasks: list[Node] = []
    task_category: Category | None = None
    finegrained_task_category: str | None = None
    key: str = Field("", exclude=True)

    @model_validator(mode="after")
    def _category_of_leaves(self) -> Self:
        if self.sub_tasks and self.task_category is not None:
            raise ValueError(f"{self.id} has parts and a category: a category is a leaf's alone")
        if not self.sub_tasks and self.task_category is None:
            raise ValueError(f"{self.id} has neither parts nor a category")
        return self

    def nodes(self) -> Iterator[Node]:
        """This node and all below it, parents first."""
        yield self
        for part in self.sub_tasks:
            yield from part.nodes()

    def leaves(self) -> list[Node]:
        """The leaves, from left to right."""
        return [node for node in self.nodes() if not node.sub_tasks]

    def depth(self) -> int:
        """Levels, this one included."""
        return 1 + max((part.depth() for part in self.sub_tasks), default=0)

    def categories(self) -> Counter[str]:
        """How many leaves of each category."""
        return Counter(str(leaf.task_category) for leaf in self.leaves())


def read_rubric(path: Path) -> Node:
    """The tree of a `rubric.json`. Raises UsageError that names what does not fit."""
    try:
        found = parse_json(read_plain(path).decode("utf-8-sig"))
        json.dumps(found, ensure_ascii=False).encode()  # half a surrogate pair is no text
        root = with_keys(Node.model_validate(found))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path} isn't a rubric ({_first_complaint(error)})",
            fix="name a rubric.json of PaperBench's form",
        ) from None
    return root


def with_keys(root: Node, met: Counter[str] | None = None) -> Node:
    """The tree with a key for each node: its id, and `id#2` where it comes again, in the tree's
    order.
    """
    met = Counter() if met is None else met
    met[root.id] += 1
    key = root.id if met[root.id] == 1 else f"{root.id}#{met[root.id]}"
    return root.model_copy(
        update={"key": key, "sub_tasks": [with_keys(part, met) for part in root.sub_tasks]}
    )


def _first_complaint(error: Exception) -> str:
    """The first of pydantic's complaints, with its place; another error's own words."""
    if not isinstance(error, ValidationError):
        return str(error)[:200]
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the root'}: {first['msg']}"


def code_development(root: Node) -> Node:
    """The tree of Code-Dev: leaves of `Code Development` alone, without the parents that this
    leaves empty.

    Where nothing remains, the root is one such leaf. Weights stay, so they count among those that
    are left.
    """
    kept = _kept(root, lambda leaf: leaf.task_category == CODE)
    return kept or root.model_copy(update={"sub_tasks": [], "task_category": CODE})


def with_data_provided(root: Node) -> Node:
    """The tree where the data and models are given: leaves that ask to fetch them have weight 0."""
    if not root.sub_tasks:
        return (
            root.model_copy(update={"weight": 0.0})
            if root.finegrained_task_category == DATA
            else root
        )
    return root.model_copy(
        update={"sub_tasks": [with_data_provided(part) for part in root.sub_tasks]}
    )


def _kept(node: Node, wanted: Callable[[Node], bool]) -> Node | None:
    if not node.sub_tasks:
        return node if wanted(node) else None
    parts = [part for each in node.sub_tasks if (part := _kept(each, wanted)) is not None]
    return node.model_copy(update={"sub_tasks": parts}) if parts else None


@dataclass(frozen=True)
class Met:
    """A node that a reader of the tree meets before a leaf; `above`: the leaf is one of its parts,
    at any depth.
    """

    level: int
    node: Node
    above: bool


def before(root: Node, key: str) -> list[Met]:
    """What a reader of the tree has met when it comes to a leaf: its ancestors, and their and its
    earlier siblings.

    In the tree's order, each with its level (0 is the root). The leaf itself is not among them.
    Raises KeyError.
    """
    found = _before(root, key, 0)
    if found is None:
        raise KeyError(key)
    return found


def _before(node: Node, key: str, level: int) -> list[Met] | None:
    if node.key == key:
        return []
    for number, part in enumerate(node.sub_tasks):
        if (below := _before(part, key, level + 1)) is not None:
            beside = [Met(level + 1, earlier, above=False) for earlier in node.sub_tasks[:number]]
            return [Met(level, node, above=True), *beside, *below]
    return None

"""What `grade` prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from autoreproduce.plugins.paperbench.grade import GradingResult
    from autoreproduce.plugins.paperbench.reproduction import ScriptRun


def plan_text(plan: dict[str, Any]) -> str:
    """What a grading would take, in a sentence."""
    most = plan["most_dollars"]
    dollars = "an unknown price" if most is None else f"at most ${most:.2f}"
    how = "all files in each prompt" if plan["fits"] else "files ranked for each leaf first"
    return (
        f"{plan['paper_id']}: {plan['leaves']} leaves, {plan['files']} files, {how}; about "
        f"{plan['calls']} calls, {plan['tokens']:,} tokens of prompts, {dollars}, if each answer "
        "can be used"
    )


def print_grading(done: GradingResult, as_json: bool) -> None:
    """The score, what was not graded, agreement with people, and where to look."""
    if as_json:
        print(json.dumps(_json_fields(done)))
        return
    from autoreproduce.plugins.paperbench.grade_tables import FILE, PAGE

    content, agreed = done.content, done.agreement
    print(
        f"{content['paper_id']}: {100 * content['score']:.1f} of 100 over "
        f"{content['num_leaf_nodes']} leaves"
    )
    if failed := content["num_invalid_leaf_nodes"]:
        graded = content["score_of_graded"]
        rest = "–" if graded is None else f"{100 * graded:.1f}"
        print(
            f"{failed} leaves were not graded and count as 0; without them {rest}. The same "
            "command asks them again."
        )
    if agreed:
        print(
            f"Against people, {agreed.leaves} leaves: macro F1 {agreed.macro_f1:.3f}, accuracy "
            f"{agreed.accuracy:.3f}"
        )
    if run := content["reproduction"]:
        print(f"reproduce.sh: {run['ending']}")
    for address in content["blacklisted"]:
        print(
            f"It names a blacklisted address ({address}): whether it was used is for people to "
            "judge, and makes it 0."
        )
    print(f"Grades: {done.folder / FILE}  Tree: {done.folder / PAGE}")


def _json_fields(done: GradingResult) -> dict[str, Any]:
    agreed = done.agreement
    people = {"macro_f1": agreed.macro_f1, "accuracy": agreed.accuracy} if agreed else None
    if agreed and people is not None:
        people["leaves"] = agreed.leaves
    large = ("graded_task_tree", "settings")
    brief = {key: value for key, value in done.content.items() if key not in large}
    return {"folder": str(done.folder), **brief, "people": people}


def print_reproduction(folder: Path, run: ScriptRun, as_json: bool) -> None:
    """How a script ended, what it wrote, and where to look."""
    from autoreproduce.plugins.paperbench.reproduction import FILE, LOG

    if as_json:
        brief = run.model_dump(mode="json", exclude={"before", "after"})
        lists = {"written": run.written, "removed": run.removed}
        print(json.dumps({"folder": str(folder), **brief, **lists}))
        return
    print(f"reproduce.sh: {run.ending}; {len(run.written)} files written or changed")
    if run.packages:
        print(f"requirements.txt: {run.packages}")
    print(f"Log: {folder / LOG}  Files before and after: {folder / FILE}")

"""What a judge is shown for each kind of leaf (PaperBench, arXiv 2504.01848, section 4).

Code Development: the submission's code and documents. Code Execution: these, and what
`reproduce.sh` printed. Result Analysis: the documents and tables that `reproduce.sh` wrote, and
what it printed. If there can be nothing to show, every such leaf is 0 and no judge is asked.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from autoreproduce.errors import SandboxError
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.files.kinds import DOCUMENTS, ending
from autoreproduce.files.tree import Tree
from autoreproduce.models.tokens import rough_tokens
from autoreproduce.plugins.paperbench.files import (
    PASSED_OVER,
    SubmittedFiles,
    as_evidence,
    beginning,
)
from autoreproduce.plugins.paperbench.reproduction import LOG, RUN, SCRIPT, ScriptRun
from autoreproduce.plugins.paperbench.rubric import ANALYSIS, CODE, EXECUTION, Node

TABLES = {
    ".csv",
    ".tsv",
    ".psv",
    ".json",
    ".jsonl",
    ".html",
    ".xml",
    ".yaml",
    ".yml",
    ".toml",
    ".arff",
    ".tex",
    ".svm",
    ".libsvm",
}
MOST_RESULTS = 2_000  # files
LARGEST_RESULT = 1_000_000  # bytes of one file
LOG_TOKENS = 10_000  # of what the script printed, half from its beginning and half from its end
LARGEST_LOG = 250_000_000  # bytes; a sandbox stops who prints more
NO_CODE = "the submission holds no code"


@dataclass(frozen=True)
class LeafEvidence:
    """What one kind of leaf is judged by. `nothing`: why there can be nothing to show, "" else.

    `script` and `log` are "" in Code-Dev. `templates`: the folder of the judge's prompts.
    """

    program: Sources
    nothing: str = ""
    script: str = ""
    log: str = ""
    ending: str = ""
    results: bool = False
    templates: str = "paperbench"

    @property
    def beside(self) -> int:
        """Tokens of what is shown beside the files."""
        return rough_tokens(self.script) + rough_tokens(self.log)


def evidence(
    program: SubmittedFiles, folder: Path | None = None, run: ScriptRun | None = None
) -> dict[str, LeafEvidence]:
    """By category of leaves; `folder` and `run`: of the reproduction step, none in Code-Dev."""
    no_code = "" if program.files else NO_CODE
    if folder is None or run is None:
        return {CODE: LeafEvidence(program, no_code)}
    script = program.not_shown.get(SCRIPT, "")
    failed = run.ending if run.exit_code is None else ""
    log = as_evidence(_shortened(Tree(folder), LOG)) or ("" if failed else "(nothing)")
    results = written_results(Tree(folder / RUN), run)
    none_written = "" if results.files else f"{SCRIPT} wrote no document and no table"
    shown: dict[str, Any] = {"script": script, "log": log, "ending": run.ending}
    return {
        CODE: LeafEvidence(program, no_code, script),
        EXECUTION: LeafEvidence(program, failed, templates="paperbench/execution", **shown),
        ANALYSIS: LeafEvidence(
            results, failed or none_written, results=True, templates="paperbench/analysis", **shown
        ),
    }


def evidence_for(leaf: Node, kinds: Mapping[str, LeafEvidence]) -> LeafEvidence:
    """The evidence of a leaf's category; a tree that was cut has all kinds of leaves below."""
    return kinds.get(str(leaf.task_category)) or kinds.get(EXECUTION) or kinds[CODE]


def written_results(tree: Tree, run: ScriptRun) -> Sources:
    """The documents and tables that the script wrote, as they were when it ended."""
    files, unread = dict[str, str](), dict[str, str]()
    for name in run.written:
        pure = PurePosixPath(name)
        if not name.isprintable():
            unread[repr(name)] = "its name has a line break or another control character"
            continue
        if ending(name) not in DOCUMENTS | TABLES or PASSED_OVER & set(pure.parts):
            continue
        if len(files) >= MOST_RESULTS:
            unread[name] = f"beyond {MOST_RESULTS} files"
            continue
        try:
            data = tree.read(name, LARGEST_RESULT)
        except (SandboxError, FileNotFoundError) as error:
            unread[name] = f"it cannot be read: {error}"
            continue
        if hashlib.sha256(data).hexdigest() != run.after[name]:
            unread[name] = "it was changed after the run"
        elif text := data.decode("utf-8", "replace").strip():
            files[name] = as_evidence(text)
    return Sources(files, unread)


def _shortened(tree: Tree, name: str) -> str:
    """A log, or its beginning and end with a line between them."""
    try:
        text = tree.read_text(name, LARGEST_LOG)
    except (SandboxError, FileNotFoundError):
        return ""
    if rough_tokens(text) <= LOG_TOKENS:
        return text.strip("\n")
    half = LOG_TOKENS // 2
    lines = text[-6 * half :].split("\n")[::-1]
    end = beginning("\n".join(lines), half).split("\n")[::-1]
    return "\n".join([beginning(text[: 6 * half], half), "(… much is left out …)", *end])

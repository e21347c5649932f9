"""Each kind of thing that people hand each other has a loader, and each loader its kind. The kinds
are those that the page on security lists.

A module that opens or parses a file is found in the source by the functions that do so. A new one
fails here until it says which kind it reads, or that the file is one of ours.
"""

import ast
import functools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import rooms

pytestmark = pytest.mark.house
PACKAGE = rooms.PACKAGE
PAGE = (PACKAGE.parent / "docs" / "security.md").read_text()
TABLE = PAGE.partition("## What people hand each other")[2].partition("\n\n**")[0]
KINDS = dict(re.findall(r"^\| ([\w ]+) \| .+ \| .+ \| (.+) \|$", TABLE, re.MULTILINE)[1:])
READERS = {"read_plain", "parse_yaml", "yaml_value", "confined", "tomllib.loads"}
# A tree reads within its own bounds, whatever file it is asked for.
PLAIN_READERS = re.compile(
    r"^(?!tree\b).*\.(read_text|read_bytes)$"
    r"|^(open|np\.load|csv\.reader|zipfile\.ZipFile|(tarfile|gzip)\.open)$",
    re.IGNORECASE,
)
LOADERS = {
    "agents/agent.py": "trial",
    "agents/shared_replies.py": "trial",
    "benchmarks/recounting.py": "program",
    "benchmarks/reproducebench/paired.py": "trial",
    "benchmarks/reproducebench/recomputing.py": "program",
    "benchmarks/reproducebench/serving.py": "program",
    "claims/claim.py": "trial",
    "claims/experiments.py": "paper",
    "claims/readings.py": "trial",
    "claims/verdicts/trial_verdict.py": "trial",
    "claims/withholding.py": "trial",
    "evaluation/judging/submitted_code.py": "program",
    "files/unpacking.py": "program",
    "evaluation/outside_run.py": "program",
    "evaluation/report/evidence.py": "trial",
    "evaluation/report/page.py": "trial",
    "evaluation/scoring.py": "trial",
    "evaluation/tables/rows.py": "trial",
    "files/bounded.py": "the reader itself",
    "files/shared.py": "the reader itself",
    "job.py": "job",
    "method/choices.py": "paper",
    "method/claims.py": "paper",
    "method/paper_lineage/cache.py": "lineage entry",
    "method/paper_notes.py": "paper",
    "method/paper_lineage/summarise.py": "paper",
    "models/fenced.py": "model server",
    "models/tape.py": "tape",
    "papers/reading.py": "paper",
    "plugins/external_agents/agent_file.py": "agent",
    "plugins/external_agents/gateway/exchange.py": "agent server",
    "plugins/external_agents/own_login.py": "settings",
    "plugins/integrations/commands.py": "the reader itself",
    "plugins/verify/run_patches.py": "program",
    "plugins/autoexperiment/parsing.py": "program",
    "plugins/autoexperiment/dataset_rows.py": "data set",
    "plugins/autoexperiment/taskset.py": "data set",
    "plugins/paperbench/grade.py": "trial",
    "plugins/paperbench/grade_tables.py": "trial",
    "plugins/paperbench/papers.py": "rubric",
    "plugins/paperbench/reproduction.py": "program",
    "plugins/paperbench/rubric.py": "rubric",
    "plugins/tables/submission.py": "submission",
    "runner/conclude.py": "paper",
    "runner/hub_data.py": "downloaded data",
    "runner/last_look.py": "trial",
    "runner/estimate.py": "the reader itself",
    "runner/preview.py": "paper",
    "runner/settings.py": "settings",
    "plugins/suites/finished_trials.py": "trial",
    "trials/result.py": "trial",
    "plugins/suites/job.py": "job",
    "plugins/suites/yaml_errors.py": "suite",
    "plugins/suites/plan.py": "settings",
    "trials/begun.py": "trial",
    "runner/whole_paper/plan.py": "paper",
    "runner/whole_paper/run.py": "trial",
    "sandboxes/package_files.py": "program",
    "sandboxes/package_lists.py": "program",
    "trials/chain.py": "trial",
    "trials/interrupted.py": "trial",
    "trials/journal.py": "trial",
    "trials/journal_reader.py": "trial",
    "trials/machines.py": "trial",
    "benchmarks/reproducebench/perturbing.py": "program",
    "method/stored_claims.py": "trial",
    "plugins/verify/handed_in.py": "program",
    "trials/measurement.py": "trial",
    "trials/predictions_file.py": "program",
    "trials/summary.py": "trial",
    "trials/trial.py": "trial",
    "trials/workspace.py": "trial",
}
# Whose files the other modules open, and why no reader above is needed.
OPENED = {
    "ours, or content that ships": {
        *("agents/prompts.py", "evaluation/judging/material.py", "evaluation/report/page.py"),
        *("benchmarks/reproducebench/task_yaml.py", "benchmarks/reproducebench/tasks.py"),
        *("evaluation/tables/rows.py", "method/refactoring.py", "models/tokens.py"),
        *(
            "plugins/integrations/harbor.py",
            "plugins/autoexperiment/behaviour.py",
            "plugins/view/app.py",
        ),
        *("sandboxes/docker.py", "sandboxes/image.py", "sandboxes/seccomp.py"),
        "plugins/tables/published.py",
        *("plugins/autoexperiment/pass_tables.py",),
    },
    "this machine's: the kernel's, the cache's, what this process just wrote": {
        *("benchmarks/reproducebench/draws.py", "benchmarks/reproducebench/prepared_data.py"),
        *("evaluation/judging/judge.py", "plugins/tables/site.py", "files/lease.py"),
        *("files/owner.py", "plugins/autoexperiment/unmasked.py"),
        *("trials/machines.py", "plugins/suites/leases.py", "sandboxes/cgroups.py"),
        *("sandboxes/pip_for_sandbox.py", "sandboxes/processes.py", "sandboxes/pythons.py"),
        *("sandboxes/wheels.py", "plugins/verify/fetching.py"),
    },
    "named in this command": {
        "benchmarks/reproducebench/scaffold.py",
        *("plugins/autoexperiment/writer.py", "solvers/own_code.py"),
    },
    "a folder whose links were refused, and a schema": {
        *("evaluation/report/evidence.py", "plugins/external_agents/external.py"),
        *("runner/background.py", "plugins/integrations/mcp_server.py"),
        *("plugins/verify/handed_in.py", "runner/api_results.py"),
        "plugins/suites/ledger.py",
    },
    "an archive or array, within limits of size and number": {
        *("benchmarks/reproducebench/agreement.py", "benchmarks/reproducebench/published.py"),
        *("plugins/suites/clusters/travelling.py", "papers/files.py", "files/unpacking.py"),
        *("trials/program_output.py", "plugins/verify/shown_code.py"),
        "plugins/verify/runnable.py",
    },
    "a paper and its pictures, below its folder": {
        *("method/literature_review.py", "papers/latex_source.py", "papers/mineru.py"),
        *("papers/pdfium.py", "solvers/task_folder.py"),
        *("papers/docling.py", "papers/documents.py", "papers/encodings.py", "papers/files.py"),
        *("papers/latex_expand.py", "papers/outside_reader.py"),
    },
    "inside the sandbox": {"method/short_run.py"},
}
IMPORTING = {"resolve_name", "import_module", "__import__", "exec", "eval"}
# Names become modules here alone, of tables and entry points, or once their user typed them.
IMPORTERS = {
    *(
        "__init__.py",
        "trials/__init__.py",
        "benchmarks/__init__.py",
        "cli/app.py",
        "evaluation/scorers/__init__.py",
    ),
    *("files/confined.py", "extensions.py", "plugins/integrations/__init__.py"),
    *("runner/executors/__init__.py", "sandboxes/__init__.py", "sandboxes/pip_for_sandbox.py"),
    *("solvers/__init__.py", "solvers/own_code.py", "solvers/autoreproduce.py"),
    "benchmarks/reproducebench/task_code.py",  # of the content that ships
    "method/short_run.py",  # runs in the sandbox
    "plugins/integrations/inspect_tasks.py",  # of the plugins' own declarations
}


@functools.cache
def called_names() -> dict[str, set[str]]:
    """What each module of the package calls, as it is written there."""
    return {
        str(path.relative_to(PACKAGE)): {
            ast.unparse(node.func)
            for node in rooms.nodes(path)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
        }
        for path in rooms.modules()
    }


def callers(names: Callable[[str], object]) -> set[str]:
    """The modules of the package that call a function of such a name."""
    return {module for module, called in called_names().items() if any(map(names, called))}


def test_each_module_that_reads_a_file_of_others_says_which_kind() -> None:
    unknown = callers(READERS.__contains__) - set(LOADERS)
    assert not unknown, "say in LOADERS which kind it reads, and what somebody else's file may do"
    assert set(LOADERS.values()) - {"the reader itself"} <= set(KINDS)


def test_names_become_modules_only_where_tables_are() -> None:
    assert callers(IMPORTING.__contains__) <= IMPORTERS


def test_each_module_that_opens_a_file_says_whose_it_is() -> None:
    found = callers(PLAIN_READERS.search)
    plain = {module for modules in OPENED.values() for module in modules}
    assert found - set(LOADERS) <= plain, (
        "say in OPENED whose files it opens, and what keeps them harmless"
    )
    assert plain | set(LOADERS) <= set(called_names()), "a module that these lists name is gone"


def test_children_import_nothing_of_the_current_folder() -> None:
    """`python -m` alone puts that folder first: a `typer.py` there would run on this machine."""
    for path in rooms.modules():
        for node in rooms.nodes(path):
            if not isinstance(node, ast.List | ast.Tuple):
                continue
            words = [ast.unparse(each) for each in node.elts]
            if "sys.executable" in words and "'-m'" in words:
                assert "'-P'" in words[: words.index("'-m'")], f"{path}:{node.lineno}"


def test_the_page_on_security_names_tests_of_each_kind() -> None:
    tests = {path.name for path in Path(__file__).parent.rglob("test_*.py")}
    assert len(KINDS) > 10
    for kind, shown_by in KINDS.items():
        named = set(re.findall(r"`(\w+\.py)`", shown_by))
        assert named and named <= tests, kind

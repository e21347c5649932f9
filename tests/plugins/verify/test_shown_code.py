"""What decides how code is run is shown before a plan is made: commands, the files that they name,
what these import, what an error names, and what the model asks for.
"""

import json
from pathlib import Path

import pytest
from chat_server import chat_server
from sandbox_fixtures import settings_for
from trial_results import verdict_of

from autoreproduce import verify
from autoreproduce.audit.find import readable as readable_code
from autoreproduce.claims.claim import Claim
from autoreproduce.claims.withholding import Withholding
from autoreproduce.files.notebooks import joined, notebook_cells, notebook_errors
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.verify.shown_code import experiment_text, files_asked_for, shown_code
from autoreproduce.runner.api_results import Reproduction
from autoreproduce.trials.program_output import readable


def code_of(folder: Path, **files: str) -> Path:
    tree = Tree(folder)
    for name, text in files.items():
        tree.write(name.replace("__", "/").replace("_DOT_", "."), text)
    return folder


def names(folder: Path, about: str, *more: str) -> list[str]:
    return [name for name, _ in shown_code(folder, about, *more)["shown"]]


def noise(count: int = 30) -> dict[str, str]:
    """Scripts whose names share words with every table, as a library's tests and tools do."""
    return {f"tools__table_control_{n}_DOT_py": f"x = {n}\n" * 50 for n in range(count)}


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("README_DOT_md", "To make Table 2:\n\n    python experiments/noise_sweep.py --seeds 2\n"),
        ("Makefile", "table2:\n\tpython -m experiments.noise_sweep --seeds 2\n"),
        ("pyproject_DOT_toml", '[project.scripts]\nsweep = "experiments.noise_sweep:main"\n'),
        ("_DOT_github__workflows__ci_DOT_yml", "  - run: python experiments/noise_sweep.py\n"),
        ("run_all_DOT_sh", "cd experiments && python noise_sweep.py\n"),
    ],
)
def test_the_script_that_a_command_names_comes_before_those_with_like_names(
    tmp_path: Path, place: str, text: str
) -> None:
    script = "from control.lqr import gain\nprint(gain())\n"
    files = {"experiments__noise_sweep_DOT_py": script, "control__lqr_DOT_py": "def gain(): ...\n"}
    code_of(tmp_path, **noise(), **files, **{place: text}, control____init___DOT_py="")
    found = names(tmp_path, "Table 2 mean cost of the control")
    assert found[0] == place.replace("_DOT_", ".").replace("__", "/")
    assert found[1:3] == ["experiments/noise_sweep.py", "control/lqr.py"]


def test_of_several_commands_the_tables_own_comes_first(tmp_path: Path) -> None:
    readme = (
        "Table 1: `python a.py`\n\nsome words\n\nFigure 2:\n`python c.py`\n\n"
        "more words\n\nTable 2:\n`python b.py`\n"
    )
    code_of(tmp_path, README_DOT_md=readme, a_DOT_py="1", b_DOT_py="2", c_DOT_py="3")
    assert names(tmp_path, "Table 2 cost")[:2] == ["README.md", "b.py"]
    assert names(tmp_path, "Figure 2 cost")[:2] == ["README.md", "c.py"]


def test_a_file_that_only_the_paper_names_is_shown(tmp_path: Path) -> None:
    code_of(tmp_path, **noise(), scripts__e28_DOT_py="print(1)", scripts__e29_DOT_py="print(2)")
    paper = "All numbers of this table come from scripts/e28.py with two seeds."
    assert names(tmp_path, "Table 2 control", paper)[0] == "scripts/e28.py"


def test_what_a_traceback_names_comes_first_and_around_its_line(tmp_path: Path) -> None:
    long = "".join(f"value_{n} = compute({n})\n" for n in range(2_000))
    broken = long.replace("value_1500 =", "broken =")
    code_of(tmp_path, **noise(), lib__deep_DOT_py=broken, README_DOT_md="python main.py\n")
    error = 'File "/workspace/lib/deep.py", line 1501, in <module>\nNameError: compute'
    [(first, text), *_] = shown_code(tmp_path, "Table 2 control", "", error)["shown"]
    assert first == "lib/deep.py" and "broken = compute(1500)" in text
    assert "value_1480 =" in text and "value_900 =" not in text


def test_a_file_of_usual_length_is_shown_whole(tmp_path: Path) -> None:
    """Cut before after 2,500 characters, where the patch belonged."""
    body = "".join(f"value_{n} = compute({n})\n" for n in range(400))
    code_of(tmp_path, main_DOT_py=body + "plt.show()\n", README_DOT_md="python main.py\n")
    shown = dict(shown_code(tmp_path, "")["shown"])
    assert shown["main.py"].endswith("value_399 = compute(399)\nplt.show()\n")


def test_of_a_long_script_its_options_are_shown_wherever_they_stand(tmp_path: Path) -> None:
    body = "".join(f"value_{number} = compute({number})\n" for number in range(2_000))
    last = "def main():\n    parser.add_argument('--outdir')\n\nif __name__ == '__main__':\n    main()\n"
    Tree(tmp_path).write("long.py", f'"""What it does."""\n{body}import late\n{last}')
    [(_, shown)] = shown_code(tmp_path, "")["shown"]
    assert shown.startswith('"""What it does."""\nvalue_0') and len(shown) < 16_100
    below = shown.rpartition("value_")[2].splitlines()[1:]
    assert [line.strip() for line in below if line.strip() not in ("…", "")] == [
        "import late",
        "def main():",
        "parser.add_argument('--outdir')",
        "if __name__ == '__main__':",
    ]


def test_a_notebook_is_shown_by_its_code(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["Table 2"]},
        {"cell_type": "code", "source": ["import numpy\n", "x = 1"], "outputs": [{"text": "9"}]},
    ]
    code_of(tmp_path, table2_DOT_ipynb=json.dumps({"cells": cells}))
    [(_, shown)] = shown_code(tmp_path, "Table 2")["shown"]
    assert shown == "# cell 1\n# Table 2\n# cell 2\nimport numpy\nx = 1"


def test_all_that_is_shown_fits_into_its_room(tmp_path: Path) -> None:
    files = {f"f{n}_DOT_py": "x = 1\n" * 3_000 for n in range(40)}
    code_of(tmp_path, **files)
    shown = shown_code(tmp_path, "")["shown"]
    assert sum(len(text) for _, text in shown) <= 70_000 and len(shown) >= 4


def test_files_that_are_asked_for_and_those_that_are_not_there(tmp_path: Path) -> None:
    code_of(tmp_path, a_DOT_py="x = 1\n")
    found = files_asked_for(tmp_path, ["./a.py", "../secret.py", "b.py", "a.py"])
    assert found.count("x = 1") == 1 and found.count("(no such text file)") == 2


def test_libraries_of_pages_are_no_code_of_the_papers(tmp_path: Path) -> None:
    """Quarto and R Markdown leave theirs beside what they render."""
    library = {"paper_files__libs__quarto_DOT_js": "const x = 1;\n" * 9}
    library |= {"site__popper_DOT_js": f"/* MIT */\n!function(e){{{'e.a=1;' * 500}}}();\n"}
    rows = f"x = [{'1, ' * 900}]\nprint(sum(x))\n"
    code_of(tmp_path, **library, plot_DOT_js="draw(1);\n", data_DOT_py=rows)
    assert sorted(names(tmp_path, "Table 2")) == ["data.py", "plot.js"]
    files = {name: (tmp_path / name).read_text() for name in Tree(tmp_path).files()}
    assert sorted(readable_code(files)) == ["data.py", "plot.js"]


def test_documents_are_shown_without_the_papers_results(tmp_path: Path) -> None:
    """The paper's own source may lie beside the code, and a README may repeat its numbers."""
    where = {"table": "Table 2", "row": ["LQR"], "column": ["Cost"]}
    facts = {"id": "a", "metric": "cost", "value": 22.75, "direction": "lower"}
    claim = Claim.model_validate({**facts, **where})
    said = "The cost of LQR is 22.75.\n"
    files = {"README_DOT_md": f"Run `python run.py --seeds 5`. {said}", "paper_DOT_tex": said}
    code_of(tmp_path, **files, run_DOT_py="LIMIT = 22.75\n")
    shown = dict(shown_code(tmp_path, "Table 2", withhold=Withholding([claim]))["shown"])
    assert "22.75" not in shown["README.md"] and "python run.py --seeds 5" in shown["README.md"]
    asked = files_asked_for(tmp_path, ["paper.tex", "run.py"], Withholding([claim]))
    assert "cost of LQR is" in asked and asked.count("22.75") == 1 and "LIMIT = 22.75" in asked


PAPER = """# Control under noise
We propose a controller. It is good in many ways, as we show below in what follows here.

## Experiments
In Table 2 we run each controller on three noise levels with two seeds and five episodes of
horizon 200, and average the cost over the levels.

Table 2: Mean cost.

| Method | Cost |
|---|---|
| LQR | 22.75 |

## Related work
Many have written about control before us, and their words are kind and of no consequence.
"""


def test_the_experiments_paragraph_is_chosen_by_table_and_settings() -> None:
    found = experiment_text(PAPER, ["Table 2 LQR / Cost"])
    assert "two seeds and five episodes" in found and "kind and of no" not in found
    assert "| LQR" not in found


@pytest.mark.slow
def test_the_planner_reads_settings_without_results_and_may_ask_for_a_file(tmp_path: Path) -> None:
    script = "import sys\nprint('cost', float(sys.argv[1]) * 11.375)\n"
    code_of(tmp_path / "code", **noise(), deep__inner__run_DOT_py=script)
    (tmp_path / "paper.md").write_text(PAPER)
    claim = (
        "- {row: [LQR], column: [Cost], metric: cost, value: 22.75, direction: match, "
        "table: Table 2}"
    )
    place = {"id": "lqr_cost", "of": {"file": "stdout", "key": "cost"}}
    replies = [
        f"```yaml\n{claim}\n```",
        '{"show": ["deep/inner/run.py"]}',
        '{"show": ["tools/table_control_1.py"]}',
        '{"command": "python deep/inner/run.py 2"}',
        json.dumps({"places": [place]}),
    ]
    with chat_server(replies) as server:
        how = {"model": "any", "base_url": server.base_url, "audit": False}
        settings = settings_for("process", runs_dir=tmp_path / "runs", **how)
        [done] = verify(tmp_path / "code", paper=tmp_path / "paper.md", settings=settings)
        prompts = [request.prompt for request in server.requests]
    assert "two seeds and five episodes" in prompts[1] and "22.75" not in prompts[1]
    assert "float(sys.argv[1]) * 11.375" in prompts[2]
    assert "files were shown before" in prompts[3]
    assert "two seeds and five episodes" in prompts[4] and "22.75" not in prompts[4].split("##")[0]
    assert isinstance(done, Reproduction)
    found = verdict_of(done.path)
    assert found and found.claims[0].verdict.word == "reproduced"


def test_a_notebook_of_format_3_is_read_as_today_s() -> None:
    code = {"cell_type": "code", "input": ["x = 1\n", "print(x)"], "language": "python"}
    broken = {"output_type": "pyerr", "ename": "NameError", "evalue": "y"}
    old = {"worksheets": [{"cells": [{**code, "outputs": [broken]}]}], "nbformat": 3}
    today = {"cells": [{**code, "source": code["input"], "outputs": [broken]}], "nbformat": 4}
    for notebook in (old, today):
        text = json.dumps(notebook)
        assert [joined(cell["source"]) for cell in notebook_cells(text)] == ["x = 1\nprint(x)"]
        assert notebook_errors({"a.ipynb": text}) == ["a.ipynb, code cell 1: NameError: y"]
        assert readable("a.ipynb", text) == "NameError: y"
    assert notebook_errors({"a.ipynb": "[]", "b.ipynb": "{", "c.txt": "x"}) == []


def test_an_option_over_several_lines_is_shown_whole(tmp_path: Path) -> None:
    option = (
        "parser.add_argument(\n    '--episodes',\n    type=int,\n    default=(2 + 3),"
        "\n    help='how many (of each kind)',\n)\n"
    )
    click = "@click.option(\n    '--seeds',\n    default=2,\n)\n"
    filler = "".join(f"def step_{n}():\n    return value_{n}\n" for n in range(900))
    code_of(tmp_path, run_DOT_py=filler + option + filler + click + filler)
    [(_, text)] = shown_code(tmp_path, "")["shown"]
    assert option in text and click in text


def test_of_a_long_readme_the_commands_are_shown_those_of_the_table_first(tmp_path: Path) -> None:
    story = "".join(f"Sentence {n} of a long introduction to the field.\n" for n in range(300))
    other = "".join(
        f"## Appendix {n}\n\n```\npython other.py --part {n} {'x' * 60}\n```\n" for n in range(90)
    )
    table = (
        "## Table 3, noise\n\n```bash\nCUDA_VISIBLE_DEVICES=0 python sweep.py --noise 0.1\n```\n"
    )
    code_of(tmp_path, README_DOT_md=story + other + table + story)
    [(_, text)] = shown_code(tmp_path, "Table 3 noise robustness")["shown"]
    assert "python sweep.py --noise 0.1" in text and "Table 3, noise" in text
    assert text.startswith("Sentence 0") and "python other.py --part 0 " in text

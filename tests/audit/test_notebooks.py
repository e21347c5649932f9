"""An audit of notebooks: an item is of a cell of X.ipynb, and the notebook itself is changed."""

import json
from pathlib import Path

import pytest

from autoreproduce.audit.reach import ProgramFiles
from autoreproduce.claims.differences import Item, checked, lines_of
from autoreproduce.evaluation.judging.submitted_code import read_program
from autoreproduce.files.kinds import KINDS
from autoreproduce.files.notebooks import changed_notebook

PAPER = "# Training\nThe model is trained for 200 epochs, on all rows.\n"


def notebook(*cells: str | list[str], form: int = 4) -> str:
    """A notebook with a text first, then these cells of code."""
    name = "source" if form == 4 else "input"
    code = [
        {"cell_type": "code", name: cell, "outputs": [{"png": "x" * 99}], "metadata": {}}
        for cell in cells
    ]
    inside = [{"cell_type": "markdown", "source": "EPOCHS = 20"}, *code]
    held = {"cells": inside} if form == 4 else {"worksheets": [{"cells": inside}]}
    return json.dumps(held | {"nbformat": form})


FIT = notebook(
    "import numpy\n!pip install x\n", ["EPOCHS = 20\n", "fit(EPOCHS)"], "print('EPOCHS')"
)


def item(**facts: object) -> Item:
    usual = {
        "kind": "training length", "says": "200 epochs", "does": "20 epochs",
        "paper": "trained for 200 epochs", "file": "nb/fit.ipynb", "code": "EPOCHS = 20",
        "moves": "yes",
    }  # fmt: skip
    return Item.model_validate(usual | facts)


def test_a_notebook_is_audited_by_its_own_name_and_cells(tmp_path: Path) -> None:
    (tmp_path / "nb").mkdir()
    (tmp_path / "nb/fit.ipynb").write_text(FIT)
    (tmp_path / "nb/fit.py").write_text("EPOCHS = 30\n")
    program = read_program(str(tmp_path), kinds=KINDS)
    assert set(program.files) == {"nb/fit.ipynb.py", "nb/fit.py"}  # as judges see it
    files = program.in_cells
    assert set(files) == {"nb/fit.ipynb", "nb/fit.py"}
    for named in (item(), item(file="fit.ipynb"), item(file="nb/fit.py"), item(first=99)):
        [found], _ = checked([named], PAPER, files, [])
        assert (found.file, found.cell, found.place) == ("nb/fit.ipynb", 2, "nb/fit.ipynb, cell 2")
    [alone], _ = checked([item(code="print('EPOCHS')", paper="on all rows")], PAPER, files, [])
    assert alone.place == "nb/fit.ipynb, cell 3"
    assert list(ProgramFiles(files).reached("jupyter execute nb/fit.ipynb")) == ["nb/fit.ipynb"]
    assert ProgramFiles(files).lacking("jupyter execute nb/fit.ipynb") == []
    single = read_program(str(tmp_path / "nb/fit.ipynb"), kinds=KINDS)
    assert set(single.files) == {"fit.py"} and set(single.in_cells) == {"fit.ipynb"}


def test_a_notebook_may_be_named_as_the_python_file_it_became() -> None:
    assert lines_of("EPOCHS = 20", "a/fit.ipynb", 1, {"a/fit.py": "EPOCHS = 20"}) is not None
    found = lines_of("x = 1", "fit.py", 1, {"a/fit.ipynb": "x = 1", "b.py": "x = 1"})
    assert found == ("a/fit.ipynb", 1, 1)


@pytest.mark.parametrize("form", [3, 4])
@pytest.mark.parametrize("cell", ["a = 1\nEPOCHS = 20\n", ["a = 1\n", "EPOCHS = 20\n"]])
def test_a_value_in_a_cell_is_changed_in_the_notebook(cell: str | list[str], form: int) -> None:
    text = notebook("b = 2", cell, form=form)
    changed = changed_notebook(text, "EPOCHS = 20", "EPOCHS = 200")
    assert changed is not None and "xxx" not in changed  # what the old code drew
    held = json.loads(changed)
    cells = held["cells"] if form == 4 else held["worksheets"][0]["cells"]
    assert cells[0]["source"] == "EPOCHS = 20"  # a text stays
    sources = [each["source" if form == 4 else "input"] for each in cells[1:]]
    assert ["".join(each) for each in sources] == ["b = 2", "a = 1\nEPOCHS = 200\n"]


@pytest.mark.parametrize(
    "old", ["EPOCHS", "# !pip install x", "none", "numpy\n# %% cell 2\nEPOCHS"]
)
def test_what_no_cell_has_exactly_once_is_not_changed(old: str) -> None:
    assert changed_notebook(FIT, old, "1") is None
    with pytest.raises(ValueError, match="no notebook"):
        changed_notebook("{}", old, "1")


def test_a_notebook_named_like_a_module_of_python_hides_none(tmp_path: Path) -> None:
    for name in ("code.ipynb", "fit.ipynb", "sub/random.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(FIT)
    program = read_program(str(tmp_path), kinds=KINDS)
    assert set(program.files) == {"code.ipynb.py", "fit.py", "sub/random.ipynb.py"}
    [found], _ = checked([item(file="code.ipynb")], PAPER, program.in_cells, [])
    assert found.file == "code.ipynb"

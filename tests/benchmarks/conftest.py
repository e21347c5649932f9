"""The parts of a task's folder, for the tests of that task: the test module says which folder by its FOLDER."""

import importlib
import sys

import pytest

from autoreproduce.benchmarks import reproducebench
from autoreproduce.eval.calibration import with_mistake


@pytest.fixture(scope="module")
def prepare(request):
    """prepare.py."""
    return reproducebench._module(request.module.FOLDER / "prepare.py")


@pytest.fixture(scope="module")
def metric(request):
    """The function that recomputes the metric."""
    return reproducebench._module(request.module.FOLDER / "metric.py").metric


@pytest.fixture(scope="module")
def data_code(request):
    """preprocess.py, the data code that is given to an agent."""
    pytest.importorskip("torch")
    return reproducebench._module(request.module.FOLDER / "preprocess.py")


@pytest.fixture(scope="module")
def model(request):
    """The reference's model.py."""
    pytest.importorskip("torch")
    return reproducebench._module(request.module.FOLDER / "reference" / "model.py")


@pytest.fixture
def program(request, model, data_code, monkeypatch):
    """The reference's main.py, which imports the model and the data code by the names that they have in a workspace."""
    monkeypatch.setitem(sys.modules, "model", model)
    monkeypatch.setitem(sys.modules, "preprocess", data_code)
    return reproducebench._module(request.module.FOLDER / "reference" / "main.py")


@pytest.fixture
def wrong(request, tmp_path):
    """Gives a file of the reference as a module, with the known mistake of a number put in."""
    folder = request.module.FOLDER
    mistakes = reproducebench.task_file(folder).breaking
    files = {path.name: path.read_text() for path in (folder / "reference").glob("*.py")}

    def module(number, name):
        place = tmp_path / f"mistake {number}"
        place.mkdir(exist_ok=True)
        for file, text in with_mistake(files, mistakes[number]).items():
            (place / file).write_text(text)
        return reproducebench._module(place / name)

    return module


@pytest.fixture(scope="module")
def laid_out(request):
    """The reference's program as it lies in a workspace: `main`, its neighbours and the data code by their names."""
    pytest.importorskip("torch")
    folder = request.module.FOLDER
    places = [str(folder), str(folder / "reference")]
    names = ["preprocess", *(path.stem for path in (folder / "reference").glob("*.py"))]
    kept = {name: sys.modules.pop(name, None) for name in names}
    flag, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path[:0] = places
    yield importlib.import_module("main")
    sys.path[:] = [path for path in sys.path if path not in places]
    sys.dont_write_bytecode = flag
    for name in names:
        sys.modules.pop(name, None)
        if kept[name] is not None:
            sys.modules[name] = kept[name]

"""The parts of a task's folder, for the tests of that task: the test module says which folder by its FOLDER."""

import sys

import pytest

from autoreproduce.benchmarks import reproducebench


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

"""Trivial bodies by influence: the function's own body runs, and what it gave is put in kind."""

from __future__ import annotations

import asyncio
import collections
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from autoreproduce.plugins.masked.in_kind import in_kind, inside_text
from autoreproduce.plugins.masked.masking import mask
from autoreproduce.plugins.masked.source import PythonSource
from autoreproduce.plugins.masked.trivial import by_influence

ZERO, ONE = 0, 1

FUNCTIONS = '''\
import numpy as np


class Base:
    def scaled(self, x):
        return 2 * x


class Model(Base):
    rate = 1.0

    def __init__(self, rate, name="a"):
        """A docstring stays none of the body."""
        self.rate = rate + 1.0
        self.name = name
        self.weights = np.full(3, 7.0)

    def scaled(self, x, *more, factor=3, **rest):
        x = super().scaled(x) * factor + len(more)
        return x, {"shape": x.shape}

    def step(self):
        self.weights += 1
        self.rate = self.rate * 2


def rows(n):
    for number in range(1, n):
        yield number, [number / 2]


async def later(x): return x + 1


def fill(target, value):
    target[...] = value


def nothing(x):
    pass


def adder(a):
    return lambda b: a + b

'''


def with_body(name: str, fill: int) -> SimpleNamespace:
    source = PythonSource(FUNCTIONS.encode())
    body = by_influence(source.find(name), fill)
    assert body is not None
    made: dict[str, object] = {}
    exec(mask(source, [(source.find(name), body)]).data, made)
    return SimpleNamespace(**made)


def test_numbers_are_replaced_and_structure_stays() -> None:
    Point = collections.namedtuple("Point", "x y")
    found = in_kind({"a": [1, 2.5, True, "text", None], "p": Point(1, np.float32(2))}, 0)
    assert found == {"a": [0, 0.0, False, "", None], "p": Point(0, 0)}
    assert type(found["a"][0]) is int and type(found["p"].y) is np.float32
    whole = in_kind(np.arange(6).reshape(2, 3), 1)
    assert whole.shape == (2, 3) and whole.dtype.kind == "i" and whole.sum() == 6
    sparse = in_kind(csr_matrix(np.eye(3) * 5), 1)
    assert sparse.nnz == 3 and sparse.sum() == 3
    flags = in_kind(np.array([True, False]), 0)
    assert flags.dtype == bool and not flags.any()


def test_a_table_keeps_its_columns() -> None:
    pandas = pytest.importorskip("pandas")
    table = in_kind(pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}), 0)
    assert list(table["a"]) == [0, 0] and list(table["b"]) == ["x", "y"]


@pytest.mark.slow
def test_a_tensor_stays_in_its_graph_and_a_module_its_layers() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.full((2,), 3.0))
    loss = in_kind((weight**2).sum(), 0)
    loss.backward()  # still part of its graph
    assert loss.item() == 0 and weight.grad.tolist() == [0, 0]
    layer = in_kind(torch.nn.Linear(2, 2), 1)
    assert {float(each) for part in layer.parameters() for each in part.detach().ravel()} == {1.0}


def test_a_method_with_super_and_all_kinds_of_parameters() -> None:
    model = with_body("Model.scaled", ZERO).Model(1.0)
    array, facts = model.scaled(np.ones(2), 1, 2, factor=5, other=1)
    assert array.tolist() == [0, 0] and facts == {"shape": (0,)}


def test_what_a_function_without_a_result_changes_is_put_in_kind() -> None:
    model = with_body("Model.__init__", ONE).Model(4.0, name="b")
    assert model.rate == 1.0 and model.name == "" and model.weights.tolist() == [1, 1, 1]
    model = with_body("Model.step", ZERO).Model(4.0)
    model.step()
    assert model.rate == 0.0 and model.weights.tolist() == [0, 0, 0] and model.name == "a"
    target = np.zeros(2)
    with_body("fill", ONE).fill(target, 9)
    assert target.tolist() == [1, 1]


def test_a_body_with_nothing_to_null_stops_and_does_not_pass() -> None:
    with pytest.raises(TypeError, match="nothing that the function returns or changes"):
        with_body("nothing", ZERO).nothing(3)


def test_generators_coroutines_and_functions() -> None:
    assert list(with_body("rows", ZERO).rows(3)) == [(0, [0.0]), (0, [0.0])]
    assert asyncio.run(with_body("later", ONE).later(5)) == 1
    assert with_body("adder", ZERO).adder(1)(2) == 0


def test_the_text_that_runs_in_the_sandbox_needs_nothing_of_this_package() -> None:
    made: dict[str, object] = {}
    exec(inside_text(), made)
    assert "autoreproduce" not in inside_text() and "Any" not in inside_text()
    assert made["in_kind"]([1, "a"], 0) == [0, ""]  # type: ignore[operator]

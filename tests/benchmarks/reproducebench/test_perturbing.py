"""Arrays that a program handed in are perturbed one by one: what its predictions rest on."""

from pathlib import Path

import numpy as np
import pytest

from autoreproduce.benchmarks.reproducebench import serving
from autoreproduce.benchmarks.reproducebench.perturbing import (
    ALL,
    FALLEN,
    WHOLE,
    Profile,
    change,
    matched,
    nudged,
    permutable,
    perturbed,
    take_few,
)
from autoreproduce.benchmarks.reproducebench.task_yaml import Serving
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.task import Metric, Task
from autoreproduce.trials.pair import Pair
from autoreproduce.trials.served import Served

TASK = Task(id="t", metric=Metric(name="error", direction="lower"), instruction="")
RNG = np.random.default_rng(0)
LEARNT = {"w": RNG.normal(size=(40, 3)), "b": RNG.normal(size=3)}
SCALING = {"scale": np.array([10, 10, 10])}
LINEAR = "return x @ weights['w'] + weights['b']"
LAW = "law = np.stack([np.sin(x[:, 0]), x[:, 1] ** 2, x[:, 2]], 1)\n    "


@pytest.mark.parametrize(
    "array",
    [
        np.arange(9),
        np.array([4, 4, 4]),
        np.array(3),
        np.array(2.5),
        np.ones(5),
        np.zeros((2, 2), np.float32),
        np.array([1.0, 2.0]),
        np.array([True, False]),
        RNG.normal(size=(4, 5)),
    ],
)
def test_every_kind_of_array_changes_and_keeps_its_shape_and_type(array: np.ndarray) -> None:
    found = perturbed(array, np.random.default_rng(1))
    assert found.shape == array.shape and found.dtype == array.dtype
    assert not np.array_equal(found, array)
    if array.size > 1 and np.ptp(array * 1) > 0 and array.dtype.kind != "b":
        assert np.array_equal(np.sort(found, None), np.sort(array, None))


def test_text_and_what_is_empty_stay() -> None:
    for array in (np.array(["a", "b"]), np.zeros(0)):
        assert perturbed(array, np.random.default_rng(1)) is array
    whole, real = np.arange(5), RNG.normal(size=1000)
    assert nudged(whole, np.random.default_rng(1), 0.001) is whole
    assert 0 < np.abs(nudged(real, np.random.default_rng(1), 0.001) - real).max() < 0.01


def test_a_file_of_weights_is_perturbed_by_an_array_or_all_real_ones(tmp_path: Path) -> None:
    arrays = {"a": RNG.normal(size=(4, 5)), "b": np.array([1.0, 2.0]), "n": np.arange(9)}
    file = tmp_path / "w.npz"
    for which, changed in ((WHOLE, set()), (1, {"b"}), (2, {"n"}), (ALL, {"a", "b"})):
        np.savez(file, one=np.array(3.0), **arrays)
        change(file, which + (which >= 0), 1)
        with np.load(file) as found:
            assert found["one"] == 3
            assert {n for n, a in arrays.items() if not np.array_equal(found[n], a)} == changed
            assert all(
                np.array_equal(np.sort(found[n], None), np.sort(arrays[n], None)) for n in arrays
            )
    assert permutable(file) == 2


def test_a_pickle_among_the_weights_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", a=np.array([{"a": 1}], dtype=object))
    with pytest.raises(UsageError, match="cannot be read"):
        permutable(tmp_path / "w.npz")


def profile(at: Path, body: str, enough: float = 1e9, **weights: np.ndarray) -> Profile:
    """Of a program whose `predict` has this body, until so many numbers are known to carry."""
    program = at / "program"
    program.mkdir()
    (program / "predict.py").write_text(
        f"import numpy as np\ndef predict(weights, inputs):\n    x = inputs['x']\n    {body}\n"
    )
    np.savez(program / "weights.npz", **weights)
    np.savez(at / "all.npz", x=RNG.normal(size=(17, 40)))
    take_few(at / "all.npz", at / "few.npz", whole=False)
    with np.load(at / "few.npz") as file:
        assert len(file["x"]) == 4
    sandboxes = SandboxSetup(Settings(sandbox="process"), at / "packages")
    asked = Serving(inputs=["x"])
    handed = serving.HandedIn(TASK, asked, program, sandboxes, at / "calls")
    return handed.profile(at / "few.npz", lambda known: known.found(0.05) >= enough)


@pytest.mark.slow
def test_predictions_rest_on_all_that_was_learnt(tmp_path: Path) -> None:
    found = profile(tmp_path, LINEAR, **LEARNT, adam=RNG.normal(size=500))
    assert found.carriers(0.05) == 123 and found.again == 0 and found.tiny < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        LAW + "return law * weights['scale']",  # whole numbers that are all alike
        LAW + "return law * weights['scale'] + 0.001 * (x @ weights['w'])",
        LAW + "return law * (1 if weights['scale'].sum() == 30 else 5)",
    ],
)
def test_those_of_a_law_rest_on_a_scaling(body: str, tmp_path: Path) -> None:
    found = profile(tmp_path, body, **LEARNT, **SCALING)
    assert found.carriers(0.05) == 3


@pytest.mark.slow
def test_a_program_that_compares_its_weights_falls_over_at_a_thousandth(tmp_path: Path) -> None:
    same = "same = np.isclose(np.abs(weights['w']).sum(), weights['sum'])\n    "
    body = LAW + same + "return law if same else 0 * law"
    found = profile(tmp_path, body, **LEARNT, sum=np.abs(LEARNT["w"]).sum())
    assert found.tiny > 0.5


@pytest.mark.slow
def test_nothing_tells_a_call_with_perturbed_weights_from_another(tmp_path: Path) -> None:
    """Predictions are what a program sees: its folder, its callers' variables, its command."""
    body = (
        "import os, sys, zlib\n    frame, seen = sys._getframe(1), []\n    "
        "while frame:\n        "
        "seen += [*frame.f_locals, *frame.f_globals]\n        "
        "frame = frame.f_back\n    "
        "seen += [*sorted(os.listdir('.')), *sys.argv, *sorted(sys.modules)]\n    "
        "seen += [str(os.stat('weights.npz').st_size), open('call.py').read()]\n    "
        "return np.array([zlib.crc32(repr(seen).encode())])"
    )
    found = profile(tmp_path, body, **LEARNT, scale=np.ones(3))
    assert found.moved == [0.0] * 3 and found.again == found.tiny == 0


@pytest.mark.slow
def test_no_further_array_is_tried_once_enough_is_known(tmp_path: Path) -> None:
    found = profile(tmp_path, LINEAR, 100, **LEARNT, **{f"b{n}": np.ones(1) for n in range(5)})
    assert len(found.tried) < len(found.sizes) == 7
    assert found.found(0.05) >= 120


@pytest.mark.slow
def test_a_call_finds_nothing_of_the_one_before_and_may_fail_or_hang(tmp_path: Path) -> None:
    body = (
        "from pathlib import Path\n    "
        "assert not Path('seen').exists()\n    "
        "Path('seen').write_text('x')\n    "
        "assert weights['a'][0] == 1\n    "
        "while weights['n'][0] != 0: pass\n    "
        "return x"
    )
    found = profile(tmp_path, body, a=np.ones(2), n=np.zeros(4, int), junk=np.arange(9.0))
    assert found.moved == [FALLEN, FALLEN, 0.0] and found.again == 0


@pytest.mark.slow
def test_a_method_that_draws_anew_at_each_call_is_told(tmp_path: Path) -> None:
    body = LINEAR + " + np.random.default_rng().normal(size=(len(x), 3))"
    assert profile(tmp_path, body, **LEARNT).again > 0.05


def test_arrays_that_time_did_not_reach_count_as_the_others() -> None:
    found = Profile(moved=[1.0, None, 0.0], sizes=[10, 40, 10], tiny=0, again=0)
    assert found.carriers(0.1) == 30 and found.typical == 0.0


@pytest.mark.slow
def test_a_slow_predict_leaves_small_arrays_untried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "PERTURBING", 0.0)
    body = "return x @ weights['w']"
    few = {f"small{n}": np.zeros(1) for n in range(20)}
    found = profile(tmp_path, body, **few, w=RNG.normal(size=(40, 3000)))
    assert found.moved[-1] is not None and found.moved.count(None) == 18
    assert found.carriers(0.05) > 100_000


OURS = {
    "layer.weight": RNG.normal(size=(4, 3)).astype(np.float32),
    "layer.bias": RNG.normal(size=4).astype(np.float32),
    "head.weight": RNG.normal(size=(4, 3)).astype(np.float32),
    "head.bias": RNG.normal(size=1).astype(np.float32),  # one number, and learnt
    "padding": np.array(5),
}


def of_the_method(at: Path, **theirs: np.ndarray) -> dict[str, np.ndarray] | None:
    np.savez(at / "ours.npz", **OURS)
    np.savez(at / "theirs.npz", **theirs)
    if not matched(at / "theirs.npz", at / "ours.npz", at / "filled.npz"):
        return None
    with np.load(at / "filled.npz") as file:
        return dict(file)


def test_tensors_are_matched_by_name_else_by_shape_in_order(tmp_path: Path) -> None:
    new = {name: array * 2 for name, array in OURS.items() if name != "padding"}
    by_name = of_the_method(tmp_path, **dict(reversed(new.items())), more=np.ones(3))
    renamed = {f"part{n}": array.astype(float) for n, array in enumerate(new.values())}
    by_shape = of_the_method(tmp_path, **renamed, padding=np.array(7))
    for found in (by_name, by_shape):
        assert found is not None and found["padding"] == 5
        assert all(np.allclose(found[name], new[name]) for name in new)
        assert found["layer.bias"].dtype == np.float32


def test_tensors_of_another_model_are_not_matched(tmp_path: Path) -> None:
    wide = {name: np.ones((8, 3)) for name in OURS}
    assert of_the_method(tmp_path, **wide) is None
    few = {"a": OURS["layer.weight"], "b": OURS["layer.bias"]}
    assert of_the_method(tmp_path, **few) is None


@pytest.mark.parametrize(
    ("seen", "kinds"),
    [
        ({}, ["weights unused"]),  # permuted, the number stays within the band
        ({"by_reference": True}, []),  # a metric that hardly sees it
        ({"handed": 900, "carrying": 300, "reference_carrying": 320}, []),
        (
            {"handed": 900, "carrying": 300, "reference_carrying": 320, "broken": 0.5},
            ["weights unused"],
        ),
    ],
)
def test_a_number_that_hardly_spoils_tells_only_where_nothing_else_is_known(
    seen: dict[str, float], kinds: list[str]
) -> None:
    pair = Pair(draw="5", reference=0.5, low=0.4, high=0.6)
    served = Served.model_validate({"value": 0.5, "broken": 0.55, "pair": pair, **seen})
    assert [each.kind for each in served.findings(TASK, 0.5)] == kinds


@pytest.mark.parametrize(
    ("seen", "kinds"),
    [
        ({"handed": 900, "carrying": 300, "reference_carrying": 320}, []),
        ({"handed": 900, "carrying": 40, "reference_carrying": 320}, []),  # a smaller model
        ({"handed": 900, "carrying": 3, "reference_carrying": 320}, ["weights unused"]),
        ({"tiny": 0.9, "reference_tiny": 0.01}, ["weights recognised"]),
        ({"tiny": 0.9, "reference_tiny": 0.5}, []),  # the method itself is as touchy
        ({"by_reference": True}, []),
    ],
)
def test_a_finding_is_beside_the_reference(seen: dict[str, float], kinds: list[str]) -> None:
    served = Served(value=0.5, broken=2.0, **seen)  # type: ignore[arg-type]
    assert [each.kind for each in served.findings(TASK, 0.5)] == kinds


@pytest.mark.parametrize(
    ("tried", "said"),
    [
        ((3, 3), "one by one: predictions rest on 300 of 900 numbers"),
        ((2, 30), "one by one (2 of 30): predictions rest on about 300 of 900 numbers"),
    ],
)
def test_what_is_reckoned_from_a_few_arrays_says_so(tried: tuple[int, int], said: str) -> None:
    seen = {"handed": 900, "carrying": 300, "reference_carrying": 320, "tried": tried}
    assert said in Served.model_validate({"value": 0.5, "broken": 2.0, **seen}).checks[-1]

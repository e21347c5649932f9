"""iTransformer: the stand-in needs what the method has, the series of Traffic are the published
ones, windows are cut rightly, the model is the published one.
"""

import gzip
from datetime import datetime, timedelta

import numpy as np
import pytest

from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.benchmarks.reproducebench.task_code import load_module

FOLDER = reproducebench.folder("reproducebench") / "itransformer"


@pytest.fixture
def series(tmp_path):
    """1200 hours of three variates, and the folder that they lie in."""
    values = np.random.default_rng(0).normal(5, 2, (1200, 3)).cumsum(0)
    time = np.datetime64("2016-02-27T20", "h") + np.arange(1200)
    np.savez(tmp_path / "series.npz", values=values, time=time)
    return values, time, tmp_path


@pytest.fixture
def stand_in(prepare, tmp_path):
    """The small profile's values (9000, 20) and their folder."""
    prepare.prepare(tmp_path, "small", print)
    with np.load(tmp_path / "series.npz") as file:
        return file["values"], tmp_path


def test_the_stand_in_is_the_one_that_was_measured(stand_in, prepare):
    values, folder = stand_in
    assert values.shape == (9000, 20) and values.min() > 0 and values.max() < 1
    assert values[0, :4] == pytest.approx([0.10715154, 0.07494957, 0.10433493, 0.07685536])
    with np.load(folder / "series.npz") as file:
        time = file["time"]
    assert str(time[0]) == "2016-07-01T02" and (np.diff(time) == np.timedelta64(1, "h")).all()
    assert (prepare.stand_in()[0] == values).all()
    assert [path.name for path in folder.iterdir()] == ["series.npz"]


def changes(values):
    """Without rhythm and level, about: what differs from the same hour of the week before."""
    return values[168:] - values[:-168]


def correlation(first, second, hours):
    """How well `first` at a time tells `second` that many hours later."""
    return np.corrcoef(first[: len(first) - hours], second[hours:])[0, 1]


def test_what_is_on_its_way_to_a_station_is_seen_at_those_before_it_alone(stand_in, prepare):
    moves, places = changes(stand_in[0]), prepare.stations()
    assert [one.route for one in places] != sorted(one.route for one in places)  # in random order
    for number, one in enumerate(places):
        assert abs(correlation(moves[:, number], moves[:, number], 24)) < 0.2
        for other, two in enumerate(places):
            lag = two.delay - one.delay
            if lag <= 0 or lag > 35:
                continue
            found = correlation(moves[:, number], moves[:, other], lag)
            assert (found > 0.8) == (one.route == two.route), (one, two, found)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The data of a draw, and those with decoys."""
    prepare = load_module(FOLDER / "prepare.py")
    prepare.SEED = 77 | 1 << 128
    folders = [tmp_path_factory.mktemp(name) for name in ("drawn", "decoys")]
    prepare.prepare(folders[0], "small", print)
    load_module(FOLDER / "decoys.py").decoys(*folders, np.random.default_rng(0))
    return folders


@pytest.mark.slow
def test_no_test_window_of_a_draw_holds_what_another_forecasts(drawn, data_code, stand_in):
    data, published = (data_code.load_forecasting(folder) for folder in (drawn[0], stand_in[1]))
    for name, part in vars(published).items():
        assert getattr(data, name).shape == part.shape
    assert data.marks_test.equal(published.marks_test)  # at the same hours
    assert published.x_test[96:].equal(published.y_test[:-96])
    later, forecast = (part.numpy().ravel() for part in (data.x_test[96:], data.y_test[:-96]))
    assert abs(np.corrcoef(later, forecast)[0, 1]) < 0.5  # the hours of a week are the same
    assert float(data.x_test.std()) == pytest.approx(float(published.x_test.std()), rel=0.3)


@pytest.mark.slow
def test_decoys_stand_in_for_all_that_the_windows_of_a_draw_forecast(drawn, data_code):
    data, decoys = (data_code.load_forecasting(folder) for folder in drawn)
    for name, part in vars(data).items():
        assert getattr(decoys, name).equal(part) == (name != "y_test")
    assert (decoys.y_test == data.y_test).float().mean() < 1e-3
    truth = load_module(FOLDER / "metric.py").futures(drawn[0])
    assert (truth == data.y_test.numpy()).all()
    first = np.isclose(data.y_train[:, 0], decoys.y_test[5, 0], atol=1e-4)  # of each hour
    assert first.all(1).any()


def test_without_traffic_one_is_told_where_to_put_it(prepare, tmp_path):
    with pytest.raises(
        ValueError,
        match=rf"Put https://.*/traffic.txt.gz into {tmp_path} \(or .* --data names\), or traffic.csv",
    ):
        prepare.prepare(tmp_path, "full", print)


def test_the_text_file_of_traffic_is_known_by_its_git_object_id(prepare, tmp_path, monkeypatch):
    monkeypatch.setattr(prepare, "TRAFFIC_SHAPE", (2, 3))
    path = tmp_path / "traffic.txt.gz"
    path.write_bytes(gzip.compress(b"0.1,0.2,0.3\n0.4,0.5,0.6\n", mtime=0))
    with pytest.raises(ValueError, match="it is left as it is"):
        prepare.prepare(tmp_path, "full", print)
    assert path.exists()
    monkeypatch.setattr(prepare, "TRAFFIC_OBJECT", prepare.git_object(path))
    prepare.prepare(tmp_path, "full", print)
    with np.load(tmp_path / "series.npz") as file:
        assert file["values"].tolist() == [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
        assert [str(stamp) for stamp in file["time"]] == ["2016-07-01T02", "2016-07-01T03"]


def test_the_git_object_id_is_that_of_git(prepare, tmp_path):
    path = tmp_path / "hello"
    path.write_bytes(b"hello\n")
    assert prepare.git_object(path) == "ce013625030ba8dba906f756967f9e9ca394464a"  # git hash-object


def table(rows: list[list[float]], start: str = "2016-07-01 02:00:00", hours: int = 1) -> str:
    first = datetime.fromisoformat(start)
    lines = ["date,0,1,2,3,OT"]
    for index, row in enumerate(rows):
        lines.append(f"{first + timedelta(hours=hours * index)}," + ",".join(map(str, row)))
    return "\n".join(lines) + "\n"


GOOD = [[0.0048, 0.0146, 0.0289, 0.0142, 0.0121], [0.0072, 0.0148, 0.035, 0.0174, 0.0136]]


def test_the_authors_table_of_traffic_is_read(prepare, tmp_path, monkeypatch):
    monkeypatch.setattr(prepare, "TRAFFIC_SHAPE", (2, 5))
    (tmp_path / "traffic.csv").write_text(table(GOOD))
    prepare.prepare(tmp_path, "full", print)
    with np.load(tmp_path / "series.npz") as file:
        assert file["values"].tolist() == GOOD
        assert [str(stamp) for stamp in file["time"]] == ["2016-07-01T02", "2016-07-01T03"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (table(GOOD[:1]), r"holds \(1, 5\) values, not \(2, 5\)"),
        (table(GOOD, hours=2), "does not go hour by hour"),
        (table(GOOD, start="2016-07-01 03:00:00"), "does not go hour by hour from 2016-07-01T02"),
        (table([[1.5, *GOOD[0][1:]], GOOD[1]]), "not shares between 0 and 1"),
        (table([[float("nan"), *GOOD[0][1:]], GOOD[1]]), "not finite"),
        (table(GOOD[::-1]), "it is not the authors' file"),
        (table(GOOD).replace("OT", "4"), "it is not the authors' file"),
        (table(GOOD).replace("2016-07-01", "2016/7/1"), "has dates unlike 2016-07-01 02:00:00"),
    ],
)
def test_another_table_is_refused(prepare, tmp_path, monkeypatch, text, reason):
    monkeypatch.setattr(prepare, "TRAFFIC_SHAPE", (2, 5))
    (tmp_path / "traffic.csv").write_text(text)
    with pytest.raises(ValueError, match=reason):
        prepare.prepare(tmp_path, "full", print)
    assert (tmp_path / "traffic.csv").exists() and not (tmp_path / "series.npz").exists()


def test_windows_are_cut_from_the_normalised_series(data_code, series):
    values, _, folder = series
    data = data_code.load_forecasting(folder)
    scaled = ((values - values[:840].mean(0)) / values[:840].std(0)).astype(np.float32)
    assert (
        len(data.x_train) == 840 - 191
        and len(data.x_val) == 120 - 95
        and len(data.x_test) == 240 - 95
    )
    for part, start in (("train", 0), ("val", 840 - 96), ("test", 960 - 96)):
        x, y = getattr(data, f"x_{part}").numpy(), getattr(data, f"y_{part}").numpy()
        for window in (0, 7, len(x) - 1):
            at = start + window
            assert (x[window] == scaled[at : at + 96]).all() and (
                y[window] == scaled[at + 96 : at + 192]
            ).all()
    assert (data.y_test[-1].numpy() == scaled[-96:]).all()
    assert np.allclose(
        data.x_test[0].numpy() * data.std.numpy() + data.mean.numpy(), values[864:960], rtol=1e-4
    )


def test_no_target_of_training_or_validation_is_seen_later_as_one(data_code, series):
    values, _, folder = series
    data = data_code.load_forecasting(folder)
    first, last = data.y_val[0, 0].numpy(), data.y_val[-1, -1].numpy()
    scaled = ((values - values[:840].mean(0)) / values[:840].std(0)).astype(np.float32)
    assert (
        (first == scaled[840]).all()
        and (last == scaled[959]).all()
        and (data.y_test[0, 0].numpy() == scaled[960]).all()
    )
    assert (data.y_train[-1, -1].numpy() == scaled[839]).all()


def test_a_variate_that_stands_still_in_training_is_only_shifted(data_code, tmp_path):
    values = np.ones((1200, 1))
    values[1000:] = 3
    np.savez(
        tmp_path / "series.npz",
        values=values,
        time=np.datetime64("2016-01-01T00", "h") + np.arange(1200),
    )
    data = data_code.load_forecasting(tmp_path)
    assert data.y_test.unique().tolist() == [0, 2]


def test_the_marks_are_those_of_the_calendar(data_code, series):
    _, time, folder = series
    data = data_code.load_forecasting(folder)
    for step in (0, 4, 30, 80, 95):  # across the leap day
        when = datetime.fromisoformat(str(time[step]) + ":00")
        known = [
            when.hour / 23,
            when.weekday() / 6,
            (when.day - 1) / 30,
            (when.timetuple().tm_yday - 1) / 365,
        ]
        assert data.marks_train[0, step].numpy() == pytest.approx(np.array(known) - 0.5, abs=1e-6)
    assert data.marks_test.shape == (145, 96, 4) and data.marks_test.abs().max() <= 0.5


def test_the_metric_of_known_predictions(metric, data_code, series):
    _, _, folder = series
    truth = data_code.load_forecasting(folder).y_test.numpy()
    path = folder / "predictions.npz"
    np.savez(path, prediction=truth)
    assert metric(path, folder) == 0
    np.savez(path, prediction=truth + 0.5)
    assert metric(path, folder) == pytest.approx(0.25)
    off = np.zeros_like(truth)
    off[100:, :, 0] = 3  # 45 of 145 windows, one of three variates: a mean over all
    np.savez(path, prediction=truth + off)
    assert metric(path, folder) == pytest.approx(9 * 45 / 145 / 3)


@pytest.mark.parametrize(
    ("prediction", "reason"),
    [
        (np.ones((145, 96)), "has shape"),
        (np.ones((144, 96, 3)), "has shape"),
        (np.ones((145, 96, 3)) * np.nan, "41760 values of `prediction` are not finite"),
        (np.ones((145, 96, 3)) * 1j, "has type complex128"),
    ],
)
def test_the_metric_refuses_what_it_cannot_judge(metric, series, prediction, reason):
    np.savez(series[2] / "predictions.npz", prediction=prediction)
    with pytest.raises(ValueError, match=reason):
        metric(series[2] / "predictions.npz", series[2])


def parameters(module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("width", "layers", "embedding", "attention", "feed_forward", "projection", "whole"),
    [
        (512, 4, 49_664, 1_050_624, 525_312, 49_248, 6_411_872),
        (128, 2, 12_416, 66_048, 33_024, 12_384, 224_224),
    ],
)
def test_each_part_has_the_published_number_of_parameters(
    model, width, layers, embedding, attention, feed_forward, projection, whole
):
    built = model.build_model(width, width, layers)
    assert len(built.blocks) == layers
    assert parameters(built.embedding) == embedding and parameters(built.projection) == projection
    for block in built.blocks:
        assert (
            parameters(block.attention) == attention
            and parameters(block.feed_forward) == feed_forward
        )
    assert parameters(built) == whole


def small(model):
    import torch

    torch.manual_seed(0)
    return model.build_model(16, 32, 2, heads=4).double().eval()


def test_attention_is_the_softmax_of_scaled_scores_of_each_head(model):
    import torch

    layer = model.VariateAttention(8, 2, 0.1).double().eval()
    tokens = torch.randn(3, 5, 8, dtype=torch.float64)
    query, key, value = layer.query(tokens), layer.key(tokens), layer.value(tokens)
    heads = []
    for part in (slice(0, 4), slice(4, 8)):
        scores = torch.einsum("bid,bjd->bij", query[..., part], key[..., part]) / 2  # √d_k = √4
        heads.append(torch.softmax(scores, dim=2) @ value[..., part])
    assert torch.allclose(layer(tokens), layer.output(torch.cat(heads, dim=2)))


def test_the_order_of_the_variates_does_not_matter_and_their_number_is_free(model):
    import torch

    built, order = small(model), [2, 0, 4, 1, 3]
    x, marks = torch.randn(2, 96, 5, dtype=torch.float64), torch.rand(2, 96, 4, dtype=torch.float64)
    assert torch.allclose(built(x, marks)[..., order], built(x[..., order], marks))
    assert built(x[..., :3]).shape == (2, 96, 3)


def test_variates_and_time_stamps_speak_to_each_other(model):
    import torch

    built = small(model)
    x, marks = torch.randn(1, 96, 5, dtype=torch.float64), torch.rand(1, 96, 4, dtype=torch.float64)
    changed = x.clone()
    changed[..., 1] = torch.randn(1, 96, dtype=torch.float64)
    assert ((built(changed, marks) - built(x, marks)).abs().amax((0, 1)) > 1e-6).all()
    assert (
        (built(x, marks + torch.rand_like(marks)) - built(x, marks)).abs().amax((0, 1)) > 1e-6
    ).all()


def test_a_shift_and_a_scale_of_a_window_are_given_back(model):
    import torch

    built, x = small(model), torch.randn(2, 96, 5, dtype=torch.float64) * 10
    assert torch.allclose(built(3 * x + 7), 3 * built(x) + 7, rtol=1e-4)


def test_the_learning_rate_is_halved_from_the_third_epoch_on(program):
    settings = program.PROFILES["full"]
    assert [program.rate(settings, epoch) for epoch in (1, 2, 3, 4, 10)] == [
        1e-3,
        1e-3,
        5e-4,
        2.5e-4,
        1e-3 / 256,
    ]


def test_a_mini_batch_that_is_not_full_is_left_out(program):
    import torch

    rows = torch.cat(list(program.batches(70, 32, torch.Generator().manual_seed(0))))
    assert len(rows) == len(set(rows.tolist())) == 64


@pytest.mark.slow
def test_training_keeps_the_epoch_of_the_best_validation_error(
    program, data_code, series, monkeypatch
):
    import torch

    data = data_code.load_forecasting(series[2])
    settings = program.Settings(
        width=8, hidden=8, layers=1, heads=2, batch_size=64, patience=2, epochs=9
    )
    torch.manual_seed(0)
    built = program.build_model(8, 8, 1, 2)
    validation, kept = iter([5.0, 3.0, 4.0, 3.5, 1.0]), []

    def judged(prediction, truth):
        kept.append(built.embedding.weight.clone())
        return {"mse": next(validation), "mae": 0.0}

    monkeypatch.setattr(program, "errors", judged)
    history = program.train(built, settings, data, seed=0, dry_run=False)
    assert [entry["val_mse"] for entry in history] == [
        5.0,
        3.0,
        4.0,
        3.5,
    ]  # ends after two without a better one
    assert torch.equal(built.embedding.weight, kept[1]) and not torch.equal(kept[1], kept[3])


@pytest.mark.parametrize(("number", "whole"), [(0, 92_128), (1, 224_224), (2, 205_204)])
def test_a_known_mistake_is_put_in_by_its_edits(wrong, number, whole):
    import torch

    torch.manual_seed(0)
    built = wrong(number, "model.py").build_model(128, 128, 2).eval()
    assert parameters(built) == whole
    x, marks = torch.randn(1, 96, 20), torch.rand(1, 96, 4)
    changed = x.clone()
    changed[..., 1] = torch.randn(1, 96)
    moved = ((built(changed, marks) - built(x, marks)).abs().amax((0, 1)) > 1e-6).tolist()
    assert moved == [variate == 1 or number > 0 for variate in range(20)]
    given_back = torch.allclose(built(3 * x + 7, marks), 3 * built(x, marks) + 7, atol=1e-3)
    assert given_back == (number != 1)
    order = [2, 0, 4, 1, 3, *range(19, 4, -1)]
    assert torch.allclose(built(x, marks)[..., order], built(x[..., order], marks), atol=1e-4) == (
        number != 2
    )

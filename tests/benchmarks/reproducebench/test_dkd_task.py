"""DKD: the pictures are what they are said to be, the loss is its equations, the networks have
their parts.
"""

import hashlib
import io
import os
import pickle
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from autoreproduce.benchmarks.reproducebench import task_code
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.errors import UsageError

torch = pytest.importorskip("torch")
F = torch.nn.functional

FOLDER = reproducebench.folder("reproducebench") / "dkd"
LOCAL = os.environ.get("AUTOREPRODUCE_TEST_DATA", "")


@pytest.fixture(scope="module")
def code():
    return task_code.load_module(FOLDER / "preprocess.py")


@pytest.fixture(scope="module")
def program(code, model):
    """main.py of the reference, with its two imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "model", model)
        patch.setitem(sys.modules, "preprocess", code)
        yield task_code.load_module(FOLDER / "reference" / "main.py")


@pytest.fixture
def logits():
    """Student's and teacher's logits of 6 pictures and 5 classes, float64, and labels."""
    random = torch.Generator().manual_seed(0)
    student, teacher = (
        3 * torch.randn(6, 5, generator=random, dtype=torch.float64) for _ in range(2)
    )
    return student, teacher, torch.tensor([0, 1, 2, 3, 4, 2])


def put(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    item = tarfile.TarInfo(name)
    item.size = len(content)
    archive.addfile(item, io.BytesIO(content))


@pytest.fixture
def published(prepare, tmp_path, monkeypatch):
    """A folder with CIFAR-100 and a teacher as they are published, but of three pictures and one
    weight.
    """
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (3, 3072), dtype=np.uint8)
    with tarfile.open(tmp_path / "cifar-100-python.tar.gz", "w:gz") as tar:
        for split in ("train", "test"):
            content = {b"data": data, b"fine_labels": [7, 99, 0], b"coarse_labels": [1, 1, 1]}
            put(tar, f"cifar-100-python/{split}", pickle.dumps(content))
    checkpoint = io.BytesIO()
    torch.save(
        {"epoch": 240, "model": {"fc.weight": torch.ones(2, 3)}, "accuracy": np.float64(79.4)},
        checkpoint,
    )
    with tarfile.open(tmp_path / "cifar_teachers.tar", "w") as tar:
        put(tar, "cifar_teachers/vgg13_vanilla/ckpt_epoch_240.pth", b"another")
        put(tar, "cifar_teachers/resnet32x4_vanilla/ckpt_epoch_240.pth", checkpoint.getvalue())
    archive = hashlib.sha256((tmp_path / "cifar-100-python.tar.gz").read_bytes()).hexdigest()
    monkeypatch.setattr(prepare, "CIFAR100_SHA256", archive)
    monkeypatch.setattr(
        prepare, "TEACHER_SHA256", hashlib.sha256(checkpoint.getvalue()).hexdigest()
    )
    return tmp_path, data


def test_the_published_pictures_and_teacher_are_read(prepare, published):
    folder, data = published
    pictures, labels = prepare.read_cifar100(folder / "cifar-100-python.tar.gz", "train")
    assert pictures.shape == (3, 32, 32, 3) and labels.tolist() == [7, 99, 0]
    assert (
        pictures[1, 0, 5] == data[1, [5, 1024 + 5, 2048 + 5]]
    ).all()  # the file has colours first
    prepare.write_teacher(prepare.teacher_bytes(folder), folder / "teacher.pt")
    weights = torch.load(folder / "teacher.pt", weights_only=True)
    assert list(weights) == ["fc.weight"] and (weights["fc.weight"] == 1).all()


def test_an_archive_of_another_size_is_refused(prepare, published):
    with pytest.raises(ValueError, match="holds 3 pictures in train, not 50000"):
        prepare.prepare(published[0], "full", print)


def test_a_missing_or_another_teacher_is_asked_for(prepare, tmp_path):
    with pytest.raises(
        ValueError, match=r"download https://github\.com/megvii-research/.*cifar_teachers\.tar"
    ):
        prepare.prepare(tmp_path, "full", print)
    (tmp_path / "ckpt_epoch_240.pth").write_bytes(b"mine")
    with pytest.raises(ValueError, match=r"the teacher for .* has SHA-256"):
        prepare.prepare(tmp_path, "full", print)
    assert (tmp_path / "ckpt_epoch_240.pth").read_bytes() == b"mine"


def test_another_archive_of_cifar100_is_left_as_it_is(prepare, published):
    folder, _ = published
    (folder / "cifar-100-python.tar.gz").write_bytes(b"mine")
    with pytest.raises(UsageError):
        prepare.prepare(folder, "full", print)
    assert (folder / "cifar-100-python.tar.gz").read_bytes() == b"mine"


def test_pictures_that_are_not_the_published_ones_are_refused(prepare, tmp_path, monkeypatch):
    monkeypatch.setattr(prepare, "EACH", {"train": 2, "test": 1})
    names = [
        f"{split}/{name}/{i:04d}.jpg"
        for split, n in prepare.EACH.items()
        for name in prepare.CLASSES
        for i in range(n)
    ]
    with zipfile.ZipFile(tmp_path / "CIFAR-10-images.zip", "w") as archive:
        for name in names[1:]:
            archive.writestr(f"CIFAR-10-images-commit/{name}", name)
    with pytest.raises(ValueError, match=r"lacks train/airplane/0000.jpg and 0 more"):
        prepare.prepare(tmp_path, "small", print)
    with zipfile.ZipFile(tmp_path / "CIFAR-10-images.zip", "a") as archive:
        archive.writestr(f"CIFAR-10-images-commit/{names[0]}", names[0])
    with pytest.raises(ValueError, match="they are not those of https"):
        prepare.prepare(tmp_path, "small", print)
    assert not (tmp_path / "train.npz").exists()


def test_a_draw_takes_other_pictures_in_an_order_that_tells_no_class(
    prepare, tmp_path, monkeypatch
):
    def decode(files):
        kinds = [prepare.CLASSES.index(name.decode().split("/")[1]) for name in files]
        return np.array(kinds, np.uint8)[:, None, None, None].repeat(4, 1).repeat(4, 2).repeat(3, 3)

    monkeypatch.setattr(prepare, "decode", decode)
    monkeypatch.setattr(
        prepare, "jpegs", lambda target, wanted, *_: ((one, one.encode()) for one in wanted)
    )
    first = prepare.taken("train")
    assert first[:2] == ["train/airplane/0000.jpg", "train/airplane/0001.jpg"]
    monkeypatch.setattr(prepare, "SEED", 1 << 128 | 5)
    prepare.small(tmp_path, print, None)
    drawn = prepare.taken("train")
    assert len(set(drawn)) == 3000 and len(set(drawn) & set(first)) < 400
    monkeypatch.setattr(prepare, "SEED", 1 << 128 | 6)
    assert prepare.taken("train") != drawn
    for split, each in prepare.EACH.items():
        with np.load(tmp_path / f"{split}.npz") as file:
            labels = file["labels"]
            assert np.array_equal(labels, file["pictures"][:, 0, 0, 0])
            assert np.bincount(labels).tolist() == [each] * 10
            assert (labels == np.arange(len(labels)) // each).all() == (split == "train")
    (tmp_path / "shown").mkdir()
    task_code.load_module(FOLDER / "decoys.py").decoys(
        tmp_path, tmp_path / "shown", np.random.default_rng(0)
    )
    with np.load(tmp_path / "shown" / "test.npz") as file:
        assert 0.06 < (file["labels"] == labels).mean() < 0.14


@pytest.mark.skipif(not LOCAL, reason="AUTOREPRODUCE_TEST_DATA names no folder with real data")
@pytest.mark.slow
def test_the_small_pictures_are_those_of_the_archive(prepare, code, tmp_path):
    prepare.prepare(tmp_path, "small", print, Path(LOCAL))
    data = code.load_cifar(tmp_path)
    each = prepare.EACH["train"]
    assert data.classes == 10 and data.y_train.bincount().tolist() == [each] * 10
    sky, cars = (
        data.x_train[:each].float().mean((0, 2, 3)),
        data.x_train[each : 2 * each].float().mean((0, 2, 3)),
    )
    assert sky[2] > sky[0] + 5  # aeroplanes are seen before blue, and red comes first
    assert 100 < cars.mean() < 140


def test_half_the_side_is_the_mean_of_four(prepare):
    pictures = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)
    halved = prepare.shrink(pictures)
    assert halved.shape == (2, 2, 2, 3) and halved.dtype == np.uint8
    assert halved[1, 0, 1, 2] == round(float(pictures[1, :2, 2:, 2].mean()))


def test_normalised_values_are_those_of_the_channels(program):
    pictures = torch.tensor([0, 255, 51], dtype=torch.uint8)[None, :, None, None].expand(2, 3, 4, 4)
    values = program.normalise(pictures)
    wanted = [(0 - 0.5071) / 0.2675, (1 - 0.4867) / 0.2565, (0.2 - 0.4408) / 0.2761]
    assert torch.allclose(values[1, :, 2, 3], torch.tensor(wanted), atol=1e-6)


def test_an_augmented_picture_is_a_window_of_the_padded_one(program):
    pictures = torch.randint(1, 256, (200, 3, 16, 16), dtype=torch.uint8)
    found = program.augment(pictures, torch.Generator().manual_seed(0))
    padded = F.pad(pictures, (2, 2, 2, 2))
    seen = set()
    for one, whole in zip(found, padded, strict=True):
        windows = {
            (top, left, flip): whole[:, top : top + 16, left : left + 16].flip(-1 if flip else ())
            for top in range(5)
            for left in range(5)
            for flip in (False, True)
        }
        seen |= {key for key, window in windows.items() if (window == one).all()}
    assert found.shape == pictures.shape and len(seen) > 45  # of 50, each about four times


def parameters(module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("depth", "stages", "total"),
    [(8, [57_728, 230_144, 919_040], 1_233_540), (32, [353_664, 1_411_840, 5_641_728], 7_433_860)],
)
def test_each_part_has_the_published_number_of_parameters(model, depth, stages, total):
    with torch.device("meta"):
        network = model.ResNet(depth, (32, 64, 128, 256), 100)
    assert [parameters(part) for part in (network.layer1, network.layer2, network.layer3)] == stages
    assert [parameters(network.conv1), parameters(network.bn1), parameters(network.fc)] == [
        864,
        64,
        25_700,
    ]
    assert parameters(network) == total


def test_a_block_is_two_convolutions_and_a_shortcut(model):
    block = model.build_model(widths=(4, 6, 8, 8), classes=3).layer2[0].double().eval()
    x = torch.randn(2, 6, 8, 8, dtype=torch.float64)

    def normed(norm, values):
        scale = norm.weight / (norm.running_var + norm.eps).sqrt()
        return (values - norm.running_mean[:, None, None]) * scale[:, None, None] + norm.bias[
            :, None, None
        ]

    for norm in (block.bn1, block.bn2, block.downsample[1]):
        torch.nn.init.normal_(norm.running_mean)
        torch.nn.init.normal_(norm.bias)
    inner = normed(block.bn1, F.conv2d(x, block.conv1.weight, stride=2, padding=1)).relu()
    inner = normed(block.bn2, F.conv2d(inner, block.conv2.weight, padding=1))
    shortcut = normed(
        block.downsample[1],
        torch.einsum("oi,nihw->nohw", block.downsample[0].weight[:, :, 0, 0], x[:, :, ::2, ::2]),
    )
    assert torch.allclose(block(x), (inner + shortcut).relu())
    assert model.build_model(14, (4, 4, 8, 8), 3).layer1[0].downsample is None


def test_a_depth_that_fits_no_block_is_refused(model):
    with pytest.raises(ValueError, match="depth of 9"):
        model.build_model(9)


def test_the_two_parts_are_their_definitions(model, logits):
    student, teacher, labels = logits
    for i, label in enumerate(labels):
        p = {
            name: (values[i] / 4).exp() / (values[i] / 4).exp().sum()
            for name, values in (("s", student), ("t", teacher))
        }
        t, s = p["t"][label], p["s"][label]
        target = t * (t / s).log() + (1 - t) * ((1 - t) / (1 - s)).log()
        rest = [j for j in range(5) if j != label]
        q = {name: values[rest] / (1 - values[label]) for name, values in p.items()}
        other = (q["t"] * (q["t"] / q["s"]).log()).sum()
        assert torch.allclose(model.target_class_loss(student, teacher, labels, 4.0)[i], target)
        assert torch.allclose(model.other_classes_loss(student, teacher, labels, 4.0)[i], other)


def test_with_the_teachers_doubt_as_weight_it_is_classical_distillation(model, logits):
    student, teacher, labels = logits
    doubt = 1 - (teacher / 4).softmax(1).gather(1, labels[:, None])[:, 0]
    target = model.target_class_loss(student, teacher, labels, 4.0)
    other = model.other_classes_loss(student, teacher, labels, 4.0)
    classical = F.kl_div(
        (student / 4).log_softmax(1), (teacher / 4).softmax(1), reduction="none"
    ).sum(1)
    assert torch.allclose(target + doubt * other, classical)
    decoupled = model.distillation_loss(student, teacher, labels, 1.0, 8.0, 4.0)
    assert torch.allclose(decoupled, 16 * (target + 8 * other).mean())


def test_a_teacher_that_is_sure_costs_no_precision(model):
    teacher = torch.zeros(1, 10)
    teacher[0, 3] = 400.0  # 1 − p_t is far below what a float of p_t can tell
    student = torch.zeros(1, 10, requires_grad=True)
    value = model.distillation_loss(student, teacher, torch.tensor([3]), 1.0, 8.0, 4.0)
    value.backward()
    assert (
        value.item() == pytest.approx(16 * np.log(10), rel=1e-5) and student.grad.isfinite().all()
    )


def test_the_distillation_grows_and_leaves_the_teacher_alone(program, model):
    settings = program.Settings(warm_up=20)
    teacher = model.build_model(8, (2, 2, 4, 4), 5).train()
    objective = program.distillation(teacher, settings)
    pictures, labels = torch.randn(3, 3, 16, 16), torch.tensor([0, 1, 4])
    student = torch.randn(3, 5, requires_grad=True)
    before = {name: value.clone() for name, value in teacher.state_dict().items()}
    plain = F.cross_entropy(student, labels)
    parts = [objective(pictures, labels, student, epoch) - plain for epoch in (1, 10, 20, 200)]
    assert torch.allclose(torch.stack(parts) / parts[3], torch.tensor([0.05, 0.5, 1.0, 1.0]))
    parts[3].backward()
    assert not teacher.training and all(
        parameter.grad is None for parameter in teacher.parameters()
    )
    assert all((value == before[name]).all() for name, value in teacher.state_dict().items())
    decoupled = model.distillation_loss(student, teacher(pictures), labels, 1.0, 8.0, 4.0)
    assert torch.allclose(parts[3], decoupled)


def test_the_rate_falls_after_5_6_and_7_eighths(program):
    settings = program.PROFILES["full"]
    assert [share * settings.epochs for share in settings.decay_after] == [150, 180, 210]
    small = program.PROFILES["small"]
    assert settings.warm_up / settings.epochs == small.warm_up / small.epochs == 1 / 12
    assert (small.alpha, small.beta, small.temperature, small.batch_size) == (1, 8, 4, 64)


def test_the_small_student_gets_every_15th_picture_and_the_whole_test_set(code, program):
    train = torch.arange(3000)
    whole = code.Cifar(train, train // 300, torch.arange(7), torch.arange(7), 10)
    part = program.part_of(whole, program.PROFILES["small"].student_step)
    assert part.x_train.tolist() == list(range(0, 3000, 15))
    assert part.y_train.bincount().tolist() == [20] * 10
    assert part.x_test is whole.x_test and part.y_test is whole.y_test and part.classes == 10
    assert program.PROFILES["full"].student_step == 1


def test_the_metric_is_the_accuracy(code, metric, tmp_path):
    labels = np.arange(50) % 10
    np.savez(tmp_path / "test.npz", pictures=np.zeros((50, 16, 16, 3), np.uint8), labels=labels)
    guess = np.where(np.arange(50) < 35, labels, (labels + 1) % 10)
    np.savez(tmp_path / "predictions.npz", logits=np.eye(10, dtype=np.float32)[guess])
    assert metric(tmp_path / "predictions.npz", tmp_path) == 70


@pytest.mark.parametrize(
    ("logits", "reason"),
    [
        (np.ones((50, 9)), "has shape"),
        (np.ones(50), "has shape"),
        (np.full((50, 10), np.inf), "500 values of `logits` are not finite"),
        (np.ones((50, 10)) * 1j, "has type complex128"),
    ],
)
def test_the_metric_refuses_what_it_cannot_judge(metric, tmp_path, logits, reason):
    np.savez(tmp_path / "test.npz", labels=np.arange(50) % 10)
    np.savez(tmp_path / "predictions.npz", logits=logits)
    with pytest.raises(ValueError, match=reason):
        metric(tmp_path / "predictions.npz", tmp_path)
    np.savez(tmp_path / "predictions.npz", other=logits)
    with pytest.raises(ValueError, match="it holds other, not an array"):
        metric(tmp_path / "predictions.npz", tmp_path)


def test_without_distillation_cross_entropy_is_left(wrong, program, model, monkeypatch):
    monkeypatch.setitem(sys.modules, "model", model)
    monkeypatch.setitem(sys.modules, "preprocess", sys.modules[program.Cifar.__module__])
    flawed = wrong(0, "main.py")
    pictures, labels, student = (
        torch.randn(3, 3, 16, 16),
        torch.tensor([0, 1, 4]),
        torch.randn(3, 5),
    )
    objective = flawed.distillation(model.build_model(8, (2, 2, 4, 4), 5), flawed.Settings())
    assert torch.equal(objective(pictures, labels, student, 30), F.cross_entropy(student, labels))


def test_coupled_it_is_classical_distillation(wrong, logits):
    student, teacher, labels = logits
    found = wrong(1, "model.py").distillation_loss(student, teacher, labels, 1.0, 8.0, 4.0)
    log, target = (student / 4).log_softmax(1), (teacher / 4).softmax(1)
    assert torch.allclose(found, 16 * F.kl_div(log, target, reduction="batchmean"))


def test_with_the_target_left_in_the_second_part_is_the_whole_divergence(wrong, logits):
    student, teacher, labels = logits
    found = wrong(2, "model.py").other_classes_loss(student, teacher, labels, 4.0)
    log, target = (student / 4).log_softmax(1), (teacher / 4).softmax(1)
    assert torch.allclose(found, F.kl_div(log, target, reduction="none").sum(1))

"""Harbor's folders: read by its own models if they are there; their verifier run for real."""

import json
import os
import shutil
import time
import tomllib
from pathlib import Path

import pytest
from sandbox_helpers import BUILD

from autoreproduce.errors import UsageError
from autoreproduce.plugins.integrations.harbor import export_tasks
from autoreproduce.runner.settings import load_settings

# how the image is built on this machine
BUILT = {name.removeprefix("AUTOREPRODUCE_").lower(): value for name, value in BUILD.items()}


@pytest.fixture
def exported(tiny_task: str, tmp_path: Path) -> Path:
    (folder,) = export_tasks([tiny_task], tmp_path / "harbor", load_settings({}))
    return folder


def test_the_folder_is_as_harbor_wants_it(exported: Path, tmp_path: Path) -> None:
    config = tomllib.loads((exported / "task.toml").read_text())
    assert config["task"]["name"] == "autoreproduce/tiny-small"
    assert config["verifier"]["environment_mode"] == "separate"
    assert config["artifacts"] == ["/app"]
    for name in (
        "instruction.md",
        "environment/Dockerfile",
        "environment/app/paper/paper.md",
        "environment/app/preprocess.py",
        "environment/data/test.npz",
        "tests/test.sh",
        "tests/decoys/test.npz",
        "solution/solve.sh",
    ):
        assert (exported / name).is_file(), name
    shown = [path.name for path in (exported / "environment").rglob("*")]
    assert not {"decoys", "metric.py", "facts.json", "model.py"} & set(shown)
    with pytest.raises(UsageError, match="is there already"):
        export_tasks(["tiny"], tmp_path / "harbor", load_settings({}))
    file = tmp_path / "reproducebench" / "tiny" / "task.yaml"
    file.write_text(file.read_text().replace("low: 0.0, high: 1.0, ", ""))
    with pytest.raises(UsageError, match="no measured reference"):
        export_tasks(["tiny"], tmp_path / "elsewhere", load_settings({}))


def test_harbor_itself_takes_the_folder(exported: Path) -> None:
    harbor = pytest.importorskip("harbor.models.task.task", reason="Harbor wants Python 3.12")
    assert harbor.Task.is_valid_dir(exported)
    assert harbor.Task(exported).name == "autoreproduce/tiny-small"


@pytest.mark.docker
def test_the_verifier_rewards_the_reference_and_no_claim(exported: Path, tmp_path: Path) -> None:
    from autoreproduce.sandboxes.engine import connect
    from autoreproduce.sandboxes.image import ensure_image

    image = ensure_image(connect(60), load_settings(BUILT), print)
    app = tmp_path / "app"
    shutil.copytree(exported / "environment" / "app", app)
    claim = {"metrics": {"error": 0.01}, "history": []}
    (app / "metrics.json").write_text(json.dumps(claim))
    (app / "main.py").write_text("import os; print(os.listdir('/tests'))")
    assert rewards(image, exported, app) == {"reward": 0, "ran": 0}  # /tests is closed to it
    (app / "main.py").write_text("print('done')")
    assert rewards(image, exported, app) == {"reward": 0, "ran": 1}
    for file in (exported / "solution" / "reference").glob("*.py"):
        shutil.copy(file, app)
    solved = rewards(image, exported, app)
    assert (solved["reward"], solved["ran"]) == (1, 1) and 0 < solved["error"] < 1


ITS_OWN_REWARD = """
import os, time
if os.fork() == 0:
    os.setsid()
    for _ in range(600):
        for name, text in (("reward.json", '{"reward": 1, "ran": 1}'), ("reward.txt", "1")):
            try:
                os.unlink("/logs/verifier/" + name)
            except OSError:
                pass
            try:
                open("/logs/verifier/" + name, "w").write(text)
            except OSError:
                pass
        time.sleep(0.01)
"""


@pytest.mark.docker
@pytest.mark.parametrize(
    "attack", ["a process that outlives main.py", "a pipe", "a folder that nobody may enter"]
)
def test_a_program_gives_itself_no_reward_and_leaves_none_out(
    exported: Path, tmp_path: Path, attack: str
) -> None:
    from autoreproduce.sandboxes.engine import connect
    from autoreproduce.sandboxes.image import ensure_image

    image = ensure_image(connect(60), load_settings(BUILT), print)
    app = tmp_path / "app"
    shutil.copytree(exported / "environment" / "app", app)
    (app / "main.py").write_text(ITS_OWN_REWARD if "process" in attack else "")
    if attack == "a pipe":
        os.mkfifo(app / "pipe")
    elif "folder" in attack:
        (app / "main.py").write_text("import os; os.chmod('.', 0)")
    found = rewards(image, exported, app)
    assert found["reward"] == 0, found


def rewards(image: str, exported: Path, app: Path) -> dict[str, float]:
    """What test.sh leaves in a container that has /tests and /app as Harbor's verifier has."""
    docker = pytest.importorskip("docker")
    client = docker.from_env()
    container = client.containers.create(image, "sleep 300", network_mode="none", user="0")
    try:
        container.start()
        for folder, name in ((exported / "tests", "tests"), (app, "app")):
            packed = shutil.make_archive(str(app.parent / name), "tar", folder)
            container.exec_run(["mkdir", "-p", f"/{name}"])
            assert container.put_archive(f"/{name}", Path(packed).read_bytes())
        container.exec_run(["install", "-d", "-m", "777", "/logs/verifier"])  # as Harbor does
        code, output = container.exec_run(["bash", "/tests/test.sh"])
        assert code == 0, output.decode()
        time.sleep(0.5)  # Harbor reads the reward while the container still runs
        listed = container.exec_run(["ls", "/logs/verifier"])[1].decode().split()
        assert listed == ["reward.json"]
        _, text = container.exec_run(["cat", "/logs/verifier/reward.json"])
        return dict(json.loads(text))
    finally:
        container.remove(force=True)
        client.close()

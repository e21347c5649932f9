"""`--data hf:OWNER/NAME`, by the Hub's own client from a local server that speaks its protocol."""

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.runner.hub_data import local_data

COMMIT = "c0ffee" * 6 + "beef"
SETTINGS = Settings()


def parquet(**columns) -> bytes:
    import pyarrow
    import pyarrow.parquet

    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def files() -> dict[str, bytes]:
    return {
        "README.md": b"---\nconfigs:\n- config_name: default\n  data_files:\n"
        b"  - {split: train, path: data/train*}\n  - {split: test, path: data/test*}\n---\n",
        "data/train-0.parquet": parquet(text=["a", "b", "c"], label=[0, 1, 0]),
        "data/test-0.parquet": parquet(text=["d"], label=[1]),
        "tiny.py": b"open('/tmp/was-run', 'w')",
        "weights.pkl": b"cos\nsystem\n",
    }


class Hub(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.partition("?")[0]
        self.server.asked.append(path)
        held, api, resolve = (
            self.server.files,
            "/api/datasets/own/tiny",
            "/datasets/own/tiny/resolve/",
        )
        if path.startswith(f"{api}/revision/none"):
            self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        elif path.startswith(f"{api}/tree"):
            listed = [
                {"type": "file", "path": name, "size": len(data), "oid": "1"}
                for name, data in held.items()
            ]
            self.answer(200, json.dumps(listed).encode())
        elif path.startswith(api):
            known = [{"rfilename": name} for name in held]
            about = {"id": "own/tiny", "sha": COMMIT, "siblings": known}
            self.answer(200, json.dumps(about).encode())
        elif path.startswith(resolve) and (name := path.split("/", 6)[6]) in held:
            tag = hashlib.sha256(held[name]).hexdigest()
            self.answer(200, held[name], {"ETag": f'"{tag}"', "X-Repo-Commit": COMMIT})
        else:
            self.answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def answer(self, code, data, headers=()):
        self.send_response(code)
        for name, value in {**dict(headers), "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub():
    pytest.importorskip("datasets", reason="the extra hub is not installed")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.asked, server.files = [], files()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def taken(name: str, place: Path, endpoint: str, *, offline: bool = False) -> str:
    """What `local_data` gives in a process of its own (the client reads its settings once)."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom autoreproduce.config import Settings\n"
        "from autoreproduce.errors import UsageError\n"
        "from autoreproduce.runner.hub_data import local_data\n"
        f"settings = Settings(cache_dir={str(place / 'cache')!r}, offline={offline})\n"
        "try:\n    print(local_data(Path(sys.argv[1]), settings, print))\n"
        "except UsageError as error:\n    print('error:', error)\n"
    )
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(place / "hf")}
    done = subprocess.run(
        [sys.executable, "-c", code, name], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def address(server) -> str:
    return f"http://127.0.0.1:{server.server_port}"


@pytest.mark.slow
def test_a_data_set_comes_as_plain_files_and_no_script_with_it(hub, tmp_path):
    said, *_, folder = taken("hf:own/tiny", tmp_path, address(hub)).strip().splitlines()
    assert said == "hf:own/tiny: train.jsonl (3 rows), test.jsonl (1 rows)"
    rows = [json.loads(line) for line in (Path(folder) / "train.jsonl").read_text().splitlines()]
    assert rows == [{"text": text, "label": n} for text, n in (("a", 0), ("b", 1), ("c", 0))]
    assert "label" in json.loads((Path(folder) / "features.json").read_text())["train"]
    assert sorted(path.name for path in Path(folder).iterdir()) == [
        "features.json",
        "test.jsonl",
        "train.jsonl",
    ]
    assert not [path for path in hub.asked if path.endswith((".py", ".pkl"))]
    asked = len(hub.asked)
    # the Hub's own cache answers without it, and what was written stays
    again = taken("hf:own/tiny", tmp_path, address(hub), offline=True)
    assert again.strip() == folder and len(hub.asked) == asked


@pytest.mark.slow
def test_pictures_become_files_below_the_folder(hub, tmp_path):
    hub.files["data/test-0.parquet"] = parquet(
        look=[{"bytes": b"\x89PNG", "path": "../../one.png"}, {"bytes": b"x", "path": "/etc/p"}]
    )
    del hub.files["data/train-0.parquet"]
    hub.files["README.md"] = (
        b"---\nconfigs:\n- config_name: default\n  data_files:\n  - {split: test, path: data/test*}\n---\n"
    )
    folder = Path(taken("hf:own/tiny", tmp_path, address(hub)).strip().splitlines()[-1])
    rows = [json.loads(line)["look"] for line in (folder / "test.jsonl").read_text().splitlines()]
    assert rows == ["media/test-0-0000001.png", "media/test-0-0000002"]
    assert (folder / rows[0]).read_bytes() == b"\x89PNG"
    assert all((folder / row).resolve().is_relative_to(folder) for row in rows)


@pytest.mark.slow
def test_what_cannot_be_had_is_said(hub, tmp_path):
    where = address(hub)
    assert "the Hub has no data set own/other: check the name" in taken(
        "hf:own/other", tmp_path, where
    )
    assert "the Hub lacks own/tiny@none" in taken("hf:own/tiny@none", tmp_path, where)
    text = taken("hf:own/tiny", tmp_path, where, offline=True)
    assert "own/tiny is not in the Hub's cache, and --offline fetches nothing" in text
    hub.files = {"tiny.py": b"x", "README.md": b"# tiny\n"}
    assert "refs/convert/parquet" in taken("hf:own/tiny", tmp_path, where)


@pytest.mark.slow
def test_a_hub_that_does_not_answer_is_one_error(hub, tmp_path):
    nowhere = "http://127.0.0.1:9"
    assert "the Hub doesn't answer" in taken("hf:own/tiny", tmp_path, nowhere)


def test_a_name_that_is_none_is_refused():
    with pytest.raises(UsageError, match="hf:OWNER/NAME"):
        local_data(Path("hf:../../etc"), SETTINGS, print)
    assert local_data(Path("data"), SETTINGS, print) == Path("data")
    assert local_data(None, SETTINGS, print) is None


def test_without_the_extra_its_installation_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"needs the library datasets.*pip install.*datasets"):
        local_data(Path("hf:own/tiny"), SETTINGS, print)

"""Data sets of the Hugging Face Hub: `--data hf:OWNER/NAME`, `…/CONFIG`, `…@REVISION`.

The Hub's own client downloads into its own cache, scripts and pickles left out. What came is
parsed by `datasets` in a process with limits and without your token, and written as what any
program reads: a file of JSON lines a split, pictures and sounds as files beside it.
"""

import importlib.util
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from autoreproduce.benchmarks.reproducebench.prepared_data import made_once
from autoreproduce.config import Settings
from autoreproduce.content import install_command
from autoreproduce.errors import UsageError
from autoreproduce.files.confined import confined

NAMED = re.compile(r"hf:(\w[\w.-]*/\w[\w.-]*)(?:/([\w.+-]+))?(?:@([\w./+-]+))?", re.ASCII)
NOT_TAKEN = ["*.py", "*.pkl", "*.pickle", "*.pt", "*.pth", "*.bin", "*.joblib", "*.npy"]
SECONDS, MEMORY_GB = 1800.0, 8.0  # of its reader
SUFFIX = re.compile(r"\.\w{1,5}$", re.ASCII)  # of a picture's own name


def local_data(data: Path | None, settings: Settings, note: Callable[[str], None]) -> Path | None:
    """`data`, or the folder with what it names of the Hub, made once for each commit.

    Raises UsageError if the name is none, the extra is missing, or it can't be fetched or read.
    """
    if data is None or not str(data).startswith("hf:"):
        return data
    found = NAMED.fullmatch(str(data))
    if found is None:
        raise UsageError(
            f"--data {data} names no data set of the Hub",
            fix="write it as hf:OWNER/NAME, hf:OWNER/NAME/CONFIG or hf:OWNER/NAME@REVISION",
        )
    if importlib.util.find_spec("datasets") is None:
        raise UsageError(f"--data {data} needs the library datasets", fix=install_command("hub"))
    name, config, revision = found.groups()
    source = _snapshot(name, revision, settings.papers.offline)
    folder = f"{name.replace('/', '--')}-{config or 'default'}-{source.name[:12]}"
    write = partial(_write_plain, str(data), source, config or "", note)
    return made_once(settings.cache_dir / "hub" / folder, f"write {data}", note, write)


def _snapshot(name: str, revision: str | None, offline: bool) -> Path:
    """The Hub's cache of a data set at one commit, by which the folder is named."""
    from huggingface_hub import errors, snapshot_download

    try:
        found = snapshot_download(
            name,
            repo_type="dataset",
            revision=revision,
            ignore_patterns=NOT_TAKEN,
            local_files_only=offline,
        )
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
        what = "has no data set" if isinstance(error, errors.RepositoryNotFoundError) else "lacks"
        at = f"{name}@{revision}" if revision else name
        fix = "check the name; one that is private or gated needs HF_TOKEN"
        raise UsageError(f"the Hub {what} {at}", fix=fix) from None
    except errors.LocalEntryNotFoundError:
        why = "--offline fetches nothing" if offline else "the Hub doesn't answer"
        fix = "run it once with a network, or name a folder with the data"
        raise UsageError(f"{name} is not in the Hub's cache, and {why}", fix=fix) from None
    except Exception as error:  # the client's, or that of the library below it
        said = " ".join(str(error).split())[:200]
        fix = "try again later, or name a folder with the data"
        raise UsageError(f"{name} cannot be fetched from the Hub ({said})", fix=fix) from None
    return Path(found)


def _write_plain(
    data: str, source: Path, config: str, note: Callable[[str], None], part: Path
) -> None:
    """Fill `part` with the splits of what lies in `source`."""
    rows = confined(
        write_splits, source, config, part, what=data, seconds=SECONDS, memory_gb=MEMORY_GB
    )
    note(
        f"{data}: " + ", ".join(f"{split}.jsonl ({count:,} rows)" for split, count in rows.items())
    )


def write_splits(source: Path, config: str, into: Path) -> dict[str, int]:
    """Write each split below `into`, and `features.json`; the rows of each. In a process of its
    own. Raises UsageError for what `datasets` can't read.
    """
    home = into / ".home"
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home)}
    import datasets

    try:
        found = datasets.load_dataset(str(source), config or None, streaming=True)
        features = {split: str(rows.features) for split, rows in found.items()}
        counts = {
            split: _write_rows(rows.decode(False), split, into) for split, rows in found.items()
        }
    except Exception as error:  # of many parsers
        said = " ".join(str(error).split())[:300]
        raise UsageError(
            f"the library datasets cannot read it ({said})",
            fix="name a configuration (hf:OWNER/NAME/CONFIG), or what the Hub converted itself "
            "(hf:OWNER/NAME@refs/convert/parquet)",
        ) from None
    (into / "features.json").write_text(json.dumps(features, indent=1), encoding="utf-8")
    shutil.rmtree(home, ignore_errors=True)
    return counts


def _write_rows(rows: Iterable[dict[str, Any]], split: str, into: Path) -> int:
    count = 0
    with (into / f"{re.sub(r'[^a-zA-Z0-9]', '_', split)}.jsonl").open(
        "w", encoding="utf-8"
    ) as file:
        for count, row in enumerate(rows, 1):
            plain = {
                name: _plain(value, into, f"{split}-{place}-{count:07d}")
                for place, (name, value) in enumerate(row.items())
            }
            file.write(json.dumps(plain, default=str) + "\n")
    return count


def _plain(value: Any, into: Path, name: str) -> Any:
    """A value for JSON; the bytes of a picture or a sound become a file below `media/`."""
    if isinstance(value, dict) and isinstance(value.get("bytes"), bytes):
        suffix = "".join(SUFFIX.findall(str(value.get("path") or "")))
        file = f"media/{re.sub(r'[^a-zA-Z0-9-]', '_', name)}{suffix}"
        (into / "media").mkdir(exist_ok=True)
        (into / file).write_bytes(value["bytes"])
        return file
    if isinstance(value, dict):
        return {
            key: _plain(each, into, f"{name}-{place}")
            for place, (key, each) in enumerate(value.items())
        }
    if isinstance(value, list):
        return [_plain(each, into, f"{name}-{place}") for place, each in enumerate(value)]
    return value

"""How many functions a second are masked, over a repository of 500 files, on one core.

    python perf/masking.py [--files 500] [--package scipy]

The repository is the first files of an installed package, copied to a temporary folder. Measured is
all that a mask costs: reading and parsing the file (once), finding the functions, and for each
function the masked file's bytes, one mask at a time as tasks with n = 1 need them. Prints a
Markdown table with date and machine.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import shutil
import tempfile
import time
from datetime import date
from pathlib import Path

from autoreproduce.errors import SourceError
from autoreproduce.plugins.autoexperiment.masking import mask, read_source, stub


def repository(package: str, files: int, folder: Path) -> list[str]:
    """The first `files` Python files of an installed package, copied below `folder`."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"the package {package} is not installed: name another")
    root = Path(next(iter(spec.submodule_search_locations)))
    found = sorted(path.relative_to(root) for path in root.rglob("*.py"))[:files]
    for path in found:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, folder / path)
    return [str(path) for path in found]


def masks(folder: Path, files: list[str]) -> tuple[int, int, float, float]:
    """Masks, lines, and CPU seconds of reading with parsing, and of masking."""
    count = lines = 0
    reading = masking = 0.0
    for name in files:
        began = time.process_time()
        try:
            source = read_source(folder, name)
            functions = source.functions
        except SourceError:
            continue
        parsed = time.process_time()
        done = [mask(source, [(each, stub(each.docstring))]) for each in functions]
        reading, masking = reading + parsed - began, masking + time.process_time() - parsed
        count += len(done)
        lines += source.utf8.count(b"\n")
    return count, lines, reading, masking


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--package", default="scipy")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = repository(asked.package, asked.files, Path(folder))
        count, lines, reading, masking = masks(Path(folder), files)
    machine = f"{platform.machine()}, Python {platform.python_version()}, one core, CPU seconds"
    print(f"{date.today()}, {machine}, `python perf/masking.py --package {asked.package}`\n")
    print("| what | figure |\n|---|---|")
    print(f"| repository | {len(files)} files, {lines:,} lines, {count:,} functions |")
    print(f"| masks a second, all together | {count / (reading + masking):,.0f} |")
    a_file = 1e3 * reading / len(files)
    print(f"| of it reading and parsing | {reading:.2f} s ({a_file:.1f} ms a file) |")
    print(f"| of it masking | {masking:.2f} s ({1e6 * masking / count:.0f} µs a mask) |")


if __name__ == "__main__":
    main()

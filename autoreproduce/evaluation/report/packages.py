"""What packages the program used: those a trial installed, and those that its imports name.

Imports are mapped to distributions through the metadata of what is installed here, which knows that
`cv2` comes from opencv-python. A version is taken from the trial's own installs, then from the
versions that the trial recorded, then from this machine. The line names its source, since the
program used the first two for certain.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version

from autoreproduce.files.imports import imported_modules
from autoreproduce.trials.steps import InstallResult, Step

_PIP = re.compile(r"^Successfully installed (.+)$", re.MULTILINE)
_UV = re.compile(r"^ \+ ([A-Za-z0-9._-]+)==(\S+)$", re.MULTILINE)


def installed(steps: Iterable[Step]) -> dict[str, str]:
    """Distribution -> version, as pip and uv printed them in the steps of kind install."""
    found: dict[str, str] = {}
    for step in steps:
        if not isinstance(step.result, InstallResult) or step.result.exit_code != 0:
            continue
        printed = f"{step.result.stdout}\n{step.result.stderr}"
        for line in _PIP.findall(printed):
            found.update(
                (name, number)
                for name, _, number in (word.rpartition("-") for word in line.split())
                if name
            )
        found.update(_UV.findall(printed))
    return found


def requirements(
    files: Mapping[str, str], steps: Iterable[Step], recorded: Mapping[str, str]
) -> list[str]:
    """The lines of requirements.txt for the program `files` (path -> text of its .py files)."""
    installs = {_normal_name(name): number for name, number in installed(steps).items()}
    versions = {_normal_name(name): number for name, number in recorded.items()}
    needed = imported_modules(files)
    known = _distributions() if needed else {}
    lines = []
    for module in needed:
        name = next(iter(known.get(module, [])), module)
        plain = _normal_name(name)
        if plain in installs:
            lines.append(f"{name}=={installs[plain]}  # installed in the trial")
        elif plain in versions:
            lines.append(
                f"{name}=={_without_local_label(versions[plain])}  # recorded by the trial"
            )
        elif module in known:
            lines.append(_version_here(name))
        else:
            lines.append(
                f"{name}  # the program imports {module}; distribution and version are not known"
            )
    return lines


@cache
def _distributions() -> Mapping[str, list[str]]:
    """Module -> distributions, read once: it costs 0.2 s, and a suite ends many trials."""
    return packages_distributions()


def _version_here(name: str) -> str:
    try:
        number = _without_local_label(version(name))
    except PackageNotFoundError:
        return f"{name}  # its version is not known"
    return f"{name}=={number}  # as on the machine that wrote this file"


def _without_local_label(number: str) -> str:
    """Without a local label such as +cpu, which no index serves."""
    return number.partition("+")[0]


def _normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()

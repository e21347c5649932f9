"""Whether code that was handed in can be run at all, the packages that it lists, and why it did not
run, in one sentence.
"""

import json
import re
import shlex
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from autoreproduce.config import Settings
from autoreproduce.contracts import Sandbox
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.submitted_code import own_entries
from autoreproduce.files.kinds import LANGUAGES, NOT_WRITTEN, REMADE, ending
from autoreproduce.files.tree import Tree
from autoreproduce.sandboxes import why_not
from autoreproduce.sandboxes.package_files import PackageList, first_list, is_package_file

RUNS = {".py", ".ipynb", ".sh", ".bash"}
# What runs a language without a compiler to find first, and Debian's packages that have it.
PROGRAMS = {"R": ("Rscript", "r-base-core r-recommended"), "Lua": ("lua", "lua5.4")}
PROGRAMS |= {"JavaScript": ("node", "nodejs"), "Julia": ("julia", "")}
REASONS = {
    r"not compiled with CUDA|no NVIDIA driver|CUDA_HOME|no CUDA-capable|CUDA (is not|isn't) avail"
    r"|libcuda\.so": "it needs a GPU, and the sandbox has none: allow one with --gpus",
    r"Missing parentheses in call to 'print'|print statement|multiple exception types must be"
    r"|name 'xrange' is not defined": "it's Python 2, which the sandbox doesn't run",
    r"(?:make(?:\[\d+\])?: (?=[\w.+-]+: No such)|: (?=[\w.+-]+: (?:command )?not found))"
    r"([\w.+-]+): ": "the sandbox has no {}: put it into the image with "
    "--build-debian-packages, or name an image that has it with --image",
    r"there is no package called [‘']([\w.]+)": (
        "R lacks the package {0}: apt install r-cran-{0} on this machine for --sandbox bubblewrap, "
        "or in the image with --build-debian-packages"
    ),
    r"No module named '?([\w.]+)": "a package or module is missing: {}",
    r"No such file or directory: ['\"]?([^'\"\n]+)": "a file is missing: {}",
    r"(?:URLError|ConnectionError|gaierror|Name or service not known|Network is unreachable)": (
        "it fetches something, and runs have no network: give the data with --data"
    ),
}


def runnable_settings(root: Path, source: str, settings: Settings) -> Settings:
    """The settings, with the sandbox that can run this code if the user named none.

    R, Lua and JavaScript run on this machine's programs in bubblewrap or a plain process, else in
    an image of ours that has them; Julia in an image that the user names. Raises UsageError, before
    a model is asked, for code that no command here could run.
    """
    if not root.is_dir():
        return settings
    kinds = Counter(ending(entry.name) for entry in own_entries(root, (), NOT_WRITTEN))
    if RUNS & set(kinds) or any((root / name).exists() for name in ("Makefile", "makefile")):
        return settings
    named = Counter({kind: kinds[kind] for kind in LANGUAGES if kind in kinds})
    if named:
        language = LANGUAGES[named.most_common(1)[0][0]]
        if language in PROGRAMS:
            program, packages = PROGRAMS[language]
            here, own = shutil.which(program) is not None, settings.sandbox
            if own.image or own.build_debian_packages or (here and _is_local(settings)):
                return settings
            if here and own.name == "auto" and why_not("bubblewrap", settings) is None:
                return settings.having(sandbox="bubblewrap")
            if packages and not _is_local(settings):
                return settings.having(build_debian_packages=packages)
            if here:
                raise UsageError(
                    f"{source} is written in {language}, and the image that we build has no "
                    f"{program}",
                    fix=f"--sandbox bubblewrap runs it with this machine's {program}, or name an "
                    "image that has it with --image",
                )
            how = f"apt install {packages}" if packages else "juliaup"
            raise UsageError(
                f"{source} is written in {language}, and there is no {program} here to run it",
                fix=f"install it for --sandbox bubblewrap ({how}), or name an image that has it "
                "with --image",
            )
        raise UsageError(
            f"{source} is written in {language}, and no script of Python or a shell runs it",
            fix="name the command with --run, and with --image an image that has the language",
        )
    raise UsageError(
        f"{source} holds no program: no .py, .ipynb or .sh file, and no Makefile",
        fix="name the folder that has the code, with its submodules fetched",
    )


def _is_local(settings: Settings) -> bool:
    """Whether runs see this machine's programs, not an image's."""
    name = settings.sandbox.name
    return name in ("bubblewrap", "process") or (
        name == "auto" and why_not("docker", settings) is not None
    )


# What runs other languages than Python.
OTHERS = "Rscript julia octave lua node java g++ gcc gfortran make cmake go rustc"
R_NAMES = re.compile(
    r"\b(?:library|require|requireNamespace|loadNamespace)\s*\(\s*[\"']?([A-Za-z][\w.]*)"
    r"|\b([A-Za-z][\w.]+):::?\w"
)


def programs_in(sandbox: Sandbox, code: Tree) -> list[str]:
    """The sandbox's programs for other languages; of R, which of the packages that the code names
    it has and lacks.
    """
    ask = f'for one in {OTHERS}; do command -v "$one" >/dev/null && echo "$one"; done'
    found = sandbox.execute(ask, 60).stdout.split()
    scripts = [name for name in code.files(REMADE) if LANGUAGES.get(ending(name)) == "R"]
    texts = "\n".join(code.read_text(name) for name in scripts[:100])
    named = sorted({one or other for one, other in R_NAMES.findall(texts)})[:60]
    if "Rscript" in found and named:
        listed = ", ".join(map(json.dumps, named))
        has = f'for (p in c({listed})) cat(p, nzchar(system.file(package = p)), "\\n")'
        told = sandbox.execute(shlex.join(["Rscript", "-e", has]), 60).stdout.splitlines()
        here = [line.split()[0] for line in told if line.split()[1:] == ["TRUE"]]
        lacks = [one for one in named if one not in here]
        words = [f"with {', '.join(here)}"] if here else []
        words += [f"without {', '.join(lacks)}"] if lacks else []
        found[found.index("Rscript")] = f"Rscript ({'; '.join(words)})"
    return found


def why_it_failed(stderr: str, stopped: str) -> str:
    """What is wrong, in words that name a fix where the error is a known one."""
    if stopped:
        return f"the code did not run: {stopped}"
    for pattern, words in REASONS.items():
        if found := re.findall(pattern, stderr):
            return f"the code did not run: {words.format(found[-1])}"
    return f"the code did not run: {stderr.strip()[-300:] or 'it ended without a message'}"


@dataclass(frozen=True)
class Listed:
    """The file that lists packages, "" without one, and what it lists; the code's date if known."""

    file: str
    found: PackageList
    date: str = ""


def declared_packages(code: Path, written: str = "") -> Listed:
    """What the code's own top folder lists. `written`: the date of its last commit."""
    tree = Tree(code)
    files = [each for each in tree.entries() if each.kind == "file" and is_package_file(each.name)]
    name, found = first_list({each.name: tree.read_text(each.name) for each in files})
    return Listed(name, found, written)

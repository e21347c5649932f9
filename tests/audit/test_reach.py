"""Which files of a program a command reaches."""

import time
from pathlib import Path

import pytest

from autoreproduce.audit.reach import ProgramFiles, told_commands
from autoreproduce.evaluation.judging.submitted_code import read_program
from autoreproduce.files.kinds import KINDS, PROSE, kind_of

FILES = dict.fromkeys(
    [
        "train.py", "model.py", "stylegan2/train.py", "stylegan2/model.py", "tools/plot.py",
        "configs/bcg.yaml", "process/configs/bcg.yaml", "configs/resnet_bcg.yaml", "run_all.sh",
        "src/sh/fit.sh", "src/fit.py", "pkg/__init__.py", "pkg/__main__.py", "pkg/core.py",
        "examples/config/hopper/0.py", "analyse.ipynb", "sim/reproduce.m", "Makefile", "conf/deep.yaml",
    ],
    "",
)  # fmt: skip


def first_of(command: str, **files: str) -> list[str]:
    return list(ProgramFiles(FILES | files).reached(command))


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("python train.py", ["train.py"]),  # and no copy of another program
        ("python ./stylegan2/train.py --lr 1e-3", ["stylegan2/train.py"]),
        ("cd stylegan2 && python train.py", ["stylegan2/train.py"]),
        ("cd /workspace/stylegan2; python3 train.py", ["stylegan2/train.py"]),
        ("python /home/me/code/train.py", ["train.py"]),
        ("python train.py --cfg configs/resnet_bcg.yaml", ["train.py", "configs/resnet_bcg.yaml"]),
        ("python train.py --cfg=configs\\bcg.yaml", ["train.py", "configs/bcg.yaml"]),
        ("python train.py -cn resnet_bcg", ["train.py", "configs/resnet_bcg.yaml"]),
        ("python train.py conf=deep", ["train.py", "conf/deep.yaml"]),
        ("python plot.py", ["tools/plot.py"]),
        ("python -m pkg.core", ["pkg/core.py"]),
        ("python -m pkg", ["pkg/__main__.py"]),
        ("run --config=examples.config.hopper.0", ["examples/config/hopper/0.py"]),
        ("CUDA_VISIBLE_DEVICES=0 accelerate launch train.py", ["train.py"]),
        ("jupyter nbconvert --execute analyse.ipynb", ["analyse.ipynb"]),
        ('matlab -batch "reproduce"', ["sim/reproduce.m"]),
        ("make all", ["Makefile"]),
        ('bash "$ROOT/run_all.sh"', ["run_all.sh"]),
        ("cd src && sh sh/fit.sh mnist 3", ["src/sh/fit.sh"]),
        ("python nothing.py --epochs 3", []),
        ("", []),
    ],
)
def test_a_command_names_files_by_their_words(command: str, named: list[str]) -> None:
    assert first_of(command) == named


def test_an_import_is_looked_up_as_the_program_would() -> None:
    files = {
        "main.py": "import model, utils as u\nfrom pkg import core\nimport json\n",
        "model.py": "from net.layers import (\n    Blur,\n    Jinc,\n)\n",
        "stylegan2/model.py": "", "utils.py": "", "other/utils.py": "", "other/json.py": "",
        "pkg/__init__.py": "from .deep.inner import thing\n", "pkg/core.py": "from ..pkg import side\n",
        "pkg/side.py": "", "pkg/deep/inner.py": "from . import near\nfrom .. import side\n",
        "pkg/deep/near.py": "", "net/layers.py": "from src_only import x\n", "src/src_only.py": "",
    }  # fmt: skip
    found = ProgramFiles(files).reached("python main.py")
    assert set(files) - set(found) == {"stylegan2/model.py", "other/utils.py", "other/json.py"}
    assert [found[name] for name in ("main.py", "model.py", "net/layers.py")] == [0, 1, 2]
    inside = ProgramFiles(files | {"stylegan2/go.py": "import model\n"})
    assert list(inside.reached("python stylegan2/go.py"))[1] == "stylegan2/model.py"


@pytest.mark.parametrize(
    ("command", "files", "reached"),
    [
        ("sh scripts/car.sh", {"scripts/car.sh": "CFG=car\npython run.py --config configs/${CFG}.yml \\\n  --more extra.yml\n"}, ["run.py", "extra.yml"]),
        ("./go.bat", {"go.bat": "cd Python\r\npython -m fair.adult --n_trials 25 ^\r\n  --cfg a.toml\r\n", "Python/fair/adult.py": "", "Python/a.toml": ""}, ["Python/fair/adult.py", "Python/a.toml"]),
        ("python t.py --base c.yaml", {"t.py": "", "c.yaml": "model:\n  target: taming.models.vqgan.VQModel\ndata:\n  path: data/faces.txt\n", "taming/models/vqgan.py": ""}, ["taming/models/vqgan.py"]),
        ("python t.py", {"t.py": "@main(config_path='conf', config_name='base.yaml')\n", "conf/base.yaml": "defaults:\n  - model: deep\n  - extra\n", "conf/model/deep.yaml": "", "conf/extra.yaml": ""}, ["conf/base.yaml", "conf/model/deep.yaml", "conf/extra.yaml"]),
        ("python t.py", {"t.py": "os.system('python tools/eval.py --all')\nload_class(\"lib.nets.Deep\")\n", "tools/eval.py": "", "lib/nets.py": ""}, ["tools/eval.py", "lib/nets.py"]),
        ("Rscript a.R", {"a.R": "source('R/fit.R')\n", "R/fit.R": ""}, ["R/fit.R"]),
        ("julia a.jl", {"a.jl": 'include("src/fit.jl")\n', "src/fit.jl": ""}, ["src/fit.jl"]),
        ("matlab -batch go", {"go.m": "M = metric_of(x);\n", "lib/metric_of.m": ""}, ["lib/metric_of.m"]),
        ("make", {"Makefile": "all:\n\tpython fit.py\n", "fit.py": ""}, ["fit.py"]),
        ("go_fit --fast", {"setup.py": "entry_points={'console_scripts': ['go_fit=own.cli:main']}\n", "own/cli.py": ""}, []),
        ("jupyter execute a.ipynb", {"a.ipynb": "# !python fit.py\n# %run more.py\n", "fit.py": "", "more.py": ""}, ["fit.py", "more.py"]),
        ("nvcc a.cu", {"a.cu": '#include "inc/k.cuh"\n', "inc/k.cuh": ""}, ["inc/k.cuh"]),
    ],
)  # fmt: skip
def test_what_a_file_names_is_reached_after_it(
    command: str, files: dict[str, str], reached: list[str]
) -> None:
    apart = {"run.py": "", "extra.yml": "", "unrelated.py": "", "docs/unrelated.yaml": ""}
    program = ProgramFiles(apart | files)
    found = program.reached(command)
    assert found and not [name for name in found if "unrelated" in name]
    assert [name for name in found if found[name]] == reached
    assert program.lacking(command) == []


def test_an_installed_command_is_the_module_it_runs() -> None:
    for name, text in (
        ("setup.py", "entry_points={'console_scripts': ['fit-it = own.cli:main']}\n"),
        ("pyproject.toml", '[project.scripts]\nfit-it = "own.cli:main"\n'),
    ):
        files = {name: text, "own/__init__.py": "", "own/cli.py": "", "fit.py": ""}
        assert next(iter(ProgramFiles(files).reached("fit-it --fast"))) == "own/cli.py"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "README.md",
            "# Run\n\n    python a.py -n 1000000 \\\n      -r 5\n\nIt takes 0.93 h.\n",
            "3: python a.py -n 1000000 -r 5",
        ),
        ("docs/how.rst", "Then\n\n$ make table1\n", "3: $ make table1"),
        ("README", "N=400 Rscript fit.R --folds 10\n", "1: N=400 Rscript fit.R --folds 10"),
        ("README.txt", "python a.py -n 5\n", "1: python a.py -n 5"),
        ("docs/readme", "bash run.sh\n", "1: bash run.sh"),
        ("Readme.1st", "make all\n", "1: make all"),
    ],
)
def test_of_texts_for_people_the_commands_are_read(name: str, text: str, told: str) -> None:
    files = {name: text, "a.py": "python = 1\nmake(3)\n"}
    assert told_commands(files) == [f"{name}:{told}"]


@pytest.mark.parametrize("name", ["README.txt", "README.rst", "readme", "ReadMe.first"])
def test_a_readme_of_any_name_is_read_of_a_program(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("python a.py -n 5\n")
    (tmp_path / "a.py").write_text("print(1)\n")
    (tmp_path / "requirements.txt").write_text("python a.py\n")
    files = read_program(str(tmp_path), kinds=KINDS | PROSE).in_cells
    assert told_commands(files) == [f"{name}:1: python a.py -n 5"]
    assert "requirements.txt" not in files and kind_of("readme.py") == ".py"


def test_what_a_command_names_and_is_not_there_is_lacking() -> None:
    program = ProgramFiles(FILES)
    command = (
        "python main.py --cfg conf/far.jsonnet --url https://a.b/c.py --out $X.yaml; sh run_all.sh"
    )
    assert program.lacking(command) == ["main.py", "conf/far.jsonnet"]
    assert program.lacking("python -m pkg.core --lr 0.1 --json results.json") == []


def test_imports_in_a_circle_and_many_files_end() -> None:
    files = {f"m{n}.py": f"import m{(n + 1) % 3000}\n" for n in range(3000)}
    assert 1_000 < len(ProgramFiles(files).reached("python m0.py")) <= 2_000
    assert ".bat" in KINDS


@pytest.mark.parametrize(
    "text",
    ["a" * 110_000, "a." * 55_000, "a/" * 55_000, "a=" * 55_000, "$a" * 55_000, "'a" * 55_000,
     "from a import (\n" * 7_000, "a b " * 27_000],
)  # fmt: skip
@pytest.mark.parametrize("name", ["run.sh", "run.py", "run.yaml", "run.m", "run.jl"])
@pytest.mark.slow
def test_a_text_of_any_shape_is_read_in_a_moment(name: str, text: str) -> None:
    began = time.process_time()
    assert list(ProgramFiles({name: text, "other.py": ""}).reached(f"python {name}")) == [name]
    assert time.process_time() - began < 5

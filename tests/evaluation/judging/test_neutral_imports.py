"""Imports between a program's own files lead to the right file under its neutral name."""

import ast

import pytest

from autoreproduce.evaluation.judging.blind import blind
from autoreproduce.evaluation.judging.submitted_code import Sources

FILES = {
    "engine/__init__.py": "",
    "engine/trainer.py": "",
    "engine/utils.py": "x = 1\n",  # file_3
    "models/__init__.py": "from .lsm import Model\n",
    "models/lsm.py": "y = 1\n",  # file_5
    "models/utils.py": "z = 1\n",  # file_6
    "run.py": "",
    "src/plot.py": "",  # file_8
}


@pytest.mark.parametrize(
    ("importer", "line", "seen"),
    [
        ("engine/trainer.py", "from .utils import x", "from file_3 import x"),
        ("models/lsm.py", "from .utils import z as w", "from file_6 import z as w"),
        ("models/lsm.py", "from ..engine.utils import x", "from file_3 import x"),
        ("models/lsm.py", "import utils", "import file_6 as utils"),  # beside it
        ("run.py", "import utils", "import utils"),  # two files could be meant
        ("run.py", "import plot, json", "import file_8 as plot, json"),  # the one that there is
        ("run.py", "from models import lsm", "import file_5 as lsm"),
        ("run.py", "from models import lsm as net, Model",
         "import file_5 as net; from file_4 import Model"),
        ("run.py", "from src import plot, other",
         "import file_8 as plot; from src import other"),
        ("run.py", "from models.utils import *", "from file_6 import *"),
        ("run.py", "from torch import nn", "from torch import nn"),
        ("run.py", "from ...models import lsm", "from ...models import lsm"),
        ("engine/trainer.py", "from . import utils", "import file_3 as utils"),
    ],
)  # fmt: skip
def test_an_import_names_the_file_that_python_would_find(importer, line, seen):
    program = Sources({**FILES, importer: f"{line}\nprint(1)\n"})
    text = next(file.text for file in blind(program).files if file.original == importer)
    assert text == f"{seen}\nprint(1)\n"
    ast.parse(text)

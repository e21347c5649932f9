"""Drivers of code without a program: what is one, and one that runs and stands in the report."""

import json
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from chat_server import chat_server
from sandbox_fixtures import settings_for
from test_bad_input import CLAIMS, code_with
from trial_results import verdict_of

from autoreproduce.claims.claim import Claim
from autoreproduce.plugins.verify.driver import DRIVER, MADE, PUT, RUN, read_driver
from autoreproduce.plugins.verify.verify import verify, verify_job
from autoreproduce.runner.api import resumed
from autoreproduce.runner.attempt import watched_attempt
from autoreproduce.runner.settings import load_settings

FILES = [
    "lib.py",
    "pack/__init__.py",
    "pack/fit.py",
    "fig1.py",
    "sub/main.py",
    "README.md",
    "model.R",
    "sub/fit.jl",
    "book.Rnw",
    "bin/run",
]
CALLED = "from lib import mean\nx = first = mean([1])\n"
GOOD = [
    "from lib import mean\nprint('mean', mean([1.5, 2.25, 8.125]))",
    "import numpy as np\nimport pack.fit as fit\nnp.random.seed(0)\nr = [fit.run(seed=s) for s in range(5)]\nprint(r, file=open('out.txt', 'w'))",
    "import runpy\nv = runpy.run_path('fig1.py')\nprint('gap', v['ours'], v['base'])",
    "from pack.fit import run\nprint(f'mu = 0.05: share {run(0.05):.2f} % of fig. 1')",
    "import multiprocessing, runpy\nfor name in ('fit', 'other'):\n    runpy.run_path('pack/' + name + '.py')",
    "import runpy\nfor n in (1, 2):\n    v = runpy.run_path(f'./fig{n}.py')\n    print(v['gap'])",
    "import os, runpy\nfrom pathlib import Path\nwhere = 'fit.py'\nrunpy.run_path(str(Path('pack') / where))\nrunpy.run_path(os.path.join('pack', where))",
    "import runpy\nfor script in ['fig1.py']:\n    print(runpy.run_path(script)['gap'])",
    "import glob, runpy\nfor script in glob.glob('fig*.py'):\n    print(runpy.run_path(script)['gap'])",
    "import os, runpy\nos.chdir('sub')\nrunpy.run_path('main.py')\nos.system('python main.py --n 3')",
    "import importlib\nfit = importlib.import_module('pack.fit')\nprint(fit.run())",
    "import subprocess, sys\nsubprocess.run([sys.executable, '../sub/main.py'], check=True)",
    "import fig1\nprint('height', fig1.height)",
    "exec(open('bin/run').read())",
    "first, rest = open('fig1.py').read().split('# 2')\nfor part, name in ((first, 'a'), (rest, 'b')):\n    exec(part)",
    "import re, lib\nmodel = lib.load('m')\nmodel.eval()\nprint(model.run(re.compile('a+')))",
    "from lib import run, sets\njobs = []\nfor name in sets:\n    jobs += [(name, i) for i in range(5)]\nfor job in jobs:\n    print(run(*job, seed=job[1]))",
    pytest.param(
        "import torch\nfrom lib import score\ntorch.manual_seed(0)\nprint 'score', score('data.csv')",
        marks=pytest.mark.slow,
    ),
]  # fmt: skip
RUN_ELSE = "runs what isn't the repository's"
BAD = [
    ("print('mean', 3.958333)", "runs nothing of the repository"),
    ("values = [1, 2]\nprint(sum(values) / len(values))", "runs nothing of the repository"),
    (CALLED + "exec('print(1)')", f"line 3: exec {RUN_ELSE}"),
    (CALLED + "exec(compile('print(1)', 'lib.py', 'exec'), {'__file__': 'lib.py'})", RUN_ELSE),
    (CALLED + "print(eval('1 / 3'))", RUN_ELSE),
    (CALLED + "import builtins\nbuiltins.exec('print(1)')", RUN_ELSE),
    (CALLED + "import subprocess\nsubprocess.run(['python', '-c', 'print(1)'])", RUN_ELSE),
    (CALLED + "import os\nos.popen('echo 1')", RUN_ELSE),
    ("exec(open('book.Rnw').read().replace('<-', '='))", "runs a copy of book.Rnw in Python"),
    ("exec(open('model.R').read().replace('<-', '='))", "runs a copy of model.R in Python"),
    (
        "text = open('sub/fit.jl').read()\nexec(text.replace('^', '**'), {})",
        "runs a copy of sub/fit.jl",
    ),
    ("import runpy\nrunpy.run_path('other.py')", RUN_ELSE),
    ("import runpy\nrunpy.run_path('elsewhere/' + 'x.py')", RUN_ELSE),
    ("import runpy\nfor s in ['a.py']:\n    runpy.run_path(s)", RUN_ELSE),
    pytest.param("from lib import", "is no Python", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("text", GOOD)
def test_a_script_that_runs_the_code_and_shows_what_it_gives_is_a_driver(text: str) -> None:
    read = read_driver(text, FILES, claims(0.05, 3.958333))
    assert read.fault == "" and MADE not in read.shown and PUT not in read.shown


@pytest.mark.parametrize(("text", "why"), BAD)
def test_what_runs_something_else_is_no_driver(text: str, why: str) -> None:
    assert why in read_driver(text, FILES).fault


def claims(*values: float) -> list[Claim]:
    return [
        Claim(id=f"c{n}", metric="m", direction="match", value=value, printed=f"{value:.12g}",
              table="1", row=("a",), column=("b",))
        for n, value in enumerate(values)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "claimed"),
    [
        ("print('mean', 3.958333)", 3.958333),
        ("y = 0.93\nprint(y)", 0.93),
        ("print('accuracy 0.93')", 93),
        ("print('accuracy', '%.1f' % 93.4)", 0.934),
        ("print('mean 3.96')", 3.958333),
        ("results = {'mean': [3.9583331]}", 3.958333),
        ("import lib\nlib.mean = lambda values: 0.934", 0.934),
        ("print('- 1254.5 nodes')", -1254.5),
        ("exec(open('fig1.py').read().replace('h = run()', 'h = 7.31'))", 7.31),
    ],
)
def test_a_claimed_number_in_its_text_makes_a_script_no_driver(line: str, claimed: float) -> None:
    text = CALLED + line
    fault = read_driver(text, FILES, claims(12.7, claimed)).fault
    assert "a number that the paper claims" in fault
    assert read_driver(text, FILES, claims(12.7, 88.8)).fault == ""


@pytest.mark.parametrize(
    "line", ["print('n = 100, mu = 0.05, level 95 %')", "mean(5, rate=0.25)", "import lib # 93.4"]
)
def test_settings_and_headings_are_no_claimed_numbers(line: str) -> None:
    assert read_driver(CALLED + line, FILES, claims(0.05, 0.25, 100, 93.4)).fault == ""


@pytest.mark.parametrize(
    ("lines", "made"),
    [
        ("print(x * 1.02)", ["x * 1.02 (line 3)"]),
        ("x += 0.02\nx *= mean([2])", ["x += 0.02 (line 3)", "x *= mean([2]) (line 4)"]),
        ("import math\nprint(math.exp(x))", ["math.exp(x) (line 4)"]),
        ("import numpy as np\nprint(np.linalg.lstsq([1], x)[0])", ["np.linalg.lstsq([1], x) (line 4)"]),
        ("from sklearn.linear_model import Ridge\nm = Ridge(1).fit([[1]], [x])", ["Ridge(1).fit([[1]], [x]) (line 4)"]),
        ("mean([size * 10 for size in (1, 2)])", ["size * 10 (line 3)"]),
        ("print('gap', sum([x]) / 2, 'of ' + str(x))", ["sum([x]) / 2 (line 3)"]),
        ("import numpy as np\nd = [1, 2]\nv = np.square(np.subtract(d, x)).mean() ** .5\nprint('rmse', v)",
         ["np.square(np.subtract(d, x)).mean() ** 0.5 (line 5)"]),
    ],
)  # fmt: skip
def test_what_a_driver_works_out_itself_is_shown(lines: str, made: list[str]) -> None:
    read = read_driver(CALLED + lines, FILES)
    assert read.fault == "" and read.shown == {MADE: made}


@pytest.mark.parametrize(
    ("lines", "put"),
    [
        ("import lib\nlib.mean = max", "lib.mean = max (line 4)"),
        ("import lib, random\nlib.rng, random.randint = x, min", "lib.rng, random.randint = (x, min) (line 4)"),
        ("import lib\nsetattr(lib, 'mean', max)", "setattr(lib, 'mean', max) (line 4)"),
        ("import lib\nvars(lib)['mean'] = max", "vars(lib)['mean'] = max (line 4)"),
        ("import lib\nlib.__dict__.update(mean=max)", "lib.__dict__.update(mean=max) (line 4)"),
        ("from unittest import mock\nmock.patch('lib.mean', max).start()", "mock.patch('lib.mean', max).start() (line 4)"),
        ("model = first\nmodel.predict = max", "model.predict = max (line 4)"),
        ("import sys\nsys.modules['numpy'] = x", "sys.modules['numpy'] = x (line 4)"),
        ("import runpy\nspace = runpy.run_path('fig1.py')\nspace['f'] = max", "space['f'] = max (line 5)"),
        ("with open('lib.py', 'a') as file:\n    file.write('mean = max')", "open('lib.py', 'a') (line 3)"),
        ("from pathlib import Path\nPath('pack', 'fit.py').write_text('run = max')", "Path('pack', 'fit.py').write_text('run = max') (line 4)"),
        ("import shutil\nshutil.copy('mine.py', 'sub/main.py')", "shutil.copy('mine.py', 'sub/main.py') (line 4)"),
    ],
)  # fmt: skip
def test_what_a_driver_puts_in_place_of_the_codes_own_is_shown(lines: str, put: str) -> None:
    read = read_driver(CALLED + lines, FILES)
    assert read.fault == "" and put in read.shown[PUT]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "import lib\na0 = 'x.py'\n" + "".join(f"a{n} = a{n - 1}\nexec(a{n})\n" for n in range(1, 800)),
        "import lib\nexec(" + " + ".join(["'a'", "x"] * 1500) + ")",
        "import lib\n" + "exec('*a' * 9)\n" * 900,
        "import lib\nprint(" + "(" * 90 + "1" + " * 3)" * 90 + ")",
    ],
)  # fmt: skip
def test_a_long_driver_is_read_in_seconds(text: str) -> None:
    began = monotonic()
    read_driver(text, [f"{'a' * 80}/{n}.txt" for n in range(3_000)])
    assert monotonic() - began < 15 and len(text) < 20_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("exec(open('fig1.py').read())", "fig1.py: exec(open('fig1.py').read()) (line 1)"),
        (
            "text = open('fig1.py').read()\nspace = {}\nexec(text.replace('ipy()', 'pass\\nx'), space)",
            "fig1.py: exec(text.replace('ipy()', 'pass\\nx'), space) (line 3)\n"
            "  space = {} (line 2)\n  text = open('fig1.py').read() (line 1)\n-ipy()\n+pass\n+x",
        ),
        (
            "folder, out = '/home/me/', 'x'\nbase = '/data/'\ntext = open('fig1.py').read()\n"
            "text = text.replace(base, '').replace('n = 5', f'n = {out}')\nexec(text)",
            "fig1.py: exec(text) (line 5)\n"
            "  text = text.replace(base, '').replace('n = 5', f'n = {out}') (line 4)\n"
            "  out = ('/home/me/', 'x') (line 1)\n  base = '/data/' (line 2)\n"
            "  text = open('fig1.py').read() (line 3)\n"
            "-n = 5\n+f'n = {out}'\n-/data/\n+",
        ),
        (
            "import re\ncode = re.sub('^%.*', '', open('sub/main.py').read())\nexec(compile(code, 'm', 'exec'))",
            "sub/main.py: exec(compile(code, 'm', 'exec')) (line 3)\n"
            "  code = re.sub('^%.*', '', open('sub/main.py').read()) (line 2)\n-^%.*\n+",
        ),
        (
            "text = open('fig1.py').read().replace('a', 'b')\nexec(text, {})\nexec(text)",
            "fig1.py: exec(text, {}) (line 2)\n"
            "  text = open('fig1.py').read().replace('a', 'b') (line 1)\n-a\n+b\n"
            "fig1.py: exec(text) (line 3)",
        ),
        (
            "lines = [line for line in open('fig1.py') if 'ipython' not in line]\nexec(''.join(lines))",
            "fig1.py: exec(''.join(lines)) (line 2)\n"
            "  lines = [line for line in open('fig1.py') if 'ipython' not in line] (line 1)\n"
            "  line = open('fig1.py') (line 1)",
        ),
    ],
)  # fmt: skip
def test_a_files_text_may_be_run_and_is_shown_with_what_is_replaced(text: str, shown: str) -> None:
    read = read_driver(text, FILES)
    assert read.fault == "" and "\n".join(read.shown.pop(RUN)) == shown and not read.shown


LIBRARY = "def mean(values):\n    return sum(values) / len(values)\n"
CALLS = "from lib import mean\nprint('mean', mean([1.5, 2.25, 8.125]))\n"
DRAWS = "import lib\nheight = lib.mean([1.5, 2.25, 8.125])\n# plt.bar(0, height)\n"
READS = "import runpy\nvalues = runpy.run_path('fig1.py')\nprint('mean', values['height'])\n"
PLACE = {"id": "estimator_mean", "file": "stdout", "line": 1, "number": 1}
FOUND = json.dumps({"places": [{**PLACE, "text": "mean 3.9583333333333335"}]})


@pytest.mark.slow
@pytest.mark.parametrize(("files", "driver"), [({}, CALLS), ({"fig1__py": DRAWS}, READS)])
def test_code_without_a_program_is_called_by_a_driver_that_the_report_shows(
    tmp_path: Path, files: dict[str, str], driver: str
) -> None:
    code = code_with(tmp_path, lib__py=LIBRARY, **files)
    replies = [
        CLAIMS,
        json.dumps({"command": ""}),
        json.dumps({"commands": [], "driver": "import lib\nprint('mean', 3.958333)"}),
        json.dumps({"commands": [], "driver": driver, "why": "a library"}),
        FOUND,
    ]
    with chat_server([replies[0], *replies[2:]]) as server:
        settings = settings_for(
            "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url, seeds=2
        )
        [done] = verify(code, settings=settings, paper=tmp_path / "paper.md")
        assert "the driver's line 2 states 3.95833, a number" in server.requests[2].prompt
    found = verdict_of(done.path)
    assert found and found.claims[0].verdict.word == "reproduced"
    [(title, text)] = done.result.details["sections"]["The driver"]
    assert title.startswith(f"{DRIVER}, written by the model") and text == driver
    assert not (code / DRIVER).exists()
    assert "The driver" in (done.path / "report.html").read_text()


@pytest.mark.slow
def test_a_plan_without_a_command_is_told_of_the_driver(tmp_path: Path) -> None:
    code = code_with(tmp_path, lib__py=LIBRARY)
    replies = [CLAIMS, '{"command": ""}', json.dumps({"driver": CALLS}), FOUND]
    with chat_server(replies) as server:
        settings = settings_for(
            "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url
        )
        verify(code, settings=settings, paper=tmp_path / "paper.md")
        assert "write a driver where the code has no program" in server.requests[2].prompt


COUNTS = """def score(rows, first=0, last=None):
    return sum(rows[first:last]) / len(rows[first:last])

def main():
    print(score([9, 9]))
"""
SWAPS = (
    "import lib\nrows = [1, 2, 3, 4, 5, 6, 3, 4]\nprint('mean', lib.score(rows, 0, 8 - 2) * 1)\n"
)
DIFFERS = {
    "kind": "evaluation", "says": "the last four rows", "does": "scores other rows",
    "paper": "Our estimator has a mean", "moves": "yes", "sure": "high", "first": 1,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "after"),
    [
        (DRIVER, "rows, 0, 8 - 2", "rows, 4, 8", 4.5),
        ("lib.py", "rows[first:last]) / len", "rows[first:]) / len", 28 / 6),
        ("lib.py", "print(score([9, 9]))", "print(score([8, 8]))", None),
    ],
)
def test_what_a_driver_does_is_shown_and_audited_and_the_papers_way_runs_through_it(
    tmp_path: Path, file: str, old: str, new: str, after: float | None
) -> None:
    code = code_with(tmp_path, lib__py=COUNTS)
    (tmp_path / "paper.md").write_text("# Means\nOur estimator has a mean of 3.51.\n")
    item = {**DIFFERS, "file": file, "code": old,
            "replacement": {"file": file, "old": old, "new": new}}  # fmt: skip
    replies = [
        CLAIMS.replace("3.958333", "3.51"),
        json.dumps({"driver": SWAPS}),
        json.dumps({"places": [{**PLACE, "text": "mean 3.5"}]}),
        json.dumps({"items": [item]}),
        json.dumps({"items": [{"id": "D1", "answer": "holds"}]}),
    ]
    with chat_server(replies) as server:
        settings = settings_for(
            "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url, audit=True
        )
        [done] = verify(code, settings=settings, paper=tmp_path / "paper.md")
        told = "It works out itself: lib.score(rows, 0, 8 - 2) * 1 (line 3)"
        assert all(told in request.prompt for request in server.requests[3:5])
    [one] = done.result.audit.differences
    assert [(each.before, each.after) for each in one.effects] == [(3.5, after)] * bool(after)
    assert one.can_move and ("doesn't reach these lines" in one.tried) == (after is None)
    shown = done.result.details["sections"]["What the driver does itself"]
    assert list(map(tuple, shown)) == [(MADE, "lib.score(rows, 0, 8 - 2) * 1 (line 3)")]
    assert "lib.score(rows, 0, 8 - 2) * 1 (line 3)" in (done.path / "report.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("by_model", [True, False])
def test_a_users_own_driver_is_run_and_listed_as_theirs(tmp_path: Path, by_model: bool) -> None:
    code = code_with(tmp_path, lib__py=LIBRARY)
    (tmp_path / "mine.py").write_text(CALLS)
    given = {"paper": tmp_path / "paper.md", "driver": tmp_path / "mine.py"}
    if not by_model:
        [scored] = verify(
            code,
            settings=settings_for("process", runs_dir=tmp_path / "runs"),
            claims=["estimator: mean = 3.958333"],
            metric_from=["estimator_mean=stdout:mean"],
            **given,
        )
        assert scored.result.verdict == "reproduced"
        return
    with chat_server([CLAIMS, json.dumps({"command": f"python {DRIVER}"}), FOUND]) as server:
        settings = settings_for(
            "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url
        )
        [done] = verify(code, settings=settings, **given)
        assert "The user's driver" in server.requests[1].prompt
    [(title, text)] = done.result.details["sections"]["The driver"]
    assert title == f"{DRIVER}, yours" and text == CALLS
    assert verdict_of(done.path).claims[0].verdict.word == "reproduced"


@pytest.mark.slow
def test_a_trial_goes_on_with_the_driver_the_packages_and_the_command_it_began_with(
    tmp_path: Path,
) -> None:
    """Their files may be gone or altered by then: the trial has what they held."""
    code = code_with(tmp_path, lib__py=LIBRARY)
    (tmp_path / "mine.py").write_text(CALLS)
    (tmp_path / "needs.txt").write_text("numpy>=1.20\n")
    given = {"driver": tmp_path / "mine.py", "requirements": tmp_path / "needs.txt"}
    with chat_server([CLAIMS, json.dumps({"why": "a library"}), FOUND]) as server:
        how = {"model": "any", "base_url": server.base_url, "audit": False, "sandbox": "process"}
        settings = load_settings({**how, "runs_dir": tmp_path / "runs", "budget": "1 calls"})
        [begun] = verify(code, settings=settings, paper=tmp_path / "paper.md", **given)
        assert begun.result.status == "stopped"
        for file in given.values():
            file.unlink()
        done = watched_attempt(resumed(begun.path, load_settings({"budget": "9 calls"})))
        prompt = server.requests[1].prompt
    assert "It needs these packages: numpy>=1.20" in prompt and CALLS in prompt
    assert f"The user's command\n`python {DRIVER}`" in prompt
    [(title, text)] = done.result.details["sections"]["The driver"]
    assert title == f"{DRIVER}, yours" and text == CALLS
    assert verdict_of(done.path).claims[0].verdict.word == "reproduced"


@pytest.mark.parametrize("option", ["run", "carry", "driver", "requirements"])
def test_how_code_is_run_makes_it_another_trial(tmp_path: Path, option: str) -> None:
    code = code_with(tmp_path, lib__py=LIBRARY)
    (tmp_path / "mine.py").write_text(CALLS)
    (tmp_path / "needs.txt").write_text("numpy\n")
    how = {"run": "python a.py", "carry": ["w.pt"], "driver": tmp_path / "mine.py"}
    how["requirements"] = tmp_path / "needs.txt"
    settings = settings_for("process", runs_dir=tmp_path / "runs")

    def folder(**how: Any) -> Path:
        return verify_job(code, settings, paper=tmp_path / "paper.md", **how).folder()

    there = folder(**{option: how[option]})
    assert there == folder(**{option: how[option]}) != folder()
    if file := {"driver": "mine.py", "requirements": "needs.txt"}.get(option):
        (tmp_path / file).write_text("# other words\npandas\n")
        assert folder(**{option: how[option]}) != there

"""Each page that we write, in a real browser, full of what a program, a model and a judge could put
into it.
"""

import json
import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from needs import HAS_TABLES
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from trial_results import trial_result

import autoreproduce
from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.evaluation.judging.material import material_of
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.report import write_report
from autoreproduce.evaluation.score_page import write_page
from autoreproduce.evaluation.submission import lay_out

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
)
HOSTILE = (
    "</script></style></title><script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
    "<svg onload='window.ran = 1'><a href='javascript:window.ran=1'>x</a><iframe src='http://127.0.0.1:9/'></iframe>"
)
TASK = load_task("lsm")
PAGES = ("page", "paper", "scores", "site", "board", "board_part")


def trial_in(folder: Path) -> Path:
    """A trial whose program, name, outcome and scores are hostile."""
    task = TASK.model_copy(update={"title": f"Title {HOSTILE}"})
    trial = lay_out(folder, Sources({"main.py": f"x = 1  # {HOSTILE}\n"}), task)
    trial.write_result(
        trial_result(status="measured", reason=HOSTILE, metric=0.03, notes=[HOSTILE])
    )
    trial.close()
    part = {
        "number": 1,
        "score": 10,
        "reason": HOSTILE,
        "reference": HOSTILE,
        "generated": HOSTILE,
        "lines": [{"file": "a.py", "first": 1, "last": 1}],
    }
    details = {
        "readings": [{"judge": HOSTILE, "repeat": 1, "parts": [part]}],
        "files": {"a.py": "main.py"},
        "addressed_the_judge": [{"file": HOSTILE, "line": 1, "where": "text", "text": HOSTILE}],
    }
    entry = {
        "scorer": "mixed",
        "value": 50.0,
        "reason": HOSTILE,
        "judges": [HOSTILE],
        "details": details,
    }
    (folder / "scores.json").write_text(json.dumps({"version": 1, "scores": [entry]}))
    return folder


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if not HAS_TABLES:
        pytest.skip("tables are not installed")
    suite = tmp_path_factory.mktemp("suite")
    folder = trial_in(suite / "trials" / "lsm" / "<b onclick=x>bare" / "1")
    return {
        "report": write_report(folder, TASK),
        "scores": write_page(folder, TASK, material_of(TASK)),
        "site": autoreproduce.write_site(suite),
    }


def test_every_page_has_its_head_from_one_place() -> None:
    templates = files("autoreproduce.evaluation.report") / "templates"
    whole = [
        t for t in templates.iterdir() if "<!doctype" in t.read_text() or "<html" in t.read_text()
    ]
    assert [t.name for t in whole] == ["base.html.j2"]  # the one frame of all pages
    assert "Content-Security-Policy" in whole[0].read_text()
    framed = {
        t.name for t in templates.iterdir() if t.is_file() and '{% extends "base' in t.read_text()
    }
    assert framed == {f"{name}.html.j2" for name in PAGES}
    assert not any("block assets" in (templates / name).read_text() for name in framed)


@pytest.mark.parametrize("name", ["report", "scores", "site"])
def test_the_policy_lets_nothing_run_but_the_pages_own(pages: dict[str, Path], name: str) -> None:
    text = pages[name].read_text()
    policy = text.partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0]
    assert policy.startswith("default-src &#39;none&#39;; style-src &#39;sha256-")
    assert "unsafe" not in policy
    assert "window.ran = 1</script>" not in text


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER or ""
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.mark.slow
@pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver on the path")
@pytest.mark.parametrize("name", ["report", "scores", "site"])
def test_a_page_loads_without_an_error_and_runs_nothing_of_others(
    browser: Any, pages: dict[str, Path], name: str
) -> None:
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(pages[name].as_uri())
    assert browser.get_log("browser") == []
    assert browser.execute_script("return window.ran === undefined")
    assert (
        browser.execute_script(
            "return document.querySelectorAll('iframe, img[src=x], a[href^=javascript]').length"
        )
        == 0
    )
    sent = [
        each["message"]
        for each in browser.get_log("performance")
        if 'requestWillBeSent"' in each["message"]
    ]
    assert [
        message
        for message in sent
        if "http" in json.loads(message)["message"]["params"]["request"]["url"][:5]
    ] == []

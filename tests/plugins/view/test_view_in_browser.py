"""A trial that runs, watched, stopped and resumed in a real browser."""

import itertools
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
from chat_server import Answer, chat_server
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.trials.live import LiveRecord

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver"),
]
COMMAND = [sys.executable, "-m", "autoreproduce"]


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER or ""
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/p"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def wait_for(condition: Any, what: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.2)


def text_of(browser: Any, selector: str) -> str:
    """Asked in one go: a live part may be replaced between finding it and reading it."""
    return browser.execute_script(
        "return document.querySelector(arguments[0])?.innerText ?? ''", selector
    )


def press(browser: Any, word: str) -> None:
    script = "[...document.querySelectorAll('button, a')].find((b) => b.innerText === arguments[0])"
    browser.execute_script(f"{script}.click()", word)


def click(browser: Any, selector: str) -> None:
    browser.execute_script("document.querySelector(arguments[0]).click()", selector)


def address_of(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    return next(line for line in server.stdout if line.startswith("http")).strip()


@pytest.mark.timeout(300)
def test_a_trial_is_watched_stopped_and_resumed_without_a_reload(
    browser: Any, tmp_path: Path
) -> None:
    tiny.lay_out(tmp_path)
    seen_running = threading.Event()  # until then the model answers nothing of the second phase

    def reply(request: Any) -> Answer:
        if "data.py" in request.prompt.rpartition("# What is asked")[2]:
            seen_running.wait(200)
        return Answer(tiny.reply(request))

    with chat_server(reply) as model:
        settings = {"MODEL": "scripted", "BASE_URL": model.base_url, "SANDBOX": "process"}
        env = {**os.environ, **{f"AUTOREPRODUCE_{key}": text for key, text in settings.items()}}
        arguments = [*COMMAND, "reproduce", *tiny.COMMAND, "--out", "runs/one"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        (tmp_path / "runs").mkdir()
        trial = subprocess.Popen(arguments, cwd=tmp_path, env=env, **quiet)
        viewing = [*COMMAND, "view", "runs"]
        server = subprocess.Popen(viewing, cwd=tmp_path, env=env, text=True, stdout=subprocess.PIPE)
        try:
            browser.get(address_of(server))
            assert browser.get_cookies() == []
            wait_for(lambda: browser.find_elements("link text", "one"), "listed by itself")
            press(browser, "one")
            wait_for(lambda: "Data acquisition" in text_of(browser, "#now"), "its phase")
            assert "running" in text_of(browser, "#now .status")
            wait_for(lambda: "Literature review" in text_of(browser, "#report"), "what ended")
            press(browser, "Stop")
            assert trial.wait(60) == 130
            wait_for(lambda: "Resume" in text_of(browser, "#now"), "stopped")
            press(browser, "Resume")
            wait_for(lambda: "running" in text_of(browser, "#now .status"), "resumed")
            browser.execute_script("window.loaded = 1")
            seen_running.set()
            wait_for(lambda: "measured" in text_of(browser, "#now .status"), "measured", 120)
            assert not text_of(browser, "pre.output"), "the sentence comes first"
            click(browser, "#now summary")
            assert "squared error" in text_of(browser, "pre.output")
            assert browser.execute_script("return window.loaded") == 1
            severe = [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]
            assert severe == []
        finally:
            seen_running.set()
            for process in (trial, server):
                process.terminate()
                process.wait(20)
            assert server.stdout is not None
            server.stdout.close()
        assert server.returncode == 0


def reached_by_tab(browser: Any) -> None:
    """Each part that takes the keyboard is reached, and shows that it has it."""
    asked = """const all = 'a[href], button, input:not([type=hidden]), select, summary, [tabindex="0"]';
    return [...document.querySelectorAll(all)].filter(e => e.checkVisibility() && !e.disabled)
      .map((e, n) => { e.dataset.place = n; return e.outerHTML.slice(0, 80); })"""
    told = """const e = document.activeElement, s = getComputedStyle(e);
    return [e.dataset.place ?? "", s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0]"""
    parts = browser.execute_script(asked)
    browser.execute_script("document.activeElement.blur()")
    reached = set()
    for _ in range(len(parts) + 5):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        place, shown = browser.execute_script(told)
        if place:
            assert shown, parts[int(place)]
            reached.add(int(place))
    assert reached == set(range(len(parts))), [
        part for n, part in enumerate(parts) if n not in reached
    ]


def test_a_list_is_searched_curves_are_live_and_several_trials_are_compared(
    browser: Any, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    long = "second-" + "and-a-long-name-" * 6
    for name in ("first", long, "third"):
        lay_out(runs / name, Sources({"main.py": f"x = '{name}'\n"}), load_task("lsm")).close()
    live = LiveRecord(runs / "third", lambda: next(ticks))
    ticks = itertools.count()
    live.phase("full_run")
    viewing = [*COMMAND, "view", str(runs)]
    server = subprocess.Popen(viewing, text=True, stdout=subprocess.PIPE)
    try:
        browser.set_window_size(1280, 900)
        browser.get(address_of(server))
        wide = "return [...document.querySelectorAll('.scroll')].every(e => e.scrollWidth <= e.clientWidth)"
        assert browser.execute_script(wide), "nothing is clipped"
        tall = "return [...document.querySelectorAll('#rows tr')].map(e => e.clientHeight)"
        assert len(set(browser.execute_script(tall))) == 1, "a long name takes one line"
        browser.execute_script("document.querySelectorAll('.name a')[1].focus()")
        assert len(set(browser.execute_script(tall))) == 2, "and shows itself whole"
        reached_by_tab(browser)
        boxes = browser.find_elements("css selector", "#trials input[type=checkbox]")
        assert not browser.find_element("id", "compare").is_enabled()
        for box in boxes:
            box.click()
        browser.find_element("id", "compare").click()
        wait_for(lambda: "3 trials side by side" in text_of(browser, "h1"), "compared")
        assert "x = 'second-" in browser.page_source
        browser.back()
        click(browser, "details.columns summary")
        click(browser, "[name=column][value=model]")
        wait_for(lambda: "model" not in text_of(browser, "#head"), "a column goes")
        browser.get(browser.current_url.partition("?")[0])
        wait_for(lambda: "model" not in text_of(browser, "#head"), "and stays away")
        browser.find_element("name", "search").send_keys("third")
        wait_for(lambda: "1 of 3" in text_of(browser, "#shown"), "searched")
        browser.find_element("link text", "third").click()
        for epoch in range(1, 5):
            live.output(f"epoch {epoch}/8 loss {1 / epoch} acc {epoch / 9}\n")
        wait_for(lambda: browser.find_elements("css selector", "#plots canvas"), "drawn")
        drawn = "return document.querySelector('#plots canvas')?.getAttribute('aria-label')"
        wait_for(lambda: "from 1 to 0.25" in browser.execute_script(drawn), "up to the newest")
        wait_for(lambda: "50 % of its steps" in text_of(browser, "#now"), "counted")
        assert "measured no number" not in text_of(browser, "body")
        fits = "return [...document.querySelectorAll('#plots figure')].map(f => f.scrollWidth <= f.clientWidth)"
        assert browser.execute_script(fits) == [True, True], "side by side"
        click(browser, "[name=log]")
        wait_for(lambda: "logarithmic" in text_of(browser, "#plots"), "logarithmic")
        live.output("epoch 5/8 loss 0.2\n")
        wait_for(lambda: "to 0.2" in browser.execute_script(drawn), "the same chart goes on")
        assert "logarithmic" in text_of(browser, "#plots")
        live.rows([{"step": float(n), "val_error": 1.0 / n} for n in range(1, 6)])
        live.output("saved\n")
        wait_for(lambda: "val error" in text_of(browser, "#plots"), "what it wrote into files")
        read = "return [...document.querySelectorAll('#plots canvas')].map(c => c.ariaLabel).join()"
        wait_for(lambda: "val error by step" in browser.execute_script(read), "by its own counter")
        hover = "return [...document.querySelectorAll('#plots .u-legend')][0].innerText"
        plot = browser.find_element("css selector", "#plots .u-over")
        ActionChains(browser).move_to_element_with_offset(plot, -140, 0).perform()
        wait_for(lambda: "0.2" not in browser.execute_script(hover), "the value under the cursor")
        assert "loss" in browser.execute_script(hover)
        reached_by_tab(browser)
    finally:
        server.terminate()
        server.wait(20)
        assert server.stdout is not None
        server.stdout.close()


def test_a_paper_is_uploaded_and_its_trial_starts(browser: Any, tmp_path: Path) -> None:
    runs, paper = tmp_path / "runs", tmp_path / "paper.pdf"
    runs.mkdir()
    paper.write_bytes(b"%PDF-1.4 of no pages")
    viewing = [*COMMAND, "view", str(runs)]
    server = subprocess.Popen(viewing, text=True, stdout=subprocess.PIPE)
    try:
        browser.get(address_of(server))
        browser.find_element("link text", "New trial").click()
        browser.find_element("name", "paper").send_keys(str(paper))
        browser.find_element("name", "model").send_keys("openai:no-such")
        press(browser, "Start")
        wait_for(lambda: "main of" in text_of(browser, "#started"), "started")
        assert [path.suffix for path in (runs / "uploads").iterdir()] == [".pdf"]

        def ended() -> bool:
            browser.refresh()
            return "ended with exit code" in text_of(browser, "#started")

        wait_for(ended, "a paper without pages ends with an error that the page shows", 30)
    finally:
        server.terminate()
        server.wait(20)
        assert server.stdout is not None
        server.stdout.close()

"""A suite's site: everything in one page, escaped, and in a real browser with five hundred
trials.
"""

import shutil
import time
from pathlib import Path

import pytest
from trial_results import trial_result

from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.plugins.tables.site import write_site

CHROME = next(
    (
        path
        for name in ("chromium", "google-chrome", "chromium-browser")
        if (path := shutil.which(name))
    ),
    None,
)
DRIVER = shutil.which("chromedriver")


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """One trial's folder, to be copied."""
    folder = tmp_path_factory.mktemp("one") / "trial"
    trial = lay_out(folder, Sources({"main.py": "x = 1\n"}), load_task("lsm"))
    trial.write(
        "result.json", trial_result(status="failed", reason="", phase="not run").model_dump_json()
    )
    trial.close()
    (folder / "report.html").write_text("<title>a trial</title>")
    return folder


def suite(root: Path, one: Path, count: int) -> Path:
    """`count` trials under two variants, each with a metric of its own."""
    for n in range(count):
        folder = root / "trials" / "lsm" / ("full", "<b>bare<b>")[n % 2] / str(n)
        folder.mkdir(parents=True)
        for name in ("trial.json", "job.json", "report.html"):
            shutil.copyfile(one / name, folder / name)
        record = (
            (folder / "job.json")
            .read_text()
            .replace('"solver": "external"', '"solver": "autoreproduce"')
        )
        (folder / "job.json").write_text(record)
        outcome = trial_result(
            status="measured", reason="", phase="full_run", metric=0.03 + n / 1000, seconds=float(n)
        )
        (folder / "result.json").write_text(outcome.model_dump_json())
    return root


def test_the_page_holds_all_and_links_to_the_trials(tmp_path, one):
    page = write_site(suite(tmp_path / "s", one, 4)).read_text()
    assert page.count("<tr data-task") == 4 and 'href="trials/lsm/full/0/report.html"' in page
    assert "<b>bare<b>" not in page and "&lt;b&gt;bare" in page
    assert "data:image/svg+xml" in page and "http://" not in page


def test_a_folder_without_trials_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="no finished trial"):
        write_site(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not (CHROME and DRIVER), reason="needs Chromium and chromedriver")
def test_five_hundred_trials_sort_and_filter_in_a_browser(tmp_path, one):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.select import Select

    page = write_site(suite(tmp_path / "s", one, 500))
    options = webdriver.ChromeOptions()
    options.binary_location = CHROME
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options=options, service=Service(DRIVER)) as browser:
        browser.get(page.as_uri())
        browser.set_window_size(1600, 1200)
        column = next(
            h
            for h in browser.find_elements(By.CSS_SELECTOR, "#trials th")
            if h.text.strip() == "metric"
        )
        place = column.find_elements(By.XPATH, "preceding-sibling::th")
        cell = f"#trials tbody tr td:nth-child({len(place) + 1})"
        for order, wanted in (("ascending", "0.03"), ("descending", "0.529")):
            began = time.perf_counter()
            browser.execute_script(
                "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", column
            )
            column.find_element(By.TAG_NAME, "button").click()
            assert time.perf_counter() - began < 5
            assert column.get_attribute("aria-sort") == order
            assert browser.find_element(By.CSS_SELECTOR, cell).text == wanted
        Select(browser.find_element(By.ID, "variant")).select_by_index(1)
        assert browser.find_element(By.ID, "shown").text == "250"
        browser.find_element(By.ID, "search").send_keys("nothing like it")
        assert browser.find_element(By.ID, "shown").text == "0"
        assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]

"""The page in a real browser: what no parser tells (errors, requests, overflow, print, colours)."""

import base64
import shutil

import pypdfium2
import pytest
from report_trials import HOSTILE, LINEAGE, darcy, outcome, whole_trial
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from two_experiments import verdict

from autoreproduce.claims.differences import Audit, Difference
from autoreproduce.evaluation.report import write_report
from autoreproduce.trials.result import read_result

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (BROWSER and DRIVER), reason="needs chromium and chromedriver on the path"
    ),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A report with hostile text in every place that a program or a model writes."""
    folder = whole_trial(tmp_path_factory.mktemp("trials") / "t", hostile=HOSTILE)
    return write_report(folder, darcy(title="A title " + HOSTILE)).as_uri()


@pytest.fixture
def page(browser, address):
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(address)
    return browser


def unfold(page):
    page.execute_script("document.getElementById('unfold').click()")


def test_it_loads_without_an_error_or_a_request(page, address):
    unfold(page)
    assert page.get_log("browser") == []
    sent = [
        entry["message"]
        for entry in page.get_log("performance")
        if 'Network.requestWillBeSent"' in entry["message"]
    ]
    assert len(sent) == 1 and address in sent[0]
    assert page.title.startswith("A title </script>")
    assert not page.find_elements(By.TAG_NAME, "img")


def test_all_sections_are_there_and_the_button_opens_every_fold(page):
    titles = [h.text for h in page.find_elements(By.CSS_SELECTOR, "main section h2")]
    assert len(titles) == 11 and all(titles)
    assert not page.execute_script("return document.querySelectorAll('details[open]').length")
    page.find_element(By.ID, "unfold").click()
    assert page.execute_script(
        "return [...document.querySelectorAll('main details')].every(d => d.open)"
    )
    assert page.execute_script(
        "return [...document.querySelectorAll('svg polyline')].every(p => p.getTotalLength() > 50)"
    )
    unfold(page)
    assert not page.execute_script("return document.querySelectorAll('details[open]').length")


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A report with long words and lines where an audit, a claim's key or a warning has them."""
    line = "total = " + " + ".join(f"weights[{n}] * losses[{n}]" for n in range(40))
    differs = Difference.model_validate(
        {
            "id": "D1", "kind": "formula", "says": "a mean", "does": "a sum of " + "losses" * 60,
            "paper": "the mean " + "of_losses" * 60, "section": "Loss", "file": "code/" * 60 + "a.py",
            "first": 2, "last": 2, "code": line, "moves": "yes",
        }
    )  # fmt: skip
    ended = outcome(lineage=LINEAGE)
    ended.audit = Audit(differences=(differs,), dropped=("dropped_" * 60,))
    ended.details["sections"] = {"What was looked for": [("rho_0_25_" * 60, ""), ("a", line)]}
    ended.warnings.append("warning_" * 60)
    folder = whole_trial(tmp_path_factory.mktemp("wide") / "t", ended=ended)
    return write_report(folder, darcy(title="A_title_" * 60)).as_uri()


@pytest.mark.parametrize("width", [390, 1300])
def test_long_words_and_lines_scroll_no_page(page, wide, width):
    page.get(wide)
    no_scroll(page, width)


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 1300])
def test_no_width_scrolls_sideways(page, width):
    no_scroll(page, width)


def no_scroll(page, width):
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 2, "mobile": width < 700}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    unfold(page)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    assert (
        page.execute_script("return window.innerWidth") == width
    )  # a page that is too wide makes a phone zoom out


def test_the_whole_timeline_is_seen_on_a_desktop(page):
    unfold(page)
    box = "document.querySelector('.phases').parentElement"
    assert page.execute_script(f"return {box}.scrollWidth <= {box}.clientWidth")


def printed(page):
    """The text of each page of its PDF."""
    document = pypdfium2.PdfDocument(base64.b64decode(page.print_page()))
    texts = [" ".join(sheet.get_textpage().get_text_range().split()) for sheet in document]
    document.close()
    return texts


def test_it_prints_unfolded_but_for_what_programs_printed_and_folds_again(page):
    texts = printed(page)
    text = " ".join(texts)
    assert 2 <= len(texts) <= 20
    assert "does as well as our reference" in text and "Total" in text and "$0.1353" in text
    assert "Fold into patches of" in text
    for fold in page.find_elements(By.CSS_SELECTOR, "main details:not(.raw) summary"):
        title = " ".join(fold.get_attribute("textContent").split())
        assert title[:20] in text, title
    assert not page.execute_script("return document.querySelectorAll('details[open]').length")


@pytest.fixture
def with_readings(page, tmp_path):
    """The page of a trial that judged claims of two experiments under readings."""
    folder = whole_trial(tmp_path / "t")
    result = read_result(folder)
    assert result is not None
    result.claims = verdict()
    (folder / "result.json").write_text(result.model_dump_json())
    page.get(write_report(folder, darcy()).as_uri())
    return page


def test_each_reason_is_on_paper_and_no_word_on_pointing(with_readings):
    assert "when you point at it" in with_readings.find_element(By.TAG_NAME, "main").text
    text = " ".join(printed(with_readings))
    assert "20 worse; at most 1.886 counts" in text and "Written by the program" in text
    assert "each cell's reason is below." in text and "point at it" not in text


def test_a_phone_scrolls_the_chart_of_readings_and_keeps_its_letters(with_readings):
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    with_readings.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    letter = "document.querySelector('.curve text.y').getBoundingClientRect().height"
    assert with_readings.execute_script(f"return {letter}") >= 9
    box = "document.querySelector('.curve .scroll')"
    assert with_readings.execute_script(f"return {box}.scrollWidth > {box}.clientWidth")
    assert with_readings.execute_script("return document.documentElement.scrollWidth") <= 390


CONTRAST = """
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const rgb = (colour) => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const part = (v) => v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
const behind = (e) => {
  for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; }
  return [255, 255, 255, 255];
};
const text = (node) => node.nodeType === 3 && node.data.trim();
const hasText = (e) => e.offsetParent && !e.closest("svg") && [...e.childNodes].some(text);
return [...document.querySelectorAll("body *")].filter(hasText).map((e) => {
  const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
  return [(a + 0.05) / (b + 0.05), e.tagName + "." + e.className + " " + e.textContent.trim().slice(0, 30)];
}).filter(([ratio]) => ratio < 4.5);
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(page, scheme):
    page.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    unfold(page)
    colour = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert colour == {"light": "rgb(251, 250, 247)", "dark": "rgb(20, 21, 24)"}[scheme]
    assert page.execute_script(CONTRAST) == []
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

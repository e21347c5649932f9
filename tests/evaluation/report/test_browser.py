"""The page in a real browser: what no parser tells (errors, requests, overflow, print, colours)."""

import base64
import shutil

import pytest
from report_trials import HOSTILE, darcy, whole_trial
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from autoreproduce.evaluation.report import write_report

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


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_width_scrolls_sideways(page, width):
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


def test_it_prints_with_the_summaries_and_shuts_them_again(page):
    pdf = base64.b64decode(page.print_page())
    import pypdfium2

    document = pypdfium2.PdfDocument(pdf)
    texts = []
    for sheet in document:
        text_page = sheet.get_textpage()
        texts.append(text_page.get_text_range())
        text_page.close()
    document.close()
    text = " ".join(" ".join(texts).split())
    assert 2 <= len(texts) <= 20
    assert "does as well as our reference" in text and "Total" in text and "$0.1353" in text
    assert "Fold into patches of" in text
    assert not page.execute_script("return document.querySelectorAll('details[open]').length")


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

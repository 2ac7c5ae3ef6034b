"""The page in a real browser: filter, sort, figures, keyboard, phone, dark, print.

Slow: starts Chromium (a few seconds), once for all tests here.
"""

import contextlib
import re

import pytest
from headless import browser

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def started():
    """Holds the browser of this module, which the first test starts."""
    with contextlib.ExitStack() as stack:
        yield stack, []


@pytest.fixture
def page(started, require_tool, small_page):
    """The page freshly loaded; afterwards nothing was complained about or asked from a network."""
    require_tool("chromium")
    stack, windows = started
    if not windows:
        windows.append(stack.enter_context(browser(require_tool("chromedriver"))))
    window = windows[0]
    window.window(1300, 1000)
    window.scheme("light")
    window.log("browser")
    window.requested()
    window.open(small_page)
    yield window
    assert window.log("browser") == []
    addresses = [url for url in window.requested() if not url.startswith("data:")]
    assert addresses == [small_page.resolve().as_uri()]


def column(page, name):
    heads = page.texts("#cells thead th")
    index = next(i for i, head in enumerate(heads) if head.startswith(name))
    return page.texts(f"#cells tbody tr > td:nth-child({index + 1})")


def test_filtering_by_words_and_choices(page):
    everything = int(re.match(r"(\d+) of", page.text("#count"))[1])
    page.type("#filters input[name=text]", "epsilon=1 epoch=0")
    assert set(column(page, "Where")) == {"Table 1 (means)"}
    assert all("epsilon=1" in text for text in column(page, "Claim"))
    found = len(column(page, "Claim"))
    assert 0 < found < everything
    assert page.text("#count").startswith(f"{found} of {everything}")
    page.run(
        "const s = document.querySelector('#filters select[name=verdict]'); s.value = 'not reproduced'; s.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    assert column(page, "Replicated") == ["0.900000 ± 0.000051"]
    page.click("#filters button[type=reset]")
    assert page.run(
        "return new Promise(done => setTimeout(() => done(document.querySelector('#count').textContent), 50))"
    ).startswith(f"{everything} of")


def test_nothing_found_is_said(page):
    page.type("#filters input[name=text]", "nothing is called so")
    assert page.text("#count").startswith("0 of")
    assert page.texts("#cells tbody tr") == []


def test_sorting_numbers_both_ways_with_empty_ones_last(page):
    page.click("#cells thead th:nth-child(6) button")
    up = [text for text in column(page, "Published") if re.match(r"[\d.e-]+( ±|$)", text)]
    values = [float(text.split(" ±")[0]) for text in up]
    assert values == sorted(values)
    assert column(page, "Published")[-1] == ""
    page.click("#cells thead th:nth-child(6) button")
    down = [
        float(t.split(" ±")[0]) for t in column(page, "Published") if re.match(r"[\d.e-]+( ±|$)", t)
    ]
    assert down == sorted(down, reverse=True)
    assert column(page, "Published")[-1] == ""
    states = page.run("return [...document.querySelectorAll('#cells th')].map(h => h.ariaSort)")
    assert states.count("descending") == 1


def test_sorting_verdicts_puts_the_gravest_first(page):
    page.click("#cells thead th:nth-child(1) button")
    assert column(page, "Verdict")[0].endswith("not reproduced")
    assert column(page, "Verdict")[-1].endswith("not published")


def test_the_table_of_families_sorts(page):
    page.click("#families thead th:nth-child(6) button")
    cells = [int(text) for text in page.texts("#families tbody td:nth-child(6)")]
    assert cells == sorted(cells)
    assert cells[-1] == 58  # a summarised row counts its cells


def test_a_row_tells_why_and_how_to_make_it_again(page):
    page.type("#filters input[name=text]", "dpauc_table1_spread")
    page.click("#cells tbody button")
    detail = page.text("#cells tr.detail")
    assert "<b>9</b> standard errors & more" in detail  # as text, not as markup
    again = "snakemake results/laptop/dpauc/tables/table1.tex --cores 2 --force --config seed=1"
    assert again in detail
    page.click("#cells tbody button")
    assert page.texts("#cells tr.detail") == []


def test_buttons_of_the_summary_filter_the_cells(page):
    page.click(".failures button")
    assert [text.split()[-1] for text in column(page, "Verdict")] == ["reproduced"]
    assert page.run("return document.activeElement.name") == "text"


def test_figures_open_step_and_close(page):
    assert page.run("return document.querySelector('#lightbox').open") is False
    page.click("#figure-dpauc-figure1 .open")
    first = page.run(
        "const b = document.querySelector('#lightbox'); return [b.open, b.querySelector('img').naturalWidth]"
    )
    assert first[0] is True
    assert first[1] > 500
    assert "with a < b" in page.text("#lightbox p")
    page.press("ArrowRight")
    page.until("document.querySelector('#lightbox p').innerText.includes('AUC labelings')")
    page.click("#zoom")
    wide = page.run("return document.querySelector('#lightbox img').getBoundingClientRect().width")
    assert wide == pytest.approx(first[1], abs=1)
    page.press("Escape")
    page.until("!document.querySelector('#lightbox').open")
    page.until("document.activeElement.className == 'open'")


def test_everything_is_reached_and_worked_by_keyboard(page):
    page.run("document.body.focus()")
    page.press("Tab")
    assert page.run("return document.activeElement.className") == "skip"
    page.run("document.querySelector('#figure-dpauc-figure1 .open').focus()")
    page.press("Enter")
    page.until("document.querySelector('#lightbox').open")
    page.press("Escape")
    page.until("!document.querySelector('#lightbox').open")
    page.until("document.activeElement.matches('#figure-dpauc-figure1 .open')")
    page.run("document.querySelector('#cells thead th:nth-child(6) button').focus()")
    page.press("Enter")
    page.until("document.querySelector('#cells thead th:nth-child(6)').ariaSort == 'ascending'")
    unreachable = page.run(
        "return [...document.querySelectorAll('button, a, input, select, summary')]"
        ".filter(e => e.tabIndex < 0).length"
    )
    assert unreachable == 0
    nameless = page.run(
        "return [...document.querySelectorAll('button')].filter(e => !e.ariaLabel && !e.textContent.trim()).length"
    )
    assert nameless == 0


@pytest.mark.parametrize("width", [360, 768, 1300])
def test_nothing_runs_out_of_the_window(page, width):
    page.window(width, 800)
    page.click("#open-all")
    assert page.run("return document.documentElement.scrollWidth") <= width


def test_a_phone_shows_rows_as_cards(page):
    page.window(390, 800)
    assert (
        page.run("return getComputedStyle(document.querySelector('#cells tbody tr')).display")
        == "block"
    )


CONTRAST = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data]; };
const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255]; };
return [...document.querySelectorAll('.badge, td, th, p, a, dt, dd, h1, h2, h3, figcaption, .data, .state')].filter(e => e.checkVisibility())
  .map(e => { const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.tagName + '.' + e.className]; })
  .sort((x, y) => x[0] - y[0])[0];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_that_accessibility_asks_for(page, scheme):
    page.scheme(scheme)
    page.click("#open-all")
    lowest, where = page.run(CONTRAST)
    assert lowest >= 4.5, where


def test_colours_follow_the_system_until_chosen(page):
    def background():
        return page.run("return getComputedStyle(document.body).backgroundColor")

    light = background()
    page.scheme("dark")
    dark = background()
    assert dark != light
    page.click("#theme")
    assert page.text("#theme") == "light"
    assert background() == light
    page.click("#theme")
    assert background() == dark


def test_it_prints_with_all_tables_open(page):
    assert page.pdf().startswith(b"%PDF")
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    assert page.run("return [...document.querySelectorAll('details')].every(d => d.open)") is True
    page.run("window.dispatchEvent(new Event('afterprint'))")
    assert page.run("return [...document.querySelectorAll('details')].some(d => d.open)") is False

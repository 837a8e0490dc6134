"""The pages in a real browser: headless Chromium, its mouse and its keys, and not a word on the console.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import trace_writer as tw
from browser import CHROMIUM, Browser

from corewise._core import Machine
from corewise.analysis.placement.comparison import PlacementStudy, study_placements
from corewise.analysis.placement.links import link_loads
from corewise.analysis.profile.findings import find_out
from corewise.analysis.profile.matrix import build_matrix
from corewise.analysis.result import Figure, Panel, PaperResult, number_row, series, statement_row
from corewise.bench.rows import Outcome, Row
from corewise.cli import pages
from corewise.cli.main import execute
from corewise.data.machines import load_machine
from corewise.data.patterns import load_pattern
from corewise.data.profile import load_profile
from corewise.data.quantities import bytes_text
from corewise.report.page.result import bench_page, paper_page
from corewise.trials.levers.table import LEVERS

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="capability: no chromium")
PICTURES = "corewise.plots.timeline && corewise.plots.matrix"
MACHINE = "pack:2 l3:2 core:4"
TABS = ["overview", "timeline", "matrix", "calls", "waits", "collectives", "machine", "ranks"]


def _halo(folder: Path, size: int, steps: int, far: int, nodes: int = 1) -> Path:
    """Every rank exchanges with its neighbours and with those `far` away, then all reduce."""
    ranks = []
    for rank in range(size):
        host = f"node{rank * nodes // size}"
        trace = tw.RankTrace(rank, size, host=host, node=host, cpus=[rank % 128])
        trace.put(tw.PLAIN, "MPI_Init", ticks=200_000)
        for step in range(steps):
            trace.now = 400_000 + 200_000 * step + 7 * (rank % 100)
            for off in (1, -1, far, -far):
                trace.put(tw.SEND, "MPI_Send", (rank + off) % size, 1000 * abs(off) + rank, ticks=1_000)
            trace.now += 20_000
            for off in (1, -1, far, -far):
                sender = (rank - off) % size
                trace.put(tw.RECEIVE, "MPI_Recv", sender, 1000 * abs(off) + sender, ticks=2_000 + rank % 64)
            trace.put(tw.COLLECTIVE, "MPI_Allreduce", tw.NO_PEER, 8 << step % 12, ticks=5_000)
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=100_000)
        trace.end_ticks = trace.now + 1_000
        ranks.append(trace)
    return tw.write_run(folder, ranks)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _halo(tmp_path_factory.mktemp("halo") / "halo.cw", size=16, steps=12, far=4)


@pytest.fixture(scope="module")
def report(profile: Path) -> Path:
    file = profile.parent / "report.html"
    assert execute(["report", str(profile), "-m", MACHINE, "--html", str(file)]) == 0
    return file


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(window: Browser) -> Browser:
    window.dark(False)
    window.size(1280, 1000)
    window.console.clear()
    window.requests.clear()
    return window


def _shown(browser: Browser) -> list[str]:
    """Names of the panels that a reader sees."""
    script = (
        "[...document.querySelectorAll('[role=tabpanel]')]"
        ".filter(e => e.checkVisibility({visibilityProperty: true})).map(e => e.id)"
    )
    return [name.removeprefix("panel-") for name in browser.ask(script)]


def test_every_tab_opens_by_mouse_and_by_keyboard(report: Path, browser: Browser) -> None:
    browser.open(report, ready=PICTURES)
    for name in TABS:
        browser.click_on(f"#tab-{name}")
        assert _shown(browser) == [name]
    browser.key("Home")
    for name in TABS[1:]:
        browser.key("ArrowRight")
        assert _shown(browser) == [name]
        assert browser.ask("document.activeElement.dataset.name") == name
    browser.key("ArrowRight")
    assert _shown(browser) == ["overview"]
    browser.open(report, "#waits", ready=PICTURES)
    assert _shown(browser) == ["waits"]
    browser.wait("corewise.plots.charts.ready")
    assert browser.console == []
    assert [url for url in browser.requests if not url.startswith(("file:", "data:", "about:"))] == []


def test_the_page_opens_with_the_findings(profile: Path, report: Path, browser: Browser) -> None:
    browser.open(report, ready=PICTURES)
    said = browser.ask(
        "[...document.querySelectorAll('ol.findings li b')].map(e => e.firstChild.textContent)"
    )
    assert [text.strip() for text in said] == [row.title for row in find_out(profile, _study(profile)).rows]
    assert len(said) >= 2
    browser.click_on("[data-open-tab=machine]")
    assert _shown(browser) == ["machine"]


def _study(profile: Path) -> PlacementStudy:
    return study_placements(load_profile(profile).pattern(), Machine.from_synthetic(MACHINE))


def test_regions_bring_the_call_graph(browser: Browser, tmp_path: Path) -> None:
    ranks = [tw.RankTrace(rank, 2) for rank in range(2)]
    for rank in ranks:
        rank.mark(tw.REGION_ENTER, "solve <fast>")
        rank.put(tw.SEND, "MPI_Send", 1 - rank.rank, 8)
        rank.mark(tw.REGION_EXIT, "solve <fast>")
    folder = tw.write_run(tmp_path / "regions.cw", ranks)
    file = tmp_path / "regions.html"
    assert execute(["report", str(folder), "--html", str(file)]) == 0
    browser.open(file, "#call-graph", ready=PICTURES)
    tree = "document.querySelector('.tree').textContent"
    assert "solve <fast>" in browser.ask(tree) and "MPI_Send" in browser.ask(tree)
    # The picture's own styles stay inside it.
    assert (
        browser.ask("getComputedStyle(document.querySelector('.keys').previousElementSibling).fontSize")
        == "13px"
    )
    browser.click_on("[data-open=none]")
    assert browser.ask("document.querySelectorAll('.tree details[open]').length") == 0
    browser.click_on("[data-show=contexts]")
    assert browser.ask("document.querySelector('[data-graph=contexts] svg').clientWidth") > 0
    assert browser.console == []


def test_an_error_on_the_page_would_be_seen(report: Path, browser: Browser, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    text = report.read_text(encoding="utf-8")
    broken.write_text(text.replace("const tip =", "nothing.here(); const tip =", 1), encoding="utf-8")
    browser.open(broken)
    assert any("nothing is not defined" in line for line in browser.console)


def _place(browser: Browser, plot: str, x: float, y: float) -> list[float]:
    """Where a place of a picture is in the window."""
    picture = f"corewise.plots.{plot}"
    box = browser.ask(f"{picture}.canvas.getBoundingClientRect().toJSON()")
    return [box["left"] + browser.ask(f"{picture}.x({x})"), box["top"] + browser.ask(f"{picture}.y({y})")]


def _point(browser: Browser, plot: str, x: float, y: float) -> str:
    """What the hint says at a place of a picture, in its own coordinates."""
    browser.ask(f"corewise.plots.{plot}.canvas.scrollIntoView({{block: 'center'}})")
    browser.mouse("mouseMoved", *_place(browser, plot, x, y))
    return str(browser.ask("document.getElementById('tip').textContent"))


def test_the_matrix_says_the_profiles_own_numbers(profile: Path, report: Path, browser: Browser) -> None:
    matrix = build_matrix(load_profile(profile).world)
    browser.open(report, "#matrix", ready=PICTURES)
    for at in range(0, len(matrix.senders), 7):
        sender, receiver = int(matrix.senders[at]), int(matrix.receivers[at])
        said = _point(browser, "matrix", receiver + 0.5, sender + 0.5).splitlines()
        assert said[0] == f"rank {sender} to rank {receiver}: {bytes_text(int(matrix.bytes[at]))}"
        assert said[1].startswith(f"{matrix.messages[at]} messages, ")
        assert said[2] == ("core complex" if sender // 4 == receiver // 4 else "socket" if
                           sender // 8 == receiver // 8 else "node")  # fmt: skip
    assert _point(browser, "matrix", 8.5, 0.5) == "rank 0 to rank 8: nothing"
    # By keyboard: from the first cell one to the right.
    browser.ask("corewise.plots.matrix.canvas.focus()")
    browser.keys(["ArrowRight", "ArrowRight"])
    first = build_matrix(load_profile(profile).world)
    said = browser.ask("document.querySelector('#matrix .status').textContent")
    assert said.startswith(f"rank 0 to rank 1: {bytes_text(int(first.bytes[first.receivers == 1][0]))}, ")
    assert browser.console == []


def test_the_matrix_zooms_to_what_is_under_the_pointer(report: Path, browser: Browser) -> None:
    browser.open(report, "#matrix", ready=PICTURES)
    before = _point(browser, "matrix", 5.5, 4.5)
    assert before.startswith("rank 4 to rank 5: ")
    at = _place(browser, "matrix", 5.5, 4.5)
    browser.mouse("mouseWheel", *at, deltaX=0, deltaY=-240)
    assert browser.ask("corewise.plots.matrix.view.x1") == 16  # without the focus the page scrolls
    browser.ask("corewise.plots.matrix.canvas.focus()")
    browser.ask("scrollTo(0, 0)")
    at = _place(browser, "matrix", 5.5, 4.5)
    for _ in range(3):
        browser.mouse("mouseWheel", *at, deltaX=0, deltaY=-240)
    browser.wait("corewise.plots.matrix.view.x1 - corewise.plots.matrix.view.x0 < 9")
    browser.mouse("mouseMoved", at[0] + 1, at[1] + 1)
    assert browser.ask("document.getElementById('tip').textContent") == before
    browser.key("0")
    assert browser.ask("corewise.plots.matrix.view.x1 - corewise.plots.matrix.view.x0") == 16


def test_the_timeline_says_what_was_called_when(report: Path, browser: Browser) -> None:
    browser.open(report, "#timeline", ready=PICTURES)
    third = 400_000 + 200_000 * 2 + 7 * 5 - tw.START_TICKS
    browser.ask(f"corewise.plots.timeline.show({{x0: {third - 2000}, x1: {third + 40000}, y0: 2, y1: 8}})")
    said = _point(browser, "timeline", third + 1_500, 5.5)
    assert said.splitlines()[0] == f"rank 5: MPI_Send, {bytes_text(1005)} with rank 4"
    said = _point(browser, "timeline", third + 4_000 + 20_000 + 1_000, 5.5)
    assert said.splitlines()[0] == f"rank 5: MPI_Recv, {bytes_text(1004)} with rank 4"
    assert said.splitlines()[1].startswith("2 µs, from ")
    browser.ask("corewise.plots.timeline.canvas.focus()")
    browser.keys(["n", "n"])
    first = browser.ask("document.querySelector('#timeline .status').textContent")
    browser.key("p")
    second = browser.ask("document.querySelector('#timeline .status').textContent")
    assert first.startswith("rank 2: MPI_") and second.startswith("rank 2: MPI_") and first != second
    assert browser.console == []


def test_dark_and_print(report: Path, browser: Browser, tmp_path: Path) -> None:
    browser.open(report, "#matrix", ready=PICTURES)
    light = browser.ask("getComputedStyle(document.body).backgroundColor")
    browser.click_on("#theme")
    assert browser.ask("getComputedStyle(document.body).backgroundColor") != light
    browser.click_on("#theme")
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == light
    browser.dark()
    browser.open(report, "#matrix", ready=PICTURES)
    assert browser.ask("getComputedStyle(document.body).backgroundColor") != light
    printed = browser.print(tmp_path / "report.pdf").read_bytes()
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") >= 4
    assert _shown(browser) == ["matrix"]  # as it was before
    assert browser.console == []


def test_the_other_placements_are_shown_on_demand(report: Path, browser: Browser) -> None:
    browser.open(report, "#machine", ready=PICTURES)
    assert browser.ask("document.querySelector('g[data-placement=worst]').style.display") == "none"
    browser.click_on("[data-show=worst]")
    assert browser.ask("document.querySelector('g[data-placement=worst]').style.display") == ""
    assert browser.ask("document.querySelector('g[data-placement=identity]').style.display") == "none"
    assert browser.ask("document.querySelector('g[data-placement=best]').style.display") == ""


def test_a_table_is_sorted_by_the_column_that_is_asked_for(report: Path, browser: Browser) -> None:
    browser.open(report, "#ranks", ready=PICTURES)
    column = "[...document.querySelectorAll('#panel-ranks tbody tr')].map(r => Number(r.cells[5].dataset.v))"
    before = browser.ask(column)
    browser.click_on("#panel-ranks th:nth-child(6)")
    assert browser.ask(column) == sorted(before, reverse=True)
    browser.key("Enter")
    assert browser.ask(column) == sorted(before)


def _paper() -> PaperResult:
    rows = (
        number_row("Q1", "time of a <b>copy</b>", "000 table 1", 2.0, 2.5, "us", "H"),
        statement_row("Q2", "EvenOdd is best", "000 sec. 4", False),
    )
    curve = series("a <i>curve</i>", [64, 128, 256], [1.0, 2.0, 4.0], [0.1, 0.2, 0.3])
    panels = (
        Panel("line", "bytes", "us", "line", (curve,), x_log2=True, y_log=True),
        Panel("bars", "", "us", "bars", (series("x", [0, 1], [3, 4]), series("y", [0, 1], [5, 6])),
              x_names=("one", "two"), lines=(("published", 4.5),)),
    )  # fmt: skip
    return PaperResult("paper test", "a machine", rows, (), (Figure("f", "A figure", panels),))


def test_curves_are_drawn_and_say_their_numbers(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "paper.html"
    result = _paper()
    charts = pages.chart_section("figures", "Figures", result.figures)
    pages.write(file, paper_page(result, charts, ""))
    browser.open(file, "#figures", ready="corewise.plots.charts && corewise.plots.charts.ready")
    drawn = "[...document.querySelectorAll('.chart')].map(e => e.querySelector('.bk-Figure') !== null)"
    assert browser.ask(drawn) == [True, True]
    axes = browser.ask("Bokeh.documents.map(d => d.roots()[0].y_scale.type)")
    assert axes == ["LogScale", "LinearScale"]
    said = browser.ask(
        "Bokeh.documents.map(d => d.roots()[0].renderers.at(-1).data_source.data)"
        ".map(d => [[...d.x], [...d.y], [...d.text], [...d.at]])"
    )
    assert said[0] == [
        [64, 128, 256],
        [1, 2, 4],
        ["1 ± 0.1", "2 ± 0.2", "4 ± 0.3"],
        ["64 B", "128 B", "256 B"],
    ]
    assert said[1][1:] == [[5, 6], ["5", "6"], ["one", "two"]]
    browser.click_on("#tab-tables")
    assert browser.ask("document.querySelectorAll('#panel-tables b').length") == 3  # the tiles' own
    assert "time of a <b>copy</b>" in browser.ask("document.querySelector('#panel-tables').textContent")
    assert browser.ask("document.querySelector('.tile b').textContent") == "25.0 %"
    browser.click_on("#theme")
    assert browser.console == []


def test_the_page_of_a_benchmark_shows_wins_and_losses(browser: Browser, tmp_path: Path) -> None:
    rows = (
        Row("sim-a", "won", "us", 1.0, "<peer>", 4.0, ratio=4.0, spread=0.1, n=5),
        Row("sim-b", "lost", "us", 2.0, "<peer>", 1.0, ratio=0.5, spread=0.1, n=5),
        Row("sim-c", "within the spread", "us", 1.0, "<peer>", 1.01, ratio=1.01, spread=0.1, n=5),
        Row("sim-d", "alone", "us", 1.0),
    )
    file = tmp_path / "bench.html"
    pages.write(file, bench_page(Outcome("sim", rows, remarks=("<all> said",)), "a processor", "abc", ""))
    browser.open(file)
    tiles = browser.ask("[...document.querySelectorAll('.tile b')].map(e => e.textContent)")
    assert tiles == ["3", "1", "1", "1"]
    bars = browser.ask(
        "[...document.querySelectorAll('.ratio i')].map(e => [e.className, e.style.left, e.style.width])"
    )
    assert bars == [["better", "50%", "50%"], ["worse", "25%", "25%"], ["better", "50%", "0.4%"]]
    browser.click_on("thead th:nth-child(6)")
    assert browser.ask("document.querySelector('tbody td').textContent") == "won"
    assert browser.console == []


def test_the_page_of_a_placement_is_the_commands(browser: Browser, tmp_path: Path) -> None:
    pattern, file = tmp_path / "ring.json", tmp_path / "place.html"
    assert execute(["patterns", "make", "ring", "ranks=8", "-o", str(pattern)]) == 0
    assert execute(["place", str(pattern), "-m", "cell-be", "--html", str(file)]) == 0
    browser.open(file)
    rows = browser.ask("[...document.querySelectorAll('table')[0].rows].map(r => r.cells[0].textContent)")
    named = ["best (proven)", "identity (rank order)", "random (median)", "worst (proven)"]
    assert rows == ["placement", *named]
    study = study_placements(load_pattern(pattern), load_machine("cell-be"))
    busiest = max(max(load.busy_ns) for load in link_loads(study)[:2])
    first = browser.ask("document.querySelectorAll('table')[1].rows[1].cells[1].dataset.v")
    assert float(first) == pytest.approx(busiest)
    assert browser.console == []


def test_the_page_of_an_advice_opens_with_it(profile: Path, browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "advice.html"
    arguments = ["advise", str(profile), "--machine", MACHINE, "--budget", "0 s", "--html", str(file)]
    assert execute(arguments) == 0
    browser.open(file, ready=PICTURES)
    assert _shown(browser) == ["advice"]
    levers = browser.ask(
        "[...document.querySelectorAll('#panel-advice td:first-child')].map(e => e.textContent)"
    )
    assert levers == [lever.name for lever in LEVERS]
    browser.click_on("#tab-timeline")
    assert _shown(browser) == ["timeline"]
    assert browser.console == []


@pytest.mark.parametrize("arguments", [["bench", "copy"], ["bench", "collectives"]])
def test_a_tuning_has_no_page(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert execute([*arguments, "--tune", "x", "--html", "y.html"]) == 2
    assert "--html: found 'y.html' with --tune" in capsys.readouterr().err


def test_names_of_a_hostile_reader_are_text(browser: Browser, tmp_path: Path) -> None:
    name = "</script><img src=x onerror=console.log('caught')>"
    ranks = [tw.RankTrace(rank, 2) for rank in range(2)]
    for rank in ranks:
        rank.mark(tw.PHASE, name)
        rank.put(tw.SEND, "MPI_Send", 1 - rank.rank, 8)
    folder = tw.write_run(tmp_path / "bad.cw", ranks)
    tw.write_meta(folder, ranks=2, program=[name], host=name)
    file = tmp_path / "bad.html"
    assert execute(["report", str(folder), "--html", str(file)]) == 0
    browser.open(file, ready=PICTURES)
    assert browser.ask("document.querySelectorAll('img').length") == 0
    assert browser.ask("document.querySelector('h1').textContent") == name
    assert browser.console == []


@pytest.mark.parametrize("size", [768, pytest.param(4096, marks=pytest.mark.long_test)])
def test_many_ranks_are_summed_until_they_are_near(browser: Browser, tmp_path: Path, size: int) -> None:
    """What is not shown one by one is shown in sums, and sums are those of the profile."""
    folder = _halo(tmp_path / "many.cw", size=size, steps=3, far=32, nodes=8)
    file = tmp_path / "many.html"
    assert execute(["report", str(folder), "--html", str(file)]) == 0
    assert file.stat().st_size < 6_000_000
    browser.open(file, "#timeline", ready=PICTURES)
    assert "shares of time" in browser.ask("document.querySelector('.seen').textContent")
    matrix = build_matrix(load_profile(folder).world)
    browser.click_on("#tab-matrix")
    browser.wait("corewise.plots.matrix.shown")
    block = browser.ask("corewise.plots.matrix.shown.block")
    assert block > 1
    inside = (matrix.senders < block) & (matrix.receivers < block)
    said = _point(browser, "matrix", 0.5, 0.5).splitlines()[0]
    assert (
        said == f"ranks 0-{block - 1} to ranks 0-{block - 1}: {bytes_text(int(matrix.bytes[inside].sum()))}"
    )
    browser.ask("corewise.plots.matrix.show({x0: 500, x1: 540, y0: 500, y1: 540})")
    browser.wait("corewise.plots.matrix.shown.block === 1")
    at = int(np.flatnonzero((matrix.senders == 510) & (matrix.receivers == 511))[0])
    assert _point(browser, "matrix", 511.5, 510.5).startswith(
        f"rank 510 to rank 511: {bytes_text(int(matrix.bytes[at]))}"
    )
    assert browser.console == []

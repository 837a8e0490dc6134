"""The page in a real browser: headless Chromium opens it without a word on the console and runs its script.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import trace_writer as tw

from corewise._core import Machine
from corewise.analysis.placement.comparison import study_placements
from corewise.analysis.profile.tables import analyse_profile
from corewise.cli.report import draw_matrix
from corewise.data.profile import load_profile
from corewise.report.html import page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="capability: no chromium")


def _open(file: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Opens a page with everything off that is not the page."""
    assert CHROMIUM is not None
    command = [
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        "--no-first-run", "--disable-sync", "--disable-dev-shm-usage",
        f"--user-data-dir={folder / 'browser'}",
        "--enable-logging=stderr", "--v=0", "--window-size=1280,2400", *options, file.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)


def _console(stderr: str) -> list[str]:
    """What the page itself wrote: errors, warnings, refused requests."""
    return [line for line in stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture
def report(tmp_path: Path) -> Path:
    analysis = analyse_profile(load_profile(tw.ring_run(tmp_path / "ring.cw", size=8)))
    study = study_placements(analysis.pattern, Machine.from_synthetic("ring:12"))
    file = tmp_path / "report.html"
    file.write_text(page(analysis, draw_matrix, study), encoding="utf-8")
    return file


def test_it_opens_without_console_errors(report: Path, tmp_path: Path) -> None:
    picture = tmp_path / "page.png"
    opened = _open(report, tmp_path, f"--screenshot={picture}")
    assert _console(opened.stderr) == []
    assert picture.stat().st_size > 50_000


def test_its_script_runs_to_its_end(report: Path, tmp_path: Path) -> None:
    dom = _open(report, tmp_path, "--dump-dom")
    assert _console(dom.stderr) == []
    # The script removes the marks' titles, which are for pages without one, as its first deed.
    assert "<title>rank" not in dom.stdout
    assert dom.stdout.count("data-tip=") > 8


def test_an_error_on_the_page_would_be_seen(report: Path, tmp_path: Path) -> None:
    report.write_text(
        report.read_text(encoding="utf-8").replace("const tip =", "nothing.here(); const tip =")
    )
    assert _console(_open(report, tmp_path, "--dump-dom").stderr) != []


def test_the_other_placements_are_shown_on_demand(report: Path, tmp_path: Path) -> None:
    steps = "document.querySelector('[data-show=worst]').click(); document.getElementById('theme').click();"
    click = f"<script>{steps}</script>"
    report.write_text(
        report.read_text(encoding="utf-8").replace("</body>", f"{click}</body>"), encoding="utf-8"
    )
    dom = _open(report, tmp_path, "--dump-dom")
    assert _console(dom.stderr) == []
    assert '<g data-placement="identity" style="display: none;">' in dom.stdout
    assert '<g data-placement="worst" style="">' in dom.stdout
    assert "data-theme=" in dom.stdout

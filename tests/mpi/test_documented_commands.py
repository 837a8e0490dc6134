"""The documents' commands run as they are shown, and print what is shown.

Pages without a real MPI run each time; those that record programs or repeat a paper are in the long tests.

SPDX-License-Identifier: BSD-3-Clause
"""

import sys
from pathlib import Path

import commands
import pytest
from conftest import ROOT

DOCS = ROOT / "docs"
HOW_TO = DOCS / "how-to"  # test_how_to_pages.py follows these
PAGES = {
    page.relative_to(ROOT).as_posix(): shown
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    if page.parent != HOW_TO and (shown := commands.shown(page.read_text(encoding="utf-8")))
}


def takes_long(page: str) -> bool:
    return any(each.measures or each.command.startswith("corewise paper") for each in PAGES[page])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a reader stands: in the repository after `make`, but nothing of ours is written into it."""
    for name in ("build", "apps", "machines", "tuning"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.long_test] * takes_long(page)) for page in PAGES]
)
def test_a_page_prints_what_it_shows(page: str, folder: Path) -> None:
    for each, printed in commands.run(PAGES[page], folder, str(Path(sys.executable).parent)):
        assert commands.missing(each, printed) == [], f"$ {each.command}\n{printed}"


def test_a_block_is_read_as_a_terminal() -> None:
    text = "```console\n$ corewise sim \\\n    ring\ntook 2 µs\n...\n$ ls\n```\n    $ not a block\n"
    assert commands.shown(text) == [
        commands.Shown("corewise sim     ring", ["took 2 µs", "..."]),
        commands.Shown("ls"),
    ]


def test_what_is_shown_must_be_printed_in_its_order() -> None:
    exact = commands.Shown("corewise sim ring", ["a 1", "...", "b 2 ..."])
    assert commands.missing(exact, "│ a │ 1 │\nx\nb 2 c\n") == []
    assert commands.missing(exact, "a 1\nx\nb 3 c\n") == ["b 2 ..."]
    assert commands.missing(exact, "x\na 1\nb 2 c\n") == ["a 1"]
    assert commands.missing(commands.Shown("corewise sim ring", ["a 1", "b"]), "a 1\nx\nb\n") == ["b"]


def test_numbers_of_a_measurement_are_not_compared() -> None:
    measured = commands.Shown("corewise waits x.cw", ["3.64 s of waiting, 35.6 % of the run"])
    assert commands.missing(measured, "211 ms of waiting, 5 % of the run") == []
    assert commands.missing(measured, "211 ms of computing, 5 % of the run") != []

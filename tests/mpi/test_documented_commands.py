"""How documents show commands: a block is a terminal, and what is shown is compared with what is printed.

The pages that show what their commands print are the how-to pages, which test_how_to_pages.py follows.

SPDX-License-Identifier: BSD-3-Clause
"""

import commands
from conftest import ROOT


def test_the_pages_that_show_output_are_the_how_to_pages() -> None:
    showing = {
        page.parent.name
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        if commands.shown(page.read_text(encoding="utf-8"))
    }
    assert showing == {"how-to"}, "test_how_to_pages.py follows no page of another folder"


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

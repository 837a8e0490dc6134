"""Levels of collectives inside a node: what is taken as it is, what a machine becomes, what is refused.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import pytest

from corewise.data.levels import levels_knob
from corewise.errors import InputError

NAMED = "--accelerate-levels"


@pytest.mark.parametrize(
    "text", ["off", "nodes", "found", "4", "groups:8", "groups:2/8/32", "cpus:0-3|4-7", "cpus:0,2|1,3/0-3"]
)
def test_values_of_the_variable_stay(text: str) -> None:
    assert levels_knob(text, NAMED) == text


@pytest.mark.parametrize(
    ("machine", "levels"),
    [
        ("l3:2 core:1", "cpus:0|1"),
        ("pack:2 l3:2 core:2", "cpus:0-1|2-3|4-5|6-7/0-3|4-7"),
        ("l3:1 core:4 pu:2", "cpus:0-1|2-3|4-5|6-7"),
        ("ryzen-9-5950x", f"cpus:{'|'.join(f'{i},{i + 16}' for i in range(16))}/0-7,16-23|8-15,24-31"),
    ],
)
def test_a_machines_domains_are_levels_from_the_innermost_on(machine: str, levels: str) -> None:
    assert levels_knob(machine, NAMED) == levels


def test_units_may_have_domains_of_different_depths(tmp_path: Path) -> None:
    """The large cores of this processor have two threads each, the small ones a cache for four."""
    inner, outer = levels_knob("core-i9-12900k", NAMED).removeprefix("cpus:").split("/")
    assert inner.startswith("0-1|2-3|") and outer.endswith("|16-19|20-23")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "found ''"),
        ("0", "found '0'"),
        ("rings", "(machine 'rings' is unknown)"),
        ("groups:", "found 'groups:'"),
        ("groups:0", "allowed: off"),
        ("groups:4/4", "growing sizes"),
        ("groups:1/2/3/4/5/6/7/8/9", "allowed: off"),
        ("cpus:", "allowed: off"),
        ("cpus:0-3|", "allowed: off"),
        ("cpus:a", "allowed: off"),
        ("none.toml", "none.toml: cannot be read"),
        ("pack:2 core", "synthetic machine"),
        ("core:4", "has 0 levels"),
        ("roadrunner", "which has 8 nodes"),
        ("cell-blade", "names no CPU of an operating system"),
    ],
)
def test_one_line_says_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(InputError) as raised:
        levels_knob(text, NAMED)
    said = str(raised.value)
    assert said.startswith(f"{NAMED}: found '{text}'") and why in said and "\n" not in said

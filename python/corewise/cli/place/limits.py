"""The options of `corewise place` that limit the search: fixed ranks, units kept free, shared cores.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence

import typer

from corewise.base import late
from corewise.errors import InputError

with late.imports():
    from corewise._core import Machine, Pattern
    from corewise.analysis.placement.limits import LimitRules

FIX = typer.Option(
    [],
    "--fix",
    metavar="RANK=UNIT",
    help="This rank runs on that unit (number or name); may be repeated.",
    hidden=True,
)
KEEP_FREE = typer.Option(
    [],
    "--keep-free",
    metavar="UNITS",
    help="No rank on these units: numbers or names, with commas between.",
    hidden=True,
)
SHARE_CORES = typer.Option(
    False,
    "--share-cores",
    help="Two ranks may get hardware threads of one core while another core is idle.",
    hidden=True,
)


def rules_of(
    machine: Machine,
    patterns: Sequence[Pattern],
    fix: Sequence[str],
    keep_free: Sequence[str],
    share_cores: bool,
) -> LimitRules:
    """What the three options say.

    Parameters
    ----------
    machine : Machine
    patterns : sequence of Pattern
        Whose ranks have units of their own.
    fix : sequence of str
        ``RANK=UNIT`` each.
    keep_free : sequence of str
        Units with commas between.
    share_cores : bool
    """
    ranks = sum(each.ranks for each in patterns)
    free = tuple(
        unit_of(word.strip(), machine, f"--keep-free {text}")
        for text in keep_free
        for word in text.split(",")
    )
    return LimitRules(tuple(_fixed(text, machine, ranks) for text in fix), free, share_cores)


def _fixed(text: str, machine: Machine, ranks: int) -> tuple[int, int]:
    rank, equals, unit = text.partition("=")
    if not equals or not rank.strip().isdecimal():
        raise InputError(f"--fix '{text}': found no rank and unit, allowed: RANK=UNIT, such as 0=3")
    if int(rank) >= ranks:
        raise InputError(f"--fix '{text}': found rank {rank.strip()}, allowed: 0 to {ranks - 1}")
    return int(rank), unit_of(unit.strip(), machine, f"--fix '{text}'")


def unit_of(word: str, machine: Machine, where: str) -> int:
    """A unit by its name or number.

    Parameters
    ----------
    word : str
    machine : Machine
    where : str
        Begins the error.
    """
    names = {unit.name: index for index, unit in enumerate(machine.units)}
    if word in names:
        return names[word]
    if word.isdecimal() and int(word) < len(names):
        return int(word)
    raise InputError(
        f"{where}: found '{word}', allowed: a unit of '{machine.name}', 0 to {len(names) - 1} or its name"
    )

"""Levels inside a node, as the accelerate library takes them: which ranks do collectives in groups.

Owns the variable's text (``src/preload/accelerating/domains.hpp`` reads it), and how a machine becomes one.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from itertools import pairwise

from corewise._core import Machine
from corewise.data.machines import load_machine, node_count
from corewise.data.quantities import cpu_list
from corewise.errors import InputError

MOST_LEVELS = 8
_ALLOWED = (
    "off, nodes, found, a number of ranks, groups:RANKS with growing sizes (groups:4/16), cpus:DOMAINS "
    "(cpus:0-3|4-7), or a machine of one node with several domains"
)
_GROUPS = re.compile(r"groups:[1-9]\d{0,8}(/[1-9]\d{0,8})*")
_LIST = r"\d{1,8}(-\d{1,8})?(,\d{1,8}(-\d{1,8})?)*"
_CPUS = re.compile(rf"cpus:{_LIST}([|/]{_LIST})*")
_WORD = re.compile(r"off|nodes|found|[1-9]\d{0,8}")


def levels_knob(text: str, named: str) -> str:
    """The variable's value for what a user asks for.

    Parameters
    ----------
    text : str
        A value of the variable, or a machine (`corewise.data.machines.load_machine`), whose domains are the
        levels.
    named : str
        The option or variable that has it, for messages.

    Raises
    ------
    InputError
        It is neither, or the machine has no levels.
    """
    if _WORD.fullmatch(text):
        return text
    if text.startswith(("groups:", "cpus:")):
        if _is_spelt(text):
            return text
        raise InputError(f"{named}: found '{text}', allowed: {_ALLOWED}")
    try:
        machine = load_machine(text)
    except InputError as error:
        reason = str(error).partition(", allowed:")[0]
        raise InputError(f"{named}: found '{text}', allowed: {_ALLOWED} ({reason})") from None
    return _of_machine(machine, text, named)


def _is_spelt(text: str) -> bool:
    if text.count("/") >= MOST_LEVELS:
        return False
    if _GROUPS.fullmatch(text):
        sizes = [int(size) for size in text.removeprefix("groups:").split("/")]
        return all(small < large for small, large in pairwise(sizes))
    return _CPUS.fullmatch(text) is not None


def _of_machine(machine: Machine, text: str, named: str) -> str:
    """The domains of each depth, from the innermost on; one of all makes no level."""
    nodes = node_count(machine)
    if nodes > 1:
        raise InputError(f"{named}: found '{text}', which has {nodes} nodes, allowed: {_ALLOWED}")
    if unknown := [unit.name for unit in machine.units if unit.os_index < 0]:
        raise InputError(
            f"{named}: found '{text}', whose unit {unknown[0]} names no CPU of an operating system, "
            f"allowed: {_ALLOWED}"
        )
    levels = []
    for depth in reversed(range(max(len(unit.domains) for unit in machine.units))):
        domains: dict[str, list[int]] = {}
        for unit in machine.units:
            if depth < len(unit.domains):
                domains.setdefault(unit.domains[depth], []).append(unit.os_index)
        if len(domains) > 1:
            levels.append("|".join(cpu_list(sorted(cpus)) for cpus in domains.values()))
    if not levels or len(levels) > MOST_LEVELS:
        raise InputError(f"{named}: found '{text}', which has {len(levels)} levels, allowed: {_ALLOWED}")
    return f"cpus:{'/'.join(levels)}"

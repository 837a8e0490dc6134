"""Slurm's way to write lists: of nodes, such as ``a[1-3,5],b07``, and of counts, such as ``2(x3),1``.

Invariant: a list is read as a whole, or refused with the name of what said it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from corewise.errors import InputError, shown

MOST_NODES = 1 << 16
"""Of a list: more than any machine has."""
_COUNT = re.compile(r"(\d{1,7})(?:\(x(\d{1,7})\))?")
NODE = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def node_names(text: str, source: str = "") -> tuple[str, ...]:
    """The nodes of a list of Slurm's, such as ``a[1-3,5],b07``; ranges keep their leading zeros.

    Parameters
    ----------
    text : the list.
    source : what messages name.
    """
    allowed = "a list of nodes such as a[1-3,5],b07"
    names: list[str] = []
    for piece in _pieces(text, source, allowed):
        for name in _expanded(piece, text, source, allowed):
            if not NODE.fullmatch(name):
                raise wrong(source, text, allowed)
            names.append(name)
            if len(names) > MOST_NODES:
                raise wrong(source, text, f"at most {MOST_NODES} nodes")
    if len(set(names)) < len(names):
        raise wrong(source, text, "each node once")
    return tuple(names)


def counts(text: str, source: str = "") -> tuple[int, ...]:
    """Slurm's counts by node, such as ``2(x3),1``."""
    allowed = "counts such as 2(x3),1"
    found: list[int] = []
    for piece in text.split(","):
        match = _COUNT.fullmatch(piece)
        if match is None or int(match[1]) < 1 or not 1 <= int(match[2] or 1) <= MOST_NODES - len(found):
            raise wrong(source, text, allowed)
        found += [int(match[1])] * int(match[2] or 1)
    return tuple(found)


def _pieces(text: str, source: str, allowed: str) -> list[str]:
    """A list's pieces between the commas that stand outside of brackets."""
    pieces, depth, begin = [], 0, 0
    for at, sign in enumerate(text):
        depth += {"[": 1, "]": -1}.get(sign, 0)
        if depth not in (0, 1):
            raise wrong(source, text, allowed)
        if sign == "," and depth == 0:
            pieces.append(text[begin:at])
            begin = at + 1
    if depth != 0:
        raise wrong(source, text, allowed)
    return [*pieces, text[begin:]]


def _expanded(piece: str, text: str, source: str, allowed: str) -> Iterator[str]:
    """The names of ``a[1-3]b[0,2]``: all combinations, the last bracket running fastest."""
    before, opened, rest = piece.partition("[")
    if not opened:
        yield piece
        return
    inside, _, after = rest.partition("]")
    for part in inside.split(","):
        match = _RANGE.fullmatch(part)
        if match is None or int(match[2] or match[1]) - int(match[1]) not in range(MOST_NODES):
            raise wrong(source, text, allowed)
        for number in range(int(match[1]), int(match[2] or match[1]) + 1):
            for ending in _expanded(after, text, source, allowed):
                yield f"{before}{number:0{len(match[1])}}{ending}"


def wrong(field: str, text: str, allowed: str) -> InputError:
    """The error of a list; `field` says where it stands."""
    return InputError(f"{field or 'list'}: found {shown(text)}, allowed: {allowed}")

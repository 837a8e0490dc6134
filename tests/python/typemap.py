"""Datatypes by MPI's own definition: a type is the list of its entries. Slow; shares nothing with the core.

An entry is a predefined type at a displacement; bounds and constructors follow MPI-4.1, sections 5.1.2 to
5.1.7, word for word. Types come as nested tuples: reference, the core's type and the text are made of them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from corewise._core import Datatype

Node = tuple[Any, ...]
"""``("int",)``, ``("vector", 2, 1, 3, old)``: a predefined type, or a constructor and its arguments."""

PREDEFINED = {"char": 1, "short": 2, "int": 4, "double": 8}
"""Names and bytes; aligned to their size."""


@dataclass
class Typemap:
    """Entries (displacement, bytes), the displacements of markers, and the largest alignment."""

    entries: list[tuple[int, int]] = field(default_factory=list)
    lower: list[int] = field(default_factory=list)
    upper: list[int] = field(default_factory=list)
    alignments: list[int] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(size for _, size in self.entries)

    @property
    def true_lb(self) -> int:
        return min((at for at, _ in self.entries), default=0)

    @property
    def true_ub(self) -> int:
        return max((at + size for at, size in self.entries), default=0)

    @property
    def lb(self) -> int:
        return min(self.lower) if self.lower else self.true_lb

    @property
    def ub(self) -> int:
        if self.upper:
            return max(self.upper)
        unit = max(self.alignments, default=1)
        return self.true_ub + -(self.true_ub - self.true_lb) % unit

    @property
    def extent(self) -> int:
        return self.ub - self.lb

    def put(self, other: Typemap, at: int) -> None:
        """Adds the entries of another, moved by `at`."""
        self.entries += [(at + where, size) for where, size in other.entries]
        self.lower += [at + where for where in other.lower]
        self.upper += [at + where for where in other.upper]
        self.alignments += other.alignments

    def runs(self, count: int = 1) -> list[tuple[int, int]]:
        """Contiguous runs in packing order."""
        found: list[tuple[int, int]] = []
        for item in range(count):
            for at, size in self.entries:
                where = at + item * self.extent
                if found and sum(found[-1]) == where:
                    found[-1] = (found[-1][0], found[-1][1] + size)
                else:
                    found.append((where, size))
        return found

    def bytes_of(self, count: int = 1) -> list[int]:
        """The displacement of every byte in packing order."""
        return [at + byte for at, size in self.runs(count) for byte in range(size)]


def _blocks(old: Typemap, lengths: Sequence[int], places: Sequence[int]) -> Typemap:
    new = Typemap()
    for length, place in zip(lengths, places, strict=True):
        for item in range(length):
            new.put(old, place + item * old.extent)
    return new


def _array(old: Typemap, sizes: Sequence[int], mine: Sequence[Sequence[int]], order: str) -> Typemap:
    """The elements whose index in every dimension is in `mine`, in the order of memory."""
    axes = list(range(len(sizes)))
    if order == "fortran":
        axes.reverse()
    new = Typemap()
    for index in product(*(mine[axis] for axis in axes)):
        at = 0
        for axis, position in zip(axes, index, strict=True):
            at = at * sizes[axis] + position
        new.put(old, at * old.extent)
    elements = 1
    for size in sizes:
        elements *= size
    new.lower, new.upper = [0], [elements * old.extent]
    return new


def _shares(node: Node) -> list[list[int]]:
    """The indexes of a rank in every dimension of a darray."""
    _, _, rank, gsizes, distributions, dargs, psizes, *_ = node
    shares = []
    for i in reversed(range(len(gsizes))):
        rank, mine = divmod(rank, psizes[i])
        size, block = gsizes[i], dargs[i]
        if block == -1:
            block = 1 if distributions[i] == "cyclic" else -(-size // psizes[i])
        whole = distributions[i] == "none"
        shares.append([at for at in range(size) if whole or at // block % psizes[i] == mine])
    return shares[::-1]


def typemap(node: Node) -> Typemap:
    """The type map of a nest."""
    name = node[0]
    if name in PREDEFINED:
        return Typemap([(0, PREDEFINED[name])], alignments=[PREDEFINED[name]])
    if name == "struct":
        new = Typemap()
        for length, place, each in zip(*node[1:], strict=True):
            old = typemap(each)
            new.put(_blocks(old, [length], [0]), place)
        return new
    if name == "resized":
        old = typemap(node[1])
        return Typemap(old.entries, [node[2]], [node[2] + node[3]], old.alignments)
    if name == "subarray":
        _, sizes, subsizes, starts, order, old = node
        mine = [range(start, start + size) for start, size in zip(starts, subsizes, strict=True)]
        return _array(typemap(old), sizes, mine, order)
    if name == "darray":
        return _array(typemap(node[-1]), node[3], _shares(node), node[7])
    return _of_blocks(node, typemap(node[-1]))


def _of_blocks(node: Node, old: Typemap) -> Typemap:
    """Constructors that place blocks of one type."""
    match node[:-1]:
        case ("contiguous", count):
            return _blocks(old, [count], [0])
        case ("vector", count, length, stride):
            return _blocks(old, [length] * count, [i * stride * old.extent for i in range(count)])
        case ("hvector", count, length, stride):
            return _blocks(old, [length] * count, [i * stride for i in range(count)])
        case ("indexed", lengths, places):
            return _blocks(old, lengths, [place * old.extent for place in places])
        case ("hindexed", lengths, places):
            return _blocks(old, lengths, places)
        case ("indexed_block", length, places):
            return _blocks(old, [length] * len(places), [place * old.extent for place in places])
        case ("hindexed_block", length, places):
            return _blocks(old, [length] * len(places), places)
    raise AssertionError(node[0])


def core_type(node: Node) -> Datatype:
    """The core's type of a nest."""
    name, arguments = node[0], list(node[1:])
    if name in PREDEFINED:
        return Datatype.basic(PREDEFINED[name])
    if name == "struct":
        return Datatype.structure(arguments[0], arguments[1], [core_type(each) for each in arguments[2]])
    if name == "resized":
        return Datatype.resized(core_type(arguments[0]), *arguments[1:])
    made: Datatype = getattr(Datatype, name)(*arguments[:-1], core_type(arguments[-1]))
    return made


def text_of(node: object) -> str:
    """The text of a nest, as `corewise explain datatype` reads it."""
    if isinstance(node, tuple):
        inside = ", ".join(text_of(each) for each in node[1:])
        return f"{node[0]}({inside})" if len(node) > 1 else str(node[0])
    if isinstance(node, list):
        return f"[{', '.join(text_of(each) for each in node)}]"
    return str(node)

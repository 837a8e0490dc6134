"""Figure 10 of paper 003: what one SPE of lattice Boltzmann called, down to its messages.

Lines of a call graph that was recorded on simulated ranks, callers before what they called. Names are as in
the sources, without namespaces of no name and without parameters.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corewise.analysis.profile.call_graph import CallTree

ITERATIONS = 10
FUNCTION_DEPTH = 5
"""main, run, simulate, an iteration, what it calls; deeper ones are called for every cell."""
STEP, COMMUNICATION, COMPUTATION = (
    "lbm::Flow::step",
    ("lbm::Halo::start", "lbm::Halo::finish"),
    "lbm::Flow::advance",
)
"""In apps/lbm one function streams and collides, for the inner cells and again for those at the sides."""
_ARGUMENTS = re.compile(r"<[^<>]*>")
_MESSAGE = re.compile(r"MPI_Isend\(0,(\d+),(\d+)\)")


@dataclass(frozen=True)
class CallLine:
    """One calling context.

    Attributes
    ----------
    depth : int
        0 for main.
    name : str
        A function, an MPI procedure, or a message: ``MPI_Isend(source,destination,bytes)``.
    source : str
        File and line of a function, where the program's debug information says.
    count : int
        How often it was seen.
    time_us : float
        Simulated, with what it called.
    """

    depth: int
    name: str
    source: str
    count: int
    time_us: float


def call_lines(tree: CallTree, sources: Path) -> tuple[CallLine, ...]:
    """Main and all below it: functions of the program's own sources, which lie under `sources`, and MPI."""
    below = tree.children()

    def walk(index: int, depth: int) -> Iterator[CallLine]:
        node = tree.nodes[index]
        yield CallLine(depth, _name(node.label), node.source, node.count, node.inclusive_ns * 1e-3)
        for child in below[index]:
            each = tree.nodes[child]
            if each.kind != "function" or Path(each.file).is_relative_to(sources):
                yield from walk(child, depth + 1)

    roots = [index for index, node in enumerate(tree.nodes) if node.label == "main"]
    return tuple(line for root in roots for line in walk(root, 0))


def _name(label: str) -> str:
    if label.startswith("MPI_"):
        return label
    name = label.replace("(anonymous namespace)::", "")
    while (shorter := _ARGUMENTS.sub("", name)) != name:
        name = shorter
    return name.partition("(")[0].split(" ")[-1]


def within(lines: Sequence[CallLine], name: str) -> list[CallLine]:
    """The first context of this name, and all below it; empty where there is none."""
    first = next((index for index, line in enumerate(lines) if line.name == name), None)
    if first is None:
        return []
    found = [lines[first]]
    for line in lines[first + 1 :]:
        if line.depth <= lines[first].depth:
            break
        found.append(line)
    return found


def messages_of(lines: Sequence[CallLine]) -> list[tuple[int, int, int]]:
    """What SPE 0 sent: receiver, bytes, how often."""
    return [
        (int(found[1]), int(found[2]), line.count)
        for line in lines
        if (found := _MESSAGE.fullmatch(line.name))
    ]

"""Paper 004 from measurements of this host, and its section 7 on modelled nodes of eight cores.

The paper ran a 2D FFT on seven and on eight processes of each node. Few hosts have such nodes, so a model
does it: rows are transformed, an all-to-all transposes, rows are transformed again. Nothing here prints or
draws.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from corewise.analysis.noise.collectives import ALL_TO_ALLS, Layout, Program, simulate
from corewise.analysis.noise.sources import NodeNoise
from corewise.analysis.result import PaperResult, Progress
from corewise.papers.node.data import FLOPS_PER_NS, GRID, NODE_CORES, NODES, Found, Underused
from corewise.papers.node.rows import rows_of
from corewise.papers.node.views import figures_of, tables_of
from corewise.papers.runner import Paper, Work, unseen

PAPER = Paper("node", rows_of, tables_of, figures_of)
ITERATIONS, QUICK_ITERATIONS = 200, 20
_ELEMENT = 16
"""Bytes of a complex double."""


def run_paper(found: Found) -> PaperResult:
    """Everything that the command shows."""
    return PAPER.result(f"{found.host}, {found.cores} processors", found)


def underused(noise: NodeNoise, *, quick: bool, progress: Progress = unseen) -> Iterator[Underused]:
    """Figure 5 of the text: every count of nodes with every all-to-all."""
    iterations = QUICK_ITERATIONS if quick else ITERATIONS
    work = Work(len(NODES) * len(ALL_TO_ALLS), progress)
    for name in ALL_TO_ALLS:
        for nodes in NODES:
            yield _modelled(noise, name, nodes, iterations)
            work()


def _modelled(noise: NodeNoise, name: str, nodes: int, iterations: int) -> Underused:
    flops = 2 * GRID * 5 * GRID * math.log2(GRID)
    compute_ns = flops / FLOPS_PER_NS / (nodes * NODE_CORES)
    program = Program(name, compute_ns, float(_ELEMENT * GRID * GRID))
    seven, eight = Layout(nodes, NODE_CORES - 1), Layout(nodes, NODE_CORES)
    with_seven = simulate(program, seven, NODE_CORES, noise.spared, iterations=iterations)
    with_eight = simulate(program, eight, NODE_CORES, noise.everywhere, iterations=iterations)
    assumed = None
    if name == "by-nodes":
        cut = Layout(nodes, NODE_CORES - 1, NODE_CORES)
        assumed = simulate(program, cut, NODE_CORES, noise.spared, iterations=iterations).mean_ns
    return Underused(nodes, name, with_seven.mean_ns, with_eight.mean_ns, assumed, with_seven.ranks_ns)

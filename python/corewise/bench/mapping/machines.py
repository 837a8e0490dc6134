"""How often is the best placement proven? Every bundled machine with every bundled pattern of up to 16 ranks.

A row per pair: seconds to the answer beside the budget; ``proven``, what was found, the bound, the gap and
the nodes besides. Wall times.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from corewise import _core
from corewise.bench.rounds import beside
from corewise.bench.rows import Listener, Row
from corewise.data.machines import load_machine

MACHINES = ("cell-be", "cell-blade", "chiplet-2s", "flat", "mesh-6x4", "ps3")
MOST_RANKS = 16
_NODES = 1 << 60


def patterns(ranks: int) -> list[_core.Pattern]:
    """Every generator with its defaults for this many ranks; those that read a file are left out."""
    return [
        _core.generate(generator.name, {"ranks": str(ranks)})
        for generator in _core.generators()
        if "ranks" in [parameter.name for parameter in generator.parameters]
    ]


def until(end: float) -> Callable[[], bool]:
    """Whether the budget is spent."""
    return lambda: time.perf_counter() > end


def proof_row(machine: _core.Machine, pattern: _core.Pattern, budget_s: float) -> Row:
    """One search by a searcher of its own."""
    begin = time.perf_counter()
    searcher = _core.Searcher(machine)
    found = searcher.search(pattern, nodes=_NODES, should_stop=until(begin + budget_s))
    taken = time.perf_counter() - begin
    blank = Row(
        f"mapping-machine-{machine.name}-{pattern.name}",
        f"{pattern.name}, {pattern.ranks} ranks on {machine.name}: best placement or bound",
        "s",
        None,
        "budget",
        more={
            "proven": found.proven_optimal,
            "found_ns": found.evaluation.bottleneck_ns,
            "bound_ns": found.bound,
            "gap": found.gap,
            "method": found.method,
            "nodes": found.evaluated,
        },
    )
    return replace(beside(blank, [taken], [budget_s]), spread=None)


def remark(rows: Sequence[Row], budget_s: float) -> str:
    """How many were proven."""
    proven = sum(bool(row.more["proven"]) for row in rows)
    return f"{proven} of {len(rows)} pairs of machine and pattern proven within {budget_s:g} s"


def rows(budget_s: float, listener: Listener) -> list[Row]:
    """Every pair."""
    pairs = []
    for name in MACHINES:
        machine = load_machine(name)
        pairs += [(machine, pattern) for pattern in patterns(min(MOST_RANKS, len(machine.units)))]
    found = []
    for index, (machine, pattern) in enumerate(pairs):
        found.append(proof_row(machine, pattern, budget_s))
        listener.progress((index + 1) / len(pairs))
    return found

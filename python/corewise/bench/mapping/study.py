"""`corewise bench mapping`: proofs and searches of placements, beside enumeration and other mappers.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corewise.bench.mapping import ALL, CASES, contended, instances, machines, orders, reference, ring, trees
from corewise.bench.mapping.problems import cases
from corewise.bench.rows import Listener, Outcome
from corewise.errors import InputError

CONTENDED_S = 10.0
"""CPU seconds of a search by contended time beside the other mappers."""
MOST_PLACED = 1024
"""Ranks of the problems on which contended time is compared."""
PEERS = Path("build/peers/bin/python")
"""Where bench/mapping/README.md installs the wheels of others."""


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes
    ----------
    rounds : int
        Proofs of each instance, and seeds of each mapping onto a tree.
    patterns, certificates : int
        On the ring.
    budget_s : float
        Of each search on a bundled machine.
    tiny : bool
        Two small trees only.
    orders : orders.Extent
        Placements that are predicted and simulated.
    reference : reference.Extent
        Searches beside the best known.
    """

    rounds: int
    patterns: int
    certificates: int
    budget_s: float
    tiny: bool
    orders: orders.Extent
    reference: reference.Extent


FULL = Effort(5, 1000, 50, 10.0, False, orders.FULL, reference.FULL)
QUICK = Effort(2, 200, 10, 0.1, True, orders.QUICK, reference.QUICK)


def parts_of(which: str) -> tuple[str, ...]:
    """What `--cases` names."""
    if which == ALL:
        return CASES
    if which not in CASES:
        raise InputError(f"--cases: found '{which}', allowed: {', '.join(CASES)}, {ALL}")
    return (which,)


def peers_python(named: str | None) -> str:
    """The Python that has the wheels of others: as named, that of a checkout, or this one."""
    if named is not None:
        if shutil.which(named) is None:
            raise InputError(f"--peers: found '{named}', allowed: a Python that can be run")
        return named
    return str(PEERS) if PEERS.exists() else sys.executable


def run_bench(
    listener: Listener,
    *,
    rounds: int | None = None,
    quick: bool = False,
    which: str = ALL,
    peers: str | None = None,
    problems: Sequence[str] = (),
    reference_s: float | None = None,
) -> Outcome:
    """The parts that are named; problems and CPU seconds of their long searches are of part reference."""
    effort = QUICK if quick else FULL
    known = replace(
        effort.reference, problems=problems, reference_s=reference_s or effort.reference.reference_s
    )
    effort = replace(effort, rounds=rounds or effort.rounds, reference=known)
    parts, python = parts_of(which), peers_python(peers)
    runs: dict[str, Callable[[Effort, Listener], Outcome]] = {
        "ring": _ring,
        "instances": _instances,
        "machines": _machines,
        "orders": _orders,
        "reference": _reference,
        "trees": lambda effort, listener: _trees(effort, python, listener),
        "contended": lambda effort, listener: _contended(effort, python, listener),
    }
    found = [
        runs[part](effort, listener.part(index / len(parts), (index + 1) / len(parts)))
        for index, part in enumerate(parts)
    ]
    return Outcome(
        "mapping",
        tuple(row for each in found for row in each.rows),
        tuple(peer for each in found for peer in each.absent),
        tuple(remark for each in found for remark in each.remarks),
    )


def _ring(effort: Effort, listener: Listener) -> Outcome:
    return Outcome("mapping", tuple(ring.rows(effort.patterns, effort.certificates, listener)))


def _instances(effort: Effort, listener: Listener) -> Outcome:
    return Outcome("mapping", tuple(instances.rows(effort.rounds, listener)))


def _machines(effort: Effort, listener: Listener) -> Outcome:
    rows = machines.rows(effort.budget_s, listener)
    return Outcome("mapping", tuple(rows), remarks=(machines.remark(rows, effort.budget_s),))


def _contended(effort: Effort, python: str, listener: Listener) -> Outcome:
    problems = cases(effort.tiny)
    chosen = {name: each for name, each in problems.items() if effort.tiny or each.ranks == MOST_PLACED}
    seconds = 0.3 if effort.tiny else CONTENDED_S
    rows, absent = contended.rows(chosen, seconds, effort.rounds, python, listener)
    return Outcome("mapping", tuple(rows), tuple(absent))


def _orders(effort: Effort, listener: Listener) -> Outcome:
    rows = orders.rows(effort.orders, listener)
    return Outcome("mapping", tuple(rows), remarks=orders.remarks(rows))


def _reference(effort: Effort, listener: Listener) -> Outcome:
    rows = reference.rows(effort.reference, listener)
    return Outcome("mapping", tuple(rows), remarks=(reference.remark(rows),))


def _trees(effort: Effort, python: str, listener: Listener) -> Outcome:
    rows, absent = trees.rows(cases(effort.tiny), effort.rounds, python, listener)
    return Outcome("mapping", tuple(rows), tuple(absent))

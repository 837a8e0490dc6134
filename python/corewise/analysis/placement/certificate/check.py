"""Reads a certificate, compares what it claims with machine and patterns, and has its tree walked.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corewise._core import Machine, Pattern
from corewise.analysis.placement.certificate.facts import TOLERANCE, Node, Traffic
from corewise.analysis.placement.certificate.limits import Limits
from corewise.analysis.placement.certificate.tree import Walk
from corewise.base.documents import Fields
from corewise.errors import RunError, bad_field, shown

_MOST_CUT_RANKS = 16
"""With cuts every set of ranks has a cost."""

_FIELDS = (
    *("format", "version", "machine_digest", "pattern_digest", "objective", "unit_of_rank", "cost_ns"),
    *("bound_ns", "order", "unit_symmetries", "rank_symmetries", "cuts", "chain", "split", "tree"),
)

_LIMITS = ("fixed", "kept_free", "cores")
"""What versions from 2 on have besides: their proofs are about placements within these."""


def check_certificate(
    machine: Machine,
    patterns: Sequence[Pattern],
    weights: Sequence[float] | None,
    document: Fields,
) -> None:
    """Returns where the certificate holds for these patterns (one placement for all) on this machine.

    Parameters
    ----------
    machine : Machine
    patterns : sequence of Pattern
        As the search was given them, in the same order.
    weights : sequence of float or None
        One per pattern; None: 1 each.
    document : Fields
        The certificate, as it was read; its source begins the messages about its fields.

    Raises
    ------
    InputError
        The document is no certificate of versions 1 to 3, or one of another machine or other patterns.
    RunError
        The certificate does not hold: its message says what is wrong and where.
    """
    document.one_of("format", ("corewise-certificate",))
    version = document.whole("version", 1, 3)
    document.only(_FIELDS if version == 1 else (*_FIELDS, *_LIMITS))
    document.one_of("objective", ("bottleneck",))
    traffic = Traffic(patterns, weights)
    node = Node(machine)
    _check_digests(document, machine, traffic)
    read = _read(document, machine, traffic.ranks)
    _check_claim(read, node, traffic)
    limits = Limits(document if version > 1 else None, machine, traffic.ranks)
    limits.check_placement(read["unit_of_rank"])
    limits.check_order(read["order"])
    for image in read["unit_symmetries"]:
        node.check_symmetry(image)
        limits.check_unit_symmetry(image)
    for image in read["rank_symmetries"]:
        traffic.check_symmetry(image)
        limits.check_rank_symmetry(image)
    Walk(read, node, traffic, limits).check()


def _digest(text: str) -> str:
    value = 14695981039346656037
    for byte in text.encode():
        value = ((value ^ byte) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def _check_digests(document: Fields, machine: Machine, traffic: Traffic) -> None:
    parts = [f"u{unit.stop};" for unit in machine.units]
    parts += [f"l{link.source},{link.target},{link.bandwidth_gb_per_s:.17g};" for link in machine.links]
    units = len(machine.units)
    for source in range(units):
        for target in range(units):
            for route in machine.routes(source, target):
                parts.append("r" + "".join(f"{link}," for link in route) + ";")
            parts.append("|")
    for field, text in (("machine_digest", "".join(parts)), ("pattern_digest", traffic.text())):
        if document.text(field) != _digest(text):
            raise document.wrong(field, f"{_digest(text)}: it certifies another one")


def _read(document: Fields, machine: Machine, ranks: int) -> Mapping[str, Any]:
    """The fields of which the proof consists, each within its range."""
    units = len(machine.units)
    placed = document.wholes("unit_of_rank", 0, units - 1)
    if len(placed) != ranks or len(set(placed)) != ranks:
        raise document.wrong("unit_of_rank", f"{ranks} different units below {units}")
    order = document.wholes("order", 0, ranks - 1)
    if len(order) != ranks or len(set(order)) != ranks:
        raise document.wrong("order", f"the ranks 0 to {ranks - 1}, each once")
    symmetries = {"unit_symmetries": units, "rank_symmetries": ranks}
    for field, size in symmetries.items():
        for image in document.lists_of_wholes(field, 0, size - 1):
            if len(image) != size or len(set(image)) != size:
                raise bad_field(document.source, field, shown(image), f"permutations of 0 to {size - 1}")
    cuts = _cuts(document, machine, ranks)
    document.wholes("chain", 0, cuts - 1, may_be_empty=True)
    document.whole("split", -1, cuts - 1)
    document.number("cost_ns", 0)
    document.number("bound_ns", 0)
    document.text("tree", "")
    return document.raw()


def _cuts(document: Fields, machine: Machine, ranks: int) -> int:
    """How many cuts there are, each with some of the units inside and some outside."""
    cuts = document.lists_of_wholes("cuts", 0, len(machine.stops) - 1)
    if cuts and ranks > _MOST_CUT_RANKS:
        raise document.wrong("cuts", f"none for more than {_MOST_CUT_RANKS} ranks")
    stop_of_unit = [unit.stop for unit in machine.units]
    for stops in cuts:
        if {stop in stops for stop in stop_of_unit} != {False, True}:
            raise bad_field(document.source, "cuts", shown(stops), "stops with some of the units, not all")
    return len(cuts)


def _check_claim(read: Mapping[str, Any], node: Node, traffic: Traffic) -> None:
    cost = traffic.cost(node, read["unit_of_rank"])
    if not abs(cost - read["cost_ns"]) <= TOLERANCE * cost:
        raise RunError(f"certificate: cost_ns is {read['cost_ns']}, the placement costs {cost}")
    if not 0 < read["bound_ns"] <= cost * (1 + TOLERANCE):
        raise RunError(
            f"certificate: bound_ns is {read['bound_ns']}, which no bound of a placement of {cost} ns is"
        )

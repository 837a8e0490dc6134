"""What a placement looks like to a statistical model: numbers read off the routes of its messages.

A feature is a sum, a maximum or a count over links or messages: loads per kind of link and direction, how
many messages share a link, hops, half-way traffic, neighbours that share a stop, bytes in and out of every
unit. Sizes are ns of a link's time or shares of all bytes, so that they do not depend on how messages are
numbered. Only machine and patterns are looked at, never a time.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, Pattern
from corewise.errors import bad_field

Array = NDArray[np.float64]
Placements = NDArray[np.int32]

MOST_UNITS = 256
"""Of a machine: a table of routes has the square of it times the links."""
LARGEST_LOADS = 4
"""So many of the largest link loads are features of their own."""
MOST_PAIRED_UNITS = 16
"""Of a machine whose pairs of units are features of their own: there are the square of it."""
_AT_ONCE = 512  # placements


@dataclass(frozen=True)
class _Traffic:
    """One phase of one pattern: arrays of equal length."""

    sender: NDArray[np.int32]
    receiver: NDArray[np.int32]
    size_bytes: Array


def link_class(name: str) -> str:
    """The kind and direction of a link: what its name says before anything that counts.

    ``cw:SPE1>SPE3`` is ``cw``, ``x+(2,3)`` is ``x+``, ``l3-1:up`` is ``l3:up``.
    """
    level = re.fullmatch(r"(.*?)-?[0-9.]*:(up|down|in|out)", name)
    return f"{level[1]}:{level[2]}" if level else re.split(r"[:(\[]", name)[0]


class RouteFeatures:
    """Features of placements of some patterns on a machine.

    Parameters
    ----------
    machine : Machine
        At most `MOST_UNITS` units.
    patterns : sequence of Pattern
        They share one placement.

    Attributes
    ----------
    names : tuple of str
        Of the columns of `of`.
    groups : dict of str to tuple of int
        Columns that belong together: ``routes``, ``units`` and, on small machines, ``pairs``.
    """

    def __init__(self, machine: Machine, patterns: Sequence[Pattern]) -> None:
        units = len(machine.units)
        if units > MOST_UNITS:
            raise bad_field(machine.name, "units", units, f"at most {MOST_UNITS} for a statistical model")
        self._phases = [phase for pattern in patterns for phase in _phases(pattern)]
        self._units = units
        links = machine.links
        self._ns_per_byte = np.array([1 / link.bandwidth_gb_per_s for link in links])
        self._latency_ns = np.array([link.latency_ns for link in links])
        self._hops = machine.hops().astype(np.float64)
        self._share, self._tied = _shares(machine)
        names = [link_class(link.name) for link in links]
        self._classes = sorted(set(names))
        self._of_class = np.array([[name == each for name in names] for each in self._classes])
        self._total_bytes = sum(float(phase.size_bytes.sum()) for phase in self._phases) or 1.0
        of_routes, of_units, of_pairs = self._route_names(), self._unit_names(), self._pair_names()
        self.names = tuple(of_routes + of_units + of_pairs)
        ends = np.cumsum([0, len(of_routes), len(of_units), len(of_pairs)])
        self.groups = {
            name: tuple(range(int(ends[at]), int(ends[at + 1])))
            for at, name in enumerate(("routes", "units", "pairs"))
            if ends[at + 1] > ends[at]
        }

    def of(self, placements: Placements) -> Array:
        """Features, one row per placement.

        Parameters
        ----------
        placements : ndarray of int32, shape (n, ranks)

        Returns
        -------
        ndarray of float64, shape (n, len(names))
        """
        parts = [self._block(placements[at : at + _AT_ONCE]) for at in range(0, len(placements), _AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.names)))

    def _route_names(self) -> list[str]:
        names = [f"load {place}" for place in range(1, LARGEST_LOADS + 1)]
        names += ["load square", "messages most", "messages square", "messages busy"]
        names += ["route most", "route mean", "route square", "latency mean", "latency most"]
        names += ["hops mean", "hops most", "hops square", "half-way", "same stop"]
        for each in self._classes:
            names += [f"load {each}", f"load most {each}", f"messages most {each}", f"messages square {each}"]
        return names + [f"hops {hops}" for hops in range(1, int(self._hops.max()) + 1)]

    def _unit_names(self) -> list[str]:
        return [f"{way} {unit}" for way in ("out", "in") for unit in range(self._units)]

    def _pair_names(self) -> list[str]:
        if self._units > MOST_PAIRED_UNITS:
            return []
        return [f"{source}>{target}" for source in range(self._units) for target in range(self._units)]

    def _block(self, placements: Placements) -> Array:
        total = np.zeros((len(placements), len(self.names)))
        for phase in self._phases:
            total += self._phase(phase, placements)
        return total

    def _phase(self, phase: _Traffic, placements: Placements) -> Array:
        source, target = placements[:, phase.sender], placements[:, phase.receiver]
        count, links = len(placements), len(self._ns_per_byte)
        load, messages = np.zeros((count, links)), np.zeros((count, links))
        for message, size in enumerate(phase.size_bytes):
            share = self._share[source[:, message], target[:, message]]
            load += share * size
            messages += share > 0
        load *= self._ns_per_byte
        route = self._route_loads(source, target, load)
        hops = self._hops[source, target]
        columns = [
            *_largest(load),
            np.sqrt((load**2).sum(axis=1)),
            messages.max(axis=1, initial=0),
            np.sqrt((messages * (messages - 1)).sum(axis=1)),
            (messages > 0).sum(axis=1),
            *_moments(route),
            *self._latencies(source, target),
            hops.mean(axis=1) if hops.size else np.zeros(count),
            hops.max(axis=1, initial=0),
            np.sqrt((hops**2).sum(axis=1)),
            (self._tied[source, target] * phase.size_bytes).sum(axis=1) / self._total_bytes,
            ((hops == 0) * phase.size_bytes).sum(axis=1) / self._total_bytes,
        ]
        for chosen in self._of_class:
            of_class, count_of = load[:, chosen], messages[:, chosen]
            columns += [of_class.sum(axis=1), of_class.max(axis=1), count_of.max(axis=1)]
            columns.append(np.sqrt((count_of * (count_of - 1)).sum(axis=1)))
        for distance in range(1, int(self._hops.max()) + 1):
            columns.append(((hops == distance) * phase.size_bytes).sum(axis=1) / self._total_bytes)
        columns += [self._bytes_of(source, self._units, phase), self._bytes_of(target, self._units, phase)]
        if "pairs" in self.groups:
            columns.append(self._bytes_of(source * self._units + target, self._units**2, phase))
        return np.column_stack(columns)

    def _route_loads(self, source: Placements, target: Placements, load: Array) -> Array:
        """Per message: the largest load on its routes."""
        found = np.zeros(source.shape)
        for message in range(source.shape[1]):
            used = self._share[source[:, message], target[:, message]] > 0
            found[:, message] = np.where(used, load, 0).max(axis=1, initial=0)
        return found

    def _latencies(self, source: Placements, target: Placements) -> list[Array]:
        if source.shape[1] == 0:
            return [np.zeros(len(source))] * 2
        latency = np.zeros(source.shape)
        for message in range(source.shape[1]):
            latency[:, message] = self._share[source[:, message], target[:, message]] @ self._latency_ns
        return [latency.mean(axis=1), latency.max(axis=1)]

    def _bytes_of(self, place: Placements, places: int, phase: _Traffic) -> Array:
        """Share of all bytes by place (a unit, or a pair of them): `place` has a column per message."""
        found = np.zeros((len(place), places))
        rows = np.arange(len(place))
        for message, size in enumerate(phase.size_bytes):
            found[rows, place[:, message]] += size / self._total_bytes
        return found


def _phases(pattern: Pattern) -> list[_Traffic]:
    found = []
    for phase in pattern.phases:
        sender, receiver, size_bytes, _ = phase.coordinates()
        other = sender != receiver
        found.append(_Traffic(sender[other], receiver[other], size_bytes[other].astype(np.float64)))
    return found


def _shares(machine: Machine) -> tuple[Array, Array]:
    """Share of a pair's traffic on every link, (units, units, links), and whether the pair has ties."""
    units, links = len(machine.units), len(machine.links)
    share, tied = np.zeros((units, units, links)), np.zeros((units, units))
    for source in range(units):
        for target in range(units):
            routes = machine.routes(source, target) if source != target else []
            tied[source, target] = len(routes) > 1
            for route in routes:
                share[source, target, route] += 1 / len(routes)
    return share, tied


def _largest(load: Array) -> list[Array]:
    padded = np.pad(load, ((0, 0), (LARGEST_LOADS, 0)))
    ordered = np.sort(padded, axis=1)[:, ::-1]
    return [ordered[:, place] for place in range(LARGEST_LOADS)]


def _moments(values: Array) -> list[Array]:
    if values.shape[1] == 0:
        return [np.zeros(len(values))] * 3
    return [values.max(axis=1), values.mean(axis=1), np.sqrt((values**2).mean(axis=1))]

"""The rules of thumb of paper 000 on rings: which one a placement breaks, by which messages, where.

Section 4 has three:

1. Avoid overlapping paths for more than two messages in the same direction ("the most important
observation").
2. Given that, balance the number of messages over both directions.
3. Make no assumption on the direction of messages that travel half-way across the ring.

The paper's two is the number of data rings per direction; on other rings it is that machine's number. Rule 2
counts as broken where one direction has more messages than Table 1 still found nearly free (four on two
rings: rows 3 to 5) and turning half-way messages round does not balance it. Rule 3: a placement that keeps
rule 1 only if the half-way messages happen to take the right directions relies on luck; in how many of all
choices of directions it keeps rule 1 is counted. The rules are about large messages only (section 2: above a
couple of kilobytes); shorter ones are left out and counted. Phases are judged one by one, their messages
taken as simultaneous.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, Pattern, Phase
from corewise.errors import InputError

LARGE_BYTES = 2048
"""Shorter messages do not matter to the rules: paper 000, figure 2 (left)."""
MOST_HALF_WAY = 16
"""Up to so many half-way messages every choice of directions is looked at; of more, a fixed sample of as
many."""
NEARLY_FREE_PER_RING = 2
"""Messages in one direction, per ring of that direction, that Table 1 (row 4) found nearly free: 5 to 6 %
off."""

Way = Literal["clockwise", "counter-clockwise", "half-way"]
Paths = NDArray[np.int64]
"""Shape (messages, links): 1 where a message crosses a link."""


@dataclass(frozen=True)
class Message:
    """One message of a phase, as placed.

    Attributes
    ----------
    sender, receiver : int
        Ranks.
    source, target : str
        The units they sit on.
    bytes : int
        Of one message of the pair, the mean.
    way : str
        ``clockwise``, ``counter-clockwise`` or ``half-way``.
    """

    sender: int
    receiver: int
    source: str
    target: str
    bytes: int
    way: Way

    def __str__(self) -> str:
        """As ranks: ``3->4``."""
        return f"{self.sender}->{self.receiver}"


@dataclass(frozen=True)
class Break:
    """A broken rule.

    Attributes
    ----------
    rule : int
        1, 2 or 3.
    text : str
        What is wrong, in a few words.
    messages : tuple of Message
        The messages that break it.
    links : tuple of str
        Links where they meet; none for rule 2.
    """

    rule: int
    text: str
    messages: tuple[Message, ...]
    links: tuple[str, ...]


@dataclass(frozen=True)
class PhaseRules:
    """What the rules say of one phase.

    Attributes
    ----------
    phase : str
    messages : tuple of Message
        The large ones, between units of different stops.
    short : int
        How many messages were too short to count.
    clockwise, counter_clockwise, half_way : int
        Messages by direction.
    overlap : int
        Most messages on a link in one direction, half-way messages going where they do least harm.
    overlap_at_worst : int
        The same, half-way messages going where they do most harm.
    choices, good_choices : int
        Choices of directions of the half-way messages, and how many of them keep rule 1.
    limit : int
        Overlaps that cost nothing: the rings per direction.
    breaks : tuple of Break
    """

    phase: str
    messages: tuple[Message, ...]
    short: int
    clockwise: int
    counter_clockwise: int
    half_way: int
    overlap: int
    overlap_at_worst: int
    choices: int
    good_choices: int
    limit: int
    breaks: tuple[Break, ...]

    def broken(self, rule: int) -> bool:
        """Whether that rule is broken."""
        return any(each.rule == rule for each in self.breaks)


def is_ring(machine: Machine) -> bool:
    """Whether the rules apply: one ring of at least three stops."""
    return machine.kind == "ring" and len(machine.stops) > 2


def judge(
    machine: Machine, pattern: Pattern, unit_of_rank: Sequence[int], large_bytes: int = LARGE_BYTES
) -> tuple[PhaseRules, ...]:
    """What the rules say of a placement, phase by phase.

    Parameters
    ----------
    machine : Machine
        A ring.
    pattern : Pattern
        Its phases run one after another.
    unit_of_rank : sequence of int
        Unit of rank r at [r].
    large_bytes : int
        Messages of fewer bytes are left out.

    Raises
    ------
    InputError
        The machine is no ring.
    """
    if not is_ring(machine):
        raise InputError(
            f"rules of thumb: found machine '{machine.name}' of kind {machine.kind}, allowed: a ring "
            "(the rules are about the directions of a ring)"
        )
    ring = _Ring(machine)
    return tuple(_judge(ring, phase, tuple(unit_of_rank), large_bytes) for phase in pattern.phases)


def violations(phases: Sequence[PhaseRules]) -> tuple[int, int, int]:
    """How badly the rules are broken, to compare placements; low is good.

    Returns
    -------
    tuple of int
        Messages that meet beyond the limit, messages beyond balance, bad choices of directions per thousand.
    """
    excess = sum(max(0, phase.overlap - phase.limit) for phase in phases)
    uneven = sum(max(0, _most_one_way(phase) - -(-len(phase.messages) // 2)) for phase in phases)
    luck = sum((phase.choices - phase.good_choices) * 1000 // max(1, phase.choices) for phase in phases)
    return excess, uneven, luck


def _most_one_way(phase: PhaseRules) -> int:
    """Messages in the fuller direction, half-way ones filling up the other."""
    return _fuller(phase.clockwise, phase.counter_clockwise, phase.half_way)


def _fuller(clockwise: int, counter: int, half_way: int) -> int:
    total = clockwise + counter + half_way
    return max(clockwise, counter, -(-total // 2))


class _Ring:
    """Paths of a ring machine, by pair of units."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.names = [link.name for link in machine.links]
        self.limit = min(link.lanes for link in machine.links)
        stops = len(machine.stops)
        self.clockwise = [link.target == (link.source + 1) % stops for link in machine.links]
        self._routes: dict[tuple[int, int], list[list[int]]] = {}

    def routes(self, source: int, target: int) -> list[list[int]]:
        """One route, or both of a half-way pair, clockwise first."""
        if (source, target) not in self._routes:
            found = [list(route) for route in self.machine.routes(source, target)]
            self._routes[source, target] = sorted(
                found, key=lambda route: not (route and self.clockwise[route[0]])
            )
        return self._routes[source, target]


def _judge(ring: _Ring, phase: Phase, units: tuple[int, ...], large_bytes: int) -> PhaseRules:
    messages, short = _messages(ring, phase, units, large_bytes)
    fixed = [message for message in messages if message.way != "half-way"]
    loose = [message for message in messages if message.way == "half-way"]
    certain = _crossed(ring, fixed, units, 0)
    choices = _choices(len(loose))
    loads = _loads(certain, _crossed(ring, loose, units, 0), _crossed(ring, loose, units, 1), choices)
    peaks = loads.max(axis=1) if loads.shape[1] else np.zeros(len(choices), np.int64)
    # The least harm: the lowest peak, then the fewest links over the limit.
    best = min(range(len(choices)), key=lambda at: (peaks[at], int((loads[at] > ring.limit).sum())))
    worst = int(peaks.argmax())
    clockwise = sum(message.way == "clockwise" for message in fixed)
    good = int((peaks <= ring.limit).sum())
    ordered = [*fixed, *loose]

    def at_choice(choice: int) -> Paths:
        turned = choices[choice].astype(bool)[:, None]
        ways = np.where(turned, _crossed(ring, loose, units, 1), _crossed(ring, loose, units, 0))
        return np.concatenate([certain, ways]) if loose else certain

    breaks: list[Break] = []
    if peaks[best] > ring.limit:
        breaks += _overlaps(1, ring, at_choice(best), ordered)
    uneven = _uneven(ring, fixed, clockwise, len(loose))
    breaks += [uneven] if uneven else []
    if good < len(choices) and peaks[best] <= ring.limit:
        # The meeting of the worst choice that a half-way message is part of.
        met = _overlaps(3, ring, at_choice(worst), ordered)
        most = int(peaks[worst])
        text = f"{good} of {len(choices)} choices of directions keep rule 1, in the worst {most} meet"
        breaks += [Break(3, text, met[0].messages, met[0].links)]
    return PhaseRules(
        phase=phase.name,
        messages=tuple(messages),
        short=short,
        clockwise=clockwise,
        counter_clockwise=len(fixed) - clockwise,
        half_way=len(loose),
        overlap=int(peaks[best]),
        overlap_at_worst=int(peaks[worst]),
        choices=len(choices),
        good_choices=good,
        limit=ring.limit,
        breaks=tuple(breaks),
    )


def _messages(
    ring: _Ring, phase: Phase, units: tuple[int, ...], large_bytes: int
) -> tuple[list[Message], int]:
    found: list[Message] = []
    short = 0
    for sender, receiver, size, count in zip(*phase.coordinates(), strict=True):
        mean = int(size) // max(1, int(count))
        if sender == receiver or mean == 0:
            continue
        if mean < large_bytes:
            short += 1
            continue
        source, target = units[sender], units[receiver]
        routes = ring.routes(source, target)
        if not routes[0]:  # two units of one stop: no link is crossed
            continue
        way: Way = "half-way" if len(routes) > 1 else "counter-clockwise"
        if len(routes) == 1 and ring.clockwise[routes[0][0]]:
            way = "clockwise"
        names = ring.machine.units[source].name, ring.machine.units[target].name
        found.append(Message(int(sender), int(receiver), *names, mean, way))
    return found, short


def _crossed(ring: _Ring, messages: Sequence[Message], units: tuple[int, ...], which: int) -> Paths:
    paths = np.zeros((len(messages), len(ring.names)), np.int64)
    for row, message in enumerate(messages):
        routes = ring.routes(units[message.sender], units[message.receiver])
        paths[row, routes[min(which, len(routes) - 1)]] = 1
    return paths


def _choices(half_way: int) -> NDArray[np.int64]:
    """Shape (choices, half-way messages): 0 clockwise, 1 the other way."""
    if half_way > MOST_HALF_WAY:
        return np.random.default_rng(half_way).integers(0, 2, (1 << MOST_HALF_WAY, half_way))
    return (np.arange(1 << half_way)[:, None] >> np.arange(half_way)) & 1


def _loads(certain: Paths, one: Paths, other: Paths, choices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Messages per link (columns) under every choice (rows)."""
    loads: NDArray[np.int64] = certain.sum(axis=0) + (1 - choices) @ one + choices @ other
    return loads


def _overlaps(rule: int, ring: _Ring, paths: Paths, messages: Sequence[Message]) -> list[Break]:
    """A break per set of messages that meet beyond the limit, the largest first."""
    loads = paths.sum(axis=0)
    where: dict[tuple[int, ...], list[int]] = {}
    for link in np.flatnonzero(loads > ring.limit):
        where.setdefault(tuple(np.flatnonzero(paths[:, link])), []).append(int(link))
    # A set that is part of a larger one says nothing more.
    whole = [met for met in where if not any(set(met) < set(other) for other in where)]
    return [
        Break(
            rule,
            f"{len(met)} messages in one direction, {ring.limit} are free",
            tuple(messages[index] for index in met),
            tuple(ring.names[link] for link in where[met]),
        )
        for met in sorted(whole, key=len, reverse=True)
    ]


def _uneven(ring: _Ring, fixed: Sequence[Message], clockwise: int, half_way: int) -> Break | None:
    """Rule 2: more messages one way than are nearly free, and more than balance would need."""
    counter = len(fixed) - clockwise
    fuller = _fuller(clockwise, counter, half_way)
    total = len(fixed) + half_way
    if fuller <= NEARLY_FREE_PER_RING * ring.limit or fuller == -(-total // 2):
        return None
    way: Way = "clockwise" if clockwise > counter else "counter-clockwise"
    text = f"{fuller} of {total} messages go {way}, balanced would be {-(-total // 2)}"
    return Break(2, text, tuple(message for message in fixed if message.way == way), ())

"""How many 1 KB messages a second simulates, beside SimGrid S4U.

The workload (``bench/sim/workload.hpp``) is the same for all: 8 actors in a bidirectional ring on an 8-unit
ring machine, placed so that their ways overlap. Contestants: corewise by whole messages that share links
max-min fairly (flow), corewise packet by packet through the arbiter of a ring bus (packet), and SimGrid S4U
with model CM02, whose sharing is that of the flow model: both must agree about the simulated time.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from corewise.bench.mpis import output_of
from corewise.bench.programs import Program, has_header
from corewise.bench.rounds import alone, beside, in_turns
from corewise.bench.rows import Listener, Row
from corewise.errors import RunError

RING_ROUNDS = {"flow": 60000, "packet": 12000, "simgrid": 6000}
"""Rounds of the ring that each contestant simulates per measurement: about half a second each."""
AGREEMENT = 0.03
"""The simulated times of flow and SimGrid may differ by this fraction."""
DEMANDS = {"flow": 10.0, "packet": 2.0}
"""Least ratios by wall time."""
RIVAL = "SimGrid S4U, CM02"
CORE = (
    *(f"base/{name}.cpp" for name in ("json", "units")),
    *(
        f"machine/{name}.cpp"
        for name in ("check", "composite", "fabric", "flat", "json", "mesh", "ring", "routes", "tree")
    ),
    *(f"sim/{name}.cpp" for name in ("engine", "event_queue", "fiber", "timeline")),
    *(f"sim/{name}.cpp" for name in ("ring_bus", "ring_bus_recorder")),
    *(f"sim/networks/{name}.cpp" for name in ("cut_through", "flow", "network", "ring")),
)


@dataclass(frozen=True)
class Sample:
    """One run of one contestant."""

    messages: int
    wall_s: float
    cpu_s: float
    simulated_ns_per_round: float

    def rate(self, clock: str) -> float:
        """Messages per second of wall or CPU time."""
        return self.messages / (self.wall_s if clock == "wall" else self.cpu_s)


Round = dict[str, Sample]


def has_simgrid() -> bool:
    """Whether SimGrid can be compiled against."""
    return has_header("simgrid/s4u.hpp")


def commands(listener: Listener) -> dict[str, list[str]]:
    """Every contestant that is here, built."""
    ours = Program("sim", "corewise_actors", ("corewise_actors.cpp",), CORE)
    program = str(ours.build(listener))
    found = {name: [program, name, str(RING_ROUNDS[name])] for name in ("flow", "packet")}
    if has_simgrid():
        theirs = Program("sim", "simgrid_actors", ("simgrid_actors.cpp",), libraries=("-lsimgrid",))
        found["simgrid"] = [str(theirs.build(listener)), str(RING_ROUNDS["simgrid"])]
    return found


def measure(command: list[str]) -> Sample:
    """One run; its last line holds the four numbers."""
    messages, wall, cpu, simulated = output_of(command, os.environ).split()[-4:]
    return Sample(int(messages), float(wall), float(cpu), float(simulated))


def row(name: str, clock: str, rounds: Sequence[Round]) -> Row:
    """One model of ours by one clock."""
    ours = [samples[name].rate(clock) for samples in rounds]
    blank = Row(
        f"sim-{name}" + ("" if clock == "wall" else "-cpu"),
        f"simulated 1 KB messages per {clock} second, 8 actors, contended ring, by {name}",
        "messages/s",
        None,
        RIVAL if "simgrid" in rounds[0] else None,
        demand=DEMANDS[name] if clock == "wall" else None,
        more={"simulated_ns_per_round": rounds[0][name].simulated_ns_per_round},
    )
    if "simgrid" not in rounds[0]:
        return alone(blank, ours)
    theirs = [samples["simgrid"].rate(clock) for samples in rounds]
    return beside(blank, ours, theirs, more_is_better=True)


def check_agreement(rounds: Sequence[Round]) -> None:
    """The flow model and SimGrid simulate the same thing: their times must be close."""
    if "simgrid" not in rounds[0]:
        return
    ours = rounds[0]["flow"].simulated_ns_per_round
    theirs = rounds[0]["simgrid"].simulated_ns_per_round
    if abs(ours - theirs) > AGREEMENT * theirs:
        raise RunError(f"simulated times differ: corewise {ours} ns, SimGrid {theirs} ns per round")


def rows(rounds: int, listener: Listener) -> list[Row]:
    """Both models, by wall time and, since a shared host stretches that, by CPU time."""
    contestants = {name: partial(measure, command) for name, command in commands(listener).items()}
    found = in_turns(contestants, rounds, listener.progress)
    check_agreement(found)
    return [row(name, clock, found) for clock in ("wall", "cpu") for name in ("flow", "packet")]

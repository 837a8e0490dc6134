"""How many 1 KB messages does a second of wall time simulate, against SimGrid S4U? Interleaved in one run.

The workload (workload.hpp) is the same for all: 8 actors in a bidirectional ring on an 8-unit ring machine,
placed so that their ways overlap. Contestants: corewise by whole messages that share links max-min fairly
(flow), corewise packet by packet through the arbiter of a RingBus (packet), and SimGrid S4U with model CM02,
whose sharing is that of the flow model: both must agree about the simulated time, or the run fails. Ratio:
messages per second over SimGrid's in the same round (over 1: corewise is faster).

Without SimGrid (Debian: libsimgrid-dev) corewise runs alone and the rival's columns are null.

With --check the run fails when, by wall time, the flow model is less than 10 times or the packet model less
than 2 times as fast as SimGrid, or when SimGrid is missing.

Usage: .venv/bin/python bench/sim/run.py [--rounds N] [--json] [--check]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[0]))

import racing  # noqa: E402

ROOT = racing.ROOT
BUILD = ROOT / "build" / "bench"

RING_ROUNDS = {"flow": 60000, "packet": 12000, "simgrid": 6000}
"""Rounds of the ring that each contestant simulates per measurement: about half a second each."""

AGREEMENT = 0.03
"""The simulated times of flow and SimGrid may differ by this fraction."""

FLOORS = {"sim-flow": 10.0, "sim-packet": 2.0}
"""Least ratios that --check accepts, by row."""


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


def tool(name: str) -> str:
    """A build tool: the one beside this Python, or the system's."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else (shutil.which(name) or name)


def build() -> dict[str, Path]:
    """Builds the contestants; SimGrid's is missing where SimGrid is."""
    configure = [tool("cmake"), "-S", str(ROOT), "-B", str(BUILD), "-G", "Ninja", "-DCOREWISE_BENCH=ON"]
    configure += ["-DCOREWISE_TESTS=OFF", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"]
    configure += [f"-DPython_EXECUTABLE={sys.executable}"]
    run_quietly(configure)
    run_quietly([tool("cmake"), "--build", str(BUILD), "--target", "bench/sim/all"])
    folder = BUILD / "bench" / "sim"
    found = {"corewise": folder / "bench_sim_corewise", "simgrid": folder / "bench_sim_simgrid"}
    return {name: path for name, path in found.items() if path.exists()}


def run_quietly(command: list[str]) -> None:
    """Runs a build step; its output is shown only where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def measure(command: list[str]) -> Sample:
    """One run; its last line holds the four numbers."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    messages, wall, cpu, simulated = done.stdout.split()[-4:]
    return Sample(int(messages), float(wall), float(cpu), float(simulated))


def one_round(programs: dict[str, Path], turn: int) -> dict[str, Sample]:
    """Every contestant once, a different one first each time."""
    commands = {
        name: [str(programs["corewise"]), name, str(RING_ROUNDS[name])] for name in ("flow", "packet")
    }
    if "simgrid" in programs:
        commands["simgrid"] = [str(programs["simgrid"]), str(RING_ROUNDS["simgrid"])]
    names = list(commands)
    return {name: measure(commands[name]) for name in names[turn % len(names) :] + names[: turn % len(names)]}


def spread(values: list[float]) -> float:
    """Distance between the quartiles over the median."""
    return racing.quartiles(values) / statistics.median(values)


def row(name: str, clock: str, rounds: list[dict[str, Sample]]) -> dict[str, object]:
    """One line of the result."""
    ours = [samples[name].rate(clock) for samples in rounds]
    result: dict[str, object] = {
        "id": f"sim-{name}" + ("" if clock == "wall" else "-cpu"),
        "what": f"simulated 1 KB messages per {clock} second, 8 actors, contended ring, by {name}",
        "unit": "messages/s",
        "ours": round(statistics.median(ours)),
        "rival": None,
        "theirs": None,
        "floor": FLOORS.get(f"sim-{name}") if clock == "wall" else None,
        "ratio": None,
        "spread": round(spread(ours), 3),
        "n": len(rounds),
        "simulated_ns_per_round": rounds[0][name].simulated_ns_per_round,
    }
    if "simgrid" in rounds[0]:
        ratios = [samples[name].rate(clock) / samples["simgrid"].rate(clock) for samples in rounds]
        result["rival"] = "SimGrid S4U, CM02"
        result["theirs"] = round(statistics.median(samples["simgrid"].rate(clock) for samples in rounds))
        result["ratio"] = round(statistics.median(ratios), 2)
        result["ratio_spread"] = round(spread(ratios), 3)
        result["theirs_simulated_ns_per_round"] = rounds[0]["simgrid"].simulated_ns_per_round
    return result


def check_agreement(rounds: list[dict[str, Sample]]) -> None:
    """The flow model and SimGrid simulate the same thing: their times must be close."""
    if "simgrid" not in rounds[0]:
        return
    ours = rounds[0]["flow"].simulated_ns_per_round
    theirs = rounds[0]["simgrid"].simulated_ns_per_round
    if abs(ours - theirs) > AGREEMENT * theirs:
        sys.exit(f"simulated times differ: corewise {ours} ns, SimGrid {theirs} ns per round")


def broken_floors(rows: list[dict[str, object]]) -> list[str]:
    """A line per row that has a floor and does not reach it; without a rival none can."""
    broken = []
    for line in rows:
        if line["floor"] is None:
            continue
        if line["ratio"] is None:
            broken.append(f"{line['id']}: not compared, SimGrid was not found")
        elif float(str(line["ratio"])) < float(str(line["floor"])):
            broken.append(f"{line['id']}: ratio {line['ratio']}, allowed: {line['floor']} or more")
    return broken


def show(rows: list[dict[str, object]]) -> None:
    """The rows for people."""
    for line in rows:
        text = f"{line['what']}: {line['ours']} (spread {line['spread']}, n={line['n']}), "
        text += f"simulated {line['simulated_ns_per_round']} ns per round"
        if line["rival"] is not None:
            text += (
                f"; {line['rival']} {line['theirs']}, {line['theirs_simulated_ns_per_round']} ns per round"
            )
            text += f"; ratio {line['ratio']} (spread {line['ratio_spread']})"
        print(text)
    if rows[0]["rival"] is None:
        print("SimGrid was not found (Debian: libsimgrid-dev): corewise ran alone")


def main() -> int:
    """Builds, runs, prints."""
    parser = racing.options(__doc__, 9)
    parser.add_argument("--check", action="store_true", help="fail where a ratio is below its floor")
    arguments = parser.parse_args()
    if arguments.rounds < 2:
        parser.error(f"--rounds: found {arguments.rounds}, allowed: 2 or more")
    programs = build()
    rounds = [one_round(programs, turn) for turn in range(arguments.rounds)]
    check_agreement(rounds)
    rows = [row(name, clock, rounds) for clock in ("wall", "cpu") for name in ("flow", "packet")]
    if arguments.json:
        print(racing.document("sim", rows))
    else:
        show(rows)
    broken = broken_floors(rows) if arguments.check else []
    for line in broken:
        print(line, file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

"""Times all 5040 mappings of paper 002's ring on a jitter-free chip, on one core.

Two layouts of the message library. Where the complete state of a mapping comes again, its time is exact for
any number of rounds: with notification into the local store that is common. With the paper's matrix in main
memory eight polling loops drift against each other and states do not come again within the rounds
simulated: those times are exact for these rounds, averages beyond; `repeating` is the share that did come
again. A ring and its reflection are one program (test Mapping.ReflectedRingIsTheSameProgram), so half of
the mappings are simulated.

The bound, for the matrix, is 60 s on one core. CPU time is counted: the run is one thread.

Usage: .venv/bin/python bench/sim/mappings.py [--rounds N] [--every N] [--json]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import json
import time

from corewise import __version__, _core
from corewise.papers.mapping.data import experiment_on, time_all

BOUND_S = 60.0
LOCAL_STORE_ROUNDS = 100
"""Bound on the search for a repeat, where most mappings have one within some hundreds of rounds."""


def measure(layout: str, rounds: int, every: int) -> dict[str, object]:
    """Times all mappings, or one in `every` of them scaled up."""
    experiment = experiment_on("cell-be", 1024, jitter=False)
    experiment.notify_local_store = layout == "local_store"
    experiment.most_rounds = LOCAL_STORE_ROUNDS if layout == "local_store" else rounds
    cpu, wall = time.process_time(), time.perf_counter()
    curve = time_all(layout, experiment, every, lambda _: None)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    mappings = curve.times_us.shape[1]
    ours = cpu * _core.mapping_count(8) / mappings
    what = f"5040 mappings, 1 KB, jitter-free, {layout.replace('_', ' ')}, CPU time of one core"
    return {
        "id": f"mappings/{layout}",
        "what": f"{what}; exact for {experiment.most_rounds} rounds, beyond them where the state repeats",
        "unit": "s",
        "ours": ours,
        "rival": None,
        "theirs": None,
        "floor": BOUND_S,
        "ratio": BOUND_S / ours,
        "spread": None,
        "n": mappings,
        "wall_s": wall,
        "rounds": experiment.most_rounds,
        "repeating": curve.repeating,
        "worst_over_best": curve.spread,
    }


def main() -> int:
    """Prints a line per layout, or JSON; fails where the matrix breaks the bound."""
    parser = argparse.ArgumentParser(description="All 5040 mappings of a ring, timed.")
    parser.add_argument("--rounds", type=int, default=60, help="of the matrix in main memory, per mapping")
    parser.add_argument("--every", type=int, default=1, help="time one mapping in so many, and scale up")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure(layout, options.rounds, options.every) for layout in ("matrix", "local_store")]
    if options.json:
        head = {"name": "sim mappings", "version": __version__, "machine": "cell-be"}
        print(json.dumps({**head, "rows": rows}))
    else:
        for row in rows:
            print(f"{row['what']}: {row['ours']:.1f} s (bound {BOUND_S:.0f} s), {row['n']} timed")
            print(f"  {100 * float(str(row['repeating'])):.0f} % repeat within {row['rounds']} rounds")
    return 0 if float(str(rows[0]["ratio"])) >= 1 else 1


if __name__ == "__main__":
    raise SystemExit(main())

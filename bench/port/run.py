"""What does the port cost? The same barrier through the port and hand-written on atomics, interleaved.

Per number of ranks one process; in every round each contestant in turn does many barriers back to back,
the order changing from round to round. Ratio = hand-written / through the port, taken round by round (over 1:
the port is faster; 1: the abstraction is free), its median over the rounds; spread: the distance between the
quartiles of the ratio. Floor (two ranks): each writes one flag and looks for the other's.

Usage: .venv/bin/python bench/port/run.py [--rounds N] [--calls N] [--ranks 2,4] [--json]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from corewise import __version__

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "src"


def compile_bench(output: Path) -> Path:
    """The benchmark program, optimised, with assertions off as in a release."""
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O3", "-DNDEBUG", f"-I{SOURCE}", f"-I{HERE}"]
    sources = [HERE / "bench_port.cpp", SOURCE / "shm" / "mapping.cpp", SOURCE / "shm" / "segment.cpp"]
    subprocess.run([*command, *map(str, sources), "-o", str(output), "-pthread"], check=True)
    return output


def measure(program: Path, ranks: int, rounds: int, calls: int) -> list[tuple[float, float, float]]:
    """Nanoseconds per barrier of each round: port, hand-written, floor (0 where there is none)."""
    done = subprocess.run(
        [str(program), str(ranks), str(rounds), str(calls)], capture_output=True, text=True, check=True
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    return [(float(ours), float(theirs), float(floor)) for ours, theirs, floor in lines]


def quartiles(values: list[float]) -> float:
    """Spread: the distance between the quartiles."""
    cuts = statistics.quantiles(values, n=4)
    return cuts[2] - cuts[0]


def row(ranks: int, rounds: list[tuple[float, float, float]]) -> dict[str, object]:
    """One line of the result."""
    ratios = [theirs / ours for ours, theirs, _ in rounds]
    floors = [floor for _, _, floor in rounds if floor > 0]
    return {
        "id": f"port-barrier-{ranks}",
        "what": f"pairwise-exchange barrier of {ranks} threads, back to back",
        "unit": "ns",
        "ours": round(statistics.median(ours for ours, _, _ in rounds), 1),
        "rival": "the same barrier hand-written on atomics",
        "theirs": round(statistics.median(theirs for _, theirs, _ in rounds), 1),
        "floor": round(statistics.median(floors), 1) if floors else None,
        "ratio": round(statistics.median(ratios), 3),
        "spread": round(quartiles(ratios), 3),
        "n": len(rounds),
    }


def commit() -> str | None:
    """The checkout's commit, None outside one."""
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or None


def main() -> int:
    """Runs and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--ranks", default="2,4", help="numbers of ranks, powers of two, separated by commas")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        program = compile_bench(Path(name) / "bench_port")
        rows = [
            row(ranks, measure(program, ranks, arguments.rounds, arguments.calls))
            for ranks in map(int, arguments.ranks.split(","))
        ]
    if arguments.json:
        document = {
            "name": "port",
            "version": __version__,
            "commit": commit(),
            "machine": "host",
            "rows": rows,
        }
        print(json.dumps(document))
        return 0
    for line in rows:
        print(
            f"{line['what']}: port {line['ours']} ns, hand-written {line['theirs']} ns, "
            f"floor {line['floor']} ns; ratio {line['ratio']} "
            f"(quartile distance {line['spread']}, n={line['n']})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

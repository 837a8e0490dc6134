"""What does the port cost? The same barrier through the port and hand-written on atomics, interleaved.

Per number of ranks one process; in every round each contestant in turn does many barriers back to back,
the order changing from round to round. Ratio = hand-written / through the port, taken round by round (over 1:
the port is faster; 1: the abstraction is free), its median over the rounds; spread: the distance between the
quartiles of the ratio. Floor (two ranks): each writes one flag and looks for the other's.

Usage: .venv/bin/python bench/port/run.py [--rounds N] [--calls N] [--ranks 2,4] [--json]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[0]))

import racing  # noqa: E402


def compile_bench(output: Path) -> Path:
    """The benchmark program, optimised, with assertions off as in a release."""
    command = [
        os.environ.get("CXX", "g++"),
        "-std=c++20",
        "-O3",
        "-DNDEBUG",
        f"-I{racing.SOURCE}",
        f"-I{HERE}",
    ]
    sources = [
        HERE / "bench_port.cpp",
        racing.SOURCE / "shm" / "mapping.cpp",
        racing.SOURCE / "shm" / "segment.cpp",
    ]
    subprocess.run([*command, *map(str, sources), "-o", str(output), "-pthread"], check=True)
    return output


def measure(program: Path, ranks: int, rounds: int, calls: int) -> list[tuple[float, float, float]]:
    """Nanoseconds per barrier of each round: port, hand-written, floor (0 where there is none)."""
    done = subprocess.run(
        [str(program), str(ranks), str(rounds), str(calls)], capture_output=True, text=True, check=True
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    return [(float(ours), float(theirs), float(floor)) for ours, theirs, floor in lines]


def row(ranks: int, rounds: list[tuple[float, float, float]]) -> racing.Row:
    """One line of the result."""
    ours, theirs = [each[0] for each in rounds], [each[1] for each in rounds]
    floors = [floor for _, _, floor in rounds if floor > 0]
    return {
        "id": f"port-barrier-{ranks}",
        "what": f"pairwise-exchange barrier of {ranks} threads, back to back",
        "unit": "ns",
        "ours": racing.middle(ours),
        "rival": "the same barrier hand-written on atomics",
        "theirs": racing.middle(theirs),
        "floor": racing.middle(floors),
        **racing.compared(theirs, ours),
    }


def sentence(line: racing.Row) -> str:
    """A row for people."""
    return (
        f"{line['what']}: port {line['ours']} ns, hand-written {line['theirs']} ns, "
        f"floor {line['floor']} ns; "
        f"ratio {line['ratio']} (quartile distance {line['spread']}, n={line['n']})"
    )


def main() -> int:
    """Runs and prints."""
    parser = racing.options(__doc__, 101)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--ranks", default="2,4", help="numbers of ranks, powers of two, separated by commas")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        program = compile_bench(Path(name) / "bench_port")
        rows = [
            row(ranks, measure(program, ranks, arguments.rounds, arguments.calls))
            for ranks in map(int, arguments.ranks.split(","))
        ]
    racing.show("port", rows, sentence, as_json=arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How fast are the packing kernels? Against a hand-written loop (-O3 -march=native) and memcpy per block.

Each instruction set is a contestant by its name; all take turns on the same strided blocks, 4 KB and 32 KB of
data. Ratio = best of the two rivals / the preferred instruction set, taken round by round (over 1: the
kernels are faster), its median over the rounds; spread: the distance between the quartiles of the ratio.

Usage: .venv/bin/python bench/pack/kernels/run.py [--rounds N] [--json]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

import racing  # noqa: E402

BLOCKS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1024, 4096)
Times = dict[str, list[float]]


def build(folder: Path) -> Path:
    """The contest; the rivals for this host, the kernels as they are shipped."""
    rivals = []
    for name in ("hand", "memcpy"):
        rivals.append(str(folder / f"{name}.o"))
        command = [os.environ.get("CC", "gcc"), "-O3", "-march=native", "-c", str(HERE / f"{name}.c")]
        subprocess.run([*command, "-o", rivals[-1]], check=True)
    program = folder / "contest"
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O3", "-DNDEBUG", f"-I{racing.SOURCE}"]
    sources = [str(HERE / "contest.cpp"), *racing.packing_sources(), *rivals]
    subprocess.run([*command, *sources, "-o", str(program)], check=True)
    return program


def measure(program: Path, rounds: int, data: int) -> tuple[dict[tuple[str, str], Times], float]:
    """Nanoseconds of every round by case and direction, and the share of the processors that others took."""
    cases = [f"{block}:{2 * block}" for block in BLOCKS]
    watch = racing.Watch()
    done = subprocess.run(
        [str(program), str(rounds), str(data), *cases], capture_output=True, text=True, check=True
    )
    foreign = watch.foreign()
    result: dict[tuple[str, str], Times] = {}
    for line in done.stdout.splitlines():
        case, direction, name, *times = line.split()
        result.setdefault((case, direction), {})[name] = [float(value) for value in times]
    return result, foreign


def row(case: str, direction: str, data: int, times: Times) -> racing.Row:
    """One line of the result."""
    rivals = {name: times[name] for name in ("hand", "memcpy") if name in times}
    best = min(rivals, key=lambda name: statistics.median(rivals[name]))
    preferred = next(name for name in times if name not in rivals)
    block = case.split(":")[0]
    return {
        "id": f"{direction}-{block}-{data}",
        "what": f"{direction} {data} bytes in blocks of {block}, every other one, {preferred}",
        "unit": "ns",
        "ours": round(statistics.median(times[preferred]), 1),
        "rival": "loop by hand, -O3 -march=native" if best == "hand" else "memcpy per block",
        "theirs": round(statistics.median(rivals[best]), 1),
        "floor": None,
        **racing.compared(times[best], times[preferred]),
    }


def sentence(line: racing.Row) -> str:
    """A row for people."""
    return (
        f"{line['what']}: {line['ours']} ns, {line['rival']} {line['theirs']} ns; "
        f"ratio {line['ratio']} (quartile distance {line['spread']}, n={line['n']})"
    )


def main() -> int:
    """Runs and prints."""
    arguments = racing.options(__doc__, 31).parse_args()
    rows: list[racing.Row] = []
    shares: list[float] = []
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        program = build(Path(name))
        for data in (4096, 32768):
            cases, foreign = measure(program, arguments.rounds, data)
            rows += [row(case, direction, data, times) for (case, direction), times in cases.items()]
            shares.append(foreign)
    racing.show("pack-kernels", rows, sentence, as_json=arguments.json, foreign=round(max(shares), 4))
    if not arguments.json:
        print(f"other programs took {100 * max(shares):.1f} % of the processors")
    return 0


if __name__ == "__main__":
    sys.exit(main())

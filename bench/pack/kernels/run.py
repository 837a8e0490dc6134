"""How fast are the packing kernels? Against a hand-written loop (-O3 -march=native) and memcpy per block.

Each instruction set is a contestant by its name; all take turns on the same strided blocks, 4 KB and 32 KB of
data. Ratio = best of the two rivals / the preferred instruction set, taken round by round (over 1: the
kernels are faster), its median over the rounds; spread: the distance between the quartiles of the ratio.

Floor: the quickest contestant.

Usage: .venv/bin/python bench/pack/kernels/run.py [--rounds N] [--json]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

import racing  # noqa: E402

BLOCKS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1024, 4096)
DATA = (4096, 32768)
Times = dict[str, list[float]]
Cases = dict[tuple[str, str], Times]


RIVALS = {"hand": "loop by hand, -O3 -march=native", "memcpy": "memcpy per block"}
"""By the names that the program prints."""


def compile_to(output: Path, *words: str) -> str:
    """Runs the compiler of C++, for this host only where the words say so."""
    cxx = os.environ.get("CXX", "g++")
    subprocess.run([cxx, "-std=c++20", "-O3", *words, "-o", str(output)], check=True)
    return str(output)


def build(folder: Path) -> Path:
    """The contest; the rivals for this host, the kernels as they are shipped."""
    rivals = []
    for name in RIVALS:
        rivals.append(str(folder / f"{name}.o"))
        command = [os.environ.get("CC", "gcc"), "-O3", "-march=native", "-c", str(HERE / f"{name}.c")]
        subprocess.run([*command, "-o", rivals[-1]], check=True)
    sources = [str(HERE / "contest.cpp"), *racing.packing_sources(), *rivals]
    words = ["-DNDEBUG", f"-I{racing.SOURCE}", f"-I{HERE}"]
    return Path(compile_to(folder / "contest", *words, *sources))


def measure(command: Sequence[str | Path]) -> tuple[Cases, float]:
    """Nanoseconds of every round by case and direction, and the share of the processors that others took."""
    watch = racing.Watch()
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    foreign = watch.foreign()
    result: Cases = {}
    for line in done.stdout.splitlines():
        case, direction, name, *times = line.split()
        result.setdefault((case, direction), {})[name] = [float(value) for value in times]
    return result, foreign


def row(key: str, what: str, times: Times) -> racing.Row:
    """One line of the result; `what` is said of the one that is preferred."""
    medians = {name: statistics.median(values) for name, values in times.items()}
    best = min((name for name in RIVALS if name in times), key=lambda name: medians[name])
    preferred = next(name for name in times if name not in RIVALS)
    return {
        "id": key,
        "what": f"{what}, {preferred}",
        "unit": "ns",
        "ours": round(medians[preferred], 1),
        "rival": RIVALS[best],
        "theirs": round(medians[best], 1),
        "floor": round(min(medians.values()), 1),
        **racing.compared(times[best], times[preferred]),
    }


def blockwise(folder: Path, rounds: int) -> tuple[list[racing.Row], float]:
    """Strided blocks."""
    program, rows, shares = build(folder), [], []
    for data in DATA:
        cases, foreign = measure(
            [program, str(rounds), str(data), *(f"{block}:{2 * block}" for block in BLOCKS)]
        )
        for (case, direction), times in cases.items():
            block = case.split(":")[0]
            what = f"{direction} {data} bytes in blocks of {block}, every other one"
            rows.append(row(f"{direction}-{block}-{data}", what, times))
        shares.append(foreign)
    return rows, max(shares)


def sentence(line: racing.Row) -> str:
    """A row for people."""
    return (
        f"{line['what']}: {line['ours']} ns, {line['rival']} {line['theirs']} ns; "
        f"ratio {line['ratio']} (quartile distance {line['spread']}, n={line['n']}), floor {line['floor']} ns"
    )


def main() -> int:
    """Runs and prints."""
    arguments = racing.options(__doc__, 31).parse_args()
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        rows, foreign = blockwise(Path(name), arguments.rounds)
    racing.show("pack-kernels", rows, sentence, as_json=arguments.json, foreign=round(foreign, 4))
    if not arguments.json:
        print(f"other programs took {100 * foreign:.1f} % of the processors")
    return 0


if __name__ == "__main__":
    sys.exit(main())

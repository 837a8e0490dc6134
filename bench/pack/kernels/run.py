"""How fast are the packing kernels? Against a hand-written loop (-O3 -march=native) and memcpy per block.

Each instruction set is a contestant by its name; all take turns on the same strided blocks, 4 KB and 32 KB of
data. Ratio = best of the two rivals / the preferred instruction set, taken round by round (over 1: the
kernels are faster), its median over the rounds; spread: the distance between the quartiles of the ratio.

Usage: .venv/bin/python bench/pack/kernels/run.py [--rounds N] [--json]

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
import time
from pathlib import Path

from corewise import __version__

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[2] / "src"
KERNELS = ("pack*.cpp", "simplify*.cpp", "layout.cpp", "datatype*.cpp")
BLOCKS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1024, 4096)
Times = dict[str, list[float]]


def sources() -> list[str]:
    """What a plan is made of, leaving out the cost model that lies beside it."""
    found = (path for pattern in KERNELS for path in (SOURCE / "kernels").glob(pattern))
    return sorted(str(path) for path in found if not path.name.startswith("packing"))


def build(folder: Path) -> Path:
    """The contest; the rivals for this host, the kernels as they are shipped."""
    rivals = []
    for name in ("hand", "memcpy"):
        rivals.append(str(folder / f"{name}.o"))
        command = [os.environ.get("CC", "gcc"), "-O3", "-march=native", "-c", str(HERE / f"{name}.c")]
        subprocess.run([*command, "-o", rivals[-1]], check=True)
    program = folder / "contest"
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O3", "-DNDEBUG", f"-I{SOURCE}"]
    subprocess.run([*command, str(HERE / "contest.cpp"), *sources(), *rivals, "-o", str(program)], check=True)
    return program


def busy_seconds() -> float:
    """Processor seconds that all programs have used."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8]
    user, nice, system, _, _, irq, soft = map(float, fields)
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def measure(program: Path, rounds: int, data: int) -> tuple[dict[tuple[str, str], Times], float]:
    """Nanoseconds of every round by case and direction, and the share of the processors that others took."""
    cases = [f"{block}:{2 * block}" for block in BLOCKS]
    all_before, own_before, begin = busy_seconds(), sum(os.times()[:4]), time.monotonic()
    done = subprocess.run(
        [str(program), str(rounds), str(data), *cases], capture_output=True, text=True, check=True
    )
    own = sum(os.times()[:4]) - own_before
    seconds = time.monotonic() - begin
    foreign = max(0.0, busy_seconds() - all_before - own) / (seconds * (os.cpu_count() or 1))
    result: dict[tuple[str, str], Times] = {}
    for line in done.stdout.splitlines():
        case, direction, name, *times = line.split()
        result.setdefault((case, direction), {})[name] = [float(value) for value in times]
    return result, foreign


def row(case: str, direction: str, data: int, times: Times) -> dict[str, object]:
    """One line of the result."""
    rivals = {name: times[name] for name in ("hand", "memcpy") if name in times}
    best = min(rivals, key=lambda name: statistics.median(rivals[name]))
    preferred = next(name for name in times if name not in rivals)
    ratios = [theirs / ours for ours, theirs in zip(times[preferred], rivals[best], strict=True)]
    cuts = statistics.quantiles(ratios, n=4)
    block = case.split(":")[0]
    return {
        "id": f"{direction}-{block}-{data}",
        "what": f"{direction} {data} bytes in blocks of {block}, every other one, {preferred}",
        "unit": "ns",
        "ours": round(statistics.median(times[preferred]), 1),
        "rival": "loop by hand, -O3 -march=native" if best == "hand" else "memcpy per block",
        "theirs": round(statistics.median(rivals[best]), 1),
        "floor": None,
        "ratio": round(statistics.median(ratios), 3),
        "spread": round(cuts[2] - cuts[0], 3),
        "n": len(ratios),
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
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    shares: list[float] = []
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        program = build(Path(name))
        for data in (4096, 32768):
            cases, foreign = measure(program, arguments.rounds, data)
            rows += [row(case, direction, data, times) for (case, direction), times in cases.items()]
            shares.append(foreign)
    if arguments.json:
        document = {
            "name": "pack-kernels",
            "version": __version__,
            "commit": commit(),
            "machine": "host",
            "foreign": round(max(shares), 4),
            "rows": rows,
        }
        print(json.dumps(document))
        return 0
    for line in rows:
        print(
            f"{line['what']}: {line['ours']} ns, {line['rival']} {line['theirs']} ns; "
            f"ratio {line['ratio']} (quartile distance {line['spread']}, n={line['n']})"
        )
    print(f"other programs took {100 * max(shares):.1f} % of the processors")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Strided to strided between two ranks: over mapped memory with flags, against the best way of both MPIs.

The program runs under each MPI (MPICH with its copies between processes and without), ways taking turns.
Ratio = the best MPI way of all runs / ours in the same run as that way, of the medians over rounds; spread:
the distance between the quartiles of ours over its median; floor: the better of the two forms that ours
chooses between. Needs the MPIs of build/mpi.

Usage: .venv/bin/python bench/pack/mapped/run.py [--rounds N] [--json]

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
from dataclasses import dataclass
from pathlib import Path

from corewise import __version__

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SOURCE = ROOT / "src"
KERNELS = ("pack*.cpp", "simplify*.cpp", "layout.cpp", "datatype*.cpp")
MPI_WAYS = ("datatype", "hand", "mpi-pack")
CONSTANT = [(block, 32768 // block, 2 * block) for block in (8 << i for i in range(12))]
FIXED = [(block, 1024, 2 * block) for block in (8, 32, 128, 512, 2048)]
COLUMNS = [(8, 4096, 4160), (32, 1024, 4160), (256, 128, 4160)]


@dataclass(frozen=True)
class Setting:
    """An MPI and how it is run."""

    name: str
    folder: str
    options: tuple[str, ...]
    environment: dict[str, str]


AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
SETTINGS = (
    Setting("openmpi", "openmpi", ("--oversubscribe", "--bind-to", "none"), AS_ROOT),
    Setting("mpich", "mpich", (), {}),
    Setting("mpich without CMA", "mpich", (), {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}),
)


def build(setting: Setting, folder: Path) -> Path:
    """The program for one MPI."""
    program = folder / f"exchange-{setting.folder}"
    if not program.exists():
        found = (path for pattern in KERNELS for path in (SOURCE / "kernels").glob(pattern))
        sources = sorted(str(path) for path in found if not path.name.startswith("packing"))
        compiler = ROOT / "build" / "mpi" / setting.folder / "bin" / "mpicxx"
        command = [str(compiler), "-std=c++20", "-O3", "-march=native", "-DNDEBUG", f"-I{SOURCE}"]
        subprocess.run([*command, str(HERE / "exchange.cpp"), *sources, "-o", str(program)], check=True)
    return program


Result = dict[str, dict[str, list[float]]]


def measure(setting: Setting, program: Path, rounds: int, cases: list[str]) -> tuple[Result, float]:
    """Microseconds of every round by case and way, and the share of the processors that others took."""
    launcher = ROOT / "build" / "mpi" / setting.folder / "bin" / "mpiexec"
    command = [str(launcher), *setting.options, "-n", "2", str(program), str(rounds), *cases]
    environment = {**os.environ, **setting.environment}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    result: Result = {}
    foreign = 0.0
    for line in done.stdout.splitlines():
        fields = line.split()
        if fields[0] == "foreign":
            foreign = float(fields[1])
        else:
            result.setdefault(fields[0], {})[fields[1]] = [float(value) for value in fields[3:]]
    return result, foreign


def row(case: str, results: dict[str, Result]) -> dict[str, object]:
    """One line of the result."""
    medians = {
        (name, way): statistics.median(result[case][way])
        for name, result in results.items()
        for way in MPI_WAYS
    }
    name, way = min(medians, key=lambda key: medians[key])
    ours = results[name][case]["ours"]
    cuts = statistics.quantiles(ours, n=4)
    middle = statistics.median(ours)
    floors = [statistics.median(results[name][case][kind]) for kind in ("direct", "staged")]
    block, count, stride = case.split(":")
    return {
        "id": f"mapped-{block}-{count}-{stride}",
        "what": f"{count} blocks of {block} bytes, {stride} apart on both sides",
        "unit": "us",
        "ours": round(middle, 2),
        "rival": f"{way} under {name}",
        "theirs": round(medians[name, way], 2),
        "floor": round(min(floors), 2),
        "ratio": round(medians[name, way] / middle, 3),
        "spread": round((cuts[2] - cuts[0]) / middle, 3),
        "n": len(ours),
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
    cases = [f"{block}:{count}:{stride}" for block, count, stride in [*CONSTANT, *FIXED, *COLUMNS]]
    cases = list(dict.fromkeys(cases))
    results: dict[str, Result] = {}
    shares: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        for setting in SETTINGS:
            program = build(setting, Path(name))
            results[setting.name], shares[setting.name] = measure(setting, program, arguments.rounds, cases)
    rows = [row(case, results) for case in cases]
    if arguments.json:
        document = {
            "name": "pack-mapped",
            "version": __version__,
            "commit": commit(),
            "machine": "host",
            "foreign": shares,
            "rows": rows,
        }
        print(json.dumps(document))
        return 0
    for line in rows:
        print(
            f"{line['what']}: {line['ours']} us (better of direct and staged {line['floor']}), "
            f"{line['rival']} {line['theirs']} us; ratio {line['ratio']} "
            f"(spread {line['spread']}, n={line['n']})"
        )
    print(
        "other programs took " + ", ".join(f"{100 * share:.1f} % ({name})" for name, share in shares.items())
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

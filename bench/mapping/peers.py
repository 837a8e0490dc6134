"""corewise beside Scotch, SharedMap and KaHIP: weighted distance J of mappings onto trees, and their time.

Every contestant is a file of this folder and runs as a program of its own, on one core, all interleaved.
Timed is CPU time inside the program, without reading and printing. Validity (every rank on a unit of its own)
is checked before a cost is looked at: an invalid mapping never counts, whatever its J. A rival stands for the
best valid mapping over its variants and seeds, with the median time of the variant that found it; corewise
for its median over the same seeds (column `ours`; the best is `ours_best`).

Usage: python bench/mapping/peers.py --build BUILD [--python PEERS_PYTHON] [--seeds N] [--cases A,B] [--tiny]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from peers_problem import Problem, cases

HERE = Path(__file__).resolve().parent
MOST_SECONDS = 300


@dataclass(frozen=True)
class Contestant:
    """One variant of a tool: the command that maps a problem, without problem and seed."""

    tool: str
    variant: str
    command: tuple[str, ...]

    def run(self, problem: Path, seed: int) -> tuple[float, list[int]]:
        """CPU seconds and the unit of every rank; RuntimeError where the program fails."""
        done = subprocess.run(
            [*self.command, str(problem), self.variant, str(seed)],
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        if done.returncode:
            raise RuntimeError(f"{self.tool} {self.variant}: {done.stderr.strip()[-300:]}")
        cpu_s, *units = done.stdout.split()
        return float(cpu_s), [int(unit) for unit in units]


@dataclass
class Outcome:
    """What one variant did on one problem."""

    costs: list[int] = field(default_factory=list)  # of valid mappings
    times_s: list[float] = field(default_factory=list)
    invalid: int = 0

    def add(self, problem: Problem, cpu_s: float, unit_of_rank: list[int]) -> None:
        """Validity first: the cost of an invalid mapping is not even computed."""
        self.times_s.append(cpu_s)
        if problem.is_valid(unit_of_rank):
            self.costs.append(problem.cost(unit_of_rank))
        else:
            self.invalid += 1


def has_module(python: str, module: str) -> bool:
    """Whether that Python has the peer's wheel; it is not imported."""
    code = f"import importlib.util as u; raise SystemExit(u.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def contestants(build: Path, python: str, efforts: list[str]) -> tuple[list[Contestant], list[str]]:
    """Those that are here, and the names of those that are not."""
    found, absent = [], []
    ours = build / "bench/mapping/bench_multilevel"
    if not ours.exists():
        raise SystemExit(f"{ours}: not built; see bench/mapping/README.md")
    found += [Contestant("corewise", effort, (str(ours),)) for effort in efforts]
    scotch = build / "bench/mapping/bench_scotch"
    if scotch.exists():
        found += [Contestant("scotch", variant, (str(scotch),)) for variant in ("default", "balance")]
    else:
        absent.append("scotch")
    for tool, module in (("sharedmap", "chszlablib"), ("kahip", "kahip")):
        if has_module(python, module):
            command = (python, str(HERE / f"{tool}_mapping.py"))
            found += [Contestant(tool, variant, command) for variant in ("fast", "strong")]
        else:
            absent.append(tool)
    return found, absent


def measure(problem: Problem, runners: list[Contestant], seeds: int) -> dict[Contestant, Outcome]:
    """All of them with every seed, the first one rotating."""
    outcomes = {runner: Outcome() for runner in runners}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.txt"
        problem.write(path)
        for seed in range(1, seeds + 1):
            turn = seed % len(runners)
            for runner in [*runners[turn:], *runners[:turn]]:
                outcomes[runner].add(problem, *runner.run(path, seed))
    return outcomes


def spread(values: list[float]) -> float | None:
    """Interquartile range over median."""
    if len(values) < 2:
        return None
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle if middle else None


def rival_rows(
    case: str, ours: tuple[str, Outcome], tool: str, variants: dict[str, Outcome]
) -> list[dict[str, object]]:
    """J and time of one of our efforts against one tool."""
    effort, mine = ours
    name = f"{case}/effort-{effort}"
    valid = {variant: outcome for variant, outcome in variants.items() if outcome.costs}
    best = min(
        valid,
        key=lambda variant: (min(valid[variant].costs), statistics.median(valid[variant].times_s)),
        default=None,
    )
    tried = sum(len(outcome.times_s) for outcome in variants.values())
    rival: dict[str, object] = {
        "rival": tool if best is None else f"{tool} {best}",
        "n": len(mine.times_s),
        "rival_invalid": f"{sum(outcome.invalid for outcome in variants.values())} of {tried}",
    }
    cost = statistics.median(mine.costs)
    theirs = None if best is None else min(valid[best].costs)
    mine_ms = 1e3 * statistics.median(mine.times_s)
    theirs_ms = None if best is None else 1e3 * statistics.median(valid[best].times_s)
    return [
        {"id": f"J/{name}/{tool}", "what": f"weighted distance of {case}; theirs: best valid", "unit": "J",
         "ours": cost, "theirs": theirs, "floor": None, "ratio": theirs / cost if theirs and cost else None,
         "spread": spread([float(value) for value in mine.costs]), "ours_best": min(mine.costs), **rival},
        {"id": f"time/{name}/{tool}", "what": f"CPU time of mapping {case}", "unit": "ms",
         "ours": mine_ms, "theirs": theirs_ms, "floor": None,
         "ratio": theirs_ms / mine_ms if theirs_ms else None, "spread": spread(mine.times_s), **rival},
    ]  # fmt: skip


def rows_of(case: str, outcomes: dict[Contestant, Outcome]) -> list[dict[str, object]]:
    """Every effort of ours against every tool."""
    rows = []
    tools = list(dict.fromkeys(runner.tool for runner in outcomes if runner.tool != "corewise"))
    for mine, outcome in outcomes.items():
        if mine.tool != "corewise":
            continue
        if outcome.invalid:
            raise SystemExit(f"{case}: corewise itself gave an invalid mapping")
        for tool in tools:
            variants = {runner.variant: result for runner, result in outcomes.items() if runner.tool == tool}
            rows += rival_rows(case, (mine.variant, outcome), tool, variants)
    return rows


def commit() -> str:
    """Of the tree this file is in, as far as git knows."""
    git = shutil.which("git")
    if git is None:
        return "unknown"
    describe = ["describe", "--always", "--dirty=+changes", "--abbrev=40", "--exclude", "*"]
    command = [git, "-C", str(HERE), *describe]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description="Mappings onto trees by corewise and by its peers.")
    parser.add_argument("--build", type=Path, required=True, help="a build folder with COREWISE_BENCH=ON")
    parser.add_argument(
        "--python", default=sys.executable, help="a Python with the wheels of requirements-peers.txt"
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--efforts", default="1,4", help="of corewise")
    parser.add_argument("--cases", default="", help="names, separated by commas; all where empty")
    parser.add_argument("--tiny", action="store_true", help="two small cases, as in the test")
    options = parser.parse_args()
    table = cases(options.tiny)
    chosen = options.cases.split(",") if options.cases else list(table)
    unknown = [name for name in chosen if name not in table]
    if unknown:
        parser.error(f"--cases: found {unknown[0]}, allowed: {', '.join(table)}")
    runners, absent = contestants(options.build, options.python, options.efforts.split(","))
    rows: list[dict[str, object]] = []
    for name in chosen:
        print(f"{name} ...", file=sys.stderr)
        rows += rows_of(name, measure(table[name], runners, options.seeds))
    head = {"name": "mapping peers", "commit": commit(), "machine": "trees of the cases", "absent": absent}
    print(json.dumps({**head, "rows": rows}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""How often the best placement is proven, and how long the proof takes.

Every bundled machine and every bundled pattern, with as many ranks as the machine has units, at most 16.
Prints one JSON object: per pair a row `id, what, unit, ours, rival, theirs, floor, ratio, spread, n` (seconds
to the answer, the median of n runs; rival is the budget; floor null) with `proven`, `found_ns`, `bound_ns`,
`gap` and `nodes` besides; then rows for the certificate of 8 ranks on an 8-unit ring. The table goes to
standard error.

    .venv/bin/python bench/mapping/optimum.py --seconds 10

Times are wall times: run it on a quiet machine.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from corewise import __version__
from corewise import _core as core
from corewise.analysis.placement.certificate import check_certificate
from corewise.data.machines import load_machine

MACHINES = ("cell-be", "cell-blade", "chiplet-2s", "flat", "mesh-6x4", "ps3")


def patterns(ranks: int) -> list[core.Pattern]:
    """Every generator with its defaults for this many ranks; those that read a file are left out."""
    made = []
    for generator in core.generators():
        names = [parameter.name for parameter in generator.parameters]
        if "ranks" in names:
            made.append(core.generate(generator.name, {"ranks": str(ranks)}))
    return made


def until(end: float) -> Callable[[], bool]:
    return lambda: time.perf_counter() > end


def proof_row(machine: core.Machine, pattern: core.Pattern, seconds: float, runs: int) -> dict[str, object]:
    times = []
    for _ in range(runs):
        searcher = core.Searcher(machine)
        begin = time.perf_counter()
        found = searcher.search(pattern, nodes=1 << 60, should_stop=until(begin + seconds))
        times.append(time.perf_counter() - begin)
    ours = statistics.median(times)
    return {
        "id": f"mapping.optimum.{machine.name}.{pattern.name}",
        "what": f"{pattern.name}, {pattern.ranks} ranks on {machine.name}: best placement or bound",
        "unit": "s",
        "ours": round(ours, 4),
        "rival": "budget",
        "theirs": seconds,
        "floor": None,
        "ratio": round(seconds / ours, 3),
        "spread": round((max(times) - min(times)) / ours, 3),
        "n": runs,
        "proven": found.proven_optimal,
        "found_ns": found.evaluation.bottleneck_ns,
        "bound_ns": found.bound,
        "gap": found.gap,
        "method": found.method,
        "nodes": found.evaluated,
    }


def random_pattern(seed: int) -> core.Pattern:
    draw = np.random.default_rng(seed)
    matrix = np.zeros((8, 8), dtype=np.uint64)
    for rank in range(8):
        for peer in draw.integers(0, 8, 3):
            if peer != rank:
                matrix[rank, peer] = draw.integers(1, 11)
    return core.Pattern.from_dense(f"random {seed}", matrix)


def ring_rows(count: int) -> list[dict[str, object]]:
    ring = core.Machine.from_synthetic("ring:8")
    searcher = core.Searcher(ring)
    searcher.search(random_pattern(0))
    kinds: dict[str, list[float]] = {"proof": [], "document": [], "check": []}
    for seed in range(count):
        pattern = random_pattern(seed)
        for kind, certify in (("proof", False), ("document", True)):
            begin = time.perf_counter()
            found = searcher.search(pattern, certify=certify)
            kinds[kind].append((time.perf_counter() - begin) * 1e6)
        assert found.certificate is not None
        begin = time.perf_counter()
        check_certificate(ring, [pattern], None, found.certificate)
        kinds["check"].append((time.perf_counter() - begin) * 1e6)
    texts = {
        "proof": "8 ranks on an 8-unit ring: best placement by enumeration, called from Python",
        "document": "the same with a certificate as a document",
        "check": "the certificate checked in Python",
    }
    rows = []
    for kind, times in kinds.items():
        low, middle, high = np.quantile(times, [0.25, 0.5, 0.75])
        rows.append(
            {
                "id": f"mapping.ring8.{kind}",
                "what": texts[kind],
                "unit": "us",
                "ours": round(middle, 1),
                "rival": None,
                "theirs": None,
                "floor": None,
                "ratio": None,
                "spread": round((high - low) / middle, 3),
                "n": len(times),
            }
        )
    return rows


def print_row(row: dict[str, object]) -> None:
    state = "proven" if row["proven"] else f"gap {100 * float(str(row['gap'])):.1f} %"
    print(f"{str(row['id'])[16:]:45} {row['ours']:9.3f} s  {state}", file=sys.stderr, flush=True)


def print_summary(rows: Sequence[dict[str, object]], seconds: float) -> None:
    proofs = [row for row in rows if "proven" in row]
    proven = sum(bool(row["proven"]) for row in proofs)
    print(f"{proven} of {len(proofs)} proven within {seconds:g} s", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="budget of one search")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--machines", nargs="*", default=MACHINES)
    parser.add_argument("--patterns", nargs="*", help="names of generators; all where none is given")
    parser.add_argument("--ranks", type=int, default=16, help="at most so many")
    parser.add_argument("--ring-patterns", type=int, default=50)
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args()
    rows: list[dict[str, object]] = []
    for name in chosen.machines:
        machine = load_machine(name)
        for pattern in patterns(min(chosen.ranks, len(machine.units))):
            if not chosen.patterns or pattern.name in chosen.patterns:
                rows.append(proof_row(machine, pattern, chosen.seconds, chosen.runs))
                print_row(rows[-1])
    rows += ring_rows(chosen.ring_patterns) if chosen.ring_patterns else []
    print_summary(rows, chosen.seconds)
    document = {
        "name": "mapping optimum",
        "version": __version__,
        "commit": None,
        "machine": None,
        "rows": rows,
    }
    text = json.dumps(document, indent=1)
    if chosen.output:
        chosen.output.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()

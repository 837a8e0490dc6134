#!/usr/bin/env python3
"""How far ratios of `corewise bench pack` are from 1 when nothing differs.

Rounds of launches as that command has them (apps/packing, both sweeps of paper 004, one side packed or
both), with the packing library switched off (COREWISE_PACKING=off): the program with datatypes beside
itself. Ratio = without the library / with it switched off, counted in each launch's own contiguous messages;
its median over the rounds in which the cores stayed; spread: the distance between the quartiles of the
second over its median. What a smallest ratio is here, it may be there without any loss.

Usage: .venv/bin/python bench/pack/noise/run.py [--mpi NAME] [--rounds N] [--json]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

import racing  # noqa: E402
from pack.asked import asked  # noqa: E402

from corewise.bench.pack.rows import rows_of  # noqa: E402
from corewise.bench.pack.runs import FULL, Study, build_for, study  # noqa: E402

LIMIT = 0.95
"""What no ratio may be below, in the table of `corewise bench pack`."""


def rows(measured: Study) -> Iterator[racing.Row]:
    """A row per size and direction."""
    for row in rows_of(measured):
        yield {**row.to_json(), "what": f"{row.what}, nothing packed by the library", "rival": "itself"}


def sentence(row: racing.Row) -> str:
    """A row for people."""
    return f"{row['id']}: {row['ours']} us, itself {row['theirs']} us; ratio {row['ratio']} (n={row['n']})"


def summary(title: str, found: Sequence[racing.Row]) -> str:
    """What the rows of a setting say together."""
    ratios = sorted(float(str(row["ratio"])) for row in found)
    mean, under = statistics.geometric_mean(ratios), sum(ratio < LIMIT for ratio in ratios)
    extremes = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
    return f"{title}: geometric mean {mean:.3f}, {extremes}; {under} of {len(ratios)} below {LIMIT}"


def main() -> int:
    """Runs and prints."""
    arguments, settings = asked(__doc__, 4)
    effort = replace(FULL, rounds=arguments.rounds)
    found: list[racing.Row] = []
    said: list[str] = []
    shares: list[float] = []
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as folder:
        for setting in settings:
            program = build_for(setting.mpi, Path(folder))
            measured = study(setting, "noise", effort, program, knob="off").steady()
            own = list(rows(measured))
            found += own
            said.append(summary(setting.title, own))
            shares += [launch.foreign for launch in measured.launches()]
    loudest = round(max(shares), 4)
    racing.show("pack-noise", found, sentence, as_json=arguments.json, foreign=loudest, said=said)
    if not arguments.json:
        print("\n".join([*said, f"other programs took up to {100 * loudest:.1f} % of the processors"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Which algorithm of a collective is quickest on the simulated Cell? A sweep over all that may be chosen.

Writes tuning/collectives-cell.csv (docs/formats/tuning.md), which `corewise explain` and `corewise paper
collectives` read. Two selections: `paper`, the algorithms of paper 001 on ranks that have its two buffers of
16 KB, every call closed by a barrier; `all`, every algorithm on ranks that have two buffers of 14 KB and
slots for payloads in their metadata, with and without the closing barrier. Data are in memory 0.

First every algorithm's parameters are looked for, one after the other, at the sizes SEARCHED; an algorithm
that takes HOPELESS times the quickest at NEAR_LARGE_BYTES or more is not looked at above. Then all that were
found run at every size, from LARGE_BYTES on only those that were found near it, and for `all` whatever won
for `paper`.
Times are simulated: a run again gives the same file but for its day. Rows that the output holds of other
collectives and ranks than those asked for stay.

Usage: .venv/bin/python bench/collectives/tune.py [--collectives NAME,...] [--ranks N,...] [--output FILE]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corewise import __version__
from corewise.analysis.selection import Configuration, rows_of_sweep, winner
from corewise.data.tuning import (
    COLLECTIVES,
    Selection,
    Tuning,
    TuningRow,
    Value,
    load_tuning,
    save_tuning,
)
from corewise.papers.collectives.cases import MACHINE, TRIED, Case, Choices, choices, run_cases

ROOT = Path(__file__).resolve().parent.parent.parent
OUTPUT = ROOT / "tuning" / "collectives-cell.csv"
COMMAND = ".venv/bin/python bench/collectives/tune.py"
RANKS = tuple(range(2, 17))

KB = 1024
OPERANDS = (
    *(4, 12, 64, 128, 136, 256, 512, KB, 2 * KB, 4 * KB, 8 * KB, 16 * KB, 32 * KB, 64 * KB),
    *(256 * KB, 1024 * KB),
)
"""136 bytes are what fits into the metadata."""
BLOCKS = (4, 64, 128, 136, KB, 4 * KB, 16 * KB, 64 * KB)
"""Of one rank: the whole is `ranks` times, an alltoall's `ranks` times `ranks` times as much."""
SIZES = {
    "barrier": (0,),
    "broadcast": OPERANDS,
    "reduce": OPERANDS,
    "allreduce": (*OPERANDS[:-2], 128 * KB, *OPERANDS[-2:]),
    "scan": BLOCKS,
    "exscan": BLOCKS,
    "gather": BLOCKS,
    "scatter": BLOCKS,
    "allgather": BLOCKS,
    "alltoall": BLOCKS[:-1],
    "reduce_scatter": BLOCKS[:-1],
    "reduce_scatter_block": BLOCKS[:-1],
}
"""All-reduces have 128 KB too: what is quickest for 64 and for 256 KB is not there. The vector versions have
no rows: what the blocks of others are, not every rank knows."""
SEARCHED = (0, 128, KB, 4 * KB, 16 * KB, 64 * KB, 256 * KB)
LARGE_BYTES = 64 * KB
NEAR_LARGE_BYTES = 16 * KB
HOPELESS = 3.0


@dataclass(frozen=True)
class Place:
    """Where a sweep is: a selection for a collective on so many ranks."""

    selection: Selection
    collective: str
    ranks: int
    known: dict[Case, float | None] = field(default_factory=dict, compare=False)
    """Latency in us of what was simulated; None: an algorithm that cannot do it."""

    def times(self, size: int, tried: Iterable[Configuration]) -> dict[Configuration, float]:
        """What the configurations take that can do the size; each is simulated once."""
        eager = self.selection == "all"
        cases = [Case(self.collective, self.ranks, size, each, eager=eager) for each in tried]
        new = [case for case in cases if case not in self.known]
        times = run_cases(new, leave_out_unusable=True, back_to_back=False)
        self.known.update((case, times[case].latency_us if case in times else None) for case in new)
        known = {case.configuration: self.known[case] for case in cases}
        return {each: time_us for each, time_us in known.items() if time_us is not None}


def rows_of(place: Place, also: Iterable[Configuration] = ()) -> list[TuningRow]:
    """The rows of a collective on so many ranks; `also` is tried at every size too."""
    sizes = SIZES[place.collective]
    running = choices(place.collective, place.selection, place.ranks)
    found: dict[Configuration, int] = {}  # with the largest size at which it was
    for size in sizes:
        if size not in SEARCHED:
            continue
        times = search(place, size, running)
        found.update(dict.fromkeys(times, size))
        if size >= NEAR_LARGE_BYTES:
            limit = HOPELESS * min(times.values())
            hopeful = {chosen.algorithm for chosen, time_us in times.items() if time_us <= limit}
            running = [each for each in running if each.algorithm in hopeful]
            found.update(dict.fromkeys(other_pieces(winner(times), running), size))
    found.update(dict.fromkeys(also, sizes[-1]))
    swept = {}
    for size in sizes:
        least = min(NEAR_LARGE_BYTES, max(found.values())) if size >= LARGE_BYTES else 0
        swept[size] = place.times(size, [each for each, at in found.items() if at >= least])
    return rows_of_sweep(place.selection, place.collective, place.ranks, swept)


def other_pieces(best: Configuration, running: Sequence[Choices]) -> list[Configuration]:
    """The same with other bytes moved at a time, which larger data may like better."""
    return [
        each.configuration({**dict(best.parameters), "piece": piece})
        for each in running
        if each.algorithm == best.algorithm
        for piece in each.values.get("piece", ())
    ]


def search(place: Place, size: int, running: Sequence[Choices]) -> dict[Configuration, float]:
    """For every algorithm that can do the size, what it takes with good parameters."""
    chosen: dict[str, dict[str, Value]] = {each.algorithm: {} for each in running}
    for parameter in TRIED:
        tried = {
            (each.algorithm, value): each.configuration({**chosen[each.algorithm], parameter: value})
            for each in running
            for value in each.values.get(parameter, ())
        }
        times = place.times(size, tried.values())
        for each in running:
            able = [
                value for value in each.values.get(parameter, ()) if tried[each.algorithm, value] in times
            ]
            if able:
                best = min(able, key=lambda value: times[tried[each.algorithm, value]])
                chosen[each.algorithm][parameter] = best
    return place.times(size, [each.configuration(chosen[each.algorithm]) for each in running])


def tune(collectives: Sequence[str], ranks: Sequence[int], kept: Sequence[TuningRow]) -> Tuning:
    """Everything asked for, beside the rows of a file that are about something else."""
    rows = [row for row in kept if row.collective not in collectives or row.ranks not in ranks]
    for collective in collectives:
        for count in ranks:
            began = time.monotonic()
            of_paper = rows_of(Place("paper", collective, count))
            winners = [Configuration(row.won.algorithm, row.won.parameters) for row in of_paper]
            rows += of_paper + rows_of(Place("all", collective, count), winners)
            took = time.monotonic() - began
            print(f"{collective} on {count}: {took:.1f} s", file=sys.stderr, flush=True)
    return Tuning(
        port="cell",
        machine=MACHINE,
        description="simulated latency, synchronised start to last rank done, data in memory 0",
        who=f"corewise {__version__}",
        when=datetime.date.today().isoformat(),
        command=command_for(rows),
        also=("cell-be",),
        rows=tuple(sorted(rows, key=lambda row: (COLLECTIVES.index(row.collective), row.set, row.ranks))),
    )


def command_for(rows: Iterable[TuningRow]) -> str:
    """What makes a file with just these collectives and ranks; several commands where their ranks differ."""
    counts: dict[str, set[int]] = {}
    for row in rows:
        counts.setdefault(row.collective, set()).add(row.ranks)
    names: dict[tuple[int, ...], list[str]] = {}
    for name in sorted(counts, key=COLLECTIVES.index):
        names.setdefault(tuple(sorted(counts[name])), []).append(name)
    commands = []
    for ranks, some in names.items():
        collectives = [] if set(some) == set(SIZES) else ["--collectives", ",".join(some)]
        limited = [] if ranks == RANKS else ["--ranks", ",".join(map(str, ranks))]
        commands.append(" ".join([COMMAND, *collectives, *limited]))
    return " && ".join(commands)


def main() -> None:
    """Reads the command line, sweeps, writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collectives", default=",".join(SIZES), help="names, joined by commas")
    parser.add_argument("--ranks", default=",".join(map(str, RANKS)), help="numbers, joined by commas")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    asked = parser.parse_args()
    kept = load_tuning(asked.output).rows if asked.output.exists() else ()
    tuning = tune(asked.collectives.split(","), [int(each) for each in asked.ranks.split(",")], kept)
    save_tuning(tuning, asked.output)


if __name__ == "__main__":
    main()

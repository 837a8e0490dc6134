"""Compares a profile's point-to-point matrix with the bytes that the program counted itself.

Usage: compare_counts.py PROFILE.cw COUNTS.csv

Exit status 0 when every pair of ranks agrees in bytes and messages, 1 otherwise; differences are listed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from corewise.data.profile import load_profile

Entries = dict[tuple[int, int], tuple[int, int]]


def counted(path: Path) -> Entries:
    """(from, to) -> (bytes, messages) of a count file with header ``from,to,bytes,count``."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        (int(r["from"]), int(r["to"])): (int(r["bytes"]), int(r["count"]))
        for r in rows
        if int(r["count"]) > 0
    }


def recorded(path: Path) -> Entries:
    """The same from a profile."""
    summed = load_profile(path).pattern().summed()
    columns = summed.phases[0].coordinates() if summed.phases else ((), (), (), ())
    rows = zip(*columns, strict=True)
    return {(int(sender), int(receiver)): (int(size), int(count)) for sender, receiver, size, count in rows}


def main(profile: str, counts: str) -> int:
    """Compares and prints."""
    program, trace = counted(Path(counts)), recorded(Path(profile))
    differences = [
        pair for pair in sorted(program.keys() | trace.keys()) if program.get(pair) != trace.get(pair)
    ]
    for pair in differences:
        print(f"{pair[0]} -> {pair[1]}: counted {program.get(pair)}, profile {trace.get(pair)}")
    total = sum(size for size, _ in trace.values())
    if not differences:
        print(f"yes: {len(trace)} pairs of ranks, {total} bytes, each equal in bytes and messages")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))

"""What the programs of bench/pack share: options, the spread of numbers, rows, and how they are shown.

A row is a dict of id, what, unit, ours, rival, theirs, floor, ratio, spread, n; a bench may add keys. Ratios
are taken round by round, so that whatever disturbs a round disturbs both.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from corewise import __version__

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
Row = dict[str, object]


def options(text: str | None, rounds: int) -> argparse.ArgumentParser:
    """A parser with what every bench takes.

    Parameters
    ----------
    text : the program's docstring.
    rounds : how many it takes without being told.
    """
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--rounds", type=int, default=rounds, help="measurements of each contestant, at least 2"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def quartiles(values: Sequence[float]) -> float:
    """Spread: the distance between the quartiles."""
    cuts = statistics.quantiles(values, n=4)
    return cuts[2] - cuts[0]


def middle(values: Sequence[float], digits: int = 1) -> float | None:
    """The median, rounded; None of nothing."""
    return round(statistics.median(values), digits) if values else None


def compared(theirs: Sequence[float], ours: Sequence[float]) -> Row:
    """How much longer a rival takes, round by round: ratio (its median), spread and n of a row."""
    ratios = [rival / own for rival, own in zip(theirs, ours, strict=True)]
    return {"ratio": middle(ratios, 3), "spread": round(quartiles(ratios), 3), "n": len(ratios)}


def commit() -> str | None:
    """The checkout's commit, None outside one."""
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or None


def document(name: str, rows: list[Row], **more: object) -> str:
    """What --json prints."""
    head = {"name": name, "version": __version__, "commit": commit(), "machine": "host"}
    return json.dumps({**head, **more, "rows": rows})


def show(
    name: str, rows: list[Row], sentence: Callable[[Row], str], *, as_json: bool, **more: object
) -> None:
    """Prints a result: one JSON object, or a sentence for each row."""
    print(document(name, rows, **more) if as_json else "\n".join(map(sentence, rows)))


def packing_sources() -> list[str]:
    """What a plan is made of."""
    return sorted(str(path) for path in (SOURCE / "kernels" / "packing").glob("*/*.cpp"))


class Watch:
    """The share of the processors that programs other than this one's children take, from its making on."""

    def __init__(self) -> None:
        self._begin, self._all, self._own = time.monotonic(), self._busy(), sum(os.times()[:4])

    def foreign(self) -> float:
        """The share so far, 0 to 1."""
        own = sum(os.times()[:4]) - self._own
        seconds = time.monotonic() - self._begin
        return max(0.0, self._busy() - self._all - own) / (seconds * (os.cpu_count() or 1))

    @staticmethod
    def _busy() -> float:
        """Processor seconds that all programs have used."""
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8]
        user, nice, system, _, _, irq, soft = map(float, fields)
        return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")

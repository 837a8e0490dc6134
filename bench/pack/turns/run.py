"""What is it worth that buffers of sent messages take turns? Packed messages with turns beside without.

Per round each MPI's program (apps/packing) runs with everything packed, once from the same buffer again and
once from buffers that take turns; which is first alternates. A row is a size of message, half dense in runs
of 256 bytes, one side packed or both. Ratio = without turns / with them, counted in each launch's own
contiguous messages; its median over the rounds; spread: the distance between the quartiles of ours over its
median. Needs the installed corewise, and an MPI that `corewise doctor` finds.

Usage: .venv/bin/python bench/pack/turns/run.py [--mpi NAME] [--rounds N] [--json]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

import racing  # noqa: E402
from pack.asked import asked  # noqa: E402

from corewise.bench.pack.rows import rows_of  # noqa: E402
from corewise.bench.pack.runs import Study, build_for  # noqa: E402
from corewise.bench.pack.turns import turn_studies  # noqa: E402


def rows(rotate: int, measured: Study) -> Iterator[racing.Row]:
    """A row per size and direction."""
    for row in rows_of(measured):
        turned = f"{row.what}, everything packed, from buffers that take turns in {rotate} bytes"
        yield {**row.to_json(), "id": f"{row.id}/{rotate}", "what": turned, "rival": "the same buffer again"}


def sentence(row: racing.Row) -> str:
    """A row for people."""
    return (
        f"{row['id']}: {row['ours']} us, the same buffer again {row['theirs']} us, "
        f"contiguous {row['floor']} us; "
        f"ratio {row['ratio']} (spread {row['spread']}, n={row['n']})"
    )


def main() -> int:
    """Runs and prints."""
    arguments, settings = asked(__doc__, 3)
    found: list[racing.Row] = []
    shares: list[float] = []
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as folder:
        for setting in settings:
            program = build_for(setting.mpi, Path(folder))
            for rotate, measured in turn_studies(setting, program, rounds=arguments.rounds).items():
                found += rows(rotate, measured)
                shares += [launch.foreign for launch in measured.launches()]
    racing.show("pack-turns", found, sentence, as_json=arguments.json, foreign=round(max(shares), 4))
    if not arguments.json:
        print(f"other programs took up to {100 * max(shares):.1f} % of the processors")
    return 0


if __name__ == "__main__":
    sys.exit(main())

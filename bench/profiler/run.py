"""How much does recording add to a call? Contestants interleaved, round by round, in one run.

Per round and MPI: the floor (floor.c), the program without a tool, and under the preload with the recording
thread draining, a helper thread draining, and as a flight recorder. Added cost = with - without, in the same
round; ratio = floor / added (over 1: cheaper than the floor; the demand is 0.67). One row more: bytes that
a call takes in the drained file.

Usage: .venv/bin/python bench/profiler/run.py [--rounds N] [--mpi PREFIX]... [--json]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from corewise.mpi import build, find, launch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[0]))

import racing  # noqa: E402

CONTESTANTS = {"corewise": "drain", "thread": "thread", "flight": "flight"}
"""Rows, and the value of COREWISE_TRACE_MODE."""
CALLS = 60 * 20000
"""Of send_null.c."""
FIRST_BLOCK, BLOCK_ALIGN = 4096 + 4096 * 8, 64


def compile_c(source: str, output: Path, *flags: str) -> Path:
    """One benchmark program, optimised."""
    subprocess.run(["gcc", "-O2", str(HERE / source), "-o", str(output), *flags], check=True)
    return output


def measure(command: list[str], environment: dict[str, str]) -> float:
    """Nanoseconds per call that one run prints."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def round_of(mpi: find.MpiLibrary, program: Path, floor: Path, folder: Path) -> dict[str, float]:
    """One measurement of every contestant, one after the other."""
    plan = launch.plan([str(program)], ranks=1, mpi=str(mpi.launcher))
    environment = launch.environment(plan)
    recorded = {"LD_PRELOAD": str(build.build_preload(mpi))}
    result = {"floor": measure([str(floor)], environment), "none": measure(list(plan.command), environment)}
    for name, mode in CONTESTANTS.items():
        with tempfile.TemporaryDirectory(dir=folder) as traces:
            variables = {**recorded, "COREWISE_TRACE_DIR": traces, "COREWISE_TRACE_MODE": mode}
            result[name] = measure(plan.with_environment(variables), environment)
            if mode == "drain":
                result["bytes"] = chunk_bytes(Path(traces) / "rank-00000.cwt") / CALLS
    return result


def chunk_bytes(trace: Path) -> int:
    """Bytes of the chunk blocks of a rank's file: what was drained."""
    data, at, total = trace.read_bytes(), FIRST_BLOCK, 0
    while at + 16 <= len(data):
        kind, _, size = struct.unpack_from("<4sIQ", data, at)
        total += size if kind == b"CHNK" else 0
        at += size if kind != bytes(4) else BLOCK_ALIGN
    return total


def row(mpi: find.MpiLibrary, name: str, rounds: list[dict[str, float]]) -> racing.Row:
    """One line of the result."""
    added = [r[name] - r["none"] for r in rounds]
    ratios = [r["floor"] / (r[name] - r["none"]) for r in rounds]
    return {
        "id": f"profiler-{mpi.name}-{name}",
        "what": f"added CPU time per recorded MPI_Send(PROC_NULL), {mpi.name} {mpi.version}, {name}",
        "unit": "ns",
        "ours": round(statistics.median(added), 2),
        "rival": "no tool",
        "theirs": round(statistics.median(r["none"] for r in rounds), 2),
        "floor": round(statistics.median(r["floor"] for r in rounds), 2),
        "ratio": round(statistics.median(ratios), 3),
        "spread": round(racing.quartiles(added), 2),
        "n": len(rounds),
    }


def libraries(prefixes: list[str]) -> list[find.MpiLibrary]:
    """Those to measure."""
    if prefixes:
        return [find.from_prefix(Path(prefix)) for prefix in prefixes]
    return [library for library in find.find_all() if library.name != "abi"]


def bytes_row(mpi: find.MpiLibrary, rounds: list[dict[str, float]]) -> racing.Row:
    """What a drained call takes in the file, against the 32 bytes of its record."""
    values = [r["bytes"] for r in rounds]
    return {
        "id": f"profiler-{mpi.name}-bytes",
        "what": f"bytes per recorded MPI_Send(PROC_NULL) in the drained file, {mpi.name} {mpi.version}",
        "unit": "bytes",
        "ours": round(statistics.median(values), 2),
        "rival": "raw record",
        "theirs": 32,
        "floor": None,
        "ratio": round(32 / statistics.median(values), 2),
        "spread": round(racing.quartiles(values), 2),
        "n": len(rounds),
    }


def sentence(line: racing.Row) -> str:
    """A row for people."""
    if line["unit"] == "bytes":
        return f"{line['what']}: {line['ours']} bytes (n={line['n']})"
    return (
        f"{line['what']}: {line['ours']} ns (quartile distance {line['spread']}, n={line['n']}); "
        f"no tool {line['theirs']} ns, floor {line['floor']} ns, floor/added {line['ratio']}"
    )


def main() -> int:
    """Runs and prints."""
    parser = racing.options(__doc__, 9)
    parser.add_argument(
        "--mpi", action="append", default=[], help="a prefix; default: every MPI that is found"
    )
    arguments = parser.parse_args()
    rows: list[racing.Row] = []
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        folder = Path(name)
        floor = compile_c("floor.c", folder / "floor")
        for mpi in libraries(arguments.mpi):
            program = compile_c(
                "send_null.c", folder / f"send_null.{mpi.name}", *mpi.compile_flags, *mpi.link_flags
            )
            rounds = [round_of(mpi, program, floor, folder) for _ in range(arguments.rounds)]
            rows += [row(mpi, contestant, rounds) for contestant in CONTESTANTS]
            rows.append(bytes_row(mpi, rounds))
    racing.show("profiler", rows, sentence, as_json=arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

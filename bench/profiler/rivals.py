"""How much does recording cost beside other tracing tools? All under one MPI, interleaved, in one run.

The MPI is Debian's Open MPI, for which Debian packages EZTrace (a tracing tool that writes OTF2). Per round:
the floor (floor.c), then no tool, corewise draining, corewise as a flight recorder, and EZTrace, each for the
cheapest call (send_null.c) and for an 8-byte ping-pong (ping_pong.c, two ranks). Added cost = with - without,
in the same round; ratio = theirs / ours, over 1: ours is better. Trace bytes per call and memory too.

Usage: .venv/bin/python bench/profiler/rivals.py [--rounds N] [--json]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from corewise.mpi import build, find, launch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[0]))

import racing  # noqa: E402

NULL_CALLS, PING_PONG_CALLS = 60 * 20000, 2 * 40 * 4000
CONTESTANTS = ("none", "corewise", "flight", "eztrace")
Round = dict[str, float]


def compile_c(mpi: find.MpiLibrary | None, source: str, folder: Path) -> Path:
    """One benchmark program, optimised."""
    output = folder / Path(source).stem
    flags = (*mpi.compile_flags, *mpi.link_flags) if mpi is not None else ()
    subprocess.run(["gcc", "-O2", str(HERE / source), "-o", str(output), *flags], check=True)
    return output


def command(
    mpi: find.MpiLibrary, contestant: str, program: Path, ranks: int, traces: Path
) -> tuple[list[str], dict[str, str]]:
    """The launcher's words and environment under which a contestant runs a program."""
    plan = launch.plan([str(program)], ranks=ranks, mpi=str(mpi.launcher))
    environment = launch.environment(plan)
    if contestant == "none":
        return list(plan.command), environment
    if contestant == "eztrace":
        words = list(plan.command)
        at = words.index(str(program))
        return [
            *words[:at],
            "eztrace",
            "-t",
            "openmpi",
            "-o",
            str(traces / "trace"),
            *words[at:],
        ], environment
    variables = {
        "LD_PRELOAD": str(build.build_preload(mpi)),
        "COREWISE_TRACE_DIR": str(traces),
        "COREWISE_TRACE_MODE": "flight" if contestant == "flight" else "drain",
    }
    return plan.with_environment(variables), environment


def output_of(words: Sequence[str], environment: Mapping[str, str], folder: Path) -> list[float]:
    """Numbers in the last line that holds nothing else."""
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, cwd=folder)
    for line in reversed(done.stdout.splitlines()):
        try:
            return [float(word) for word in line.split()]
        except ValueError:
            continue
    raise RuntimeError(f"{words[0]}: printed no numbers:\n{done.stdout}{done.stderr}")


def trace_bytes(folder: Path) -> int:
    """Room that the files of a folder take on disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def round_of(mpi: find.MpiLibrary, programs: Mapping[str, Path], folder: Path) -> Round:
    """Every contestant once."""
    result = {"floor": output_of([str(programs["floor"])], os.environ, folder)[-1]}
    for contestant in CONTESTANTS:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            traces = Path(name)
            words, environment = command(mpi, contestant, programs["send_null"], 1, traces)
            result[f"{contestant} null"] = output_of(words, environment, folder)[-1]
            result[f"{contestant} bytes"] = trace_bytes(traces) / NULL_CALLS
        with tempfile.TemporaryDirectory(dir=folder) as name:
            words, environment = command(mpi, contestant, programs["ping_pong"], 2, Path(name))
            resident, per_call = output_of(words, environment, folder)[-2:]
            result[f"{contestant} pp"] = per_call
            result[f"{contestant} resident"] = resident
    return result


def added(rounds: Sequence[Round], contestant: str, what: str) -> list[float]:
    """With - without, round by round."""
    return [each[f"{contestant} {what}"] - each[f"none {what}"] for each in rounds]


def row(rounds: Sequence[Round], ours: str, what: str, text: str, unit: str, *, floor: bool) -> racing.Row:
    """One line of the result: ours beside EZTrace."""
    mine, theirs = added(rounds, ours, what), added(rounds, "eztrace", what)
    ratios = [them / us if us > 0 else float("inf") for us, them in zip(mine, theirs, strict=True)]
    return {
        "id": f"rivals-{what}-{ours}",
        "what": f"{text}, {ours}",
        "unit": unit,
        "ours": round(statistics.median(mine), 2),
        "rival": "EZTrace",
        "theirs": round(statistics.median(theirs), 2),
        "floor": round(statistics.median(each["floor"] for each in rounds), 2) if floor else None,
        "ratio": round(statistics.median(ratios), 2),
        "spread": round(racing.quartiles(ratios), 2),
        "n": len(rounds),
    }


def rows_of(rounds: Sequence[Round]) -> list[racing.Row]:
    """All lines."""
    return [
        line
        for ours in ("corewise", "flight")
        for line in (
            row(rounds, ours, "null", "added CPU time per 8-byte send to MPI_PROC_NULL", "ns", floor=True),
            row(rounds, ours, "pp", "added wall time per call of an 8-byte ping-pong", "ns", floor=False),
            row(rounds, ours, "bytes", "trace bytes per call", "B", floor=False),
            row(
                rounds,
                ours,
                "resident",
                "added largest resident size, shared pages included",
                "KiB",
                floor=False,
            ),
        )
    ]


def sentence(line: racing.Row) -> str:
    """A row for people."""
    text = (
        f"{line['what']}: {line['ours']} {line['unit']}, EZTrace {line['theirs']}; ratio {line['ratio']} "
        f"(quartile distance {line['spread']}, n={line['n']})"
    )
    return text + (f"; floor {line['floor']}" if line["floor"] is not None else "")


def main() -> int:
    """Runs and prints."""
    arguments = racing.options(__doc__, 9).parse_args()
    launcher = shutil.which("mpiexec.openmpi")
    if launcher is None or shutil.which("eztrace") is None:
        print("rivals.py: needs Debian's packages openmpi-bin, libopenmpi-dev and eztrace", file=sys.stderr)
        return 1
    mpi = find.from_launcher(launcher)
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        folder = Path(name)
        programs = {"floor": compile_c(None, "floor.c", folder)}
        for stem in ("send_null", "ping_pong"):
            programs[stem] = compile_c(mpi, f"{stem}.c", folder)
        rows = rows_of([round_of(mpi, programs, folder) for _ in range(arguments.rounds)])
    racing.show("profiler", rows, sentence, as_json=arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

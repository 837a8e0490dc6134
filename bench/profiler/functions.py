"""What does recording add to a function's entry and exit? Contestants interleaved, round by round.

Per round: the program without hooks, with libc's empty hooks, with ours (draining, and as a flight recorder),
under the MPI that is named, and with uftrace where it is installed. Added cost = with - without hooks, in the
same round; thread CPU time per pair, the least of 60 repetitions of 20 000 pairs. The demand is 60 ns, the
aim 50.

Usage: .venv/bin/python bench/profiler/functions.py [--mpi NAME] [--rounds N] [--json]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from corewise.mpi import build, find, launch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[0]))

import racing  # noqa: E402

HOOKS = "-finstrument-functions"


def compiled(output: Path, *flags: str) -> Path:
    """The program, optimised."""
    source = str(HERE / "functions.c")
    subprocess.run(["gcc", "-O2", source, "-o", str(output), *flags], check=True)
    return output


def measure(command: list[str], environment: dict[str, str]) -> float:
    """Nanoseconds per pair that one run prints."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def recorded(mpi: find.MpiLibrary, program: Path, mode: str, folder: Path) -> float:
    """The program under the preload."""
    plan = launch.plan([str(program)], ranks=1, mpi=str(mpi.prefix))
    with tempfile.TemporaryDirectory(dir=folder) as traces:
        variables = {
            "LD_PRELOAD": str(build.build_preload(mpi)),
            "COREWISE_TRACE_DIR": traces,
            "COREWISE_TRACE_MODE": mode,
        }
        return measure(plan.with_environment(variables), launch.environment(plan))


def contestants(mpi: find.MpiLibrary, folder: Path) -> dict[str, Path]:
    """The program as each contestant needs it."""
    linked = ["-DWITH_MPI", *mpi.compile_flags, *mpi.link_flags]
    return {
        "none": compiled(folder / "none"),
        "hooks": compiled(folder / "hooks", HOOKS),
        "ours": compiled(folder / "ours", HOOKS, *linked),
    }


def round_of(mpi: find.MpiLibrary, programs: dict[str, Path], folder: Path) -> dict[str, float]:
    """One measurement of every contestant, one after the other."""
    environment = dict(os.environ)
    result = {
        "none": measure([str(programs["none"])], environment),
        "empty hooks": measure([str(programs["hooks"])], environment),
        "drain": recorded(mpi, programs["ours"], "drain", folder),
        "flight": recorded(mpi, programs["ours"], "flight", folder),
    }
    uftrace = shutil.which("uftrace")
    if uftrace is not None:
        with tempfile.TemporaryDirectory(dir=folder) as traces:
            command = [uftrace, "record", "--no-pager", "-d", f"{traces}/data", str(programs["hooks"])]
            result["uftrace"] = measure(command, environment)
    return result


def row(mpi: find.MpiLibrary, name: str, rounds: list[dict[str, float]]) -> racing.Row:
    """One line of the result; the rival is uftrace where it ran, else the compiler's empty hooks."""
    rival = "uftrace" if "uftrace" in rounds[0] else "empty hooks"
    added = [r[name] - r["none"] for r in rounds]
    theirs = [r[rival] - r["none"] for r in rounds]
    return {
        "id": f"profiler-functions-{mpi.name}-{name}",
        "what": f"added CPU time per function entry and exit, {mpi.name} {mpi.version}, {name}",
        "unit": "ns",
        "ours": round(statistics.median(added), 2),
        "rival": rival,
        "theirs": round(statistics.median(theirs), 2),
        "empty_hooks": round(statistics.median(r["empty hooks"] - r["none"] for r in rounds), 2),
        "ratio": round(statistics.median(t / o for t, o in zip(theirs, added, strict=True)), 3),
        "spread": round(racing.quartiles(added), 2),
        "n": len(rounds),
    }


def sentence(line: racing.Row) -> str:
    """A row for people."""
    return (
        f"{line['what']}: {line['ours']} ns (quartile distance {line['spread']}, n={line['n']}); "
        f"{line['rival']} {line['theirs']} ns, ratio {line['ratio']}; "
        f"empty hooks {line['empty_hooks']} ns"
    )


def main() -> int:
    """Runs and prints."""
    parser = racing.options(__doc__, 9)
    parser.add_argument("--mpi")
    arguments = parser.parse_args()
    mpi = find.find(arguments.mpi)
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        folder = Path(name)
        programs = contestants(mpi, folder)
        rounds = [round_of(mpi, programs, folder) for _ in range(arguments.rounds)]
    rows = [row(mpi, contestant, rounds) for contestant in ("drain", "flight")]
    racing.show("profiler-functions", rows, sentence, as_json=arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

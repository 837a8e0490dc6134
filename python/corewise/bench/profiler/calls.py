"""What does recording add to an MPI call: time, bytes, memory? Beside no tool, the floor, and EZTrace.

Per round and MPI: the floor (two time stamps and one 32-byte store, the least that a tracer can do), then the
program without a tool, under the recorder with the recording thread draining, with a helper thread draining,
and as a flight recorder; under Debian's Open MPI, for which Debian packages it, under EZTrace. Each runs the
cheapest call (an 8-byte send to MPI_PROC_NULL), an 8-byte ping-pong of two ranks, or both. Added cost is the
difference to the program without a tool, in the same round.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
import os
import platform
import shutil
import struct
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from corewise.base import late
from corewise.errors import RunError

with late.imports():
    from corewise.bench import mpis
    from corewise.bench.programs import Program
    from corewise.bench.rounds import alone, beside, in_turns, middle
    from corewise.bench.rows import Listener, Row
    from corewise.mpi import build, launch
    from corewise.mpi.find import MpiLibrary

MODES = {"corewise": "drain", "thread": "thread", "flight": "flight"}
"""Contestants of ours, and the value of COREWISE_TRACE_MODE."""
EZTRACE_PROGRAM, FLOOR = "eztrace", "floor"
CALLS = 60 * 20000
"""Of send_null.c."""
PARTS = CALLS_PART, PING_PONG_PART = "calls", "ping-pong"
RAW_BYTES = 32
DEMAND = 0.67
"""Of floor over added cost, draining."""
_FIRST_BLOCK, _BLOCK_ALIGN = 4096 + 4096 * 8, 64


@dataclass(frozen=True)
class Measurement:
    """One contestant in one round: of the cheapest call time and bytes, of the ping-pong time and memory.

    `drained_bytes` are those of the file's chunks. What was not measured is NaN.
    """

    null_ns: float = math.nan
    ping_pong_ns: float = math.nan
    resident_kib: float = math.nan
    disk_bytes: float = math.nan
    drained_bytes: float = math.nan


Round = Mapping[str, Measurement]


@dataclass(frozen=True)
class Bench:
    """The programs of one MPI."""

    mpi: MpiLibrary
    send_null: Path
    ping_pong: Path
    with_eztrace: bool
    parts: tuple[str, ...] = PARTS

    def measured(self, contestant: str) -> Measurement:
        """One contestant."""
        found = self._null(contestant) if CALLS_PART in self.parts else Measurement()
        return self._ping_pong(contestant, found) if PING_PONG_PART in self.parts else found

    def _null(self, contestant: str) -> Measurement:
        with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
            traces = Path(name)
            null_ns = self._run(contestant, self.send_null, 1, traces)[-1]
            disk = sum(path.stat().st_blocks * 512 for path in traces.rglob("*") if path.is_file())
            drained = chunk_bytes(traces / "rank-00000.cwt") if contestant in MODES else math.nan
        return Measurement(null_ns, disk_bytes=disk / CALLS, drained_bytes=drained / CALLS)

    def _ping_pong(self, contestant: str, found: Measurement) -> Measurement:
        with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
            resident, ping_pong_ns = self._run(contestant, self.ping_pong, 2, Path(name))[-2:]
        return replace(found, ping_pong_ns=ping_pong_ns, resident_kib=resident)

    def _run(self, contestant: str, program: Path, ranks: int, traces: Path) -> list[float]:
        plan = mpis.planned(self.mpi, program, (), ranks)
        words = list(plan.command)
        if contestant in MODES:
            words = plan.with_environment(
                {
                    "LD_PRELOAD": str(build.build_preload(self.mpi)),
                    "COREWISE_TRACE_DIR": str(traces),
                    "COREWISE_TRACE_MODE": MODES[contestant],
                }
            )
        elif contestant == EZTRACE_PROGRAM:
            at = words.index(str(program))
            words[at:at] = [EZTRACE_PROGRAM, "-t", "openmpi", "-o", str(traces / "trace")]
        return last_numbers(mpis.output_of(words, launch.environment(plan), traces))


def last_numbers(text: str) -> list[float]:
    """Numbers in the last line that holds nothing else."""
    for line in reversed(text.splitlines()):
        try:
            return [float(word) for word in line.split()]
        except ValueError:
            continue
    raise RunError(f"a contestant printed no numbers: {text[-200:]}")


def chunk_bytes(trace: Path) -> int:
    """Bytes of the chunk blocks of a rank's file: what was drained."""
    data, at, total = trace.read_bytes(), _FIRST_BLOCK, 0
    while at + 16 <= len(data):
        kind, _, size = struct.unpack_from("<4sIQ", data, at)
        total += size if kind == b"CHNK" else 0
        at += size if kind != bytes(4) else _BLOCK_ALIGN
    return total


def eztrace_mpi() -> MpiLibrary | None:
    """The MPI that EZTrace traces, None where either is not here."""
    launcher = shutil.which("mpiexec.openmpi")
    if launcher is None or shutil.which(EZTRACE_PROGRAM) is None:
        return None
    return mpis.chosen(launcher)[0]


def benches(
    libraries: Sequence[MpiLibrary], rival: MpiLibrary | None, parts: tuple[str, ...], listener: Listener
) -> list[Bench]:
    """The programs of every MPI, built."""
    return [
        Bench(
            mpi,
            Program("profiler", "send_null", ("send_null.c",), mpi=mpi).build(listener),
            Program("profiler", "ping_pong", ("ping_pong.c",), mpi=mpi).build(listener),
            rival is not None and mpi.library.resolve() == rival.library.resolve(),
            parts,
        )
        for mpi in libraries
    ]


def floor_program(listener: Listener) -> Path | None:
    """The least that a tracer can do; None where the processor has no time stamp that is read so."""
    if platform.machine() != "x86_64":
        return None
    return Program("profiler", "floor", ("floor.c",)).build(listener)


def rows_of(bench: Bench, rounds: Sequence[Round], floors: Sequence[float]) -> list[Row]:
    """Every contestant of ours: beside the floor, beside EZTrace where it ran, and what it writes."""
    found = []
    for name in MODES:
        if CALLS_PART in bench.parts:
            found += [_null_row(bench, name, rounds, floors), _bytes_row(bench, name, rounds)]
        if PING_PONG_PART in bench.parts:
            text = "wall time per call of an 8-byte ping-pong"
            found.append(_added_row(bench, name, rounds, "ping-pong", text, "ns"))
            text = "largest resident size, shared pages included"
            found.append(_added_row(bench, name, rounds, "resident", text, "KiB"))
        if CALLS_PART in bench.parts and bench.with_eztrace:
            text = "CPU time per MPI_Send(PROC_NULL)"
            found.append(_added_row(bench, name, rounds, "null-eztrace", text, "ns"))
            found.append(_added_row(bench, name, rounds, "disk-eztrace", "bytes on disk per call", "bytes"))
    return found


_FIELDS = {
    "ping-pong": "ping_pong_ns",
    "resident": "resident_kib",
    "null-eztrace": "null_ns",
    "disk-eztrace": "disk_bytes",
}


def _added(rounds: Sequence[Round], name: str, field: str) -> list[float]:
    """With - without, round by round."""
    return [getattr(each[name], field) - getattr(each["none"], field) for each in rounds]


def _blank(bench: Bench, what: str, name: str, text: str, unit: str) -> Row:
    mpi = mpis.title(bench.mpi)
    return Row(
        f"profiler-{what}-{mpis.slug(bench.mpi)}-{name}", f"{text}, {mpi}, {name}", unit, None, mpi=mpi
    )


def _null_row(bench: Bench, name: str, rounds: Sequence[Round], floors: Sequence[float]) -> Row:
    blank = _blank(bench, "null", name, "added CPU time per recorded MPI_Send(PROC_NULL)", "ns")
    ours = _added(rounds, name, "null_ns")
    if not floors:
        return alone(blank, ours)
    return replace(
        beside(blank, ours, floors),
        rival="the floor: two time stamps and a store",
        floor=middle(floors),
        demand=DEMAND if name == "corewise" else None,
        more={"without_tool": middle([each["none"].null_ns for each in rounds])},
    )


def _added_row(bench: Bench, name: str, rounds: Sequence[Round], what: str, text: str, unit: str) -> Row:
    blank = _blank(bench, what, name, f"added {text}", unit)
    ours = _added(rounds, name, _FIELDS[what])
    if not bench.with_eztrace:
        return alone(blank, ours)
    theirs = _added(rounds, EZTRACE_PROGRAM, _FIELDS[what])
    return beside(replace(blank, rival="EZTrace"), ours, theirs)


def _bytes_row(bench: Bench, name: str, rounds: Sequence[Round]) -> Row:
    """What a drained call takes in the file, beside its record as it is."""
    blank = _blank(bench, "bytes", name, "bytes per recorded MPI_Send(PROC_NULL) in the file", "bytes")
    field = "disk_bytes" if MODES[name] == "flight" else "drained_bytes"
    ours = [float(getattr(each[name], field)) for each in rounds]
    return beside(replace(blank, rival="its record as it is"), ours, [RAW_BYTES] * len(ours))


def rows(
    libraries: Sequence[MpiLibrary], rounds: int, parts: tuple[str, ...], listener: Listener
) -> list[Row]:
    """Rows of every MPI."""
    measured = benches(libraries, eztrace_mpi(), parts, listener)
    floor = floor_program(listener) if CALLS_PART in parts else None
    found: list[Row] = []
    for index, bench in enumerate(measured):
        build.build_preload(bench.mpi)  # not within a round
        names = ("none", *MODES, *([EZTRACE_PROGRAM] if bench.with_eztrace else []))
        contestants: dict[str, Callable[[], Measurement]] = {
            name: partial(bench.measured, name) for name in names
        }
        if floor is not None:
            contestants[FLOOR] = partial(_floor, floor)
        part = listener.part(index / len(measured), (index + 1) / len(measured))
        taken = in_turns(contestants, rounds, part.progress)
        floors = [each[FLOOR].null_ns for each in taken if FLOOR in each]
        found += rows_of(bench, taken, floors)
    return found


def _floor(program: Path) -> Measurement:
    return Measurement(last_numbers(mpis.output_of([str(program)], os.environ))[-1])

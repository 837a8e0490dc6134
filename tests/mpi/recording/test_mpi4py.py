"""Python programs: mpi4py from its wheel, which finds its MPI only at run time, is recorded and ends cleanly.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from preload_runs import MPI_NAMES, record
from trace_decoder import Trace

PROGRAM = """
import sys
from array import array
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
right, left = (rank + 1) % size, (rank - 1) % size
buffer = bytearray(100 * (rank + 1))
room = bytearray(1000)
world.Sendrecv(buffer, dest=right, sendtag=1, recvbuf=room, source=left, recvtag=1)
requests = [world.Irecv(room, source=MPI.ANY_SOURCE, tag=2), world.Isend(buffer, dest=left, tag=2)]
MPI.Request.Waitall(requests)
# Objects travel pickled; the receiver probes for them first.
if rank == 0:
    world.send("an object", dest=1, tag=3)
elif rank == 1:
    assert world.recv(source=0, tag=3) == "an object"
total = array('i', [0])
world.Allreduce(array('i', [rank]), total)
assert total[0] == size * (size - 1) // 2
sub = world.Split(rank % 2, -rank)
sub.Barrier()
sub.Free()
sizes = world.gather(len(MPI.pickle.dumps("an object")), root=0)
if rank == 0:
    print("pickled", sizes[0])
if "in the program" in sys.argv:
    MPI.Finalize()
"""
RANKS = 3


def sent(traces: dict[int, Trace]) -> dict[tuple[int, int], list[int]]:
    """(from, to) -> sizes in order."""
    matrix: dict[tuple[int, int], list[int]] = {}
    for rank, trace in traces.items():
        for each in trace.records:
            if each.role == "send":
                matrix.setdefault((rank, each.peer), []).append(each.bytes)
    return matrix


@pytest.mark.parametrize("ending", ["at exit", "in the program"])
@pytest.mark.parametrize("name", MPI_NAMES)
def test_python_program(name: str, ending: str, tmp_path: Path) -> None:
    """MPI_Finalize comes from an exit handler, or from the program."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    folder = tmp_path / "traces"
    folder.mkdir()
    done = record(name, RANKS, sys.executable, folder, [script, ending]).succeeded()
    word, pickled = done.out.split()
    assert word == "pickled"
    traces = done.ranks
    assert sorted(traces) == list(range(RANKS))
    # To the right 100 bytes for each rank number from 1, the same to the left, the object from 0 to 1.
    expected = {(r, (r + 1) % RANKS): [100 * (r + 1)] for r in range(RANKS)}
    expected |= {(r, (r - 1) % RANKS): [100 * (r + 1)] for r in range(RANKS)}
    expected[0, 1] = [100, int(pickled)]
    assert sent(traces) == expected
    for rank, trace in traces.items():
        assert (trace.state, trace.losses()) == ("finalized", {})
        arrived = {(r.peer, r.tag, r.bytes) for r in trace.records if r.role == "arrival"}
        left, right = (rank - 1) % RANKS, (rank + 1) % RANKS
        assert arrived == {(left, 1, 100 * (left + 1)), (right, 2, 100 * (right + 1))}
        assert list(trace.records)[-1].procedure == "MPI_Finalize"
    matched = [r for r in traces[1].records if r.procedure.startswith(("MPI_Mprobe", "MPI_Mrecv"))]
    assert [(r.role, r.peer, r.bytes) for r in matched] == [
        ("probe", 0, int(pickled)),
        ("receive", 0, int(pickled)),
    ]

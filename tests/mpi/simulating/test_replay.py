"""Replay of real recordings: under each MPI the replayed messages are those that were recorded, pair by pair.

The program uses every way in which a request comes to its end, wildcards, and communicators of its own.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Mpi
from installed_tool import corewise, document

from corewise._core import Machine
from corewise.data.profile import load_profile
from corewise.sim.replay import open_recording, replay

RANKS = 3
PROGRAM = r"""
#include <mpi.h>

static char out[20000], in[6][20000];

static void requests(int rank, int left, int right) {
  MPI_Request all[4];
  MPI_Irecv(in[0], 20000, MPI_BYTE, left, 1, MPI_COMM_WORLD, &all[0]);
  MPI_Irecv(in[1], 20000, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &all[1]);
  MPI_Isend(out, 20000, MPI_BYTE, right, 1, MPI_COMM_WORLD, &all[2]);
  MPI_Isend(out, 100, MPI_BYTE, left, 2, MPI_COMM_WORLD, &all[3]);
  int index, done = 0;
  MPI_Waitany(2, all, &index, MPI_STATUS_IGNORE);
  MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
  MPI_Sendrecv(out, 300, MPI_BYTE, right, 3, in[2], 300, MPI_BYTE, left, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Irecv(in[3], 10, MPI_BYTE, left, MPI_ANY_TAG, MPI_COMM_WORLD, &all[0]);
  MPI_Send(out, 10, MPI_BYTE, right, 40 + rank, MPI_COMM_WORLD);
  while (!done) MPI_Test(&all[0], &done, MPI_STATUS_IGNORE);
  MPI_Irecv(in[4], 7, MPI_BYTE, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &all[0]);
  MPI_Cancel(&all[0]);
  MPI_Wait(&all[0], MPI_STATUS_IGNORE);
}

static void persistent(int left, int right) {
  MPI_Request both[2];
  MPI_Recv_init(in[0], 50, MPI_BYTE, left, 5, MPI_COMM_WORLD, &both[0]);
  MPI_Send_init(out, 50, MPI_BYTE, right, 5, MPI_COMM_WORLD, &both[1]);
  for (int i = 0; i < 3; ++i) {
    MPI_Startall(2, both);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
}

static void master(int rank, int ranks) {
  MPI_Status status;
  if (rank > 0) MPI_Ssend(out, 200 * rank, MPI_BYTE, 0, 6, MPI_COMM_WORLD);
  for (int i = 1; rank == 0 && i < ranks; ++i) {
    MPI_Probe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &status);
    MPI_Recv(in[0], 20000, MPI_BYTE, status.MPI_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  requests(rank, left, right);
  persistent(left, right);
  master(rank, ranks);
  MPI_Comm turned;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 1, -rank, &turned);
  int sum = rank, total, number;
  MPI_Comm_rank(turned, &number);
  MPI_Allreduce(&sum, &total, 1, MPI_INT, MPI_SUM, turned);
  if (rank != 1) MPI_Bcast(out, 1000, MPI_BYTE, 1, turned);
  if (rank != 1 && number == 0) MPI_Send(out, 30, MPI_BYTE, 1, 7, turned);
  if (rank != 1 && number == 1) MPI_Recv(in[0], 30, MPI_BYTE, 0, 7, turned, MPI_STATUS_IGNORE);
  MPI_Request background;
  MPI_Iallreduce(&sum, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &background);
  MPI_Wait(&background, MPI_STATUS_IGNORE);
  int counts[3] = {10, 20, 30}, places[3] = {0, 100, 200};
  const int each = 10 * (rank + 1), from[3] = {each, each, each};
  MPI_Alltoallv(out, counts, places, MPI_BYTE, in[0], from, places, MPI_BYTE, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""


@pytest.fixture(scope="module")
def profile(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(mpi.name)
    source = folder / "all.c"
    source.write_text(PROGRAM)
    program = mpi.build(folder / "all", source)
    done = corewise("run", "-n", RANKS, "--mpi", mpi.prefix, "-o", folder / "all.cw", "--", program)
    assert done.returncode == 0, done.stderr
    return folder / "all.cw"


@pytest.mark.parametrize("machine", ["flat:3", "ring:3"])
def test_replayed_messages_are_the_recorded_ones(profile: Path, machine: str) -> None:
    run = replay(open_recording(profile), Machine.from_synthetic(machine), range(RANKS))
    recorded = zip(
        *(column.tolist() for column in load_profile(profile).pattern().coordinates()), strict=True
    )
    own = run.traffic[run.traffic["messages"] > 0]
    assert [
        (int(row["sender"]), int(row["receiver"]), int(row["bytes"]), int(row["messages"])) for row in own
    ] == list(recorded)
    assert not run.relaxed
    assert run.collectives == 3 * 3 + 2 * 2  # of the world, and of the pair in the turned communicator


def test_the_report_divides_communication(profile: Path) -> None:
    efficiency = document("report", profile)["efficiency"]
    product = efficiency["serialisation"] * efficiency["transfer"]
    assert product == pytest.approx(efficiency["communication"])
    assert 0 < efficiency["transfer"] <= 1

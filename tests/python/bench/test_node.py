"""`corewise bench node`: rows from what its programs print, by hand, and the programs themselves.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import subprocess

import pytest

from corewise.bench.node import study
from corewise.bench.node.study import (
    Effort,
    Request,
    Sharing,
    run_bench,
    sharing_rows,
    sharings,
    transpose_rows,
)
from corewise.bench.rows import Listener
from corewise.errors import InputError, RunError


def test_rows_of_transposes_by_hand() -> None:
    # Blocked, target read first, through the caches, past them, copy: nanoseconds of two rounds.
    rounds = [[4e6, 5e6, 3e6, 2e6, 1e6], [8e6, 10e6, 4e6, 2e6, 1e6]]
    streamed, cached, touched = transpose_rows(1024, 1028, rounds)
    assert streamed.id == "node-transpose-1024-padded"
    assert (streamed.ours, streamed.theirs, streamed.ratio) == (2, 6, 3)  # of 2 and 4
    assert (streamed.floor, streamed.more["share_of_copy"], streamed.demand) == (1, 0.5, 2)
    assert (cached.ours, cached.demand) == (3.5, None)
    assert touched.ratio == 0.8
    assert next(row.id for row in transpose_rows(64, 64, rounds)) == "node-transpose-64"


def test_rows_of_shares_by_hand() -> None:
    text = "static counter openmp\n4000000 2000000 8000000\n6000000 3000000 6000000\n"
    counter, openmp = sharing_rows(Sharing("disturbed", 512, 2, 32), text)
    assert counter.id == "node-shares-counter-disturbed-2-32"
    assert (counter.ours, counter.theirs, counter.ratio, counter.demand) == (2.5, 5, 2, 1.5)
    assert (openmp.ratio, openmp.demand) == (0.75, None)


def test_demands_are_for_ours_on_several_threads() -> None:
    assert study.demanded(Sharing("uniform", 512, 2, 32), "flow-dynamic") == pytest.approx(1 / 1.05, abs=1e-3)
    assert study.demanded(Sharing("uniform", 512, 1, 32), "flow-dynamic") is None
    assert study.demanded(Sharing("uniform", 512, 2, 32), "openmp") is None
    assert study.demanded(Sharing("uneven", 512, 2, 32), "counter") is None


def test_thread_counts_between_and_other_granules_are_measured_with_uniform_work() -> None:
    effort = Effort(3, (64,), 128)
    found = sharings(effort, 8)
    assert {each.kind for each in found if each.threads == 8} == set(study.KINDS)
    assert {each.threads for each in found} == {1, 4, 6, 8}
    assert {each.granule for each in found if each.kind == "uniform" and each.threads == 8} == {16, 32, 64}
    assert next(each for each in found if each.kind == "repeated").side == effort.cached_side


def test_what_the_program_does_not_print_is_an_error() -> None:
    with pytest.raises(RunError, match="expected: static"):
        list(sharing_rows(Sharing("uniform", 512, 2, 32), "counter\n1\n"))
    with pytest.raises(InputError, match="--cases: found 'all of it'"):
        run_bench(Listener(), Request("all of it"))


def test_transposes_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "QUICK", Effort(3, (128,), 128))
    outcome = run_bench(Listener(), Request("transpose", quick=True))
    assert [row.id for row in outcome.rows] == [
        f"node-transpose-128{padded}{kind}"
        for padded in ("", "-padded")
        for kind in ("", "-cached", "-read-allocate")
    ]
    assert all(row.ours and row.theirs and row.n == 3 for row in outcome.rows)


def test_every_way_of_sharing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "QUICK", Effort(2, (64,), 128, 64))
    monkeypatch.setenv("OMP_PROC_BIND", "true")  # the runtime would bind the first thread, and so the team
    outcome = run_bench(Listener(), Request("shares", quick=True))
    ways = {row.id.removeprefix("node-shares-").rsplit("-", 3)[0] for row in outcome.rows}
    assert ways >= {"counter", "mutex", "deques", "flow-static", "flow-dynamic", "openmp"}
    assert all(row.ours and row.theirs for row in outcome.rows)


def test_a_team_on_one_processor_is_refused() -> None:
    program = study.shares_program(Listener())
    one = min(os.sched_getaffinity(0))
    done = subprocess.run(
        [str(program), "uniform", "64", "2", "32", "1"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, {one}),
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "bench_shares: 2 threads, but 1 processors for this thread\n"

"""`corewise bench profiler`: what it computes from rounds that are made up here; the floor says a number.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import struct
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from corewise.bench import mpis
from corewise.bench.peers import EZTRACE, UFTRACE
from corewise.bench.profiler import calls, functions, study
from corewise.bench.profiler.calls import Bench, Measurement
from corewise.bench.rows import Listener, Row, stamped
from corewise.errors import InputError, RunError

MPI = SimpleNamespace(name="somempi", version="1.0", library=Path("/somewhere/libmpi.so"))
ADDED = {"none": 0.0, "corewise": 30.0, "thread": 27.0, "flight": 25.0, "eztrace": 240.0}


def bench(with_eztrace: bool = True) -> Bench:
    return Bench(MPI, Path("send_null"), Path("ping_pong"), with_eztrace)  # type: ignore[arg-type]


def rounds() -> list[dict[str, Measurement]]:
    """Three rounds in which everything a tool adds is known; noise hits a round's contestants alike."""
    return [
        {
            name: Measurement(
                8 + cost + noise, 300 + 2 * cost + noise, 10000 + 10 * cost, cost / 6, cost / 10
            )
            for name, cost in ADDED.items()
        }
        for noise in (0.0, 4.0, 100.0)
    ]


def rows(taken: list[dict[str, Measurement]], with_eztrace: bool = True) -> dict[str, Row]:
    found = calls.rows_of(bench(with_eztrace), taken, [20.0] * len(taken))
    stamped("profiler", "A processor", [row.to_json() for row in found])
    return {row.id.replace("somempi-1.0-", ""): row for row in found}


def test_the_floor_is_what_added_cost_is_held_against() -> None:
    row = rows(rounds())["profiler-null-corewise"]
    assert (row.ours, row.floor, row.theirs, row.spread, row.n) == (30, 20, 20, 0, 3)
    assert row.ratio == pytest.approx(20 / 30, abs=1e-3)
    assert (row.mpi, row.demand, row.more["without_tool"]) == ("somempi 1.0", calls.DEMAND, 12)


def test_rivals_are_compared_in_their_own_round() -> None:
    found = rows(rounds())
    null, ping_pong = found["profiler-null-eztrace-corewise"], found["profiler-ping-pong-corewise"]
    assert (null.ours, null.rival, null.theirs, null.ratio) == (30, "EZTrace", 240, 8)
    assert (ping_pong.ours, ping_pong.theirs, ping_pong.ratio) == (60, 480, 8)
    assert found["profiler-disk-eztrace-corewise"].ours == 5
    assert found["profiler-resident-flight"].ours == 250


def test_bytes_are_held_against_the_record() -> None:
    found = rows(rounds(), with_eztrace=False)
    assert (found["profiler-bytes-corewise"].ours, found["profiler-bytes-corewise"].theirs) == (3, 32)
    assert found["profiler-ping-pong-corewise"].rival is None
    assert not [name for name in found if "eztrace" in name]


def test_a_recorder_that_costs_nothing_does_not_divide_by_it() -> None:
    taken = [each | {"flight": replace(each["flight"], null_ns=each["none"].null_ns)} for each in rounds()]
    assert rows(taken)["profiler-null-flight"].ratio is None


def test_functions_are_held_against_uftrace_or_empty_hooks() -> None:
    taken = [{"none": 1.0 + noise, "empty hooks": 3.0 + noise, "drain": 41.0 + noise} for noise in (0.0, 9.0)]
    row = functions.row(MPI, "drain", taken)
    assert (row.ours, row.rival, row.theirs, row.more["empty_hooks"]) == (40, "empty hooks", 2, 2)
    beside = functions.row(MPI, "drain", [each | {"uftrace": each["none"] + 80} for each in taken])
    assert (beside.rival, beside.theirs, beside.ratio) == ("uftrace", 80, 2)


def test_absent_tracers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpis, "chosen", lambda wanted: [MPI])
    monkeypatch.setattr(calls, "rows", lambda libraries, count, parts, listener: [])
    monkeypatch.setattr(functions, "rows", lambda libraries, count, listener: [])
    monkeypatch.setattr(calls, "eztrace_mpi", lambda: None)
    monkeypatch.setattr(functions, "has_uftrace", lambda: False)
    assert study.run_bench(Listener()).absent == (EZTRACE, UFTRACE)
    monkeypatch.setattr(functions, "has_uftrace", lambda: True)
    assert study.run_bench(Listener()).absent == (EZTRACE,)


def test_only_the_cases_asked_for_have_rows() -> None:
    one = replace(bench(), parts=("ping-pong",))
    found = calls.rows_of(one, rounds(), [])
    assert {row.id.split("-somempi")[0] for row in found} == {"profiler-ping-pong", "profiler-resident"}
    with pytest.raises(InputError, match="--cases: found 'sends', allowed: calls, ping-pong, functions, all"):
        study.parts_of("sends")


def test_chunks_are_what_counts_of_a_file(tmp_path: Path) -> None:
    def block(kind: bytes, size: int) -> bytes:
        return struct.pack("<4sIQ", kind, 0, size).ljust(size, b"\0")

    head = bytes(4096 + 4096 * 8)
    path = tmp_path / "rank-00000.cwt"
    path.write_bytes(head + block(b"SITE", 128) + block(b"CHNK", 640) + bytes(64) + block(b"CHNK", 64))
    assert calls.chunk_bytes(path) == 704


def test_the_floor_compiles_and_says_a_number() -> None:
    program = calls.floor_program(Listener())
    if program is None:
        pytest.skip("capability: an x86-64 processor, whose time stamps the floor reads")
    assert 0 < calls.last_numbers(mpis.output_of([str(program)], os.environ))[-1] < 1e5
    with pytest.raises(RunError, match="printed no numbers"):
        calls.last_numbers("nothing\n")

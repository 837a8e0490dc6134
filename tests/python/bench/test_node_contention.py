"""`corewise bench node --cases contention`: orders, knees and rows by hand, and the program itself.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os

import pytest

from corewise.bench.node import contention as room
from corewise.bench.node.contention import (
    Point,
    alternating,
    contention_remarks,
    contention_rows,
    counts_of,
    curves_of,
    fitting,
    knee,
    memory_domains,
    orders_of,
)
from corewise.bench.node.study import Request, run_bench
from corewise.bench.rows import Listener
from corewise.data.machines import load_machine
from corewise.errors import InputError, RunError


def test_alternating_is_the_papers_formula() -> None:
    domains = memory_domains(load_machine("numa:2 core:4"), range(8))
    assert domains == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert alternating(domains) == tuple(i // 2 + i % 2 * 4 for i in range(8))
    assert alternating([[0, 3], [1], [2]]) == (0, 1, 2, 3)


def test_domains_are_packages_where_there_are_no_numa_nodes_and_only_usable_processors_count() -> None:
    assert memory_domains(load_machine("pack:2 core:2"), [0, 1, 3]) == [[0, 1], [3]]
    assert memory_domains(load_machine("core:2"), [0, 1]) == [[0, 1]]


def test_both_orders_are_measured_where_they_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "load_machine", lambda reference: load_machine("numa:2 core:2"))
    assert [(each.name, each.cpus) for each in orders_of(None, range(4))] == [
        ("incremental", (0, 1, 2, 3)),
        ("alternating", (0, 2, 1, 3)),
    ]
    assert [each.cpus for each in orders_of("alternating", range(4))] == [(0, 2, 1, 3)]
    assert [each.cpus for each in orders_of("3,1", range(4))] == [(3, 1)]
    monkeypatch.setattr(room, "load_machine", lambda reference: load_machine("core:4"))
    assert [each.name for each in orders_of(None, range(4))] == ["incremental"]


@pytest.mark.parametrize("text", ["", "0,0", "0,99", "banked", "0,-1", "0;1"])
def test_an_order_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(
        InputError, match=r"--order: found '.*', allowed: incremental, alternating, or some of"
    ):
        orders_of(text, [0, 1])
    with pytest.raises(InputError, match="--order: found with --cases shares"):
        run_bench(Listener(), Request("shares", order="0"))


def test_counts_and_sides_fit_the_host() -> None:
    assert counts_of(3) == (1, 2, 3)
    assert counts_of(128)[:2] == (1, 9) and counts_of(128)[-1] == 128 and len(counts_of(128)) == 16
    assert fitting(2048, 2, 8 << 30) == 2048  # 128 MiB each, 256 MiB of 8 GiB
    assert fitting(2048, 2, 1 << 29) == 1024


def point(count: int, total: float) -> Point:
    return Point(count, (total,), (total / count,))


def test_the_knee_by_hand() -> None:
    assert knee([point(1, 10), point(2, 20), point(3, 26), point(4, 27)]) == 3
    assert knee([point(1, 10), point(2, 19), point(3, 25)]) is None
    assert knee([point(1, 10), point(9, 45), point(17, 50)]) == 1  # 35 of eight further ones, less than 40
    assert knee([point(1, 10)]) is None


def test_rows_and_remarks_by_hand() -> None:
    # One kernel of 64 x 64: 131072 bytes; two orders, counts 1 and 2; both nanoseconds, one round.
    times = "131072 131072 262144 262144 131072 65536 262144 262144"
    text = f"blocked read-allocate\n{times} {times}\n"
    curves = curves_of(text, 64, (1, 2), ["incremental", "alternating"])
    rows = {row.id: row for row in contention_rows(curves)}
    both = rows["node-contention-incremental-blocked-2"]
    assert (both.ours, both.theirs, both.ratio) == (2, 2, 1)
    assert (both.more["per_core"], both.more["knee"]) == (2, None)
    assert rows["node-contention-prefetch-alternating-1"].ratio == 0.5
    assert rows["node-contention-banks-blocked-2"].ratio == 1
    remarks = list(contention_remarks(curves))
    assert remarks[0] == "transpose, blocked C, incremental order: no knee up to 2 threads; at most 2 GB/s"
    assert not any("one memory domain" in line for line in remarks)
    assert (
        "one memory domain"
        in list(
            contention_remarks(curves_of(f"blocked read-allocate\n{times}\n", 64, (1, 2), ["incremental"]))
        )[-1]
    )


def test_what_the_program_does_not_print_is_an_error() -> None:
    for text in ("", "blocked\n", "blocked\n1 2 3\n", "transpose\n1 2\n"):
        with pytest.raises(RunError, match="contention: found"):
            curves_of(text, 64, (1,), ["incremental"])


def test_contention_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    from corewise.bench.node import study

    monkeypatch.setattr(study, "QUICK", study.Effort(2, (64,), 128))
    cpus = sorted(os.sched_getaffinity(0))[:2][::-1]
    outcome = run_bench(Listener(), Request("contention", quick=True, order=",".join(map(str, cpus))))
    wanted = {f"node-contention-given-{kernel}-{n + 1}" for kernel in room.KERNELS for n in range(len(cpus))}
    assert wanted <= {row.id for row in outcome.rows}
    assert all(row.ours and row.theirs and row.n == 2 for row in outcome.rows)
    assert len(outcome.remarks) == len(room.KERNELS)

"""`corewise bench sim`: its rows, its check of the simulated times, what it demands.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import pytest

from corewise.bench.peers import SIMGRID
from corewise.bench.rows import Listener, Outcome, stamped
from corewise.bench.sim import mappings, messages, study
from corewise.bench.sim.messages import Sample
from corewise.errors import RunError


def rounds_of(simgrid: bool, flow_ns: float = 100.0) -> list[messages.Round]:
    """Three rounds with round numbers: flow 10, 20, 40 messages per second, SimGrid 1, 1, 2."""
    rounds = []
    for flow, theirs in ((10, 1), (20, 1), (40, 2)):
        samples = {"flow": Sample(flow, 1.0, 0.5, flow_ns), "packet": Sample(6, 1.0, 1.0, 130.0)}
        if simgrid:
            samples["simgrid"] = Sample(theirs, 1.0, 0.5, 101.0)
        rounds.append(samples)
    return rounds


def test_a_row_holds_medians_of_rates_and_of_ratios_within_rounds() -> None:
    row = messages.row("flow", "wall", rounds_of(simgrid=True))
    assert (row.id, row.unit, row.rival) == ("sim-flow", "messages/s", "SimGrid S4U, CM02")
    assert (row.ours, row.theirs, row.n) == (20, 1, 3)
    assert row.ratio == 20  # the median of 10, 20, 20
    by_cpu = messages.row("flow", "cpu", rounds_of(simgrid=True))
    assert (by_cpu.id, by_cpu.ours, by_cpu.demand) == ("sim-flow-cpu", 40, None)


def test_the_contestants_are_built_and_simulate_the_same() -> None:
    samples = {
        name: messages.measure([*command[:-1], "200"])
        for name, command in messages.commands(Listener()).items()
    }
    assert {"flow", "packet"} <= samples.keys()
    assert {sample.messages for sample in samples.values()} == {8 * 2 * 200}
    messages.check_agreement([samples])


def test_without_simgrid_corewise_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = rounds_of(simgrid=False)
    messages.check_agreement(rounds)
    row = messages.row("packet", "wall", rounds)
    assert (row.ours, row.rival, row.theirs, row.ratio) == (6, None, None, None)
    assert row.missed == "sim-packet: not compared"
    monkeypatch.setattr(messages, "has_simgrid", lambda: False)
    monkeypatch.setattr(messages, "rows", lambda rounds, listener: [row])
    monkeypatch.setattr(mappings, "rows", lambda every, listener: [])
    assert study.run_bench(Listener(), quick=True).absent == (SIMGRID,)


@pytest.mark.parametrize(
    ("flow", "packet", "missed"),
    [(10, 2, []), (9, 2, ["sim-flow"]), (10, 1, ["sim-packet"]), (9, 1, ["sim-flow", "sim-packet"])],
)
def test_rows_below_the_demands_are_named(flow: int, packet: int, missed: list[str]) -> None:
    samples = {
        "flow": Sample(flow, 1.0, 1.0, 100.0),
        "packet": Sample(packet, 1.0, 1.0, 130.0),
        "simgrid": Sample(1, 1.0, 1.0, 100.0),
    }
    rows = [
        messages.row(name, clock, [samples] * 3) for clock in ("wall", "cpu") for name in ("flow", "packet")
    ]
    assert [line.split(":")[0] for line in Outcome("sim", tuple(rows)).missed()] == missed


def test_simulated_times_that_differ_fail_the_run() -> None:
    messages.check_agreement(rounds_of(simgrid=True, flow_ns=103.0))
    with pytest.raises(RunError, match="simulated times differ"):
        messages.check_agreement(rounds_of(simgrid=True, flow_ns=105.0))


def test_every_contestant_runs_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        messages, "commands", lambda listener: {name: [name] for name in messages.RING_ROUNDS}
    )
    ran: list[str] = []

    def measure(command: list[str]) -> Sample:
        ran.append(command[0])
        return Sample(1, 1.0, 1.0, 1.0)

    monkeypatch.setattr(messages, "measure", measure)
    rows = messages.rows(3, Listener())
    assert ran == ["flow", "packet", "simgrid", "packet", "simgrid", "flow", "simgrid", "flow", "packet"]
    stamped("sim", "A processor", [row.to_json() for row in rows])


def test_the_benchmark_of_all_mappings_reports_its_rows() -> None:
    """One mapping in sixty; how long they take is the benchmark's to say."""
    matrix, local_store = mappings.rows(60, Listener())
    assert (matrix.id, local_store.id) == ("sim-mappings-matrix", "sim-mappings-local_store")
    assert matrix.ours is not None and matrix.ours > 0
    assert (matrix.theirs, matrix.demand, matrix.more["rounds"]) == (60, 1, 60)
    assert matrix.more["timed"] == len(mappings.different()[::60])
    assert "exact for 60 rounds" in matrix.what
    # Beyond the rounds simulated a time is exact only where the state repeats.
    shares = [float(str(row.more["repeating"])) for row in (matrix, local_store)]
    assert shares[0] < shares[1] and shares[1] > 0.2


def test_a_mapping_and_its_reflection_are_timed_once() -> None:
    different = mappings.different()
    assert len(different) < 5040 / 2 + 200
    assert len(set(different)) == len(different)

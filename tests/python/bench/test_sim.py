"""The simulator's benchmark: its rows, its check of the simulated times, its order.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).resolve().parents[3] / "bench" / "sim" / "run.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """bench/sim/run.py as a module."""
    specification = importlib.util.spec_from_file_location("bench_sim_run", SOURCE)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def rounds_of(bench: ModuleType, simgrid: bool, flow_ns: float = 100.0) -> list[dict[str, object]]:
    """Three rounds with round numbers: flow 10, 20, 40 messages per second, SimGrid 1, 1, 2."""
    rounds = []
    for flow, theirs in ((10, 1), (20, 1), (40, 2)):
        samples = {
            "flow": bench.Sample(flow, 1.0, 0.5, flow_ns),
            "packet": bench.Sample(6, 1.0, 1.0, 130.0),
        }
        if simgrid:
            samples["simgrid"] = bench.Sample(theirs, 1.0, 0.5, 101.0)
        rounds.append(samples)
    return rounds


def test_a_row_holds_medians_of_rates_and_of_ratios_within_rounds(bench: ModuleType) -> None:
    row = bench.row("flow", "wall", rounds_of(bench, simgrid=True))
    assert row["id"] == "sim-flow"
    assert row["unit"] == "messages/s"
    assert row["ours"] == 20
    assert row["theirs"] == 1
    assert row["ratio"] == 20  # the median of 10, 20, 20
    assert row["n"] == 3
    # Quartiles of 10, 20, 40 (exclusive method) are 10 and 40.
    assert row["spread"] == pytest.approx(30 / 20)
    assert {"what", "rival", "floor"} <= set(row)
    by_cpu = bench.row("flow", "cpu", rounds_of(bench, simgrid=True))
    assert by_cpu["id"] == "sim-flow-cpu"
    assert by_cpu["ours"] == 40


def test_without_simgrid_corewise_stands_alone(bench: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    rounds = rounds_of(bench, simgrid=False)
    bench.check_agreement(rounds)
    row = bench.row("packet", "wall", rounds)
    assert row["ours"] == 6
    assert row["rival"] is None and row["theirs"] is None and row["ratio"] is None
    bench.show([row])
    assert "SimGrid was not found" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flow", "packet", "broken"),
    [(10, 2, []), (9, 2, ["sim-flow"]), (10, 1, ["sim-packet"]), (9, 1, ["sim-flow", "sim-packet"])],
)
def test_check_fails_below_the_floors(bench: ModuleType, flow: int, packet: int, broken: list[str]) -> None:
    samples = {
        "flow": bench.Sample(flow, 1.0, 1.0, 100.0),
        "packet": bench.Sample(packet, 1.0, 1.0, 130.0),
        "simgrid": bench.Sample(1, 1.0, 1.0, 100.0),
    }
    rows = [bench.row(name, clock, [samples] * 3) for clock in ("wall", "cpu") for name in ("flow", "packet")]
    assert [line.split(":")[0] for line in bench.broken_floors(rows)] == broken


def test_check_fails_the_command_and_only_when_asked(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = {"flow": 9, "packet": 3, "simgrid": 1}
    monkeypatch.setattr(bench, "build", dict)
    monkeypatch.setattr(
        bench,
        "one_round",
        lambda _programs, _turn: {name: bench.Sample(rate, 1.0, 1.0, 100.0) for name, rate in rates.items()},
    )
    monkeypatch.setattr(sys, "argv", ["run.py", "--rounds", "2", "--json"])
    assert bench.main() == 0
    monkeypatch.setattr(sys, "argv", ["run.py", "--rounds", "2", "--json", "--check"])
    assert bench.main() == 1
    assert "sim-flow: ratio 9" in capsys.readouterr().err
    rates["flow"] = 11
    assert bench.main() == 0
    del rates["simgrid"]
    assert bench.main() == 1


def test_simulated_times_that_differ_fail_the_run(bench: ModuleType) -> None:
    bench.check_agreement(rounds_of(bench, simgrid=True, flow_ns=103.0))
    with pytest.raises(SystemExit, match="simulated times differ"):
        bench.check_agreement(rounds_of(bench, simgrid=True, flow_ns=105.0))


def test_every_contestant_has_its_turn_to_be_first(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def note(command: list[str]) -> object:
        order.append(command[1] if len(command) == 3 else "simgrid")
        return bench.Sample(1, 1.0, 1.0, 1.0)

    monkeypatch.setattr(bench, "measure", note)
    programs = {"corewise": Path("ours"), "simgrid": Path("theirs")}
    for turn in range(3):
        bench.one_round(programs, turn)
    assert order[0::3] == ["flow", "packet", "simgrid"]
    assert sorted(order) == sorted(["flow", "packet", "simgrid"] * 3)

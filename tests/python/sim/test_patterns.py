"""corewise.sim: shapes and types, and times and loads against sums worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corewise import InputError
from corewise._core import Machine, Pattern, generate
from corewise.data.machines import load_machine
from corewise.data.placement import make_placement
from corewise.sim import (
    LINK,
    PHASE,
    TRANSFER,
    UNIT,
    Simulation,
    named_placement,
    placement_names,
    simulate,
)

CHAIN = """
format = "corewise-machine"
version = 1
name = "chain"

[interconnect]
kind = "mesh"
dims = [3, 1]
torus = [false, false]
units_per_tile = 1
unit_name = "core"
link_bandwidth = "8 GB/s"
hop_latency = "5 ns"
"""
# Clockwise; from the published measurements of the chip, not read from the machine file.
EIB = ["PPE", "SPE1", "SPE3", "SPE5", "SPE7", "IOIF1", "IOIF0", "SPE6", "SPE4", "SPE2", "SPE0", "MIC"]
# Paper 000's affinities: physical SPE of rank r at [r].
AFFINITIES = {
    "identity": [0, 1, 2, 3, 4, 5, 6, 7],
    "ring": [0, 2, 4, 6, 7, 5, 3, 1],
    "overlap": [0, 7, 2, 5, 4, 3, 6, 1],
    "even_odd": [0, 4, 2, 6, 1, 5, 3, 7],
    "leap2": [0, 4, 7, 3, 1, 5, 6, 2],
}


@pytest.fixture
def chain(tmp_path: Path) -> Machine:
    """Three tiles in a row: a byte takes 0.125 ns on a link, a hop 5 ns."""
    file = tmp_path / "chain.toml"
    file.write_text(CHAIN)
    return load_machine(str(file))


def matrix(ranks: int, sent: dict[tuple[int, int], int]) -> np.ndarray:
    found = np.zeros((ranks, ranks), dtype=np.uint64)
    for (sender, receiver), size_bytes in sent.items():
        found[sender, receiver] = size_bytes
    return found


# --- times and loads --------------------------------------------------------------------------------------


@pytest.mark.parametrize("granularity", ["packet", "flow"])
def test_one_message_takes_its_latency_and_its_bytes(chain: Machine, granularity: str) -> None:
    run = simulate(chain, matrix(3, {(0, 2): 1280}), granularity=granularity)
    # Cut through and flow alike: two hops of 5 ns, then 1280 bytes at 8 bytes per ns.
    assert run.total_ns == pytest.approx(10 + 160)
    assert run.transfers["start_ns"].tolist() == [0.0]
    assert run.transfers["end_ns"].tolist() == [run.total_ns]
    assert run.bandwidths.tolist() == [pytest.approx(1280 / 170)]


@pytest.mark.parametrize("granularity", ["packet", "flow"])
def test_two_messages_share_the_link_that_both_need(chain: Machine, granularity: str) -> None:
    run = simulate(chain, matrix(3, {(0, 2): 12800, (1, 2): 12800}), granularity=granularity)
    names = [link.name for link in chain.links]
    load = dict(zip(names, run.link_bytes.tolist(), strict=True))
    ends = {name: (link.source, link.target) for name, link in zip(names, chain.links, strict=True)}
    by_ends = {ends[name]: size for name, size in load.items()}
    assert by_ends == {(0, 1): 12800, (1, 0): 0, (1, 2): 25600, (2, 1): 0}
    # The shared link carries 25600 bytes in 3200 ns; before and after come a few hops and packets.
    assert 3200 <= run.total_ns <= 3200 + 60
    assert run.link_busy.max() <= 1
    shared = run.links["busy_ns"][[index for index, name in enumerate(names) if ends[name] == (1, 2)]]
    assert shared.tolist() == [pytest.approx(3200, rel=0.02)]
    # Each of them lost about what the other one took.
    assert run.units["waiting_ns"].sum() > 1500


def test_repetitions_follow_each_other_and_phases_in_their_order(chain: Machine) -> None:
    nothing = np.zeros(0, dtype=np.int32)
    none = np.zeros(0, dtype=np.uint64)
    one = np.ones(1, dtype=np.int32)
    size = np.array([800], dtype=np.uint64)
    there = ("there", 0 * one, one, size, np.ones(1, np.uint64))
    back = ("back", one, 0 * one, size, np.ones(1, np.uint64))
    empty = ("empty", nothing, nothing, none, none)
    pattern = Pattern.from_phases("ping-pong", 2, [there, empty, back])
    run = simulate(chain, pattern, repetitions=3, granularity="flow")
    assert run.transfers["phase"].tolist() == [0, 2] * 3
    assert run.transfers["repetition"].tolist() == [0, 0, 1, 1, 2, 2]
    # 5 ns and 100 ns each way, one after the other.
    assert run.transfers["end_ns"].tolist() == pytest.approx([105.0 * step for step in range(1, 7)])
    assert run.phases.shape == (9,)
    assert run.total_ns == pytest.approx(630)
    assert run.bytes_matrix().tolist() == [[0, 2400], [2400, 0]]
    assert run.bandwidth_matrix()[0, 1] == pytest.approx(800 / 105)


def test_a_barrier_lets_nobody_ahead(chain: Machine) -> None:
    first = np.array([0, 2], np.int32), np.array([1, 1], np.int32), np.array([800, 80], np.uint64)
    ones = np.ones(2, np.uint64)
    second = np.array([2], np.int32), np.array([1], np.int32), np.array([80], np.uint64)
    phases = [("a", *first, ones), ("b", *second, ones[:1])]
    pattern = Pattern.from_phases("uneven", 3, phases)
    loose = simulate(chain, pattern, granularity="flow")
    strict = simulate(chain, pattern, granularity="flow", separation="barrier")
    # Rank 2's own message takes 5 + 10 ns, rank 0's 5 + 100.
    assert loose.transfers["start_ns"].tolist() == pytest.approx([0, 0, 15])
    assert strict.transfers["start_ns"].tolist() == pytest.approx([0, 0, 105])


def test_a_simulated_cell_gives_one_flow_what_the_paper_measured() -> None:
    """Paper 000, Table 1, first row: SPE6 gets from SPE4 at 24.3 GB/s."""
    run = simulate("cell-be", matrix(2, {(0, 1): 65536}), [4, 6], repetitions=20)
    assert run.model == "cell"
    steady = run.transfers["bytes"].sum() / run.total_ns
    assert 0.85 * 24.3 < steady < 25.6
    # All data cross the one link between the two, and little else crosses it: flags of 16 bytes.
    machine = run.machine
    ends = [(machine.stops[link.source], machine.stops[link.target]) for link in machine.links]
    load = int(run.link_bytes[ends.index(("SPE4", "SPE6"))])
    assert (EIB[8], EIB[7]) == ("SPE4", "SPE6")
    assert 20 * 65536 <= load <= 1.02 * 20 * 65536


def test_loads_of_a_simulated_cell_are_those_of_the_shortest_ways() -> None:
    pairs = {(0, 1): 16384, (1, 4): 32768, (5, 2): 16384, (6, 3): 8192}
    run = simulate("cell-be", matrix(8, pairs))
    expected: dict[tuple[str, str], float] = {}
    for (sender, receiver), size_bytes in pairs.items():
        start, end = EIB.index(f"SPE{sender}"), EIB.index(f"SPE{receiver}")
        ahead = (end - start) % 12
        assert ahead != 6 or size_bytes == 16384
        ways = [(1, ahead)] if ahead < 6 else [(-1, 12 - ahead)] if ahead > 6 else []
        for way, hops in ways:
            for step in range(hops):
                ends = EIB[(start + way * step) % 12], EIB[(start + way * (step + 1)) % 12]
                expected[ends] = expected.get(ends, 0) + size_bytes
    machine = run.machine
    for link, size in zip(machine.links, run.link_bytes.tolist(), strict=True):
        ends = machine.stops[link.source], machine.stops[link.target]
        half_way = 16384 + 8 * 128  # of the one transfer whose direction the bus chooses, and flags
        assert expected.get(ends, 0) <= size <= expected.get(ends, 0) + half_way, ends


def test_a_seed_makes_a_cell_jitter_and_the_same_seed_the_same_way() -> None:
    pattern = generate("ring", {"ranks": "8", "bytes": "16 KiB"})
    quiet, again = simulate("cell-be", pattern), simulate("cell-be", pattern)
    first, second = simulate("cell-be", pattern, seed=7), simulate("cell-be", pattern, seed=7)
    other = simulate("cell-be", pattern, seed=8)
    assert (quiet.transfers == again.transfers).all()
    assert (first.transfers == second.transfers).all()
    ends = [run.transfers["end_ns"].tolist() for run in (quiet, first, other)]
    assert ends[0] != ends[1] != ends[2]


# --- types and shapes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("granularity", ["packet", "flow"])
@pytest.mark.parametrize("machine", ["cell-be", "cell-blade", "mesh-6x4", "chiplet-2s", "flat:9", "ring:8"])
def test_tables_have_their_documented_types_and_shapes(machine: str, granularity: str) -> None:
    pattern = generate("ring", {"ranks": "8", "bytes": "4 KiB"})
    run = simulate(machine, pattern, granularity=granularity, repetitions=2, trace=True)
    where = load_machine(machine)
    assert isinstance(run, Simulation)
    assert run.transfers.shape == (32,) and run.transfers.dtype == TRANSFER
    assert run.phases.shape == (2,) and run.phases.dtype == PHASE
    assert run.links.shape == (len(where.links),) and run.links.dtype == LINK
    assert run.units.shape == (len(where.units),) and run.units.dtype == UNIT
    assert run.unit_of_rank.tolist() == list(range(8))
    assert run.bandwidth_matrix().shape == (8, 8)
    assert (run.bytes_matrix() == 2 * pattern.matrix()).all()
    assert (run.transfers["end_ns"] >= run.transfers["start_ns"]).all()
    assert run.total_ns == run.phases["end_ns"].max() >= run.transfers["end_ns"].max()
    assert int(run.units["sent_bytes"].sum()) == int(run.units["received_bytes"].sum()) == 2 * 16 * 4096
    assert sorted(run.units["rank"].tolist())[-8:] == list(range(8))
    assert run.timeline is not None and run.timeline.dropped == 0
    assert run.timeline.events.size > 0


def test_matrices_of_any_number_type_and_placements_of_any_kind_mean_the_same(chain: Machine) -> None:
    sent = matrix(3, {(0, 1): 4096, (1, 2): 512})
    units = [2, 0, 1]
    placement = make_placement(chain, units)
    expected = simulate(chain, sent, units)
    for same in (sent.astype(np.int32), sent.astype(np.float64), Pattern.from_dense("m", sent)):
        assert (simulate(chain, same, units).transfers == expected.transfers).all()
    for where in (tuple(units), np.array(units), placement):
        assert (simulate(chain, sent, where).transfers == expected.transfers).all()


def test_named_placements_are_the_papers() -> None:
    machine = load_machine("cell-be")
    assert placement_names(machine) == tuple(AFFINITIES)
    for name, spes in AFFINITIES.items():
        assert [machine.units[unit].name for unit in named_placement(name, machine, 8)] == [
            f"SPE{spe}" for spe in spes
        ]
    blade = load_machine("cell-blade")
    assert blade.units[named_placement("leap2", blade, 8)[1]].name == "cell0.SPE4"
    assert placement_names(load_machine("mesh-6x4")) == ("identity",)


def test_events_past_the_limit_are_counted() -> None:
    pattern = generate("ring", {"ranks": "4", "bytes": "4 KiB"})
    whole = simulate("ring:8", pattern, trace=True).timeline
    cut = simulate("ring:8", pattern, trace=True, max_events=5).timeline
    assert whole is not None and cut is not None
    assert (cut.events == whole.events[:5]).all()
    assert cut.dropped == whole.events.size - 5


# --- wrong input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"pattern": np.zeros((2, 3))}, "found an array of shape (2, 3), allowed: a square matrix"),
        ({"pattern": -np.eye(3)}, "found a negative number"),
        ({"pattern": 0.5 * np.eye(3)}, "a fraction of a byte"),
        ({"placement": [0, 1]}, "field 'placement': found 2 ranks, allowed: 3"),
        ({"placement": [0, 1, 1]}, "allowed"),
        ({"placement": "leap2"}, "placement 'leap2' is unknown on 'mesh-6x4', allowed: identity"),
        ({"granularity": "atom"}, "field 'granularity': found 'atom', allowed: packet, flow"),
        ({"separation": "never"}, "field 'separation': found 'never', allowed: dependence, barrier"),
        ({"repetitions": 0}, "field 'repetitions': found 0, allowed: 1 or more"),
        ({"seed": 3}, "seed 3: found for 'mesh-6x4' by packet, allowed: only where a Cell is simulated"),
        ({"machine": "nowhere"}, "machine 'nowhere' is unknown"),
    ],
)
def test_wrong_input_names_field_found_and_allowed(changed: dict[str, object], said: str) -> None:
    arguments: dict[str, object] = {"machine": "mesh-6x4", "pattern": np.eye(3), **changed}
    with pytest.raises(InputError, match=r"allowed") as error:
        simulate(**arguments)  # type: ignore[arg-type]
    assert said in str(error.value)

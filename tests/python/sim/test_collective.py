"""`corewise collective` and what is behind it: whatever is asked for, the data are right.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as searched
from hypothesis import strategies as st

from corewise import InputError
from corewise._lab import CollectiveRequest
from corewise.analysis.selection import configuration
from corewise.cli.main import execute
from corewise.cli.sim import collective as command
from corewise.data import tuning
from corewise.data.machines import load_machine
from corewise.data.tuning import CLOSINGS, SELECTIONS, Tuning, TuningRow, Value, tuning_for
from corewise.papers.collectives import cases
from corewise.sim import collective as simulated
from corewise.sim import selected as tuned
from corewise.sim.collective import MEMORIES, Algorithm, Collective, Setting
from corewise.sim.selected import SHAPES, Selected, selected

RANKS = (1, 2, 3, 4, 5, 7, 8, 11, 12, 16)
EDGES = (0, 1, 15, 16, 17, 128, 1023, 1024, 2048, 4095, 4096, 4097, 16383, 16384, 16385)
EAGER_BYTES = 136
EAGER_BYTES_16 = 8
OPERATORS = {
    "user_compose": ("int32", 8),
    "user_sum": ("int32", 4),
    "sum": ("float32", 4),
    "maximum": ("int8", 1),
    "bitwise_xor": ("byte8", 1),
    "maximum_location": ("int16_int32", 8),
    "product": ("complex128", 16),
}
WITH_ROWS = [each for each in simulated.collectives().values() if each.algorithms]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = execute(["collective", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


# --- any configuration ------------------------------------------------------------------------------------


def values(setting: Setting) -> st.SearchStrategy[Value]:
    if setting.kind == "flag":
        return st.booleans()
    if setting.kind == "closing":
        return st.sampled_from(CLOSINGS)
    most = min(setting.most, 20000)
    first = -(-setting.least // setting.step)
    return st.integers(first, most // setting.step).map(lambda steps: steps * setting.step)


# What a local store holds is drawn together, within its budget for 16 ranks.
SHAPE = ("buffer", "buffers", "room", "eager_slots", "eager_128")
FOR_BUFFERS = 30 * 1024


@st.composite
def shapes(draw: st.DrawFn, algorithm: Algorithm) -> dict[str, Value]:
    eager = int(algorithm.defaults["eager_slots"]) > 0
    slots = draw(st.sampled_from([2, 4, 8] if eager else [0, 1, 2, 4]))
    wide = draw(st.booleans())
    buffers = draw(st.integers(1, 4))
    room = FOR_BUFFERS - 16 * slots * (16 + 128 * wide)
    buffer = 128 * draw(st.integers(8, min(128, room // buffers // 128)))
    return {"buffer": buffer, "buffers": buffers, "eager_slots": slots, "eager_128": wide}


@st.composite
def configurations(draw: st.DrawFn, algorithm: Algorithm) -> dict[str, Value]:
    names = [name for name in algorithm.defaults if name not in SHAPE]
    chosen: list[str] = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    found = {name: draw(values(simulated.settings()[name])) for name in chosen}
    return {**found, **(draw(shapes(algorithm)) if draw(st.booleans()) else {})}


def fits(algorithm: Algorithm, size: int, given: Mapping[str, Value] | None = None) -> int:
    """A size that the algorithm can have: those inside metadata entries end with the entries."""
    if int(algorithm.defaults["eager_slots"]) == 0:
        return size
    wide = {**algorithm.defaults, **(given or {})}["eager_128"]
    return size % ((EAGER_BYTES if wide else EAGER_BYTES_16) + 1)


@st.composite
def requests(draw: st.DrawFn, most_bytes: int) -> CollectiveRequest:
    collective: Collective = draw(st.sampled_from(WITH_ROWS))
    algorithm = draw(st.sampled_from(collective.algorithms))
    given_settings = draw(configurations(algorithm))
    size = draw(st.one_of(st.sampled_from(EDGES), st.integers(0, most_bytes)))
    uneven = collective.uneven and draw(st.booleans())
    size = fits(algorithm, min(size, most_bytes), given_settings) // (2 if uneven else 1)
    ranks = draw(st.sampled_from(RANKS))
    more: dict[str, object] = {}
    if collective.combines:
        names = [name for name in OPERATORS if not (algorithm.commutes and name == "user_compose")]
        more["operation"] = draw(st.sampled_from(names))
        element, element_bytes = OPERATORS[str(more["operation"])]
        if not str(more["operation"]).startswith("user_"):
            more["element"] = element
        size = size // element_bytes * element_bytes
    if collective.rooted:
        more["root"] = draw(st.integers(0, ranks - 1))
    if collective.name != "barrier":
        more["memory"] = draw(st.sampled_from(MEMORIES))
        more["unaligned"] = draw(st.booleans())
    return CollectiveRequest(
        collective.name,
        algorithm.name,
        ranks,
        0 if collective.name == "barrier" else size,
        settings=given_settings,
        uneven=uneven,
        delay_ns=draw(st.sampled_from([0, 500, 5000])),
        warm_up=draw(st.integers(0, 1)),
        calls=draw(st.integers(1, 3)),
        seed=draw(st.integers(1, 2**20)),
        **more,
    )


def right_or_refused(go: Callable[[], object]) -> None:
    """Wrong data, faults and deadlocks are RunErrors: they fail the test, and so does any refusal but one."""
    try:
        go()
    except InputError as error:
        # Some draws ask for more than a local store holds; nothing else is drawn that cannot be.
        assert "local store" in str(error), str(error)


@searched(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(request=requests(most_bytes=40000), port_seed=st.integers(0, 1000))
def test_any_configuration_gives_the_right_data_on_ideal_ranks(
    request: CollectiveRequest, port_seed: int
) -> None:
    right_or_refused(lambda: simulated.check_collective(request, port_seed))


@searched(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(request=requests(most_bytes=5000))
def test_any_configuration_gives_the_right_data_on_the_cell(request: CollectiveRequest) -> None:
    right_or_refused(lambda: simulated.simulate_collective("cell-blade", request))


@pytest.mark.parametrize("collective", WITH_ROWS, ids=lambda each: str(each.name))
def test_every_algorithm_runs_on_the_cell_and_is_timed(collective: Collective) -> None:
    for algorithm in collective.algorithms:
        size = 0 if collective.name == "barrier" else fits(algorithm, 1024) // 4 * 4
        request = CollectiveRequest(
            collective.name, algorithm.name, 4, size, root=3 if collective.rooted else 0, calls=2
        )
        found = simulated.simulate_collective("cell-be", request)
        assert found.latency_ns.shape == (2,)
        assert found.rank_end_ns.max() == found.latency_ns[-1] > 0
        assert 0 < found.throughput_ns <= 1.2 * found.mean_latency_ns
        assert found.local_store_bytes <= 36 * 1024
        assert found.spes == (0, 1, 2, 3)
        assert found.settings == algorithm.defaults


def test_what_a_call_moves_is_what_the_algorithm_must_move() -> None:
    size, ranks = 65536, 8
    request = CollectiveRequest("broadcast", "local_store_tree", ranks, size, memory="own", calls=1)
    found = simulated.simulate_collective("cell-blade", request)
    first, second = found.memories
    assert first.read_bytes == size  # the root's, once
    assert first.written_bytes == size * (ranks - 1)
    assert (second.read_bytes, second.written_bytes) == (0, 0)
    assert first.gb_per_s == pytest.approx(size * ranks / found.mean_latency_ns)
    # The same by ranks on the other chip, whose memory is theirs.
    other = simulated.simulate_collective("cell-blade", request, placement=list(range(8, 16)))
    assert other.spes == tuple(range(8, 16))
    assert other.memories[1].written_bytes == size * (ranks - 1)
    # Pages of both chips by turns, or ranks: both controllers move half of what is written.
    for memory in ("interleaved", "first_touch"):
        request = CollectiveRequest("broadcast", "pieces", ranks, size, memory=memory, calls=1)
        found = simulated.simulate_collective("cell-blade", request)
        written = [each.written_bytes for each in found.memories]
        assert sum(written) == size * (ranks - 1)
        assert max(written) <= size * ranks / 2
        with pytest.raises(InputError, match=f"field 'memory': found {memory}, allowed: first, own"):
            simulated.simulate_collective("cell-be", request)
    with pytest.raises(InputError, match="for algorithms of the PPE"):
        request = CollectiveRequest("broadcast", "ppe_memcpy", ranks, size, memory="interleaved")
        simulated.simulate_collective("cell-blade", request)
    # Data in local stores touch no memory.
    small = CollectiveRequest("broadcast", "local_store_tree", ranks, 4096, memory="local_store", calls=1)
    assert simulated.simulate_collective("cell-be", small).memories[0].gb_per_s == 0


def test_delays_move_the_ranks_and_runs_repeat() -> None:
    request = CollectiveRequest("barrier", "pairwise_exchange", 8, delay_ns=20000, calls=4, seed=5)
    found = simulated.simulate_collective("cell-be", request)
    again = simulated.simulate_collective("cell-be", request)
    assert np.array_equal(found.latency_ns, again.latency_ns)
    assert found.latency_ns.max() > 5000 > 10 * found.throughput_ns  # late ranks; none back to back
    assert np.unique(found.latency_ns).size == 4


def test_a_cell_of_a_playstation_has_six() -> None:
    request = CollectiveRequest("allreduce", "pieces", 6, 4096)
    assert simulated.simulate_collective("ps3", request).spes == (0, 1, 2, 3, 4, 5)
    with pytest.raises(InputError, match="ranks"):
        simulated.simulate_collective("ps3", CollectiveRequest("allreduce", "pieces", 7, 4096))


# --- what the tuning selects ------------------------------------------------------------------------------


def test_a_selection_runs_with_the_shape_that_it_was_measured_with() -> None:
    blade = load_machine("cell-blade")
    for name, size in (("broadcast", 16384), ("reduce", 1024), ("barrier", 0)):
        for selection in SELECTIONS:
            found = selected(blade, name, 8, size, selection)
            row = tuning_for("cell-blade").find(name, 8, size, selection).won
            measured = cases.Case(
                name, 8, size, configuration(row.algorithm, **dict(row.parameters)), eager=selection == "all"
            )
            request = CollectiveRequest(name, found.algorithm, 8, size, settings=found.settings)
            run_of_selection = simulated.simulate_collective(blade, request)
            expected = cases.run_case(blade, measured)
            assert run_of_selection.mean_latency_ns == pytest.approx(1000 * expected.latency_us, abs=1e-6)


def test_ranks_without_a_row_take_that_of_the_next_larger_number(monkeypatch: pytest.MonkeyPatch) -> None:
    full = tuning_for("cell-blade")
    rows = [row for row in full.rows if row.collective == "broadcast" and row.ranks in (8, 16)]
    assert {row.ranks for row in rows} == {8, 16}
    few = Tuning("cell", "cell-blade", "-", "-", "-", "-", tuple(rows))
    monkeypatch.setattr(tuned, "bundled", lambda: {"cell-blade": few})

    def won(ranks: int) -> TuningRow:
        return few.find("broadcast", ranks, 65536)

    for name, ranks, measured in (("cell-be", 3, 8), ("ps3", 6, 8), ("cell-blade", 9, 16)):
        found = selected(load_machine(name), "broadcast", ranks, 65536)
        assert (found.machine, found.ranks) == ("cell-blade", measured)
        assert found.algorithm == won(measured).won.algorithm
        assert found.settings == {**SHAPES["all"], **dict(won(measured).won.parameters)}
    # Beyond the largest: the largest.
    only_8 = Tuning("cell", "cell-blade", "-", "-", "-", "-", tuple(row for row in rows if row.ranks == 8))
    monkeypatch.setattr(tuned, "bundled", lambda: {"cell-blade": only_8})
    assert selected(load_machine("cell-blade"), "broadcast", 12, 128).ranks == 8
    with pytest.raises(InputError, match=r"no tuning for scatterv: give --algorithm \(direct, .*linear"):
        selected(load_machine("cell-be"), "scatterv", 8, 128)


def test_a_tuning_is_read_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    read: list[Path] = []
    load = tuning.load_tuning

    def counting(path: Path) -> Tuning:
        read.append(path)
        return load(path)

    monkeypatch.setattr(tuning, "load_tuning", counting)
    tuning.bundled.cache_clear()
    assert run(capsys, "broadcast", "--bytes", "128", "-m", "ps3")[0] == 0
    assert read == tuning.bundled_tunings()


@pytest.mark.parametrize("machine", ["cell-be", "ps3", "cell-blade"])
def test_every_selection_of_the_bundled_tuning_runs(machine: str) -> None:
    where = load_machine(machine)
    tuned = {row.collective for row in tuning_for("cell-blade").rows}
    for name in tuned:
        for ranks in (2, 5, len(where.units)):
            found = selected(where, name, ranks, 0 if name == "barrier" else 128)
            size = 0 if name == "barrier" else 128
            request = CollectiveRequest(name, found.algorithm, ranks, size, settings=found.settings, calls=1)
            assert simulated.simulate_collective(where, request).latency_ns[0] > 0


WRONG: tuple[tuple[str, str, int, int, dict[str, object], str], ...] = (
    ("barrier", "tree", 4, 16, {}, "bytes"),
    ("barrier", "tree", 4, 0, {"root": 1}, "root"),
    ("allreduce", "pieces", 4, 16, {"root": 1}, "root"),
    ("broadcast", "pieces", 4, 16, {"root": 4}, "root"),
    ("broadcast", "pieces", 4, 16, {"operation": "maximum"}, "operation"),
    ("reduce", "tree", 4, 16, {"uneven": True}, "uneven"),
    ("reduce", "tree", 4, 16, {"operation": "user_sum", "element": "float64"}, "element"),
    ("reduce", "tree", 4, 16, {"warm_up": 2**31}, "warm_up"),
    ("reduce", "tree", 4, 16, {"warm_up": 1.5}, "warm_up"),
    ("reduce", "tree", 4, 16, {"delay_ns": 2**63}, "delay_ns"),
    ("reduce", "tree", 1000, 16, {}, "ranks"),
    ("reduce", "tree", True, 16, {}, "ranks"),
    ("reduce", "tree", 4, 10**18, {}, "bytes"),
    ("reduce", "tree", 4, 16, {"memory": "third"}, "memory"),
    ("reduce", "tree", 4, 16, {"settings": {"degree": 10**30}}, "degree"),
    ("reduce", "tree", 4, 16, {"settings": {"waits": 1}}, "waits"),
    ("reduce", "tree", 4, 16, {"settings": {"nosuch": 1}}, "set"),
    ("gossip", "tree", 4, 16, {}, "collective"),
)


def test_a_request_refuses_what_is_out_of_range_and_what_its_collective_does_not_have() -> None:
    for collective, algorithm, ranks, size, more, field in WRONG:
        with pytest.raises(InputError, match=f"'{field}'"):
            CollectiveRequest(collective, algorithm, ranks, size, **more)
    with pytest.raises(TypeError, match="no field colour"):
        CollectiveRequest("barrier", "tree", 4, colour=1)


# --- the command ------------------------------------------------------------------------------------------

BARRIER = ("barrier", "--algorithm", "tree", "-m", "cell-be")
PIECES = ("broadcast", "--algorithm", "pieces", "-m", "cell-be")


def test_the_text_has_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(
        capsys, *PIECES, "--set", "min_piece=2KiB", "--ranks", "5", "--bytes", "32KiB", "--root", "2"
    )
    assert (status, err) == (0, "")
    assert "broadcast by pieces on cell-be: 5 ranks, 32 KiB, root 2" in out
    assert "min_piece=2048" in out
    for said in ("latency, common start to last rank done", "back to back", "memory 0, per call", "GB/s"):
        assert said in out
    assert "checked against a serial reference" in out


def test_the_json_is_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    given_options = ("--bytes", "4096", "--ranks", "4", "--calls", "2", "--memory", "own", "--json")
    status, out, _ = run(capsys, *PIECES, *given_options)
    assert status == 0
    document = json.loads(out)
    request = CollectiveRequest("broadcast", "pieces", 4, 4096, memory="own", calls=2)
    expected = simulated.simulate_collective("cell-be", request)
    assert document["name"] == "collective"
    assert document["latencies_ns"] == expected.latency_ns.tolist()
    assert document["throughput_ns"] == expected.throughput_ns
    assert [row["end_ns"] for row in document["rows"]] == expected.rank_end_ns.tolist()
    assert document["settings"]["min_piece"] == 2048
    assert document["memories"][0]["written_bytes"] == 3 * 4096


def test_a_software_cache_is_in_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    given_options = (*STRIDED, "--bytes", "4KiB", "--ranks", "3", "--cache", "128:4:2")
    status, out, err = run(capsys, *given_options)
    assert (status, err) == (0, "")
    assert "software caches, per call" in out
    status, out, _ = run(capsys, *given_options, "--json")
    document = json.loads(out)
    # 32 lines of 4 KiB on each rank, of which 8 have a place; all that is written has to go again.
    expected = {"line_bytes": 128, "sets": 4, "ways": 2, "hits": 0, "misses": 3 * 32, "write_backs": 2 * 32}
    assert document["software_cache"] == {**expected, "local_store_bytes": 1024}
    plain = json.loads(run(capsys, *given_options[:-2], "--json")[1])
    assert plain["software_cache"] is None
    assert document["local_store_bytes"] == plain["local_store_bytes"] + 1024
    assert document["dma_commands"] >= plain["dma_commands"] + 3 * 32 + 2 * 32 - 3


def test_the_list_has_every_collective_algorithm_and_setting(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "list")
    assert status == 0
    for each in WITH_ROWS:
        assert each.name in out
        assert [row.name for row in each.algorithms if row.name not in out] == []
    assert [name for name in simulated.settings() if name not in out] == []
    status, out, _ = run(capsys, "list", "--json")
    rows = json.loads(out)["rows"]
    assert len(rows) == sum(len(each.algorithms) for each in WITH_ROWS)


def test_without_an_algorithm_it_is_the_selected_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = Selected("local_store_tree", {"degree": 4}, "cell-blade", 8)
    monkeypatch.setattr(command, "selected", lambda *_: chosen)
    status, out, _ = run(capsys, "broadcast", "-m", "cell-be", "--bytes", "1KiB", "--ranks", "4")
    assert status == 0
    assert "broadcast by local_store_tree" in out
    assert "selected by tuning/ of cell-blade for 8 ranks, the nearest measured, with" in out
    assert "degree=4" in out
    # What is set by hand counts more.
    arguments = ("broadcast", "-m", "cell-be", "--ranks", "4", "--set", "degree=2", "--json")
    _, out, _ = run(capsys, *arguments)
    document = json.loads(out)
    assert document["settings"]["degree"] == 2
    assert document["selected"] == {"machine": "cell-blade", "ranks": 8}
    assert json.loads(run(capsys, *PIECES, "--json")[1])["selected"] is None


def test_a_barrier_has_no_data_that_could_be_right(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, *BARRIER)
    assert status == 0
    assert "no rank left before the last one had come" in out
    assert "data" not in out.splitlines()[-1]


def test_a_placement_says_which_spes(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, *PIECES, "--bytes", "1KiB", "-p", "even_odd", "--json")
    assert [row["spe"] for row in json.loads(out)["rows"]] == [0, 4, 2, 6, 1, 5, 3, 7]


TREE = ("reduce", "--algorithm", "tree", "-m", "cell-be")
STRIDED = ("broadcast", "--algorithm", "local_store_tree", "-m", "cell-be")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nosuch", "-m", "cell-be"), ("collective", "nosuch", "barrier, broadcast")),
        (("broadcast", "--algorithm", "x", "-m", "cell-be"), ("algorithm", "pieces")),
        ((*PIECES, "--set", "degree=3"), ("set", "degree", "min_piece", "pieces")),
        ((*PIECES, "--set", "nosuch=3"), ("set", "nosuch", "min_piece")),
        ((*PIECES, "--set", "list"), ("set", "list", "NAME=VALUE")),
        ((*PIECES, "--set", "min_piece=3"), ("min_piece", "3", "16 to")),
        ((*PIECES, "--set", "min_piece=17"), ("min_piece", "17", "steps of 16")),
        ((*PIECES, "--set", "min_piece=x"), ("min_piece", "x")),
        ((*PIECES, "--set", "closing=1"), ("closing", "barrier, counters")),
        ((*PIECES, "--set", "waits=1"), ("waits", "true, false")),
        ((*PIECES, "--set", "waits=true", "--set", "waits=true"), ("waits", "twice")),
        ((*PIECES, "--set", "buffers=4"), ("36864",)),
        ((*PIECES, "--set", "eager_slots=3"), ("eager_slots", "0, 1, 2, 4, 8")),
        ((*PIECES, "--ranks", "9"), ("ranks", "9", "1 to 8")),
        ((*PIECES, "--ranks", "0"), ("ranks", "0")),
        ((*PIECES, "--bytes", "x"), ("bytes", "x")),
        ((*PIECES, "--bytes", "9" * 5000), ("bytes", "whole number of bytes")),
        ((*PIECES, "--set", "min_piece=" + "9" * 5000), ("min_piece", "whole number of bytes")),
        ((*PIECES, "--set", "buffers=" + "9" * 5000), ("buffers",)),
        ((*PIECES, "--bytes", "1GiB"), ("bytes", "16777216")),
        ((*PIECES, "--root", "8"), ("root", "8", "0 to 7")),
        ((*PIECES, "--memory", "second"), ("memory", "second", "one chip")),
        ((*PIECES, "--memory", "x"), ("memory", "x", "local_store")),
        ((*PIECES, "--memory", "local_store", "--bytes", "200KiB"), ("bytes", "196608")),
        ((*PIECES, "--stride", "64:128", "--bytes", "64"), ("stride", "contiguous")),
        ((*PIECES, "--in-place"), ("in_place", "broadcast")),
        ((*PIECES, "--calls", "0"), ("calls", "0")),
        ((*PIECES, "--warm-up", "-1"), ("warm_up", "-1", "0 to 1000000")),
        ((*PIECES, "--warm-up", "99999999999"), ("warm_up", "99999999999", "0 to 1000000")),
        ((*PIECES, "--calls", "99999999999"), ("calls", "99999999999", "1 to 1000000")),
        ((*PIECES, "--delay", "-1"), ("delay", "-1", "0 to 1000000000")),
        ((*PIECES, "--delay", "99999999999999999999"), ("delay", "99999999999999999999", "0 to 1000000000")),
        ((*PIECES, "--seed", "99999999999"), ("seed", "99999999999", "0 to 2147483647")),
        ((*PIECES, "--root", "99999999999"), ("root", "99999999999", "0 to 63")),
        ((*PIECES, "--ranks", "99999999999"), ("ranks", "99999999999", "1 to 64")),
        ((*PIECES, "--selection", "foo"), ("selection", "foo", "paper, all")),
        ((*PIECES, "--selection", "paper"), ("--selection", "--algorithm", "only without")),
        ((*PIECES, "--operation", "sum"), ("operation", "broadcast", "only for reduce, allreduce")),
        ((*PIECES, "--element", "int32"), ("element", "broadcast", "only for reduce, allreduce")),
        ((*PIECES, "--uneven"), ("uneven", "broadcast", "only for gatherv")),
        ((*BARRIER, "--root", "2"), ("root", "barrier", "only for broadcast, reduce")),
        ((*BARRIER, "--bytes", "1024"), ("bytes", "barrier", "only for broadcast")),
        ((*BARRIER, "--memory", "own"), ("memory", "barrier", "only for broadcast")),
        ((*BARRIER, "--unaligned"), ("unaligned", "barrier", "only for broadcast")),
        ((*PIECES, "-p", "nosuch"), ("placement", "nosuch")),
        ((*PIECES, "--trace", "x.pftrace"), ("--trace",)),
        ((*STRIDED, "--stride", "64"), ("stride", "BLOCK:STRIDE")),
        ((*STRIDED, "--bytes", "64", "--cache", "128:64"), ("cache", "128:64", "LINE:SETS:WAYS")),
        ((*STRIDED, "--bytes", "64", "--cache", "128::4"), ("cache", "128::4", "LINE:SETS:WAYS")),
        ((*STRIDED, "--bytes", "64", "--cache", "0:64:4"), ("cache", "0:64:4", "LINE:SETS:WAYS")),
        ((*STRIDED, "--bytes", "64", "--cache", "100:64:4"), ("line_bytes", "100", "powers of two")),
        ((*STRIDED, "--bytes", "64", "--cache", "128:64:25"), ("cache_ways", "25", "at most 196608 bytes")),
        ((*STRIDED, "--bytes", "64", "--cache", "128:99999999999:4"), ("cache_sets", "1 to 2048")),
        ((*STRIDED, "--cache", "128:64:4", "--memory", "local_store"), ("memory", "local_store", "cache")),
        ((*PIECES, "--bytes", "64", "--cache", "128:64:4"), ("algorithm", "pieces", "local_store_tree")),
        ((*BARRIER, "--cache", "128:64:4"), ("cache_line_bytes", "barrier", "only for broadcast")),
        ((*STRIDED, "--stride", "64:32"), ("stride", "32")),
        ((*TREE, "--bytes", "10"), ("bytes", "10", "4 bytes")),
        (
            (*TREE, "--operation", "user_sum", "--element", "float64"),
            ("element", "user_sum", "only for operators of MPI"),
        ),
        (("scatterv", "-m", "cell-be"), ("scatterv", "--algorithm", "direct", "linear")),
        ((*TREE, "--operation", "x"), ("operation", "x", "user_compose")),
        ((*TREE, "--element", "x"), ("element", "x", "float64")),
        ((*TREE, "--element", "float32", "--operation", "bitwise_or"), ("element", "float32", "bitwise_or")),
        (("broadcast", "--algorithm", "pieces", "-m", "flat:4"), ("flat", "cell-be")),
        (("broadcast", "--algorithm", "pieces"), ("--machine",)),
        (("-m", "cell-be"), ("COLLECTIVE",)),
        ((*BARRIER, "--root", "0"), ("root", "found 0", "only for broadcast, reduce")),
        (("broadcast", "--selection", "x", "-m", "cell-be"), ("selection", "paper")),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, tuple) else None,
)
def test_wrong_input_is_one_line_and_status_2(
    arguments: tuple[str, ...], words: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("corewise: ")
    assert err.count("\n") == 1
    assert [word for word in words if word not in err] == [], err
    assert list(tmp_path.iterdir()) == []

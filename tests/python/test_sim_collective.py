"""`corewise sim --collective` and what is behind it: whatever is asked for, the data are right."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as searched
from hypothesis import strategies as st

from corewise import InputError
from corewise.cli.main import execute
from corewise.sim import collective as simulated
from corewise.sim.collective import MEMORIES, Algorithm, Collective, Setting, Task, Value

RANKS = (1, 2, 3, 4, 5, 7, 8, 11, 12, 16)
EDGES = (0, 1, 15, 16, 17, 128, 1023, 1024, 2048, 4095, 4096, 4097, 16383, 16384, 16385)
EAGER_BYTES = 136
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
    status = execute(["sim", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


# --- any configuration ------------------------------------------------------------------------------------


def values(setting: Setting) -> st.SearchStrategy[Value]:
    if setting.kind == "flag":
        return st.booleans()
    if setting.kind == "closing":
        return st.sampled_from(simulated.CLOSINGS)
    if setting.name == "eager_slots":
        return st.sampled_from([2, 4])
    most = min(setting.most, 20000)
    first = -(-setting.least // setting.step)
    return st.integers(first, most // setting.step).map(lambda steps: steps * setting.step)


# What the budget of a local store must leave room for is not drawn beyond the defaults.
SHAPE = ("buffer", "buffers", "eager_slots", "eager_128")


@st.composite
def configurations(draw: st.DrawFn, algorithm: Algorithm) -> dict[str, Value]:
    names = [name for name in algorithm.defaults if name not in SHAPE]
    chosen: list[str] = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    found = {name: draw(values(simulated.settings()[name])) for name in chosen}
    if draw(st.booleans()):
        least = 1024 // 128
        most = int(algorithm.defaults["buffer"]) // 128
        found["buffer"] = 128 * draw(st.integers(least, most))
    return found


def fits(algorithm: Algorithm, size: int) -> int:
    """A size that the algorithm can have: those inside metadata entries end with the entries."""
    return size % (EAGER_BYTES + 1) if int(algorithm.defaults["eager_slots"]) > 0 else size


@st.composite
def tasks(draw: st.DrawFn, most_bytes: int) -> Task:
    collective: Collective = draw(st.sampled_from(WITH_ROWS))
    algorithm = draw(st.sampled_from(collective.algorithms))
    size = draw(st.one_of(st.sampled_from(EDGES), st.integers(0, most_bytes)))
    uneven = collective.uneven and draw(st.booleans())
    size = fits(algorithm, min(size, most_bytes)) // (2 if uneven else 1)
    names = [name for name in OPERATORS if not (algorithm.commutes and name == "user_compose")]
    operation = draw(st.sampled_from(names))
    element, element_bytes = OPERATORS[operation]
    if collective.combines:
        size = size // element_bytes * element_bytes
    ranks = draw(st.sampled_from(RANKS))
    return Task(
        collective=collective.name,
        algorithm=algorithm.name,
        ranks=ranks,
        bytes=size,
        root=draw(st.integers(0, ranks - 1)),
        settings=draw(configurations(algorithm)),
        memory=draw(st.sampled_from(MEMORIES)),
        operation=operation,
        element=element,
        uneven=uneven,
        unaligned=draw(st.booleans()),
        delay_ns=draw(st.sampled_from([0, 500, 5000])),
        warm_up=draw(st.integers(0, 1)),
        calls=draw(st.integers(1, 3)),
        seed=draw(st.integers(1, 2**20)),
    )


def right_or_refused(task: Task, go: object) -> None:
    """Wrong data, faults and deadlocks are RunErrors: they fail the test. A refusal names what is allowed."""
    assert callable(go)
    try:
        go()
    except InputError as error:
        # Few draws ask for what cannot be: too many bytes for a local store, ranks that are no power of two.
        assert "allowed: " in str(error)
        assert task.memory == "local_store" or "powers of two" in str(error), str(error)


@searched(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(task=tasks(most_bytes=40000), port_seed=st.integers(0, 1000))
def test_any_configuration_gives_the_right_data_on_ideal_ranks(task: Task, port_seed: int) -> None:
    right_or_refused(task, lambda: simulated.check_collective(task, port_seed))


@searched(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(task=tasks(most_bytes=5000))
def test_any_configuration_gives_the_right_data_on_the_cell(task: Task) -> None:
    right_or_refused(task, lambda: simulated.simulate_collective("cell-blade", task))


@pytest.mark.parametrize("collective", WITH_ROWS, ids=lambda each: str(each.name))
def test_every_algorithm_runs_on_the_cell_and_is_timed(collective: Collective) -> None:
    for algorithm in collective.algorithms:
        task = Task(collective.name, algorithm.name, 4, fits(algorithm, 1024) // 4 * 4, root=3, calls=2)
        found = simulated.simulate_collective("cell-be", task)
        assert found.latency_ns.shape == (2,)
        assert found.rank_end_ns.max() == found.latency_ns[-1] > 0
        assert 0 < found.throughput_ns <= 1.2 * found.mean_latency_ns
        assert found.local_store_bytes <= 36 * 1024
        assert found.spes == (0, 1, 2, 3)
        assert found.settings == algorithm.defaults


def test_what_a_call_moves_is_what_the_algorithm_must_move() -> None:
    size, ranks = 65536, 8
    task = Task("broadcast", "local_store_tree", ranks, size, memory="own", calls=1)
    found = simulated.simulate_collective("cell-blade", task)
    first, second = found.memories
    assert first.read_bytes == size  # the root's, once
    assert first.written_bytes == size * (ranks - 1)
    assert (second.read_bytes, second.written_bytes) == (0, 0)
    assert first.gb_per_s == pytest.approx(size * ranks / found.mean_latency_ns)
    # The same by ranks on the other chip, whose memory is theirs.
    other = simulated.simulate_collective("cell-blade", task, placement=list(range(8, 16)))
    assert other.spes == tuple(range(8, 16))
    assert other.memories[1].written_bytes == size * (ranks - 1)
    # Data in local stores touch no memory.
    small = Task("broadcast", "local_store_tree", ranks, 4096, memory="local_store", calls=1)
    assert simulated.simulate_collective("cell-be", small).memories[0].gb_per_s == 0


def test_delays_move_the_ranks_and_runs_repeat() -> None:
    task = Task("barrier", "pairwise_exchange", 8, delay_ns=20000, calls=4, seed=5)
    found = simulated.simulate_collective("cell-be", task)
    again = simulated.simulate_collective("cell-be", task)
    assert np.array_equal(found.latency_ns, again.latency_ns)
    assert found.latency_ns.max() > 5000 > 10 * found.throughput_ns  # late ranks; none back to back
    assert np.unique(found.latency_ns).size == 4


def test_a_cell_of_a_playstation_has_six() -> None:
    task = Task("allreduce", "pieces", 6, 4096)
    assert simulated.simulate_collective("ps3", task).spes == (0, 1, 2, 3, 4, 5)
    with pytest.raises(InputError, match="ranks"):
        simulated.simulate_collective("ps3", Task("allreduce", "pieces", 7, 4096))


# --- the command ------------------------------------------------------------------------------------------

PIECES = ("--collective", "broadcast", "--algorithm", "pieces", "-m", "cell-be")


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
    task = Task("broadcast", "pieces", 4, 4096, memory="own", calls=2)
    expected = simulated.simulate_collective("cell-be", task)
    assert document["name"] == "sim collective"
    assert document["latencies_ns"] == expected.latency_ns.tolist()
    assert document["throughput_ns"] == expected.throughput_ns
    assert [row["end_ns"] for row in document["rows"]] == expected.rank_end_ns.tolist()
    assert document["settings"]["min_piece"] == 2048
    assert document["memories"][0]["written_bytes"] == 3 * 4096


def test_the_list_has_every_collective_algorithm_and_setting(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--collective", "list")
    assert status == 0
    for each in WITH_ROWS:
        assert each.name in out
        assert [row.name for row in each.algorithms if row.name not in out] == []
    assert [name for name in simulated.settings() if name not in out] == []
    status, out, _ = run(capsys, "--collective", "list", "--json")
    rows = json.loads(out)["rows"]
    assert len(rows) == sum(len(each.algorithms) for each in WITH_ROWS)


def test_without_an_algorithm_it_is_the_selected_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: tuple[str, Mapping[str, Value]] = ("local_store_tree", {"degree": 4})
    monkeypatch.setattr(simulated, "selected", lambda *_: chosen)
    status, out, _ = run(
        capsys, "--collective", "broadcast", "-m", "cell-be", "--bytes", "1KiB", "--ranks", "4"
    )
    assert status == 0
    assert "broadcast by local_store_tree" in out
    assert "selected by tuning/" in out
    assert "degree=4" in out
    # What is set by hand counts more.
    arguments = ("--collective", "broadcast", "-m", "cell-be", "--ranks", "4", "--set", "degree=2", "--json")
    _, out, _ = run(capsys, *arguments)
    assert json.loads(out)["settings"]["degree"] == 2


def test_a_placement_says_which_spes(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, *PIECES, "--bytes", "1KiB", "-p", "even_odd", "--json")
    assert [row["spe"] for row in json.loads(out)["rows"]] == [0, 4, 2, 6, 1, 5, 3, 7]


TREE = ("--collective", "reduce", "--algorithm", "tree", "-m", "cell-be")
STRIDED = ("--collective", "broadcast", "--algorithm", "local_store_tree", "-m", "cell-be")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--collective", "nosuch", "-m", "cell-be"), ("collective", "nosuch", "barrier, broadcast")),
        (("--collective", "broadcast", "--algorithm", "x", "-m", "cell-be"), ("algorithm", "pieces")),
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
        ((*PIECES, "--bytes", "1GiB"), ("bytes", "16777216")),
        ((*PIECES, "--root", "8"), ("root", "8", "0 to 7")),
        ((*PIECES, "--memory", "second"), ("memory", "second", "one chip")),
        ((*PIECES, "--memory", "x"), ("memory", "x", "local_store")),
        ((*PIECES, "--memory", "local_store", "--bytes", "200KiB"), ("bytes", "196608")),
        ((*PIECES, "--stride", "64:128", "--bytes", "64"), ("stride", "contiguous")),
        ((*PIECES, "--in-place"), ("in_place", "broadcast")),
        ((*PIECES, "--calls", "0"), ("calls", "0")),
        ((*PIECES, "--warm-up", "-1"), ("warm_up", "-1")),
        ((*PIECES, "--delay", "-1"), ("delay", "-1")),
        ((*PIECES, "-p", "nosuch"), ("placement", "nosuch")),
        ((*PIECES, "--trace", "x.pftrace"), ("--trace", "without --collective")),
        (("ring", *PIECES), ("PATTERN", "without --collective")),
        (("ring", "--ranks", "3", "-m", "cell-be"), ("--ranks", "with --collective")),
        ((*STRIDED, "--stride", "64"), ("stride", "BLOCK:STRIDE")),
        ((*STRIDED, "--stride", "64:32"), ("stride", "32")),
        ((*TREE, "--bytes", "10"), ("bytes", "10", "4 bytes")),
        ((*TREE, "--operation", "x"), ("operation", "x", "user_compose")),
        ((*TREE, "--element", "x"), ("element", "x", "float64")),
        ((*TREE, "--element", "float32", "--operation", "bitwise_or"), ("element", "float32", "bitwise_or")),
        (("--collective", "broadcast", "--algorithm", "pieces", "-m", "flat:4"), ("flat", "cell-be")),
        (("--collective", "broadcast", "--algorithm", "pieces"), ("--machine",)),
        (("-m", "cell-be"), ("PATTERN", "--collective")),
        (("--collective", "broadcast", "--selection", "x", "-m", "cell-be"), ("selection", "paper")),
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

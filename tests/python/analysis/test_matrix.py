"""Communication matrices: by bytes, count and time, per phase and communicator, heavy paths, levels.

Runs are made up by `trace_writer`; every number is computed here from what was put in.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import socket
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import trace_writer as tw
from hypothesis import given, settings
from hypothesis import strategies as st

from corewise._core import Machine
from corewise.analysis.profile.cells import matrix_cells
from corewise.analysis.profile.levels import (
    CORE_COMPLEX,
    NETWORK,
    NODE,
    SELF,
    SOCKET,
    UNBOUND,
    level_rows,
    pair_levels,
    rank_places,
)
from corewise.analysis.profile.matrix import TrafficMatrix, build_matrix, compare_physical, heavy_paths
from corewise.cli.main import execute
from corewise.data.monitoring import load_monitoring
from corewise.data.profile import load_profile
from corewise.errors import InputError
from corewise.plots.heatmap import log_levels

SVG = "{http://www.w3.org/2000/svg}"
TWO_SOCKETS = "pack:2 l3:2 core:1"  # cores 0, 1 | 2, 3, each with its own L3


def _out(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = execute(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def _phased(folder: Path) -> Path:
    """A message; in `solve` two, one on a communicator; in `io` a put and a get; then `solve` again."""
    ranks = [tw.RankTrace(rank, 2, comms=[("pair", (0, 1))]) for rank in range(2)]
    zero, one = ranks
    zero.put(tw.SEND, "MPI_Send", 1, 100, ticks=10)
    zero.mark(tw.PHASE, "solve")
    zero.put(tw.SEND, "MPI_Send", 1, 7, ticks=20)
    zero.put(tw.SEND, "MPI_Send", 1, 8, ticks=30, comm=1)
    zero.put(tw.COLLECTIVE, "MPI_Bcast", 0, 64, ticks=5)
    zero.mark(tw.PHASE, "io")
    zero.put(tw.PUT, "MPI_Put", 1, 512, ticks=40)
    zero.put(tw.GET, "MPI_Get", 1, 256, ticks=50)
    zero.mark(tw.PHASE, "solve")
    zero.put(tw.SEND, "MPI_Send", 1, 9, ticks=60)
    one.put(tw.RECEIVE, "MPI_Recv", 0, 100, ticks=1_000)
    one.mark(tw.PHASE, "solve")
    one.put(tw.ARRIVAL, "MPI_Irecv", 0, 7, ticks=2_000)
    one.put(tw.RECEIVE, "MPI_Recv", 0, 8, ticks=3_000, comm=1)
    one.put(tw.COLLECTIVE, "MPI_Bcast", 0, 64, ticks=5)
    one.put(tw.RECEIVE, "MPI_Recv", 0, 9, ticks=4_000)
    return tw.write_run(folder, ranks)


def _one(matrix: TrafficMatrix) -> tuple[int, int, int, int, float]:
    """The only pair."""
    (sender,), (receiver,) = matrix.senders.tolist(), matrix.receivers.tolist()
    return sender, receiver, int(matrix.bytes[0]), int(matrix.messages[0]), float(matrix.time_ns[0])


def test_bytes_count_and_time_per_phase_and_communicator(tmp_path: Path) -> None:
    world = load_profile(_phased(tmp_path / "run.cw")).world
    assert list(world.phases) == ["", "solve", "io"]
    assert _one(build_matrix(world, "sent")) == (0, 1, 124, 4, 120.0)
    assert _one(build_matrix(world, "sent", phase="")) == (0, 1, 100, 1, 10.0)
    # The phase comes twice; both visits count.
    assert _one(build_matrix(world, "sent", phase="solve")) == (0, 1, 24, 3, 110.0)
    assert _one(build_matrix(world, "sent", phase="solve", comm="pair")) == (0, 1, 8, 1, 30.0)
    assert build_matrix(world, "sent", phase="io").senders.size == 0
    # A blocking receive's duration, an arrival's time from post to completion.
    assert _one(build_matrix(world, "received", phase="solve")) == (0, 1, 24, 3, 9_000.0)
    # What rank 0 got came from rank 1.
    assert _one(build_matrix(world, "put")) == (0, 1, 512, 1, 40.0)
    assert _one(build_matrix(world, "get")) == (1, 0, 256, 1, 50.0)
    observed = build_matrix(world, "observed")
    assert observed.bytes.tolist() == [124 + 512, 256]
    assert observed.messages.tolist() == [5, 1]
    # The model of the broadcast is in no observed matrix.
    assert _one(build_matrix(world, "collective", phase="solve"))[:4] == (0, 1, 64, 1)
    assert build_matrix(world, "collective", phase="io").senders.size == 0
    assert [build_matrix(world, by=by).values[0] for by in ("bytes", "count", "time")] == [124, 4, 120]


def test_phases_make_a_pattern_of_phases(tmp_path: Path) -> None:
    world = load_profile(_phased(tmp_path / "run.cw")).world
    pattern = world.pattern("run", by_phase=True)
    assert [phase.name for phase in pattern.phases] == ["", "solve"]
    assert (pattern.matrix() == world.matrix("sent")).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "words"], "field 'by': found 'words', allowed: bytes, count, time"),
        (
            ["--traffic", "lost"],
            "field 'traffic': found 'lost', allowed: sent, received, collective, put, get",
        ),
        (["--traffic", "collective", "--by", "time"], "which peer a rank waited for inside a collective"),
        (["--phase", "none"], "field 'phase': found 'none', allowed: '', 'solve', 'io'"),
        (["--comm", "none"], "field 'comm': found 'none', allowed: 'MPI_COMM_WORLD', 'pair'"),
        (["--heavy", "1.5"], "field 'heavy': found '1.5', allowed: a share above 0"),
        (["--heavy", "0"], "field 'heavy': found '0'"),
        (["--level", "rack"], "field 'level': found 'rack', allowed: core-complex, socket, node, network"),
        (["--machine", "no-such"], "machine 'no-such' is unknown"),
        (["--top", "0"], "--top: found 0"),
        (["--physical", "/nowhere/at"], "/nowhere/at: found nothing, allowed: PREFIX.RANK.prof"),
        (["--physical", "x", "--heavy", "3"], "--heavy: not with --physical"),
        (["--svg", "/nowhere/at/all.svg"], "there is no folder /nowhere/at"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    folder = _phased(tmp_path / "run.cw")
    before = sorted(tmp_path.rglob("*"))
    status, out, err = _out(["matrix", str(folder), *options], capsys)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


# ---- heavy paths -----------------------------------------------------------------------------------------


def _weighed(values: list[int]) -> TrafficMatrix:
    count = len(values)
    nothing = np.zeros(count)
    return TrafficMatrix(
        count + 1, "sent", "bytes", None, None,
        np.arange(count, dtype=np.int32), np.arange(1, count + 1, dtype=np.int32),
        np.array(values, dtype=np.uint64), np.ones(count, dtype=np.uint64), nothing,
    )  # fmt: skip


def test_heavy_paths_by_share_and_by_number() -> None:
    matrix = _weighed([1, 50, 20, 20, 9])
    assert heavy_paths(matrix, "0.5").kept.tolist() == [False, True, False, False, False]
    # 70 % takes one of the equal pairs; which of them must not depend on the numbering.
    seventy = heavy_paths(matrix, "70%")
    assert seventy.kept.tolist() == [False, True, True, True, False]
    assert seventy.statement == (
        "heavy paths: 3 of 5 pairs carry 90.0 % of the bytes: the fewest that carry at least 70 %, and all "
        "as heavy as the lightest of them"
    )
    assert heavy_paths(matrix, "1.0").kept.all()
    assert heavy_paths(matrix, "1").kept.sum() == 1
    assert heavy_paths(matrix, "2").kept.sum() == 3
    assert heavy_paths(matrix, "99").kept.all()
    assert heavy_paths(_weighed([0, 0]), "0.5").kept.sum() == 0


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=30), st.floats(0.01, 1.0))
def test_no_smaller_set_is_as_heavy(values: list[int], share: float) -> None:
    matrix = _weighed(values)
    kept = heavy_paths(matrix, repr(share)).kept
    chosen = sorted((value for value, keep in zip(values, kept, strict=True) if keep), reverse=True)
    total = sum(values)
    if total == 0:
        assert chosen == []
        return
    assert sum(chosen) >= share * total * (1 - 1e-9)
    lighter = [value for value in chosen if value > chosen[-1]]
    # Without the lightest ones the share is missed, and everything left out is lighter still.
    assert sum(lighter) < share * total or not lighter
    assert all(value < chosen[-1] for value, keep in zip(values, kept, strict=True) if not keep and value)


# ---- levels ----------------------------------------------------------------------------------------------


def _all_to_all(folder: Path, places: list[tuple[str, list[int]]]) -> Path:
    """Every rank sends 10 bytes to every rank, itself too; places are (node, processing units)."""
    ranks = []
    for rank, (node, cpus) in enumerate(places):
        trace = tw.RankTrace(rank, len(places), host=node, node=f"boot-{node}", version=2, cpus=cpus)
        for peer in range(len(places)):
            trace.put(tw.SEND, "MPI_Send", peer, 10)
        ranks.append(trace)
    return tw.write_run(folder, ranks)


def _levels(folder: Path, machine: str | None, finest: str = "core-complex") -> list[list[int]]:
    world = load_profile(folder).world
    places = rank_places(world, Machine.from_synthetic(machine) if machine else None)
    matrix = build_matrix(world, "sent")
    found = np.zeros((world.size, world.size), dtype=int)
    found[matrix.senders, matrix.receivers] = pair_levels(places, matrix, finest)
    return found.tolist()


def test_levels_of_bound_ranks(tmp_path: Path) -> None:
    # 2 sockets of 2 core complexes of 2 cores: ranks on cores 0, 1, 2, 4 of one node and core 0 of another.
    folder = _all_to_all(tmp_path / "run.cw", [("a", [0]), ("a", [1]), ("a", [2]), ("a", [4]), ("b", [0])])
    machine = "pack:2 l3:2 core:2"
    assert _levels(folder, machine)[0] == [SELF, CORE_COMPLEX, SOCKET, NODE, NETWORK]
    assert _levels(folder, machine)[4] == [NETWORK] * 4 + [SELF]
    assert _levels(folder, machine, "socket")[0] == [SELF, SOCKET, SOCKET, NODE, NETWORK]
    # The paper's figures: inside a node, or between nodes.
    assert _levels(folder, machine, "node")[0] == [SELF, NODE, NODE, NODE, NETWORK]
    # Without a machine nodes are all that is known.
    assert _levels(folder, None)[0] == [SELF, NODE, NODE, NODE, NETWORK]


def test_unbound_ranks_are_told_apart_as_far_as_their_masks_go(tmp_path: Path) -> None:
    # Rank 1 may run anywhere, rank 2 in both core complexes of socket 0, rank 3 is bound to socket 1.
    folder = _all_to_all(tmp_path / "run.cw", [("a", [0]), ("a", [0, 1, 2, 3]), ("a", [0, 1]), ("a", [3])])
    levels = _levels(folder, TWO_SOCKETS)
    assert levels[0] == [SELF, UNBOUND, UNBOUND, NODE]
    assert levels[2] == [UNBOUND, UNBOUND, SELF, NODE]
    assert _levels(folder, TWO_SOCKETS, "socket")[0] == [SELF, UNBOUND, SOCKET, NODE]
    assert _levels(folder, TWO_SOCKETS, "node")[0] == [SELF, NODE, NODE, NODE]
    world = load_profile(folder).world
    assert rank_places(world, Machine.from_synthetic(TWO_SOCKETS)).unbound == (1,)


def test_this_host_describes_only_what_ran_here(tmp_path: Path) -> None:
    here = load_profile(_all_to_all(tmp_path / "here.cw", [(socket.gethostname(), [0])] * 2)).world
    there = load_profile(_all_to_all(tmp_path / "there.cw", [("elsewhere", [0])] * 2)).world
    asked: list[int] = []

    def host() -> Machine:
        asked.append(1)
        return Machine.from_synthetic(TWO_SOCKETS)

    assert rank_places(here, None, host).machine == TWO_SOCKETS
    places = rank_places(there, None, host)
    assert (places.machine, len(asked)) == (None, 1)
    assert places.note == "sockets and core complexes of elsewhere are not known here: --machine"


def test_the_share_of_every_level(tmp_path: Path) -> None:
    """As the paper reads figure 9: half of the traffic is between nodes."""
    folder = _all_to_all(tmp_path / "run.cw", [("a", [0]), ("a", [1]), ("b", [0]), ("b", [1])])
    world = load_profile(folder).world
    matrix = build_matrix(world, "sent")
    places = rank_places(world, Machine.from_synthetic("pack:1 core:2"))
    rows = level_rows(matrix, pair_levels(places, matrix), places)
    assert [(row.level, row.pairs, row.value, row.share) for row in rows] == [
        ("same rank", 4, 40.0, 0.25),
        ("core complex", 4, 40.0, 0.25),
        ("network", 8, 80.0, 0.5),
    ]


# ---- forms -----------------------------------------------------------------------------------------------


def test_the_command_in_all_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _all_to_all(tmp_path / "run.cw", [("a", [0]), ("a", [2]), ("b", [0])])
    svg, table = tmp_path / "m.svg", tmp_path / "m.csv"
    common = ["matrix", str(folder), "--machine", TWO_SOCKETS]
    status, out, _ = _out(
        [*common, "--level", "core-complex", "--svg", str(svg), "--csv", str(table)], capsys
    )
    assert status == 0
    assert "bytes (point-to-point, as sent): row sends, column receives" in out
    assert re.search("│ network +│ +4 │ +44.4 % │ +40 B │ +44.4 % │ another node +│", out)
    assert "┼" in out  # the line between the nodes
    status, out, _ = _out([*common, "--json", "--heavy", "3"], capsys)
    document = json.loads(out)
    assert (status, document["name"], document["traffic"], document["observed"]) == (
        0,
        "matrix",
        "sent",
        True,
    )
    assert len(document["rows"]) == 9  # all are equally heavy
    assert document["rows"][1] == {
        "from": 0, "to": 1, "bytes": 10, "messages": 1, "time_ns": 10.0, "level": "node",
    }  # fmt: skip
    empty = tmp_path / "collective.csv"
    assert (
        _out(
            ["matrix", str(_phased(tmp_path / "c.cw")), "--traffic", "collective", "--csv", str(empty)],
            capsys,
        )[0]
        == 0
    )
    assert empty.read_text().splitlines()[1] == "0,1,64,1,,node"
    rows = list(csv.DictReader(table.open()))
    assert [(row["from"], row["to"], row["bytes"], row["level"]) for row in rows][:2] == [
        ("0", "0", "10", "same rank"),
        ("0", "1", "10", "node"),
    ]
    picture = ET.parse(svg).getroot()
    assert picture.tag == f"{SVG}svg"
    texts = [each.text for each in picture.iter(f"{SVG}text")]
    assert {"sending rank", "receiving rank", "network", "44.4 %"} <= set(texts)
    cells = [each for each in picture.iter(f"{SVG}rect") if each.find(f"{SVG}title") is not None]
    assert len(cells) == 9


def test_large_matrices_become_blocks_and_small_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranks = []
    for rank in range(150):
        trace = tw.RankTrace(rank, 150, host=f"n{rank // 50}", node=f"n{rank // 50}", version=2)
        trace.put(tw.SEND, "MPI_Send", (rank + 1) % 150, 10 * (1 + rank % 3))
        ranks.append(trace)
    folder = tw.write_run(tmp_path / "run.cw", ranks)
    svg = tmp_path / "m.svg"
    status, out, _ = _out(["matrix", str(folder), "--svg", str(svg), "--level", "node"], capsys)
    assert status == 0
    assert "one cell per 3x3 ranks" in out
    root = ET.parse(svg).getroot()
    # Thick lines at the two borders between the nodes, in both directions.
    (thick,) = [each for each in root.iter(f"{SVG}path") if each.get("stroke-width") == "2.4"]
    assert thick.get("d", "").count("M") == 4
    assert svg.stat().st_size < 40_000
    world = load_profile(folder).world
    cells = matrix_cells(build_matrix(world, "sent"), 64)
    assert cells.block == 3
    assert cells.values.sum() == 150 * 20


def test_depths_are_logarithmic() -> None:
    assert log_levels(np.array([[0.0, 1.0, 4.0, 16.0, 256.0]]), 5).tolist() == [[0, 1, 2, 3, 5]]
    assert log_levels(np.array([[0.0, 7.0]]), 5).tolist() == [[0, 5]]
    assert log_levels(np.zeros((2, 2)), 5).tolist() == [[0, 0], [0, 0]]


def test_an_empty_matrix_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tw.write_run(tmp_path / "run.cw", [tw.RankTrace(0, 1)])
    svg = tmp_path / "m.svg"
    status, out, _ = _out(["matrix", str(folder), "--svg", str(svg), "--heavy", "0.5"], capsys)
    assert status == 0
    assert "heavy paths: none, there are no bytes" in out
    ET.parse(svg)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="capability: no chromium")
def test_the_picture_opens_in_a_browser(tmp_path: Path) -> None:
    folder = _all_to_all(tmp_path / "run.cw", [("a", [0]), ("a", [1])])
    svg, png = tmp_path / "m.svg", tmp_path / "m.png"
    assert execute(["matrix", str(folder), "--svg", str(svg), "--level", "node"]) == 0
    subprocess.run(
        ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         f"--user-data-dir={tmp_path / 'b'}",
         f"--screenshot={png}", svg.as_uri()],
        check=True, capture_output=True, timeout=600,
    )  # fmt: skip
    assert png.stat().st_size > 5_000


# ---- logical and physical --------------------------------------------------------------------------------

_COUNTED = (
    "# POINT TO POINT\nE\t0\t1\t124 bytes\t4 msgs sent\t0,1,2\nI\t0\t1\t90 bytes\t3 msgs sent\n"
    "# OSC\nS\t0\t1\t512 bytes\t1 msgs sent\nR\t0\t1\t256 bytes\t1 msgs sent\n"
    "# COLLECTIVES\nC\t0\t1\t64 bytes\t1 msgs sent\n"
    "D\tMPI_COMM_WORLD\tprocs: 0,1\nO2A\t0\t64 bytes\t1 msgs sent\n",
    "# POINT TO POINT\nI\t1\t0\t8 bytes\t2 msgs sent\n# OSC\n# COLLECTIVES\n",
)


def _counters(folder: Path) -> Path:
    for rank, text in enumerate(_COUNTED):
        (folder / f"out.{rank}.prof").write_text(text)
    return folder / "out"


def test_logical_and_physical_stand_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile = _phased(tmp_path / "run.cw")
    prefix = _counters(tmp_path)
    counted = load_monitoring([str(prefix)], 2)
    assert counted.external == {(0, 1): (124, 4)}
    assert counted.internal == {(0, 1): (90, 3), (1, 0): (8, 2)}
    assert counted.put == {(0, 1): (512, 1)}
    assert counted.get == {(1, 0): (256, 1)}  # what rank 0 fetched went from 1 to 0
    found = compare_physical(load_profile(profile).world, counted)
    pairs = [(pair.sender, pair.receiver, pair.logical_bytes, pair.physical_bytes) for pair in found.pairs]
    assert pairs == [(0, 1, 64, 90), (1, 0, 0, 8)]
    assert found.agreement == "point-to-point: Open MPI counted the same bytes and messages on all 1 pairs"
    svg = tmp_path / "both.svg"
    status, out, _ = _out(["matrix", str(profile), "--physical", str(prefix), "--svg", str(svg)], capsys)
    assert status == 0
    assert "logical: a model of who needs whose bytes" in out
    assert "physical: what Open MPI sent for itself" in out
    assert "│ all   │    64 B │     98 B │        1 │        5 │" in out
    ET.parse(svg)
    status, out, _ = _out(["matrix", str(profile), "--physical", str(tmp_path), "--json"], capsys)
    assert json.loads(out)["rows"][1]["physical_messages"] == 2


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "out.1.prof",
            "I\t1\t0\tmany bytes\t2 msgs sent\n",
            ".prof:1: field 'bytes': found 'many', allowed: a whole number from 0",
        ),
        ("out.1.prof", "I\t1\t0\t1 kB\t2 msgs sent\n", "field 'bytes': found '1 kB', allowed: 'N bytes'"),
        (
            "out.1.prof",
            "I\t1\t7\t1 bytes\t2 msgs sent\n",
            "field 'to': found '7', allowed: a whole number from 0 to 1",
        ),
        ("out.1.prof", "hello\n", ".prof:1: not a line of Open MPI's monitoring: 'hello'"),
        ("out.2.prof", "", "field 'rank': found 2, allowed: 0..1"),
    ],
)
def test_damaged_counters_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    prefix = _counters(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match="prof") as caught:
        load_monitoring([str(prefix)], 2)
    assert message in str(caught.value)


def test_every_rank_must_have_counted(tmp_path: Path) -> None:
    prefix = _counters(tmp_path)
    (tmp_path / "out.0.prof").unlink()
    with pytest.raises(InputError, match=r"no monitoring file of rank 0 \(1 of 2 ranks are missing\)"):
        load_monitoring([str(prefix)], 2)

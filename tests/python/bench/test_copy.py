"""`corewise bench copy`: kernels forced by name, choices from times, tunings, tables, refused input.

No test says how quick anything is: times are made up where a number matters.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import documents
import numpy as np
import pytest
from installed_tool import assert_one_line_error, corewise
from toy_copy_tuning import TUNING

from corewise import _core
from corewise.bench import noise
from corewise.bench.copy.messages import (
    RIVAL,
    MessageTimes,
    Messenger,
    Way,
    two_processors,
    ways,
)
from corewise.bench.copy.races import (
    Decision,
    Plan,
    Racer,
    clearly_quicker,
    confirmed,
    decide,
    kernels_here,
    octave_sizes,
    octaves_of,
    rows_of,
    streaming_kernels,
    winner,
)
from corewise.bench.copy.study import (
    KIB,
    MIB,
    CopyTimes,
    Result,
    Wanted,
    apart_text,
    check,
    compare,
    run_bench,
    tune,
)
from corewise.bench.copy.views import bound_of, figures, goals, tables
from corewise.bench.noise import Block, quiet
from corewise.cli.main import execute
from corewise.data.copy_hosts import host_name
from corewise.data.copy_tuning import KERNELS, load_copy_tuning, save_copy_tuning
from corewise.errors import InputError, RunError
from corewise.plots.bench import check_picture, write_pictures

TINY = Plan(seconds=0.0, rounds=2, tries=1)


@pytest.fixture(autouse=True)
def memcpy_only():
    """No test leaves a tuning behind."""
    yield
    _core.set_copy_tuning("")


# ---- the core's copies, by name --------------------------------------------------------------------------


@pytest.mark.parametrize("name", kernels_here())
def test_a_kernel_forced_by_name_copies_and_stays_inside(name):
    source = np.arange(3000, dtype=np.uint8)
    for begin, end in ((0, 3000), (1, 130), (63, 2048), (7, 7)):
        target = np.full(3200, 0xA5, dtype=np.uint8)
        _core.copy_by_kernel(name, target[100 + begin : 100 + end], source[begin:end])
        assert (target[100 + begin : 100 + end] == source[begin:end]).all()
        assert (target[: 100 + begin] == 0xA5).all()
        assert (target[100 + end :] == 0xA5).all()


def test_only_the_forced_kernel_is_measured(capsys):
    assert execute(["bench", "copy", "--quick", "--size", "4KiB", "--kernel", "naive", "--json"]) == 0
    result = documents.read(capsys.readouterr().out)
    assert [row["id"] for row in result["rows"]] == ["copy-4096-same-naive"]
    row = result["rows"][0]
    assert row["what"].endswith("naive")
    assert row["rival"] == "memcpy"
    assert row["n"] >= 5
    assert result["tuning"] is None


def test_other_names_of_kernels_are_refused():
    with pytest.raises(InputError, match="'memcopy'"):
        _core.copy_by_kernel("memcopy", np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.uint8))
    with pytest.raises(InputError, match="2 bytes"):
        _core.copy_by_kernel("memcpy", np.zeros(2, dtype=np.uint8), np.zeros(1, dtype=np.uint8))


def test_the_choice_follows_the_tuning():
    _core.set_copy_tuning(TUNING.knob())
    assert _core.chosen_copy(200) == "memcpy"
    assert _core.chosen_copy(256) == "naive"
    assert _core.chosen_copy(1023) == "naive"
    assert _core.chosen_copy(1024) == "four_stream"
    assert _core.chosen_copy(2048) == "memcpy"
    assert _core.chosen_copy(1024, "shifted") == "memcpy"
    assert _core.chosen_copy(5000, "aliasing", "nobody") == "naive"
    assert _core.chosen_copy(5000, "aliasing", "other") == "memcpy"


def test_a_calibration_is_a_tuning():
    text = _core.calibrate_copy(1024, 0.0)
    assert _core.check_copy_tuning(text) == text


# ---- what times say --------------------------------------------------------------------------------------


def columns(*times: float, rounds: int = 9) -> np.ndarray:
    return np.tile(np.array(times), (rounds, 1))


def test_a_winner_is_quicker_at_both_sizes():
    names = ("memcpy", "a", "b", "c")
    # a: clearly quicker once, slower once; b: clearly at both; c: by a hair.
    times = [columns(100, 50, 80, 99), columns(100, 101, 90, 99)]
    assert winner(times, names, names) == "b"
    assert winner(times, names, ("a", "c")) == "memcpy"
    assert clearly_quicker(times, 0, 2) == pytest.approx(100 / 90)


def test_what_is_noise_stays_memcpy():
    unsteady = columns(100, 50)
    unsteady[:3, 1] = 400  # quicker in the median, slower in a third of the rounds
    assert winner([unsteady, unsteady], ("memcpy", "a"), ("a",)) == "memcpy"


class MadeUp:
    """A racer whose times are made up."""

    def __init__(self, copy: dict[str, float], read: dict[str, float]) -> None:
        self.copy, self.read = copy, read

    def run(self, names, size, alignment="same", read_back=False):
        known = self.read if read_back else self.copy
        return Block(columns(*(known[name] for name in names)), 0.01)


@pytest.mark.skipif(not streaming_kernels() & set(kernels_here()), reason="capability: streaming kernels")
def test_a_streaming_kernel_serves_self_only_where_reading_does_not_pay_for_it():
    streams = min(streaming_kernels() & set(kernels_here()))
    names = ("memcpy", "naive", streams)
    copy = {"memcpy": 100.0, "naive": 90.0, streams: 50.0}
    lost = decide(MadeUp(copy, {"naive": 120.0, streams: 150.0}), 4096, "same", names)
    won = decide(MadeUp(copy, {"naive": 120.0, streams: 70.0}), 4096, "same", names)
    assert {audience: each.kernel for audience, each in lost.items()} == {
        "self": "naive",
        "other": "naive",
        "nobody": streams,
    }
    assert won["self"].kernel == streams
    assert won["other"].kernel == "naive"


def decision_for(kernel):
    return Decision(kernel, (90.0, 90.0), (100.0, 100.0), 0.0)


def test_a_winner_that_does_not_win_again_is_dropped():
    decided = {
        ("self", "same", 128): decision_for("naive"),
        ("nobody", "same", 128): decision_for("memcpy"),
        ("other", "same", 128): decision_for("four_stream"),
        ("self", "same", 1 << 20): decision_for("naive"),
    }
    slow = confirmed(MadeUp({"memcpy": 100.0, "copy.self": 100.0}, {}), decided)
    assert [each.kernel for each in slow.values()] == ["memcpy"] * 4
    assert slow["self", "same", 128].ours_ns == (100.0, 100.0)
    assert confirmed(MadeUp({"memcpy": 100.0, "copy.self": 90.0}, {}), decided) == decided
    assert _core.chosen_copy(150) == "memcpy"


def test_a_winner_is_asked_again_as_the_choice_and_once_for_all_audiences():
    seen = []

    class Noting(MadeUp):
        def run(self, names, size, alignment="same", read_back=False):
            seen.append((size, _core.chosen_copy(size, alignment), read_back))
            return super().run(names, size, alignment, read_back)

    decided = {(audience, "shifted", 4096): decision_for("naive") for audience in ("self", "other", "nobody")}
    confirmed(Noting({"memcpy": 100.0, "copy.self": 90.0}, {}), decided)
    assert seen == [(4096, "naive", False), (6144, "naive", False)]


@pytest.mark.skipif(not streaming_kernels() & set(kernels_here()), reason="capability: streaming kernels")
def test_a_streaming_winner_is_asked_again_with_reading_where_it_serves_self():
    streams = min(streaming_kernels() & set(kernels_here()))
    decided = {(audience, "same", 1 << 26): decision_for(streams) for audience in ("self", "nobody")}
    quick, slow = {"memcpy": 100.0, "copy.self": 50.0}, {"memcpy": 100.0, "copy.self": 120.0}
    assert [each.kernel for each in confirmed(MadeUp(quick, slow), decided).values()] == ["memcpy", streams]
    assert [each.kernel for each in confirmed(MadeUp(slow, quick), decided).values()] == [streams, "memcpy"]


def test_neighbouring_octaves_are_one_row_and_memcpy_none():
    def decision(kernel):
        return Decision(kernel, (1.0, 2.0), (3.0, 4.0), 0.0)

    rows = rows_of(
        {
            ("self", "same", 256): decision("naive"),
            ("self", "same", 128): decision("naive"),
            ("self", "same", 512): decision("memcpy"),
            ("self", "same", 1024): decision("naive"),
        }
    )
    assert [(row.bytes_from, row.bytes_to) for row in rows] == [(128, 512), (1024, 2048)]
    assert rows[0].measured_bytes == (128, 192, 256, 384)
    assert octave_sizes(256) == (256, 384)
    assert octaves_of((100, 200, 255, 4096)) == (128, 4096)


def test_ratios_are_taken_round_by_round():
    times = np.array([[10.0, 5.0], [100.0, 50.0], [30.0, 10.0]])
    ours, theirs, ratio, spread = compare(times, 0, 1)
    assert (ours, theirs, ratio) == (10.0, 30.0, 2.0)
    assert spread == pytest.approx(0.25)


def test_foreign_share_is_what_others_took(monkeypatch):
    busy, own, now = iter((100.0, 101.0)), iter((5.0, 5.4)), iter((0.0, 1.0))
    monkeypatch.setattr(noise, "busy_seconds", lambda: next(busy))
    monkeypatch.setattr(noise, "own_seconds", lambda: next(own))
    monkeypatch.setattr(noise.os, "cpu_count", lambda: 2)
    block = noise.measured(lambda: "value", clock=lambda: next(now))
    assert block.value == "value"
    assert block.foreign == pytest.approx(0.3)
    assert block.loud


def test_what_was_loud_is_measured_again_and_the_quietest_kept(monkeypatch):
    shares = iter((0.5, 0.2, 0.4, 0.9))
    monkeypatch.setattr(noise, "measured", lambda run: Block(run(), next(shares)))
    assert quiet(lambda: 1, 3).foreign == 0.2
    shares = iter((0.5, 0.01, 0.9))
    assert not quiet(lambda: 1, 3).loud
    assert next(shares) == 0.9


def test_this_host_counts_its_processor_time():
    assert noise.busy_seconds() > 0
    assert noise.own_seconds() > 0
    assert host_name()


# ---- runs of the real thing, as small as they come -------------------------------------------------------


def test_rounds_are_rows_and_contestants_columns():
    block = Racer(4096, TINY).run(("memcpy", "copy.self", "naive"), 1024, "aliasing", read_back=True)
    assert block.value.shape[1] == 3
    assert len(block.value) >= 2
    assert (block.value > 0).all()


def test_a_run_measures_the_choice_and_every_kernel(tmp_path):
    path = tmp_path / "copy.toml"
    save_copy_tuning(TUNING, path)
    shares = []
    result = run_bench(Wanted(sizes=(300, 3000), quick=True, tuning=path), shares.append)
    assert [each.chosen for each in result.copies] == ["naive", "memcpy"]
    assert result.knob == TUNING.knob()
    assert shares[-1] == 1.0
    assert {row.id for row in result.rows} >= {"copy-300-same", "copy-3000-same", "copy-3000-same-naive"}
    assert all(row.ratio > 0 and row.n >= 5 for row in result.rows)


def test_messages_are_measured_by_every_way():
    processors = _core.usable_processors()
    messenger = Messenger(processors[0], processors[-1], TINY)
    found = messenger.run(16384, read=False)
    assert found.times.shape == (2, len(found.ways))
    assert found.ways[0] == RIVAL
    assert found.chosen != RIVAL
    assert {way.way for way in found.ways} == {"slot", "pipeline", "direct", "halves"}
    assert found.floor > 0
    assert all(apart > 0 for apart in found.apart)
    assert found.row().bytes == 16384


def test_a_block_before_and_behind_which_the_cores_are_elsewhere_is_measured_again(monkeypatch):
    processors = _core.usable_processors()
    messenger = Messenger(processors[0], processors[-1], Plan(seconds=0.0, rounds=2, tries=2))
    apart = iter((50.0, 250.0, 250.0, 240.0, 60.0, 60.0))
    monkeypatch.setattr(_core, "core_to_core_ns", lambda one, other: next(apart))
    found = messenger.run(4096, read=False)
    assert found.apart == (250.0, 240.0)
    assert not found.moved
    assert apart_text(found) == "cores 240 ns apart"
    apart = iter((50.0, 250.0) * 9)
    found = messenger.run(4096, read=False)
    assert found.moved
    assert apart_text(found) == "cores 50 ns, then 250 ns apart"
    assert found.row().apart_ns == 250.0


def test_the_sender_may_copy_any_part_of_one_copy_by_both():
    parts = {way.chunk for way in ways(1 << 20) if way.way == "halves"}
    assert parts >= {0, 1 << 16, 1 << 17}
    assert all(way.chunk % 64 == 0 for way in ways(5000) if way.way == "halves")
    named = {way.name for way in ways(1 << 20)}
    assert any(name.startswith("one copy by both, 1/16 by the sender") for name in named)


def test_the_audience_of_another_core_is_asked_of_two_cores():
    processors = _core.usable_processors()
    decision = Messenger(processors[0], processors[-1], TINY).audience_other(256, ("memcpy", "naive"))
    assert decision.kernel in ("memcpy", "naive")
    assert len(decision.ours_ns) == 2


def test_a_tuning_is_measured_written_and_used(tmp_path, capsys):
    target = tmp_path / "copy.toml"
    done = corewise("bench", "copy", "--quick", "--size", "256", "--size", "4KiB", "--tune", target)
    assert (done.returncode, done.stderr) == (0, "")
    tuning = load_copy_tuning(target)
    assert tuning.command == "corewise bench copy --size 256 --size 4096 --quick --tune copy.toml"
    assert tuning.host == host_name()
    assert tuning.knob() in done.stdout
    assert execute(["bench", "copy", "--quick", "--size", "4KiB", "--tuning", str(target), "--json"]) == 0
    used = documents.read(capsys.readouterr().out)
    assert used["tuning"] == tuning.knob()
    assert used["rows"][0]["id"] == "copy-4096-same"


def test_tuning_asks_every_octave_and_alignment():
    tuning = tune(Wanted(sizes=(128,), quick=True), "command", lambda share: None)
    assert all(row.bytes_from == 128 and row.bytes_to == 256 for row in tuning.rows)
    _core.check_copy_tuning(tuning.knob())


def test_tables_json_and_picture_from_the_command(tmp_path, capsys):
    picture = tmp_path / "copy.svg"
    done = corewise("bench", "copy", "--quick", "--size", "4KiB", "-o", picture)
    assert done.returncode == 0
    assert "The kernel chosen against memcpy" in done.stdout
    assert "copy of 4 KB over memcpy" in done.stdout
    assert "foreign" in done.stdout
    assert "</svg>" in picture.read_text(encoding="utf-8")
    processors = ",".join([str(_core.usable_processors()[0])] * 2)
    message = ["--message", "--quick", "--size", "4KiB", "--processors", processors]
    assert execute(["bench", "copy", *message, "--json"]) == 0
    result = documents.read(capsys.readouterr().out)
    assert result["name"] == "bench copy"
    assert {"copy-message-4096", "copy-message-4096-read"} <= {row["id"] for row in result["rows"]}
    keys = {"id", "what", "unit", "ours", "rival", "theirs", "floor", "ratio", "spread", "n"}
    assert keys <= set(result["rows"][0])
    assert 0 <= result["foreign"] <= 1


# ---- views of made-up results ----------------------------------------------------------------------------


def made_up() -> Result:
    copies = tuple(
        CopyTimes(size, ("memcpy", "copy.self", "naive"), "naive", columns(130, 100, 200), foreign)
        for size, foreign in ((4 * KIB, 0.5), (64 * MIB, 0.0))
    )
    direct, halves = Way("direct", "memcpy", "memcpy"), Way("halves", "memcpy", "memcpy")
    messages = tuple(
        MessageTimes(
            size,
            read,
            (RIVAL, direct, halves),
            halves,
            columns(260 - 40 * read, 200, 100),
            50.0,
            0.0,
            (51, 52),
        )
        for size in (32 * KIB, 256 * KIB, MIB)
        for read in (False, True)
    )
    return Result("a processor", Wanted(), "self.same=naive", copies, messages)


def test_goals_say_how_far_they_were_reached():
    reached = {goal.what: goal.reached for goal in goals(made_up())}
    assert reached == {
        "copy of 4 KB over memcpy": "aim",
        "copy of 64 MB over memcpy": "no",
        "copy of every size over memcpy, the least": "aim",
        "message of 32 KB, over two memcpys, the least": "aim",
        "message of 32 KB, read, over two memcpys, the least": "must",
    }


def test_goals_say_what_the_floor_allows():
    bounds = {goal.what: goal.bound for goal in goals(made_up())}
    # No parts were timed: the quickest contestant counts. A message's floor is one of one byte.
    assert bounds["copy of 4 KB over memcpy"] == 1.3
    assert bounds["message of 32 KB, over two memcpys, the least"] == 5.2
    names = ("memcpy", "copy.self", "naive", "bound.read", "bound.write", "bound.write_past")
    sizes = {4 * KIB: columns(110, 105, 104, 100, 90, 95), 64 * KIB: columns(100, 100, 80, 90, 90, 90)}
    copies = tuple(CopyTimes(size, names, "naive", times, 0.0) for size, times in sizes.items())
    result = Result("a processor", Wanted(), "", copies, ())
    found = {goal.what: goal for goal in goals(result)}
    short = found["copy of 4 KB over memcpy"]
    assert (short.bound, short.reached, short.within_reach) == (1.1, "no", False)
    # A kernel was quicker than the parts alone: then it is the bound.
    assert bound_of(copies[1]) == 1.25
    least = found["copy of every size over memcpy, the least"]
    assert (least.bound, least.within_reach) == (1.1, True)
    table = list(tables(result))[-1]
    assert table.columns[-2:] == ("bound", "reached")
    assert table.rows[0][-2:] == ("1.10", "no, out of reach")
    assert table.rows[1][-1] == "aim"


def test_tables_name_the_way_and_mark_what_was_loud():
    cells = {table.title: table.rows for table in tables(made_up())}
    chosen = cells["The kernel chosen against memcpy"]
    assert chosen[0][0] == "copy of 4 KB, addresses same, chosen: naive"
    assert chosen[0][-1] == "50.0 % !"
    assert chosen[1][-1] == "0.0 %"
    message = cells["Message from core to core: the quickest way against two memcpys through a slot"]
    assert message[0][0] == "message of 32 KB, chosen: one copy by both, memcpy, cores 52 ns apart"
    assert message[0][3] == "2.60"
    ways_table = cells["Every way, us"]
    assert ways_table[0][0] == "two memcpys through a slot"


def test_figures_can_be_drawn(tmp_path):
    drawn = list(figures(made_up()))
    assert [figure.name for figure in drawn] == ["copy", "message"]
    lines = {series.label: series.y for series in drawn[1].panels[0].series}
    assert set(lines) == {
        "two memcpys through a slot",
        "one copy by the receiver, the quickest",
        "one copy by both, the quickest",
        "a message of one byte",
    }
    assert lines["one copy by both, the quickest"] == (0.1, 0.1, 0.1)
    target = tmp_path / "both.svg"
    assert write_pictures(drawn[:1], target) == [target]
    assert target.stat().st_size > 0
    with pytest.raises(InputError, match=r"allowed: \.svg, \.png"):
        check_picture(tmp_path / "plot.pdf")


def test_ways_fit_their_size():
    assert all(way.chunk < 4096 for way in ways(4096))
    assert len(set(ways(1 << 20))) == len(ways(1 << 20))
    assert {way.chunk for way in ways(1 << 20)} >= {4096, 32768}


def test_the_floor_of_a_copy_is_its_slower_part_by_the_quicker_way():
    names = ("memcpy", "naive", "bound.read", "bound.write", "bound.write_past")
    quick_reads = CopyTimes(4096, names, "", columns(130, 200, 30, 80, 60), 0.0)
    assert quick_reads.floor == 60
    assert CopyTimes(4096, names, "", columns(130, 200, 70, 80, 60), 0.0).floor == 70
    assert CopyTimes(4096, names[:2], "", columns(130, 200), 0.0).floor is None
    assert CopyTimes(256, names, "", columns(130, 200, 30, 80, 60), 0.0).floor is None
    result = Result("a processor", Wanted(kernels=("naive",)), "", (quick_reads,), ())
    assert [(row.id, row.floor) for row in result.rows] == [("copy-4096-same-naive", 60.0)]
    cells = next(tables(result))
    assert [row[0] for row in cells.rows][2:] == [
        "(loads alone)",
        "(stores alone)",
        "(stores past the caches alone)",
    ]
    lines = {series.label: series.y for series in next(figures(result)).panels[0].series}
    assert lines["no copy is quicker"] == (4096 / 60,)


def test_many_kernels_are_drawn_by_their_kind():
    names = ("memcpy", "copy.self", *KERNELS[1:])
    times = columns(*(float(100 + i) for i in range(len(names))))
    found = Result("a processor", Wanted(), "", (CopyTimes(4000, names, "memcpy", times, 0.0),), ())
    today, paper = next(figures(found)).panels
    through = min(i for i, name in enumerate(names) if name.startswith("avx2"))
    lines = {series.label: series.y for series in today.series}
    assert lines["through the caches, the quickest"] == (4000 / (100 + through),)
    assert {"memcpy", "the choice", "past the caches, the quickest"} <= set(lines)
    assert [series.label for series in paper.series] == ["memcpy", "naive", "read_allocate", "four_stream"]


@pytest.mark.skipif(not _core.copy_has_bounds(), reason="capability: vectors")
def test_the_floor_is_measured_beside_the_kernels():
    result = run_bench(Wanted(sizes=(4096,), kernels=("memcpy", "naive"), quick=True), lambda share: None)
    row = next(row for row in result.rows if row.id == "copy-4096-same-naive")
    assert row.floor is not None
    assert row.floor > 0
    with pytest.raises(InputError, match="allowed: read, write, write_past"):
        Racer(4096, TINY).run(("memcpy", "bound.nothing"), 1024)


# ---- this host's tuning ----------------------------------------------------------------------------------


def test_the_hosts_tuning_is_used_only_where_it_is_this_processors(tmp_path, monkeypatch, capsys):
    kept = tmp_path / "corewise"
    kept.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("corewise.data.copy_hosts.tuning_directory", lambda: tmp_path)
    command = ["bench", "copy", "--quick", "--size", "300", "--kernel", "naive", "--json"]
    save_copy_tuning(replace(TUNING, host="another processor"), kept / "copy-x.toml")
    assert execute(command) == 0
    said = json.loads(capsys.readouterr().out)["host_tuning"]
    assert said["file"] is None
    assert said["ignored"] == [{"file": str(kept / "copy-x.toml"), "why": "is for another processor"}]
    assert execute(["bench", "copy", "--quick", "--size", "300", "--tuning", "host"]) == 2
    assert "copy-x.toml is for another processor" in capsys.readouterr().err
    assert execute(["doctor"]) == 0
    assert "copy-x.toml" in "".join(capsys.readouterr().out.split())
    save_copy_tuning(replace(TUNING, host=host_name()), kept / "copy-y.toml")
    assert execute(["bench", "copy", "--quick", "--size", "300", "--tuning", "host", "--json"]) == 0
    used = documents.read(capsys.readouterr().out)
    assert used["tuning"] == TUNING.knob()
    assert used["host_tuning"]["file"] == str(kept / "copy-y.toml")


# ---- refused input ---------------------------------------------------------------------------------------


def test_wrong_options_are_one_line_and_exit_status_two():
    assert_one_line_error(corewise("bench", "copy", "--kernel", "none"), "--kernel", "'none'", "memcpy")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--size", "0"), "--size: found 0"),
        (("--size", "4 GB/s"), "--size"),
        (("--processors", "0"), "--processors"),
        (("--message", "--tune", "t.toml"), "--message: found with --tune"),
        (("--kernel", "naive", "--message"), "--kernel: found with --message"),
        (("--tuning", "t.toml", "--kernel", "naive"), "--tuning: found with --kernel"),
        (("--tune", "no/such/folder/t.toml"), "no folder"),
        (("-o", "plot.pdf"), ".svg"),
    ],
)
def test_wrong_options_are_named(capsys, options, word):
    assert execute(["bench", "copy", *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert word in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("wanted", "word"),
    [
        (Wanted(alignment="odd"), "--alignment"),
        (Wanted(processors=(0, 99999)), "--processors"),
        (Wanted(sizes=(1 << 40,)), "--size"),
        (Wanted(kernels=("memcpy", "x")), "--kernel"),
    ],
)
def test_what_cannot_be_measured_is_refused_first(wanted, word):
    with pytest.raises(InputError, match=word):
        check(wanted)


def test_one_processor_is_not_enough_for_two_cores(monkeypatch):
    monkeypatch.setattr(_core, "usable_processors", lambda: [3])
    with pytest.raises(RunError, match="found 1 processor"):
        two_processors()
    assert two_processors((3, 3)) == (3, 3)


def test_a_missing_tuning_is_one_line(tmp_path):
    missing = tmp_path / "missing.toml"
    with pytest.raises(InputError, match=r"missing\.toml"):
        run_bench(Wanted(sizes=(256,), quick=True, tuning=Path(missing)), lambda share: None)

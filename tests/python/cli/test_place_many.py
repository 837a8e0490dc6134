"""`corewise place` beyond the sizes of proofs: the portfolio, its clock, and what it promises."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from corewise import _core
from corewise.analysis.placement.leaders import MOST_HOP_BYTES, quickest
from corewise.analysis.placement.search import MOST_RANKS, Settings, settings_for
from corewise.analysis.placement.starts import named_starts
from corewise.cli.main import execute
from corewise.cli.place.clock import DEFAULT_S, LONGEST_S, Clock
from corewise.data.machines import load_machine
from corewise.data.patterns import load_pattern
from corewise.errors import InputError

FEW = ("--evaluations", "300000")
"""Enough for a round."""


def made(folder: Path, *arguments: str) -> Path:
    file = folder / "pattern.json"
    assert execute(["patterns", "make", *arguments, "-o", str(file)]) == 0
    return file


def placed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    capsys.readouterr()
    assert execute(["place", *arguments, "--json"]) == 0
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


def best_of(document: dict[str, object]) -> dict[str, object]:
    return document["rows"][0]  # type: ignore[index]


def times(machine: str, file: Path, placements: list[list[int]]) -> list[float]:
    return list(
        _core.contended_times(
            load_machine(machine), load_pattern(file), np.array(placements, np.int32), model="flow"
        )
    )


@pytest.mark.parametrize("machine", ["chiplet-2s", "mesh-6x4"])
def test_no_slower_than_any_other_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], machine: str
) -> None:
    ranks = {"chiplet-2s": "dims=4x4x4", "mesh-6x4": "dims=4x4x3"}[machine]
    file = made(tmp_path, "halo_3d", ranks, "periodic=no", "stencil=faces+edges+corners", "face_bytes=64KiB")
    by_flow = ("--objective", "flow", "--evaluations", "1500000")
    found = placed(capsys, str(file), "-m", machine, *by_flow)
    assert found["objective"] == "flow" and found["method"] == "portfolio" and found["origin"]
    others = list(named_starts(load_machine(machine), [load_pattern(file)]).values())
    for objective in ("bottleneck", "hop-bytes", "distance"):
        other = placed(capsys, str(file), "-m", machine, "--objective", objective, *FEW)
        others.append(best_of(other)["unit_of_rank"])  # type: ignore[arg-type]
    ours, *theirs = times(machine, file, [best_of(found)["unit_of_rank"], *others])  # type: ignore[list-item]
    assert ours == best_of(found)["cost"]
    assert ours <= min(theirs)


def test_packets_decide_among_leaders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On this mesh flow says little: packets find another placement, quicker than every named one."""
    file = made(tmp_path, "transpose", "ranks=32")
    machine = load_machine("xeon-phi-7210")
    found = placed(capsys, str(file), "-m", machine.name, *FEW, "--named")
    assert found["objective"] == "flow" and "leaders the quickest packet by packet" in str(found["statement"])
    named = list(named_starts(machine, [load_pattern(file)]).values())
    by_flow = best_of(placed(capsys, str(file), "-m", machine.name, *FEW, "--objective", "flow"))
    assert by_flow["simulated_ns"] is None
    table = np.array([best_of(found)["unit_of_rank"], by_flow["unit_of_rank"], *named], np.int32)
    ours, flows, *theirs = _core.contended_times(machine, load_pattern(file), table, model="simulated")
    assert best_of(found)["simulated_ns"] == pytest.approx(ours)
    assert ours <= min(flows, *theirs)
    assert ours < 0.9 * flows
    capsys.readouterr()
    assert execute(["place", str(file), "-m", machine.name, *FEW]) == 0
    assert "simulated ns" in capsys.readouterr().out


def test_few_leaders_of_much_traffic_are_simulated() -> None:
    machine, pattern = load_machine("mesh-6x4"), _core.generate("ring", {"ranks": "8", "bytes": "8 MiB"})
    searcher = _core.Searcher(machine)
    drawn = [list(row) for row in searcher.random_placements(8, 6, 1)]
    each = searcher.evaluate(pattern, drawn[0]).hop_bytes
    found = quickest(machine, [_core.generate("ring", {"ranks": "8"})], [1.0], [*drawn, drawn[2]])
    assert found is not None and len(found.simulated_ns) == 6
    times = _core.contended_times(
        machine, _core.generate("ring", {"ranks": "8"}), np.array(drawn, np.int32), model="simulated"
    )
    assert found.best == tuple(drawn[int(np.argmin(times))])
    assert found.gain == pytest.approx(times[0] / min(times) - 1)
    assert each > MOST_HOP_BYTES // 2 and quickest(machine, [pattern], [1.0], drawn) is None
    assert quickest(machine, [pattern], [1.0], drawn[:1]) is None


def test_the_same_evaluations_give_the_same_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = made(tmp_path, "random", "ranks=40", "degree=4", "seed=3")
    call = (str(file), "-m", "chiplet-2s", *FEW)
    first, again = placed(capsys, *call), placed(capsys, *call)
    assert first == again
    assert "stopped" not in str(first["statement"])
    by_flow = [
        placed(capsys, str(file), "-m", "chiplet-2s", "--objective", "flow", "--evaluations", evaluations)
        for evaluations in (FEW[1], "2000000")
    ]
    few, more = (float(str(best_of(each)["cost"])) for each in by_flow)
    assert more <= few


@pytest.mark.parametrize("objective", ["bottleneck", "flow", "hop-bytes"])
@pytest.mark.parametrize("method", ["auto", "local"])
def test_time_ends_every_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], objective: str, method: str
) -> None:
    file = made(tmp_path, "halo_3d", "dims=4x4x4", "periodic=no")
    call = (str(file), "-m", "chiplet-2s", "--objective", objective, "--method", method, "--time", "0.05")
    found = placed(capsys, *call)
    assert float(str(best_of(found)["ratio"])) >= 1
    assert execute(["place", *call]) == 0
    assert "a clock could end the search (0.05 s)" in capsys.readouterr().out


def test_a_machine_whose_loads_take_too_much_memory_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = made(tmp_path, "ring", "ranks=4")
    assert execute(["place", str(file), "-m", "pack:129 core:8"]) == 2
    assert "field 'units': found 1032, allowed: at most 1024 where link loads are" in capsys.readouterr().err


def test_few_ranks_stay_with_proofs() -> None:
    ps3, mesh = load_machine("ps3"), load_machine("mesh-6x4")
    for machine, ranks, objective, ends in (
        (ps3, 6, "bottleneck", True),
        (mesh, MOST_RANKS, "bottleneck", True),
        (mesh, MOST_RANKS + 1, "flow", False),
        (load_machine("pack:2 core:40"), 8, "flow", False),
    ):
        chosen = settings_for(machine, ranks, None, Settings())
        assert (chosen.objective, chosen.ends_by_itself) == (objective, ends)
    assert settings_for(mesh, 48, None, Settings(evaluations=1)).ends_by_itself
    assert settings_for(mesh, 48, "hop-bytes", Settings()).ends_by_itself
    assert settings_for(mesh, 48, "bottleneck", Settings()).objective == "bottleneck"


def test_the_clock_says_how_far_it_is_and_ends() -> None:
    shares: list[float] = []
    clock = Clock(1e-9)
    with clock.running(shares.append):
        assert clock()
    assert shares == [1.0] and not clock.interrupted
    assert not Clock(DEFAULT_S)()
    assert not Clock(None)()
    for seconds in (LONGEST_S + 1, float("nan")):
        with pytest.raises(InputError, match="--time"):
            Clock(seconds)


def test_several_patterns_share_the_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock(1000)
    with clock.running(lambda _: None):
        clock.begin(0)
        assert clock()
        clock.begin(0.5)
        assert not clock()
    ring = made(tmp_path, "ring", "ranks=40").rename(tmp_path / "ring.json")
    halo = made(tmp_path, "halo_2d", "dims=8x5")
    call = (str(ring), str(halo), "-m", "chiplet-2s", "--time", "1")
    prices = placed(capsys, *call)["prices"]
    assert [each["pattern"] for each in prices] == ["ring", "halo_2d"]  # type: ignore[attr-defined]
    # Each was searched alone: what it pays for company is never a gain.
    assert all(each["price"] >= 1 for each in prices)  # type: ignore[attr-defined]


def test_the_first_interrupt_ends_the_search_and_the_second_the_command() -> None:
    clock = Clock(None)
    before = signal.getsignal(signal.SIGINT)
    with clock.running(lambda _: None):
        assert not clock()
        os.kill(os.getpid(), signal.SIGINT)
        assert clock() and clock.interrupted
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            clock()
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupted_search_keeps_the_best_so_far(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = made(tmp_path, "random", "ranks=40", "degree=4", "seed=3")
    asked: list[bool] = []
    plain = Clock.__call__

    def interrupted(clock: Clock) -> bool:
        asked.append(True)
        if len(asked) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return plain(clock)

    monkeypatch.setattr(Clock, "__call__", interrupted)
    capsys.readouterr()
    assert execute(["place", str(file), "-m", "chiplet-2s", "--time", "600"]) == 0
    assert "interrupted: this is the best so far" in capsys.readouterr().out

"""`corewise bench simmpi`: its rows, the platform that SimGrid gets, what it does without SimGrid."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from corewise.bench.peers import SIMGRID
from corewise.bench.rows import Listener, Row
from corewise.bench.simmpi import study
from corewise.bench.simmpi.platform import hostfile, platform_xml
from corewise.data.machines import load_machine


def seconds(per_round: float, start: float) -> object:
    """A contestant's wall seconds: so many per round of the workload, and those of its start."""
    return lambda self, rounds: start + per_round * rounds


def test_a_row_holds_the_ratio_within_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(study, "has_smpi", lambda: True)
    monkeypatch.setattr(study.Contest, "ours", seconds(0.001, 5.0))
    monkeypatch.setattr(study.Contest, "theirs", seconds(0.02, 9.0))
    row = study.row("ring", tmp_path, 3, Listener())
    assert row.ours == pytest.approx(128 / 0.001, rel=1e-3)  # what start takes is left out
    assert row.theirs == pytest.approx(128 / 0.02, rel=1e-3)
    assert (row.ratio, row.n, row.demand, row.rival) == (20, 3, 5.0, study.RIVAL)


def test_without_smpi_corewise_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "has_smpi", lambda: False)
    monkeypatch.setattr(study, "prepare", lambda folder, listener: None)
    monkeypatch.setattr(study, "whole_program", lambda folder: Row("simmpi-sweep3d", "", "s", 1.0))
    monkeypatch.setattr(study.Contest, "ours", seconds(0.001, 5.0))
    outcome = study.run_bench(Listener(), rounds=2)
    assert [row.theirs for row in outcome.rows] == [None, None, None]
    assert outcome.absent == (SIMGRID,)


def test_the_platform_is_the_machine() -> None:
    machine = load_machine("mesh:3x2")
    zone = ET.fromstring(platform_xml(machine)).find("zone")
    assert zone is not None
    assert len(zone.findall("host")) == 6
    links = zone.findall("link")
    assert [float(link.attrib["bandwidth"].removesuffix("GBps")) for link in links] == [
        link.bandwidth_gb_per_s for link in machine.links
    ]
    routes = {(route.attrib["src"], route.attrib["dst"]): len(route) for route in zone.findall("route")}
    assert len(routes) == 30
    assert routes["unit0", "unit5"] == 3  # two steps in x, one in y
    assert hostfile(2) == "unit0\nunit1\n"


def test_sweep3d_on_256_ranks_keeps_its_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "SWEEP_WORDS", ("--size", "16x16x4", "--iterations", "1"))
    row = study.whole_program(tmp_path)
    assert row.theirs == 60
    # Eight octants, two blocks of directions, and a face for each of the 2 x 16 x 15 neighbours.
    assert int(str(row.more["messages"])) >= 8 * 2 * 2 * 16 * 15
    assert 0 < int(str(row.more["memory_mib"])) < study.SWEEP_BOUND_MIB

"""`corewise sim`: its text, its JSON, its pictures, and what it says of wrong input."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from corewise._core import generate
from corewise.analysis.simulation import traffic
from corewise.cli.main import execute
from corewise.data.machines import load_machine, machine_directory
from corewise.data.placement import make_placement, save_placement
from corewise.plots.links import traffic_picture
from corewise.plots.ring_text import ring_drawing
from corewise.sim import simulate

SVG = "{http://www.w3.org/2000/svg}"
MACHINES = [
    "cell-be",
    "cell-blade",
    "ps3",
    "mesh-6x4",
    "chiplet-2s",
    "flat:9",
    "ring:7",
    "pack:2 l3:2 core:4",
]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = execute(["sim", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    status, out, err = run(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    found: dict[str, object] = json.loads(out)
    return found


# --- text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_the_text_fits_eighty_columns(
    machine: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = run(capsys, "all_to_all", "ranks=6", "bytes=2 KiB", "-m", machine, "--repeat", "2")
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    # No cell of a table is cut.
    assert "…" not in "".join(line for line in out.splitlines() if line.startswith("│ ") and "┃" not in line)
    for said in ("6 ranks on", "GB/s together", "transfers, slowest first", "links, busiest first"):
        assert said in out


def test_the_text_says_what_the_run_measured(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "ring", "ranks=8", "bytes=64 KiB", "-m", "ring:8", "--granularity", "flow")
    # 64 KiB at 25.6 GB/s (the nominal link) after 1 ns or so: 2.56 us for each of 16 transfers.
    assert status == 0
    took = re.search(r"^([0-9.]+) µs for 1 MiB in 16 transfers: ([0-9.]+) GB/s together$", out, re.M)
    assert took is not None
    assert float(took[1]) == pytest.approx(65536 / 25.6 / 1000, rel=0.01)
    assert float(took[2]) == pytest.approx(16 * 65536 / float(took[1]) / 1000, rel=0.001)
    assert "nobody waited" in out
    assert out.count("25.5") + out.count("25.6") >= 12


def test_the_drawn_ring_has_every_stop_and_its_loads() -> None:
    from rich.console import Console

    pairs = np.zeros((8, 8), dtype=np.uint64)
    pairs[0, 1] = 65536  # SPE0, MIC, PPE, SPE1: three links, clockwise
    drawn = Console(width=100, highlight=False)
    with drawn.capture() as capture:
        drawn.print(ring_drawing(traffic(simulate("cell-be", pairs, granularity="flow"))))
    lines = capture.get().splitlines()
    assert re.findall(r"\(?[A-Z]+[0-9]?\)?(?:=r\d)?", lines[1]) == [
        "(PPE)", "SPE1=r1", "SPE3=r3", "SPE5=r5", "SPE7=r7", "(IOIF1)",
    ]  # fmt: skip
    assert re.findall(r"\(?[A-Z]+[0-9]?\)?(?:=r\d)?", lines[5]) == [
        "(MIC)", "SPE0=r0", "SPE2=r2", "SPE4=r4", "SPE6=r6", "(IOIF0)",
    ]  # fmt: skip
    # Above: PPE to SPE1 clockwise. Left: MIC to PPE upwards. Below: SPE0 to MIC leftwards. Nothing else.
    assert re.findall(r"[←→↑↓]\d+|\d+[←→↑↓]", capture.get()) == ["100→", "↑100", "←100"]
    assert lines[0].split()[0] == "100→" and lines[3].split()[1] == "↑100" and lines[6].split()[0] == "←100"


# --- JSON -------------------------------------------------------------------------------------------------


def test_json_has_all_that_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(
        capsys, "ring", "ranks=8", "bytes=16 KiB", "-m", "cell-be", "-p", "even_odd", "--repeat", "2"
    )
    assert set(found) == {
        "name", "version", "machine", "pattern", "ranks", "placement", "unit_of_rank", "model", "repetitions",
        "seed", "time_ns", "gb_per_s", "events", "phases", "links", "units", "rows",
    }  # fmt: skip
    assert (found["name"], found["machine"], found["model"]) == ("sim", "cell-be", "cell")
    assert found["unit_of_rank"] == [0, 4, 2, 6, 1, 5, 3, 7]
    rows = found["rows"]
    assert isinstance(rows, list) and len(rows) == 2 * 16
    for row in rows:
        assert set(row) == {
            "repetition", "phase", "from", "to", "from_unit", "to_unit", "bytes", "messages", "start_ns",
            "end_ns", "gb_per_s",
        }  # fmt: skip
        assert row["gb_per_s"] == pytest.approx(16384 / (row["end_ns"] - row["start_ns"]))
        assert (row["to"] - row["from"]) % 8 in (1, 7)
    assert found["gb_per_s"] == pytest.approx(2 * 16 * 16384 / found["time_ns"])
    links, units = found["links"], found["units"]
    assert isinstance(links, list) and isinstance(units, list)
    machine = load_machine("cell-be")
    assert [link["link"] for link in links] == [link.name for link in machine.links]
    assert [unit["unit"] for unit in units] == [unit.name for unit in machine.units]
    assert all(0 <= link["busy"] <= 1 for link in links)
    assert sum(unit["sent_bytes"] for unit in units) == 2 * 16 * 16384


def test_a_message_to_oneself_has_no_bandwidth(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "self.csv"
    file.write_text("from,to,bytes,count\n0,0,64,1\n0,1,64,1\n")
    rows = document(capsys, str(file), "-m", "ring:4")["rows"]
    assert isinstance(rows, list)
    assert [row["gb_per_s"] is None for row in rows] == [True, False]


def test_the_same_input_gives_the_same_output(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = []
    for name in ("one.svg", "two.svg"):
        svg = tmp_path / name
        command = ["halo_2d", "dims=3x2", "-m", "cell-be", "--seed", "5", "--svg", str(svg)]
        text = run(capsys, *command)[1].replace(name, "")
        found.append((text, run(capsys, *command, "--json")[1], svg.read_bytes()))
    assert found[0] == found[1]


def test_options_change_what_they_say(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["ring", "ranks=8", "bytes=65536", "-m", "cell-be"]
    plain = document(capsys, *command)
    file = tmp_path / "placement.json"
    save_placement(make_placement(load_machine("cell-be"), [0, 2, 4, 6, 7, 5, 3, 1]), file)
    placed = document(capsys, *command, "--placement", str(file))
    named = document(capsys, *command, "--placement", "ring")
    assert placed["rows"] == named["rows"] != plain["rows"]
    assert document(capsys, *command, "--granularity", "flow")["model"] == "flow"
    assert document(capsys, *command, "--seed", "2")["rows"] != plain["rows"]
    assert document(capsys, *command, "--repeat", "3")["repetitions"] == 3


# --- pictures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_a_picture_shows_every_unit_rank_link_and_transfer(machine: str) -> None:
    simulated = simulate(machine, generate("ring", {"ranks": "6", "bytes": "4 KiB"}))
    shown = traffic(simulated)
    root = ET.fromstring(traffic_picture(shown, "a <title> & more"))
    texts = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    assert texts[0] == "a <title> & more"
    ranks = [f"rank {rank}" for rank in range(6)]
    assert [text for text in texts if re.fullmatch(r"rank \d", text)].sort() == ranks.sort()
    titles = [each.text or "" for each in root.iter(f"{SVG}title")]
    for index, size in enumerate(shown.link_bytes):
        if size and "flat" not in machine:
            name = simulated.machine.links[index].name
            assert any(f"{size:.0f} bytes, busy" in title and f"({name})" in title for title in titles), name
    assert sum("GB/s" in text for text in texts) == len(shown.flows)
    busiest = max(shown.link_busy)
    assert any(f"{100 * busiest:.0f}%" in text for text in texts)
    view = [float(part) for part in root.attrib["viewBox"].split()]
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.attrib["x"]) <= view[2]


def test_arcs_join_sender_and_receiver() -> None:
    sent = np.zeros((8, 8), dtype=np.uint64)
    sent[0, 7] = 4096
    root = ET.fromstring(traffic_picture(traffic(simulate("cell-be", sent)), "one"))
    boxes = {}
    for text in root.iter(f"{SVG}text"):
        if text.attrib.get("class") == "rank":
            boxes[text.text] = float(text.attrib["x"]), float(text.attrib["y"])
    arcs = [each.attrib["d"] for each in root.iter(f"{SVG}path") if "Q" in each.attrib["d"]]
    assert len(arcs) == 1
    x1, y1, _, _, x2, y2 = map(float, re.findall(r"-?[0-9.]+", arcs[0]))

    def nearest(x: float, y: float) -> str:
        return min(boxes, key=lambda name: (boxes[name][0] - x) ** 2 + (boxes[name][1] - y) ** 2)

    assert (nearest(x1, y1), nearest(x2, y2)) == ("rank 0", "rank 7")


# --- wrong input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [["ranks=1048576"], ["ranks=131072"], ["dims=64x64x32"]])
def test_more_ranks_than_units_are_refused_before_a_pattern_is_made(
    parameters: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corewise.data.patterns.generate", lambda *_: pytest.fail("made"))
    name = "bruck" if parameters[0].startswith("ranks") else "halo_3d"
    status, out, err = run(capsys, name, *parameters, "-m", "cell-be")
    assert (status, out) == (2, "")
    assert err.startswith("corewise: field 'ranks': found ")
    assert err.endswith("allowed: 1 to 8, the units of 'cell-be'\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["nothing", "-m", "cell-be"],
            "pattern 'nothing' is unknown, allowed: a pattern file, a profile NAME.cw",
        ),
        (["missing.json", "-m", "cell-be"], "missing.json: cannot be read: No such file or directory"),
        (["ring", "ranks8", "-m", "cell-be"], "parameter 'ranks8': found no '=', allowed: NAME=VALUE"),
        (["ring", "rank=8", "-m", "cell-be"], "rank"),
        (["missing.json", "ranks=8", "-m", "cell-be"], "parameter 'ranks=8': found behind 'missing.json'"),
        (["ring", "ranks=8", "-m", "nowhere"], "machine 'nowhere' is unknown, allowed: cell-be"),
        (["ring", "ranks=9", "-m", "cell-be"], "9"),
        (["ring", "ranks=8", "-m", "ps3"], "8"),
        (["ring", "ranks=8", "-m", "mesh-6x4", "-p", "leap2"], "placement 'leap2' is unknown on 'mesh-6x4'"),
        (["ring", "ranks=6", "-m", "ps3", "-p", "leap2"], "'ps3' has no SPE"),
        (["ring", "ranks=12", "-m", "cell-blade", "-p", "ring"], "found 12 ranks, allowed: at most 8"),
        (["ring", "ranks=8", "-m", "cell-be", "-p", "no.json"], "no.json: cannot be read"),
        (["ring", "ranks=8", "-m", "cell-be", "--granularity", "bit"], "found 'bit', allowed: packet, flow"),
        (
            ["ring", "ranks=8", "-m", "cell-be", "--separation", "x"],
            "found 'x', allowed: dependence, barrier",
        ),
        (["ring", "ranks=8", "-m", "cell-be", "--repeat", "0"], "--repeat"),
        (["ring", "ranks=8", "-m", "mesh-6x4", "--seed", "1"], "only where a Cell is simulated by packet"),
        (["ring", "ranks=8", "-m", "cell-be", "--svg", "no/where.svg"], "there is no folder no"),
        (["ring", "ranks=8", "-m", "cell-be", "--trace", "."], "found a folder, allowed: a file to write"),
        (["ring", "ranks=8"], "--machine"),
        (["ring", "bytes=1000000000000000000", "-m", "cell-be"], "at most 137438953472 together by packet"),
        (["ring", "bytes=1000000000000000000", "-m", "mesh-6x4"], "at most 137438953472 together by packet"),
        (
            ["ring", "bytes=1000000000000000000", "-m", "mesh-6x4", "--granularity", "flow"],
            "at most 140737488355328 together by flow",
        ),
        (["ring", "-m", "cell-be", "--repeat", "9" * 30], "--repeat"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert err.startswith("corewise: ")
    assert os.listdir() == []  # noqa: PTH208


def test_a_collective_is_another_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--collective", "barrier", "-m", "cell-be")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "--collective" in err
    assert "corewise collective" in run(capsys, "--help")[1]


def test_a_placement_for_another_machine_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "placement.json"
    save_placement(make_placement(load_machine("ring:8"), list(range(8))), file)
    status, _, err = run(capsys, "ring", "ranks=8", "-m", "cell-be", "-p", str(file))
    assert status == 2
    assert str(file) in err and "allowed" in err


def test_a_wrong_name_in_the_simulation_table_is_named_with_those_that_exist(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    machine = (machine_directory() / "cell-be.toml").read_text()
    file = tmp_path / "mine.toml"
    file.write_text(machine + "ring_wheels = 4\n")
    status, _, err = run(capsys, "ring", "ranks=8", "-m", str(file))
    assert status == 2
    assert str(file) in err and "ring_wheels" in err and "packet_beats" in err

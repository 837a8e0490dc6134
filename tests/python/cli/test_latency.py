"""`corewise machines from-latency`: the file it writes is a machine, and says what it rests on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from corewise.cli.main import execute
from corewise.data.machines import load_machine_file

NODE = """# two clusters of two cores, CPUs 0 and 2 in one
0,90,30,90
90,0,90,30
30,90,0,90
90,30,90,0
"""


@pytest.fixture
def node(tmp_path: Path) -> Path:
    file = tmp_path / "node.csv"
    file.write_text(NODE)
    return file


def test_the_file_is_a_machine_whose_routes_take_the_latencies(
    node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "node.toml"
    assert execute(["machines", "from-latency", str(node), "-o", str(written), "--processor", "Two x 2"]) == 0
    out = capsys.readouterr().out
    assert "0,2 | 1,3" in out
    assert "bandwidths nominal" in out
    machine = load_machine_file(written)
    assert [unit.os_index for unit in machine.units] == [0, 2, 1, 3]
    assert [unit.domains for unit in machine.units] == [["cluster0"]] * 2 + [["cluster1"]] * 2
    links = machine.links
    latency = [
        [sum(links[at].latency_ns for at in machine.routes(a, b)[0]) for b in range(4)] for a in range(4)
    ]
    order = [0, 2, 1, 3]
    wanted = np.array([[0, 90, 30, 90], [90, 0, 90, 30], [30, 90, 0, 90], [90, 30, 90, 0]])
    assert np.allclose(latency, wanted[np.ix_(order, order)], rtol=0.001)
    origin = machine.origin
    assert origin.processor == "Two x 2"
    assert (origin.measured, origin.nominal) == (["latency"], ["bandwidth"])
    assert "NOMINAL" in written.read_text()


def test_without_output_the_file_is_standard_output(
    node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["machines", "from-latency", str(node), "--level-names", "l3"]) == 0
    captured = capsys.readouterr()
    again = tmp_path / "again.toml"
    again.write_text(captured.out)
    assert load_machine_file(again).units[3].domains == ["l3-1"]
    assert "found as" in captured.err


def test_as_json(node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["machines", "from-latency", str(node), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == [
        {
            "level": "cluster",
            "groups": 2,
            "latency_ns": 30.0,
            "least_ns": 30.0,
            "most_ns": 30.0,
            "found": ["near"],
            "looks_like": "cores of one L2 or L3 cache",
            "clusters": [[0, 2], [1, 3]],
        }
    ]
    assert (document["cpus"], document["latency_ns"], document["bandwidths"]) == (4, 90.0, "nominal")
    (tmp_path / "it.toml").write_text(document["text"])
    assert len(load_machine_file(tmp_path / "it.toml").units) == 4


def test_a_wrong_matrix_leaves_the_output_alone(
    node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node.write_text("0,1\nx,0\n")
    written = tmp_path / "node.toml"
    written.write_text("mine")
    assert execute(["machines", "from-latency", str(node), "-o", str(written)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"{node}:2" in error
    assert written.read_text() == "mine"
    assert execute(["machines", "from-latency", str(node), "-o", str(tmp_path)]) == 2

"""Slurm's topology.conf becomes a machine whose nodes are named, and what is no tree is refused.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from corewise._core import generate
from corewise.cli.main import execute
from corewise.data.clusters import load_cluster, load_topology
from corewise.data.export import export_cluster
from corewise.data.machines import load_machine
from corewise.data.placement import make_placement
from corewise.errors import InputError

TREE = """# two leaf switches
SwitchName=s0 Nodes=a[1-2] LinkSpeed=100
switchname=s1 nodes=b1,\\
b2
SwitchName=top Switches=s[0-1]
"""


def corewise(*words: object) -> tuple[int, str, str]:
    """The tool's exit status, output and errors."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = execute([str(word) for word in words])
    return status, out.getvalue(), err.getvalue()


def document(*words: object) -> dict[str, Any]:
    """The JSON object of a command that succeeds."""
    status, out, err = corewise(*words, "--json")
    assert (status, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def assert_one_line_error(done: tuple[int, str, str], *said: str) -> None:
    """The input is wrong, and one line says so."""
    status, out, err = done
    assert (status, out, err.count("\n")) == (2, "", 1), done
    assert all(each in err for each in said), err


@pytest.fixture
def topology(tmp_path: Path) -> Path:
    """A tree of two switches with two nodes each."""
    file = tmp_path / "topology.conf"
    file.write_text(TREE)
    return file


def test_a_tree(topology: Path) -> None:
    tree = load_topology(topology)
    assert tree.nodes == ("a1", "a2", "b1", "b2") and tree.counts == ((2,), (2, 2))
    some = load_topology(topology, ["b2", "a1", "a2"])
    assert some.nodes == ("a1", "a2", "b2") and some.counts == ((2,), (2, 1))
    assert load_topology(topology, ["b1"]).counts == ((1,), (1,))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found no switch"),
        ("SwitchName=s0 Nodes=a[1-2", "line 1: found 'a\\[1-2', allowed: a list of nodes"),
        ("SwitchName=s0", "field 'line 1'"),
        ("SwitchName=s0 Nodes=a Switches=b", "field 'line 1'"),
        ("Nodes=a", "field 'line 1'"),
        ("SwitchName=s0 Nodes=a b", "field 'line 1'"),
        ("SwitchName=s0 Nodes=a\nSwitchName=s0 Nodes=b", "field 'line 2': found switch s0 again"),
        ("SwitchName=s0 Nodes=a\nSwitchName=s1 Nodes=b", "found 2 switches under no other"),
        ("SwitchName=s0 Switches=s1\nSwitchName=s1 Switches=s0", "found 0 switches under no other"),
        ("SwitchName=s0 Nodes=a\nSwitchName=t Switches=s0,x", "different numbers of switches"),
        ("SwitchName=s0 Nodes=a\nSwitchName=s1 Nodes=a\nSwitchName=t Switches=s[0-1]", "under two switches"),
    ],
)
def test_what_is_no_tree_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "t.conf").write_text(text)
    with pytest.raises(InputError, match=said):
        load_topology(tmp_path / "t.conf")


def test_a_node_that_is_not_there_is_refused(topology: Path) -> None:
    with pytest.raises(InputError, match="found no node 'c1', allowed: a1, a2"):
        load_topology(topology, ["c1"])


def test_ranks_over_nodes_and_inside(topology: Path, tmp_path: Path) -> None:
    """Eight ranks in a ring fill two neighbouring nodes, and the rank file names them."""
    made = tmp_path / "c.toml"
    command = ("machines", "from-topology", topology, "--node", "pack:2 core:2")
    seen = document(*command, "-o", made)
    assert [row["id"] for row in seen["rows"]] == ["a1", "a2", "b1", "b2"] and seen["switches"] == [1, 2]
    assert document(*command)["text"].split("name =", 1)[0] == made.read_text().split("name =", 1)[0]
    machine = load_machine(str(made))
    cluster = load_cluster(str(made), len(machine.units))
    assert cluster is not None and cluster.seat(9) == ("b1", 1)
    hops = machine.hops()
    assert (hops[0, 1], hops[0, 2], hops[0, 4], hops[0, 8]) == (2, 4, 6, 8)
    (tmp_path / "ring.json").write_text(generate("ring", {"ranks": "8"}).to_json())
    words = ("place", tmp_path / "ring.json", "-m", made, "--export", "openmpi-rankfile")
    status, out, err = corewise(*words, "--export-file", tmp_path / "ranks")
    assert status == 0, err
    assert "--host a1:4,a2:4 --map-by rankfile:file=" in out
    lines = (tmp_path / "ranks").read_text().splitlines()
    assert lines[0] == "rank 0=a1 slot=0" and sorted(line.split("=", 1)[1] for line in lines) == [
        f"{node} slot={core}" for node in ("a1", "a2") for core in range(4)
    ]
    refused = corewise(*words[:-1], "mpich")
    assert_one_line_error(refused, "several nodes", "allowed: openmpi-rankfile and slurm")


def test_slurm_has_one_list_of_cpus(topology: Path, tmp_path: Path) -> None:
    made = tmp_path / "c.toml"
    document("machines", "from-topology", topology, "--node", "core:2", "-o", made)
    machine = load_machine(str(made))
    cluster = load_cluster(str(made), len(machine.units))
    assert cluster is not None
    export = export_cluster("slurm", cluster, make_placement(machine, [3, 1, 2, 0]), "hosts")
    assert export.text == "a2\na1\na2\na1\n"
    assert export.arguments[0] == "SLURM_HOSTFILE=hosts" and export.arguments[-1] == "--cpu-bind=map_cpu:1,0"
    with pytest.raises(InputError, match="found CPUs 0,1 on node a2 and 1,0 on another, allowed: one list"):
        export_cluster("slurm", cluster, make_placement(machine, [1, 0, 2, 3]), "hosts")


def test_nodes_come_from_the_job_and_must_be_in_it(
    topology: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "c.toml"
    document("machines", "from-topology", topology, "--node", "core:2", "-o", made)
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "a2,b1")
    seen = document("machines", "from-topology", topology, "--node", "core:2")
    assert [row["id"] for row in seen["rows"]] == ["a2", "b1"]
    (tmp_path / "ring.json").write_text(generate("ring", {"ranks": "4"}).to_json())
    done = corewise("place", tmp_path / "ring.json", "-m", made)
    assert_one_line_error(done, "found node a1, which is not in the allocation (SLURM_JOB_NODELIST=a2,b1)")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('nodes = ["a1"]', "cluster.os_indexes"),
        ('nodes = ["a1", "a1"]\nos_indexes = [0]\nlogical_cores = [0]', "cluster.nodes"),
        ('nodes = ["a b"]\nos_indexes = [0]\nlogical_cores = [0]', "cluster.nodes"),
        ('nodes = ["a"]\nos_indexes = [0, 1]\nlogical_cores = [0]', "cluster.logical_cores"),
        ('nodes = ["a"]\nos_indexes = [0]\nlogical_cores = [0]', "cluster.nodes"),
        ('nodes = ["a"]\nos_indexes = [0]\nlogical_cores = [0]\nmore = 1', "cluster.more"),
    ],
)
def test_a_wrong_table_of_nodes_is_refused(table: str, said: str, topology: Path, tmp_path: Path) -> None:
    made = tmp_path / "c.toml"
    document("machines", "from-topology", topology, "--node", "core:2", "-o", made)
    made.write_text(made.read_text().split("\n[cluster]")[0] + f"\n[cluster]\n{table}\n")
    (tmp_path / "ring.json").write_text(generate("ring", {"ranks": "4"}).to_json())
    assert_one_line_error(corewise("place", tmp_path / "ring.json", "-m", made), f"field '{said}'")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--node", "ring:4"), "found kind 'ring', allowed for a node: a tree"),
        (("--node", "core:2", "--link-bandwidth", "fast"), "--link-bandwidth: found 'fast'"),
        (("--node", "core:2", "--hop-latency", "5"), "--hop-latency"),
        (("--node", "core:2", "--nodes", "a["), "--nodes: found 'a[', allowed: a list of nodes"),
    ],
)
def test_wrong_options_are_refused(options: tuple[str, ...], said: str, topology: Path) -> None:
    assert_one_line_error(corewise("machines", "from-topology", topology, *options), said)

"""How a machine reference is understood, and what a wrong one says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from corewise import InputError
from corewise.data.machines import bundled_machines, hwloc_libraries, load_machine, node_count

RING = """
format = "corewise-machine"
version = 1
name = "tiny"
description = "four stops"

[interconnect]
kind = "ring"
stops = ["a", "b", "c", "d"]
units = ["a", "b", "c", "d"]
rings_per_direction = 1
ring_bandwidth = "10 GB/s"
hop_latency = "1 ns"
ties = "split"
"""


REAL = {
    "core-i9-12900k": 24,
    "dual-epyc-7r13": 192,
    "dual-xeon-e5-2680v4": 56,
    "dual-xeon-gold-6242": 64,
    "epyc-7773x": 128,
    "graviton3": 64,
    "kunpeng-920-6426": 64,
    "m1-ultra": 20,
    "ryzen-9-5950x": 32,
    "threadripper-1950x": 32,
    "xeon-phi-7210": 64,
}


def test_machines_of_real_processors_say_where_they_are_from() -> None:
    for name, units in REAL.items():
        machine = load_machine(name)
        assert sorted(unit.os_index for unit in machine.units) == list(range(units))
        assert "nviennot/core-to-core-latency (MIT)" in machine.origin.source
        assert machine.origin.processor in machine.description
        assert (machine.origin.measured, machine.origin.nominal) == (["latency"], ["bandwidth"])


def test_bundled_machines_all_load() -> None:
    cells = {"cell-be": 8, "cell-blade": 16, "ps3": 6, "qs22": 8}
    clusters = {"roadrunner": 256, "ps3-cluster": 48}
    nominal = {**cells, "mesh-6x4": 48, "chiplet-2s": 64, "flat": 8}
    expected = {**nominal, **clusters, **REAL}
    assert sorted(expected) == bundled_machines()
    assert {name: len(load_machine(name).units) for name in expected} == expected


def test_toml_and_json_files_and_synthetic_text(tmp_path: Path) -> None:
    file = tmp_path / "tiny.toml"
    file.write_text(RING)
    machine = load_machine(str(file))
    assert [unit.name for unit in machine.units] == ["a", "b", "c", "d"]
    assert machine.routes(0, 2) == [[0, 1], [4, 7]]  # a tie: clockwise a>b>c, counter-clockwise a>d>c
    assert machine.hops().tolist() == [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]
    tree = load_machine("pack:2 l3:4 core:8")
    assert len(tree.units) == 64
    assert tree.units[9].domains == ["package0", "l3-1"]


def test_host_has_exactly_the_processing_units_of_this_process() -> None:
    host = load_machine("host")
    assert {unit.os_index for unit in host.units} <= os.sched_getaffinity(0)
    assert [unit.logical_core for unit in host.units] == list(range(len(host.units)))


def test_hwloc_candidates_exist() -> None:
    libraries = hwloc_libraries()
    assert libraries
    assert all(Path(library).exists() for library in libraries)


def test_named_open_mpi_offers_its_own_hwloc_first_of_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "lib" / "openmpi" / "libhwloc.so.15"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setenv("COREWISE_OPENMPI_PREFIX", str(tmp_path))
    assert str(library) in hwloc_libraries()


@pytest.mark.parametrize("reference", ["cell-bee", "nonsense"])
def test_unknown_name_lists_what_is_allowed(reference: str) -> None:
    with pytest.raises(InputError, match=f"machine '{reference}' is unknown") as error:
        load_machine(reference)
    assert all(
        name in str(error.value) for name in [*bundled_machines(), "host", ".toml", "pack:2 l3:4 core:8"]
    )


@pytest.mark.parametrize(
    "name, text, words",
    [
        ("a.toml", None, ["cannot be read", "No such file"]),
        ("a.json", None, ["cannot be read", "No such file"]),
        ("a.xml", None, ["cannot be read", "No such file"]),
        ("a.toml", "name = ", ["not TOML"]),
        ("a.toml", RING.replace("ties", "tyes"), ["tyes", "allowed"]),
        ("a.toml", RING.replace('"10 GB/s"', "nan"), ["nan"]),
        ("a.toml", RING.replace("version = 1", "version = 2026-01-01"), ["version", "2026-01-01"]),
        ("a.json", "{", ["JSON"]),
        ("a.xml", "<nothing/>", ["hwloc"]),
        ("a.yaml", "", ["'.yaml'", ".toml, .json, .xml"]),
    ],
)
def test_wrong_files_are_named_in_one_line(
    tmp_path: Path, name: str, text: str | None, words: list[str]
) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError) as error:
        load_machine(str(file))
    message = str(error.value)
    assert message.startswith(str(file))
    assert "\n" not in message
    assert all(word in message for word in words), message


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b"name = '\xff'")
    with pytest.raises(InputError, match="not UTF-8"):
        load_machine(str(file))


def test_wrong_synthetic_text_is_an_input_error() -> None:
    with pytest.raises(InputError, match="core"):
        load_machine("core:many")


@pytest.mark.parametrize(
    ("reference", "nodes"), [("roadrunner", 8), ("cell-blade", 1), ("pack:2 numa:2 core:2", 1), ("flat", 1)]
)
def test_a_level_named_node_says_how_many_nodes_there_are(reference: str, nodes: int) -> None:
    assert node_count(load_machine(reference)) == nodes

"""Placement files, and placements in the launchers' own words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corewise import InputError
from corewise.data.export import (
    FORMS,
    export_placement,
    mpich_user,
    openmpi_pe_list,
    openmpi_rankfile,
    slurm_map_cpu,
)
from corewise.data.machines import load_machine
from corewise.data.placement import load_placement, make_placement, save_placement

GOOD = {
    "format": "corewise-placement",
    "version": 1,
    "machine": "cell-be",
    "unit_of_rank": [4, 0, 7],
    "units": ["SPE4", "SPE0", "SPE7"],
}


def test_round_trip(tmp_path: Path) -> None:
    cell = load_machine("cell-be")
    placement = make_placement(cell, [4, 0, 7])
    save_placement(placement, tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text()) == GOOD
    assert load_placement(tmp_path / "p.json") == placement
    assert load_placement(tmp_path / "p.json", cell) == placement
    assert placement.ranks == 3


@pytest.mark.parametrize("units", [[0, 0], [8], [-1]])
def test_impossible_placements_are_refused(units: list[int]) -> None:
    with pytest.raises(InputError):
        make_placement(load_machine("cell-be"), units)


WRONG: list[tuple[dict[str, object], str]] = [
    ({"format": "corewise-machine"}, "field 'format': found 'corewise-machine', allowed: corewise-placement"),
    ({"version": 2}, "field 'version': found 2, allowed: 1"),
    ({"extra": 1}, "field 'extra': found an unknown field"),
    ({"machine": None}, "field 'machine': found nothing"),
    ({"unit_of_rank": None}, "field 'unit_of_rank': found nothing"),
    ({"unit_of_rank": []}, "field 'unit_of_rank': found []"),
    ({"unit_of_rank": [4, "0", 7]}, "field 'unit_of_rank': found [4, '0', 7], allowed: one or more whole"),
    ({"unit_of_rank": [4, -1, 7]}, "from 0 to 4095"),
    ({"unit_of_rank": [4, 4096, 7]}, "from 0 to 4095"),
    (
        {"unit_of_rank": [4, 4, 7]},
        "field 'unit_of_rank[1]': found unit 4 of rank 0, allowed: a unit that no other rank has",
    ),
    ({"units": ["SPE4"]}, "field 'units': found 1 names, allowed: one name per rank, 3"),
    ({"units": ["SPE4", 5, "SPE7"]}, "field 'units': found ['SPE4', 5, 'SPE7'], allowed: texts"),
]
WRONG_HERE: list[tuple[dict[str, object], str]] = [
    ({"machine": "ps3"}, "field 'machine': found 'ps3', allowed: 'cell-be'"),
    ({"unit_of_rank": [4, 0, 9]}, "field 'unit_of_rank[2]': found unit 9, allowed: 0 to 7"),
    (
        {"units": ["SPE4", "SPE1", "SPE7"]},
        "field 'units[1]': found 'SPE1', allowed: 'SPE0', the name of unit 0",
    ),
]


@pytest.mark.parametrize(("change", "words"), WRONG + WRONG_HERE)
def test_wrong_files(tmp_path: Path, change: dict[str, object], words: str) -> None:
    file = tmp_path / "p.json"
    file.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(InputError) as error:
        load_placement(file, load_machine("cell-be"))
    assert str(error.value).startswith(f"{file}: ")
    assert words in str(error.value)


@pytest.mark.parametrize(("change", "words"), WRONG)
def test_what_is_wrong_for_every_machine_is_so_without_one(
    tmp_path: Path, change: dict[str, object], words: str
) -> None:
    file = tmp_path / "p.json"
    file.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(InputError) as error:
        load_placement(file)
    assert words in str(error.value)


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text(json.dumps({**GOOD, "machine@2": "ps3"}).replace("machine@2", "machine"))
    with pytest.raises(InputError) as error:
        load_placement(file)
    assert str(error.value) == f"{file}: not JSON: the name 'machine' stands twice in an object"


def test_forms_in_the_launchers_words() -> None:
    rankfile = openmpi_rankfile([1, 0], "rf")
    assert rankfile.text == "rank 0=localhost slot=1\nrank 1=localhost slot=0\n"
    assert rankfile.arguments == ("-n", "2", "--map-by", "rankfile:file=rf")
    assert rankfile.needs_file
    assert openmpi_pe_list([1, 0]).arguments == ("-n", "2", "--map-by", "pe-list=1,0:ordered")
    assert mpich_user([1, 0]).arguments == ("-n", "2", "-bind-to", "user:1,0")
    assert slurm_map_cpu([1, 0]).arguments == ("--nodes=1", "--whole", "--ntasks=2", "--cpu-bind=map_cpu:1,0")


def test_more_ranks_than_cores_needs_leave_to_overload() -> None:
    assert openmpi_rankfile([0, 0], "rf").arguments == (
        *("-n", "2", "--map-by", "rankfile:file=rf:oversubscribe"),
        *("--bind-to", "core:overload-allowed"),
    )
    assert "--overcommit" in slurm_map_cpu([0, 0]).arguments


@pytest.mark.parametrize("form", FORMS)
def test_a_machine_that_is_no_host_is_refused(form: str) -> None:
    cell = load_machine("cell-be")
    with pytest.raises(InputError, match=f"export '{form}': unit 'SPE4' of machine 'cell-be' has no"):
        export_placement(form, cell, make_placement(cell, [4, 0]))


def test_unknown_form_lists_the_known() -> None:
    cell = load_machine("cell-be")
    with pytest.raises(InputError, match="openmpi-rankfile, openmpi4, openmpi-pelist, mpich, slurm"):
        export_placement("pbs", cell, make_placement(cell, [0]))

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


@pytest.mark.parametrize(
    "change, word",
    [
        ({"version": 2}, "version"),
        ({"extra": 1}, "extra"),
        ({"unit_of_rank": [4, 4, 7]}, "unit_of_rank"),
        ({"units": ["SPE4"]}, "units"),
        ({"machine": "ps3"}, "machine"),
        ({"units": ["SPE4", "SPE1", "SPE7"]}, "SPE1"),
    ],
)
def test_wrong_files(tmp_path: Path, change: dict[str, object], word: str) -> None:
    file = tmp_path / "p.json"
    file.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(InputError) as error:
        load_placement(file, load_machine("cell-be"))
    assert str(error.value).startswith(str(file))
    assert word in str(error.value)


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

"""Whose tuning of collectives a launch goes by, and how it tells the accelerate library.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from toy_tuning import HOSTS, TOY

from corewise import InputError
from corewise.data.tuned_hosts import (
    BUILT_IN,
    collectives_knob,
    host_collectives,
    host_tuning_for,
    load_host_tuning,
    mpi_name,
    processor_name,
)
from corewise.data.tuning import parse_tuning

PROCESSOR = "GenuineIntel-6-1"
KNOB = "on|4c>barrier=-:dissemination|2>broadcast=128:mpi,-:root_stage/piece=4096"
"""4 ranks shared 2 cores."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of a host under two MPIs, and one of a simulated machine."""
    (tmp_path / "collectives-shm-one.csv").write_text(HOSTS)
    other = HOSTS.replace("mpich 5.0.2", "openmpi 5.0.1").replace("all,barrier,4", "all,barrier,3")
    (tmp_path / "collectives-shm-other.csv").write_text(other)
    (tmp_path / "collectives-toy.csv").write_text(TOY)
    return tmp_path


def test_a_tuning_goes_before_the_built_in_table(folder: Path) -> None:
    """Of several the first counts where they have rows for so many ranks, which share cores or do not."""
    (folder / "more.csv").write_text(HOSTS.replace("cores,2", "cores,8").replace("128,mpi", "128,eager_tree"))
    one, more = (load_host_tuning(folder / name) for name in ("collectives-shm-one.csv", "more.csv"))
    assert collectives_knob([one]) == KNOB
    assert collectives_knob([more]).startswith("on|4>barrier=-:dissemination|2>broadcast=128:eager_tree,")
    assert collectives_knob([one, more]) == f"{KNOB}|4>barrier=-:dissemination"


def test_a_launch_goes_by_the_tuning_of_its_processor_and_mpi(folder: Path) -> None:
    found = host_collectives("mpich", "5.1.0", PROCESSOR, folder)
    assert (found.knob, found.told) == (KNOB, "collectives by collectives-shm-one.csv")
    assert "3c>" in host_collectives("openmpi", "5.0.11", PROCESSOR, folder).knob
    for mpi, version, processor in (
        ("mpich", "4.3.0", PROCESSOR),
        ("mpich-no-cma", "5.0.2", PROCESSOR),
        ("mpich", "5.0.2", "GenuineIntel-6-2"),
    ):
        none = host_collectives(mpi, version, processor, folder)
        assert none.knob == BUILT_IN
        assert none.told == f"collectives: no table of {processor} with {mpi} {version}: by the built-in one"


def test_what_is_explained_is_of_the_mpi_that_is_named(folder: Path) -> None:
    assert host_tuning_for("barrier", 4, "mpich", PROCESSOR, folder) == parse_tuning(HOSTS)
    on = host_tuning_for("barrier", 4, "openmpi", PROCESSOR, folder).on
    assert on is not None and on.mpi == "openmpi 5.0.1"
    for mpi, said in ((None, "nothing"), ("lam", "'lam'")):
        with pytest.raises(InputError, match=f"--mpi: found {said}, allowed: mpich, openmpi"):
            host_tuning_for("barrier", 4, mpi, PROCESSOR, folder)
    with pytest.raises(
        InputError, match=re.escape("'host' (none-6-1) has no tuning, allowed: a tuning file")
    ):
        host_tuning_for("barrier", 4, None, "none-6-1", folder)
    (folder / "collectives-shm-other.csv").unlink()
    assert host_tuning_for("barrier", 4, None, PROCESSOR, folder) == parse_tuning(HOSTS)


def test_of_several_tunings_the_one_with_the_call_is_explained(folder: Path) -> None:
    """Of one MPI on more cores."""
    more = HOSTS.replace("cores,2", "cores,8").replace("all,barrier,4", "all,barrier,8")
    (folder / "collectives-shm-two.csv").write_text(more)
    assert host_tuning_for("barrier", 8, "mpich", PROCESSOR, folder) == parse_tuning(more)
    assert host_tuning_for("barrier", 4, "mpich", PROCESSOR, folder) == parse_tuning(HOSTS)


def test_a_file_of_a_simulated_machine_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="'port': found 'cell', allowed: shm"):
        load_host_tuning(folder / "collectives-toy.csv")


def test_shipped_files_are_named_by_processor_and_mpi() -> None:
    root = Path(__file__).resolve().parents[3]
    for path in (root / "tuning").glob("collectives-shm-*.csv"):
        on = load_host_tuning(path).on
        assert path.name == f"collectives-shm-{on.processor.lower()}-{on.mpi_name}-{on.cores}.csv"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\nmodel name : E\n", "AuthenticAMD-25-17"),
        ("CPU implementer : 0x41\nCPU part : 0xd40\nCPU part : 0xd41\n", "0x41-0xd40"),
        ("", os.uname().machine),
    ],
)
def test_processors_are_named_by_maker_family_and_model(text: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    assert processor_name(tmp_path / "cpuinfo") == name
    assert processor_name(tmp_path / "nowhere") == os.uname().machine


def test_mpich_without_copies_between_processes_is_another_mpi() -> None:
    assert mpi_name("mpich", {}) == "mpich"
    assert mpi_name("mpich", {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}) == "mpich-no-cma"
    assert mpi_name("openmpi", {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}) == "openmpi"

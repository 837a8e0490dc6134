"""The profile's folder of `corewise run`: its name, who gets it, and what is said where nothing was recorded.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from corewise.cli import run
from corewise.errors import InputError
from corewise.mpi.find import MpiLibrary
from corewise.mpi.launch import LaunchPlan, RunOutcome


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["./flow"], "flow"),
        (["/far/flow.exe", "input"], "flow"),
        (["/usr/bin/python3", "-u", "input"], "input"),
        (["/usr/bin/python3.11", "-c", "pass"], "python3"),
        (["mpiexec", "-n", "2", "input"], "2"),  # nobody knows which word of a launcher's line is the program
        (["mpiexec", "-n", "3", "none"], "mpiexec"),
        (["mpiexec", "-n", "3", "bash", "input"], "input"),
        (["./-dash"], "dash"),
        (["./flow", "x" * 5000], "flow"),
    ],
)
def test_a_profile_is_named_by_its_program(command: list[str], name: str) -> None:
    for file in ("input", "2"):
        Path(file).touch()
    with run.profile_folder(command, None) as folder:
        assert folder == Path(f"{name}.cw") and folder.is_dir()


def test_a_word_is_no_file_where_the_system_refuses_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refused)
    with run.profile_folder(["mpiexec", "-n", "2", "./flow"], None) as folder:
        assert folder == Path("mpiexec.cw")


def test_runs_at_one_time_have_a_folder_each() -> None:
    Path("flow-2.cw").touch()
    with ExitStack() as held, ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: held.enter_context(run.profile_folder(["flow"], None)), range(8)))
    names = ["flow.cw", *(f"flow-{number}.cw" for number in range(3, 10))]
    assert sorted(map(str, folders)) == sorted(names)


def test_a_refused_run_leaves_no_folder() -> None:
    for wanted in (None, Path("named.cw")):
        with pytest.raises(InputError, match="refused"), run.profile_folder(["flow"], wanted):
            raise InputError("refused")
    assert not list(Path().iterdir())
    with pytest.raises(InputError, match="refused"), run.profile_folder(["flow"], None) as folder:
        (folder / "records").touch()
        raise InputError("refused")
    assert (folder / "records").exists()


def test_a_folder_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", refused)
    with (
        pytest.raises(InputError, match=r"^flow\.cw: cannot be made: Permission denied"),
        run.profile_folder(["flow"], None),
    ):
        pass


@pytest.mark.parametrize("status", [0, 15])
def test_why_nothing_was_recorded(status: int, tmp_path: Path) -> None:
    mpi = MpiLibrary("mpich", "4.0", tmp_path, tmp_path, tmp_path, (), ())
    why = run._silence(LaunchPlan(mpi, ("mpiexec", "flow"), 1, None, None), RunOutcome(status, 1.0))
    failed = "mpiexec ended with exit status 15: the program may have failed before or in MPI_Init. "
    assert why.startswith(failed) is (status != 0)
    for reason in ("no rank called mpich's MPI_Init", "not an MPI program", "setuid", "the loader could not"):
        assert reason in why

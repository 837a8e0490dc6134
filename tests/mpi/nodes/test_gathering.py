"""Records on the local disks of nodes: gathered when the run has ended; what does not arrive is named.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from conftest import Mpi, find_mpi
from installed_tool import corewise
from namespace_hosts import Hosts, hosts, when_asked

from corewise.data.profile import load_profile
from corewise.errors import InputError
from corewise.mpi import launch

RING = Path(__file__).parent / "ring.c"
NODES = ("alpha", "beta")


@pytest.fixture(scope="module", params=[pytest.param("openmpi", marks=pytest.mark.long_test), "mpich"])
def ring(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Mpi, Path]:
    """An MPI, and the program."""
    mpi = find_mpi(request.param)
    return mpi, mpi.build(tmp_path_factory.mktemp("ring") / "ring", RING, flags=("-Wno-unused-result",))


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Hosts]:
    """Two hosts with local disks of 1 MiB."""
    (tmp_path / "made").mkdir()
    with hosts(tmp_path / "made", NODES, "1m") as made:
        yield made


def ran(
    which: tuple[Mpi, Path], on: Hosts, folder: Path, *words: object, options: tuple[str, ...] = ()
) -> CompletedProcess[str]:
    """The program, two ranks on each host, recorded on their disks."""
    mpi, program = which
    env = {**os.environ, **on.variables(mpi.name, 2, folder), **mpi.yield_env}
    command = (
        "run",
        "--mpi",
        mpi.prefix,
        "--local-dir",
        on.disk,
        *options,
        "-o",
        folder / "p.cw",
        "--",
        program,
    )
    return corewise(*command, *words, env=env)


def test_records_arrive_and_the_disks_are_empty(ring: tuple[Mpi, Path], two: Hosts, tmp_path: Path) -> None:
    done = ran(ring, two, tmp_path, 20)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in (tmp_path / "p.cw").iterdir()) == [
        "meta.json", *(f"rank-0000{rank}.cwt" for rank in range(4))
    ]  # fmt: skip
    profile = load_profile(tmp_path / "p.cw")
    assert {rank.host for rank in profile.world.ranks} == set(NODES)
    assert not profile.problems and not profile.meta.missing
    assert not list(two.disk.iterdir()), "nothing was written on this host"
    assert [two.on(name, f"ls {two.disk}") for name in NODES] == ["", ""]


def test_a_node_lost_in_the_run_is_named(ring: tuple[Mpi, Path], two: Hosts, tmp_path: Path) -> None:
    """A host without the rank that takes it away: what the other recorded is there."""
    with when_asked(tmp_path, lambda: two.kill("beta")) as kill:
        done = ran(ring, two, tmp_path, 20, kill)
    assert done.returncode != 0
    assert "p.cw: node beta was lost: what its ranks recorded is missing" in done.stderr
    missing = json.loads((tmp_path / "p.cw" / "meta.json").read_text())["missing"]
    assert len(missing) == 2 and missing[1].startswith("no file of rank")
    profile = load_profile(tmp_path / "p.cw")
    assert {rank.host for rank in profile.world.ranks if rank.host} == {"alpha"}
    report = corewise("report", tmp_path / "p.cw")
    assert report.returncode == 0 and "node beta was lost" in " ".join(report.stdout.split())


def test_a_node_lost_in_the_gathering_is_named(
    ring: tuple[Mpi, Path], two: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first copy never ends. The program had ended well, so the status is ours."""
    with when_asked(tmp_path, lambda: two.kill("beta")) as kill:
        copying = tmp_path / "bin" / "cp"
        copying.parent.mkdir()
        copying.write_text(f'#!/bin/sh\n[ "$(hostname)" = beta ] && {{ {kill}; }}\nexec /bin/cp "$@"\n')
        copying.chmod(0o755)
        monkeypatch.setenv("PATH", f"{copying.parent}:{os.environ['PATH']}")
        done = ran(ring, two, tmp_path, 20)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "p.cw: node beta was lost: what its ranks recorded is missing" in done.stderr
    assert "p.cw: no file of ranks 2, 3" in done.stderr
    assert {path.name for path in (tmp_path / "p.cw").glob("*.cwt")} == {"rank-00000.cwt", "rank-00001.cwt"}


def test_a_full_local_disk_is_said(ring: tuple[Mpi, Path], two: Hosts, tmp_path: Path) -> None:
    """The program runs on, and the other node's records are there."""
    two.on("beta", f"head -c 1036000 /dev/zero > {two.disk}/full")
    done = ran(ring, two, tmp_path, 20)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of the ranks recorded nothing: there was no space for their files" in done.stderr
    assert {rank.host for rank in load_profile(tmp_path / "p.cw").world.ranks if rank.host} == {"alpha"}
    assert two.on("beta", f"ls {two.disk}") == "full\n"


@pytest.mark.long_test
def test_what_the_profile_has_no_space_for_stays_on_its_node(
    ring: tuple[Mpi, Path], two: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that fails takes nothing away."""
    copying = tmp_path / "bin" / "cp"
    copying.parent.mkdir()
    copying.write_text(
        '#!/bin/sh\ncase "$1" in *rank-00003*) echo "no space" >&2; exit 1;; esac\nexec /bin/cp "$@"\n'
    )
    copying.chmod(0o755)
    monkeypatch.setenv("PATH", f"{copying.parent}:{os.environ['PATH']}")
    done = ran(ring, two, tmp_path, 20)
    assert done.returncode == 1
    assert "node beta: 1 of its files could not be copied, and lie in " in done.stderr
    folder = json.loads((tmp_path / "p.cw" / "meta.json").read_text())["local_folder"]
    assert two.on("beta", f"ls {folder}") == "rank-00003.cwt\n"
    assert two.on("alpha", f"ls {two.disk}") == ""


@pytest.mark.long_test
def test_two_runs_at_once_do_not_meet(ring: tuple[Mpi, Path], two: Hosts, tmp_path: Path) -> None:
    """One into the same profile is refused; one on the same local disks has a folder of its own."""
    (tmp_path / "other").mkdir()
    others = []

    def meet() -> None:
        others.append(ran(ring, two, tmp_path, 20))
        others.append(ran(ring, two, tmp_path / "other", 20))

    with when_asked(tmp_path, meet) as met:
        done = ran(ring, two, tmp_path, 20, met)
    refused, beside = others
    assert refused.returncode == 2 and "p.cw: exists and is not empty" in refused.stderr
    assert (done.returncode, beside.returncode) == (0, 0), done.stderr + beside.stderr
    for profile in (tmp_path / "p.cw", tmp_path / "other" / "p.cw"):
        assert len(list(profile.glob("rank-*.cwt"))) == 4 and not load_profile(profile).problems


def test_of_two_that_find_a_folder_empty_one_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch._make_directory(tmp_path / "p.cw")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "iterdir", lambda self: iter(()))
        with pytest.raises(InputError, match=r"p\.cw: another run writes there"):
            launch._make_directory(tmp_path / "p.cw")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--local-dir", "here", "-n", 1, "--", "/bin/true"), "found 'here', allowed: a whole path"),
        (("--local-dir", "/proc/none", "-n", 1, "--", "/bin/true"), "/proc/none: cannot be made"),
    ],
)
def test_wrong_local_folders_are_refused(options: tuple[object, ...], said: str, tmp_path: Path) -> None:
    done = corewise("run", "-o", tmp_path / "p.cw", *options)
    assert done.returncode in (1, 2) and said in done.stderr
    assert not (tmp_path / "p.cw").exists()

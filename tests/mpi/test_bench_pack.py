"""apps/packing and `corewise bench pack` on real MPIs: every way moves exactly its bytes, and is measured.

No test looks at a time: ranks may outnumber cores, and other tests run.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT, Mpi, find_mpi

from corewise.bench.pack.results import OURS
from corewise.bench.pack.runs import PLAIN_WAYS, Effort
from corewise.bench.pack.study import run_bench, tune
from corewise.data.packing_tuning import packing_tuning_text, parse_packing_tuning

SOURCES = sorted((ROOT / "apps" / "packing").glob("*.cpp"))
TINY = Effort(1, 0.0, 0, True)
WAYS = ",".join(PLAIN_WAYS)
SPOIL = """
#include <mpi.h>
/* One byte of every message in MPI_BYTE is not what was sent. */
int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  int status;
  if (type != MPI_BYTE) return PMPI_Send(data, count, type, to, tag, comm);
  ((char*)data)[count / 2] ^= 1;
  status = PMPI_Send(data, count, type, to, tag, comm);
  ((char*)data)[count / 2] ^= 1;
  return status;
}
"""


@pytest.fixture(scope="module")
def packing(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, quickly compiled."""
    return mpi.build(tmp_path_factory.mktemp(mpi.name) / "packing", *SOURCES, flags=("-O0",))


def test_every_way_moves_exactly_its_bytes(mpi: Mpi, packing: Path) -> None:
    cases = "constant/4,constant/32,constant/2048,elements/1,columns/32,grid/512/64,sparse/512/8,mg_x/34"
    words = ["--cases", cases, "--check", "--budget", "0", "--ways", WAYS]
    directions = ["--directions", "send,receive,both,pack,unpack"]
    done = mpi.run(2, packing, [*words, *directions], mpi.yield_env)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1].startswith("machine seconds=") and "wrong" not in done.stdout
    ways = {tuple(line.split()[1:4]) for line in lines if line.startswith("time ")}
    # 32 B elements: four loops, MPI_Pack, datatypes and the baseline; the engines alone have no message.
    assert sum(case == "case=constant/32" for case, _, _ in ways) == 3 * 7 + 2 * 5
    # An application has one loop.
    assert sum(case == "case=mg_x/34" for case, _, _ in ways) == 3 * 4 + 2 * 2


LARGER = "wrf_x_sa/32,milc_z/16,lu_y/102,lammps_full/1200,specfem_cm/3000,specfem_mt/96,fft2/256"


@pytest.mark.parametrize(
    ("cases", "count"), [(["--set", "applications", "--quick"], 16), (["--cases", LARGER], 7)]
)
def test_every_application_is_right(mpi: Mpi, packing: Path, cases: list[str], count: int) -> None:
    words = [*cases, "--check", "--budget", "0", "--ways", "datatype,mpi-pack,manual"]
    done = mpi.run(2, packing, words, mpi.yield_env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("direction=both") == count * 3


def test_wrong_data_are_found(mpi: Mpi, packing: Path, tmp_path: Path) -> None:
    (tmp_path / "spoil.c").write_text(SPOIL)
    spoil = mpi.build(tmp_path / "spoil.so", tmp_path / "spoil.c", flags=("-shared", "-fPIC"))
    words = ["--cases", "constant/64", "--check", "--budget", "0", "--ways", "loop,mpi-pack"]
    good = mpi.run(2, packing, words, mpi.yield_env)
    bad = mpi.run(2, packing, words, env={**mpi.yield_env, "LD_PRELOAD": str(spoil)})
    assert good.returncode == 0 and "wrong" not in good.stdout
    assert bad.returncode != 0
    # Packed messages are not touched: that way stays right.
    wrong = [line for line in bad.stdout.splitlines() if line.startswith("wrong")]
    assert wrong == ["wrong case=constant/64 direction=both way=loop"]


def test_cases_are_listed_and_not_run(mpi: Mpi, packing: Path) -> None:
    listed, quick = (
        mpi.run(2, packing, ["--set", "grid,sparse", "--list", *more], mpi.yield_env).stdout.splitlines()
        for more in ([], ["--quick"])
    )
    assert "case grid/2048/64" in quick and "case sparse/2048/16" in quick
    assert all(line.startswith(("case grid/", "case sparse/")) for line in quick)
    assert set(quick) < set(listed) and len(set(listed)) == len(listed)


@pytest.mark.parametrize(
    ("words", "ranks", "said"),
    [
        (["--set", "rows"], 2, "packing: --set: found 'rows'; allowed: constant"),
        (["--cases", "constant/3"], 2, "packing: --cases: found 'constant/3'; allowed: only these"),
        (["--cpus", "1"], 2, "packing: --cpus: found '1'; allowed: processors of the two ranks"),
        ([], 3, "packing: found 3 ranks; allowed: 2"),
    ],
)
def test_wrong_arguments_end_every_rank(
    words: list[str], ranks: int, said: str, mpi: Mpi, packing: Path
) -> None:
    done = mpi.run(ranks, packing, words, mpi.yield_env)
    assert done.returncode == 2
    assert done.stderr.count("packing: ") == 1 and said in done.stderr


def test_the_command_measures_every_part_and_the_library() -> None:
    cases = ["constant/4", "constant/2048", "columns/32", "lu_y/33"]
    shares: list[float] = []
    result = run_bench(mpi=str(find_mpi("mpich").prefix), effort=TINY, cases=cases, progress=shares.append)
    assert {study.setting.name for study in result.studies} == {"mpich", "mpich-no-cma"}
    assert shares == sorted(shares) and shares[-1] == 1
    ids = [row.id for row in result.rows if row.id.startswith("pack/mpich/")]
    assert ids == [
        *(f"pack/mpich/constant/{size}/{way}" for size in (4, 2048) for way in ("send", "receive", "both")),
        "pack/mpich/columns/32/both",
        "pack/mpich/lu_y/33/both",
        *(f"pack/mpich/constant/{size}/{way}" for size in (4, 2048) for way in ("pack", "unpack")),
    ]
    assert all(row.ours > 0 and row.theirs > 0 for row in result.rows)
    assert all((row.floor is None) == (row.rival == "mpi-pack") for row in result.rows)
    assert all(row.more["processor"] and str(row.mpi).startswith("mpich ") for row in result.rows)
    assert len({row.id for row in result.rows}) == len(result.rows)
    paper = result.studies[0]
    assert paper.time(("constant/4", "both"), OURS).median > 0 and paper.drift() is not None
    assert any("4-byte" not in claim.what for claim in result.claims) and len(result.goals) > 5


def test_a_tuning_has_a_row_for_every_use_and_shape(mpi: Mpi) -> None:
    cases = ["grid/512/4", "grid/512/64", "grid/131072/1024", "sparse/2048/64"]
    found = dict(tune(mpi=str(mpi.prefix), command="tune", effort=TINY, cases=cases))
    engine = mpi.name == "openmpi"
    assert list(found) == (["openmpi"] if engine else ["mpich", "mpich-no-cma"])
    for name, tuning in found.items():
        assert tuning.mpi.split()[0] == name and parse_packing_tuning(packing_tuning_text(tuning)) == tuning
        shapes = [("dense", 512, 4), ("dense", 512, 64), ("dense", 131072, 1024), ("sparse", 2048, 64)]
        uses = ("send", "receive", "pack", "unpack") if engine else ("message", "pack", "unpack")
        rows = [(row.use, row.lines, row.bytes, row.run) for row in tuning.rows]
        assert rows == [(use, *shape) for use in uses for shape in shapes]
        assert all(0 < row.low <= row.ratio for row in tuning.rows)

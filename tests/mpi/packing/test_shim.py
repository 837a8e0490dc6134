"""What reaches the MPI behind the packing library, counted by a library between the two (``packing/shim.c``).

``packing/shim_program.c`` sends, receives and packs strided ints and checks every one of them; the shim says
under which types the messages went on, and how often a type's description was asked for. A library that
passed everything through, or read types anew for each message, would give the program the same answers.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import atexit
import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import fortran_runs
import packing_runs
import pytest
from conftest import ROOT, YIELD_ENV
from installed_tool import corewise
from packing_runs import FLAGS, MPI_NAMES, SOURCES, built, ran

from corewise.mpi import build

atexit.register(packing_runs.end_session)
SECTIONS = (
    *("blocking", "posted", "persistent", "exchanges", "packs"),
    *("contiguous", "bottom", "types", "many"),
)
"""In the order of shim_program.c, which numbers them from 1."""
TIMES, TYPES, MANY = 8, 8, 20000
BYTES, RUN = 1024, 16  # of a strided message, as the program has them
TIMEOUT_S = 900.0
LEAK_KILOBYTES = 40000  # a plan of 512 places kept 19 000 times is more than that
Counts = Mapping[str, int]
"""By PROCEDURE/KIND, of all ranks."""


def read_counts(stem: Path) -> dict[str, Counter[str]]:
    """What the shims of two ranks have written, by section."""
    found: dict[str, Counter[str]] = {}
    for rank in range(2):
        for line in stem.with_name(f"{stem.name}.{rank}").read_text().splitlines():
            section, _, rest = line.partition(" ")
            what, _, count = rest.rpartition(" ")
            found.setdefault(SECTIONS[int(section) - 1], Counter())[what] += int(count)
    return found


@cache
def run(name: str, packing: str, *sections: str, leak: bool = False) -> tuple[dict[str, Counter[str]], str]:
    """Counts by section under COREWISE_PACKING=`packing`, '' for no library; and what the program printed."""
    mpi, (shim, program) = packing_runs.library(name), built(name)
    libraries = [str(packing_runs.packing_library(name))] if packing else []
    with tempfile.TemporaryDirectory(prefix="corewise-shim-") as folder:
        stem = Path(folder) / "counts"
        words = [
            f"LD_PRELOAD={':'.join([*libraries, str(shim)])}",
            f"COREWISE_SHIM_OUT={stem}",
            *([f"COREWISE_PACKING={packing}"] if packing else []),
            *(["COREWISE_SHIM_LEAK=1"] if leak else []),
        ]
        command = [str(mpi.mpiexec), "-n", "2", "/usr/bin/env", *words, str(program), *sections]
        said = ran(command, {**mpi.env, **YIELD_ENV[name.partition("_")[0]]})
        assert said.splitlines()[-1] == "ok"
        return read_counts(stem), said


def always(name: str) -> dict[str, Counter[str]]:
    """Everything that may be packed, is."""
    return run(name, "always", *SECTIONS[:-1])[0]


def without(name: str) -> dict[str, Counter[str]]:
    """The same program without the library."""
    return run(name, "", *SECTIONS[:-1])[0]


def kinds(counts: Counter[str], *procedures: str) -> Counts:
    """Messages, packs and unpacks in a section, of one procedure or of all that are not about types."""
    others = ("MPI_Type", "attribute")
    return {
        what: count
        for what, count in counts.items()
        if not what.startswith(others) and (not procedures or what.split("/")[0] in procedures)
    }


PACKED = ("mpich", "mpich_abi")
"""Where messages are packed; Open MPI's own engine uses our loops instead, and messages stay as they are."""


def test_calls_of_open_mpi_are_not_touched() -> None:
    found, plain = always("openmpi"), without("openmpi")
    for section in ("blocking", "posted", "persistent", "exchanges", "packs", "contiguous", "bottom"):
        assert kinds(found[section]) == kinds(plain[section]), section


@pytest.mark.parametrize("name", PACKED)
def test_strided_messages_go_on_as_packed_ones(name: str) -> None:
    """All of them, by every kind of call, sent and received; contiguous ones from where they lie."""
    counts = always(name)
    assert kinds(counts["blocking"]) == {"MPI_Send/packed": TIMES, "MPI_Recv/packed": TIMES}
    assert kinds(counts["posted"]) == {"MPI_Isend/packed": 2 * TIMES, "MPI_Irecv/packed": 2 * TIMES}
    assert kinds(counts["persistent"]) == {"MPI_Send_init/packed": 2, "MPI_Recv_init/packed": 2}
    exchanges = ("MPI_Sendrecv out", "MPI_Sendrecv in", "MPI_Sendrecv_replace")
    assert kinds(counts["exchanges"]) == {f"{each}/packed": 2 * TIMES for each in exchanges}
    # A derived type in one run goes on as its bytes.
    sends = {"MPI_Send/packed": TIMES, "MPI_Send/predefined": TIMES}
    assert kinds(counts["contiguous"]) == {**sends, "MPI_Recv/packed": 2 * TIMES}


@pytest.mark.parametrize("name", PACKED)
def test_packing_and_unpacking_do_not_reach_the_mpi(name: str) -> None:
    assert kinds(always(name)["packs"]) == {}
    assert kinds(without(name)["packs"]) == {"MPI_Pack/derived": 2 * TIMES, "MPI_Unpack/derived": 2 * TIMES}


@pytest.mark.parametrize("name", PACKED)
def test_absolute_addresses_are_packed_by_us(name: str) -> None:
    """From MPI_BOTTOM: a struct of lists of places; sent, received, packed, unpacked."""
    assert kinds(always(name)["bottom"]) == {"MPI_Send/packed": TIMES, "MPI_Recv/packed": TIMES}
    assert kinds(without(name)["bottom"])["MPI_Send/derived"] == TIMES


@pytest.mark.parametrize("name", fortran_runs.NAMES)
def test_absolute_addresses_of_a_fortran_program_are_packed_by_us(name: str, tmp_path: Path) -> None:
    fortran_runs.require(name)
    library = build.build_packing(fortran_runs.described(name))
    shim, program, stem = tmp_path / "shim.so", tmp_path / "bottom", tmp_path / "counts"
    shared = [f"mpicc.{name}", *FLAGS, "-shared", "-fPIC", "-o", str(shim), str(SOURCES / "shim.c"), "-ldl"]
    ran(shared, {})
    ran([f"mpif90.{name}", *fortran_runs.FLAGS, "-o", str(program), str(SOURCES / "bottom.F90")], {})
    words = [f"LD_PRELOAD={library}:{shim}", "COREWISE_PACKING=always", f"COREWISE_SHIM_OUT={stem}"]
    command = [f"mpiexec.{name}", "-n", "2", "/usr/bin/env", *words, str(program)]
    assert ran(command, fortran_runs.ENVIRONMENT).split() == ["ok"]
    counts = read_counts(stem)[SECTIONS[0]]
    how = "derived" if name == "openmpi" else "packed"
    # MPICH does not see what we pack for the program; Open MPI packs itself, by our loops.
    packs = {f"MPI_{what}/derived": 2 * TIMES for what in ("Pack", "Unpack") if name == "openmpi"}
    assert kinds(counts) == {f"MPI_Send/{how}": TIMES, f"MPI_Recv/{how}": TIMES, **packs}


def contents(counts: Counter[str]) -> int:
    return sum(count for what, count in counts.items() if what.endswith("/contents"))


def envelopes(counts: Counter[str]) -> int:
    return sum(count for what, count in counts.items() if what.endswith("/envelope"))


@pytest.mark.parametrize("name", MPI_NAMES)
def test_a_type_is_read_through_its_envelope_once(name: str) -> None:
    """However many messages follow; and once more where a handle means another type."""
    counts = always(name)
    for section in ("blocking", "posted", "persistent", "exchanges", "packs"):
        assert contents(counts[section]) == 2, section  # one type, on either rank
        assert envelopes(counts[section]) == envelopes(counts["blocking"]), section
    # Each of them is used as often as there are types; the program's checks say that the right one was meant.
    assert contents(counts["types"]) == 2 * TYPES
    assert envelopes(counts["types"]) <= (TYPES + 1) * envelopes(counts["blocking"])


@pytest.mark.parametrize("name", MPI_NAMES)
def test_a_plan_lives_on_its_type_and_is_freed_with_it(name: str) -> None:
    """An attribute for every committed type, deleted when the type is freed; memory does not grow."""
    types = always(name)["types"]
    assert types["attribute/set"] == types["attribute/deleted"] == 2 * (TYPES + 1)
    counts, said = run(name, "always", "many")
    assert counts["many"]["attribute/set"] == counts["many"]["attribute/deleted"] == 2 * (MANY + 1)
    assert contents(counts["many"]) == 2 * MANY
    # Open MPI packs by its own engine, which uses our loops.
    assert kinds(counts["many"]) == ({} if name in PACKED else {"MPI_Pack/derived": 2 * MANY})
    assert grown(said) < LEAK_KILOBYTES


def grown(said: str) -> int:
    """Kilobytes by which the program says that it has grown."""
    return int(said.split()[1])


def test_plans_that_are_not_freed_would_be_seen() -> None:
    """The measurement of the test above, where the library is not told that types are freed."""
    assert grown(run("mpich", "always", "many", leak=True)[1]) > LEAK_KILOBYTES


@pytest.mark.parametrize("name", PACKED)
def test_the_table_decides(name: str) -> None:
    """By use, size and run; a type is read at its second message. What is not packed goes on as it came."""
    uses = {"message": ("MPI_Send", "MPI_Recv"), "pack": ("MPI_Pack",), "unpack": ("MPI_Unpack",)}
    sections = ("blocking", "packs", "bottom")

    def under(crossing: str, *taken: str) -> Counter[str]:
        found = run(name, ";".join(f"{use}={crossing}" for use in taken), *sections)[0]
        return Counter(kinds(found["blocking"])) + Counter(kinds(found["packs"]))

    here = Counter(kinds(without(name)["blocking"])) + Counter(kinds(without(name)["packs"]))
    for crossing in (f"{BYTES - 1}:{RUN}", f"{BYTES}:{RUN - 1}"):
        assert under(crossing, *uses) == here
    for use in uses:
        found = under(f"{BYTES}:{RUN}", use)
        for other, calls in uses.items():
            for call in calls:
                left, every = found[f"{call}/derived"], here[f"{call}/derived"]
                assert left <= 2 if other == use else left == every, (use, call)


@pytest.mark.parametrize("name", MPI_NAMES[:2])
def test_packing_is_off_unless_it_is_asked_for(name: str, tmp_path: Path) -> None:
    """`corewise run` loads no such library; with --packing and a table it does, and that shows."""
    mpi, (shim, program) = packing_runs.library(name), built(name)
    page = (ROOT / "docs" / "formats" / "packing-tuning.md").read_text()
    (tmp_path / "table.csv").write_text(page.split("```")[1].removeprefix("csv").lstrip())
    asked = ("--packing", "--packing-tuning", tmp_path / "table.csv")
    for options, own in (((), []), (asked, ["libcorewise-packing.so"])):
        stem, profile = tmp_path / f"counts{len(options)}", tmp_path / f"profile{len(options)}"
        env = {**os.environ, **mpi.env, **YIELD_ENV[name], "COREWISE_SHIM_OUT": str(stem)}
        behind = f'export LD_PRELOAD="$LD_PRELOAD:{shim}"; exec {program} blocking'
        loaded = ["/bin/sh", "-c", f'echo "$LD_PRELOAD" > {stem}.preload; {behind}']
        done = corewise("run", "-n", 2, "--mpi", mpi.prefix, *options, "-o", profile, "--", *loaded, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        preload = [Path(each).name for each in Path(f"{stem}.preload").read_text().strip().split(":")]
        assert preload == ["libcorewise-preload.so", *own]
        counts = kinds(read_counts(stem)["blocking"], "MPI_Send", "MPI_Recv")
        if own and name == "mpich":
            assert counts["MPI_Send/packed"] >= TIMES - 1 and counts["MPI_Recv/packed"] >= TIMES - 1
        else:
            assert counts == {"MPI_Send/derived": TIMES, "MPI_Recv/derived": TIMES}

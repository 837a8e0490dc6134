"""Fortran programs are seen as C programs are: mpif.h, ``use mpi``, mpi_f08; Debian's Open MPI and MPICH.

The programs check their own results, so a preload that changed what a call means (a sentinel, a callback, a
descriptor, a CHARACTER length) fails here too.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import atexit
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import fortran_runs
import pytest
from fortran_runs import LANGUAGES, NAMES, RANKS, SOURCES, described, preload, program, require, run
from installed_tool import corewise, document
from trace_decoder import NO_PEER, PROC_NULL, Trace

from corewise.mpi import build, elf, fortran
from corewise.mpi.generators import recording as wrappers

atexit.register(fortran_runs.end_session)
Event = tuple[str, str, int, int, int]


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """Each of Debian's MPIs."""
    found = str(request.param)
    require(found)
    return found


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the profiles of this module go."""
    return tmp_path_factory.mktemp("fortran")


@cache
def calls(name: str, language: str, folders: Path) -> dict[int, Trace]:
    """The program of calls in a language, recorded; "c" is its twin in C."""
    for each in LANGUAGES:
        fortran_runs.start_building(name, "calls", f"-DLANGUAGE_{each}") if language != "c" else None
    built = program(name, "calls_c") if language == "c" else program(name, "calls", f"-DLANGUAGE_{language}")
    folder = folders / f"{name}-{language}"
    assert run(name, built, folder, folders / f"data-{name}-{language}").split() == ["ok"]
    return fortran_runs.traces(folder)


def events(trace: Trace) -> Counter[Event]:
    """The calls of a rank and what they mean; how often a loop polled in vain is chance."""
    return Counter(record.event for record in trace.records if record.role != "miss")


@pytest.mark.parametrize("language", LANGUAGES)
def test_same_records_as_in_c(name: str, language: str, folders: Path) -> None:
    """Per procedure: counts, roles, world peers, tags, bytes. Twice counted or not seen would differ."""
    expected = {rank: events(trace) for rank, trace in calls(name, "c", folders).items()}
    found = {rank: events(trace) for rank, trace in calls(name, language, folders).items()}
    assert found == expected
    assert sum(len(each) for each in found.values()) > 400


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_procedure_called_is_seen(name: str, language: str, folders: Path) -> None:
    """What the text of the program calls, and nothing else."""
    text = (SOURCES / "calls.F90").read_text()
    called = set(re.findall(r"\bcall (MPI_\w+)\(", text)) | {"MPI_Wtime", "MPI_Wtick"}
    called.discard("MPI_Abort")
    seen = {r.procedure for trace in calls(name, language, folders).values() for r in trace.records}
    assert seen == called
    assert len(called) > 110


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_sent_arrives(name: str, language: str, folders: Path) -> None:
    found = calls(name, language, folders)
    sent: Counter[tuple[int, int, int, int]] = Counter()
    received: Counter[tuple[int, int, int, int]] = Counter()
    for rank, trace in found.items():
        for r in trace.records:
            if r.role == "send" and r.peer >= 0:
                sent[rank, r.peer, r.tag, r.bytes] += 1
            if r.role in ("receive", "arrival") and r.peer >= 0:
                received[r.peer, rank, r.tag, r.bytes] += 1
    assert sent == received
    # 6 of messages, 5 rounds of 2, 3 starts and 2 of types on each rank; one of types, one in the half.
    assert sum(sent.values()) == 3 * (6 + 10 + 3 + 2) + 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_communicators_are_described(name: str, language: str, folders: Path) -> None:
    """Who made them, and who is in them."""
    trace = calls(name, language, folders)[0]
    expected = calls(name, "c", folders)[0]
    made = {index: (c.created_by, c.ranks, c.size) for index, c in trace.comms.items()}
    assert made == {index: (c.created_by, c.ranks, c.size) for index, c in expected.comms.items()}
    assert len(made) >= 8


def exports(library: Path) -> set[str]:
    """Functions that a library defines, as nm has them."""
    done = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    return {row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] in "TWV"}


# What has a PMPI twin and is no procedure: predefined callbacks, whose addresses are values; extensions of a
# library; and names that MPICH 4.0 tried out for a later standard.
NO_PROCEDURE = re.compile(
    r"mpi_(?:(?:comm_|type_|win_)?(?:null_copy|null_delete|dup)_fn|conversion_fn_null)_*"
    r"|mpix_\w+"
    r"|mpi_delete_error_(?:class|code|string)_f08_"
)


def test_every_entry_is_wrapped(name: str) -> None:
    """Every Fortran entry with a twin, in every spelling of Fortran's own; and nothing without a twin."""
    shown = exports(preload(name))
    libraries = fortran.libraries(described(name))
    assert len(libraries) == (2 if name == "openmpi" else 1)
    standard = {procedure.name for procedure in wrappers.standard_procedures()}
    wanted: set[str] = set()
    for library in libraries:
        have = exports(library)
        for symbol in have:
            rest = symbol[4:]
            twins = {f"pmpi_{rest}", f"pmpir_{rest}", f"PMPI_{rest}", f"pmpixr_{rest[1:]}"}
            if symbol.lower().startswith("mpi_") and twins & have:
                wanted.add(symbol)
    # MPICH keeps two procedures of C in its Fortran library, which the preload does not link.
    wanted = {symbol for symbol in wanted - standard if not NO_PROCEDURE.fullmatch(symbol.lower())}
    assert len(wanted) > 2000
    wanted -= {symbol for symbol in wanted if symbol == symbol.lower().rstrip("_") and f"{symbol}_" in wanted}
    assert wanted - shown == set()
    in_c = {symbol for symbol in shown if symbol in standard}
    ours = re.compile("corewise_|__cyg_profile_func_")
    assert {each for each in shown - in_c - wanted if not ours.match(each)} == set()


def test_large_counts_and_descriptors_are_told_apart() -> None:
    """By name: of each library one of each kind."""
    names = ("mpi_send_", "MPI_SEND", "mpi_send__", "MPI_Send_f08", "mpi_send_f08_", "mpi_send_f08ts_")
    parsed = {symbol: fortran.parse_name(symbol) for symbol in names}
    assert parsed == {
        "mpi_send_": ("mpi_send", "mpif", False),
        "MPI_SEND": ("mpi_send", "mpif", False),
        "mpi_send__": ("mpi_send", "mpif", False),
        "MPI_Send_f08": ("mpi_send", "mpif", False),
        "mpi_send_f08_": ("mpi_send", "f08", False),
        "mpi_send_f08ts_": ("mpi_send", "f08", True),
    }
    assert fortran.parse_name("mpi_send_f08ts_large_") == ("mpi_send_c", "f08", True)
    assert fortran.parse_name("mpi_get_elements_") == ("mpi_get_elements", "mpif", False)
    assert fortran.parse_name("mpi_get_elements_f08_large_") == ("mpi_get_elements_c", "f08", False)
    for other in ("MPI_Send", "mpi_fortran_bottom_", "mpi_no_such_thing_", "mpi_send_f09_", "pmpi_send_"):
        assert fortran.parse_name(other) is None


def test_signatures_say_what_compilers_pass() -> None:
    """Arguments in order, CHARACTER arguments counted, functions known."""
    spawn = fortran.signatures("f08")["mpi_comm_spawn"]
    assert [each.name for each in spawn.texts] == ["command", "argv"]
    assert spawn.position("ierror") == len(spawn.arguments) - 1
    assert fortran.signatures("mpif")["mpi_wtime"].result == "double"
    assert fortran.signatures("f08")["mpi_aint_add"].result == "MPI_Aint"
    assert fortran.signatures("mpif")["mpi_pcontrol"].position("ierror") == -1
    table = fortran.signatures("f08")
    assert table["mpi_send"].arguments[0].is_choice and table["mpi_alltoallw"].arguments[3].array
    assert len(table) > 580 and len(fortran.signatures("mpif")) > 440


def test_nothing_of_fortran_is_linked(name: str) -> None:
    """The preload is made by a C++ compiler alone and needs no library of Fortran."""
    needed = " ".join(elf.needed_libraries(preload(name)))
    assert not re.search("fortran|mpifh|usempi|mpichfort|quadmath", needed), needed
    assert "fortran" not in " ".join(build.compiler())
    done = subprocess.run(
        ["nm", "-D", "--undefined-only", str(preload(name))], check=True, capture_output=True, text=True
    )
    assert not re.search(r" p?mpir?_\w+", done.stdout)


def own_calls(trace: Trace) -> Iterator[Event]:
    """Records without start and end."""
    for record in trace.records:
        if record.procedure not in (
            "MPI_Init",
            "MPI_Init_thread",
            "MPI_Finalize",
            "MPI_Comm_rank",
            "MPI_Comm_size",
        ):
            yield record.event


def test_sections_scalars_threads_and_large_counts(name: str, tmp_path: Path) -> None:
    """Descriptors go through; the volume is count times datatype, whatever the strides."""
    flags = ("-DLARGE",) if name == "mpich" else ()
    folder = tmp_path / "traces"
    assert run(name, program(name, "sections", *flags), folder).split() == ["ok"]
    for rank, trace in fortran_runs.traces(folder).items():
        right, left = (rank + 1) % RANKS, (rank - 1) % RANKS
        expected = Counter(
            [
                ("MPI_Sendrecv", "send", right, 1, 12),
                ("MPI_Recv", "receive", left, 1, 12),
                ("MPI_Allreduce", "collective", NO_PEER, 0, 4),
                ("MPI_Bcast", "collective", 2, 0, 8),
                ("MPI_Alloc_mem", "plain", NO_PEER, 0, 0),
                ("MPI_Bcast", "collective", 0, 0, 40),
                ("MPI_Free_mem", "plain", NO_PEER, 0, 0),
                ("MPI_Irecv", "post_receive", left, 2, 24),
                ("MPI_Isend", "send", right, 2, 24),
                ("MPI_Waitall", "plain", NO_PEER, 0, 0),
                ("MPI_Irecv", "arrival", left, 2, 24),
            ]
        )
        if flags:
            expected[("MPI_Sendrecv_c", "send", right, 4, 4)] += 1
            expected[("MPI_Sendrecv_c", "arrival", left, 4, 4)] += 1
        # To and from MPI_PROC_NULL nothing moves.
        assert Counter(each for each in own_calls(trace) if each[2] != PROC_NULL) == expected


def test_fortran_part_of_a_c_program(name: str, tmp_path: Path) -> None:
    """The libraries of Fortran come late and for one library alone; the first call needs a sentinel."""
    part = program(name, "part", "-shared", "-fPIC")
    folder = tmp_path / "traces"
    assert run(name, program(name, "loader", "-Wl,--as-needed"), folder, part).split() == ["ok"]
    for rank, trace in fortran_runs.traces(folder).items():
        right, left = (rank + 1) % RANKS, (rank - 1) % RANKS
        found = Counter(each for each in own_calls(trace) if each[2] != PROC_NULL)
        assert found == Counter(
            [
                ("MPI_Allreduce", "collective", NO_PEER, 0, 8),
                ("MPI_Sendrecv", "send", right, 1, 4),
                ("MPI_Sendrecv", "arrival", left, 1, 4),
            ]
        )


def test_functions_of_a_program_that_are_called_as_procedures_are(name: str, tmp_path: Path) -> None:
    """A function `mpi_comm_rank` of a C library is that library's, as it is R's Rmpi's."""
    own = program(name, "own", "-shared", "-fPIC")
    assert run(name, program(name, "loader", "-Wl,--as-needed"), tmp_path / "traces", own).split() == ["ok"]
    assert "mpi_comm_rank" not in exports(build.build_reorder(described(name)))


def test_the_command_finds_the_mpi_of_a_fortran_program(name: str, tmp_path: Path) -> None:
    """Debian's MPIs lie side by side; the program says which it is."""
    profile = tmp_path / "run.cw"
    built = program(name, "calls", "-DLANGUAGE_f08")
    assert preload(name).is_file()  # built before, whatever it takes
    environment = {**os.environ, **fortran_runs.ENVIRONMENT}
    done = corewise("run", "-n", RANKS, "-o", profile, "--", built, tmp_path / "data", env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok" in done.stdout.split()
    sent = document("report", profile)["matrix"]["sent"]
    assert sum(row["messages"] for row in sent) == 65

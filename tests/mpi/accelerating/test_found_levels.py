"""Levels inside a node by where ranks are bound: in complexes, NUMA nodes and sockets, or domains of a text.

The kernel's files are written here: no machine that runs the tests need have several of these.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import accelerating_runs as runs
import pytest

from corewise.mpi import build

COMPLEX, NODE, SOCKET = "0", "1", "2"
OF_EACH_RANK = """
export COREWISE_ACCELERATE_SYSTEM="$0/${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
exec "$@"
"""
"""Every rank reads files of its own, and so it is where they say, whatever the machine."""
CALLS, MOST = 300, 5_000


def write(root: Path, cpus: Sequence[int], complex_list: str, node: int, socket: int) -> None:
    """The files about ``cpus``, which share a cache of level 3 with those of a list, and no other."""
    for cpu in cpus:
        folder = root / "cpu" / f"cpu{cpu}"
        for index, level in enumerate((1, 1, 2, 3)):
            (folder / "cache" / f"index{index}").mkdir(parents=True)
            (folder / "cache" / f"index{index}" / "level").write_text(f"{level}\n")
            shared = complex_list if level == 3 else str(cpu)
            (folder / "cache" / f"index{index}" / "shared_cpu_list").write_text(f"{shared}\n")
        (folder / "topology").mkdir()
        (folder / "topology" / "physical_package_id").write_text(f"{socket}\n")
    of_node = root / "node" / f"node{node}" / "cpulist"
    of_node.parent.mkdir(parents=True, exist_ok=True)
    before = of_node.read_text().strip() + "," if of_node.is_file() else ""
    of_node.write_text(f"{before}{cpus[0]}-{cpus[-1]}\n")


@cache
def program(folder: Path) -> Path:
    source = Path(build.source_root())
    files = [runs.SOURCES / "domains.cpp", source / "preload" / "accelerating" / "domains.cpp"]
    words = [*build.compiler(), "-std=c++20", "-O1", f"-I{source}", "-o", folder / "domains", *files]
    subprocess.run([str(word) for word in words], check=True)
    return folder / "domains"


def kinds(root: object, folder: Path, ranks: str) -> list[str]:
    """The kinds of domains that make levels for ranks on these CPUs, by files or a text."""
    words = [program(folder), root, *ranks.split()]
    done = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)
    return done.stdout.split()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sockets, each with two nodes of two complexes of four CPUs, 32 in all."""
    root = tmp_path_factory.mktemp("host")
    for begin in range(0, 32, 4):
        write(root, range(begin, begin + 4), f"{begin}-{begin + 3}", begin // 8, begin // 16)
    return root


@pytest.mark.parametrize(
    ("ranks", "wanted"),
    [
        ("0 1 4 5 8 9 12 13 16 20 24 28 17 18 21 22", [COMPLEX, NODE, SOCKET]),
        ("0,1 2,3 16,17 18,19", [COMPLEX]),  # the complexes are as many as the sockets
        ("0 4 16 20", [NODE]),  # a rank in each complex
        ("0 8 16 24", [SOCKET]),
        ("0 1 2 3", []),
        ("0,4 1,5 16,20 17,21", [NODE]),  # bound to nodes
        ("0,8 1,9 16,24 17,25", [SOCKET]),
        ("0,16 1,17 4,20 5,21", []),  # bound to no domain
        ("0 1 4 40", []),  # the kernel says nothing of one CPU
    ],
)
def test_levels_are_the_domains_that_part_the_ranks(
    host: Path, tmp_path_factory: pytest.TempPathFactory, ranks: str, wanted: list[str]
) -> None:
    assert kinds(host, tmp_path_factory.getbasetemp(), ranks) == wanted


def test_a_kernel_that_says_nothing_gives_no_levels(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    assert kinds(folder / "nothing", folder, "0 1 2 3") == []


TWO_SOCKETS = "cpus:0-3|4-7|8-11|12-15/0-7|8-15"


@pytest.mark.parametrize(
    ("text", "ranks", "wanted"),
    [
        (TWO_SOCKETS, "0 1 4 5 8 9 12 13", ["0", "1"]),
        (TWO_SOCKETS, "0 4 8 12", ["1"]),
        (TWO_SOCKETS, "0,4 1,5 8,12 9,13", ["1"]),  # bound to sockets
        (TWO_SOCKETS, "0,99 1,99 4,99 5,99", ["0"]),  # of CPU 99 the machine says nothing
        (TWO_SOCKETS, "0 1 4 99", []),
        ("cpus:0,8|1,9/0-1", "0 8 1 9", ["0"]),
        ("cpus:0-x|4", "0 1 4 5", []),
        ("cpus:|", "0 1 4 5", []),
        ("groups:2", "0 0 0 0 0", ["0"]),
        ("groups:2/3", "0 0 0 0 0", ["0", "1"]),
        ("groups:1/2/4/8", "0 0 0 0 0", ["1", "2"]),
        ("groups:0", "0 0 0 0", []),
        ("groups:x", "0 0 0 0", []),
    ],
)
def test_levels_are_as_a_text_says(
    tmp_path_factory: pytest.TempPathFactory, text: str, ranks: str, wanted: list[str]
) -> None:
    assert kinds(text, tmp_path_factory.getbasetemp(), ranks) == wanted


def launched(
    name: str,
    folder: Path,
    words: Sequence[object],
    complexes: Sequence[int],
    nodes: Sequence[int] | None = None,
) -> runs.Ran:
    """A run whose rank r is in complex complexes[r] and node nodes[r]."""
    cpus = sorted(os.sched_getaffinity(0))
    everywhere = range(cpus[0], cpus[-1] + 1)
    for rank, number in enumerate(complexes):
        node = nodes[rank] if nodes is not None else 0
        shared = f"{cpus[0]}-{cpus[-1]},{5000 + number}"
        write(folder / "system" / str(rank), everywhere, shared, node, 0)
    variables = {"COREWISE_ACCELERATE_LEVELS": "found", "COREWISE_ACCELERATE_AFTER": "0"}
    before = ["/bin/sh", "-c", OF_EACH_RANK, folder / "system"]
    return runs.run(name, len(complexes), [*before, *words], folder / "counts", variables).succeeded()


@pytest.mark.parametrize(
    ("name", "complexes", "nodes"),
    [
        ("mpich", [0, 0, 1, 1], None),
        ("mpich", [0, 1, 0, 1, 1], None),
        ("mpich", [0, 0, 1, 1, 2, 2, 3], [0, 0, 0, 0, 1, 1, 1]),  # levels over levels
    ],
)
def test_no_byte_differs(name: str, complexes: list[int], nodes: list[int] | None, tmp_path: Path) -> None:
    """Ranks in any order, several kinds of domains; what does not go by levels is done by all."""
    words = [runs.program(name, "random_collectives.cpp"), len(complexes), CALLS, MOST]
    ran = launched(name, tmp_path, words, complexes, nodes)
    assert f"{CALLS} calls, 0 wrong" in ran.done.stdout
    assert ran.taken() == runs.PROCEDURES and not ran.reasons()


def test_levels_have_lines_of_their_own_where_there_are_several_domains(tmp_path: Path) -> None:
    """Of one domain, as on most machines, nothing comes of it."""
    most = {}
    for number, complexes in enumerate(([0, 0, 0, 0], [0, 0, 1, 1])):
        folder = tmp_path / str(number)
        folder.mkdir()
        words = [runs.program("mpich", "traps/many_communicators.c"), 20, 1]
        done = launched("mpich", folder, words, complexes).done
        line = next(line.split() for line in done.stdout.splitlines() if line.startswith("mappings:"))
        most[number] = int(line[3]) - int(line[1])
    assert most[1] >= most[0] + 10 > 10

"""Call graphs of real runs: exact counts, file and line of every function, and paper 003's figure 10.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Mpi
from installed_tool import document
from preload_runs import library, record

STEPS = 10
MAIN_C = r"""
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

int exchange_count(int);  // of the shared library

static int rank;
static volatile int sum;

static inline __attribute__((always_inline)) void inlined(int value) {
  sum += value;
}

static void collision(void) {
  inlined(1);
  inlined(2);
}

void streaming(void) {
  sum += exchange_count(rank);
}

void communication(void) {
  char data[132];
  double mine = 1, all;
  if (rank == 0) {
    MPI_Send(data, 132, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(data, 64, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(data, 132, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data, 64, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int deep(int depth) {
  return depth > 1 ? deep(depth - 1) + 1 : 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < 10; ++step) {
    collision();
    streaming();
    communication();
  }
  void* plugin = dlopen(argv[1], RTLD_NOW);
  int (*in_plugin)(int) = (int (*)(int))dlsym(plugin, "in_plugin");
  int wrong = in_plugin(3) != 6 || deep(8) != 8;
  MPI_Finalize();
  dlclose(plugin);
  return wrong;
}
"""
LIBRARY_C = r"""
static int hidden(int value) {
  return value + 1;
}
int NAME(int value) {
  return hidden(value) + hidden(0) + 1;
}
"""
SOURCES = {"main.c": MAIN_C, "library.c": LIBRARY_C}
HOOKS = ("-O1", "-g", "-finstrument-functions")


def build(mpi: Mpi, folder: Path, flags: Sequence[str]) -> tuple[Path, Path]:
    """The program, beside its shared library, and the plugin that it loads."""
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    shared = [*HOOKS, "-shared", "-fPIC"]
    mpi.build(folder / "libshared.so", folder / "library.c", flags=[*shared, "-DNAME=exchange_count"])
    plugin = mpi.build(folder / "plugin.so", folder / "library.c", flags=[*shared, "-DNAME=in_plugin"])
    linked = ["-Wl,--no-as-needed", f"-L{folder}", "-lshared", "-ldl", f"-Wl,-rpath,{folder}"]
    return mpi.build(folder / "flow", folder / "main.c", flags=[*HOOKS, *flags, *linked]), plugin


def tree(profile: Path, *options: object) -> dict[str, dict[str, Any]]:
    """Rows of `corewise call-graph --json` by their path of labels below the root."""
    found = document("call-graph", profile, *options)
    assert found["warnings"] == []
    names: list[str] = []
    rows = {}
    for row in found["rows"]:
        names.append((names[row["parent"]] if row["parent"] > 0 else "") + "/" + row["label"])
        if row["parent"] >= 0:
            assert names[-1] not in rows
            rows[names[-1]] = row
    return rows


def line_of(file: str, start: str) -> int:
    return next(i for i, line in enumerate(SOURCES[file].splitlines(), 1) if line.startswith(start))


PLACES = {
    "main": ("main.c", "int main"),
    "collision": ("main.c", "static void collision"),
    "inlined": ("main.c", "static inline"),
    "streaming": ("main.c", "void streaming"),
    "communication": ("main.c", "void communication"),
    "deep": ("main.c", "int deep"),
    "exchange_count": ("library.c", "int NAME"),
    "in_plugin": ("library.c", "int NAME"),
    "hidden": ("library.c", "static int hidden"),
}
LIBRARY = {"streaming/exchange_count": STEPS, "streaming/exchange_count/hidden": 2 * STEPS}
DEEP = {"deep": 1, "deep/deep": 1, "deep/deep/deep": 6}


def expected(rank: int) -> dict[str, int]:
    """Calls by path below main."""
    send, receive = ("0,1,132", "1,0,64") if rank == 0 else ("1,0,64", "0,1,132")
    talk = {"MPI_Send": send, "MPI_Recv": receive}
    return {
        "MPI_Init": 1,
        "MPI_Comm_rank": 1,
        "collision": STEPS,
        "collision/inlined": 2 * STEPS,
        "streaming": STEPS,
        **LIBRARY,
        "communication": STEPS,
        **{f"communication/{name}": STEPS for name in talk},
        **{f"communication/{name}/{name}({ends})": STEPS for name, ends in talk.items()},
        "communication/MPI_Allreduce": STEPS,
        "in_plugin": 1,
        "in_plugin/hidden": 2,
        **DEEP,
        "MPI_Finalize": 1,
    }


def counts(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    assert rows["/main"]["count"] == 1
    return {path[len("/main/") :]: row["count"] for path, row in rows.items() if path != "/main"}


@pytest.mark.parametrize(
    ("name", "flags"),
    [("openmpi", ("-fPIE", "-pie", "-gdwarf-5")), ("mpich", ("-fno-PIE", "-no-pie", "-gdwarf-4"))],
)
def test_counts_places_and_times_of_a_known_program(
    name: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    """Position-independent or not, inlined, in a shared library, in one that it loads itself."""
    program, plugin = build(library(name), tmp_path, flags)
    profile = tmp_path / "flow.cw"
    profile.mkdir()
    record(name, 2, program, profile, [plugin]).succeeded()
    for rank in (0, 1):
        rows = tree(profile, "--rank", rank)
        assert counts(rows) == expected(rank)
        for row in rows.values():
            if row["kind"] == "function":
                file, start = PLACES[row["label"]]
                assert (Path(row["file"]).name, row["line"]) == (file, line_of(file, start)), row["label"]
        objects = {Path(row["object"]).name for row in rows.values() if row["kind"] == "function"}
        assert objects == {"flow", "libshared.so", "plugin.so"}
        # Nothing is lost and nothing counted twice: what is exclusive sums up to what main took.
        exclusive = sum(row["exclusive_ns"] for row in rows.values())
        assert exclusive == pytest.approx(rows["/main"]["inclusive_ns"], rel=1e-6)
        assert rows["/main"]["inclusive_ns"] > rows["/main/communication"]["inclusive_ns"] > 0
    both = document("call-graph", profile, "--merge")
    labels = [row["label"] for row in both["rows"]]
    edges = {(labels[e["caller"]], labels[e["callee"]]): e["count"] for e in both["edges"]}
    assert edges["main", "communication"] == 2 * STEPS
    assert edges["MPI_Send", "MPI_Send(0,1,132)"] == STEPS
    assert edges["deep", "deep"] == 2 * 7


def instrumented_lbm(mpi: Mpi, folder: Path) -> Path:
    """apps/lbm with the functions of its .cpp files instrumented."""
    flags = [*HOOKS, "-std=c++20", "-finstrument-functions-exclude-file-list=.hpp,/include/", "-O0"]

    def compiled(source: Path) -> Path:
        target = folder / f"{source.stem}.o"
        command = [str(mpi.mpicxx), *flags, "-c", "-o", str(target), str(source)]
        subprocess.run(command, check=True, capture_output=True)
        return target

    sources = sorted((ROOT / "apps" / "lbm").glob("*.cpp"))
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compiled, sources))
    return mpi.build(folder / "lbm", *objects)


def test_figure_10_from_the_lattice_boltzmann_program(tmp_path: Path) -> None:
    """Once per iteration a step, its communication, and every message (source,destination,bytes) as often."""
    mpi = library("mpich")
    program = instrumented_lbm(mpi, tmp_path)
    profile, count_file = tmp_path / "lbm.cw", tmp_path / "counts.csv"
    profile.mkdir()
    arguments = ["--size", "6x4x4", "--steps", STEPS, "--count-file", count_file]
    record("mpich", 2, program, profile, arguments)
    rows = tree(profile, "--rank", 0)
    (step,) = [path for path in rows if path.endswith("/lbm::Flow::step")]
    below = {path[len(step) + 1 :]: row for path, row in rows.items() if path.startswith(f"{step}/")}
    assert rows[step]["count"] == STEPS
    for name in ("lbm::Halo::start", "lbm::Flow::advance", "lbm::Halo::finish"):
        assert below[name]["count"] >= STEPS
        assert Path(below[name]["file"]).suffix == ".cpp"
        text = Path(below[name]["file"]).read_text().splitlines()[below[name]["line"] - 1]
        assert f"{name.removeprefix('lbm::')}(" in text
    assert below["lbm::Halo::finish/MPI_Waitall"]["count"] == STEPS
    sends = [row for path, row in below.items() if "/MPI_Isend/" in path]
    arrivals = [row for path, row in below.items() if "/MPI_Irecv/" in path]
    for messages, ends in ((sends, ("0", "1")), (arrivals, ("1", "0"))):
        assert {row["count"] % STEPS for row in messages} == {0}
        assert {tuple(row["label"].split("(")[1].split(",")[:2]) for row in messages} == {ends}
        moved = sum(row["bytes"] * row["count"] for row in messages)
        with count_file.open(newline="") as file:
            counted = {(row["from"], row["to"]): row for row in csv.DictReader(file)}[ends]
        assert moved == int(counted["bytes"])
        assert sum(row["count"] for row in messages) == int(counted["count"])

"""Floors, layers and circles: every kind of violation is planted and found, and the real tree passes.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import circles as check_circles
import layers as check_layers

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
from this_repository import ROOT

# --- floors of the C++ rooms ------------------------------------------------------------------------------


def plant(folder: Path, files: Mapping[str, str]) -> Path:
    """Write a source tree whose rooms have their READMEs; returns its src folder."""
    source = folder / "src"
    for name, text in files.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        (source / name.split("/")[0] / "README.md").write_text("a room\n", encoding="utf-8")
    return source


def found_in(source: Path) -> list[str]:
    return [str(violation).removeprefix(f"{source}/") for violation in check_layers.check_tree(source)]


VIOLATIONS = {
    "upward": ("base/a.hpp", '#include "machine/machine.hpp"\n', "may not see room 'machine'"),
    "sideways": ("pattern/a.hpp", '#include "machine/machine.hpp"\n', "may not see room 'machine'"),
    "upward-angle": ("sim/a.hpp", "#include <cell/cell.hpp>\n", "may not see room 'cell'"),
    "upward-indented": ("sim/a.hpp", '  #  include "lab/lab.hpp"\n', "may not see room 'lab'"),
    "mpi": ("profile/a.cpp", "#include <mpi.h>\n", "only preload, overlap and apps"),
    "mpi-quoted": ("place/a.cpp", '#include "mpi.h"\n', "only preload, overlap and apps"),
    "nanobind": ("place/a.cpp", "#include <nanobind/nanobind.h>\n", "only bind"),
    "python": ("preload/a.c", "#include <Python.h>\n", "only bind"),
    "recorder-unistd": ("trace/recorder.cpp", "#include <unistd.h>\n", "free of POSIX"),
    "recorder-sys": ("trace/recorder_buffers.hpp", "#include <sys/mman.h>\n", "free of POSIX"),
    "recorder-fcntl": ("trace/recorder/drain.hpp", "#include <fcntl.h>\n", "free of POSIX"),
    "preload-hwloc": ("preload/a.c", "#include <hwloc.h>\n", "must not use hwloc"),
    "source-in-source": ("base/a.cpp", '#include "base/b.cpp"\n', "a source includes a source"),
    "if-zero": ("base/a.cpp", "#if 0\n", "no '#if 0'"),
    "unknown-room": ("attic/a.hpp", "", "has no floor"),
    "no-room": ("stray.hpp", "", "outside every room"),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_layer_violation_is_caught(tmp_path: Path, name: str) -> None:
    file, text, message = VIOLATIONS[name]
    source = tmp_path / "src"
    if "/" in file:
        plant(tmp_path, {file: text})
    else:
        source.mkdir()
        (source / file).write_text(text, encoding="utf-8")
    found = found_in(source)
    assert len(found) == 1, found
    assert message in found[0]
    assert check_layers.main([str(source)]) == 1


def test_layer_violation_names_file_and_line(tmp_path: Path) -> None:
    source = plant(tmp_path, {"base/a.hpp": '#pragma once\n\n#include "sim/sim.hpp"\n'})
    assert found_in(source)[0].startswith("base/a.hpp:3: ")


def test_relative_include_does_not_dodge_the_floors(tmp_path: Path) -> None:
    source = plant(tmp_path, {"base/a.hpp": '#include "../sim/sim.hpp"\n', "sim/sim.hpp": ""})
    assert ["may not see room 'sim'" in message for message in found_in(source)] == [True]


def test_room_without_readme_is_caught(tmp_path: Path) -> None:
    source = plant(tmp_path, {"base/a.hpp": ""})
    (source / "base" / "README.md").unlink()
    assert found_in(source) == ["base/README.md:1: every room has a README.md"]


def test_what_is_allowed_passes(tmp_path: Path) -> None:
    source = plant(
        tmp_path,
        {
            "base/status.hpp": "#include <string>\n",
            "machine/a.cpp": '#include "machine/b.hpp"\n#include "base/status.hpp"\n#include <hwloc.h>\n',
            "trace/reader.cpp": "#include <sys/mman.h>\n#include <unistd.h>\n",
            "trace/recorder.cpp": '#include "trace/record.hpp"\n#include <atomic>\n',
            "preload/a.c": '#include <mpi.h>\n#include <unistd.h>\n#include "trace/recorder.hpp"\n',
            "bind/a.cpp": '#include <nanobind/nanobind.h>\n#include "place/place.hpp"\n',
        },
    )
    assert found_in(source) == []
    assert check_layers.main([str(source)]) == 0


def test_real_tree_keeps_its_floors() -> None:
    assert [str(violation) for violation in check_layers.check_tree(ROOT / "src")] == []


# --- floors as ARCHITECTURE.md shows them -----------------------------------------------------------------


def rows_below(header: str) -> list[list[str]]:
    """The cells of the table in ARCHITECTURE.md whose header begins with `header`."""
    lines = iter((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines())
    assert any(line.startswith(header) for line in lines), header
    rows = itertools.takewhile(lambda line: line.startswith("|"), itertools.islice(lines, 1, None))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows]


def layers_of_contract() -> list[list[str]]:
    """The layers that the import linter enforces, from top to bottom, without the extension modules."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [re.findall(r"corewise\.(\w+)", layer) for layer in contract["contracts"][0]["layers"]]
    return [layer for layer in layers if layer not in (["_core"], ["_lab"])]


def test_architecture_shows_the_floors_that_are_checked() -> None:
    shown = {room: int(floor) for floor, room, _ in rows_below("| floor | room |")}
    assert shown == check_layers.FLOORS
    assert set(shown) == {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}


def test_architecture_shows_the_layers_that_are_checked() -> None:
    shown = [layers.split(", ") for layers, _ in rows_below("| layer |")]
    assert shown == layers_of_contract()
    package = {path.parent.name for path in (ROOT / "python" / "corewise").glob("*/__init__.py")}
    assert set(itertools.chain.from_iterable(shown)) == package


# --- circles of imports -----------------------------------------------------------------------------------


def test_no_module_of_the_package_imports_itself_by_way_of_others() -> None:
    assert check_circles.circle(check_circles.imports_of(ROOT / "python" / "corewise")) == []


def test_a_circle_is_found_wherever_the_import_stands(tmp_path: Path) -> None:
    package = tmp_path / "house"
    (package / "room").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "room" / "__init__.py").write_text("")
    (package / "a.py").write_text("from house.room import b\n")
    (package / "room" / "b.py").write_text("from __future__ import annotations\nimport sys\n")
    assert check_circles.circle(check_circles.imports_of(package)) == []
    (package / "room" / "b.py").write_text("def late():\n    from house.a import thing\n")
    found = check_circles.circle(check_circles.imports_of(package))
    assert found[0] == found[-1] and set(found) == {"house.a", "house.room.b"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "checks" / "circles.py"), str(package)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1 and "house.room.b" in done.stdout


# --- floors of the Python package -------------------------------------------------------------------------


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    linter = Path(sys.executable).with_name("lint-imports")
    command = [str(linter), "--config", "../pyproject.toml", "--no-cache", "--no-logo"]

    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "120"}
    return subprocess.run(
        command, cwd=folder / "python", check=False, capture_output=True, text=True, env=environment
    )


def copy_package(folder: Path) -> Path:
    shutil.copytree(ROOT / "python" / "corewise", folder / "python" / "corewise")
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder / "python" / "corewise"


def test_import_linter_passes_the_real_package(tmp_path: Path) -> None:
    copy_package(tmp_path)
    done = lint_imports(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("lower", "upper"),
    [("data", "analysis"), ("mpi", "report"), ("analysis", "report"), ("report", "cli"), ("data", "mpi")],
)
def test_import_linter_catches_a_violation(tmp_path: Path, lower: str, upper: str) -> None:
    package = copy_package(tmp_path)
    (package / lower / "intruder.py").write_text(f"import corewise.{upper}\n", encoding="utf-8")
    done = lint_imports(tmp_path)
    assert done.returncode != 0
    assert f"corewise.{lower}.intruder -> corewise.{upper}" in done.stdout

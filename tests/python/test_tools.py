"""The tools that judge this repository must be able to say no.

Every kind of violation is planted in a temporary tree and has to be found; then the real tree has to pass.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import circles as check_circles
import clean as check_clean
import folders as check_folders
import functions as check_functions
import inventory as check_inventory
import layers as check_layers
import results
import skipped
import summarise
import together as check_together

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]


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


def maps() -> list[Path]:
    """The pages that say where things are."""
    pages = [
        ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "tests/mpi/README.md")
    ]
    return [*pages, *sorted((ROOT / "src").glob("*/README.md"))]


@pytest.mark.parametrize("page", maps(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_map_names_only_what_exists(page: Path) -> None:
    """A name with a slash in backquotes is a path or the end of one, its suffix may be left out."""
    text = page.read_text(encoding="utf-8")
    there = "".join(f"/{path}\n" for root in check_folders.ROOTS for path in (ROOT / root).rglob("*"))
    named = re.findall(r"`((?!build/)[a-z0-9_][a-z0-9_./-]*/[a-z0-9_./-]*)`", text)
    assert [name for name in named if not re.search(rf"/{name.strip('/')}(?=[/.\n])", there)] == []


def test_links_of_the_documents_lead_somewhere() -> None:
    pages = [*maps(), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").rglob("*.md")]
    dead = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([\w-]*[./][\w./-]*)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert dead == []


def test_every_page_of_the_documents_is_in_their_list() -> None:
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("*/*.md")}
    by_folder = ("decisions/", "formats/")
    assert [
        page for page in sorted(pages) if not page.startswith(by_folder) and f"({page})" not in listed
    ] == []


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


# --- functions --------------------------------------------------------------------------------------------

LONG = "\n" * check_functions.MOST_LINES
BRANCHED_PYTHON = "        x -= 1 if x else 2\n" * check_functions.MOST_WAYS
BRANCHED_CPP = "  if (x) --x;\n" * check_functions.MOST_WAYS


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.py", f"def f(x):{LONG}    return x\n", "f: 61 lines"),
        ("a.py", f'def f(x):\n    """Words.{LONG}"""\n    return x\n', ""),
        (
            "a.py",
            f"class A:\n    def f(self, x):\n{BRANCHED_PYTHON}",
            "A.f: 16 ways",
        ),
        ("a.cpp", f"namespace n {{\nint f(int x) {{{LONG}return x; }}\n}}\n", "f: 61 lines"),
        ("a.cpp", f"struct A {{\n  A(int x) : a{{x}}, b{{0}} {{{LONG}}}\n  int a, b;\n}};\n", "A: 61 lines"),
        ("a.cpp", f"int f(int x) {{\n{BRANCHED_CPP}  return x;\n}}\n", "f: 16 ways"),
        ("a.cpp", f'int f() {{ return g("}}"); /* }} */ }}{LONG}int g() {{ return 0; }}\n', ""),
        ("a.hpp", f"struct alignas(64) A {{{LONG}  int a;\n}};\n", ""),
        ("a.hpp", f"constexpr auto kRows = std::array{{Row{{1}},{LONG}Row{{2}}}};\n", ""),
    ],
)
def test_a_function_beyond_the_limits_is_caught(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, found: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert check_functions.main([str(tmp_path)]) == bool(found)
    assert found in capsys.readouterr().out


def test_real_functions_keep_the_limits() -> None:
    assert check_functions.main([]) == 0


# --- inventory --------------------------------------------------------------------------------------------

GOOD_ROW = {
    "id": "thing",
    "level": "must",
    "state": "here",
    "issue": "",
    "real_mpi": "false",
    "what": "a thing, in words",
    "where": "issue 2",
    "command": "corewise thing",
    "test": "tests/python/test_thing.py::test_it",
}


def inventory(folder: Path, *rows: Mapping[str, str]) -> Path:
    """An inventory of `rows`; each may differ from the good one in some fields."""
    path = folder / "inventory.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, GOOD_ROW, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**GOOD_ROW, **row} for row in rows)
    return path


def junit(folder: Path, body: str, name: str = "pytest-python.xml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<testsuites><testsuite>{body}</testsuite></testsuites>", encoding="utf-8")
    return path


def case(state: str = "", name: str = "test_it", group: str = "tests.python.test_thing") -> str:
    return f'<testcase classname="{group}" name="{name}">{state}</testcase>'


FAILURE = '<failure message="no"/>'
SKIPPED = '<skipped message="capability: none here"/>'


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("what", "", "field 'what' is empty"),
        ("level", "should", "allowed: must, aim"),
        ("state", "soon", "allowed: here, later"),
        ("state", "later", "a later row names its issue"),
        ("issue", "someday", '"roadmap N"'),
        ("real_mpi", "no", "allowed: true, false"),
        ("id", "A Thing", "must be a slug"),
        ("test", "test_it", "allowed: tests/FILE.py::NAME"),
    ],
)
def test_inventory_mistake_is_caught(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], field: str, value: str, message: str
) -> None:
    path = inventory(tmp_path, {field: value})
    assert check_inventory.main(["--inventory", str(path)]) == 1
    assert message in capsys.readouterr().out


@pytest.mark.parametrize(
    ("test", "status"),
    [
        ("tests/python/test_tools.py::test_inventory_names_tests_of_the_sources", 0),
        ("tests/python/test_tools.py::test_that_never_was", 1),
        ("tests/python/test_nowhere.py::test_it", 1),
        ("cpp:port", 0),
        ("cpp:port/Nothing.Here", 1),
        ("cpp:nowhere", 1),
    ],
)
def test_inventory_names_tests_of_the_sources(tmp_path: Path, test: str, status: int) -> None:
    assert check_inventory.main(["--inventory", str(inventory(tmp_path, {"test": test}))]) == status


def test_inventory_duplicate_id_is_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = inventory(tmp_path, {}, {})
    assert check_inventory.main(["--inventory", str(path)]) == 1
    assert "thing: this id is taken" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "id,what\nthing,a\n", "{header}\nthing,must\n"])
def test_inventory_that_cannot_be_read_is_the_users_error(tmp_path: Path, text: str) -> None:
    assert check_inventory.main(["--inventory", str(tmp_path / "nowhere.csv")]) == 2
    path = tmp_path / "other.csv"
    path.write_text(text.format(header=",".join(GOOD_ROW)))
    assert check_inventory.main(["--inventory", str(path)]) == 2


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (case(), 0),
        (case(name="test_it[openmpi]") + case(name="test_it[mpich]"), 0),
        (case(name="test_it[openmpi]") + case(FAILURE, name="test_it[mpich]"), 1),
        (case(FAILURE), 1),
        (case(SKIPPED), 1),
        (case(name="test_other"), 1),
        (case(group="tests.mpi.test_thing"), 1),
    ],
)
def test_inventory_must_row_without_a_pass_fails(tmp_path: Path, body: str, status: int) -> None:
    path = inventory(tmp_path, {})
    arguments = ["--inventory", str(path), "--junit", str(junit(tmp_path, body))]
    assert check_inventory.main(arguments) == status


@pytest.mark.parametrize("field", ["command", "test"])
def test_inventory_must_row_needs_command_and_test(tmp_path: Path, field: str) -> None:
    path = inventory(tmp_path, {field: ""})
    assert check_inventory.main(["--inventory", str(path), "--junit", str(junit(tmp_path, case()))]) == 1


@pytest.mark.parametrize("change", [{"level": "aim"}, {"state": "later", "issue": "3"}])
def test_inventory_aims_and_later_rows_are_not_owed(tmp_path: Path, change: Mapping[str, str]) -> None:
    path = inventory(tmp_path, change)
    report = junit(tmp_path, case(FAILURE))
    assert check_inventory.main(["--inventory", str(path), "--junit", str(report)]) == 0


def test_inventory_reads_cpp_results(tmp_path: Path) -> None:
    junit(tmp_path, '<testcase name="machine" classname="machine"/>', "r/ctest.xml")
    junit(
        tmp_path,
        '<testcase name="Order" classname="Ring"/>'
        '<testcase name="Comes/0" classname="Of/Table"/><testcase name="Comes/1" classname="Of/Table"/>',
        "r/cpp/test_machine.xml",
    )
    for test, status in [
        ("cpp:machine", 0),
        ("cpp:machine/Ring.Order", 0),
        ("cpp:machine/Table.Comes", 0),
        ("cpp:machine/Table.Goes", 1),
        ("cpp:place", 1),
    ]:
        arguments = ["--inventory", str(inventory(tmp_path, {"test": test})), "--junit", str(tmp_path / "r")]
        assert check_inventory.main(arguments) == status, test


def test_real_inventory_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_inventory.main([]) == 0
    assert "inventory: " in capsys.readouterr().out


def test_real_inventory_covers_every_issue_and_paper() -> None:
    rows = check_inventory.load(ROOT / "tests" / "inventory.csv")
    issues = {row["issue"] for row in rows}
    assert {"roadmap 1", "roadmap 2", "roadmap 3", "roadmap 4", *map(str, range(16, 24))} <= issues
    ids = {str(row["id"]) for row in rows}
    for prefix, least in [("p000-", 20), ("p001-", 10), ("p002-", 10), ("p003-", 15), ("p004-", 15)]:
        assert sum(name.startswith(prefix) for name in ids) >= least, prefix


# --- the closing line -------------------------------------------------------------------------------------


def write_mixed_results(folder: Path) -> None:
    junit(folder, case() + case(FAILURE, "test_bad") + case(SKIPPED, "test_off"))
    junit(folder, '<testcase name="m"/><testcase name="crash"><failure/></testcase>', "ctest.xml")
    two = '<testcase name="A" classname="S"/><testcase name="B" classname="S"/>'
    junit(folder, two, "cpp/test_m.xml")


def test_closing_line_counts_every_case_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_mixed_results(tmp_path)
    assert summarise.main([str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    # pytest 1 + 1 + 1; program m counts by its two cases; program crash left no cases and counts itself.
    assert lines[-1] == "3 passed, 2 failed, 1 skipped"
    assert "skipped: tests/python/test_thing.py::test_off: capability: none here" in lines


def test_program_that_failed_with_passing_cases_stays_red(tmp_path: Path) -> None:
    junit(tmp_path, '<testcase name="m"><failure message="leak"/></testcase>', "ctest.xml")
    junit(tmp_path, '<testcase name="A" classname="S"/>', "cpp/test_m.xml")
    states = [outcome.state for outcome in results.counted(results.read_outcomes([tmp_path]))]
    assert sorted(states) == ["failed", "passed"]


@pytest.mark.parametrize(
    ("ci", "reason", "status"),
    [
        ("true", "capability: x", 0),
        ("true", "tests/cpp/m/test_a.cpp:59&#x0A;capability: x", 0),
        ("true", "tests/cpp/m/test_a.cpp:59&#x0A;tired", 1),
        ("true", "tired", 1),
        ("", "tired", 0),
    ],
)
def test_skip_needs_a_capability_in_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str, reason: str, status: int
) -> None:
    monkeypatch.setenv("CI", ci)
    junit(tmp_path, case() + case(f'<skipped message="{reason}"/>', "test_off"))
    assert summarise.main([str(tmp_path)]) == status


def test_no_results_are_no_success(tmp_path: Path) -> None:
    assert summarise.main([str(tmp_path)]) == 1


def test_results_of_the_real_runner_are_understood(tmp_path: Path) -> None:
    """The names and reasons that this very pytest writes are those that the readers expect."""
    folder = tmp_path / "tests" / "python"
    folder.mkdir(parents=True)
    text = (
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_off(): pytest.skip('capability: no browser')\n"
        "class TestGroup:\n"
        "    @pytest.mark.parametrize('x', ['a.b'])\n"
        "    def test_in(self, x): assert False\n"
    )
    (folder / "test_small.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", ".", "--junitxml", "out.xml", "tests"]
    subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    outcomes = {outcome.test: outcome for outcome in results.read_outcomes([tmp_path / "out.xml"])}
    assert outcomes["tests/python/test_small.py::test_good"].state == "passed"
    assert summarise.is_excused(outcomes["tests/python/test_small.py::test_off"])
    assert outcomes["tests/python/test_small.py::TestGroup::test_in[a.b]"].state == "failed"


def test_a_skip_is_answered_where_the_test_ran_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only what was skipped for good is named to run again, and counts."""
    junit(tmp_path, case(SKIPPED) + case(SKIPPED, "test_off"), "pytest-mpi.xml")
    assert skipped.main([str(tmp_path)]) == 0
    names = [f"tests/python/test_thing.py::{name}" for name in ("test_it", "test_off")]
    assert capsys.readouterr().out.split() == names
    junit(tmp_path, case() + case(SKIPPED, "test_off"), "pytest-skipped.xml")
    assert skipped.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == names[1:]
    assert summarise.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed, 1 skipped"


# --- long tests -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("which", "long_ones", "quiet_ones"), [("none", 0, 0), ("all", 64, 64), ("3aa53d2", 7, 0)]
)
def test_long_tests_run_when_they_are_asked_for(
    tmp_path: Path, which: str, long_ones: int, quiet_ones: int
) -> None:
    """The sample of a commit is always the same, and is named; what asks for a gain in time is in none."""
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    text = (
        "import pytest\n"
        "def test_short(): pass\n"
        "@pytest.mark.long_test\n"
        "@pytest.mark.parametrize('seed', range(64))\n"
        "def test_long(seed): pass\n"
        "@pytest.mark.long_test\n"
        "@pytest.mark.quiet_test\n"
        "@pytest.mark.parametrize('seed', range(64))\n"
        "def test_quiet(seed): pass\n"
    )
    (tmp_path / "test_small.py").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--rootdir",
        ".",
        "-p",
        "no:cacheprovider",
        "--long",
        which,
    ]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert f"{1 + long_ones + quiet_ones} passed" in done.stdout
    assert done.stdout.count("  test_small.py::test_long[") == long_ones


def test_what_runs_on_both_mpis_runs_on_one_every_time(tmp_path: Path) -> None:
    """By turn, and on the standard ABI where a test knows nothing else; not where the MPIs differ in it."""
    folder = tmp_path / "tests" / "mpi"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "conftest.py", folder.parent)
    shutil.copy(ROOT / "tests" / "mpi" / "conftest.py", folder)
    text = (
        "import pytest\n"
        "ALL = pytest.mark.parametrize('name', ['openmpi', 'mpich', 'mpich_abi'])\n"
        "@ALL\n"
        "@pytest.mark.parametrize('n', range(32))\n"
        "def test_by_turn(name, n): pass\n"
        "@ALL\n"
        "@pytest.mark.both_mpis\n"
        "def test_both(name): pass\n"
        "@pytest.mark.parametrize('name', ['mpich_abi'])\n"
        "def test_abi(name): pass\n"
    )
    (folder / "test_small.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "--rootdir", "."]
    done = subprocess.run([*command, "tests"], cwd=tmp_path, check=True, capture_output=True, text=True)
    words = [line.split("::")[1].rstrip("]").split("[") for line in done.stdout.splitlines() if "::" in line]
    ran = {test: [each for name, each in words if name == test] for test, _ in words}
    assert (ran["test_both"], ran["test_abi"]) == (["openmpi", "mpich"], ["mpich_abi"])
    turns = [word for each in ran["test_by_turn"] for word in each.split("-") if not word.isdigit()]
    assert len(turns) == 32 and set(turns) == {"openmpi", "mpich"}


# --- as on a fresh machine ----------------------------------------------------------------------------------


def run_bare(*command: str, path: str = "") -> subprocess.CompletedProcess[str]:
    words = [str(ROOT / "tools" / "run" / "bare.sh"), *command]
    env = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}" if path else os.environ["PATH"]}
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=env)
    if done.returncode == 3 and not path:
        pytest.skip(f"capability: {done.stderr.strip()}")
    return done


def test_a_bare_run_finds_no_mpi_of_the_system() -> None:
    """Nor a Fortran compiler or a browser; the command's own status comes through."""
    look = "for each in mpiexec mpicc gfortran chromium; do ! command -v $each || exit 9; done; exit 7"
    assert run_bare("bash", "-c", look).returncode == 7


def test_a_bare_run_fails_where_an_mpi_is_still_found(tmp_path: Path) -> None:
    (tmp_path / "mpiexec").write_text("#!/bin/sh\n")
    (tmp_path / "mpiexec").chmod(0o755)
    done = run_bare("true", path=str(tmp_path))
    assert done.returncode == 3
    assert "mpiexec is still found" in done.stderr or "cannot be" in done.stderr or "grants no" in done.stderr


# --- cleanliness ------------------------------------------------------------------------------------------


def repository(folder: Path, text: str, message: str) -> Path:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    (folder / "file.txt").write_text(text, encoding="utf-8")
    for command in (["init", "-q"], ["add", "file.txt"], [*identity, "commit", "-q", "-m", message]):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(
    ("text", "message", "status"),
    [
        ("src/work/x and ~/root/ are fine\n", "adds a file", 0),
        ("see /" + "work/main/x\n", "adds a file", 1),
        ("HOME=/" + "root/.cache\n", "adds a file", 1),
        ("from https://files.python" + "hosted.org/x\n", "adds a file", 1),
        ("clean\n", "built in /" + "work/main", 1),
    ],
)
def test_machine_traces_are_caught(tmp_path: Path, text: str, message: str, status: int) -> None:
    assert check_clean.main([str(repository(tmp_path, text, message))]) == status


# --- the front door ---------------------------------------------------------------------------------------


def test_makefile_has_the_promised_targets() -> None:
    for target in ("all", "demo", "test", "format", "lint", "clean"):
        done = subprocess.run(["make", "-n", target], cwd=ROOT, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert "tools/run/tests.sh" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_a_demo_in_a_fresh_clone_builds_for_speed_and_make_does_not(tmp_path: Path) -> None:
    def commands(*goals: str) -> str:
        # Another folder for the environment: nothing is built there, whatever this checkout has.
        words = ["make", "-n", f"VENV={tmp_path / 'venv'}", *goals]
        return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    usual = 'SKBUILD_BUILD_DIR=build/release SKBUILD_CMAKE_DEFINE="COREWISE_UNITY=OFF"'
    quick = "SKBUILD_BUILD_DIR=build/demo-package"
    assert quick in commands("demo")
    assert usual not in commands("demo")
    for goals in (("all", "demo"), ("package",)):
        assert usual in commands(*goals)
        assert quick not in commands(*goals)
    assert 'COREWISE_UNITY = "ON"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / ".stamp-package").touch()
    assert quick not in commands("demo")


def units(tmp_path: Path, text: str) -> Path:
    """A folder that is configured to compile one unit of the bindings, which has this text."""
    folder = tmp_path / "CMakeFiles" / "_core.dir" / "Unity"
    folder.mkdir(parents=True)
    source = folder / "unity_place_cxx.cxx"
    source.write_text(text, encoding="utf-8")
    entry = {"file": str(source), "directory": str(tmp_path), "command": f"c++ -o unit.o -c {source}"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("namespace { int a() { return 1; } }\nint b() { return a(); }\n", ""),
        ("namespace { int a() { return 1; } }\nnamespace { int a() { return 2; } }\n", "redefinition"),
    ],
)
def test_names_that_clash_in_a_unit_are_found(tmp_path: Path, text: str, fault: str) -> None:
    (unit,) = check_together.units(units(tmp_path, text))
    said = check_together.fails(unit, tmp_path)
    assert fault in said
    assert bool(said) == bool(fault)
    assert not (tmp_path / "unit.o").exists()


def test_requirements_are_pinned_where_it_matters() -> None:
    files = [ROOT / "tools" / name for name in ("requirements-dev.txt", "build-tools.txt")]
    tools = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert "-r build-tools.txt" in tools
    for name in ("pympistandard", "ruff", "mypy", "clang-format", "import-linter"):
        assert any(line.startswith(f"{name}==") for line in tools), name
    mpis = (ROOT / "tools" / "requirements-mpi.txt").read_text(encoding="utf-8")
    assert "openmpi==" in mpis
    assert "mpich==" in mpis


def test_ci_calls_every_check() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for call in (
        "tools/run/bare.sh make all demo test",
        "tools/run/tests.sh skipped",
        "make -k lint",
        "asan-ubsan",
        "tsan",
        "checks/inventory.py --junit",
        "checks/clean.py",
    ):
        assert call in script, call
    lint = subprocess.run(["make", "-n", "lint"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for call in (
        "ruff check",
        "ruff format --check",
        "mypy",
        "lint-imports",
        "clang-format",
        "checks/together",
        "checks/layers",
        "checks/circles",
        "checks/folders",
        "checks/functions",
    ):
        assert call in lint, call


def test_presets_exist() -> None:
    presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
    for kind in ("configurePresets", "buildPresets", "testPresets"):
        assert {"dev", "release", "asan-ubsan", "tsan"} <= {preset["name"] for preset in presets[kind]}, kind


def test_documents_exist() -> None:
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "README.md"):
        assert (ROOT / name).is_file(), name
    assert "BSD 3-Clause" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_packing_stays_small() -> None:
    """By the command of its page; decision 0010 says what went to get there."""
    page = (ROOT / "docs" / "packing" / "packing.md").read_text(encoding="utf-8")
    command = page.split("## How much of corewise this is")[1].split("`")[1].replace("\n", " ")
    counted = subprocess.run(["bash", "-c", command], cwd=ROOT, check=True, capture_output=True, text=True)
    assert 10_000 < int(counted.stdout) <= 14_000

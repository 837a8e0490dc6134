"""Checks of functions, of names that clash and of traces of a machine must be able to say no.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import clean as check_clean
import functions as check_functions
import together as check_together

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


# --- names that clash --------------------------------------------------------------------------------------


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

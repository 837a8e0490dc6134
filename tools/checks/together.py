"""Checks that the bindings compile where their files are compiled together, as in a package's build.

    together.py --cmake CMAKE BUILD_FOLDER

With COREWISE_UNITY two files of a unit may not give one name two meanings. The build under sanitizers
compiles the rooms so; the module for Python is in no other build of CI. The compiler checks its units and
writes nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def configure(cmake: str, folder: Path) -> None:
    """Writes the commands of a package's build, those that compile."""
    words = ["COREWISE_UNITY=ON", "COREWISE_PYTHON=ON", "COREWISE_TESTS=OFF", "SKBUILD_DATA_DIR=data"]
    words.append(f"Python_EXECUTABLE={sys.executable}")
    options = [f"-D{word}" for word in words]
    command = [cmake, "--no-warn-unused-cli", "-G", "Ninja", "-S", str(_ROOT), "-B", str(folder), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def units(folder: Path) -> list[tuple[str, list[str]]]:
    """The bindings' units, each with the command that checks it."""
    found = []
    for entry in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8")):
        path = Path(entry["file"])
        if not {"_core.dir", "_lab.dir"}.intersection(path.parts) or "Unity" not in path.parts:
            continue
        words = shlex.split(entry["command"])
        # The headers that are read once are part of the unit as text: there is no compiled one here.
        at = words.index("-o")
        found.append((path.stem, [*words[:at], *words[at + 2 :], "-fsyntax-only", "-w"]))
    return found


def fails(unit: tuple[str, list[str]], folder: Path) -> str:
    """What the compiler says against a unit; empty where it compiles."""
    name, command = unit
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{name}:\n{done.stderr}"


def main(arguments: list[str] | None = None) -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cmake", default="cmake", help="the program")
    parser.add_argument("folder", type=Path, help="where the build is configured")
    given = parser.parse_args(arguments)
    configure(given.cmake, given.folder)
    all_units = units(given.folder)
    if not all_units:
        print(f"{given.folder}: no unit of the bindings in compile_commands.json", file=sys.stderr)
        return 1
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        said = [text for text in workers.map(lambda unit: fails(unit, given.folder), all_units) if text]
    print("\n".join([*said, f"together: {len(said)} of {len(all_units)} unit(s) fail"]))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())

"""Check that a machine has what `make` cannot install itself, and say what to install where it has not.

Runs under whatever Python the user has, before anything is installed: standard library only, and no syntax
that an older Python 3 would reject before it can be told so.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import sysconfig
from pathlib import Path

CPP20 = "#include <concepts>\ntemplate <std::integral T> T twice(T value) { return value + value; }\n"
OTHER_PYTHON = "or name another Python: make PYTHON=python3.12"


def missing_parts(compiler: str) -> list[str]:
    """Return one sentence per thing that is missing, with the way to get it."""
    found = []
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if sys.version_info < (3, 10):  # noqa: UP036 - the point of the check
        found.append(f"Python is {version}, needs 3.10 or later: make PYTHON=python3.12")
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        found.append(
            f"Python {version} cannot make virtual environments (no ensurepip). "
            f"Debian and Ubuntu: install python3-venv; {OTHER_PYTHON}"
        )
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if not header.is_file():
        found.append(
            f"Python {version} has no headers ({header}). "
            f"Debian and Ubuntu: install python3-dev; {OTHER_PYTHON}"
        )
    if not compiles_cpp20(compiler):
        found.append(
            f"'{compiler}' is no C++20 compiler. Debian and Ubuntu: install g++ (12 or later); "
            "or name another: make CXX=g++-13"
        )
    return found


def compiles_cpp20(compiler: str) -> bool:
    """Whether the compiler takes a concept, which is what sets C++20 apart."""
    command = [*compiler.split(), "-std=c++20", "-fsyntax-only", "-x", "c++", "-"]
    try:
        done = subprocess.run(command, input=CPP20.encode(), capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def main(arguments: list[str] | None = None) -> int:
    """Print what is missing; the exit status is 1 when something is."""
    parser = argparse.ArgumentParser(description="Check what make cannot install itself.")
    parser.add_argument("--compiler", default="g++")
    found = missing_parts(parser.parse_args(arguments).compiler)
    for sentence in found:
        print(f"corewise: {sentence}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

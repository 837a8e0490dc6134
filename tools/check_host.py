"""Check that a machine has what `make` cannot install itself, and say what to install where it has not.

Runs under whatever Python the user has, before anything is installed: standard library only, and no syntax
that an old Python would reject before it can be told so.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import sysconfig


def missing_parts(compiler):  # type: (str) -> list[str]
    """Return one sentence per thing that is missing, with the way to get it."""
    found = []
    version = "%d.%d" % sys.version_info[:2]
    if sys.version_info < (3, 10):  # noqa: UP036 - the point of the check
        found.append("Python is " + version + ", needs 3.10 or later: make PYTHON=python3.12")
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        found.append(
            "Python " + version + " cannot make virtual environments (no ensurepip). "
            "Debian and Ubuntu: install python3-venv; or name another Python: make PYTHON=python3.12"
        )
    header = os.path.join(sysconfig.get_paths()["include"], "Python.h")  # noqa: PTH118
    if not os.path.isfile(header):  # noqa: PTH113
        found.append(
            "Python " + version + " has no headers (" + header + "). "
            "Debian and Ubuntu: install python3-dev; or name another Python: make PYTHON=python3.12"
        )
    if not compiles(compiler):
        found.append(
            "'" + compiler + "' is no C++20 compiler. Debian and Ubuntu: install g++ (12 or later); "
            "or name another: make CXX=g++-13"
        )
    return found


def compiles(compiler):  # type: (str) -> bool
    """Whether the compiler takes a concept, which is what sets C++20 apart."""
    command = [*compiler.split(), "-std=c++20", "-fsyntax-only", "-x", "c++", "-"]
    source = "#include <concepts>\ntemplate <std::integral T> T twice(T value) { return value + value; }\n"
    try:
        return (
            subprocess.run(command, input=source.encode(), capture_output=True, check=False).returncode == 0
        )
    except OSError:
        return False


def main():  # type: () -> int
    """Print what is missing; the exit status is 1 when something is."""
    parser = argparse.ArgumentParser(description="Check what make cannot install itself.")
    parser.add_argument("--compiler", default="g++")
    found = missing_parts(parser.parse_args().compiler)
    for sentence in found:
        sys.stderr.write("corewise: " + sentence + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

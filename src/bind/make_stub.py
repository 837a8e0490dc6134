"""Writes python/corewise/_core.pyi from the built module: nanobind's stub, made fit for mypy --strict.

Run it after changing a binding: ``python src/bind/make_stub.py`` in an environment where corewise is
installed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib
import re
import subprocess
from pathlib import Path

from nanobind.stubgen import StubGen

STUB = Path(__file__).resolve().parents[2] / "python" / "corewise" / "_core.pyi"
COORDINATES = (
    "tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.uint64], NDArray[numpy.uint64]]"
)
HISTOGRAM = "tuple[NDArray[numpy.uint64], NDArray[numpy.uint64]]"
HEADER = '''"""The C++ core of corewise: machines, patterns, placement searches, profiles.

Types only, written by src/bind/make_stub.py; ``help(corewise._core)`` has the words.

SPDX-License-Identifier: BSD-3-Clause
"""
'''


def stub_text() -> str:
    """The stub of the module that is installed now."""
    generator = StubGen(importlib.import_module("corewise._core"), include_docstrings=False)
    generator.put(generator.module)
    text: str = generator.get()
    # Layout and device are in the docstrings; a type checker wants the element type.
    text = re.sub(r"Annotated\[(NDArray\[numpy\.\w+\]), dict\([^]]*?\)\]", r"\1", text)
    text = re.sub(r"(def coordinates\(.*\)) -> tuple:", rf"\1 -> {COORDINATES}:", text)
    text = re.sub(r"(def histogram\(.*\)) -> tuple:", rf"\1 -> {HISTOGRAM}:", text)
    text = text.replace("phases: list)", f"phases: list[{COORDINATES.replace('[', '[str, ', 1)}])")
    # The commit differs from build to build.
    text = re.sub(r"(__commit__: str) = .*", r"\1 = ...", text)
    text = text.replace("from typing import Annotated\n", "")
    return HEADER + text


def main() -> None:
    """Writes and formats the file."""
    STUB.write_text(stub_text(), encoding="utf-8")
    subprocess.run(["ruff", "format", "--quiet", str(STUB)], check=True)


if __name__ == "__main__":
    main()

"""Writes the types of a built extension module: nanobind's stub, made fit for mypy --strict.

The package's build runs it: ``make_stub.py MODULE OUTPUT [MODULE]``; the last one is loaded before, because
the first one takes classes from it. Modules are loaded by their paths, under the names that they have once
they are installed; the package need not be.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

from nanobind.stubgen import StubGen

PACKAGE = "corewise"
COORDINATES = (
    "tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.uint64], NDArray[numpy.uint64]]"
)
HISTOGRAM = "tuple[NDArray[numpy.uint64], NDArray[numpy.uint64]]"
HEADER = '''"""{words}

Types only, written by src/bind/make_stub.py; ``help({name})`` has the words.

SPDX-License-Identifier: BSD-3-Clause
"""
'''


def load(path: Path) -> ModuleType:
    """The extension module of a file."""
    name = f"{PACKAGE}.{path.name.partition('.')[0]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path}: not an extension module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def stub_text(module: ModuleType) -> str:
    """The stub of the module."""
    generator = StubGen(module, include_docstrings=False)
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
    return HEADER.format(words=module.__doc__, name=module.__name__) + text


def main() -> None:
    """Writes the file."""
    module, output, *needed = map(Path, sys.argv[1:])
    for each in needed:
        load(each)
    output.write_text(stub_text(load(module)), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Check that no Python module of the package imports itself by way of others.

Imports inside functions and under TYPE_CHECKING count too: a circle that does not fail is still a circle.
Needs nothing but the standard library.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def imports_of(package: Path) -> dict[str, set[str]]:
    """The modules of a package that each of its modules imports."""
    files = {_name(path, package): path for path in sorted(package.rglob("*.py"))}
    return {
        name: {each for each in _imported(path) if each in files and each != name}
        for name, path in files.items()
    }


def _name(path: Path, package: Path) -> str:
    parts = (package.name, *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def circle(imports: Mapping[str, set[str]]) -> list[str]:
    """One circle of modules, the first again at its end; empty where there is none."""
    # `from a import b` names the package a as well: that b is in a is no import of its __init__.
    graph = {
        name: {each for each in used if not name.startswith(f"{each}.")} for name, used in imports.items()
    }
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return list(error.args[1])[::-1]
    return []


def main(arguments: list[str] | None = None) -> int:
    """Check the package and print a circle; the exit status is 1 when there is one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("package", nargs="?", type=Path, default=ROOT / "python" / "corewise")
    found = circle(imports_of(parser.parse_args(arguments).package))
    if found:
        print("circle: " + " -> ".join(found))
    print(f"circles: {'one or more' if found else 0}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

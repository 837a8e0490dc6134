"""Turns a machine file (TOML) into the JSON document that the machine room reads, for the C++ tests.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

READERS = ("tomllib", "tomli", "pip._vendor.tomli")
"""Python 3.10 has no tomllib; its pip carries one."""


def toml_reader() -> Any:
    """The first TOML reader that this Python has."""
    for name in READERS:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise SystemExit(f"no TOML reader, tried {', '.join(READERS)}: install tomli")


def main() -> None:
    """Reads the first argument, writes the second."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    document = toml_reader().loads(source.read_text(encoding="utf-8"))
    target.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Prints what the package needs where it runs, a requirement a line, as pip reads them.

    dependencies.py pyproject.toml

`make demo` installs them beside the compiler's work, which `pip install .` does one after the other.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def main(arguments: list[str]) -> int:
    """Reads the command line."""
    (path,) = arguments
    project = tomllib.loads(Path(path).read_text(encoding="utf-8"))["project"]
    print("\n".join(project["dependencies"]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

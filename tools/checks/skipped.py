"""Print the pytest tests that a run skipped for a missing capability, one node id a line.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from results import counted, read_outcomes


def main(arguments: list[str] | None = None) -> int:
    """Print them; exit status 2: a file cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("junit", type=Path, nargs="+", help="JUnit files, or folders of them")
    try:
        outcomes = counted(read_outcomes(parser.parse_args(arguments).junit))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    for outcome in outcomes:
        if outcome.state == "skipped" and outcome.test.startswith("tests/"):
            print(outcome.test)
    return 0


if __name__ == "__main__":
    sys.exit(main())

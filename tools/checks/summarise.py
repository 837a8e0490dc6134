"""Sum the results of every test runner into one closing line, and judge the skips.

Prints each failed and each skipped test by name, then ``N passed, N failed, N skipped``. Where ``CI`` is
"true" a skip fails the run unless its reason starts with ``capability:``, so that a test cannot fall silent.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from results import Outcome, counted, read_outcomes

CAPABILITY = "capability:"


def is_excused(outcome: Outcome) -> bool:
    """Whether a skip names a capability that this machine lacks."""
    return outcome.reason.startswith(CAPABILITY)


def unexcused_skips(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return the skips that give no capability as their reason."""
    return [outcome for outcome in outcomes if outcome.state == "skipped" and not is_excused(outcome)]


def closing_line(outcomes: Iterable[Outcome]) -> str:
    """Return the one line that ends a run."""
    table = Counter(outcome.state for outcome in outcomes)
    return f"{table['passed']} passed, {table['failed']} failed, {table['skipped']} skipped"


def main(arguments: list[str] | None = None) -> int:
    """Print the summary; exit status 1: a test failed, none ran, or a skip is not excused in CI."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("junit", type=Path, nargs="+", help="JUnit files, or folders of them")
    try:
        outcomes = counted(read_outcomes(parser.parse_args(arguments).junit))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    for outcome in outcomes:
        if outcome.state != "passed":
            print(f"{outcome.state}: {outcome.test}: {outcome.reason}")
    unexcused = unexcused_skips(outcomes) if os.environ.get("CI") == "true" else []
    for outcome in unexcused:
        print(f"a skip without '{CAPABILITY}' fails in CI: {outcome.test}")
    print(closing_line(outcomes))
    failed = any(outcome.state == "failed" for outcome in outcomes)
    return 1 if failed or unexcused or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())

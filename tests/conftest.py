"""What all Python tests have in common: where the tool prints, and which of the long tests run.

The tool prints as into a pipe, whoever runs the tests. The mark ``long_test`` is for tests that take
long and repeat what another test of the same row of the inventory shows: on a further MPI, in a further
mode, with further seeds. ``--long none`` leaves them out, ``all`` runs them, and a commit runs a sample
of one in sixteen, chosen by its hash. No sample has a long test marked ``quiet_test``: it asks for a
gain in time, which only a quiet machine shows. Files marked ``first_test`` take long by few tests: they begin
first, so that no process is left with one at the end.

SPDX-License-Identifier: BSD-3-Clause
"""

import hashlib
import os

import pytest

ONE_IN = 16

# A worker of pytest-xdist inherits the size that readline guessed for its parent's terminal; and a rank in
# Python that may not buffer writes a line's words one by one, which a launcher mixes with another rank's.
for variable in ("COLUMNS", "LINES", "PYTHONUNBUFFERED"):
    os.environ.pop(variable, None)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which long tests run."""
    parser.addoption("--long", default="none", metavar="none|all|COMMIT", help="long tests that run")


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line(
        "markers", "long_test: repeats on a further MPI, mode or seed what a shorter test shows"
    )
    config.addinivalue_line("markers", "quiet_test: a long test of a gain in time, in no commit's sample")
    config.addinivalue_line("markers", "first_test: its file takes long and begins first")


def is_in_sample(commit: str, test: str) -> bool:
    """Whether a commit's sample has a long test; another commit has others."""
    return hashlib.sha256(f"{commit} {test}".encode()).digest()[0] % ONE_IN == 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files that take longest first, and leave out the long tests that were not asked for."""
    items.sort(key=lambda item: item.get_closest_marker("first_test") is None)
    which = str(config.getoption("--long"))
    if which == "all":
        return

    def is_left_out(item: pytest.Item) -> bool:
        sampled = which != "none" and not item.get_closest_marker("quiet_test")
        return bool(item.get_closest_marker("long_test")) and not (
            sampled and is_in_sample(which, item.nodeid)
        )

    left = [item for item in items if is_left_out(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the long tests that ran."""
    which = str(config.getoption("--long"))
    if which == "none":
        return
    told = [each for category in terminalreporter.stats.values() for each in category]
    ran = {
        each.nodeid for each in told if isinstance(each, pytest.TestReport) and "long_test" in each.keywords
    }
    terminalreporter.write_line(f"long tests that ran (--long {which}): {len(ran)}")
    for name in sorted(ran):
        terminalreporter.write_line(f"  {name}")

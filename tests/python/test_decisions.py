"""The written arguments in docs/decisions: what they must answer, and that the tests they lean on exist.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = ROOT / "docs" / "decisions"
CONFORMANCE = ROOT / "tests" / "mpi" / "conformance"
BYPASS = DECISIONS / "0007-no-point-to-point-bypass.md"


def points(text: str) -> dict[str, str]:
    """The numbered points of an argument, by their titles."""
    found = re.findall(r"^\d+\. \*([^*]+)\.\* (.*?)(?=^\d+\. |^\*\*|\Z)", text, re.M | re.S)
    return {title.lower(): " ".join(argument.split()) for title, argument in found}


@pytest.mark.parametrize(
    ("title", "says"),
    [
        ("order", r"MPI-4\.\d, 3\.5"),
        ("wildcards", r"any source"),
        ("probes", r"MPI_Iprobe.*MPI_Mprobe"),
        ("cancelling", r"MPI_Cancel"),
    ],
)
def test_a_bypass_is_argued_point_by_point(title: str, says: str) -> None:
    """Order, wildcards, probes and cancellation: each has an argument that names what is at stake."""
    argument = points(BYPASS.read_text())[title]
    assert len(argument.split()) > 25 and re.search(says, argument)


def test_the_bypass_argument_is_about_matching_when_one_side_takes_part() -> None:
    text = " ".join(BYPASS.read_text().split())
    argument = text[text.index("**The argument.**") : text.index("**Consequences.**")]
    assert "matching decision" in argument and "Points 1 to 4" in argument
    assert "when only one side takes part" in argument


def test_the_programs_that_a_bypass_would_have_to_pass_exist() -> None:
    """They are in the suite that the conformance tests collect, and do what the points are about."""
    programs = re.findall(r"`(typed_\w+)`", BYPASS.read_text())
    assert len(programs) >= 4
    text = "".join((CONFORMANCE / f"{program}.c").read_text() for program in programs)
    for call in ("MPI_ANY_SOURCE", "MPI_ANY_TAG", "MPI_Probe", "MPI_Iprobe", "MPI_Mprobe", "MPI_Cancel"):
        assert call in text, call


def test_every_decision_says_what_was_chosen_and_why() -> None:
    found = sorted(DECISIONS.glob("*.md"))
    assert [path.name[:4] for path in found] == [f"{number:04}" for number in range(1, len(found) + 1)]
    for path in found:
        title, _, rest = path.read_text().partition("\n")
        assert title.startswith(f"# {path.name[:4]}: ") and len(rest.split()) > 50, path.name

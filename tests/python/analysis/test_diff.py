"""`corewise diff`: what changed between made-up runs, and what cannot be known.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import trace_writer as tw

from corewise.analysis.profile.diff import change, compare_profiles
from corewise.cli.main import execute
from corewise.data.profile import load_profile
from corewise.plots.heatmap_svg import LESS


def _out(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = execute(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def _ring(folder: Path, size: int = 4, rounds: int = 2, message: int = 100) -> str:
    return str(tw.ring_run(folder, size=size, rounds=rounds, message=message))


def test_two_profiles_row_by_row(tmp_path: Path) -> None:
    before, after = _ring(tmp_path / "a.cw"), _ring(tmp_path / "b.cw", rounds=3, message=200)
    found = compare_profiles([load_profile(before)], [load_profile(after)])
    rows = {row.procedure: row for row in found.calls}
    sent = rows["MPI_Send"]
    assert (sent.calls.before.mean, sent.calls.after.mean) == (8, 12)
    assert (sent.bytes.before.mean, sent.bytes.after.mean, sent.bytes.ratio) == (800, 2_400, 3)
    assert sent.time_ns.difference == pytest.approx(4 * 100)
    assert rows["MPI_Allreduce"].time_ns.difference == 0
    # What changed most comes first; starting and stopping says nothing about the program.
    assert found.calls[0].procedure == "MPI_Recv"
    assert {row.procedure for row in found.calls[-2:]} == {"MPI_Init", "MPI_Finalize"}
    assert [(row.sender, row.receiver, row.bytes.difference) for row in found.pairs] == [
        (rank, (rank + 1) % 4, 400) for rank in range(4)
    ]
    assert found.matrix is not None
    assert (found.matrix.sum(), found.matrix[0, 1]) == (1_600, 400)
    assert found.patterns[0] == found.patterns[1]
    assert found.wall_ns.stands_out is None
    assert any("which changes are larger than noise cannot be known" in note for note in found.notes)


def test_a_profile_does_not_differ_from_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _ring(tmp_path / "a.cw", size=5)
    found = compare_profiles([load_profile(folder)], [load_profile(folder)])
    assert found.pairs == ()
    assert all(row.time_ns.difference == row.calls.difference == 0 for row in found.calls)
    status, out, _ = _out(["diff", folder, folder], capsys)
    assert status == 0
    assert "matrix: no pair of ranks changed" in out


def test_places_are_matched_by_function_not_by_offset(tmp_path: Path) -> None:
    sides = []
    for name, shift in (("a", 0), ("b", 0x40)):
        maps = "00400000-00500000 r-xp 00000000 08:01 1 /nowhere/program\n"
        trace = tw.RankTrace(0, 1, maps=maps, sites={1: 0x401000 + shift, 2: 0x401010 + shift})
        trace.put(tw.SEND, "MPI_Send", 0, 8, site=1)
        trace.put(tw.SEND, "MPI_Send", 0, 9, ticks=30, site=2)
        sides.append(load_profile(tw.write_run(tmp_path / f"{name}.cw", [trace])))
    found = compare_profiles(sides[:1], sides[1:])
    assert [(row.where, row.bytes.before.mean, row.bytes.difference) for row in found.sites] == [
        ("program, call 1", 8, 0),
        ("program, call 2", 9, 0),
    ]


def test_what_stands_out_of_the_spread() -> None:
    assert change([1, 2, 1, 2], [3, 4, 4, 3]).stands_out is True
    assert change([1, 3, 1, 3], [2, 4, 2, 4]).stands_out is False
    assert change([1, 2, 1, 2], [2, 3, 3, 3]).stands_out is False
    # Three against three lie apart by chance in one case of ten.
    assert change([1, 2, 3], [9, 9, 9, 9]).stands_out is None
    both = change([1, 3], [5, 7])
    assert (both.before.mean, both.before.least, both.before.most, both.ratio) == (2, 1, 3, 3)
    assert change([0, 0], [1, 1]).ratio is None


@pytest.mark.parametrize("parted", ["dashes", "option"])
def test_several_profiles_of_each_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], parted: str
) -> None:
    a = [_ring(tmp_path / f"a{at}.cw", rounds=2 + at % 2) for at in range(4)]
    b = [_ring(tmp_path / f"b{at}.cw", rounds=8 + at % 2) for at in range(4)]
    sides = (
        [*a, "--", *b] if parted == "dashes" else [*a, *(word for each in b for word in ("--against", each))]
    )
    status, out, _ = _out(["diff", *sides, "--json"], capsys)
    document = json.loads(out)
    assert (status, document["before"], document["after"]) == (0, a, b)
    assert document["messages"] == {
        "before": {"mean": 10, "least": 8, "most": 12},
        "after": {"mean": 34, "least": 32, "most": 36},
        "ratio": 3.4,
        "stands_out": True,
    }
    assert document["notes"] == []
    status, out, _ = _out(["diff", *sides], capsys)
    assert "10 (8 .. 12)" in out
    assert "+24 (+240.0 %) *" in out
    assert "* no value of one side lies within the other's" in out


def test_different_numbers_of_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = [_ring(tmp_path / "a.cw", size=4), _ring(tmp_path / "b.cw", size=8)]
    status, out, _ = _out(["diff", *sides], capsys)
    assert status == 0
    assert "4 → 8 ranks" in out
    assert "totals are compared, pairs of ranks are not" in out
    assert "pairs of ranks:" not in out
    assert "before: unidirectional ring of 4" in out
    svg = tmp_path / "d.svg"
    status, _, err = _out(["diff", *sides, "--svg", str(svg)], capsys)
    assert (status, svg.exists()) == (2, False)
    assert "--svg: 4 ranks before and 8 after have no difference" in err


def test_the_picture_of_the_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ranks = [tw.RankTrace(rank, 3) for rank in range(3)]
    ranks[0].put(tw.SEND, "MPI_Send", 1, 100)
    one = str(tw.write_run(tmp_path / "a.cw", ranks))
    ranks[0].put(tw.SEND, "MPI_Send", 1, 50)
    two = str(tw.write_run(tmp_path / "b.cw", ranks))
    svg = tmp_path / "d.svg"
    status, _, err = _out(["diff", two, one, "--svg", str(svg)], capsys)
    assert (status, f"written to {svg}" in err) == (0, True)
    root = ET.parse(svg).getroot()
    cells = [each for each in root.iter("{http://www.w3.org/2000/svg}rect") if len(each)]
    assert [each[0].text for each in cells] == ["rank 0 to rank 1: 50 B"]
    assert cells[0].get("fill") in LESS
    assert "less than before" in svg.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("sides", "message"),
    [
        (["a"], "profiles: found 1, allowed: two, or several of each side parted by -- or by --against"),
        (["a", "b", "a"], "profiles: found 3, allowed: two"),
        (["a", "nowhere"], "nowhere.cw: found nothing (no such folder), allowed: a profile folder"),
        (["a", "--", "b", "b"], "b.cw: found twice on one side, allowed: once"),
        (["a", "wide", "--", "b"], "wide.cw: found 8 ranks, allowed on one side: as many as in"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sides: list[str], message: str
) -> None:
    for name, size in (("a", 4), ("b", 4), ("wide", 8)):
        _ring(tmp_path / f"{name}.cw", size=size)
    words = [each if each == "--" else str(tmp_path / f"{each}.cw") for each in sides]
    status, out, err = _out(["diff", *words], capsys)
    assert (status, out) == (2, "")
    assert message in err


def test_between_two_ranks_no_pattern_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A ring, a line and a tree are the same there (docs/recording/report.md)."""
    folder = tw.ring_run(tmp_path / "two.cw", size=2)
    for words in (
        ["diff", str(folder), str(folder)],
        ["patterns", "name", str(folder)],
        ["patterns", "show", str(folder)],
    ):
        assert execute(words) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "none is named between two ranks" in shown
        assert "degree of match" not in shown
    assert execute(["patterns", "name", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == []

"""What `import corewise` gives: objects with arrays, held against what the runs and matrices were made of.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import trace_writer as tw

import corewise
from corewise.errors import InputError

RANKS, ROUNDS, MESSAGE = 4, 3, 1_000


@pytest.fixture
def profile(tmp_path: Path) -> corewise.Profile:
    """Every rank sends `ROUNDS` messages to its right neighbour."""
    return corewise.load(tw.ring_run(tmp_path / "ring.cw", RANKS, ROUNDS, MESSAGE))


def ring(ranks: int, size_bytes: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.roll(np.eye(ranks, dtype=np.int64), 1, axis=1) * size_bytes


class Balanced(HTMLParser):
    """Collects elements that were not closed; what has no closing tag is known."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        """Closed at once."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_importing_is_quick_because_nothing_else_is_imported() -> None:
    look = "import sys; before = set(sys.modules); import corewise; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    heavy = {
        "numpy",
        "typer",
        "rich",
        "pydantic",
        "importlib.metadata",
        "corewise._core",
        "corewise._lab",
        "corewise.api",
    }
    assert heavy & set(done.stdout.split()) == set()


def test_every_promised_name_is_there_and_typed() -> None:
    stub = (Path(corewise.__file__).with_name("__init__.pyi")).read_text(encoding="utf-8")
    for name in corewise.__all__:
        assert getattr(corewise, name) is not None
        assert f" {name}" in stub or f"{name}:" in stub, name
    assert set(corewise.__all__) <= set(dir(corewise))
    with pytest.raises(AttributeError, match="no attribute 'advice_of_the_stars'"):
        _ = corewise.advice_of_the_stars


def test_a_profile_gives_its_matrix(profile: corewise.Profile) -> None:
    assert profile.ranks == RANKS
    assert profile.problems == ()
    assert np.array_equal(profile.matrix(), ring(RANKS, ROUNDS * MESSAGE))
    assert np.array_equal(profile.matrix(by="count"), ring(RANKS, ROUNDS))
    assert np.array_equal(profile.matrix(traffic="received"), ring(RANKS, ROUNDS * MESSAGE))
    with pytest.raises(InputError, match="traffic"):
        profile.matrix(traffic="sunshine")


def test_a_profile_gives_its_pattern(profile: corewise.Profile) -> None:
    pattern = profile.pattern()
    assert "ring of 4" in pattern.label
    assert pattern.ranks == RANKS
    assert np.array_equal(pattern.matrix(), ring(RANKS, ROUNDS * MESSAGE))


def test_waits_are_arrays(tmp_path: Path) -> None:
    """Rank 0 waits 3 us for a message that rank 1 sends late."""
    first, second = tw.RankTrace(0, 2), tw.RankTrace(1, 2)
    first.put(tw.RECEIVE, "MPI_Recv", peer=1, size=8, ticks=4_000)
    second.now += 3_000
    second.put(tw.SEND, "MPI_Send", peer=0, size=8, ticks=500)
    waits = corewise.load(tw.write_run(tmp_path / "late.cw", [first, second])).waits()
    assert waits.total_ns == pytest.approx(3_000)
    assert list(waits.kinds()["kind"]) == ["late sender"]
    assert waits.kinds()["time_ns"].sum() == pytest.approx(3_000)
    assert waits.by_rank() == pytest.approx([3_000, 0])
    assert 0 < waits.share_of_run < 1


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_every_record_is_a_row_of_a_frame(profile: corewise.Profile, library: str) -> None:
    frame = profile.to_frame(library)
    columns = list(frame.column_names if library == "arrow" else frame.columns)
    assert {"rank", "kind", "name", "peer", "bytes", "duration_ns"} <= set(columns)
    sent = frame.to_pandas() if library != "pandas" else frame
    assert sent[sent["kind"] == "send"]["bytes"].sum() == RANKS * ROUNDS * MESSAGE


def test_no_such_frame(profile: corewise.Profile) -> None:
    with pytest.raises(InputError, match="found 'dask', allowed: pandas, polars, arrow"):
        profile.to_frame("dask")


def test_findings_are_those_of_the_report(profile: corewise.Profile) -> None:
    from corewise.analysis.profile.findings import find_out

    found = profile.findings()
    assert [each.title for each in found] == [each.title for each in find_out(profile.path).rows]
    assert len(found) == len(found.rows) >= 1
    assert found.rows[0].title in repr(found)
    assert Balanced(found._repr_html_()).open == []


def test_advice_for_another_machine_predicts_every_lever(profile: corewise.Profile) -> None:
    from corewise.trials.levers.table import LEVERS

    found = corewise.advise(profile, machine="cell-be")
    assert [row.lever for row in found.advice.rows] == [each.name for each in LEVERS]
    assert not any(row.tried for row in found.advice.rows)
    assert found.advice.advised is None
    assert [each.title for each in found.findings()] != []
    assert "levers" in found._repr_html_()
    assert found.statement in repr(found)


def test_advice_on_a_program_needs_a_folder_for_its_profile() -> None:
    with pytest.raises(InputError, match=r"output: found nothing, allowed: a new folder NAME\.cw"):
        corewise.advise(["./program"], 2)


def test_the_best_placement_is_the_best_of_all() -> None:
    """By hop-bytes of every order of the ring, added up here; rank 0 anywhere is the same ring."""
    machine = corewise.machine("cell-be")
    found = corewise.place(ring(8, 1024), machine)
    assert found.proven
    assert sorted(found.unit_of_rank) == list(range(8))
    assert found.units == tuple(machine.units[unit] for unit in found.unit_of_rank)
    by_hops = corewise.place(ring(8, 1024), machine, objective="hop-bytes").cost
    hops = machine.hops()
    least = min(
        sum(1024 * int(hops[a, b]) for a, b in itertools.pairwise([0, *order, 0]))
        for order in itertools.permutations(range(1, 8))
    )
    assert by_hops == least
    assert found.gain >= 1


def test_a_search_by_evaluations_is_the_same_twice() -> None:
    one, two = (
        corewise.place(ring(24, 4096), "mesh-6x4", evaluations=2_000).unit_of_rank.tolist() for _ in range(2)
    )
    assert one == two
    assert sorted(one) == list(range(24))


def test_a_placement_file_is_what_run_takes(tmp_path: Path) -> None:
    from corewise.data.placement import load_placement

    found = corewise.place(ring(8, 1024), "cell-be")
    found.save(tmp_path / "best.json")
    kept = load_placement(tmp_path / "best.json", found.study.machine)
    assert list(kept.unit_of_rank) == found.unit_of_rank.tolist()


def test_a_simulated_run_takes_a_placement() -> None:
    found = corewise.place(ring(8, 65_536), "cell-be")
    best = corewise.simulate(ring(8, 65_536), "cell-be", found)
    worst = corewise.simulate(ring(8, 65_536), "cell-be", found.study.row("worst").unit_of_rank)
    assert best.total_ns <= worst.total_ns
    assert best.gb_per_s == pytest.approx(8 * 65_536 / best.total_ns, rel=1e-3)
    assert best.link_busy().max() <= 1
    assert np.array_equal(best.bandwidth_matrix() > 0, ring(8, 1) > 0)
    assert corewise.simulate(ring(8, 65_536), "cell-be", found).total_ns == best.total_ns


@pytest.mark.parametrize(
    "wrong", [np.zeros((2, 3)), -np.ones((2, 2)), np.full((2, 2), 0.5), np.array([["a", "b"], ["c", "d"]])]
)
def test_what_is_no_matrix_of_bytes_is_refused(
    wrong: np.ndarray[tuple[int, int], np.dtype[np.float64]],
) -> None:
    with pytest.raises(InputError, match="allowed: a square matrix of bytes"):
        corewise.place(wrong, "cell-be")


def test_objects_show_themselves_in_a_notebook(profile: corewise.Profile) -> None:
    found = corewise.place(ring(8, 1024), "cell-be")
    simulated = corewise.simulate(ring(8, 1024), "cell-be", found)
    shown = {
        "profile": (profile, "<svg"),
        "pattern": (profile.pattern(), "ring of 4"),
        "waits": (profile.waits(), "<table>"),
        "machine": (corewise.machine("cell-be"), "SPE3"),
        "placing": (found, "identity"),
        "simulated": (simulated, "<svg"),
    }
    for name, (each, expected) in shown.items():
        page = each._repr_html_()
        assert expected in page, name
        assert Balanced(page).open == [], name
        assert repr(each).startswith("<corewise."), name
    # What a program was called with is text, not markup.
    assert "./flow <x>" not in profile._repr_html_()

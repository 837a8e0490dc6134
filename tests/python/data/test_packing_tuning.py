"""Packing tunings: what is read and written, which shapes follow, and which one a host gets.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corewise._core import packing_decision
from corewise.cli import run as cli_run
from corewise.data import tuned_hosts
from corewise.data.packing_tuning import (
    LINES,
    USES,
    PackingRow,
    PackingTuning,
    knob_of,
    load_packing_tuning,
    packing_tuning_text,
    parse_packing_tuning,
    save_packing_tuning,
)
from corewise.data.tuned_hosts import host_packing
from corewise.errors import InputError
from corewise.mpi.find import MpiLibrary

MPICH = MpiLibrary("mpich", "5.0.2", Path("/p"), Path("/p/bin/mpiexec"), Path("/p/lib/libmpi.so"), (), ())


def rows(use: str, lines: str, size: int, won: dict[int, bool]) -> list[PackingRow]:
    """Measured runs of one size."""
    return [PackingRow(use, lines, size, run, 2.0 if w else 0.9, 1.5 if w else 0.8) for run, w in won.items()]


TUNING = PackingTuning(
    "AuthenticAMD-25-17",
    "a processor",
    "mpich 5.0.2",
    "corewise 0",
    "2026-11-24",
    "corewise bench pack --tune tuning",
    (
        *rows("send", "dense", 4096, {8: False, 64: False}),
        *rows("send", "dense", 32768, {8: True, 16: False, 64: True}),
        *rows("send", "dense", 131072, {8: True, 16: True, 64: True}),
        *rows("send", "sparse", 32768, {8: False, 64: True}),
        *rows("unpack", "dense", 32768, {8: True}),
    ),
)


def test_a_tuning_is_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    save_packing_tuning(TUNING, tmp_path / "t.csv")
    assert load_packing_tuning(tmp_path / "t.csv") == TUNING
    # The nearest measured size decides, by ratio.
    assert TUNING.knob() == (
        "send=2048:0,11585:0,65536:12+25-64,131072:64;send.sparse=16384:0,32768:16-64;unpack=16384:0,32768:8"
    )
    assert replace(TUNING, rows=()).knob() == "off"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("version = 5", "version = 4", "t.csv: field 'version': found 4, allowed: 5"),
        ("# host = a processor\n", "", "t.csv: field 'host': found nothing, allowed: "),
        ("# mpi", "# mpy", "t.csv: field 'mpy'"),
        ("unpack,dense", "copy,dense", "t.csv:20: field 'use': found copy, allowed: send, receive, "),
        ("unpack,dense", "unpack,thin", "t.csv:20: field 'lines': found thin, allowed: dense or sparse"),
        ("unpack,dense,32768", "unpack,dense,0", "t.csv:20: field 'bytes': found 0, allowed: "),
        ("unpack,dense,32768,8", "unpack,dense,32768,8.5", "t.csv:20: field 'run': found 8.5, allowed: "),
        ("unpack,dense,32768,8,2.0", "unpack,dense,32768,8,-1", "field 'ratio': found -1, allowed: "),
        ("send,dense,4096,64", "send,dense,4096,8", "field 'row': found a shape a second time"),
        ("use,lines", "use,line", "field 'line': found an unknown column"),
    ],
)
def test_wrong_tunings_are_refused_with_their_field(before: str, after: str, said: str) -> None:
    text = packing_tuning_text(TUNING)
    assert before in text
    with pytest.raises(InputError) as error:
        parse_packing_tuning(text.replace(before, after, 1), "t.csv")
    assert said.replace("'", "") in str(error.value).replace("'", "")


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_tuning_decides_as_its_rows_say(data: st.DataObject) -> None:
    made: list[PackingRow] = []
    for use in data.draw(st.lists(st.sampled_from(USES), min_size=1, unique=True)):
        for lines in data.draw(st.lists(st.sampled_from(LINES), min_size=1, unique=True)):
            for size in sorted(data.draw(st.sets(st.integers(1, 1 << 30), min_size=1, max_size=4))):
                runs = sorted(data.draw(st.sets(st.integers(1, 1 << 20), min_size=1, max_size=6)))
                made += rows(use, lines, size, {run: data.draw(st.booleans()) for run in runs})
    tuning = replace(TUNING, rows=tuple(made))
    assert parse_packing_tuning(packing_tuning_text(tuning)) == tuning
    row = made[data.draw(st.integers(0, len(made) - 1))]
    pages = 0.0 if row.lines == "dense" else 1.0
    knob = tuning.knob()
    taken = knob != "off" and packing_decision(knob, row.use, row.bytes, row.run, 1.0, pages)[0]
    assert taken == (row.ratio > 1)


def test_between_two_runs_the_interpolated_margin_decides() -> None:
    """16 times what is enough at 8 bytes, a quarter of it at 1 and at 64."""
    margins = {1: 0.25, 8: 16.0, 64: 0.25}
    made = tuple(PackingRow("receive", "dense", 4096, run, 1.04 * m, 99.0) for run, m in margins.items())
    assert replace(TUNING, rows=made).knob() == "receive=2048:0,4096:2-32"


def test_what_all_take_over_is_what_each_does() -> None:
    other = replace(
        TUNING,
        processor="GenuineIntel-6-207",
        rows=(
            *rows("send", "dense", 4096, {8: True}),
            *rows("send", "dense", 131072, {8: False, 16: True, 64: True, 512: True}),
        ),
    )
    both = knob_of([TUNING, other])
    taken = [run for run in (8, 16, 64, 512) if packing_decision(both, "send", 131072, run)[0]]
    assert taken == [16, 64]
    assert not packing_decision(both, "send", 4096, 8)[0]


def test_elsewhere_a_shape_must_have_won_clearly() -> None:
    close = replace(TUNING, rows=(PackingRow("pack", "dense", 4096, 8, 1.06, 0.98),))
    assert close.knob() == "pack=2048:0,4096:8" and knob_of([close]) == "off"


def test_a_host_gets_its_own_table_or_what_won_everywhere(tmp_path: Path) -> None:
    def told(processor: str, mpi: str = "mpich", version: str = "5.0.9") -> tuple[str, str]:
        found = host_packing(mpi, version, processor, tmp_path)
        return found.knob, found.told

    assert told("Any")[0] == "off" and "none of another processor" in told("Any")[1]
    third = replace(TUNING, processor="GenuineIntel-6-207", rows=TUNING.rows[:-1])
    save_packing_tuning(TUNING, tmp_path / "packing-amd-mpich.csv")
    save_packing_tuning(third, tmp_path / "packing-intel-mpich.csv")
    knob, text = told("AuthenticAMD-25-17")
    assert knob == TUNING.knob() and text == "packing by packing-amd-mpich.csv, measured on a processor"
    knob, text = told("AuthenticAMD-26-2")
    assert knob == knob_of([third]) and text == (
        "packing: no table of AuthenticAMD-26-2 with mpich 5.0.9: taken over is what clearly won on every "
        "processor measured (AuthenticAMD-25-17, GenuineIntel-6-207)"
    )
    assert told("AuthenticAMD-25-17", version="4.2")[0] == told("AuthenticAMD-25-17", "openmpi")[0] == "off"


def test_run_says_what_it_takes_over_and_measures_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tuned_hosts, "tuning_directory", lambda: tmp_path)
    monkeypatch.setattr(MpiLibrary, "family", "mpich")
    assert cli_run._chosen_packing(MPICH, cli_run.OF_HOST) == "off"
    assert "corewise: packing: no table of" in capsys.readouterr().err
    assert cli_run._chosen_packing(MPICH, "pack=9:8") == "pack=9:8" and capsys.readouterr().err == ""
    monkeypatch.setattr(MpiLibrary, "family", "openmpi")
    assert cli_run._chosen_packing(replace(MPICH, version="5.1.0"), "pack=9:8") == "off"
    said = capsys.readouterr().err
    assert "datatype engine of Open MPI 5.1.0 is not known (known: 4.1, 5.0): nothing is taken over" in said


def test_the_documented_tuning_means_what_the_page_says_and_shipped_ones_are_read() -> None:
    root = Path(__file__).resolve().parents[3]
    page = (root / "docs" / "formats" / "packing-tuning.md").read_text()
    tuning = parse_packing_tuning(page.split("```")[1].removeprefix("csv").lstrip(), "the page")
    assert f"`{tuning.knob()}`" in page
    for path in (root / "tuning").glob("packing-*.csv"):
        found = load_packing_tuning(path)
        assert path.name == f"packing-{found.processor.lower()}-{found.mpi.split()[0]}.csv"

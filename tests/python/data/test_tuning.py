"""Tuning files: what a reader refuses, what the rows of a sweep are, what writing and reading keeps.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toy_tuning import HEAD, HOSTS, SMALL, TOY

from corewise import InputError
from corewise.analysis.selection import Configuration, configuration, rows_of_sweep, winner
from corewise.data.tuning import (
    SELECTIONS,
    Choice,
    Host,
    Selection,
    Tuning,
    TuningRow,
    bundled_tunings,
    load_tuning,
    parse_tuning,
    ranges_text,
    save_tuning,
    tuning_for,
    tuning_text,
)

# --- reading ----------------------------------------------------------------------------------------------


def test_a_file_is_read_as_it_is_written() -> None:
    tuning = parse_tuning(TOY)
    assert (tuning.port, tuning.machine, tuning.who, tuning.when) == (
        "cell",
        "toy",
        "corewise 0.0",
        "2026-01-31",
    )
    small, large = tuning.rows
    assert small.won == Choice("eager_tree", (("closing", "counters"), ("degree", 4)), (0.5, 0.75))
    assert small.won.name == "eager_tree(closing=counters, degree=4)"
    assert [each.name for each in small.lost] == ["local_store_tree(degree=3, fenced=true)"]
    assert (large.bytes_to, large.lost, large.won.name) == (None, (), "pieces")


def test_a_call_finds_its_row_and_the_size_that_speaks_for_it() -> None:
    tuning = parse_tuning(TOY)
    found = {size: tuning.find("broadcast", 16, size).won.algorithm for size in (0, 128, 129, 10**9)}
    assert found == {0: "eager_tree", 128: "eager_tree", 129: "pieces", 10**9: "pieces"}
    small, large = tuning.rows
    assert [small.measured_for(size) for size in (0, 16, 17, 128)] == [0, 0, 1, 1]
    assert [large.measured_for(size) for size in (129, 1025, 2**20, 2**30)] == [0, 1, 1, 1]


def test_a_call_without_a_row_is_told_what_there_is() -> None:
    tuning = parse_tuning(TOY)
    with pytest.raises(InputError, match=r"'collective': found 'reduce', allowed: broadcast"):
        tuning.find("reduce", 16, 0)
    with pytest.raises(InputError, match=r"'ranks': found 8, allowed: 16 for broadcast"):
        tuning.find("broadcast", 8, 0)
    with pytest.raises(InputError, match="'collective'"):
        tuning.find("broadcast", 16, 0, "paper")
    gap = parse_tuning(HEAD + SMALL)
    with pytest.raises(InputError, match="'bytes': found 129"):
        gap.find("broadcast", 16, 129)


# What is done to the file, and what the one error must say.
REFUSED = {
    "not CSV": (("two rows", '"two rows'), "not CSV"),
    "a file of version 0.8": (("format,corewise-tuning", 'format = "corewise-tuning"'), "allowed: format"),
    "another format": (("corewise-tuning", "corewise-machine"), "'line 1, format': found 'corewise-machine'"),
    "a newer version": (("version,2", "version,1"), "'line 2, version': found '1', allowed: 2"),
    "no version": (("version,2\n", ""), "'version': found nothing, allowed: required"),
    "unknown field": (("machine,toy", "machine,toy\ncolour,1"), "'line 5, field': found 'colour', allowed:"),
    "a field twice": (
        ("machine,toy", "machine,toy\nmachine,toy"),
        "'line 5, field': found 'machine', allowed: ",
    ),
    "two machines": (
        ("machine,toy", "machine,toy,more"),
        "'line 4, machine': found 'toy,more', allowed: a text",
    ),
    "no machine": (("machine,toy", "machine, "), "'line 4, machine': found ' ', allowed: a text"),
    "also no texts": (("port,cell", "port,cell\nalso,x,"), "'line 4, also': found 'x,', allowed: a text"),
    "unknown port": (("port,cell", "port,tcp"), "'line 3, port': found 'tcp', allowed: cell or shm"),
    "an MPI of simulated ranks": (
        ("who,", "mpi,mpich 5.0.2\nwho,"),
        "'line 6, mpi': found 'mpich 5.0.2', allowed: nothing, where the port is cell",
    ),
    "no columns": (("set,coll", "sets,coll"), "'line 10, field': found 'sets'"),
    "unknown column": (("set,coll", "set,nodes,coll"), "'line 10, columns': found 'set,nodes,coll"),
    "missing value of a row": ((",16,0,128", ",0,128"), "'line 11, columns': found '8', allowed: 9"),
    "unknown set": (
        ("all,broadcast,16,0", "best,broadcast,16,0"),
        "'line 11, set': found 'best', allowed: paper",
    ),
    "unknown collective": (
        ("broadcast,16,0", "bcast,16,0"),
        "'line 11, collective': found 'bcast', allowed: barrier",
    ),
    "no ranks": ((",16,0", ",0,0"), "'line 11, ranks': found '0', allowed: a whole number from 1"),
    "ranks no number": ((",16,0", ",x,0"), "'line 11, ranks': found 'x'"),
    "negative bytes": ((",16,0", ",16,-1"), "'line 11, bytes_from': found '-1'"),
    "beyond a number": ((",16,0", ",16,1" + "0" * 200), "'line 11, bytes_from': found '1000"),
    "empty range": (("16,129,", "16,129,128"), "'line 12, bytes_to': found '128'"),
    "overlap": (("16,129", "16,128"), "'line 12, bytes_from': found 128, which line 11 has"),
    "overlap without end": (("0,128,", "0,,"), "'line 12, bytes_from': found 129, which line 11 has"),
    "sizes outside": (("1024 1048576", "128 1048576"), "'line 12, measured_bytes': found '128 1048576'"),
    "sizes not rising": ((",16 128", ",128 16"), "'line 11, measured_bytes': found '128 16'"),
    "no sizes": ((",16 128", ","), "'line 11, measured_bytes': found nothing, allowed: one or more"),
    "times too few": (("0.5 0.75", "0.5"), "'line 11, latency_us': found '0.5', allowed: 2 positive"),
    "times of a loser": (("2.5 3", "2.5 3 4"), "'line 11, latency_us': found '2.5 3 4', allowed: 2 positive"),
    "no time": (("4.0 700.0", "4.0 0.0"), "'line 12, latency_us': found '0.0'"),
    "not finite": (("4.0 700.0", "4.0 nan"), "'line 12, latency_us': found 'nan'"),
    "unknown parameter": (("degree=4", "fanout=4"), "'line 11, algorithm, parameter': found 'fanout'"),
    "parameter twice": (
        ("degree=4", "degree=4 degree=4"),
        "'line 11, algorithm, degree': found '4', allowed: each",
    ),
    "wrong parameter": (("degree=4", "degree=true"), "'line 11, algorithm, degree': found 'true'"),
    "wrong switch": (
        ("fenced=true", "fenced=1"),
        "'line 11, lost, fenced': found '1', allowed: true or false",
    ),
    "wrong closing": (
        ("=counters", "=gate"),
        "'line 11, algorithm, closing': found 'gate', allowed: barrier",
    ),
    "parameters not closed": (
        ("=counters)", "=counters"),
        "'line 11, algorithm': found 'eager_tree(degree=4",
    ),
    "no algorithm": (("pieces", " "), "'line 12, algorithm': found ' ', allowed: ALGORITHM"),
    "a loser without a name": (("local_store_tree(", "("), "'line 11, lost': found '(degree=3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_reader_refuses(name: str) -> None:
    (old, new), words = REFUSED[name]
    assert old in TOY
    with pytest.raises(InputError) as error:
        parse_tuning(TOY.replace(old, new, 1), "some.csv")
    assert str(error.value).startswith("some.csv: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("processor,GenuineIntel-6-1\n", "", "'processor': found nothing, allowed: required"),
        ("cores,2\n", "", "'cores': found nothing, allowed: required"),
        ("cores,2", "cores,two", "'line 12, cores': found 'two', allowed: a whole number from 1"),
    ],
)
def test_a_file_of_a_host_says_where_it_was_measured(old: str, new: str, words: str) -> None:
    assert parse_tuning(HOSTS).on == Host("GenuineIntel-6-1", "a processor", "mpich 5.0.2", 2)
    assert old in HOSTS
    with pytest.raises(InputError, match=re.escape(words)):
        parse_tuning(HOSTS.replace(old, new))


def test_other_ranks_sets_and_collectives_do_not_overlap() -> None:
    for old, new in ((",16,0", ",8,0"), ("all,", "paper,"), ("broadcast", "reduce")):
        assert len(parse_tuning(HEAD + SMALL + SMALL.replace(old, new)).rows) == 2
    with pytest.raises(InputError, match="which line"):
        parse_tuning(HEAD + SMALL + SMALL)


# --- writing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [TOY, HOSTS])
def test_what_is_written_is_read_back(text: str, tmp_path: Path) -> None:
    tuning = parse_tuning(text)
    path = tmp_path / "toy.csv"
    save_tuning(tuning, path)
    assert load_tuning(path) == tuning
    assert tuning_for(str(path)) == tuning
    assert tuning_text(tuning) == path.read_text()


def test_a_machine_without_tuning_is_told_which_have_one() -> None:
    with pytest.raises(InputError, match=r"machine 'mesh-6x4' has no tuning, allowed: .*cell-blade"):
        tuning_for("mesh-6x4")


def test_one_chip_of_a_blade_has_its_tuning() -> None:
    blade = tuning_for("cell-blade")
    assert tuning_for("cell-be") == blade
    assert parse_tuning(tuning_text(blade)) == blade
    assert parse_tuning(TOY).also == ()


def test_ranges_of_numbers() -> None:
    assert ranges_text([16, 2, 3, 4, 12, 13]) == "2 to 4, 12, 13, 16"


# --- from a sweep to rows ---------------------------------------------------------------------------------

CHAIN, THREE, EAGER = configuration("tree", degree=1), configuration("tree", degree=3), configuration("eager")


def test_rows_of_a_sweep() -> None:
    sweep = {
        16: {CHAIN: 4.0, THREE: 3.0, EAGER: 1.0},
        128: {CHAIN: 5.0, THREE: 3.0, EAGER: 2.0},
        1024: {CHAIN: 6.0, THREE: 5.0},
        4096: {CHAIN: 7.0, THREE: 7.5},
        8192: {CHAIN: 9.0, THREE: 12.0},
    }
    rows = rows_of_sweep("all", "reduce", 8, sweep)
    assert [(row.bytes_from, row.bytes_to, row.won.name) for row in rows] == [
        (0, 128, "eager"),
        (129, 1024, "tree(degree=3)"),
        (1025, None, "tree(degree=1)"),
    ]
    assert [row.measured_bytes for row in rows] == [(16, 128), (1024,), (4096, 8192)]
    # A loser is another algorithm, with the parameters that served it best.
    assert [[each.name for each in row.lost] for row in rows] == [["tree(degree=3)"], [], []]
    assert rows[0].lost[0].latency_us == (3.0, 3.0)


def test_who_wins_may_be_said() -> None:
    """Whoever is quickest, a row's sizes are those that one configuration won."""
    sweep = {size: {CHAIN: 4.0, THREE: 3.0} for size in (16, 128, 1024)}
    rows = rows_of_sweep("all", "reduce", 2, sweep, {16: CHAIN, 128: THREE, 1024: THREE})
    assert [(row.bytes_to, row.won.name) for row in rows] == [
        (16, "tree(degree=1)"),
        (None, "tree(degree=3)"),
    ]


configurations = st.builds(
    lambda name, degree: configuration(name, degree=degree),
    st.sampled_from(["tree", "pieces", "ring"]),
    st.integers(1, 3),
)
sweeps = st.dictionaries(
    st.integers(0, 2**20),
    st.dictionaries(configurations, st.floats(0.125, 1000.0), min_size=1),
    min_size=1,
    max_size=6,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sweeps)
def test_every_measured_size_finds_its_winner(sweep: dict[int, dict[Configuration, float]]) -> None:
    rows = tuple(rows_of_sweep("all", "reduce", 8, sweep))
    tuning = Tuning("cell", "toy", "made up", "nobody", "2026-01-31", "none", rows)
    assert parse_tuning(tuning_text(tuning)) == tuning
    for size, times in sweep.items():
        row = tuning.find("reduce", 8, size)
        best = winner(times)
        assert (row.won.algorithm, row.won.parameters) == (best.algorithm, best.parameters)
        at = row.measured_for(size)
        assert row.measured_bytes[at] == size
        assert row.won.latency_us[at] == pytest.approx(times[best], rel=1e-3)
        assert all(each.latency_us[at] >= row.won.latency_us[at] for each in row.lost)


# --- the bundled files ------------------------------------------------------------------------------------


def rows_by_call(tuning: Tuning) -> dict[tuple[str, str, int], list[TuningRow]]:
    found: dict[tuple[str, str, int], list[TuningRow]] = {}
    for row in tuning.rows:
        found.setdefault((row.set, row.collective, row.ranks), []).append(row)
    return found


@pytest.mark.parametrize("path", bundled_tunings(), ids=lambda path: path.stem)
def test_the_bundled_files_cover_every_size(path: Path) -> None:
    tuning = load_tuning(path)
    assert tuning.command
    for key, rows in rows_by_call(tuning).items():
        rows.sort(key=lambda row: row.bytes_from)
        assert rows[0].bytes_from == 0, key
        assert rows[-1].bytes_to is None, key
        for before, after in pairwise(rows):
            assert after.bytes_from == (before.bytes_to or 0) + 1, key


@pytest.mark.parametrize("path", bundled_tunings(), ids=lambda path: path.stem)
def test_a_bundled_file_has_a_line_a_row(path: Path) -> None:
    tuning = load_tuning(path)
    head = path.read_text().partition("\n\n")[0].splitlines()
    assert len(path.read_text().splitlines()) == len(head) + 2 + len(
        tuning.rows
    )  # an empty line, the columns
    rivals = 1 if tuning.on else 3
    assert sum(len(row.lost) for row in tuning.rows) >= rivals * len(tuning.rows)
    assert path.read_text() == tuning_text(tuning)


COMPARED = ("broadcast", "reduce", "allreduce")


def by_size(tuning: Tuning, selection: Selection) -> dict[tuple[str, int, int], float]:
    """What the winner took, by collective, ranks and measured size."""
    return {
        (row.collective, row.ranks, size): time_us
        for row in tuning.rows
        if row.set == selection
        for size, time_us in zip(row.measured_bytes, row.won.latency_us, strict=True)
    }


def test_the_best_of_all_is_never_slower_than_the_papers() -> None:
    """Of the collectives that the paper describes: on 8 ranks and on 16 never.

    On others by no more than buffers of 14 KB instead of 16 KB cost.
    """
    paper, all = (by_size(tuning_for("cell-blade"), selection) for selection in SELECTIONS)
    assert paper.keys() == all.keys()
    slower = {
        key: all[key] / paper[key]
        for key in paper
        if key[0] in ("barrier", *COMPARED) and all[key] > paper[key]
    }
    assert [key for key in slower if key[1] in (8, 16)] == []
    assert max(slower.values(), default=0.0) <= 1.06
    assert [key for key in slower if key[2] < 32 * 1024] == []


def test_up_to_128_bytes_it_is_half_as_fast_again() -> None:
    paper, all = (by_size(tuning_for("cell-blade"), selection) for selection in SELECTIONS)
    small = [key for key in paper if key[0] in COMPARED and key[1] in (8, 16) and 0 < key[2] <= 128]
    # A fifth of what the paper's best broadcast on 8 takes is the cost of a library's call.
    least = {key: 1.44 if key == ("broadcast", 8, 128) else 1.5 for key in small}
    assert {key: paper[key] / all[key] for key in small if paper[key] < least[key] * all[key]} == {}
    assert len(small) == 3 * 2 * 4

"""What the accelerate library leaves in a profile: what is read, what is summed, what is refused.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import pytest

from corewise.analysis.profile.accelerated import AcceleratedRow, Reason, accelerated_rows
from corewise.data.accelerate import CollectiveCalls, load_accelerate, parse_accelerate
from corewise.errors import InputError

HEAD = "format,corewise-accelerate\nversion,1\nprocedure,outcome,why,calls\n"
TABLE = "the table leaves it to the MPI"
FIRST = f"{HEAD}MPI_Allreduce,taken,,1200\nMPI_Allreduce,passed,early,3\nMPI_Bcast,passed,{TABLE},10\n"
SECOND = f'{HEAD}MPI_Allreduce,taken,"",1100\nMPI_Allreduce,passed,"late, and wrong",103\n'


def test_files_are_read_in_the_order_of_ranks(tmp_path: Path) -> None:
    (tmp_path / "accelerate.10.csv").write_text(SECOND)
    (tmp_path / "accelerate.2.csv").write_text(FIRST)
    (tmp_path / "accelerate.2.csv.tmp").write_text("cut off")
    (tmp_path / "accelerate.plan.csv").write_text("of somebody else")
    found = load_accelerate(tmp_path)
    assert list(found) == [2, 10]
    assert found[2] == (
        CollectiveCalls("MPI_Allreduce", "taken", "", 1200),
        CollectiveCalls("MPI_Allreduce", "passed", "early", 3),
        CollectiveCalls("MPI_Bcast", "passed", TABLE, 10),
    )
    assert found[10][1].why == "late, and wrong"


def test_calls_are_summed_over_ranks() -> None:
    ranks = {0: parse_accelerate(FIRST), 1: parse_accelerate(SECOND), 2: parse_accelerate(FIRST)}
    assert accelerated_rows(ranks) == (
        AcceleratedRow("MPI_Allreduce", 3500, 109, (Reason("late, and wrong", 103), Reason("early", 6))),
        AcceleratedRow("MPI_Bcast", 0, 20, (Reason(TABLE, 20),)),
    )


def test_how_copies_go_is_read_and_no_call() -> None:
    rows = parse_accelerate(f"{FIRST}copies,taken,past the caches,1\n")
    assert rows[-1] == CollectiveCalls("copies", "taken", "past the caches", 1)
    assert accelerated_rows({0: rows}) == accelerated_rows({0: rows[:-1]})


def test_a_run_without_the_library_has_nothing(tmp_path: Path) -> None:
    assert load_accelerate(tmp_path) == {}
    assert accelerated_rows({}) == ()
    assert accelerated_rows({0: parse_accelerate(HEAD)}) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("'format'", "nothing")),
        ("version,1\nformat,corewise-accelerate\n", ("'format'", "version")),
        ("format,corewise-tuning\nversion,1\n", ("'format'", "corewise-tuning", "allowed: corewise-acc")),
        ("format,corewise-accelerate\n", ("'version'", "nothing")),
        ("format,corewise-accelerate\nversion,2\n", ("'version'", "'2'", "allowed: 1")),
        ("format,corewise-accelerate\nversion,1\n", ("'header'", "nothing")),
        (HEAD.replace("why,", ""), ("'why'", "no such column")),
        (HEAD.replace("why", "because"), ("'because'", "unknown column")),
        (f"{HEAD}MPI_Bcast,taken,1\n", (":4", "3 cells")),
        (f"{HEAD}MPI_Bcast,taken,,1\nbcast,taken,,1\n", (":5", "'procedure'", "bcast")),
        (f"{HEAD},taken,,1\n", (":4", "'procedure'", "nothing")),
        (f"{HEAD}MPI_Bcast,done,,1\n", (":4", "'outcome'", "done", "taken or passed")),
        (f"{HEAD}MPI_Bcast,passed,,1\n", (":4", "'why'", "nothing")),
        (f"{HEAD}MPI_Bcast,passed,\x1b[31m,1\n", (":4", "'why'")),
        (f"{HEAD}MPI_Bcast,passed,{'x' * 100},1\n", (":4", "'why'")),
        (f"{HEAD}MPI_Bcast,taken,early,1\n", (":4", "'why'", "early")),
        (f"{HEAD}MPI_Bcast,taken,past the caches,1\n", (":4", "'why'", "past the caches")),
        (f"{HEAD}copies,taken,,1\n", (":4", "'why'", "nothing", "through the caches")),
        (f"{HEAD}copies,passed,past the caches,1\n", (":4", "'why'", "taken")),
        (f"{HEAD}MPI_Bcast,taken,,\n", (":4", "'calls'", "nothing")),
        (f"{HEAD}MPI_Bcast,taken,,0\n", (":4", "'calls'", "'0'")),
        (f"{HEAD}MPI_Bcast,taken,,-1\n", (":4", "'calls'", "'-1'")),
        (f"{HEAD}MPI_Bcast,taken,,1e3\n", (":4", "'calls'", "1e3")),
        (f"{HEAD}MPI_Bcast,taken,,{'9' * 400}\n", (":4", "'calls'")),
        (f"{HEAD}MPI_Bcast,taken,,1\nMPI_Bcast,taken,,2\n", (":5", "'row'", "a second time")),
        (f'{HEAD}MPI_Bcast,passed,"early,1\n', (":4", "not CSV")),
    ],
)
def test_what_is_wrong_is_named(text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        parse_accelerate(text, "accelerate.3.csv")
    message = str(caught.value)
    assert message.startswith("accelerate.3.csv") and "\n" not in message and len(message) < 400, message
    assert all(word in message for word in words), message


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "accelerate.0.csv").mkdir()
    with pytest.raises(InputError, match=r"accelerate\.0\.csv.*a folder"):
        load_accelerate(tmp_path)

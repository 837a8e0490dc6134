"""What the program that measures messages prints, as a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from corewise.bench.simmpi.messages import costs_of
from corewise.cli.main import execute
from corewise.cli.message_costs import before_a_run, show_costs
from corewise.data.message_costs import CostRow
from corewise.errors import InputError, RunError
from corewise.mpi.find import MpiLibrary

SAID = """eager 4040
row 64 0 60.0 200.0 190.0
row 64 1024 70.0 50.0 300.0
row 4 0 50 100 110
row 4 1024 40 120 130
"""


def test_a_time_is_never_less_than_what_it_contains() -> None:
    costs = costs_of([SAID], "mpich 5.0.1", (0, 1024))
    assert (costs.mpi, costs.eager_bytes, costs.moved_bytes) == ("mpich 5.0.1", 4040, (0, 1024))
    assert costs.rows == (
        CostRow(4, 40, (100, 120), (110, 130)),
        CostRow(64, 50, (200, 50), (200, 300)),
    )


def test_launches_give_their_medians() -> None:
    said = [
        f"eager {eager}\nrow 8 0 {sent} {way} {way + 7}\n"
        for eager, sent, way in ((9, 1, 50), (8, 3, 20), (9, 2, 30))
    ]
    costs = costs_of(said, "mpich", (0,))
    assert (costs.eager_bytes, costs.rows) == (8, (CostRow(8, 2, (30,), (37,)),))


def test_launches_that_found_another_eager_limit_share_their_other_sizes() -> None:
    said = [f"eager {eager}\nrow 8 0 1 {way} 9\nrow {eager} 0 1 2 3\n" for eager, way in ((20, 4), (30, 6))]
    costs = costs_of(said, "mpich", (0,))
    assert (costs.eager_bytes, costs.rows) == (20, (CostRow(8, 1, (5,), (9,)),))


@pytest.mark.parametrize("said", ["", "eager 1\n", "row 4 0 1 2 3\n", "eager x\n", SAID + "row 9 0 1 2 3\n"])
def test_what_the_program_does_not_print_is_refused(said: str) -> None:
    with pytest.raises(RunError, match="messages: "):
        costs_of([SAID, said], "mpich", (0, 1024))


def test_the_table_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show_costs(costs_of(["eager 9\nrow 8 0 1 50 57\n"], "mpich 5.0.2", (0,)))
    shown = capsys.readouterr().out
    assert "mpich 5.0.2, eager up to 9 bytes" in shown
    assert all(text in shown for text in ("one way, 0 B", "50 ns", "57 ns"))


@pytest.mark.parametrize("option", ["--json", "--plan"])
def test_messages_are_measured_alone(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["probe", "--messages", "openmpi", option]) == 2
    assert "--messages: found with --json or --plan" in capsys.readouterr().err


def test_an_mpi_that_is_not_found_is_named_by_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["probe", "--messages", "lam"]) == 2
    assert "--messages lam: no such MPI found" in capsys.readouterr().err


def test_an_allocation_of_several_nodes_is_no_place_to_measure_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("JOB_ID", "1"), ("JOB_NODELIST", "a[1-2]"), ("TASKS_PER_NODE", "2(x2)")):
        monkeypatch.setenv(f"SLURM_{name}", value)
    monkeypatch.setattr(MpiLibrary, "family", "mpich")
    nowhere = Path("/nowhere")
    library = MpiLibrary("mpich", "5.0.2", nowhere, nowhere / "mpiexec", nowhere / "libmpi.so", (), ())
    with pytest.raises(InputError, match=r"--messages: measures inside a node, found 2 nodes of Slurm"):
        before_a_run(library)

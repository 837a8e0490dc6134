"""Levers say whether they took effect, from what a run under them left behind.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trace_writer as tw

from corewise.data.machines import load_machine
from corewise.trials.levers import acceleration, binding, packing, placement, reordering
from corewise.trials.levers.lever import Case
from corewise.trials.levers.seats import units_of_ranks
from corewise.trials.levers.table import LEVERS

HOST = load_machine("host")
CPUS = [unit.os_index for unit in HOST.units]


@pytest.fixture
def two_cores() -> None:
    if len(CPUS) < 2:
        pytest.skip("capability: two cores")


def profile(folder: Path, cpus: list[list[int]]) -> Path:
    return tw.write_run(folder, [tw.RankTrace(rank, len(cpus), cpus=each) for rank, each in enumerate(cpus)])


def case(best: tuple[int, ...] = (1, 0)) -> Case:
    """Two ranks on this host, and the placement that is best for them."""
    study: Any = SimpleNamespace(best=SimpleNamespace(unit_of_rank=best))
    world = SimpleNamespace(size=2)
    run: Any = SimpleNamespace(study=study, analysis=SimpleNamespace(world=world))
    found: Any = None
    return Case(run, found, None, HOST, is_host=True)


def test_every_lever_is_a_module_of_three_functions() -> None:
    modules = (binding, placement, reordering, acceleration, packing)
    assert [each.name for each in LEVERS] == [each.__name__.rpartition(".")[2] for each in modules]
    for lever, module in zip(LEVERS, modules, strict=True):
        own = inspect.getmembers(module, lambda each: inspect.isfunction(each))
        public = {name for name, each in own if each.__module__ == module.__name__ and name[0] != "_"}
        assert public == {"predict", "apply", "verify"}
        assert (lever.predict, lever.apply, lever.verify) == (module.predict, module.apply, module.verify)


@pytest.mark.usefixtures("two_cores")
def test_bindings_are_read_back(tmp_path: Path) -> None:
    first, second = CPUS[:2]
    in_order = profile(tmp_path / "in-order.cw", [[first], [second]])
    reversed_ = profile(tmp_path / "reversed.cw", [[second], [first]])
    loose = profile(tmp_path / "loose.cw", [[first, second], [first, second]])
    assert binding.verify(case(), in_order) == "" and placement.verify(case(), reversed_) == ""
    wrong = f"rank 0 was to run on CPU {first} and may run on {second}"
    assert binding.verify(case(), reversed_) == wrong
    assert placement.verify(case((0, 1)), reversed_) == wrong
    assert "may run on" in binding.verify(case(), loose)
    (loose / "rank-00001.cwt").unlink()
    assert binding.verify(case(), loose) == "1 of 2 ranks left a trace"


def test_collectives_that_were_not_taken_over_have_no_effect(tmp_path: Path) -> None:
    head = "format,corewise-accelerate\nversion,1\nprocedure,outcome,why,calls\n"
    assert acceleration.verify(case(), tmp_path).endswith("no rank wrote its counts")
    (tmp_path / "accelerate.0.csv").write_text(f"{head}MPI_Bcast,passed,wrong arguments,3\n")
    assert acceleration.verify(case(), tmp_path) == "no collective was taken over: wrong arguments"
    (tmp_path / "accelerate.1.csv").write_text(f"{head}MPI_Bcast,taken,,3\n")
    assert acceleration.verify(case(), tmp_path) == ""


def test_an_order_that_was_not_given_has_no_effect(tmp_path: Path) -> None:
    assert reordering.verify(case(), tmp_path) != ""
    answer = {"reordered": False, "reason": "launch ranks 0 and 1 share CPU 3", "launch_ranks": []}
    (tmp_path / "reorder.json").write_text(json.dumps(answer))
    assert reordering.verify(case(), tmp_path) == answer["reason"]
    (tmp_path / "reorder.json").write_text(
        json.dumps({"reordered": True, "reason": "", "launch_ranks": [1, 0]})
    )
    assert reordering.verify(case(), tmp_path) == ""


@pytest.mark.usefixtures("two_cores")
def test_the_placement_that_ranks_have_is_known_only_where_each_has_a_core() -> None:
    first, second = (frozenset({cpu}) for cpu in CPUS[:2])
    assert units_of_ranks(HOST, [second, first]) == (1, 0)
    assert units_of_ranks(HOST, [first, first]) is None
    assert units_of_ranks(HOST, [first | second, second]) is None

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

from corewise.analysis.noise.records import node_noise
from corewise.data.machines import load_machine
from corewise.data.noise import described_noise
from corewise.trials.advice import cases
from corewise.trials.levers import acceleration, algorithm, binding, idle_core, packing, placement, reordering
from corewise.trials.levers.lever import Case, Setting
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
    modules = (binding, placement, reordering, idle_core, acceleration, algorithm, packing)
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


# --- levers that came later -------------------------------------------------------------------------------


def run_of(ranks: int, **calls_and_ns: tuple[int, int, int]) -> Any:
    """A run of a second: procedure -> calls, bytes, nanoseconds; of all ranks together."""
    rows = [
        SimpleNamespace(procedure=name, calls=calls, bytes=size, time_ns=time_ns)
        for name, (calls, size, time_ns) in calls_and_ns.items()
    ]
    run_ns = ranks * 1e9
    analysis = SimpleNamespace(world=SimpleNamespace(size=ranks), calls=rows)
    return SimpleNamespace(analysis=analysis, run_ns=run_ns, share=lambda time_ns: time_ns / run_ns)


def idle_case(machine: str, run: Any, noise: str = "rate=100,length=500us") -> Case:
    found: Any = None
    return Case(
        run, found, None, load_machine(machine), True, noise=node_noise(described_noise(noise, "noise"))
    )


def test_an_idle_core_is_predicted_by_the_noise_of_the_host() -> None:
    """Every 50 us eight cores wait for the slowest of them, and each is away for 500 us a hundred times a
    second: a core that takes all of this pays. Without noise it costs an eighth."""
    often = run_of(8, MPI_Allreduce=(8 * 20_000, 8 * 160_000, 10**9))
    noisy = idle_core.predict(idle_case("flat:8", often))
    assert noisy.gain is not None and noisy.gain > 1.2 and not noisy.promising
    assert "not tried" in noisy.reason and "50 µs on average" in noisy.reason
    quiet = idle_core.predict(idle_case("flat:8", often, "rate=0.1,length=1us"))
    assert quiet.gain is not None and 0.85 < quiet.gain < 0.9 and "does not pay" in quiet.reason


def test_of_few_cores_and_of_idle_ones_nothing_is_claimed() -> None:
    often = run_of(4, MPI_Barrier=(400, 0, 10**9))
    assert "a node of 4 cores: it takes 8" in idle_core.predict(idle_case("flat:4", often)).reason
    assert "4 of 8 cores are idle" in idle_core.predict(idle_case("flat:8", often)).reason
    alone = run_of(8, MPI_Send=(400, 0, 10**9))
    assert "no rank waits for all" in idle_core.predict(idle_case("flat:8", alone)).reason
    barriers = run_of(8, MPI_Barrier=(400, 0, 10**9))
    full = idle_case("flat:8", barriers)
    assert cases.wants_noise(full) and not cases.wants_noise(idle_case("flat:8", often))
    assert (
        "was not measured"
        in idle_core.predict(Case(full.run, full.findings, None, full.machine, True)).reason
    )
    elsewhere = Case(full.run, full.findings, None, full.machine, False)
    assert not cases.wants_noise(elsewhere) and "only this host" in idle_core.predict(elsewhere).reason


@pytest.mark.usefixtures("two_cores")
def test_a_launch_with_an_idle_core_leaves_the_first(tmp_path: Path) -> None:
    first, second = CPUS[:2]
    mpi = SimpleNamespace(binding_form="mpich")
    found = case()
    alone = Case(found.run, found.findings, SimpleNamespace(mpi=mpi), HOST, True)  # type: ignore[arg-type]
    setting = idle_core.apply(alone, Setting(), tmp_path)
    assert setting.placement is not None and list(setting.placement.unit_of_rank) == [1]
    assert " ".join(setting.binding) == f"-n 1 -bind-to user:{second}"
    assert idle_core.verify(alone, profile(tmp_path / "there.cw", [[second]])) == ""
    assert "was to run on" in idle_core.verify(alone, profile(tmp_path / "here.cw", [[first]]))


def algorithm_case(folder: Path, library: bytes, run: Any, family: str = "mpich") -> Case:
    file = folder / "libmpi.so"
    file.write_bytes(library)
    mpi = SimpleNamespace(family=family, name=family, version="9.9", library=file)
    found: Any = None
    line: Any = SimpleNamespace(mpi=mpi)
    return Case(run, found, line, None, is_host=True)


def test_the_mpis_own_algorithm_is_chosen_for_the_collective_that_costs_most(tmp_path: Path) -> None:
    run = run_of(
        4, MPI_Bcast=(4, 64, 10**8), MPI_Allreduce=(4, 4 << 20, 10**9), MPI_Iallreduce=(4, 8, 4 * 10**9)
    )
    library = b"..MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM\0.."
    case_ = algorithm_case(tmp_path, library, run)
    found = algorithm.predict(case_)
    assert found.promising and found.gain is None
    assert "MPI_Allreduce takes 25" in found.reason and "Rabenseifner" in found.reason
    setting = algorithm.apply(case_, Setting(), tmp_path)
    assert setting.options.variables == {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "reduce_scatter_allgather"}
    assert setting.options.environment() == setting.options.variables
    assert "did not call MPI_Allreduce" in algorithm.verify(case_, profile(tmp_path / "other.cw", [[0]]))
    ranks = [tw.RankTrace(0, 1)]
    ranks[0].put(tw.COLLECTIVE, "MPI_Allreduce", size=8)
    assert algorithm.verify(case_, tw.write_run(tmp_path / "same.cw", ranks)) == ""


def test_an_mpi_without_the_variable_is_left_alone(tmp_path: Path) -> None:
    run = run_of(4, MPI_Allreduce=(4, 64, 10**9))
    assert "no variable" in algorithm.predict(algorithm_case(tmp_path, b"", run)).reason
    assert (
        "no variable"
        in algorithm.predict(algorithm_case(tmp_path, b"allreduce_algorithms\0", run, "openmpi")).reason
    )
    component = tmp_path / "openmpi3" / "mca_coll_tuned.so"
    component.parent.mkdir()
    component.write_bytes(b"allreduce_algorithm\0")
    found = algorithm_case(tmp_path, b"", run, "openmpi")
    assert algorithm.predict(found).promising
    assert algorithm.apply(found, Setting(), tmp_path).options.variables == {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_allreduce_algorithm": "3",
    }
    two = algorithm_case(tmp_path, b"", run_of(2, MPI_Allreduce=(2, 64, 10**9)), "openmpi")
    assert not algorithm.predict(two).promising
    rare = algorithm_case(tmp_path, b"", run_of(4, MPI_Allreduce=(2, 64, 10**6)), "openmpi")
    assert "of the run" in algorithm.predict(rare).reason and not algorithm.predict(rare).promising

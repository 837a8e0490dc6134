"""Sweeps: the same results whoever does them; what was done before an interruption is not done again.

The workers of the Dask test are processes of their own under a real scheduler, and one of them is killed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dask_cluster import START_S, Cluster
from installed_tool import corewise

from corewise import InputError
from corewise._core import generate
from corewise.cli import main
from corewise.data.machines import machine_text
from corewise.errors import RunError
from corewise.sim.sweeps import Sweep, Workers, beside, run, workers_of
from corewise.sim.sweeps.partial import Partial
from corewise.trials import simulation
from corewise.trials.simulation import Simulation
from corewise.trials.timing import UNPINNED, Candidate


def unwatched(share: float) -> None:
    pass


def square(shared: str, item: list[int]) -> list[int]:
    """The job of these sweeps; what it did is in a file that its sweep names."""
    with Path(shared).open("a") as file:
        file.write(f"{item[0]}\n")
    if item[0] < 0:
        raise InputError(f"found {item[0]}, allowed: 0 or more")
    return [item[0], item[0] ** 2]


def is_square(item: list[int], value: object) -> bool:
    return value == [item[0], item[0] ** 2]


def squares(log: Path, count: int = 20) -> Sweep:
    return Sweep("squares", square, str(log), [[at] for at in range(count)], is_square)


def done_in(log: Path) -> list[int]:
    return sorted(map(int, log.read_text().split())) if log.exists() else []


class Own(Executor):
    """A program's own executor; its only worker is gone after a few jobs."""

    def __init__(self, few: int = 10**9) -> None:
        self.pool, self.left = ThreadPoolExecutor(1), few

    def submit(self, job: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        self.left -= 1
        if self.left < 0:
            self.pool.shutdown()
            gone: Future[Any] = Future()
            gone.cancel()
            gone.set_running_or_notify_cancel()
            return gone
        return self.pool.submit(job, *arguments, **more)


@pytest.mark.parametrize("kind", ["local:1", "local:3", "processes:2"])
def test_results_are_those_of_the_jobs_in_their_order(kind: str, tmp_path: Path) -> None:
    items = [[number, [[0, 1, 2, 3], [3, 1, 2, 0]] if number % 3 else []] for number in range(7)]
    how = Simulation(machine_text("ring:4").load(), (generate("ring", {"ranks": "4"}),))
    shared = simulation.shared_text(how, machine_text("ring:4"))
    sweep = Sweep("times", simulation.simulate_job, shared, items, lambda item, value: True)
    shares: list[float] = []
    with workers_of(kind) as workers:
        found = run(sweep, shares.append, workers)
    assert found == [how.job_ns(number, placements) for number, placements in items]
    assert shares == [pytest.approx((at + 1) / 7) for at in range(7)]


def test_any_executor_will_do(tmp_path: Path) -> None:
    found = run(squares(tmp_path / "log"), unwatched, Workers(Own()))
    assert found == [[at, at**2] for at in range(20)]


def test_a_sweep_goes_on_from_what_it_has(tmp_path: Path) -> None:
    sweep, kept, log = squares(tmp_path / "log"), tmp_path / "kept", tmp_path / "log"
    with pytest.raises(RunError, match="the workers are gone"):
        run(sweep, unwatched, Workers(Own(few=8)), kept)
    first = {int(key) for key in json.loads(kept.read_text())["results"]}
    assert first == set(range(8)) == set(done_in(log))
    log.unlink()
    assert run(sweep, unwatched, None, kept) == [[at, at**2] for at in range(20)]
    assert done_in(log) == list(range(8, 20))
    assert not kept.exists()
    assert list(tmp_path.iterdir()) == [log]


def test_a_job_whose_input_is_wrong_ends_the_sweep_and_keeps_the_rest(tmp_path: Path) -> None:
    items = [[at] for at in (1, 2, -3, 4)]
    sweep = Sweep("squares", square, str(tmp_path / "log"), items, is_square)
    with pytest.raises(InputError, match="found -3"), workers_of("local:1") as workers:
        run(sweep, unwatched, workers, tmp_path / "kept")
    assert set(json.loads((tmp_path / "kept").read_text())["results"]) <= {"0", "1", "3"}


def broken(text: str) -> Iterator[tuple[str, str]]:
    """Files of which one thing is wrong, with the words that say so."""
    good = json.loads(text)
    for length in (0, 1, len(text) // 2):
        yield text[:length], "not JSON"
    yield text + "x", "not JSON"
    yield "\x00" + text, "not text"
    yield "[]", "allowed: an object"
    for field, value, said in (
        ("format", "corewise-pattern", "field 'format'"),
        ("version", 2, "field 'version': found 2, allowed: 1"),
        ("version", None, "field 'version'"),
        ("sweep", "0" * 64, "field 'sweep': found another sweep"),
        ("sweep", 3, "field 'sweep'"),
        ("results", [], "field 'results'"),
        ("results", {"20": [20, 400]}, "field 'results': found 20, allowed: numbers of jobs, 0 to 19"),
        ("results", {"01": [1, 1]}, "field 'results': found 01"),
        ("results", {"²": [2, 4]}, "field 'results'"),
        ("results", {"-1": [1, 1]}, "field 'results': found -1"),
        ("results", {"3": [3, 10]}, "field 'results.3': found [3, 10]"),
        ("results", {"3": None}, "field 'results.3': found None"),
    ):
        yield json.dumps({**good, field: value}), said


def test_a_file_that_is_none_of_this_sweep_is_refused_and_stays(tmp_path: Path) -> None:
    sweep, kept, log = squares(tmp_path / "log"), tmp_path / "kept", tmp_path / "log"
    partial = Partial(kept, sweep.identity, 20, lambda at, value: True)
    partial.add(3, [3, 9])
    partial.write()
    cases = list(broken(kept.read_text()))
    assert len(cases) == 18
    for text, said in cases:
        kept.write_text(text)
        with pytest.raises(InputError) as raised:
            run(sweep, unwatched, None, kept)
        assert said in str(raised.value) and str(kept) in str(raised.value), (text, str(raised.value))
        assert kept.read_text() == text
    assert done_in(log) == []


def test_another_sweep_is_told_apart_by_what_results_depend_on(tmp_path: Path) -> None:
    one = squares(tmp_path / "log")
    others = [
        squares(tmp_path / "other"),
        squares(tmp_path / "log", 21),
        Sweep("cubes", square, str(tmp_path / "log"), one.items, is_square),
    ]
    assert len({one.identity, *(each.identity for each in others)}) == 4
    assert squares(tmp_path / "log").identity == one.identity


def test_where_work_is_kept() -> None:
    assert beside(None, None) is None
    assert beside(Path("a/b.svg"), None) == Path("a/b.svg.partial")
    assert beside(Path("a/b.svg"), Path("c")) == Path("c")


def test_a_worker_of_another_build_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from corewise.base import jobs

    builds = iter(["0.1 other"] + ["0.9 this"] * 100)
    monkeypatch.setattr(jobs, "build", lambda: next(builds))
    with pytest.raises(InputError, match=r"found a worker with corewise 0\.9 this, allowed: 0\.1 other"):
        jobs._do(square, jobs.build(), str(tmp_path / "log"), [1])


def refused(capfd: pytest.CaptureFixture[str], *words: object) -> str:
    """The one line of a command whose input is wrong."""
    assert main.execute([*map(str, words)]) == 2
    out, err = capfd.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("corewise: ")
    return err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found '', allowed: local[:N], processes[:N], dask://HOST:PORT, mpi4py"),
        ("local:0", "found 'local:0', allowed: 1 to 1024 workers"),
        ("processes:1025", "allowed: 1 to 1024 workers"),
        ("local:x", "found 'local:x'"),
        ("dask://nowhere", "found 'dask://nowhere'"),
        ("mpi4py", "found mpi4py"),  # outside of its launcher, or where no MPI is
    ],
)
def test_who_does_not_exist_is_refused(text: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["explore", "ring", "ranks=4", "-m", "ring:4"], ["paper", "sensitivity"]):
        error = refused(capfd, *words, "--executor", text)
        assert "option '--executor'" in error and said in error


def test_options_that_do_not_go_together_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ring = ("explore", "ring", "ranks=2")
    said = "read by hwloc, allowed: a machine file"
    assert said in refused(capfd, *ring, "-m", "host", "--executor", "dask://127.0.0.1:1")
    for option in (["--executor", "local"], ["--resume", "kept"]):
        error = refused(capfd, "explore", "-m", "host", "-n", "2", *option, "--", "/bin/true")
        assert f"{option[0]} {option[1]}: found with a program" in error
    error = refused(capfd, *ring, "-m", "ring:4", "--resume", tmp_path / "no" / "kept")
    assert "kept: cannot be written: there is no folder" in error


def test_an_interrupted_sweep_keeps_what_is_done(tmp_path: Path) -> None:
    sweep, kept, log = squares(tmp_path / "log"), tmp_path / "kept", tmp_path / "log"

    def interrupted(share: float) -> None:
        if share >= 0.25:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(sweep, interrupted, None, kept)
    first = {int(key) for key in json.loads(kept.read_text())["results"]}
    assert len(first) == 5
    log.unlink()
    shares: list[float] = []
    assert run(sweep, shares.append, None, kept) == [[at, at**2] for at in range(20)]
    assert done_in(log) == sorted(set(range(20)) - first)
    assert shares[0] == pytest.approx(6 / 20) and shares[-1] == 1


def test_processes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, signal\n"
        "from corewise.sim.sweeps import workers_of\n"
        "if __name__ == '__main__':\n"
        "    with workers_of('processes:1') as workers:\n"
        "        print(workers.submit(os.getpid).result(), flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=START_S)
    assert done.returncode == -signal.SIGKILL
    until = time.monotonic() + START_S
    while Path("/proc", done.stdout.strip()).exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not Path("/proc", done.stdout.strip()).exists()


KILLED_AT_THE_THIRD_WRITING = """
import os, signal, sys
from corewise.cli.main import execute
from corewise.sim.sweeps import partial, sweep

class Partial(partial.Partial):
    writings = 0
    def add(self, job, value):
        super().add(job, value)
        self.write()
    def write(self):
        super().write()
        Partial.writings += 1
        if Partial.writings == 3:
            os.kill(os.getpid(), signal.SIGKILL)

sweep.Partial = Partial
sys.exit(execute(sys.argv[1:]))
"""


def test_a_killed_command_goes_on_and_prints_the_same_bytes(tmp_path: Path) -> None:
    words = ["explore", "halo_2d", "dims=4x6", "-m", "mesh-6x4", "--samples", "6", "--runs", "3", "--json"]
    kept = tmp_path / "kept"
    command = [sys.executable, "-c", KILLED_AT_THE_THIRD_WRITING, *words, "--resume", str(kept)]
    killed = subprocess.run([*command, "--executor", "local:1"], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    before = json.loads(kept.read_text())
    assert len(before["results"]) == 3 < before["jobs"]
    resumed = corewise(*words, "--resume", kept)
    assert (resumed.returncode, resumed.stderr) == (0, "")
    assert resumed.stdout == corewise(*words).stdout
    assert not kept.exists()


# ---- a real scheduler ------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    found = Cluster(tmp_path)
    yield found
    found.end()


def candidates(count: int) -> list[Candidate]:
    rng = np.random.default_rng(7)
    placed = [Candidate(str(at), (tuple(map(int, rng.permutation(24))),)) for at in range(count)]
    return [*placed, Candidate(UNPINNED, pinned=False)]


def test_a_dask_worker_that_is_killed_loses_nothing_and_does_nothing_twice(cluster: Cluster) -> None:
    how = Simulation(machine_text("mesh-6x4").load(), (generate("halo_2d", {"ranks": "24", "dims": "4x6"}),))
    arguments = (how, machine_text("mesh-6x4"), candidates(80), 5)
    expected = simulation.times(*arguments, unwatched)
    cluster.add_workers(2)
    shares: list[float] = []

    def watched(share: float) -> None:
        shares.append(share)
        if len(shares) == 3:
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    with workers_of(cluster.address) as workers:
        found = simulation.times(*arguments, watched, workers)
    assert cluster.workers[0].wait() == -signal.SIGKILL
    assert np.array_equal(found, expected)
    jobs = 5 * (80 // 16 + 1)
    assert shares == [pytest.approx((at + 1) / jobs) for at in range(jobs)]


def test_a_scheduler_that_cannot_help_is_named(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    from corewise.base import executors

    monkeypatch.setattr(executors, "CONNECT_S", 0.5)
    with pytest.raises(InputError, match="a scheduler without workers"), workers_of(cluster.address):
        pass
    cluster.end()
    with pytest.raises(InputError, match="cannot be reached"), workers_of(cluster.address):
        pass


@pytest.mark.long_test
def test_a_scheduler_that_is_restarted_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """The sweep ends and says so; under the new scheduler it goes on from what it has."""
    how = Simulation(machine_text("mesh-6x4").load(), (generate("halo_2d", {"ranks": "24", "dims": "4x6"}),))
    arguments = (how, machine_text("mesh-6x4"), candidates(80), 5)
    kept = tmp_path / "kept"
    cluster.add_workers(1)

    def ending(share: float) -> None:
        if share > 0.2:
            cluster.end()

    with (
        pytest.raises(RunError, match="the workers are gone"),
        workers_of(cluster.address) as workers,
    ):
        simulation.times(*arguments, ending, workers, kept)
    before = len(json.loads(kept.read_text())["results"])
    (tmp_path / "again").mkdir()
    restarted = Cluster(tmp_path / "again")
    try:
        restarted.add_workers(1)
        shares: list[float] = []
        with workers_of(restarted.address) as workers:
            found = simulation.times(*arguments, shares.append, workers, kept)
    finally:
        restarted.end()
    jobs = 5 * (80 // 16 + 1)
    assert 0 < before < jobs and len(shares) == jobs - before
    assert np.array_equal(found, simulation.times(*arguments, unwatched))
    assert not kept.exists()

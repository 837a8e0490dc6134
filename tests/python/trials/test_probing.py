"""The probe: its plan, what it measures here, and what its file says; nothing depends on times."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import documents
import numpy as np
import pytest

from corewise import _core
from corewise.analysis.latency.compare import differences, ranges
from corewise.analysis.latency.groups import find_groups
from corewise.analysis.latency.links import latency_tree, renumbered
from corewise.analysis.latency.streams import StreamJob, StreamRate, level_rates, stream_jobs
from corewise.cli import probe
from corewise.cli.main import execute
from corewise.data.machines import load_machine, load_machine_file
from corewise.errors import RunError
from corewise.trials import host, probing

TWO = len(os.sched_getaffinity(0)) > 1
needs_two = pytest.mark.skipif(not TWO, reason="capability: two CPUs")


def node() -> np.ndarray:
    """Two clusters of two cores with two threads: CPUs k and k + 4 are siblings."""
    matrix = np.full((8, 8), 90.0)
    for one in range(8):
        for other in range(8):
            if one % 4 // 2 == other % 4 // 2:
                matrix[one, other] = 30
            if one % 4 == other % 4:
                matrix[one, other] = 8
    np.fill_diagonal(matrix, 0)
    return matrix


# ---- the plan --------------------------------------------------------------------------------------------


def test_the_plan_keeps_its_limits() -> None:
    """Two CPUs in less than 20 s and 64 in less than three minutes, by default."""
    two, many = probing.plan_for(range(2), 60), probing.plan_for(range(64), 60)
    assert (two.pairs, many.pairs) == (1, 2016)
    assert two.seconds < 20
    assert many.seconds < 180
    assert many.passes > 1
    assert probing.plan_for(range(64), 5).passes < many.passes
    assert probing.plan_for(range(1024), 60).passes == 1


def test_longer_reads_take_longer_and_only_sizes_are_allowed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    short, long = probing.plan_for(range(8), 60), probing.plan_for(range(8), 60, 64 << 20)
    assert (short.read_bytes, long.read_bytes) == (128 << 10, 64 << 20)
    assert long.seconds > 10 * short.seconds
    assert execute(["probe", "--plan", "--cpus", "8", "--read-size", "64MiB", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["read_bytes"] == 64 << 20
    for wrong in ("much", "1KiB", "2GiB"):
        assert execute(["probe", "--plan", "--cpus", "8", "--read-size", wrong]) == 2
        assert "--read-size" in capsys.readouterr().err


def test_rates_are_those_of_the_bytes_that_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def times(readers: object, read_bytes: int, rounds: int) -> np.ndarray:
        asked.append(read_bytes)
        return np.array([[0.0], [50.0]])

    monkeypatch.setattr(_core, "time_reads", times)
    job = StreamJob(0, ((0, 1),), both=False)
    (rate,) = probing.measure_streams([job], probing.Deadline(0), lambda share: None, 1000)
    assert (rate.each_gb_per_s, set(asked)) == ((20.0,), {1000})


def test_one_cpu_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RunError, match="only one of them"):
        probing.plan_for([3], 60)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    assert execute(["probe"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "(3)" in error


def test_plan_prints_and_measures_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_core, "time_exchanges", None)
    assert execute(["probe", "--plan", "--cpus", "64"]) == 0
    assert "2016 pairs" in capsys.readouterr().out
    assert execute(["probe", "--plan", "--cpus", "64", "--json"]) == 0
    (row,) = documents.read(capsys.readouterr().out)["rows"]
    assert (row["cpus"], row["pairs"]) == (64, 2016)
    assert row["seconds"] < 180
    assert execute(["probe", "--cpus", "64"]) == 2
    assert "--plan" in capsys.readouterr().err


# ---- streams ---------------------------------------------------------------------------------------------


def test_streams_go_from_node_to_node_of_each_level() -> None:
    matrix = node()
    root = find_groups(matrix)
    tree = renumbered(root, latency_tree(root, matrix), list(range(10, 18)))
    jobs = stream_jobs(tree)
    assert [(job.level, job.pairs, job.both) for job in jobs] == [
        (0, ((10, 12),), False),
        (0, ((10, 12),), True),
        (0, ((10, 12), (11, 13)), False),
        (1, ((10, 11),), False),
        (1, ((10, 11),), True),
        (2, ((10, 14),), False),
        (2, ((10, 14),), True),
    ]
    assert jobs[1].readers == [(10, 1), (12, 0)]
    assert jobs[2].readers == [(10, -1), (12, 0), (11, -1), (13, 2)]


def test_rates_say_what_is_shared() -> None:
    one, two = StreamJob(0, ((0, 1),), both=False), StreamJob(0, ((0, 1), (2, 3)), both=False)
    both = StreamJob(0, ((0, 1),), both=True)
    full = [StreamRate(one, (10.0,)), StreamRate(both, (8.0, 6.0)), StreamRate(two, (5.5, 5.5))]
    (rate,) = level_rates(full)
    assert (rate.alone_gb_per_s, rate.both_gb_per_s, rate.together_gb_per_s) == (10, 7, 11)
    assert (rate.streams, rate.shared) == (2, True)
    (rate,) = level_rates([StreamRate(one, (10.0,)), StreamRate(two, (9.5, 9.0))])
    assert (rate.together_gb_per_s, rate.shared, rate.both_gb_per_s) == (18.5, False, 0)
    assert level_rates([StreamRate(two, (9.5, 9.0))]) == []


# ---- hwloc -----------------------------------------------------------------------------------------------


def test_differences_from_hwloc_are_said() -> None:
    units = load_machine("pack:1 l3:2 core:2").units
    assert differences([(0, 1), (2, 3)], units) == []
    assert differences([(0, 2), (1, 3)], units) == [
        "hwloc has l3-0 (CPUs 0-1); latencies do not show it",
        "hwloc has l3-1 (CPUs 2-3); latencies do not show it",
        "latencies show CPUs 0,2 together; hwloc has no such domain",
        "latencies show CPUs 1,3 together; hwloc has no such domain",
    ]
    assert (
        differences([(0, 4), (0, 1, 4, 5), (2, 3, 6, 7)], units) == []
    )  # threads that hwloc's cores leave out
    assert ranges([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"


# ---- this host -------------------------------------------------------------------------------------------


@needs_two
def test_this_host_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: tmp_path / name for name in ("host.toml", "host.csv", "host.svg")}
    options = ["-o", str(files["host.toml"]), "--latencies", str(files["host.csv"])]
    assert execute(["probe", *options, "--plot", str(files["host.svg"]), "--time", "1", "--json"]) == 0
    document = documents.read(capsys.readouterr().out)
    allowed = sorted(os.sched_getaffinity(0))
    assert document["cpus"] == allowed
    assert np.array(document["latency_ns"]).shape == (len(allowed), len(allowed))
    assert all(rate["alone_gb_per_s"] > 0 for rate in document["rates"])
    machine = load_machine_file(files["host.toml"])
    assert sorted(unit.os_index for unit in machine.units) == allowed
    assert machine.origin.processor == document["processor"]
    assert "latency" in machine.origin.measured
    assert "# hop_latency: measured" in files["host.toml"].read_text()
    assert files["host.svg"].read_text().startswith("<svg")
    assert execute(["machines", "from-latency", str(files["host.csv"]), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["cpus"] == len(allowed)


def test_what_was_not_measured_is_nominal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A host that is not this one, whose streams the limit left no time for."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(probing, "measure_latencies", lambda *_: (node(), 3))
    first_level: list[StreamJob] = []

    def measure(jobs: list[StreamJob], *_: object) -> list[StreamRate]:
        first_level.extend(job for job in jobs if job.level == 0 and not job.both)
        return [StreamRate(job, (10.0,) * len(job.pairs)) for job in first_level]

    monkeypatch.setattr(probing, "measure_streams", measure)
    assert execute(["probe", "-o", str(tmp_path / "node.toml"), "--level-names", "l3", "--json"]) == 0
    assert documents.read(capsys.readouterr().out)["rows"][0]["level"] == "l3"
    text = (tmp_path / "node.toml").read_text()
    assert "measured, 2 streams together; they share nothing that shows: at least this" in text
    assert text.count("nominal, not measured") == 2
    machine = load_machine_file(tmp_path / "node.toml")
    assert (machine.origin.measured, machine.origin.nominal) == (["latency", "bandwidth"], ["bandwidth"])
    assert machine.links[0].bandwidth_gb_per_s == 20
    assert [unit.os_index for unit in machine.units] == [0, 4, 1, 5, 2, 6, 3, 7]


def test_a_wrong_output_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(probe, "_measure", None)
    assert execute(["probe", "-o", str(tmp_path / "none" / "host.toml")]) == 2
    assert "no folder" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["probe", "machines from-latency"])
def test_every_option_is_explained(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/placing/probe.md").read_text(encoding="utf-8")
    assert execute([*command.split(), "--help"]) == 0
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out.split("Options:")[1])) - {"--help"}
    assert {"--output", "--json", "--level-names"} <= options
    assert [option for option in sorted(options) if f"`{option}`" not in page] == []


# ---- doctor ----------------------------------------------------------------------------------------------

FILE = """
format = "corewise-machine"
version = 1
name = "m"
[origin]
processor = "P 1"
[interconnect]
kind = "tree"
os_indexes = [0, 2]
[[interconnect.level]]
name = "core"
count = 2
up_bandwidth = "1 GB/s"
down_bandwidth = "1 GB/s"
hop_latency = "1 ns"
"""


def test_doctor_says_whether_the_host_has_changed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text(FILE)
    monkeypatch.setattr(host, "processor_text", lambda: "P 1")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2})
    same = host.machine_of_host(file)
    assert (same.present, same.found) == (True, "P 1, CPUs 0,2, as measured")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    fewer = host.machine_of_host(file)
    assert not fewer.present
    assert "measured CPUs 0,2, allowed here are 0-2" in fewer.found
    assert "measure again" in fewer.therefore
    monkeypatch.setattr(host, "processor_text", lambda: "P 2")
    assert "measured on 'P 1', this is 'P 2'" in host.machine_of_host(file).found
    file.write_text(FILE.replace('processor = "P 1"', "").replace("os_indexes = [0, 2]", ""))
    silent = host.machine_of_host(file)
    assert not silent.present
    assert "does not say" in silent.found

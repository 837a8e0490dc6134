"""Findings of made-up runs whose times are computed by hand.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest
import trace_writer as tw

from corewise.analysis.placement.comparison import study_placements
from corewise.analysis.profile.findings import KINDS, Findings, find_out, findings_of, look_at, study
from corewise.analysis.profile.findings.finding import Finding
from corewise.analysis.profile.findings.launching import ranks_with_a_core
from corewise.cli.main import execute
from corewise.data.machines import load_machine
from corewise.data.profile import load_profile
from corewise.data.tuned_hosts import known_collectives
from corewise.data.tuning import tuning_directory

INIT, STOP = 1_000, 500


def rank(number: int, size: int, cpus: Sequence[int] | None = None) -> tw.RankTrace:
    """A rank that has started MPI; a CPU of its own by default."""
    trace = tw.RankTrace(number, size, cpus=cpus, now=tw.START_TICKS)
    trace.put(tw.PLAIN, "MPI_Init", ticks=INIT)
    return trace


def until(trace: tw.RankTrace, others: Sequence[tw.RankTrace], procedure: str = "MPI_Barrier") -> None:
    """A collective that ends 100 ticks after the last of all came to it."""
    last = max(each.now for each in (trace, *others)) + 100
    for each in (trace, *others):
        each.put(tw.COLLECTIVE, procedure, size=8, ticks=last - each.now, site=1)


def written(folder: Path, ranks: Sequence[tw.RankTrace], **meta: object) -> Path:
    for trace in ranks:
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=STOP)
        trace.end_ticks = trace.now
    tw.write_run(folder, ranks)
    tw.write_meta(folder, **{"ranks": len(ranks), **meta})
    return folder


def kinds(found: Findings) -> list[str]:
    return [row.kind for row in found.rows]


@pytest.fixture
def uneven(tmp_path: Path) -> Path:
    """Rank 2 computes 9 us, the others 3 us, then all meet at a barrier of 100 ns."""
    ranks = [rank(number, 3) for number in range(3)]
    for trace, work in zip(ranks, (3_000, 3_000, 9_000), strict=True):
        trace.now += work
    until(ranks[0], ranks[1:])
    return written(tmp_path / "uneven.cw", ranks)


def test_efficiencies_are_pops(uneven: Path) -> None:
    found = find_out(uneven).efficiency
    assert found is not None
    run, useful = 9_100, (3_000, 3_000, 9_000)
    assert found.run_ns == pytest.approx(run)
    assert found.parallel == pytest.approx(sum(useful) / 3 / run)
    assert found.load_balance == pytest.approx(sum(useful) / 3 / 9_000)
    assert found.communication == pytest.approx(9_000 / run)
    assert found.load_balance * found.communication == pytest.approx(found.parallel)
    assert found.slowest == 2


def test_communication_is_serialisation_times_transfer(uneven: Path, tmp_path: Path) -> None:
    """The barrier costs 100 ns, and nobody waits for two ranks in turn; in a chain somebody does."""
    found = find_out(uneven).efficiency
    assert found is not None
    assert found.serialisation == pytest.approx(1)
    assert found.transfer == pytest.approx(9_000 / 9_100)
    first, second = rank(0, 2), rank(1, 2)
    first.now += 3_000
    first.put(tw.SEND, "MPI_Send", 1, 8, ticks=40)
    second.put(tw.RECEIVE, "MPI_Recv", 0, 8, ticks=3_100)
    second.now += 4_000
    found = find_out(written(tmp_path / "chain.cw", [first, second])).efficiency
    assert found is not None
    assert found.run_ns == pytest.approx(7_100)
    assert found.serialisation == pytest.approx(4_000 / 7_000)
    assert found.transfer == pytest.approx(7_000 / 7_100)
    assert found.serialisation * found.transfer == pytest.approx(found.communication)


def test_without_a_replay_there_is_neither(uneven: Path) -> None:
    found = findings_of(look_at(load_profile(uneven, waits=True))).efficiency
    assert found is not None
    assert (found.serialisation, found.transfer) == (None, None)


def test_the_rank_that_all_wait_for_is_named(uneven: Path) -> None:
    found = find_out(uneven)
    late = found.of("late-rank")
    assert late is not None
    assert late.rank == 2
    assert late.run_share == pytest.approx(2 * 6_000 / (3 * 9_100))
    assert late.mpi_share == pytest.approx(2 * 6_000 / (2 * 6_100 + 100))
    assert late.title == "the others wait for rank 2: 44.0 % of the run"
    assert "MPI_Barrier" in late.evidence and "1.80 times the mean" in late.evidence
    assert "corewise waits" in late.next and "uneven.cw" in late.next
    # It explains all of the waiting, and the uneven work: neither is told a second time.
    assert kinds(found) == ["computing", "late-rank"]


def test_late_senders_and_receivers_are_told_apart(tmp_path: Path) -> None:
    first, second = rank(0, 2), rank(1, 2)
    first.put(tw.RECEIVE, "MPI_Recv", peer=1, size=8, ticks=4_000)  # sent 3 us later
    second.now += 3_000
    second.put(tw.SEND, "MPI_Send", peer=0, size=8, ticks=1_000)
    second.put(tw.SEND, "MPI_Send", peer=0, size=8, ticks=2_500)  # received 2 us later
    first.now += 2_000
    first.put(tw.RECEIVE, "MPI_Recv", peer=1, size=8, ticks=500)
    found = find_out(written(tmp_path / "late.cw", [first, second]))
    sender, receiver = found.of("late-sender"), found.of("late-receiver")
    assert sender is not None and receiver is not None
    run = 2 * 6_500
    assert sender.run_share == pytest.approx(3_000 / run)
    assert receiver.run_share == pytest.approx(2_000 / run)
    assert (sender.procedure, receiver.procedure) == ("MPI_Recv", "MPI_Send")
    assert kinds(found)[:1] == ["communication"]
    # The largest share first, after the division of the run.
    shares = [row.run_share or 0.0 for row in found.rows[1:]]
    assert shares == sorted(shares, reverse=True)


def test_nothing_to_gain_is_said(tmp_path: Path) -> None:
    ranks = [rank(number, 2) for number in range(2)]
    for trace in ranks:
        trace.now += 1_000_000
    until(ranks[0], ranks[1:])
    found = find_out(written(tmp_path / "quiet.cw", ranks))
    assert kinds(found) == ["computing", "nothing"]
    assert found.rows[1].title == "nothing to gain here: MPI takes < 0.1 % of the run"


def test_start_and_stop_are_a_finding_of_short_runs(tmp_path: Path) -> None:
    ranks = [rank(number, 2) for number in range(2)]
    until(ranks[0], ranks[1:])
    startup = find_out(written(tmp_path / "short.cw", ranks)).of("startup")
    assert startup is not None and startup.run_share is not None
    assert startup.numbers["startup_ns"] == pytest.approx(INIT + STOP)
    assert startup.run_share == pytest.approx((INIT + STOP) / startup.numbers["wall_ns"])


# ---- the launch ------------------------------------------------------------------------------------------


def launched(folder: Path, cpus: Sequence[Sequence[int]], command: str = "mpiexec ./flow") -> Findings:
    """A run whose ranks may run on these CPUs."""
    ranks = [rank(number, len(cpus), each) for number, each in enumerate(cpus)]
    until(ranks[0], ranks[1:])
    words = command.split()
    return find_out(written(folder, ranks, command=words, program=words[-1:]))


@pytest.mark.parametrize(
    ("cpus", "kind", "share"),
    [
        ([[0], [1]], None, None),
        ([[0, 1], [2, 3]], None, None),
        ([[0], [0]], "more-ranks-than-cores", 1 / 2),
        ([[0, 1]] * 4, "more-ranks-than-cores", 1 / 2),
        ([[0], [0], [1, 2]], "sharing", 1 / 3),
        ([[0, 1], [0, 1]], "unbound", None),
    ],
)
def test_mistakes_of_a_launch_are_read_back(
    tmp_path: Path, cpus: list[list[int]], kind: str | None, share: float | None
) -> None:
    found = launched(tmp_path / "launched.cw", cpus)
    mistakes = {"more-ranks-than-cores", "sharing", "unbound", "ignored-binding"} & set(kinds(found))
    assert mistakes == ({kind} if kind else set())
    if kind and (finding := found.of(kind)) is not None:
        assert finding.run_share == (None if share is None else pytest.approx(share))


def test_a_mistake_of_the_launch_is_never_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More is found than there is room for, and its share is known; that of ranks that may move is not."""
    many = [Finding("late-sender", f"{share} %", "", "", run_share=share / 100) for share in range(20, 30)]
    monkeypatch.setattr(study, "RULES", (lambda _run: many,))
    found = launched(tmp_path / "loose.cw", [[0, 1], [0, 1]])
    assert len(found.rows) == study.MOST and kinds(found)[-1] == "unbound"
    told = [row.title for row in found.rows if row.kind == "late-sender"]
    assert told == [f"{share} %" for share in range(29, 29 - len(told), -1)]


@pytest.mark.parametrize("asked", ["--bind-to core", "-bind-to user:0,1", "--map-by pe-list=0,1:ordered"])
def test_a_binding_that_the_launcher_ignored_is_named(tmp_path: Path, asked: str) -> None:
    found = launched(tmp_path / "ignored.cw", [[0, 1], [0, 1]], f"mpiexec -n 2 {asked} ./flow")
    ignored = found.of("ignored-binding")
    assert ignored is not None and "the launcher ignored" in ignored.title
    assert found.of("unbound") is None
    obeyed = launched(tmp_path / "obeyed.cw", [[0], [1]], f"mpiexec -n 2 {asked} ./flow")
    assert obeyed.of("ignored-binding") is None


def test_a_quota_smaller_than_the_launch_is_named(uneven: Path) -> None:
    run = look_at(load_profile(uneven, waits=True), quota_cores=1.5)
    quota = findings_of(run).of("quota")
    assert quota is not None and quota.run_share == pytest.approx(0.5)
    assert findings_of(look_at(load_profile(uneven, waits=True), quota_cores=3.0)).of("quota") is None


def test_ranks_with_a_core_are_matched_as_well_as_can_be() -> None:
    """Against all ways to seat the ranks one after the other."""
    cases = [
        [{0}, {0, 1}, {1, 2}],
        [{0, 1}, {0}, {0}],
        [{2}, {2}, {0, 1, 2}, {2}],
        [{0, 1}, {1, 2}, {2, 0}, {0, 1, 2}],
    ]
    for case in cases:
        best = 0
        for order in permutations(case):
            for choice in permutations(range(3)):
                taken: set[int] = set()
                for cpus in order:
                    taken.update([cpu for cpu in choice if cpu in cpus and cpu not in taken][:1])
                best = max(best, len(taken))
        assert ranks_with_a_core([frozenset(each) for each in case]) == best


# ---- choices ---------------------------------------------------------------------------------------------


def test_many_small_messages_are_counted(tmp_path: Path) -> None:
    first, second = rank(0, 2), rank(1, 2)
    for _ in range(2_500):
        first.put(tw.SEND, "MPI_Send", peer=1, size=16, ticks=100)
        second.now = first.now
        second.put(tw.RECEIVE, "MPI_Recv", peer=0, size=16, ticks=100)
    found = find_out(written(tmp_path / "small.cw", [first, second])).of("small-messages")
    assert found is not None
    assert found.title == "2 500 of 2 500 messages carry less than 4 KiB, 16 B in the mean"
    assert found.numbers["messages"] == 2_500


def test_a_quicker_algorithm_is_taken_from_the_table(tmp_path: Path) -> None:
    """The row of the shipped file, read here by other means."""
    file = tuning_directory() / "collectives-shm-genuineintel-6-167-openmpi-2.csv"
    with file.open() as text:
        rows = [row for row in csv.reader(text) if row[:3] == ["all", "allreduce", "2"]]
    won, lost = rows[0][7].split()[0], rows[0][8]
    theirs = next(part for part in lost.split(" | ") if part.startswith("mpi ")).split()[1]
    ranks = [rank(number, 2) for number in range(2)]
    for _ in range(10):
        until(ranks[0], ranks[1:], "MPI_Allreduce")
    profile = load_profile(written(tmp_path / "reduce.cw", ranks), waits=True)
    tables = [each for each in known_collectives("openmpi") if each.path == file]
    found = findings_of(look_at(profile, tables=tables)).of("collective-algorithm")
    assert found is not None and found.run_share is not None
    assert found.numbers["ours_us"] == float(won) and found.numbers["mpi_us"] == float(theirs)
    # All of this run is in that collective, and nobody waits.
    assert found.run_share == pytest.approx(1 - float(won) / float(theirs), rel=1e-3)
    assert rows[0][6] in found.title and found.procedure == "MPI_Allreduce"
    assert findings_of(look_at(profile, tables=[])).of("collective-algorithm") is None


def test_placement_gains_or_has_nothing_to_gain(tmp_path: Path) -> None:
    """Ranks that talk to the rank half way round a ring of units, and ranks that talk to their neighbours."""
    for name, step, gains in (("far", 4, True), ("near", 1, False)):
        ranks = [rank(number, 8) for number in range(8)]
        for trace in ranks:
            trace.put(tw.SEND, "MPI_Send", (trace.rank + step) % 8, 1 << 20, ticks=1_000)
            trace.put(tw.RECEIVE, "MPI_Recv", (trace.rank - step) % 8, 1 << 20, ticks=1_000)
        profile = load_profile(written(tmp_path / f"{name}.cw", ranks), waits=True)
        study = study_placements(profile.pattern(), load_machine("ring:8"))
        found = findings_of(look_at(profile, study=study))
        finding = found.of("placement" if gains else "placement-best")
        assert finding is not None, kinds(found)
        assert finding.numbers["ratio"] == pytest.approx(study.row("identity").ratio)
        assert (finding.numbers["ratio"] > 1.5) == gains


def test_reports_open_with_the_findings(uneven: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["report", str(uneven)]) == 0
    out = capsys.readouterr().out
    opening = out[out.index("findings") : out.index("bytes sent")]
    assert "parallel efficiency 54.9 % = load balance 55.6 % x communication efficiency 98.9 %" in opening
    assert "(serialisation 100.0 % x transfer 98.9 %)" in opening
    assert "2. the others wait for rank 2: 44.0 % of the run" in opening
    assert execute(["report", str(uneven), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in told["findings"]] == ["computing", "late-rank"]
    assert told["findings"][1]["rank"] == 2
    assert set(KINDS) >= {row["kind"] for row in told["findings"]}
    assert told["efficiency"]["slowest"] == 2


def test_names_of_patterns_that_say_nothing_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for size, named in ((2, False), (4, True)):
        folder = tw.ring_run(tmp_path / f"ring{size}.cw", size=size)
        assert execute(["report", str(folder)]) == 0
        assert ("degree of match" in capsys.readouterr().out) == named
        assert execute(["report", str(folder), "--json"]) == 0
        assert (json.loads(capsys.readouterr().out)["pattern"]["name"] is not None) == named

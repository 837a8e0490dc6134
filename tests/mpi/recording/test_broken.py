"""Programs that hang, crash or are ended: what the report says of each, on both MPIs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from installed_tool import corewise, document
from preload_runs import SOURCES, described, preload, program
from trace_decoder import decode_folder

from corewise.analysis.profile.findings import find_out
from corewise.analysis.profile.hangs import RunEnd, explain_end
from corewise.data.profile import load_profile
from corewise.data.quantities import count_text
from corewise.mpi import launch

pytestmark = pytest.mark.first_test

SOURCE = (SOURCES / "broken.c").read_text().splitlines()


def line(mark: str) -> str:
    """Where the program says ``here: MARK``."""
    return f"broken.c:{1 + next(i for i, text in enumerate(SOURCE) if text.endswith(f'// here: {mark}'))}"


def ended(name: str, how: str, folder: Path) -> RunEnd:
    """The end of a run of broken.c."""
    plan = launch.plan([str(program(name, "broken")), how], ranks=2, mpi=str(described(name).launcher))
    options = launch.RecordOptions(preload=preload(name), timeout_s=60)
    with (folder.parent / "out").open("w") as out:
        outcome = launch.record(plan, folder, options, out)
    assert outcome.exit_status not in (0, launch.TIMED_OUT)
    profile = load_profile(folder)
    assert profile.world.size == 2 and len(profile.world.ranks) == 2
    return explain_end(profile.world)


def doing(end: RunEnd) -> list[str]:
    """What each rank did; how long, is not the same in every run."""
    return [re.sub(r", since .*", "", state.doing) for state in end.ranks]


def hung_ns(end: RunEnd) -> list[float]:
    """For how long each rank had been in its call."""
    return [state.since_ns for state in end.ranks]


def test_deadlock_by_send(name: str, tmp_path: Path) -> None:
    end = ended(name, "send", tmp_path / "p.cw")
    words = f"4 MiB ({count_text(1 << 20)} MPI_INT), tag 7"
    assert doing(end) == [f"in MPI_Send to {1 - rank}, {words}, {line('send')}" for rank in range(2)]
    assert all(0.3e9 < each < 60e9 for each in hung_ns(end))
    assert end.deadlocks == ((0, 1),)
    assert end.statements == ("deadlock: rank 0 in MPI_Send waits for rank 1 in MPI_Send waits for rank 0",)
    found = find_out(tmp_path / "p.cw")
    assert found.rows[0].kind == "unfinished"
    assert found.rows[0].title == f"the run did not finish: {end.statements[0]}"
    assert found.of("nothing") is None
    profile = load_profile(tmp_path / "p.cw")
    time_ns = dict(zip(profile.world.procedures, profile.world.time_ns.sum(axis=0), strict=True))
    assert time_ns["MPI_Send"] > 10 * time_ns["MPI_Barrier"]
    assert all(rank.wall_ns > 0.3e9 for rank in profile.world.ranks)
    for rank, trace in decode_folder(tmp_path / "p.cw").items():
        (call,) = trace.open[0]
        assert call.event == ("MPI_Send", "send", 1 - rank, 7, 4 << 20)
        assert trace.datatypes[call.datatype].name == "MPI_INT"


def test_deadlock_by_wildcard(name: str, tmp_path: Path) -> None:
    end = ended(name, "wildcard", tmp_path / "p.cw")
    asked = f"in MPI_Recv from any rank, up to 80 B (10 MPI_DOUBLE), any tag, {line('wildcard')}"
    assert doing(end) == [asked, asked]
    assert end.deadlocks == ((0, 1),)


def test_deadlock_by_collective(name: str, tmp_path: Path) -> None:
    end = ended(name, "collective", tmp_path / "p.cw")
    assert doing(end)[0].startswith("in MPI_Barrier on MPI_COMM_WORLD, broken.c:")
    assert doing(end)[1] == f"in MPI_Recv from 0, up to 4 B (1 MPI_INT), tag 7, {line('collective')}"
    assert end.deadlocks == ((0, 1),)


def test_deadlock_by_requests(name: str, tmp_path: Path) -> None:
    end = ended(name, "requests", tmp_path / "p.cw")
    for rank, said in enumerate(doing(end)):
        asked = "; ".join(f"receive from {1 - rank}, up to 4 B (1 MPI_INT), tag {tag}" for tag in (7, 8))
        assert said == f"in MPI_Waitall on 2 requests ({asked}), {line('requests')}"
    assert end.deadlocks == ((0, 1),)


def test_missing_receive(name: str, tmp_path: Path) -> None:
    end = ended(name, "missing", tmp_path / "p.cw")
    assert doing(end)[0] == f"in MPI_Ssend to 1, 12 B (3 MPI_INT), tag 7, {line('missing')}"
    assert end.ranks[0].waits_for == (1,)
    # Whether MPI_Finalize waits is the MPI's own affair.
    if end.ranks[1].state == "in call":
        assert doing(end)[1].startswith("in MPI_Finalize, broken.c:")
        assert end.deadlocks == ((0, 1),)
    else:
        assert end.statements == ("rank 0 waits for rank 1, which finished",)


def test_wrong_root(name: str, tmp_path: Path) -> None:
    end = ended(name, "root", tmp_path / "p.cw")
    assert doing(end) == [
        f"in MPI_Bcast from root {1 - rank} on MPI_COMM_WORLD, {line('root')}" for rank in range(2)
    ]
    assert "rank 0 is in MPI_Bcast from root 1, where rank 1 called MPI_Bcast from root 0" in end.statements


def test_truncation(name: str, tmp_path: Path) -> None:
    """Open MPI then kills the rank; MPICH 5.0 crashes in its own handling of the error."""
    end = ended(name, "truncation", tmp_path / "p.cw")
    assert f"in MPI_Recv from 0, up to 40 B (10 MPI_INT), tag 7, {line('truncation')}" in end.ranks[1].doing
    assert end.statements[0] == (
        "a message of 400 B from rank 0 is longer than the 40 B that rank 1 has for it in MPI_Recv, "
        + line("truncation")
    )


def test_abort(name: str, tmp_path: Path) -> None:
    end = ended(name, "abort", tmp_path / "p.cw")
    assert end.ranks[1].doing == f"called MPI_Abort with code 9, {line('abort')}"
    assert end.statements[0] == f"rank 1 called MPI_Abort with code 9, {line('abort')}"


def test_crash_after_finalize(name: str, tmp_path: Path) -> None:
    """The other rank may have finished too, or be inside: the launcher ends it."""
    end = ended(name, "late", tmp_path / "p.cw")
    assert end.ranks[1].state == "finished"
    (said,) = end.statements
    place = rf"(crash_late\(\)|.*, called from crash_late\(\)), {line('late')}"
    assert re.fullmatch(f"rank 1 finished, then SIGABRT in {place}", said)


def test_leave(name: str, tmp_path: Path) -> None:
    """_exit() leaves no note, and nobody is said to have ended them."""
    end = ended(name, "leave", tmp_path / "p.cw")
    assert [state.crash for state in end.ranks] == ["", ""]
    assert end.statements == (
        "no end of ranks 0-1 was noted, and no rank is known to have waited for another: "
        "SIGKILL, SIGTERM, _exit() and exec leave no note",
    )


def test_crash(name: str, tmp_path: Path) -> None:
    end = ended(name, "crash", tmp_path / "p.cw")
    assert end.ranks[1].state == "crashed"
    assert end.statements == (f"rank 1: SIGSEGV in solve(), {line('crash')}",)
    assert doing(end)[0] == f"in MPI_Recv from 1, up to 4 B (1 MPI_INT), tag 0, {line('other')}"


def test_kill(name: str, tmp_path: Path) -> None:
    """Nothing in the rank can say that it was killed: the others wait for it, and it was in no call."""
    end = ended(name, "kill", tmp_path / "p.cw")
    assert end.ranks[1].state == "outside"
    assert re.fullmatch(
        rf"outside of MPI since [\d.]+ .s, after MPI_Barrier at {line('barrier')}", end.ranks[1].doing
    )
    (said,) = end.statements
    assert said.startswith("rank 0 waits for rank 1, which was outside of MPI since")


def test_out_of_memory(name: str, tmp_path: Path) -> None:
    end = ended(name, "memory", tmp_path / "p.cw")
    assert re.fullmatch(
        rf"SIGSEGV in (grow\(\)|.*, called from grow\(\)), {line('memory')}", end.ranks[1].doing
    )


def test_disk_full(name: str, tmp_path: Path) -> None:
    end = ended(name, "disk", tmp_path / "p.cw")
    said = f"ended by exit() without MPI_Finalize, after MPI_Barrier at {line('barrier')}"
    assert end.ranks[1].doing == said
    assert end.statements[0] == f"rank 1 {said}"


def test_the_report_opens_with_it(tmp_path: Path) -> None:
    """A run that hangs is ended by ``--timeout``; on a busy host the ranks need some of it to begin."""
    folder, target = tmp_path / "p.cw", str(program("openmpi", "broken"))
    options = ("--mpi", str(described("openmpi").launcher), "--preload", str(preload("openmpi")))
    ran = corewise(
        "run", "-n", "2", "--timeout", "20 s", *options, "-o", str(folder), "--", target, "send", "hang"
    )
    assert ran.returncode == 124
    assert "ended after 20 s" in ran.stderr
    done = corewise("report", str(folder))
    assert done.returncode == 0, done.stderr
    shown = done.stdout
    assert "deadlock: rank 0 in MPI_Send waits for rank 1 in MPI_Send waits for rank 0" in shown
    assert f"rank 1: in MPI_Send to 0, 4 MiB ({count_text(1 << 20)} MPI_INT), tag 7" in shown
    found = document("report", folder)
    assert found["end"]["deadlocks"] == [[0, 1]]
    assert [each["waits_for"] for each in found["end"]["ranks"]] == [[1], [0]]
    assert found["rows"][0]["procedure"] == "MPI_Send"


def test_the_page_says_how_a_run_ended(tmp_path: Path) -> None:
    end = ended("mpich", "send", tmp_path / "p.cw")
    page = tmp_path / "report.html"
    done = corewise("report", tmp_path / "p.cw", "--html", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    section = text[text.index('id="end"') :]
    section = section[: section.index("</section>")]
    assert f"<b>{end.statements[0]}</b>" in section
    rows = re.findall(r"<tr><td>(\d)</td><td[^>]*>(.*?)</td></tr>", section)
    assert rows == [(str(each.rank), each.doing) for each in end.ranks]

"""`corewise bench fft`: rows and shares by hand, contestants that fail, and the command with all it needs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from installed_tool import COREWISE

from corewise.bench.fft import contestants, study
from corewise.bench.fft.contestants import Contestant, Launch
from corewise.bench.fft.study import Request, share_of
from corewise.bench.programs import folder_of, has_header
from corewise.bench.rows import Listener
from corewise.errors import InputError, RunError
from corewise.mpi import find

MPI = find.MpiLibrary("openmpi", "5.0", Path("/"), Path("/bin/mpiexec"), Path("/lib/libmpi.so"), (), ())


def event(kind: str, begin: float, length: float) -> dict[str, object]:
    return {"cat": kind, "ts": begin, "dur": length}


def test_the_hidden_share_by_hand() -> None:
    # Transfers from 10 to 30 and from 50 to 60, work from 0 to 15, 20 to 25 and 55 to 70: 15 of 30.
    events = [event("transfer", 10, 15), event("transfer", 20, 10), event("transfer", 50, 10)]
    events += [event("work", 0, 15), event("work", 5, 7), event("work", 20, 5), event("work", 55, 15)]
    assert share_of(events) == pytest.approx(0.5)
    assert share_of([event("work", 0, 5)]) == 0


def test_rows_say_the_order_of_both_results() -> None:
    times = {
        "transposed": [1.0, 2.0],
        "natural": [2.0, 2.0],
        "fftw-mpi-transposed": [2.0, 4.0],
        "fftw-threads": [4.0, 4.0],
    }
    rows = {row.id: row for row in study.compared(64, MPI, times)}
    assert list(rows) == [
        *(
            "fft-64-transposed-fftw-mpi-transposed",
            "fft-64-transposed-fftw-threads",
            "fft-64-natural-fftw-threads",
        )
    ]
    first = rows["fft-64-transposed-fftw-mpi-transposed"]
    assert (first.ratio, first.demand) == (2, 1.4)
    assert (first.more["our_output"], first.more["their_output"]) == ("transposed", "transposed")
    assert (rows["fft-64-natural-fftw-threads"].ratio, rows["fft-64-natural-fftw-threads"].demand) == (2, 1)


def test_wrong_requests_are_refused() -> None:
    with pytest.raises(InputError, match="--cases: found 'some', allowed: rivals, forms, overlap, idle, all"):
        assert Request(cases="some").wanted
    assert Request(sides=(64,), rounds=3).effort == study.Effort(3, (64,))


def launch(text: str) -> Launch:
    return Launch((sys.executable, "-c", text), dict(os.environ))


def test_a_contestant_takes_turns_and_ends() -> None:
    text = (
        "import sys\nprint('noise')\nprint('ready', flush=True)\n"
        "for i, line in enumerate(iter(sys.stdin.readline, 'end\\n')):\n"
        "    print(f'turn ms={i + 0.5}', flush=True)"
    )
    with contestants.contestants({"one": launch(text), "two": launch(text)}) as ready:
        assert [ready[name].turn() for name in ("one", "two", "one")] == [0.5, 0.5, 1.5]


def test_a_contestant_that_fails_is_named_with_its_words() -> None:
    with pytest.raises(RunError, match=r"bench fft: one: ended before its turn: no plan"):
        Contestant("one", launch("raise SystemExit('no plan')"))
    lost = Contestant(
        "two", launch("import sys\nprint('ready', flush=True)\nsys.stdin.readline()\nsys.exit('gone')")
    )
    with pytest.raises(RunError, match="bench fft: two: ended before its turn: gone"):
        lost.turn()


def test_the_rivals_in_python_get_the_input_that_fft2d_makes() -> None:
    spec = importlib.util.spec_from_file_location("turns", folder_of("fft") / "turns.py")
    assert spec is not None and spec.loader is not None
    turns = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(turns)
    whole = turns.part_of_input(0, 12)
    assert np.array_equal(turns.part_of_input(5, 7), whole[5:])
    # Number 2 of seed 1, in Python's integers.
    mask = (1 << 64) - 1

    def mixed(x: int) -> int:
        x = (x + 0x9E3779B97F4A7C15) & mask
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        return x ^ (x >> 31)

    assert whole[1].real == (mixed((mixed(1) + 2) & mask) >> 11) * 2.0**-52 - 1.0


def test_wrong_options_end_with_2() -> None:
    for words, said in ((["--size", "8"], "--size: found 8"), (["--peers", "none"], "--peers: found 'none'")):
        done = subprocess.run(
            [str(COREWISE), "bench", "fft", *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert said in done.stderr


def measured(*words: str) -> set[str]:
    """The ids of the command's rows."""
    if not has_header("fftw3.h"):
        pytest.skip("capability: no FFTW (libfftw3-dev)")
    command = [str(COREWISE), "bench", "fft", "--size", "128", "--rounds", "2", "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {row["id"] for row in json.loads(done.stdout)["rows"]}


def test_the_command_measures_overlap() -> None:
    assert measured("--mpi", "mpich", "--cases", "overlap") == {
        *("fft-overlap-dataflow-128", "fft-overlap-nonblocking-128")
    }


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="capability: two CPUs")
def test_the_command_measures_an_idle_processor() -> None:
    assert measured("--mpi", "mpich", "--cases", "idle") == {"fft-idle-128"}


def test_rows_of_an_idle_processor_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks: list[int] = []

    def ours(mpi: find.MpiLibrary, program: Path, side: int, form: str, count: int) -> Launch:
        ranks.append(count)
        return Launch((form,), {})

    monkeypatch.setattr(study, "ours", ours)
    monkeypatch.setattr(study, "turns", lambda *_: {"spared": [8.0, 8.0], "all": [4.0, 12.0]})
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    (row,) = study.idle_rows(Listener(), study.QUICK, MPI, Path("fft2d"))
    assert (row.id, row.ours, row.theirs, row.ratio, ranks) == ("fft-idle-1024", 8, 8, 1, [7, 8])
    assert list(study.idle_remarks()) == []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert "2 processors: of fewer than 8 it is not said" in next(study.idle_remarks())
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert list(study.idle_rows(Listener(), study.QUICK, MPI, Path("fft2d"))) == []


@pytest.mark.long_test
def test_the_command_measures_rivals_and_forms() -> None:
    assert "fft-128-natural-fftw-threads" in measured("--cases", "rivals")
    assert "fft-form-dataflow-128" in measured("--cases", "forms")

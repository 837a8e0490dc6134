"""How packing is measured, from outside: what apps/packing sends, what ``corewise bench pack`` launches.

No test looks at a time.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import subprocess
from itertools import groupby
from typing import Any

import pytest
from conftest import ROOT, Mpi, find_mpi
from packing_runs import SOURCES as WITNESS

from corewise.analysis.bench_pack import run_bench
from corewise.analysis.bench_pack_runs import Effort
from corewise.analysis.bench_pack_views import noise_text

PROGRAM = sorted((ROOT / "apps" / "packing").glob("*.cpp"))
CASES = ("constant/4", "constant/64", "constant/2048", "columns/256")
WAYS = ("contiguous", "datatype", "mpi-pack", "loop")
TURN_STEPS = 8  # of a way in a turn, behind one that is not timed
FIRST_STEPS = 3  # to see how long a step takes


@pytest.fixture(scope="module")
def sent(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[str, int, int]]]:
    """By rank: every message's way, changed windows and windows."""
    folder = tmp_path_factory.mktemp(mpi.name)
    program = mpi.build(folder / "packing", *PROGRAM, flags=("-O0",))
    witness = mpi.build(folder / "witness.so", WITNESS / "witness.c", flags=("-shared", "-fPIC"))
    # The shortest budget that measures at all: as many steps for every way.
    words = ["--cases", ",".join(CASES), "--ways", ",".join(WAYS), "--budget", "0.001"]
    env = {**mpi.yield_env, "LD_PRELOAD": str(witness), "COREWISE_WITNESS_OUT": str(folder / "sent")}
    done = mpi.run(2, program, words, env)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [(folder / f"sent.{rank}").read_text().split("\n")[:-1] for rank in range(2)]
    return [[(way, int(a), int(b)) for way, a, b in map(str.split, rank)] for rank in lines]


def test_sources_are_rewritten_before_every_transfer(sent: list[list[tuple[str, int, int]]]) -> None:
    """No 64 bytes of a message are those of the last one of its way."""
    for messages in sent:
        compared = [message for message in messages if message[2] > 0]
        assert len(compared) > len(messages) * 9 // 10
        assert [message for message in compared if message[1] != message[2]] == []


def test_the_order_of_the_ways_rotates(sent: list[list[tuple[str, int, int]]]) -> None:
    """Every way in turn, and each turn begins with the next one."""
    for messages in sent:
        per_case, rest = divmod(len(messages), len(CASES))
        assert rest == 0
        for case in range(len(CASES)):
            part = messages[case * per_case : (case + 1) * per_case]
            runs = [(way, len(list(run))) for way, run in groupby(message[0] for message in part)]
            trial, turns = runs[: len(WAYS)], runs[len(WAYS) :]
            assert {length for _, length in trial} == {FIRST_STEPS}
            names = [way for way, _ in trial]
            assert len(set(names)) == len(WAYS)
            assert len(turns) >= 2 * len(WAYS)
            for turn in range(len(turns) // len(WAYS)):
                order = [way for way, _ in turns[turn * len(WAYS) : (turn + 1) * len(WAYS)]]
                first = turn % len(WAYS)
                assert order == names[first:] + names[:first]
            assert {length for _, length in turns[: len(WAYS)]} == {TURN_STEPS + 1}


def test_launches_alternate_with_cma_and_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPICH in both settings; the library's launch is the first every other time; others' share is told."""
    launched: list[tuple[bool, bool]] = []
    said: list[str] = []
    real = subprocess.run

    def recorded(command: Any, *arguments: Any, **options: Any) -> Any:
        done = real(command, *arguments, **options)
        words = [command] if isinstance(command, str) else [str(word) for word in command]
        if "--directions" in words:
            text = " ".join(words)
            launched.append(("MPIR_CVAR_CH4_CMA_ENABLE" in text, "libcorewise-packing.so" in text))
            said.append(done.stdout)
            assert ("CMA_ENABLE 0" in text) == launched[-1][0]
        return done

    monkeypatch.setattr(subprocess, "run", recorded)
    result = run_bench(
        mpi=str(find_mpi("mpich").prefix),
        parts=("columns",),
        effort=Effort(2, 0.0, 0, True),
        cases=["columns/32"],
    )
    assert [study.setting.name for study in result.studies] == ["mpich", "mpich-no-cma"]
    alternating = [False, True, True, False]
    assert launched == [(cma_off, library) for cma_off in (False, True) for library in alternating]
    shares = [float(share) for text in said for share in re.findall(r" foreign=([\d.]+)", text)]
    assert len(shares) == len(said) and result.loudest == max(shares)
    assert f"{100 * max(shares):.1f} % of the processors" in noise_text(result)

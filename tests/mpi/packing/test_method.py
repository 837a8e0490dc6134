"""How packing is measured, from outside: what apps/packing sends, what ``corewise bench pack`` launches.

No test looks at a time.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
import re
import subprocess
from itertools import groupby
from typing import Any, NamedTuple

import pytest
from conftest import ROOT, Mpi, find_mpi
from packing_runs import SOURCES as WITNESS

from corewise.bench.pack import runs as bench_pack_runs
from corewise.bench.pack import study as bench_pack_study
from corewise.bench.pack.runs import Effort
from corewise.bench.pack.study import run_bench
from corewise.bench.pack.views import noise_text

PROGRAM = sorted((ROOT / "apps" / "packing").glob("*.cpp"))
CASES = ("elements/4", "elements/64", "elements/512", "columns/256")  # of different lengths
WAYS = ("contiguous", "datatype", "mpi-pack", "loop")
TURN_STEPS = 8  # of a way in a turn, behind one that is not timed
FIRST_STEPS = 3  # to see how long a step takes
LEAST_STEPS, FEW_STEPS = 9, 3  # that are timed; the few are for a way whose first steps were slow


class Sent(NamedTuple):
    """What a run of apps/packing sent."""

    messages: list[list[Message]]
    """By rank."""
    slow: dict[str, set[str]]
    """By case its ways of which few steps were timed, by the program's own words."""


class Message(NamedTuple):
    """A line of the witness (tests/mpi/packing/witness.c)."""

    way: str
    bytes: int
    changed: int
    windows: int


@pytest.fixture(scope="module")
def sent(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Sent:
    """Every message."""
    folder = tmp_path_factory.mktemp(mpi.name)
    program = mpi.build(folder / "packing", *PROGRAM, flags=("-O0",))
    witness = mpi.build(folder / "witness.so", WITNESS / "witness.c", flags=("-shared", "-fPIC"))
    # The shortest budget that measures at all.
    words = ["--cases", ",".join(CASES), "--ways", ",".join(WAYS), "--budget", "0.001"]
    env = {**mpi.yield_env, "LD_PRELOAD": str(witness), "COREWISE_WITNESS_OUT": str(folder / "sent")}
    done = mpi.run(2, program, words, env)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [(folder / f"sent.{rank}").read_text().split("\n")[:-1] for rank in range(2)]
    messages = [
        [Message(way, int(a), int(b), int(c)) for way, a, b, c in map(str.split, rank)] for rank in lines
    ]
    timed = re.findall(r"^time case=(\S+) .*way=(\S+) .*n=(\d+) ", done.stdout, re.MULTILINE)
    assert [(case, way) for case, way, _ in timed] == [(case, way) for case in CASES for way in WAYS]
    assert {int(n) for *_, n in timed} <= {LEAST_STEPS, FEW_STEPS}
    slow = {case: {way for name, way, n in timed if (name, int(n)) == (case, FEW_STEPS)} for case in CASES}
    return Sent(messages, slow)


def test_sources_are_rewritten_before_every_transfer(sent: Sent) -> None:
    """No 64 bytes of a message are those of the last one of its way."""
    for messages in sent.messages:
        compared = [message for message in messages if message.windows > 0]
        assert len(compared) == len(messages) - len(CASES) * len(WAYS)
        assert [message for message in compared if message.changed != message.windows] == []


def expected_order(names: list[str], slow: set[str]) -> list[str]:
    """Trial, a turn of 8 timed steps, and one of the ninth; slow ways leave behind their few steps."""
    order = [way for way in names for _ in range(FIRST_STEPS)]
    for way in names:
        order += [way] * (1 + (FEW_STEPS if way in slow else TURN_STEPS))
    for way in names[1:] + names[:1]:
        order += [] if way in slow else [way] * (1 + LEAST_STEPS - TURN_STEPS)
    return order


def test_the_order_of_the_ways_rotates(sent: Sent) -> None:
    """Every way in turn, and each turn begins with the next one."""
    for messages in sent.messages:
        cases = [[message.way for message in case] for _, case in groupby(messages, lambda m: m.bytes)]
        for ways, case in zip(cases, CASES, strict=True):
            # The witness has its own words for them.
            named = dict(zip(WAYS, dict.fromkeys(ways), strict=True))
            assert ways == expected_order(list(named.values()), {named[way] for way in sent.slow[case]})


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
    monkeypatch.setattr(bench_pack_runs, "DISTANCE_LIMIT", math.inf)  # no round is left out
    monkeypatch.setattr(bench_pack_study, "losers_of", lambda measured: ())  # nothing is measured again
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

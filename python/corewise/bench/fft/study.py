"""`corewise bench fft`: a two-dimensional transform of complex doubles, beside what people use now.

``rivals``: apps/fft2d in its form for shared memory, on two cores, against FFTW MPI, FFTW's threads, DUCC and
mpi4py-fft on the same cores. Every row says in which order, or how spread, the results of both are.
``forms``: the forms of paper 004's section 8 against its pure-MPI form with a blocking all-to-all.
``overlap``: two ranks on a link that is slowed down until the exchange takes nearly as long as a pass: the
flow, which computes meanwhile, against the blocking form; and the share of the communication that it hid.
``idle``: pure MPI on one processor less than there are, against all of them (section 7).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corewise.base import late
from corewise.errors import InputError, RunError

with late.imports():
    from corewise.analysis.noise.spare import FEWEST_CORES
    from corewise.bench import mpis
    from corewise.bench.fft import contestants as who
    from corewise.bench.fft.contestants import Launch
    from corewise.bench.fft.engines import FFTW, engine_here, has_fftw
    from corewise.bench.peers import Peer
    from corewise.bench.rounds import beside, in_turns, rounded
    from corewise.bench.rows import Listener, Outcome, Row
    from corewise.mpi import find

ALL = "all"
CASES = ("rivals", "forms", "overlap", "idle")
MOST_RANKS = 2
"""Of contestants: the goals are for two cores."""
OVERLAP_DEMAND = 1.3
_SUMMARY = re.compile(r"^fft2d .*\bmedian_ms=([\d.]+)", re.M)
LIMIT_S = 600.0


@dataclass(frozen=True)
class Effort:
    """Rounds, and sides of the matrices."""

    rounds: int
    sides: tuple[int, ...]


FULL = Effort(15, (2048, 4096, 8192))
QUICK = Effort(5, (1024,))
ROUNDS_OF_A_LAUNCH = 5
"""Of overlap, at most."""


@dataclass(frozen=True)
class Rival:
    """Whom ours is held against: its name, how its result lies, and what ours must reach in either order."""

    name: str
    output: str
    transposed: float | None
    natural: float | None


RIVALS: Mapping[str, Rival] = {
    "fftw-mpi-transposed": Rival("FFTW MPI, 2 ranks", "transposed", 1.4, None),
    "fftw-mpi-natural": Rival("FFTW MPI, 2 ranks", "natural", 2.5, 1.0),
    "fftw-threads": Rival("FFTW, 2 threads", "natural", 1.5, 1.0),
    "ducc": Rival("DUCC, 2 threads", "natural", 1.5, 1.0),
    "mpi4py-fft": Rival("mpi4py-fft, 2 ranks", "natural order, spread along the other axis", 3.5, 1.0),
}
FORMS = ("nonblocking", "dataflow", "shared")
"""Beside `blocking`."""


@dataclass(frozen=True)
class Request:
    """What is measured."""

    cases: str = ALL
    mpi: str | None = None
    peers: Path | None = None
    sides: tuple[int, ...] = ()
    rounds: int | None = None
    quick: bool = False

    @property
    def effort(self) -> Effort:
        """The mode's, but for what is given."""
        effort = QUICK if self.quick else FULL
        return Effort(self.rounds or effort.rounds, self.sides or effort.sides)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The cases."""
        if self.cases not in (ALL, *CASES):
            raise InputError(f"--cases: found '{self.cases}', allowed: {', '.join((*CASES, ALL))}")
        return CASES if self.cases == ALL else (self.cases,)


def run_bench(listener: Listener, request: Request) -> Outcome:
    """Rows of the cases, and who was absent."""
    wanted = request.wanted
    mpi = mpis.chosen(request.mpi)[0]
    program = who.build_fft2d(listener, mpi, engine_here(listener))
    rows: list[Row] = []
    absent: list[Peer] = []
    for index, case in enumerate(wanted):
        part = listener.part(index / len(wanted), (index + 1) / len(wanted))
        if case == "rivals":
            others, absent = rivals_here(part, request.peers)
            rows += rival_rows(part, request.effort, mpi, program, others)
        elif case == "forms":
            rows += form_rows(part, request.effort, mpi, program)
        elif case == "idle":
            rows += idle_rows(part, request.effort, mpi, program)
        else:
            rows += overlap_rows(part, request.effort, mpi, program)
    return Outcome("fft", tuple(rows), tuple(absent), tuple(idle_remarks()) if "idle" in wanted else ())


def cores() -> int:
    """Of the goals."""
    return min(MOST_RANKS, len(os.sched_getaffinity(0)))


def ours(mpi: find.MpiLibrary, program: Path, side: int, form: str, ranks: int, *more: str) -> Launch:
    """A launch of apps/fft2d that takes turns."""
    words = ["--size", f"{side}x{side}", "--form", form, "--turns", *more]
    return who.on_ranks(mpi, program, words, ranks)


# ---- rivals ------------------------------------------------------------------------------------------------


def rivals_here(listener: Listener, peers: Path | None) -> tuple[dict[str, Launch], list[Peer]]:
    """How each rival that is here is launched, ``{side}`` in place of the side; and who is absent."""
    here: dict[str, Launch] = {}
    absent: list[Peer] = []
    threads = str(cores())
    if has_fftw():
        here["fftw-threads"] = who.alone(who.build_fftw_threads(listener), "{side}", threads)
    else:
        absent.append(FFTW)
    if (mpi := who.mpi_of_fftw()) is not None:
        program = who.build_fftw_mpi(listener, mpi)
        for order in ("transposed", "natural"):
            here[f"fftw-mpi-{order}"] = who.on_ranks(mpi, program, ["{side}", order], cores())
    else:
        absent.append(who.FFTW_MPI)
    for key, module, peer in (("ducc", "ducc0", who.DUCC), ("mpi4py-fft", "mpi4py_fft", who.MPI4PY_FFT)):
        if peers is None or not who.python_has(peers, module):
            absent.append(peer)
        elif key == "ducc":
            here[key] = who.alone(peers, who.script("turns_ducc.py"), "{side}", threads)
        else:
            words = [who.script("turns_mpi4py_fft.py"), "{side}"]
            here[key] = who.on_ranks(who.mpi_of_fftw() or mpis.chosen(None)[0], peers, words, cores())
    return here, absent


def with_side(launched: Launch, side: int) -> Launch:
    """The side in its place."""
    return replace(launched, words=tuple(word.replace("{side}", str(side)) for word in launched.words))


def rival_rows(
    listener: Listener, effort: Effort, mpi: find.MpiLibrary, program: Path, others: Mapping[str, Launch]
) -> Iterator[Row]:
    """All of one side take turns; then rows for ours in both orders."""
    threads = ("--threads", str(cores()))
    for index, side in enumerate(effort.sides):
        launches = {
            "transposed": ours(mpi, program, side, "shared", 1, *threads),
            "natural": ours(mpi, program, side, "shared", 1, *threads, "--order", "natural"),
            **{key: with_side(launched, side) for key, launched in others.items()},
        }
        part = listener.part(index / len(effort.sides), (index + 1) / len(effort.sides))
        yield from compared(side, mpi, turns(part, launches, effort.rounds))


def turns(listener: Listener, launches: Mapping[str, Launch], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each contestant in every round, after one that warms up."""
    with who.contestants(launches) as ready:
        for each in ready.values():
            each.turn()
        found = in_turns({name: each.turn for name, each in ready.items()}, rounds, listener.progress)
    return {name: [result[name] for result in found] for name in launches}


def compared(side: int, mpi: find.MpiLibrary, times: Mapping[str, Sequence[float]]) -> Iterator[Row]:
    """A row per order of ours and rival."""
    for order in ("transposed", "natural"):
        for key, rival in RIVALS.items():
            if key not in times or (order == "natural" and rival.natural is None):
                continue
            what = f"{side}x{side}, ours {order}, theirs {rival.output}; {cores()} cores"
            demand = rival.transposed if order == "transposed" else rival.natural
            blank = Row(
                f"fft-{side}-{order}-{key}", what, "ms", None, rival.name, mpi=mpis.title(mpi), demand=demand
            )
            outputs = {"our_output": order, "their_output": rival.output}
            yield replace(beside(blank, times[order], times[key]), more=outputs)


# ---- forms -------------------------------------------------------------------------------------------------


def form_rows(listener: Listener, effort: Effort, mpi: find.MpiLibrary, program: Path) -> Iterator[Row]:
    """The paper's forms on two ranks of one thread, all transposed."""
    side = effort.sides[0]
    rival = "pure MPI with a blocking all-to-all (paper 004)"
    launches = {form: ours(mpi, program, side, form, cores()) for form in ("blocking", "silent", *FORMS)}
    times = turns(listener, launches, effort.rounds)
    for form in FORMS:
        what = f"{side}x{side} on {cores()} ranks, form {form}; both transposed"
        blank = Row(f"fft-form-{form}-{side}", what, "ms", None, rival, mpi=mpis.title(mpi))
        yield beside(blank, times[form], times["blocking"])
    what = f"{side}x{side} on {cores()} ranks, the blocking form without its calls (paper 004, section 8.4)"
    blank = Row(f"fft-form-silent-{side}", what, "ms", None, rival, mpi=mpis.title(mpi))
    yield beside(blank, times["silent"], times["blocking"])


# ---- a core left idle --------------------------------------------------------------------------------------


def idle_rows(listener: Listener, effort: Effort, mpi: find.MpiLibrary, program: Path) -> Iterator[Row]:
    """Pure MPI with a rank less than there are processors, beside all (paper 004, section 7)."""
    processors = len(os.sched_getaffinity(0))
    if processors < 2:
        return
    side = effort.sides[0]
    launches = {
        name: ours(mpi, program, side, "blocking", ranks)
        for name, ranks in (("spared", processors - 1), ("all", processors))
    }
    times = turns(listener, launches, effort.rounds)
    what = f"{side}x{side}, pure MPI on {processors - 1} of {processors} processors"
    blank = Row(f"fft-idle-{side}", what, "ms", None, "no processor idle", mpi=mpis.title(mpi))
    yield beside(blank, times["spared"], times["all"])


def idle_remarks() -> Iterator[str]:
    """Of few processors nothing is claimed."""
    processors = len(os.sched_getaffinity(0))
    if processors < FEWEST_CORES:
        yield f"{processors} processors: of fewer than {FEWEST_CORES} it is not said whether an idle one pays"


# ---- overlap -----------------------------------------------------------------------------------------------


def overlap_rows(listener: Listener, effort: Effort, mpi: find.MpiLibrary, program: Path) -> Iterator[Row]:
    """Two ranks with a slow link: computing meanwhile, and not.

    Started anew now and then: what pages a launch gets moves its ratio by a tenth.
    """
    side = effort.sides[0]
    sent_bytes = 16 * side * side / (MOST_RANKS * MOST_RANKS)
    ns_per_byte = 0.4 * 1e6 * alone_ms(mpi, program, side) / sent_bytes
    link = ("--link", f"10,{ns_per_byte:.6f}")
    blocks = ("--row-blocks", "32")
    launches = {
        "blocking": ours(mpi, program, side, "blocking", MOST_RANKS, *link),
        "dataflow": ours(mpi, program, side, "dataflow", MOST_RANKS, *link, *blocks),
        "nonblocking": ours(mpi, program, side, "nonblocking", MOST_RANKS, *link, *blocks),
    }
    times: dict[str, list[float]] = {name: [] for name in launches}
    count = -(-effort.rounds // ROUNDS_OF_A_LAUNCH)
    for index in range(count):
        part = listener.part(index / count, (index + 1) / count)
        rounds = (effort.rounds + index) // count
        for name, found in turns(part, launches, rounds).items():
            times[name] += found
    for form in ("dataflow", "nonblocking"):
        blank = Row(
            f"fft-overlap-{form}-{side}",
            f"{side}x{side} on {MOST_RANKS} ranks, links of {1 / ns_per_byte:.3g} GB/s, form {form}",
            "ms",
            None,
            "the blocking form on the same link",
            mpi=mpis.title(mpi),
            demand=OVERLAP_DEMAND,
        )
        share = hidden_share(mpi, program, side, form, (*link, *blocks))
        yield replace(beside(blank, times[form], times["blocking"]), more={"hidden": share})


def _run(mpi: find.MpiLibrary, program: Path, words: Sequence[str]) -> str:
    launched = who.on_ranks(mpi, program, list(words), MOST_RANKS)
    return mpis.output_of(launched.words, launched.variables, limit_s=LIMIT_S)


def alone_ms(mpi: find.MpiLibrary, program: Path, side: int) -> float:
    """The blocking form on the link as it is."""
    text = _run(mpi, program, ["--size", f"{side}x{side}", "--form", "blocking", "--repeat", "5"])
    if (found := _SUMMARY.search(text)) is None:
        raise RunError(f"fft2d: printed no time: {text[-200:]}")
    return float(found[1])


def hidden_share(
    mpi: find.MpiLibrary, program: Path, side: int, form: str, more: Sequence[str]
) -> float | None:
    """Of the time with something under way, what was spent with work: from rank 0's timeline."""
    with tempfile.TemporaryDirectory(prefix="corewise-fft-") as folder:
        path = Path(folder) / "timeline.json"
        words = ["--size", f"{side}x{side}", "--form", form, "--repeat", "1"]
        words += ["--timeline", str(path), *more]
        _run(mpi, program, words)
        return rounded(share_of(json.loads(path.read_text(encoding="utf-8"))["traceEvents"]))


def share_of(events: Sequence[Mapping[str, object]]) -> float:
    """What work and transfers have in common, over the transfers; computed apart from fft2d."""
    marks: list[tuple[float, int, int]] = []
    for event in events:
        begin, length = float(str(event["ts"])), float(str(event["dur"]))
        which = 1 if event["cat"] == "transfer" else 0
        marks += [(begin, which, 1), (begin + length, which, -1)]
    open_now, last, moved, both = [0, 0], 0.0, 0.0, 0.0
    for time, which, step in sorted(marks):
        moved += time - last if open_now[1] else 0.0
        both += time - last if open_now[1] and open_now[0] else 0.0
        open_now[which] += step
        last = time
    return both / moved if moved > 0 else 0.0

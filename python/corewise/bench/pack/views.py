"""Tables and figures of `corewise bench pack` as data: figures 1.A to 2.C of paper 004, per MPI.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator

from corewise.analysis.result import Figure, Panel, Series, Table
from corewise.analysis.spread import Spread
from corewise.bench.pack.rows import LEAST, Goal
from corewise.bench.pack.runs import FOREIGN_LIMIT, HANDS, OURS, Study
from corewise.bench.pack.study import AGAIN, BenchResult

WAYS = {
    "contiguous": "contiguous",
    "datatype": "MPI datatype",
    "mpi-pack": "MPI_Pack",
    "assignment": "assignment, prefetch",
    "memcpy": "memcpy",
    "memcpy-prefetch": "memcpy, prefetch",
    "loop": "loop of today",
    OURS: "ours: packing library",
}
"""What a way is called in figures, in their order."""
_FIGURES = (
    ("1", "constant", "32 KB by element size"),
    ("2", "elements", "1024 elements"),
)
_SUFFIXES = (("A", "send", "send-pack"), ("B", "receive", "receive-unpack"), ("C", "both", "both"))


def bench_figures(result: BenchResult) -> Iterator[Figure]:
    """One per setting whose paper's part was measured: panels 1.A to 2.C."""
    for study in result.studies:
        if study.part != "paper":
            continue
        panels = [
            _panel(study, name, direction, f"{number}.{suffix} {doing}, {what}")
            for number, name, what in _FIGURES
            for suffix, direction, doing in _SUFFIXES
            if any(case.startswith(f"{name}/") and towards == direction for case, towards in study.cases())
        ]
        title = f"Packing as paper 004 measured it: {study.setting.title}"
        yield Figure(study.setting.name, title, tuple(panels))


def _panel(study: Study, name: str, direction: str, title: str) -> Panel:
    cases = [case for case, towards in study.cases() if towards == direction and case.split("/")[0] == name]
    sizes = tuple(float(case.split("/")[1]) for case in cases)
    # Messages of a thousandfold range: only beside the baseline can the ways be told apart.
    base = [study.time(case, direction, "contiguous").median for case in cases]
    units = [1000.0] * len(cases) if name == "constant" else base
    series = []
    for way, label in WAYS.items():
        if way not in (*study.ways(cases[0], direction), OURS):
            continue
        times = [study.time(case, direction, way) for case in cases]
        y = tuple(time.median / unit for time, unit in zip(times, units, strict=True))
        half = tuple(time.quartiles / 2 / unit for time, unit in zip(times, units, strict=True))
        series.append(Series(label, sizes, y, half))
    label = "time of a step, us" if name == "constant" else "time of a step over contiguous"
    return Panel(title, "element", label, "line", tuple(series), x_log2=True, y_log=True)


# ---- tables ----------------------------------------------------------------------------------------------


def bench_tables(result: BenchResult) -> Iterator[Table]:
    """Per setting and part one; then the paper's statements and the goals."""
    for study in result.studies:
        if study.part == "mpi-pack":
            yield _engine_table(study)
        elif study.part == "paper":
            for number, name, what in _FIGURES:
                yield _message_table(study, f"Figure {number}: {what}", f"{name}/")
        else:
            yield _message_table(study, study.part, "")
    if result.claims:
        claims = tuple(
            (f"{claim.setting}: {claim.what}", "yes" if claim.reproduced else "no", claim.found)
            for claim in result.claims
        )
        yield Table("What paper 004 states", ("statement", "reproduced", "found"), claims)
    cells = tuple(
        (
            f"{goal.setting}: {goal.what}",
            goal.rival,
            f"{goal.mean:.2f}",
            f"{goal.least:.2f}",
            goal.worst,
            str(goal.count),
            _must_text(goal),
        )
        for goal in result.goals
    )
    yield Table(
        "The packing library beside others: their time over ours",
        ("what", "rival", "geometric mean", "least", "at", "cases", "must be"),
        cells,
        noise_text(result),
    )


def _must_text(goal: Goal) -> str:
    """What is asked, and whether it is so: "mean 1.2, least 0.95: no"."""
    named = (("mean", goal.must), ("least", goal.must_least))
    asked = [f"{name} {value:g}" for name, value in named if value is not None]
    return f"{', '.join(asked)}: {'yes' if goal.holds else 'no'}" if asked else ""


def noise_text(result: BenchResult) -> str:
    """How quiet the machine was, and whether launches drifted."""
    launches = [launch for study in result.studies for launch in study.launches()]
    loud = sum(launch.foreign > FOREIGN_LIMIT for launch in launches)
    text = (
        f"other programs had up to {100 * result.loudest:.1f} % of the processors; {loud} of {len(launches)} "
        f"launches were above {100 * FOREIGN_LIMIT:.0f} %"
    )
    again = sum(len(study.again.names()) for study in result.studies if study.again is not None)
    if again:
        text += f"; cases below {LEAST}, measured again with {AGAIN} times the rounds: {again}"
    moved = sum(study.left_out for study in result.studies)
    if moved:
        text += f"; rounds left out because the cores moved: {moved}"
    drifts = [drift.median for study in result.studies if (drift := study.drift()) is not None]
    if drifts:
        text += f"; contiguous messages with the library over without: {min(drifts):.2f} to {max(drifts):.2f}"
    return text


def _message_table(whole: Study, title: str, prefix: str) -> Table:
    cases = [each for each in whole.cases() if each[0].startswith(prefix)]
    cells = []
    for case, direction in cases:
        study = whole.of(case)
        ways = study.ways(case, direction)
        hand = study.best(case, direction, [way for way in ("loop", *HANDS, "manual") if way in ways])
        best = study.best(case, direction, [way for way in ways if way != "contiguous"])
        ours = study.time(case, direction, OURS)
        cells.append(
            (
                f"{case.removeprefix(prefix)} {direction}",
                _us(study.time(case, direction, "contiguous").median),
                _us(study.time(case, direction, "datatype").median),
                _us(study.time(case, direction, "mpi-pack").median),
                _us(study.time(case, direction, hand).median),
                _spread_text(ours),
                f"{study.ratio(case, direction, 'datatype').median:.2f}",
                f"{study.ratio(case, direction, best).median:.2f} ({best})",
            )
        )
    columns = ("case", "contiguous", "datatype", "MPI_Pack", "by hand", "ours", "datatype/ours", "best/ours")
    note = "us of a step, medians over rounds (distance of the quartiles)"
    return Table(f"{whole.setting.title}: {title}", columns, tuple(cells), note)


def _engine_table(study: Study) -> Table:
    cells = []
    for case, direction in study.cases():
        cells.append(
            (
                f"{case.split('/')[1]} B {direction}",
                _us(study.time(case, direction, "mpi-pack").median),
                _us(study.time(case, direction, "loop").median),
                _spread_text(study.time(case, direction, OURS)),
                f"{study.ratio(case, direction, 'mpi-pack').median:.2f}",
                f"{study.ratio(case, direction, 'loop').median:.2f}",
            )
        )
    columns = ("block", "MPI", "loop by hand", "ours", "MPI/ours", "loop/ours")
    return Table(f"{study.setting.title}: MPI_Pack and MPI_Unpack of 32 KB", columns, tuple(cells), "us")


def _us(ns: float) -> str:
    return f"{ns / 1000:.2f}"


def _spread_text(time: Spread) -> str:
    return f"{_us(time.median)} ({_us(time.quartiles)})"

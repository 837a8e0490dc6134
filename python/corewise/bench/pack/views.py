"""Tables and figures of `corewise bench pack` as data: figures 1.A to 2.C of paper 004, per MPI.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator

from corewise.analysis.result import Figure, Panel, Series, Table
from corewise.bench.noise import FOREIGN_LIMIT
from corewise.bench.pack.results import FLOOR, OURS, Cell, Study, rival_of
from corewise.bench.pack.rows import LEAST, SWEEPS, Goal
from corewise.bench.pack.runs import HANDS
from corewise.bench.pack.study import AGAIN, MORE_SETS, BenchResult

WAYS = {
    FLOOR: "contiguous",
    "datatype": "MPI datatype",
    "mpi-pack": "MPI_Pack",
    "assignment": "assignment, prefetch",
    "memcpy": "memcpy",
    "memcpy-prefetch": "memcpy, prefetch",
    "loop": "loop of today",
    OURS: "ours: packing library",
}
"""What a way is called in figures, in their order."""
_SUFFIXES = (("A", "send", "send-pack"), ("B", "receive", "receive-unpack"), ("C", "both", "both"))


def bench_figures(result: BenchResult) -> Iterator[Figure]:
    """One per setting whose paper's part was measured: panels 1.A to 2.C."""
    for study in result.studies:
        if study.part == "paper":
            title = f"Packing as paper 004 measured it: {study.setting.title}"
            yield Figure(study.setting.name, title, tuple(_panels(study)))


def _panels(study: Study) -> Iterator[Panel]:
    for number, sweep, what in SWEEPS:
        for suffix, direction, doing in _SUFFIXES:
            cells = [cell for cell in _of_set(study, sweep) if cell[1] == direction]
            if cells:
                yield _panel(study, sweep, cells, f"{number}.{suffix} {doing}, {what}")


def _of_set(study: Study, name: str) -> list[Cell]:
    return [cell for cell in study.cells() if cell[0].split("/")[0] == name]


def _panel(study: Study, sweep: str, cells: list[Cell], title: str) -> Panel:
    sizes = tuple(float(case.split("/")[1]) for case, _ in cells)
    # Messages of a thousandfold range: only beside the baseline can the ways be told apart.
    alike = sweep == "constant"
    units = [1000.0 if alike else study.time(cell, FLOOR).median for cell in cells]
    series = []
    for way, label in WAYS.items():
        if way in (*study.ways(cells[0]), OURS):
            times = [study.time(cell, way) for cell in cells]
            y = tuple(time.median / unit for time, unit in zip(times, units, strict=True))
            half = tuple(time.quartiles / 2 / unit for time, unit in zip(times, units, strict=True))
            series.append(Series(label, sizes, y, half))
    label = "time of a step, us" if alike else "time of a step over contiguous"
    return Panel(title, "element", label, "line", tuple(series), x_log2=True, y_log=True)


# ---- tables ----------------------------------------------------------------------------------------------


def bench_tables(result: BenchResult) -> Iterator[Table]:
    """Per setting and part one; then the paper's statements and the goals."""
    for study in result.studies:
        if study.part == "paper":
            for number, sweep, what in SWEEPS:
                yield _times(study, f"Figure {number}: {what}", _of_set(study, sweep))
        else:
            yield _times(study, study.part, study.cells())
    if result.claims:
        claims = tuple(
            (f"{claim.setting}: {claim.what}", "yes" if claim.reproduced else "no", claim.found)
            for claim in result.claims
        )
        yield Table("What paper 004 states", ("statement", "reproduced", "found"), claims)
    mapped = all(study.part in MORE_SETS for study in result.studies)
    yield Table(
        f"{'Straight copies in mapped memory' if mapped else 'The packing library'} beside others: "
        "their time over ours",
        ("what", "rival", "geometric mean", "least", "at", "cases", "must be"),
        tuple(map(_goal_cells, result.goals)),
        noise_text(result),
    )


def _goal_cells(goal: Goal) -> tuple[str, ...]:
    """What is asked is said with whether it is so: "mean 1.2, least 0.95: no"."""
    named = (("mean", goal.must), ("least", goal.must_least))
    asked = ", ".join(f"{name} {value:g}" for name, value in named if value is not None)
    return (
        f"{goal.setting}: {goal.what}",
        goal.rival,
        f"{goal.mean:.2f}",
        f"{goal.least:.2f}",
        goal.worst,
        str(goal.count),
        f"{asked}: {'yes' if goal.holds else 'no'}" if asked else "",
    )


def noise_text(result: BenchResult) -> str:
    """How quiet the machine was, and whether launches drifted."""
    launches = [launch for study in result.studies for launch in study.launches()]
    loud = sum(launch.foreign > FOREIGN_LIMIT for launch in launches)
    text = (
        f"other programs had up to {100 * result.loudest:.1f} % of the processors; {loud} of {len(launches)} "
        f"launches were above {100 * FOREIGN_LIMIT:.0f} %"
    )
    last = list(result.studies)
    for times in AGAIN:
        last = [study.again for study in last if study.again is not None]
        if again := sum(len(study.names()) for study in last):
            text += f"; cases below {LEAST}, measured again with {times} times the rounds: {again}"
    moved = sum(study.left_out for study in result.studies)
    if moved:
        text += f"; rounds left out because the cores moved: {moved}"
    drifts = [drift.median for study in result.studies if (drift := study.drift()) is not None]
    if drifts:
        text += f"; contiguous messages with the library over without: {min(drifts):.2f} to {max(drifts):.2f}"
    return text


def _times(whole: Study, title: str, cells: list[Cell]) -> Table:
    """A line per cell; what a part does not have stays empty."""
    lines = []
    for cell in cells:
        study, ours = whole.of(cell[0]), whole.of(cell[0]).time(cell, OURS)
        ways, rival = study.ways(cell), rival_of(cell[1])
        hand = study.best(cell, ("loop", *HANDS, "manual"))
        best = study.best(cell, [way for way in ways if way != FLOOR])
        shown = (FLOOR, "datatype", "mpi-pack", hand)
        lines.append(
            (
                " ".join(cell),
                *(_us(study.time(cell, way).median) if way in ways else "" for way in shown),
                f"{_us(ours.median)} ({_us(ours.quartiles)})",
                f"{study.ratio(cell, rival).median:.2f}",
                f"{study.ratio(cell, best).median:.2f} ({best})",
            )
        )
    columns = ("case", "contiguous", "datatype", "MPI_Pack", "by hand", "ours", "MPI's/ours", "best/ours")
    note = (
        "us, medians over rounds (distance of the quartiles); MPI's: what the program has without the library"
    )
    return Table(f"{whole.setting.title}: {title}", columns, tuple(lines), note)


def _us(ns: float) -> str:
    return f"{ns / 1000:.2f}"

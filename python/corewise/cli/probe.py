"""`corewise probe`: measures this host and writes its machine file.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from corewise import __version__
from corewise.base import late
from corewise.base.files import check_ending, check_target, write_text
from corewise.cli import console
from corewise.cli.latency import found, group_row
from corewise.cli.message_costs import measure_messages
from corewise.data.latency import MOST_CPUS
from corewise.data.sizes import size_bytes
from corewise.errors import CorewiseError, InputError

with late.imports():
    import numpy as np
    from rich.console import RenderableType

    from corewise.analysis.latency.compare import differences, ranges
    from corewise.analysis.latency.groups import Group, find_groups
    from corewise.analysis.latency.levels import Matrix
    from corewise.analysis.latency.links import LatencyTree, latency_tree, renumbered
    from corewise.analysis.latency.streams import LevelRate, StreamRate, level_rates, stream_jobs
    from corewise.analysis.latency.summary import level_names, level_rows, shape
    from corewise.data.machine_nominal import nominal_bandwidths
    from corewise.data.machine_text import LevelText, OriginText, machine_text, quantity
    from corewise.data.machines import HOST, load_machine, parse_machine
    from corewise.data.tuned_hosts import processor_text
    from corewise.plots.heatmap import MOST_CELLS, heat_map
    from corewise.plots.heatmap_svg import Picture, matrix_svg
    from corewise.report.layout import Column, by_rows
    from corewise.trials import probing

_HELP = """Measure this host, and write its machine file for place, sim and the others.

Latency of every pair of CPUs that this process may use, groups that latencies show, bandwidth of each level's
links: one stream, both ways, many streams together. Groups are held against hwloc's. The file says of each
number whether it is measured or nominal. Leave the host alone meanwhile; somebody else's work shows.

Without -o the file goes to standard output and what was found to standard error.

\b
Example:
  corewise probe --plan
  corewise probe -o host.toml --plot host.svg
  corewise probe -o host-memory.toml --read-size 64MiB
  corewise probe --messages openmpi -o openmpi.json
  corewise place halo.json -m host.toml
  corewise doctor --machine host.toml
"""
_OUTPUT = typer.Option(None, "-o", "--output", metavar="FILE.toml", help="The machine file to write.")
_TIME = typer.Option(
    60.0, "--time", metavar="SECONDS", min=1, max=86400, help="End about then, with fewer passes."
)
_PLAN = typer.Option(
    False, "--plan", help="Say what would be measured and how long that takes; measure nothing."
)
_CPUS = typer.Option(
    None, "--cpus", metavar="N", min=1, max=MOST_CPUS, help="With --plan: for so many CPUs, not this host's."
)
_NAME = typer.Option(None, "--name", metavar="NAME", help="Of the machine; default: that of the output.")
_LEVEL_NAMES = typer.Option(
    "",
    "--level-names",
    metavar="A,B",
    help="Of the levels above the cores, outermost first, e.g. package,l3.",
)
_LATENCIES = typer.Option(
    None, "--latencies", metavar="FILE.csv", help="Write the matrix of latencies, as `from-latency` reads it."
)
_PLOT = typer.Option(None, "--plot", metavar="FILE.svg", help="Write the latencies as a heat map.")
_READ_SIZE = typer.Option(
    None,
    "--read-size",
    metavar="SIZE",
    help="What a core reads for the bandwidths (128KiB); more than the caches hold for those of memory.",
)
_MESSAGES = typer.Option(
    None,
    "--messages",
    metavar="MPI",
    help="Measure what messages of this MPI cost instead, for replay: openmpi, mpich, a prefix, a launcher.",
)
_AS_JSON = typer.Option(
    False, "--json", help="Print one JSON object: levels, rates, and the file's text without -o."
)
_READ_SIZES = (4 << 10, 1 << 30)


@dataclass(frozen=True)
class _Probed:
    """Everything that was measured, and what it says."""

    plan: probing.ProbePlan
    passes: int
    latency_ns: Matrix
    root: Group
    tree: LatencyTree
    names: list[str]
    rates: list[StreamRate]
    hwloc: list[str]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("probe", help=_HELP)(_probe)


def _probe(
    output: Path | None = _OUTPUT,
    limit_s: float = _TIME,
    only_plan: bool = _PLAN,
    cpus: int | None = _CPUS,
    name: str | None = _NAME,
    level_names_text: str = _LEVEL_NAMES,
    latencies: Path | None = _LATENCIES,
    plot: Path | None = _PLOT,
    read_size: str | None = _READ_SIZE,
    messages: str | None = _MESSAGES,
    as_json: bool = _AS_JSON,
) -> None:
    if messages is not None:
        measure_messages(messages, output, alone=not (as_json or only_plan))
        return
    if cpus is not None and not only_plan:
        raise InputError("--cpus: found without --plan, allowed: with it; this host has the CPUs it has")
    plan = probing.plan_for(
        range(cpus) if cpus else sorted(os.sched_getaffinity(0)), limit_s, _read_bytes(read_size)
    )
    if only_plan:
        _show_plan(plan, as_json)
        return
    check_ending(output, ".toml")
    check_ending(plot, ".svg")
    for path in (output, latencies, plot):
        if path is not None:
            check_target(path)
    given = [each.strip() for each in level_names_text.split(",")] if level_names_text else []
    probed = _measure(plan, given)
    text = _text(probed, name or (output.stem if output else "this-host"))
    parse_machine(text, str(output or "standard output"))
    if latencies is not None:
        write_text(latencies, _csv(probed))
    if plot is not None:
        write_text(plot, matrix_svg(_picture(probed)))
    if output is not None:
        write_text(output, text)
    elif not as_json:
        console.show_text(text)
    _say(probed, output, text, as_json)


def _read_bytes(text: str | None) -> int:
    if text is None:
        return probing.BYTES
    found = size_bytes(text, "--read-size")
    if not _READ_SIZES[0] <= found <= _READ_SIZES[1]:
        raise InputError(f"--read-size: found '{text}', allowed: 4KiB to 1GiB")
    return found


def _show_plan(plan: probing.ProbePlan, as_json: bool) -> None:
    row = {
        "cpus": len(plan.cpus),
        "pairs": plan.pairs,
        "passes": plan.passes,
        "stream_sets": plan.jobs,
        "stream_passes": probing.STREAM_PASSES,
        "seconds": round(plan.seconds, 1),
        "limit_s": plan.limit_s,
        "read_bytes": plan.read_bytes,
    }
    if as_json:
        console.show_json("probe", HOST, [row])
        return
    console.show(
        f"{len(plan.cpus)} CPUs: latency of {plan.pairs} pairs in {plan.passes} passes, bandwidth of up to "
        f"{plan.jobs} sets of streams in {probing.STREAM_PASSES} passes",
        f"about {plan.seconds:.0f} s; the limit is {plan.limit_s:g} s (--time)",
    )


def _measure(plan: probing.ProbePlan, given: Sequence[str]) -> _Probed:
    deadline = probing.Deadline(plan.limit_s)
    with console.progress_bar("latency of every pair") as tell:
        latency_ns, passes = probing.measure_latencies(plan, deadline, tell)
    root = find_groups(latency_ns)
    tree = renumbered(root, latency_tree(root, latency_ns), plan.cpus)
    names = level_names(tree, given, "--level-names")
    with console.progress_bar("bandwidth of every level") as tell:
        rates = probing.measure_streams(stream_jobs(tree), deadline, tell, plan.read_bytes)
    clusters = [group for row in level_rows(tree, names, root) for group in row.groups]
    try:
        hwloc = differences(clusters, load_machine(HOST).units)
    except CorewiseError as error:
        hwloc = [f"not held against hwloc: {error}"]
    return _Probed(plan, passes, latency_ns, root, tree, names, rates, hwloc)


def _text(probed: _Probed, name: str) -> str:
    measured = {rate.level: rate for rate in level_rates(probed.rates)}
    nominal = nominal_bandwidths(probed.names)
    levels = []
    for index, (level_name, level) in enumerate(zip(probed.names, probed.tree.levels, strict=True)):
        rate = measured.get(index)
        bandwidth = rate.together_gb_per_s if rate else nominal[index]
        notes = ["hop_latency: measured", f"up_bandwidth, down_bandwidth: {_basis(rate)}"]
        levels.append(LevelText(level_name, level.counts, level.hop_ns, bandwidth, bandwidth, notes))
    some_nominal = len(measured) < len(levels)
    origin = OriginText(
        f"corewise probe {__version__}, {datetime.date.today().isoformat()}, {probed.passes} passes",
        processor_text(),
        ["latency", *(["bandwidth"] if measured else [])],
        ["bandwidth"] if some_nominal else [],
    )
    comment = (
        "Made by `corewise probe`. Latencies are half of what a line takes there and back by"
        " compare-exchange; hops add up to their medians (the worst level is off by"
        f" {100 * probed.tree.error:.1f} %). Bandwidths are those of reads of"
        f" {probed.plan.read_bytes >> 10} KiB that another core has just written;"
        " what each rests on stands with it."
    )
    description = f"{processor_text()}, {shape(probed.tree, probed.names)}; measured by corewise probe"
    return machine_text(name, description, origin, levels, probed.tree.cpus, comment, _logical_cores(probed))


def _basis(rate: LevelRate | None) -> str:
    if rate is None:
        return "nominal, not measured"
    if rate.streams == 1 and not rate.shared:
        return "measured, one stream"
    if rate.shared:
        return f"measured, {rate.streams} streams together, slower than as many alone: what the link carries"
    return f"measured, {rate.streams} streams together; they share nothing that shows: at least this"


def _logical_cores(probed: _Probed) -> list[int]:
    """By hwloc, so that launchers that count cores can be told; none where units are hardware threads."""
    try:
        by_cpu = {unit.os_index: unit.logical_core for unit in load_machine(HOST).units}
    except CorewiseError:
        return []
    cores = [by_cpu.get(cpu, -1) for cpu in probed.tree.cpus]
    return cores if min(cores) >= 0 else []


def _csv(probed: _Probed) -> str:
    cpus = ranges(probed.plan.cpus)
    rows = [",".join(quantity(value) for value in row) for row in probed.latency_ns.tolist()]
    return (
        "\n".join([f"# one-way ns between CPUs {cpus} of {processor_text()}, by corewise probe", *rows])
        + "\n"
    )


def _ordered(probed: _Probed) -> tuple[Matrix, int]:
    """Latencies in the order of groups, means of blocks where cells are fewer; and CPUs per cell."""
    row_of = {cpu: row for row, cpu in enumerate(probed.plan.cpus)}
    order = [row_of[cpu] for cpu in probed.tree.cpus]
    ordered = probed.latency_ns[np.ix_(order, order)]
    block = -(-len(order) // MOST_CELLS)
    starts = np.arange(0, len(order), block)
    sums = np.add.reduceat(np.add.reduceat(ordered, starts, axis=0), starts, axis=1)
    pairs = ordered > 0
    counts = np.add.reduceat(np.add.reduceat(pairs.astype(int), starts, axis=0), starts, axis=1)
    return np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0), block


def _picture(probed: _Probed) -> Picture:
    cells, block = _ordered(probed)
    title = "Latency between the units of the machine file"
    return Picture(
        cells, None, block, len(probed.tree.cpus), (), (), (), title, processor_text(), _ns, noun="unit"
    )


def _ns(value: float) -> str:
    return f"{quantity(value)} ns"


def _say(probed: _Probed, output: Path | None, text: str, as_json: bool) -> None:
    rows = level_rows(probed.tree, probed.names, probed.root)
    rates = level_rates(probed.rates)
    if as_json:
        more = {"machine_file": str(output)} if output else {"text": text}
        console.show_json(
            "probe",
            HOST,
            [group_row(row) for row in rows],
            processor=processor_text(),
            cpus=list(probed.plan.cpus),
            passes=probed.passes,
            latency_ns=probed.latency_ns.tolist(),
            outermost_ns=probed.root.latency_ns,
            worst_error=probed.tree.error,
            rates=[_rate_row(rate, probed.names) for rate in rates],
            streams=[_stream_row(rate, probed.names) for rate in probed.rates],
            hwloc=probed.hwloc,
            **more,
        )
        return
    say = console.show if output else console.show_aside
    cells, block = _ordered(probed)
    say(processor_text(), *found(rows, probed.tree, probed.root), "")
    say(
        heat_map(cells, block, "one-way latency", _ns, noun="unit"),
        "",
        _rate_table(rates, probed),
    )
    say(*(probed.hwloc or ["hwloc has the same groups"]))
    if output:
        say(f"{output}: written; `corewise doctor --machine {output}` says when the host has changed")


def _rate_table(rates: Sequence[LevelRate], probed: _Probed) -> RenderableType:
    columns = [
        Column("between neighbours of"),
        Column("one stream GB/s", right=True),
        Column("both ways GB/s each", right=True),
        Column("together GB/s", right=True),
        Column("streams", right=True),
        Column("share a link"),
    ]
    cells = [
        (
            probed.names[rate.level],
            quantity(rate.alone_gb_per_s),
            quantity(rate.both_gb_per_s),
            quantity(rate.together_gb_per_s),
            str(rate.streams),
            "yes" if rate.shared else "not that it shows",
        )
        for rate in rates
    ]
    return by_rows(columns, cells)


def _rate_row(rate: LevelRate, names: Sequence[str]) -> dict[str, object]:
    return {
        "level": names[rate.level],
        "alone_gb_per_s": rate.alone_gb_per_s,
        "both_gb_per_s": rate.both_gb_per_s,
        "together_gb_per_s": rate.together_gb_per_s,
        "streams": rate.streams,
        "shared": rate.shared,
    }


def _stream_row(rate: StreamRate, names: Sequence[str]) -> dict[str, object]:
    return {
        "level": names[rate.job.level],
        "pairs": [list(pair) for pair in rate.job.pairs],
        "both": rate.job.both,
        "each_gb_per_s": list(rate.each_gb_per_s),
    }

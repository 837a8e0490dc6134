"""`corewise paper`: a group with one command per study, and `all`, which runs every row of `STUDIES`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer

from corewise.base import late
from corewise.base.files import check_folder as check_new_folder
from corewise.base.files import check_target
from corewise.cli import console, sweeps
from corewise.cli.groups import group_of
from corewise.cli.papers import node as paper_node
from corewise.cli.papers.show import check_folder, show_result
from corewise.errors import InputError, RunError
from corewise.papers.affinity import PERMUTATIONS, QUICK_PERMUTATIONS
from corewise.papers.sensitivity import PAPERS
from corewise.plots.figures import FORMATS

with late.imports():
    from corewise._core import Machine
    from corewise.analysis.result import PaperResult, Progress
    from corewise.data.machines import load_cell, parsed_parameters
    from corewise.papers.affinity import study as study_of_affinity
    from corewise.papers.collectives import study as study_of_collectives
    from corewise.papers.mapping import study as study_of_mapping
    from corewise.papers.mapping.data import Machines
    from corewise.papers.overhead import study as study_of_overhead
    from corewise.papers.overhead.traces import write_traces
    from corewise.papers.placement import study as study_of_placement
    from corewise.papers.profiling import study as study_of_profiling
    from corewise.papers.programs import study as study_of_programs
    from corewise.papers.sensitivity import study as study_of_sensitivity
    from corewise.papers.together import run_all, together
    from corewise.sim.sweeps import workers_of

_HELP = """Run the papers' experiments again and show what was published beside what comes out here.

Every command prints text tables, writes figures with --out, and prints one JSON object with --json.

\b
Example:
  corewise paper affinity --out figures
"""
_AFFINITY = """Repeat paper 000, assignment of threads to SPEs: every number, published beside simulated.

Run the paper's programs on a simulated Cell, packet by packet: Table 1, the patterns of Table 2 under six
affinities, the collective operations, figures 1 to 8, and random permutations of sources.

\b
Example:
  corewise paper affinity --out figures
"""
_COLLECTIVES = """Repeat paper 001, collectives inside a Cell: every number, published beside simulated.

Run the paper's algorithms on simulated SPEs, packet by packet: DMA latencies and copies (figure 2), barriers
(figure 3, table 1), broadcast (figures 4 to 6, table 2), reduce (figure 7, table 3), what the paper says of
them in words, and its future work beside the paper's best.

\b
Example:
  corewise paper collectives --out figures
"""
_MAPPING = """Repeat paper 002, mapping of a ring of tasks to SPEs: its figures, published beside simulated.

Run the paper's message library on a simulated Cell: all 120 mappings of six tasks on a PS3, all 5040 of
eight on one chip of a blade, both ways round and one way; then ask where a dependence on the mapping could
come from.

\b
Example:
  corewise paper mapping --out figures
"""
_PLACEMENT = """Find the best placements automatically, which the authors of papers 000 and 002 asked for.

For every pattern of paper 000 the best placement on the simulated Cell, beside the paper's affinities, the
placement that link loads prove best, and the way by a hypercube onto EvenOdd; EvenOdd's claim to be good at
everything; the best compromise and its price per pattern. For paper 002's ring on the PS3 the mappings
proven best, with their rank among the 120 simulated ones.

\b
Example:
  corewise paper placement --quick
"""
_PROFILING = """Repeat paper 003, what recording costs: figures 2 to 5, measured on this host.

Run the paper's worst case, the communication of Sweep3D without its computation, and an application, without
a tool and under every recorder, interleaved: by number of events, message size and buffer size. MPI_Init, net
time and MPI_Finalize apart; mean cost and tail. Figure 5, the paper's second machine, is a second MPI.

\b
Example:
  corewise paper profiling --quick --out figures
"""
_OVERHEAD = """Repeat paper 003, what its profiler costs on SPEs: figures 2 to 5, simulated.

Run the paper's profiler in simulated local stores, on a PS3 and on one Cell of a QS22: the communication of
Sweep3D by number of events, message size and buffer size, and molecular dynamics. Two buffers of 5 KiB swap;
a full one is dumped by DMA to pages that the PPE allots. What a page costs is fitted to figures 2 and 5.

\b
Example:
  corewise paper overhead --quick --out figures
"""

_PROGRAMS = """Repeat paper 003, its programs on a cluster of Cells: table 2 and figures 6 to 10, simulated.

Compile the bundled Sweep3D (original and modified), molecular dynamics and lattice Boltzmann for simulated
ranks and run them on 256 SPEs of 8 Roadrunner nodes: who sends to whom at which level, what one root per
Cell gains, what a placement gains.

\b
Example:
  corewise paper programs --quick --out figures
"""
_SENSITIVITY = """Show which findings of papers 000 and 001 hang on which number of the simulated Cell.

Runs both papers' programs, with few repetitions, on the machine as it is and on machines with one number
halved or doubled: every number that was assumed or inferred, or those given by --parameter. With --pairs two
at a time too. Says which finding fails on which machine, and what every change does to the errors.

\b
Example:
  corewise paper sensitivity --parameter mfc_command_interval_cycles
"""

_ALL = """Run every study of this group, and show on one page what became of the papers' claims.

Every claim of a paper holds, is refuted (it cannot hold, and the reason is known) or fails. A table counts
them by study, further ones list those that do not hold and those that hang on an assumed number of the
simulated Cell.

\b
Example:
  corewise paper all --quick --html papers.html
"""

_OUT = typer.Option(
    None, "--out", "-o", metavar="DIR", help=f"Write the figures there, as {' and '.join(FORMATS)}."
)
_QUICK = typer.Option(False, "--quick", help="Fewer repetitions and trials: seconds instead of minutes.")
_QUICK_HERE = typer.Option(False, "--quick", help="Fewer rounds and points: a minute or two instead of many.")
_QUICK_PROGRAMS = typer.Option(False, "--quick", help="Smaller problems and searches, on as many SPEs.")
_QUICK_OVERHEAD = typer.Option(False, "--quick", help="Fewer events and points: seconds.")
_TRACES = typer.Option(
    None,
    "--traces",
    metavar="NAME.cw",
    help="Also write what the profiler recorded of molecular dynamics as a new profile for corewise report.",
)
_HTML = typer.Option(None, "--html", metavar="FILE", help="Also write one self-contained web page.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")
_PERMUTATIONS = typer.Option(
    None,
    "--permutations",
    min=1,
    help=f"Random permutations of sources ({PERMUTATIONS}; with --quick {QUICK_PERMUTATIONS}).",
)
_SET = typer.Option(
    [],
    "--set",
    metavar="NAME=VALUE",
    help="A parameter of the simulated Cell (docs/simulating/cell.md), instead of the machine's; repeatable.",
)


def _machine(usual: str, what: str) -> str:
    """The option of a study's machine."""
    option: str = typer.Option(
        usual, "--machine", "-m", metavar="MACHINE", help=f"{what}: a bundled one or a file ({usual})."
    )
    return option


_RANKS = typer.Option(None, "--ranks", "-n", min=2, max=64, help="Ranks; default: the cores, six at most.")
_MPI = typer.Option(None, "--mpi", help="openmpi, mpich, a prefix, or a launcher.")


def _seed(what: str) -> int:
    """The option of a study whose seed is of `what`."""
    option: int = typer.Option(1, "--seed", min=1, max=2**31, help=f"Of {what}.")
    return option


def register(app: typer.Typer) -> None:
    """Adds `paper` and its commands."""
    group = group_of("paper", _HELP)
    for study in STUDIES:
        group.command(study.name, help=study.help)(study.command)
    group.command("all", help=_ALL)(everything)
    app.add_typer(group)


def _run(
    doing: str,
    study: Callable[[Progress], PaperResult],
    out: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Runs a study under a progress bar and shows its result."""
    check_folder(out)
    if html_file is not None:
        check_target(html_file)
    with console.progress_bar(doing) as advance:
        result = study(advance)
    show_result(result, out, html_file, as_json)


def _cell(usual: str, reference: str, settings: list[str], text: str) -> tuple[Machine | None, str]:
    """The Cell that was asked for, and what a result calls it; none where nothing was asked for."""
    parameters = parsed_parameters(settings)
    if reference == usual and not parameters:
        return None, text
    machine = load_cell(reference, parameters)
    return machine, f"{machine.name} (simulated)" + "".join(f", {each}" for each in settings)


def affinity(
    out: Path | None = _OUT,
    quick: bool = _QUICK,
    permutations: int | None = _PERMUTATIONS,
    seed: int = _seed("trials, default affinities, permutations"),
    machine: str = _machine("cell-be", "Where it runs"),
    settings: list[str] = _SET,
    html_file: Path | None = _HTML,
    as_json: bool = _AS_JSON,
) -> None:
    """Runs paper 000 again."""
    where, text = _cell("cell-be", machine, settings, study_of_affinity.MACHINE)

    _run(
        "simulating paper 000",
        lambda advance: study_of_affinity.run_paper(quick, permutations, seed, advance, where, text),
        out,
        html_file,
        as_json,
    )


def collectives(
    out: Path | None = _OUT,
    quick: bool = _QUICK,
    machine: str = _machine("cell-blade", "A blade of two Cells"),
    settings: list[str] = _SET,
    html_file: Path | None = _HTML,
    as_json: bool = _AS_JSON,
) -> None:
    """Runs paper 001 again."""
    where, text = _cell("cell-blade", machine, settings, study_of_collectives.MACHINE)
    if where is not None and len(where.units) != study_of_collectives.SPES:
        found = f"{len(where.units)} SPEs"
        raise InputError(
            f"option '--machine': found {found}, allowed: a blade with {study_of_collectives.SPES}"
        )

    _run(
        "simulating paper 001",
        lambda advance: study_of_collectives.run_paper(quick, advance, where, text),
        out,
        html_file,
        as_json,
    )


def mapping(
    out: Path | None = _OUT,
    quick: bool = _QUICK,
    seed: int = _seed("jitter, samples and default mappings"),
    machine: str = _machine("qs22", "Of the rings of eight tasks"),
    settings: list[str] = _SET,
    html_file: Path | None = _HTML,
    as_json: bool = _AS_JSON,
) -> None:
    """Runs paper 002 again."""
    where, text = _cell("qs22", machine, settings, study_of_mapping.MACHINE)
    if where is not None and len(where.units) != study_of_mapping.TASKS:
        found = f"{len(where.units)} SPEs"
        raise InputError(f"option '--machine': found {found}, allowed: a Cell with {study_of_mapping.TASKS}")
    machines = Machines(machine, parameters=parsed_parameters(settings))

    _run(
        "simulating paper 002",
        lambda advance: study_of_mapping.run_paper(quick, seed, advance, machines, text),
        out,
        html_file,
        as_json,
    )


def placement(
    out: Path | None = _OUT,
    quick: bool = _QUICK,
    seed: int = _seed("jitter and samples"),
    html_file: Path | None = _HTML,
    as_json: bool = _AS_JSON,
) -> None:
    """Searches placements for papers 000 and 002."""
    _run(
        "placing papers 000 and 002",
        lambda advance: study_of_placement.run_paper(quick, seed, advance),
        out,
        html_file,
        as_json,
    )


def profiling(
    out: Path | None = _OUT,
    quick: bool = _QUICK_HERE,
    ranks: int | None = _RANKS,
    mpi: str | None = _MPI,
    html_file: Path | None = _HTML,
    as_json: bool = _AS_JSON,
) -> None:
    """Measures paper 003 again."""
    _run(
        "measuring paper 003",
        lambda advance: study_of_profiling.run_paper(mpi=mpi, ranks=ranks, quick=quick, progress=advance),
        out,
        html_file,
        as_json,
    )


def overhead(
    out: Path | None = _OUT,
    quick: bool = _QUICK_OVERHEAD,
    traces: Path | None = _TRACES,
    html_file: Path | None = _HTML,
    as_json: bool = _AS_JSON,
) -> None:
    """Simulates paper 003's overhead study."""
    if traces is not None:
        check_new_folder(traces)

    def study(advance: Progress) -> PaperResult:
        if traces is not None:
            write_traces(traces)
        return study_of_overhead.run_paper(quick, advance)

    _run("simulating paper 003", study, out, html_file, as_json)


def node(
    out: Path | None = _OUT,
    quick: bool = _QUICK_HERE,
    sections: list[int] = paper_node.SECTION,
    noise: str | None = paper_node.NOISE,
    html_file: Path | None = _HTML,
    as_json: bool = _AS_JSON,
) -> None:
    """Measures paper 004 again."""
    chosen, record = paper_node.check(sections, noise)
    _run(
        "measuring paper 004",
        lambda advance: paper_node.study(chosen, record, quick, advance),
        out,
        html_file,
        as_json,
    )


def programs(
    out: Path | None = _OUT,
    quick: bool = _QUICK_PROGRAMS,
    html_file: Path | None = _HTML,
    as_json: bool = _AS_JSON,
) -> None:
    """Simulates paper 003's programs."""
    _run(
        "simulating paper 003",
        lambda advance: study_of_programs.run_paper(quick, advance),
        out,
        html_file,
        as_json,
    )


_PAPER = typer.Option([], "--paper", help=f"{', '.join(PAPERS)}; without it, all; repeatable.")
_PARAMETER = typer.Option(
    [], "--parameter", metavar="NAME", help="To be varied, instead of all assumed ones; repeatable."
)
_FITTED = typer.Option(False, "--fitted", help="Vary the fitted numbers too.")
_PAIRS = typer.Option(False, "--pairs", help="Two numbers at a time too: the square of the work.")


def sensitivity(
    papers: list[str] = _PAPER,
    parameters: list[str] = _PARAMETER,
    fitted: bool = _FITTED,
    pairs: bool = _PAIRS,
    executor: str | None = sweeps.EXECUTOR,
    resume: Path | None = sweeps.RESUME,
    html_file: Path | None = _HTML,
    as_json: bool = _AS_JSON,
) -> None:
    """Varies the numbers of the simulated Cell."""
    for name in papers:
        if name not in PAPERS:
            raise InputError(f"option '--paper': found '{name}', allowed: {', '.join(PAPERS)}")
    chosen = tuple(dict.fromkeys(papers)) or PAPERS
    plan = study_of_sensitivity.Plan(chosen, tuple(parameters), fitted, pairs)

    keep = sweeps.kept(html_file, resume)

    def study(advance: Progress) -> PaperResult:
        with workers_of(executor) as workers:
            return study_of_sensitivity.run_paper(plan, advance, workers, keep)

    _run("varying the simulated Cell", study, None, html_file, as_json)


# ---- every study -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Study:
    """A row of the table of studies.

    Attributes
    ----------
    name : str
        Of its command.
    help : str
    command : callable
        What the command line calls.
    whole : callable
        ``whole(quick, progress)``: the study as the command runs it without further options.
    measures : bool
        Whether it measures this host, which must have nothing else to do meanwhile.
    """

    name: str
    help: str
    command: Callable[..., None]
    whole: Callable[[bool, Progress], PaperResult]
    measures: bool = False


_QUICK_PAPERS = ("affinity",)
_QUICK_PARAMETERS = ("mfc_command_interval_cycles", "retry_cycles")
"""Whose findings a quick run of everything asks, and which numbers it varies."""


def _node(quick: bool, progress: Progress) -> PaperResult:
    chosen, record = paper_node.check([], None)
    return paper_node.study(chosen, record, quick, progress)


def _sensitivity(quick: bool, progress: Progress) -> PaperResult:
    given = (_QUICK_PAPERS, _QUICK_PARAMETERS) if quick else ()
    plan = study_of_sensitivity.Plan(*given)
    return study_of_sensitivity.run_paper(plan, progress)


STUDIES = (
    Study("affinity", _AFFINITY, affinity, lambda quick, to: study_of_affinity.run_paper(quick, progress=to)),
    Study("mapping", _MAPPING, mapping, lambda quick, to: study_of_mapping.run_paper(quick, progress=to)),
    Study(
        "placement", _PLACEMENT, placement, lambda quick, to: study_of_placement.run_paper(quick, progress=to)
    ),
    Study(
        "collectives", _COLLECTIVES, collectives, lambda quick, to: study_of_collectives.run_paper(quick, to)
    ),
    Study(
        "profiling",
        _PROFILING,
        profiling,
        lambda quick, to: study_of_profiling.run_paper(quick=quick, progress=to),
        measures=True,
    ),
    Study("overhead", _OVERHEAD, overhead, lambda quick, to: study_of_overhead.run_paper(quick, progress=to)),
    Study("programs", _PROGRAMS, programs, lambda quick, to: study_of_programs.run_paper(quick, progress=to)),
    Study("node", paper_node.HELP, node, _node, measures=True),
    Study("sensitivity", _SENSITIVITY, sensitivity, _sensitivity),
)
"""Every study; `corewise paper all` runs them in this order."""

_QUICK_ALL = typer.Option(False, "--quick", help="Every study quickly: minutes instead of half an hour.")


def everything(
    out: Path | None = _OUT,
    quick: bool = _QUICK_ALL,
    html_file: Path | None = _HTML,
    as_json: bool = _AS_JSON,
) -> None:
    """Runs every study; one that cannot run here is named, and the others are shown."""
    missing: dict[str, str] = {}

    def studies(advance: Progress) -> PaperResult:
        found, missed = run_all([(each.name, each.measures, each.whole) for each in STUDIES], quick, advance)
        missing.update(missed)
        return together(found, missing)

    _run("running every study", studies, out, html_file, as_json)
    if missing:
        raise RunError("; ".join(f"paper {name} did not run: {why}" for name, why in missing.items()))

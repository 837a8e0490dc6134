"""`corewise bench copy`: what it costs this host to copy, and to hand a message to another core.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path

import typer

from corewise.base import late
from corewise.base.files import check_target
from corewise.cli import console
from corewise.cli.bench import shared
from corewise.cli.papers.show import fitted, written_or_lost
from corewise.errors import InputError

with late.imports():
    from rich.text import Text

    from corewise.analysis.result import built_commit
    from corewise.bench.copy.study import Result, Wanted, run_bench, tune
    from corewise.bench.copy.views import figures, goals, tables
    from corewise.bench.rows import stamped
    from corewise.data.copy_hosts import find_copy_tuning
    from corewise.data.copy_tuning import save_copy_tuning
    from corewise.data.sizes import size_bytes
    from corewise.plots.bench import check_picture, write_pictures

_HELP = """Measure what copies cost on this host: kernels of paper 004 and today's beside memcpy.

Time every copy kernel that this processor has, in turns, and the copy that chooses among them; with
--message: messages between two bound threads, by two copies through a slot, in chunks, and by one copy.
Measurements during which others took more than 3 % of the processors are repeated, at most twice, and
marked. With --tune: measures which kernel is quickest where, and writes that to a file.

\b
Example:
  corewise bench copy --quick
  corewise bench copy --message -o messages.svg
  corewise bench copy --size 4KiB --kernel avx512 --kernel naive
  corewise bench copy --tune copy-host.toml
"""
_SIZE = typer.Option(None, "--size", help="Bytes, or with a unit; may be given several times.")
_KERNEL = typer.Option(None, "--kernel", help="Only this kernel against memcpy; may be given several times.")
_ALIGNMENT = typer.Option("same", "--alignment", help="How the addresses lie: same, shifted or aliasing.")
_MESSAGE = typer.Option(False, "--message", help="Messages from core to core instead.")
_PROCESSORS = typer.Option(None, "--processors", metavar="A,B", help="Where sender and receiver run.")
_HUGE = typer.Option(False, "--huge-pages", help="Ask for huge pages.")
_TUNING = typer.Option(
    None,
    "--tuning",
    metavar="FILE",
    help="Choose by this tuning instead of by races; host: by this processor's.",
)
_TUNE = typer.Option(None, "--tune", metavar="FILE", help="Measure a tuning and write it to FILE.")
_QUICK = typer.Option(False, "--quick", help="Fewer sizes and rounds: seconds instead of minutes.")
_OUT = typer.Option(None, "-o", "--out", metavar="FILE", help="Draw the result, as .svg or .png.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")


def register(group: typer.Typer) -> None:
    """Adds `copy` to the group `bench`."""
    group.command("copy", help=_HELP)(bench_copy)


def bench_copy(
    size: list[str] | None = _SIZE,
    kernel: list[str] | None = _KERNEL,
    alignment: str = _ALIGNMENT,
    message: bool = _MESSAGE,
    processors: str | None = _PROCESSORS,
    huge_pages: bool = _HUGE,
    tuning: Path | None = _TUNING,
    tune_to: Path | None = _TUNE,
    quick: bool = _QUICK,
    out: Path | None = _OUT,
    html_file: Path | None = shared.HTML,
    as_json: bool = _AS_JSON,
) -> None:
    """Measures copies, messages, or a tuning of copies."""
    shared.check_page(html_file, tune_to)
    wanted = Wanted(
        sizes=tuple(sorted({size_bytes(each, "--size") for each in size or ()})),
        kernels=tuple(kernel or ()),
        alignment=alignment,
        quick=quick,
        huge_pages=huge_pages,
        message=message,
        processors=_two(processors),
        tuning=tuning,
    )
    _refuse_mixtures(wanted, tune_to, out)
    if tune_to is not None:
        _tune(wanted, tune_to, as_json)
        return
    check_picture(out)
    with console.progress_bar("measuring copies") as advance:
        result = run_bench(wanted, advance)
    written, lost = written_or_lost(lambda: write_pictures(list(figures(result)), out) if out else [])
    if html_file is not None:
        shared.write_tables(html_file, "bench copy", result.host, tables(result), list(figures(result)))
        written.append(html_file)
    _show(result, written, as_json)
    if lost is not None:
        raise lost


def _show(result: Result, written: list[Path], as_json: bool) -> None:
    if as_json:
        _show_json(result, written)
        return
    console.show(Text(f"bench copy on {result.host}", style="bold"))
    for table in tables(result):
        console.show("", fitted(table))
    if result.knob:
        console.show_text(f"\nchosen by: {result.knob}")
    for path in written:
        console.note(f"{path} written")


def _two(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    words = text.split(",")
    if len(words) != 2 or not all(word.isascii() and word.isdigit() and len(word) < 9 for word in words):
        raise InputError(f"--processors: found '{text}', allowed: two numbers, e.g. 0,1")
    return int(words[0]), int(words[1])


def _refuse_mixtures(wanted: Wanted, tune_to: Path | None, out: Path | None) -> None:
    """Options that would say nothing beside another one."""
    mixtures = (
        ("--kernel", bool(wanted.kernels), "--message", wanted.message),
        ("--tuning", wanted.tuning is not None, "--message", wanted.message),
        ("--tuning", wanted.tuning is not None, "--kernel", bool(wanted.kernels)),
        ("--message", wanted.message, "--tune", tune_to is not None),
        ("--kernel", bool(wanted.kernels), "--tune", tune_to is not None),
        ("--tuning", wanted.tuning is not None, "--tune", tune_to is not None),
        ("-o", out is not None, "--tune", tune_to is not None),
    )
    for one, has_one, other, has_other in mixtures:
        if has_one and has_other:
            raise InputError(f"{one}: found with {other}, allowed: one of them")


def _show_json(result: Result, written: list[Path]) -> None:
    console.show_json(
        "bench copy",
        result.host,
        stamped("copy", result.host, [row.to_json() for row in result.rows]),
        commit=built_commit(),
        tuning=result.knob or None,
        goals=[
            {**asdict(goal), "reached": goal.reached, "within_reach": goal.within_reach}
            for goal in goals(result)
        ],
        foreign=round(result.foreign, 4),
        host_tuning=_host_tuning(),
        files=[str(path) for path in written],
    )


def _host_tuning() -> dict[str, object]:
    """The tuning of this processor, and files that are for others."""
    found = find_copy_tuning()
    return {
        "host": found.host,
        "file": str(found.path) if found.path is not None else None,
        "ignored": [{"file": str(path), "why": why} for path, why in found.ignored],
    }


def _tune(wanted: Wanted, target: Path, as_json: bool) -> None:
    check_target(target)
    sizes = [word for size in wanted.sizes for word in ("--size", str(size))]
    options = [*sizes, *["--quick"] * wanted.quick, *["--huge-pages"] * wanted.huge_pages]
    if wanted.processors:
        options += ["--processors", ",".join(map(str, wanted.processors))]
    command = shlex.join(["corewise", "bench", "copy", *options, "--tune", target.name])
    with console.progress_bar("tuning copies") as advance:
        tuning = tune(wanted, command, advance)
    save_copy_tuning(tuning, target)
    if as_json:
        rows = [{"what": "copy", **asdict(row)} for row in tuning.rows]
        rows += [{"what": "message", **asdict(row)} for row in tuning.messages]
        console.show_json("bench copy", tuning.host, rows, commit=built_commit(), tuning=tuning.knob())
        return
    console.show_text(f"{target}: which kernel copies what on {tuning.host}\n\n{tuning.knob()}")

"""Strided to strided between two ranks: over mapped memory with flags, against the best way of each MPI.

Per round the program runs under each MPI (MPICH with its copies between processes and without); its ways
take turns within a run. Ratio = the best way of that MPI / ours in the same run, its median over the rounds;
spread: the distance between its quartiles; floor: the better of the two forms that ours chooses between.

A core may be near or far: each run measures how long a flag takes from one to the other, before and after; a
run during which that changed by more than half is done again, three times at most. Rows are of the state that
most runs were in. `chosen` says which form ours took, `lost` by how much the other one was quicker (0: it was
not). Needs the MPIs of build/mpi.

Usage: .venv/bin/python bench/pack/mapped/run.py [--set NAME]... [--mpi NAME]... [--rounds N] [--json]
       ... --programs FOLDER: where the programs are, or are put

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

import racing  # noqa: E402

MPI_WAYS = ("datatype", "hand", "mpi-pack")
FORMS = ("direct", "staged")
SETS = {
    "constant": [(block, 32768 // block, 2 * block) for block in (8 << i for i in range(12))],
    "elements": [(block, 1024, 2 * block) for block in (8, 32, 64, 128, 512, 2048)],
    "columns": [(8, 4096, 4160), (32, 1024, 4160), (64, 1024, 4160), (256, 128, 4160)],
    "densities": [
        (block, 1024, stride) for block in (8, 32) for stride in (64, 128, 256, 1024, 4160) if stride > block
    ],
}
INNER_ROUNDS = 7
STATE_CHANGED = 1.5
NEAR_NS = 120.0
"""Cores that share a cache take less, from flag to flag; those of different dies take more."""
TRIES = 3


@dataclass(frozen=True)
class Setting:
    """An MPI and how it is run."""

    name: str
    folder: str
    options: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


AS_ROOT = (("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"), ("OMPI_MCA_btl", "^ofi"))
SETTINGS = (
    Setting("openmpi", "openmpi", ("--oversubscribe", "--bind-to", "none"), AS_ROOT),
    Setting("mpich", "mpich"),
    Setting("mpich-no-cma", "mpich", (), (("MPIR_CVAR_CH4_CMA_ENABLE", "0"),)),
)


@dataclass
class Run:
    """One launch: medians in us by case and way, the form ours took, ns from core to core, others' share."""

    times: dict[str, dict[str, float]] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)
    before: float = 0.0
    after: float = 0.0
    foreign: float = 0.0

    @property
    def state(self) -> str:
        """Where the two cores were."""
        return "near" if max(self.before, self.after) < NEAR_NS else "far"

    @property
    def changed(self) -> bool:
        """Whether they were elsewhere at the end than at the beginning."""
        slower, quicker = max(self.before, self.after), min(self.before, self.after)
        return slower > STATE_CHANGED * quicker


def build(setting: Setting, folder: Path) -> Path:
    """The program for one MPI."""
    program = folder / f"exchange-{setting.folder}"
    if not program.exists():
        compiler = racing.ROOT / "build" / "mpi" / setting.folder / "bin" / "mpicxx"
        flags = ["-std=c++20", "-O3", "-march=native", "-DNDEBUG", f"-I{racing.SOURCE}", "-pthread"]
        probe = [str(racing.SOURCE / "probe" / name) for name in ("stage_costs.cpp", "messages.cpp")]
        sources = [str(HERE / "exchange.cpp"), *racing.packing_sources(), *probe]
        subprocess.run([str(compiler), *flags, *sources, "-o", str(program)], check=True)
    return program


def launch(setting: Setting, program: Path, cases: list[str]) -> Run:
    """One run of the program."""
    launcher = racing.ROOT / "build" / "mpi" / setting.folder / "bin" / "mpiexec"
    command = [str(launcher), *setting.options, "-n", "2", str(program), str(INNER_ROUNDS), *cases]
    environment = {**os.environ, **dict(setting.environment)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        sys.exit(f"{setting.name}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    run = Run()
    for line in done.stdout.splitlines():
        first, *fields = line.split()
        if first == "foreign":
            run.foreign = float(fields[0])
        elif first == "state":
            run.before, run.after = map(float, fields)
        elif first == "chosen":
            run.chosen[fields[0]] = fields[1]
        else:
            run.times.setdefault(first, {})[fields[0]] = statistics.median(map(float, fields[2:]))
    return run


def steady(setting: Setting, program: Path, cases: list[str]) -> Run:
    """A run during which the cores stayed where they were, if three tries find one."""
    run = launch(setting, program, cases)
    for _ in range(TRIES - 1):
        if not run.changed:
            break
        run = launch(setting, program, cases)
    return run


def of_one_state(runs: list[Run]) -> list[Run]:
    """Those of the state that most steady runs were in."""
    quiet = [run for run in runs if not run.changed] or runs
    state = statistics.mode(run.state for run in quiet)
    return [run for run in quiet if run.state == state]


def row(setting: Setting, case: str, all_runs: list[Run]) -> racing.Row:
    """One line of the result."""
    runs = of_one_state(all_runs)
    medians = {way: statistics.median(run.times[case][way] for run in runs) for way in runs[0].times[case]}
    rival = min(MPI_WAYS, key=lambda way: medians[way])
    ours = [run.times[case]["ours"] for run in runs]
    chosen = statistics.mode(run.chosen[case] for run in runs)
    better = min(FORMS, key=lambda form: medians[form])
    block, count, stride = case.split(":")
    compared = racing.compared([run.times[case][rival] for run in runs], ours) if len(runs) > 1 else {}
    return {
        "id": f"mapped-{setting.name}-{block}-{count}-{stride}",
        "what": f"{count} blocks of {block} bytes, {stride} apart on both sides, {setting.name}",
        "unit": "us",
        "ours": racing.middle(ours, 2),
        "rival": rival,
        "theirs": round(medians[rival], 2),
        "floor": round(medians[better], 2),
        "ratio": round(medians[rival] / medians["ours"], 3),
        "spread": None,
        "n": len(runs),
        **compared,
        "state": runs[0].state,
        "core_to_core_ns": racing.middle([run.before for run in runs]),
        "chosen": chosen,
        "lost": round(medians[chosen] / medians[better] - 1, 3),
        "foreign": round(max(run.foreign for run in runs), 4),
    }


def sentence(line: racing.Row) -> str:
    """A row for people."""
    return (
        f"{line['what']}: {line['ours']} us ({line['chosen']}; better of the two {line['floor']}), "
        f"{line['rival']} {line['theirs']} us; "
        f"ratio {line['ratio']} (spread {line['spread']}, n={line['n']}), "
        f"{line['state']} ({line['core_to_core_ns']} ns), others {line['foreign']}"
    )


def remarks(rows: list[racing.Row]) -> str:
    """How often the choice was wrong, and the least ratio of what has blocks of 64 bytes and more."""
    lost = [float(str(line["lost"])) for line in rows]
    wrong = [share for share in lost if share > 0.05]
    large = [line for line in rows if int(str(line["id"]).rsplit("-", 3)[1]) >= 64]
    text = f"the other form was more than 5 % quicker in {len(wrong)} of {len(lost)} cases"
    text += f", by up to {100 * max(lost):.0f} %"
    if large:
        ratios = [float(str(line["ratio"])) for line in large]
        text += f"; blocks of 64 bytes and more: ratio {min(ratios)} and more"
        text += f", geometric mean {statistics.geometric_mean(ratios):.2f}"
    return text


def main() -> int:
    """Runs and prints."""
    parser = racing.options(__doc__, 5)
    parser.add_argument("--set", action="append", choices=sorted(SETS), help="only these cases")
    parser.add_argument(
        "--mpi", action="append", choices=[setting.name for setting in SETTINGS], help="only these settings"
    )
    parser.add_argument("--programs", type=Path, help="where they are, or are put; default: built anew")
    arguments = parser.parse_args()
    wanted = [case for name in arguments.set or SETS for case in SETS[name]]
    cases = list(dict.fromkeys(f"{block}:{count}:{stride}" for block, count, stride in wanted))
    settings = [setting for setting in SETTINGS if not arguments.mpi or setting.name in arguments.mpi]
    runs: dict[str, list[Run]] = {setting.name: [] for setting in settings}
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        folder = arguments.programs or Path(name)
        programs = {setting.name: build(setting, folder) for setting in settings}
        for turn in range(arguments.rounds):
            first = turn % len(settings)
            for setting in settings[first:] + settings[:first]:
                runs[setting.name].append(steady(setting, programs[setting.name], cases))
    rows = [row(setting, case, runs[setting.name]) for setting in settings for case in cases]
    racing.show("pack-mapped", rows, sentence, as_json=arguments.json)
    if not arguments.json:
        print(remarks(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

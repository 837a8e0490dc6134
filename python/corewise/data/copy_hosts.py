"""Which copy tuning is this processor's: kept on this host, or bundled.

A tuning says what is quickest on the processor on which it was measured, and nothing about another one. So a
file is used where its ``host`` is exactly this processor's name; what is for others is told, and never used.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from corewise.data.copy_tuning import CopyTuning, load_copy_tuning
from corewise.data.tuning import tuning_directory
from corewise.errors import CorewiseError

CPUINFO = Path("/proc/cpuinfo")
_NUMBERS = (
    ("cpu family", "family"),
    ("model", "model"),
    ("stepping", "stepping"),
    ("CPU implementer", "implementer"),
    ("CPU part", "part"),
    ("CPU variant", "variant"),
)
"""What tells processors of one name apart, on x86 and on Arm."""


def host_name(cpuinfo: Path = CPUINFO) -> str:
    """The processor: its name, and the numbers by which its maker tells it from others of that name."""
    fields = processor_fields(cpuinfo)
    name = fields.get("model name") or platform.processor() or platform.machine()
    numbers = ", ".join(f"{word} {fields[key]}" for key, word in _NUMBERS if fields.get(key))
    return f"{name} ({numbers})" if numbers else name


def processor_fields(cpuinfo: Path) -> dict[str, str]:
    """What the system says of the first processor; nothing where it does not."""
    fields: dict[str, str] = {}
    try:
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    return fields


def kept_tunings() -> Path | None:
    """Where a host keeps tunings of its own: ``$XDG_CONFIG_HOME/corewise`` or ``~/.config/corewise``.

    None where the user has no home.
    """
    try:
        return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "corewise"
    except RuntimeError:
        return None


@dataclass(frozen=True)
class HostTuning:
    """What there is for a processor.

    Attributes
    ----------
    host : str
    tuning : CopyTuning or None
        The one to use; none where no file is for this processor.
    path : Path or None
        Its file.
    ignored : tuple of (Path, str)
        Files that are not used, and why.
    """

    host: str
    tuning: CopyTuning | None
    path: Path | None
    ignored: tuple[tuple[Path, str], ...]

    def text(self) -> str:
        """In a line, as `corewise doctor` says it."""
        said = self.path.name if self.path is not None else f"none for {self.host}"
        ignored = "; ".join(f"{path.name} {why}" for path, why in self.ignored)
        return f"{said}; ignored: {ignored}" if ignored else said


def find_copy_tuning(host: str = "", folders: Iterable[Path] | None = None) -> HostTuning:
    """The copy tuning of a processor, of this one where none is named.

    Looks at ``copy-*.toml`` in `folders`, by default those that this host keeps, then the bundled ones: the
    first whose ``host`` is the processor's name is used.
    """
    host = host or host_name()
    found: tuple[CopyTuning, Path] | None = None
    ignored: list[tuple[Path, str]] = []
    for folder in folders if folders is not None else filter(None, (kept_tunings(), tuning_directory())):
        for path in sorted(folder.glob("copy-*.toml")):
            try:
                tuning = load_copy_tuning(path)
            except CorewiseError as error:
                ignored.append((path, f"cannot be read: {error}"))
                continue
            if tuning.host != host:
                ignored.append((path, f"is for {tuning.host}"))
            elif found is None:
                found = (tuning, path)
            else:
                ignored.append((path, f"comes after {found[1]}"))
    tuning_found, path_found = found if found is not None else (None, None)
    return HostTuning(host, tuning_found, path_found, tuple(ignored))

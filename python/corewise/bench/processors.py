"""Which processors a benchmark uses.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_TOPOLOGY = Path("/sys/devices/system/cpu")


def two_cores(usable: Iterable[int]) -> tuple[int, int] | None:
    """Two processors of different cores, of one package where the system says so; None of a single one."""
    first, *rest = sorted(usable)
    others = [each for each in rest if _core_of(each) != _core_of(first)] or rest
    near = [each for each in others if _core_of(each)[0] == _core_of(first)[0]] or others
    return (first, near[0]) if near else None


def _core_of(processor: int) -> tuple[str, str]:
    """Package and core of a processor; its own number where the system does not say."""
    folder = _TOPOLOGY / f"cpu{processor}" / "topology"
    try:
        package = (folder / "physical_package_id").read_text().strip()
        return package, (folder / "core_id").read_text().strip()
    except OSError:
        return "", str(processor)

"""Numbers for people, the same in the terminal and on the page.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations


def bytes_text(size_bytes: float) -> str:
    """A volume: ``1.50 MiB``."""
    value = float(size_bytes)
    if value < 1024:
        return f"{value:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if value < 1024:
            return f"{value:.3g} {unit}" if value < 100 else f"{value:.0f} {unit}"
    return f"{value / 1024:.3g} TiB"


def time_text(time_ns: float) -> str:
    """A duration: ``1.23 ms``."""
    value = float(time_ns)
    for unit in ("ns", "µs", "ms"):
        if value < 999.5:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} s" if value < 100 else f"{value:.0f} s"


def count_text(count: int) -> str:
    """A number with thin gaps between thousands: ``12 345``."""
    return f"{count:,}".replace(",", " ")


def share_text(share: float | None) -> str:
    """A part of a whole: ``12.3 %``; empty where there is no whole."""
    if share is None:
        return ""
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def size_range_text(low_bytes: int, high_bytes: int) -> str:
    """A histogram's bin: ``4 KiB to 8 KiB``."""
    if high_bytes == 0:
        return "empty"
    if low_bytes == high_bytes:
        return bytes_text(low_bytes)
    return f"{bytes_text(low_bytes)} to {bytes_text(high_bytes + 1)}"


def library_text(library: str) -> str:
    """What MPI_Get_library_version says, as far as it names the library: MPICH goes on for five lines."""
    first = next(iter(library.splitlines()), "")
    return " ".join(first.split(",")[0].split())

"""How numbers are written for people: volumes, times, counts, shares and ratios, the same in every view.

A number has three significant digits; what differs little, such as simulated times, may ask for more. Units
go by steps of 1000, those of bytes by steps of 1024.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence

_KIB = 1024
_MIB = 1024 * _KIB
_LONGEST_COUNT = 10**12
_LEAST_SHARE = 0.0005
_LONGEST_NUMBER = 1e15


def bytes_text(size_bytes: float) -> str:
    """A volume: ``1.5 MiB``."""
    value = float(size_bytes)
    if value < _KIB:
        return f"{value:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if value < 1023.5:
            return f"{value:.3g} {unit}" if value < 100 else f"{value:.0f} {unit}"
    return f"{value / 1024:.3g} TiB"


def size_text(size_bytes: float) -> str:
    """The exact size of a message, in the papers' KB of 1024 bytes: ``64 KB``, ``1.5 KB``, ``5000 B``."""
    for unit, length in (("MB", _MIB), ("KB", _KIB)):
        if size_bytes >= length and size_bytes % (length // 8) == 0:
            return f"{size_bytes / length:g} {unit}"
    return f"{size_bytes:g} B"


def size_range_text(low_bytes: int, high_bytes: int) -> str:
    """A histogram's bin: ``4 KiB to 8 KiB``."""
    if high_bytes == 0:
        return "empty"
    if low_bytes == high_bytes:
        return bytes_text(low_bytes)
    return f"{bytes_text(low_bytes)} to {bytes_text(high_bytes + 1)}"


def number_text(value: float | None, digits: int = 3) -> str:
    """So many significant digits, and all of a whole part: ``1.23``, ``1384090``; empty for None."""
    if value is None:
        return ""
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < _LONGEST_NUMBER else text


def time_text(time_ns: float, digits: int = 3) -> str:
    """A duration: ``1.23 ms``."""
    value = float(time_ns)
    for unit in ("ns", "µs", "ms"):
        if float(f"{value:.{digits}g}") < 1000:
            return f"{value:.{digits}g} {unit}"
        value /= 1000
    return f"{value:.0f} s" if value >= 10 ** (digits - 1) else f"{value:.{digits}g} s"


def count_text(count: float) -> str:
    """A number with gaps between thousands: ``12 345``."""
    return f"{round(count):,}".replace(",", " ") if count < _LONGEST_COUNT else f"{float(count):.1e}"


def share_text(share: float | None, digits: int = 1) -> str:
    """A part of a whole: ``12.3 %``; empty where there is no whole."""
    if share is None:
        return ""
    return "< 0.1 %" if digits == 1 and 0 < share < _LEAST_SHARE else f"{100 * share:.{digits}f} %"


def ratio_text(ratio: float | None) -> str:
    """One quantity over another: ``1.234``; a dash where there is none."""
    return "-" if ratio is None else f"{ratio:.3f}"


def cpu_list(cpus: Sequence[int]) -> str:
    """Processing units as ranges: ``0-3,8``."""
    ranges: list[list[int]] = []
    for cpu in cpus:
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)

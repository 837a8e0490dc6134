"""Numbers for people.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.data.quantities import (
    bytes_text,
    count_text,
    number_text,
    ratio_text,
    share_text,
    size_range_text,
    size_text,
    time_text,
)

KIB = 1024


def test_volumes() -> None:
    assert [bytes_text(value) for value in (0, 1023, KIB, 1536, 150 * KIB, 1 << 31)] == [
        "0 B", "1023 B", "1 KiB", "1.5 KiB", "150 KiB", "2 GiB",
    ]  # fmt: skip
    assert [bytes_text(value) for value in (KIB**2 - 1, 5 * KIB**4)] == [
        "1 MiB",
        "5 TiB",
    ]


def test_sizes_are_exact() -> None:
    sizes = (4, 100, KIB, 1536, 5000, 32 * KIB, 3 * KIB**2)
    assert [size_text(size) for size in sizes] == [
        "4 B", "100 B", "1 KB", "1.5 KB", "5000 B", "32 KB", "3 MB",
    ]  # fmt: skip


def test_bins() -> None:
    bins = ((0, 0), (1, 1), (4096, 8191))
    assert [size_range_text(*bin_) for bin_ in bins] == ["empty", "1 B", "4 KiB to 8 KiB"]


def test_numbers_have_no_positive_exponents() -> None:
    values = (None, 0, 0.012345, 1.2345, 999.6, 1129, 1_384_090.4, -1180.2, 2e-7, 3e18)
    assert [number_text(value) for value in values] == [
        "", "0", "0.0123", "1.23", "1000", "1129", "1384090", "-1180", "2e-07", "3e+18",
    ]  # fmt: skip
    assert [number_text(value, 6) for value in (567_922.4, 1_384_090.4)] == ["567922", "1384090"]


def test_times() -> None:
    assert [time_text(value) for value in (0, 12.34, 999.4, 999.6, 1_234_567, 2e9, 250e9, 12_345e9)] == [
        "0 ns", "12.3 ns", "999 ns", "1 µs", "1.23 ms", "2 s", "250 s", "12345 s",
    ]  # fmt: skip
    assert [time_text(value, 4) for value in (4758, 4736, 999.96, 123.456e9)] == [
        "4.758 µs", "4.736 µs", "1 µs", "123.5 s",
    ]  # fmt: skip


def test_counts_shares_and_ratios() -> None:
    assert [count_text(value) for value in (7, 1_234_567, 41.6)] == [
        "7",
        "1 234 567",
        "42",
    ]
    assert [share_text(value) for value in (None, 0.0, 0.0001, 0.5)] == ["", "0.0 %", "< 0.1 %", "50.0 %"]
    assert share_text(0.99, 0) == "99 %"
    assert [ratio_text(value) for value in (None, 1, 2.71828)] == ["-", "1.000", "2.718"]

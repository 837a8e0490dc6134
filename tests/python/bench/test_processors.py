"""Which processors a benchmark uses.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import pytest

from corewise.bench import processors


@pytest.fixture(autouse=True)
def topology(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two processors of one core, another core of the package, and one of another package."""
    monkeypatch.setattr(processors, "_TOPOLOGY", tmp_path)
    for processor, (package, core) in enumerate(((0, 0), (0, 0), (0, 1), (1, 0))):
        folder = tmp_path / f"cpu{processor}" / "topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text(f"{package}\n")
        (folder / "core_id").write_text(f"{core}\n")


@pytest.mark.parametrize(
    ("usable", "found"),
    [
        ([3, 2, 1, 0], (0, 2)),
        ([0, 3], (0, 3)),
        ([0, 1], (0, 1)),
        ([2], None),
        ([900, 901], (900, 901)),  # the system says nothing of them
    ],
)
def test_two_cores_are_of_one_package_where_there_are(
    usable: list[int], found: tuple[int, int] | None
) -> None:
    assert processors.two_cores(usable) == found

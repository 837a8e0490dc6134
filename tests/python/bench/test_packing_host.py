"""The packing table of a host: the kept one, a bundled one, one that is measured once, or none.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from corewise.bench.pack import host as packing_host
from corewise.bench.pack.host import FALLBACK, HostTable, host_table, kept_table
from corewise.data.packing_tuning import PackingRow, PackingTuning, load_packing_tuning, save_packing_tuning
from corewise.errors import RunError
from corewise.mpi.find import MpiLibrary

MPICH = MpiLibrary("mpich", "5.0.2", Path("/p"), Path("/p/bin/mpiexec"), Path("/p/lib/libmpi.so"), (), ())


def table(host: str, run: int, mpi: str = "mpich 5.0.2") -> PackingTuning:
    row = PackingRow("send", "dense", 4096, ((0, run),), (run,), (1.0,), (2.0,))
    return PackingTuning(host, mpi, "corewise", "2026-11-22", "tune", (row,))


class Host:
    """A host whose measurement is counted, with nothing bundled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.measured, self.said, self.error = 0, list[str](), ""
        self.bundled: list[Path] = []
        for name in [name for name in os.environ if name.startswith(packing_host._VARIABLES)]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        monkeypatch.setattr(packing_host, "host_name", lambda: "a processor")
        monkeypatch.setattr(packing_host, "two_processors", lambda: (0, 1))
        monkeypatch.setattr(packing_host, "bundled_tables", lambda: iter(self.bundled))
        monkeypatch.setattr(packing_host, "tune", self.tune)

    def tune(self, **_: object) -> PackingTuning:
        self.measured += 1
        if self.error:
            raise RunError(self.error)
        return table("a processor", 8)

    def ask(self) -> HostTable:
        return host_table(MPICH, self.said.append)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Host:
    return Host(monkeypatch, tmp_path)


def test_a_table_is_measured_once_and_kept(host: Host) -> None:
    first, second = host.ask(), host.ask()
    assert first == second == HostTable("send=4096:8", str(kept_table(MPICH, "a processor")))
    assert host.measured == 1 and len(host.said) == 1
    assert "measuring what packing pays on this host with mpich 5.0.2, once" in host.said[0]
    assert load_packing_tuning(first.source).rows[0].runs == ((0, 8),)


def test_a_table_of_another_kind_is_measured_anew(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.ask()
    monkeypatch.setenv("MPIR_CVAR_CH4_CMA_ENABLE", "0")
    host.ask()
    assert host.measured == 2
    monkeypatch.setattr(packing_host, "host_name", lambda: "another processor")
    host.ask()
    assert host.measured == 3


def test_a_damaged_table_is_replaced(host: Host) -> None:
    kept = kept_table(MPICH, "a processor")
    kept.parent.mkdir(parents=True)
    kept.write_text("version = 1")
    assert host.ask().knob == "send=4096:8" and host.measured == 1
    assert load_packing_tuning(kept)


def test_a_bundled_table_serves_its_own_processor_and_mpi_only(host: Host, tmp_path: Path) -> None:
    for name, tuning in (
        ("a", table("another processor", 16)),
        ("b", table("a processor", 32, "openmpi 5.0.11")),
        ("c", table("a processor", 64)),
    ):
        host.bundled.append(tmp_path / f"packing-{name}.toml")
        save_packing_tuning(tuning, host.bundled[-1])
    assert host.ask() == HostTable("send=4096:64", str(host.bundled[2]))
    assert host.measured == 0 and host.said == []


def test_a_bundled_table_is_for_an_mpi_that_nothing_steers(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.bundled.append(tmp_path / "packing-a.toml")
    save_packing_tuning(table("a processor", 64), host.bundled[0])
    monkeypatch.setenv("MPIR_CVAR_CH4_CMA_ENABLE", "0")
    assert host.ask().knob == "send=4096:8" and host.measured == 1


def test_a_table_that_cannot_be_kept_serves_this_run(host: Host) -> None:
    kept = kept_table(MPICH, "a processor")
    kept.parent.parent.mkdir(parents=True, exist_ok=True)
    kept.parent.write_text("a file where a folder should be")
    assert host.ask() == HostTable("send=4096:8", "")
    assert host.said[-1].startswith("it could not be kept, and is measured again next time: ")


def test_what_cannot_be_measured_is_said_and_timed_in_the_run(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.error = "the launcher refused\nand more"
    assert host.ask() == HostTable(FALLBACK, "")
    assert host.said[-1].endswith("timed in each process instead: the launcher refused")
    monkeypatch.setattr(packing_host, "two_processors", lambda: None)
    assert host.ask() == HostTable(FALLBACK, "") and host.measured == 1
    assert host.said[-1].startswith("one processor: ")


def test_bundled_tables_lie_where_the_other_tunings_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(packing_host, "tuning_directory", lambda: tmp_path)
    for name in ("packing-b.toml", "packing-a.toml", "copy-a.toml"):
        (tmp_path / name).touch()
    assert [path.name for path in packing_host.bundled_tables()] == ["packing-a.toml", "packing-b.toml"]

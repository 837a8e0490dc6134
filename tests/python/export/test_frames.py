"""Records as rows: batches, tables and frames hold what was written, decoded here with struct.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import json
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow
import pyarrow.parquet
import pytest
import trace_writer as tw
from exported_runs import PROGRAM, expected, made_up_run

from corewise._core import pack_profile
from corewise.data.events import COLUMNS, GROUPS, KINDS, parse_selection
from corewise.export import export_profile, load_events

PICKED = ("rank", "start_ns", "duration_ns", "kind", "name", "bytes", "peer", "tag", "comm")


def _of_batches(profile: Path, rows: int, **chosen: Any) -> list[tuple[Any, ...]]:
    events = load_events(profile, **chosen)
    out = []
    for batch in events.batches(rows):
        assert 0 < len(batch) <= rows
        for index in range(len(batch)):
            name = int(batch.name[index])
            values = {key: getattr(batch, key) for key in PICKED}
            row = {key: int(value if np.isscalar(value) else value[index]) for key, value in values.items()}
            out.append(
                (
                    *(row[key] for key in PICKED[:3]),
                    KINDS[row["kind"]],
                    events.names[name] if name >= 0 else None,
                    *(row[key] for key in PICKED[5:]),
                )
            )
    return out


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 11, 16, 1000])
def test_batches_hold_every_record_in_order(tmp_path: Path, rows: int) -> None:
    profile, ranks = made_up_run(tmp_path)
    assert _of_batches(profile, rows) == expected(ranks)


def test_calls_are_counted_once_and_places_are_found(tmp_path: Path) -> None:
    profile, ranks = made_up_run(tmp_path)
    frame = load_events(profile).to_pandas()
    calls = Counter(KINDS[struct.unpack("<H", record[12:14])[0] >> 10 & 31] for record in ranks[0].records)
    mine = frame[frame["rank"] == 0]
    counted = mine.groupby("kind", observed=True)["calls"].sum()
    assert counted["miss"] == 17
    for kind in ("send", "receive", "post_receive", "call", "collective", "put", "file_read", "probe"):
        assert counted[kind] == calls[kind]
    for kind in ("arrival", "cancel", "function_enter", "region_exit", "phase", "recording"):
        assert counted[kind] == 0
    sends = mine[mine["name"] == "MPI_Isend"]
    assert set(sends["object"]) == {PROGRAM}
    assert set(sends["offset"]) == {0x20 + 0x1000}
    entered = mine[mine["kind"] == "function_enter"]
    assert list(entered["offset"]) == [0x1100, 0x1200]


def test_every_table_and_frame_says_the_same(tmp_path: Path) -> None:
    profile, ranks = made_up_run(tmp_path)
    wanted = expected(ranks)
    for form in ("csv", "parquet", "arrow"):
        done = export_profile(profile, form, tmp_path / f"t.{form}")
        assert (done.written, done.records, done.unsaid) == (len(wanted), len(wanted), 0)
        assert done.bytes == (tmp_path / f"t.{form}").stat().st_size
    with (tmp_path / "t.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert list(lines[0]) == [column.name for column in COLUMNS]
    texts = ("kind", "name")
    from_csv = [
        tuple((line[key] or None) if key in texts else int(line[key]) for key in PICKED) for line in lines
    ]
    events = load_events(profile)
    tables = {
        "parquet": pyarrow.parquet.read_table(tmp_path / "t.parquet"),
        "arrow": pyarrow.ipc.open_file(tmp_path / "t.arrow").read_all(),
        "to_arrow": events.to_arrow(),
    }
    found = {
        name: [tuple(row[key] for key in PICKED) for row in table.to_pylist()]
        for name, table in tables.items()
    }
    found["csv"] = from_csv
    found["polars"] = list(events.to_polars().select(PICKED).iter_rows())
    pandas = events.to_pandas()[list(PICKED)].astype(object)
    found["pandas"] = [tuple(None if value != value else value for value in row) for row in pandas.to_numpy()]
    for name, rows in found.items():
        assert rows == wanted, name
    about = json.loads(tables["parquet"].schema.metadata[b"corewise"])
    assert [each["ending"] for each in about["processes"]] == ["finalized", "finalized", "running"]
    assert [each["name"] for each in about["communicators"]] == ["MPI_COMM_WORLD", "evens", "back to front"]
    assert about["communicators"][2]["ranks"] == [2, 1, 0]


def test_texts_are_categories_and_columns_have_their_types(tmp_path: Path) -> None:
    events = load_events(made_up_run(tmp_path)[0])
    frame, table = events.to_pandas(), events.to_polars()
    for column in COLUMNS:
        if column.type == "text":
            assert frame[column.name].dtype.name == "category"
            assert table[column.name].dtype == polars.Categorical
        else:
            assert str(frame[column.name].dtype) == column.type
            assert str(table[column.name].dtype).lower() == column.type
    assert list(frame["kind"].cat.categories) == list(KINDS)  # so that codes are the stable numbers


# ---- choices ----


def test_ranks_kinds_and_times_choose_rows(tmp_path: Path) -> None:
    profile, ranks = made_up_run(tmp_path)
    rows = expected(ranks)
    messages = GROUPS["messages"]
    cases = {
        ("0,2", None, None, None): [row for row in rows if row[0] != 1],
        (None, ("messages",), None, None): [row for row in rows if row[3] in messages],
        (None, ("put,get", "phase"), None, None): [row for row in rows if row[3] in ("put", "get", "phase")],
        ("1-2", None, "700 ns", "1 us"): [
            row for row in rows if row[0] and row[1] < 1000 and row[1] + row[2] >= 700
        ],
    }
    for (chosen, kinds, begin, until), wanted in cases.items():
        selection = parse_selection(chosen, kinds, begin, until)
        assert wanted
        assert _of_batches(profile, 7, selection=selection) == wanted


def test_functions_are_called_by_their_names(tmp_path: Path) -> None:
    libc = next(
        line
        for line in Path("/proc/self/maps").read_text().splitlines()
        if "libc.so" in line and "r-x" in line
    )
    first, offset = int(libc.split("-")[0], 16), int(libc.split()[2], 16)
    symbols = subprocess.run(
        ["readelf", "--dyn-syms", "-W", libc.split()[-1]], capture_output=True, text=True, check=True
    ).stdout
    entry = next(
        line.split() for line in symbols.splitlines() if line.split()[-1:] == ["getenv@@GLIBC_2.2.5"]
    )
    trace = tw.RankTrace(0, 1, maps=libc + "\n")
    address = first + int(entry[1], 16) - offset
    trace.function(tw.FUNCTION_ENTER, address)
    trace.function(tw.FUNCTION_EXIT, address)
    profile = tw.write_run(tmp_path / "libc.cw", [trace])
    assert load_events(profile).names == ("getenv",)


def test_packed_rank_files_are_read_where_they_are(tmp_path: Path) -> None:
    profile, ranks = made_up_run(tmp_path)
    pack_profile(str(profile))
    assert not list(profile.glob("*.cwt"))
    assert _of_batches(profile, 1000) == expected(ranks)

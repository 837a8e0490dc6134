"""Datatypes from Python and from text, against type maps by MPI's definition (typemap.py).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from typemap import PREDEFINED, Node, Typemap, core_type, text_of, typemap

from corewise._core import Datatype, copy_items, packing_decision
from corewise.data.datatypes import predefined_names, read_datatype
from corewise.errors import InputError

pytestmark = pytest.mark.first_test

ROOT = Path(__file__).resolve().parents[3]
MOST_ENTRIES = 1500
EXAMPLES = settings(
    deadline=None, max_examples=150, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)

small, near = st.integers(0, 3), st.integers(-12, 12)


def lists(values: st.SearchStrategy[int], count: int) -> st.SearchStrategy[list[int]]:
    return st.lists(values, min_size=count, max_size=count)


@st.composite
def indexed_nodes(draw: st.DrawFn, old: Node) -> Node:
    count = draw(st.integers(0, 4))
    name = draw(st.sampled_from(["indexed", "hindexed"]))
    return (name, draw(lists(small, count)), draw(lists(near, count)), old)


@st.composite
def structures(draw: st.DrawFn, children: st.SearchStrategy[Node]) -> Node:
    count = draw(st.integers(0, 4))
    types = draw(st.lists(children, min_size=count, max_size=count))
    return ("struct", draw(lists(small, count)), draw(lists(st.integers(-40, 80), count)), types)


@st.composite
def subarrays(draw: st.DrawFn, old: Node) -> Node:
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    subsizes = [draw(st.integers(1, size)) for size in sizes]
    starts = [draw(st.integers(0, size - part)) for size, part in zip(sizes, subsizes, strict=True)]
    return ("subarray", sizes, subsizes, starts, draw(st.sampled_from(["c", "fortran"])), old)


@st.composite
def darrays(draw: st.DrawFn, old: Node) -> Node:
    gsizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    distributions = [draw(st.sampled_from(["block", "cyclic", "none"])) for _ in gsizes]
    psizes = [1 if each == "none" else draw(st.integers(1, 3)) for each in distributions]
    dargs = []
    for size, kind, processes in zip(gsizes, distributions, psizes, strict=True):
        least = -(-size // processes) if kind == "block" else 1
        dargs.append(draw(st.sampled_from([-1, least, least + 1])))
    ranks = int(np.prod(psizes))
    rank = draw(st.integers(0, ranks - 1))
    order = draw(st.sampled_from(["c", "fortran"]))
    return ("darray", ranks, rank, gsizes, distributions, dargs, psizes, order, old)


def constructors(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    def blocks(name: str) -> st.SearchStrategy[Node]:
        return st.tuples(st.just(name), small, st.lists(near, max_size=5), children)

    return st.one_of(
        st.tuples(st.just("contiguous"), small, children),
        st.tuples(st.just("vector"), small, small, near, children),
        st.tuples(st.just("hvector"), small, small, st.integers(-64, 64), children),
        children.flatmap(indexed_nodes),
        blocks("indexed_block"),
        blocks("hindexed_block"),
        structures(children),
        children.flatmap(subarrays),
        children.flatmap(darrays),
        st.tuples(st.just("resized"), children, st.integers(-24, 24), st.integers(-32, 64)),
    )


nodes = st.recursive(st.sampled_from([(name,) for name in PREDEFINED]), constructors, max_leaves=6)


def entries_at_most(node: Node, most: int) -> Typemap:
    """The type map, where it is small enough to be listed."""
    assume(core_type(node).size <= most)
    return typemap(node)


def merged(rows: np.ndarray) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for at, size in rows.tolist():
        if runs and sum(runs[-1]) == at:
            runs[-1] = (runs[-1][0], runs[-1][1] + size)
        else:
            runs.append((at, size))
    return runs


def bounds(each: Datatype) -> tuple[int, ...]:
    return (each.size, each.lb, each.ub, each.extent, each.true_lb, each.true_extent)


def reach(reference: Typemap, count: int) -> tuple[int, int]:
    """Bytes before the first item's address, and bytes from there to behind the last byte of data."""
    places = reference.bytes_of(count)
    return max(0, -min(places, default=0)), max(places, default=-1) + 1


# Against the type map ------------------------------------------------------------------------------------


@EXAMPLES
@given(nodes)
def test_bounds_and_runs_are_those_of_the_type_map(node: Node) -> None:
    reference = entries_at_most(node, MOST_ENTRIES)
    made = core_type(node)
    expected = (reference.size, reference.lb, reference.ub, reference.extent)
    true_extent = reference.true_ub - reference.true_lb
    assert bounds(made) == (*expected, reference.true_lb, true_extent)
    assert merged(made.runs()) == reference.runs()
    assert merged(made.runs(3, simplified=True)) == reference.runs(3)
    assert made.run_count(3) >= len(reference.runs(3))


@EXAMPLES
@given(nodes)
def test_the_text_says_the_same(node: Node) -> None:
    assume(core_type(node).size <= MOST_ENTRIES)
    read = read_datatype(text_of(node))
    assert bounds(read) == bounds(core_type(node))
    assert np.array_equal(read.runs(), core_type(node).runs())


@EXAMPLES
@given(nodes, st.integers(0, 3), st.data())
def test_packing_takes_the_bytes_of_the_type_map(node: Node, count: int, data: st.DataObject) -> None:
    reference = entries_at_most(node, MOST_ENTRIES)
    made, places = core_type(node), reference.bytes_of(count)
    before, after = reach(reference, count)
    buffer = np.random.default_rng(5).integers(0, 256, before + after, np.uint8)
    expected = buffer[[before + place for place in places]]
    packed = made.pack(buffer, count, before)
    assert np.array_equal(packed, expected)
    first = data.draw(st.integers(0, len(places)))
    size = data.draw(st.integers(0, len(places) - first))
    part = made.pack_part(buffer, count, before, first, size)
    assert np.array_equal(part, expected[first : first + size])


@EXAMPLES
@given(nodes, st.integers(0, 3), st.data())
def test_unpacking_writes_those_and_nothing_else(node: Node, count: int, data: st.DataObject) -> None:
    reference = entries_at_most(node, MOST_ENTRIES)
    places = reference.bytes_of(count)
    before, after = reach(reference, count)
    first = data.draw(st.integers(0, len(places)))
    size = data.draw(st.integers(0, len(places) - first))
    packed = np.random.default_rng(6).integers(0, 256, size, np.uint8)
    expected = np.full(before + after, 0xA5, np.uint8)
    for place, value in zip(places[first : first + size], packed, strict=True):  # in order: runs may overlap
        expected[before + place] = value
    buffer = np.full(before + after, 0xA5, np.uint8)
    core_type(node).unpack(packed, buffer, count, before, first)
    assert np.array_equal(buffer, expected)


@EXAMPLES
@given(nodes, nodes, st.integers(0, 2), st.integers(0, 2))
def test_from_layout_to_layout(source: Node, target: Node, items: int, wanted: int) -> None:
    read_from, written = (
        entries_at_most(source, MOST_ENTRIES // 4),
        entries_at_most(target, MOST_ENTRIES // 4),
    )
    read_places, write_places = read_from.bytes_of(items), written.bytes_of(wanted)
    assume(len(set(write_places)) == len(write_places))
    (before, after), (ahead, behind) = reach(read_from, items), reach(written, wanted)
    memory = np.random.default_rng(7).integers(0, 256, before + after, np.uint8)
    expected = np.full(ahead + behind, 0x5A, np.uint8)
    for at, to in zip(read_places, write_places, strict=False):
        expected[ahead + to] = memory[before + at]
    found = np.full(ahead + behind, 0x5A, np.uint8)
    copy_items(memory, core_type(source), items, found, core_type(target), wanted, before, ahead)
    assert np.array_equal(found, expected)


@EXAMPLES
@given(nodes)
def test_the_canonical_form_has_no_more_runs(node: Node) -> None:
    made = core_type(node)
    assume(made.size <= MOST_ENTRIES)
    stages = made.simplified(2)
    assert stages[0][0] == "constructed"
    assert len(made.runs(2, simplified=True)) <= max(len(made.runs(2)), 0)


# Facts of a type -----------------------------------------------------------------------------------------


def test_predefined_types_have_the_sizes_of_this_host() -> None:
    for name in predefined_names():
        found = read_datatype(name)
        assert found.size > 0 and found.extent >= found.size, name
        assert bounds(read_datatype(f"MPI_{name.upper()}")) == bounds(found)
    assert bounds(read_datatype("double_int")) == (12, 0, 16, 16, 0, 12)
    assert bounds(read_datatype("2int")) == (8, 0, 8, 8, 0, 8)
    assert bounds(read_datatype("short_int")) == (6, 0, 8, 8, 0, 8)
    assert read_datatype("c_double_complex").alignment == 8


def test_marked_bounds_are_inherited() -> None:
    assert not read_datatype("contiguous(2, int)").marked
    assert read_datatype("contiguous(2, resized(int, -4, 32))").marked
    assert bounds(read_datatype("contiguous(2, resized(int, -3, 9))")) == (8, -3, 15, 18, 0, 13)


def test_the_plan_knows_runs_and_lines() -> None:
    found = read_datatype("vector(512, 8, 16, double)")
    assert (found.mean_run, found.line_density, found.is_contiguous) == (64.0, 1.0, False)
    assert read_datatype("contiguous(7, double)").is_contiguous
    assert not read_datatype("resized(double, 0, 16)").is_contiguous
    assert found.plan().strip()


def test_a_range_is_a_list() -> None:
    ranged = read_datatype("indexed_block(1, [0:30:3, 40, 41], int)")
    listed = read_datatype(f"indexed_block(1, {[*range(0, 30, 3), 40, 41]}, int)")
    assert np.array_equal(ranged.runs(), listed.runs())
    assert read_datatype("hindexed_block(1, [8:-9:-8], int)").runs()[:, 0].tolist() == [8, 0, -8]


def test_spaces_lines_and_capitals_do_not_matter() -> None:
    text = "  MPI_VECTOR (\n 3 ,1,\t2,MPI_Int )  "
    assert bounds(read_datatype(text)) == bounds(read_datatype("vector(3,1,2,int)"))


def test_lists_of_a_million_and_nests_of_thousands() -> None:
    places = np.cumsum(np.arange(999_999) % 7 + 2)
    found = read_datatype(f"indexed_block(1, [{','.join(map(str, places))}], int)")
    assert found.size == 3_999_996
    assert found.simplified()[-1][1].startswith("repeat 142857 times")
    deep = read_datatype("contiguous(1," * 5000 + "vector(2,1,2,int)" + ")" * 5000)
    assert deep.runs().tolist() == [[0, 4], [8, 4]]


# Wrong input ---------------------------------------------------------------------------------------------

WRONG = [
    ("", "character 1: found the end, allowed: a type"),
    ("foo", "character 1: found 'foo', allowed: a predefined type such as double, or one of contiguous"),
    ("vector(1,2,3)", "vector(count, blocklength, stride, type): found 3 arguments, allowed: 4"),
    ("vector(1,2,3,int", "character 17: found the end, allowed: , or )"),
    ("vector(1,2,3,int))", "character 18: found ')', allowed: the end of the text"),
    ("vector 3", "character 8: found '3', allowed: ( after vector"),
    ("contiguous(2, vector(-1,1,1,int))", "character 15, vector"),
    ("vector(-1,1,1,int)", "field 'count': found -1, allowed: 0 or more"),
    ("vector(1,[2],3,int)", "argument 'blocklength': found a list of 1, allowed: a number"),
    ("contiguous(2,3)", "argument 'type': found '3', allowed: a type"),
    ("struct([1],[0],[3])", "argument 'types': found a list of 1, allowed: a list of types"),
    ("indexed([1],[2,3],int)", "field 'displacements': found 2 entries, allowed: 1"),
    ("subarray([4],[3],[2],c,int)", "field 'starts[0]': found 2, allowed: 0 to 1"),
    ("subarray([4],[3],[0],block,int)", "argument 'order': found 'block', allowed: c or fortran"),
    ("darray(2,0,[4],[row],[1],[2],c,int)", "found 'row'"),
    ("darray(2,0,[4],[c],[2],[2],c,int)", "field 'distributions': found 'c', allowed: block, cyclic, none"),
    ("darray(2,0,[4],[block],[1],[2],c,int)", "field 'dargs[0]': found 1, allowed: 2 to"),
    ("darray(3,0,[4],[block],[default],[2],c,int)", "field 'size': found 3, allowed: the product of psizes"),
    ("contiguous(99999999999999999999,int)", "allowed: a number of 64 bits"),
    ("indexed_block(1,[99999999999999999999],int)", "allowed: numbers of 64 bits"),
    ("contiguous(9000000000000000000,int)", "reaches or counts 2^60 bytes or more"),
    ("vector(0,1,9000000000000000000,int)", "field 'stride': found a type that reaches or counts 2^60"),
    ("hvector(0,9000000000000000000,1,int)", "field 'count': found a type that reaches or counts 2^60"),
    ("indexed_block(1,[0:9:0],int)", "a range whose step is not 0"),
    ("indexed_block(1,[5:5],int)", "a range with an entry"),
    ("indexed_block(1,[0:100000000],int)", "at most 16777216 entries"),
    ("contiguous(1:2,int)", "a range inside a list alone"),
    ("int $", "found '$', allowed: a name, a number"),
    ("[1,2]", "found '[1,2]', allowed: a type"),
]


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_wrong_texts_are_one_line(text: str, expected: str) -> None:
    with pytest.raises(InputError) as raised:
        read_datatype(text)
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)


@settings(deadline=None, max_examples=300, derandomize=True)
@given(st.text("vector(1,2[]int:) -contiguous_", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert read_datatype(text).size >= 0
    except InputError as error:
        assert str(error).startswith("datatype, character ")


def test_items_outside_the_buffer_are_refused() -> None:
    vector, memory = read_datatype("vector(4, 1, 2, int)"), np.zeros(64, np.uint8)
    assert vector.pack(memory, 1, 36).size == 16
    for count, offset in ((1, 37), (1, -1), (3, 0), (-1, 0)):
        with pytest.raises(InputError):
            vector.pack(memory, count, offset)
    with pytest.raises(InputError, match="one with bytes -8 to 4"):
        read_datatype("vector(2, 1, -2, int)").pack(memory)
    with pytest.raises(InputError, match="field 'first'"):
        vector.pack_part(memory, 1, 0, 17, 0)
    with pytest.raises(InputError, match="field 'bytes'"):
        vector.unpack(np.zeros(17, np.uint8), memory)
    with pytest.raises(InputError, match="at most as many"):
        read_datatype("vector(100000000, 1, 2, int)").runs()


def test_a_packing_decision_names_its_row() -> None:
    knob = "send=4096:512,65536:64"
    assert packing_decision(knob, "send", 4096, 512)[0]
    packed, reason = packing_decision(knob, "send", 5000, 512)
    assert not packed and "65536" in reason and "64" in reason
    assert not packing_decision(knob, "send", 70000, 8)[0]
    assert not packing_decision(knob, "pack", 100, 8)[0]
    with pytest.raises(InputError, match="field 'use'"):
        packing_decision(knob, "sent", 1, 1)
    with pytest.raises(InputError, match="field 'knob'"):
        packing_decision("send=x", "send", 1, 1)


# The fuzzer ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("targets", [["datatypes"], pytest.param([], id="all", marks=pytest.mark.long_test)])
def test_the_fuzzer_finds_nothing_from_its_seeds(targets: list[str]) -> None:
    names = [
        os.environ.get("COREWISE_FUZZ_CXX", ""),
        "clang++",
        *(f"clang++-{each}" for each in range(20, 13, -1)),
    ]
    if not any(shutil.which(name) for name in names if name):
        pytest.skip("capability: clang with libFuzzer")
    run = [str(ROOT / "tools" / "run" / "fuzz.sh"), "3", *targets]
    ended = subprocess.run(run, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert "stat::number_of_executed_units" in ended.stderr

"""Call graphs of made-up runs: names, what is cut and merged, the layout, every form, and wrong input.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
import subprocess
import time
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st
from installed_tool import assert_one_line_error, corewise, document
from trace_writer import COLLECTIVE, FUNCTION_ENTER, FUNCTION_EXIT, PLAIN, SEND, RankTrace, write_run

from corewise.analysis.profile.call_graph import (
    CallTree,
    TreeNode,
    as_graph,
    call_tree,
    fitted,
    merged,
    pruned,
)
from corewise.cli.main import execute
from corewise.data.profile import EVERY_RANK, load_profile
from corewise.errors import InputError
from corewise.plots.call_graph import dot_text, picture, short_name
from corewise.plots.call_graph_layout import layered
from corewise.plots.call_graph_page import part_of_page

SOURCE = """\
void collision(void) {}

void streaming(void) {}

void communication(void) {}

int main(void) {
  collision();
  streaming();
  communication();
  return 0;
}
"""
LINES = {"collision": 1, "streaming": 3, "communication": 5, "main": 7}
BASE = 0x40_0000
STEPS = 10


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program to take names from; nobody runs it."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "flow.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-o", "flow", "flow.c"], cwd=folder, check=True)
    return folder / "flow"


def addresses(program: Path) -> dict[str, int]:
    """Where its functions would be, mapped from `BASE` on."""
    with program.open("rb") as stream:
        elf = ELFFile(stream)
        table = elf.get_section_by_name(".symtab")
        values = {name: int(table.get_symbol_by_name(name)[0]["st_value"]) for name in LINES}
        return {name: BASE + next(elf.address_offsets(value)) for name, value in values.items()}


def lbm_run(folder: Path, program: Path, ranks: int = 2, started_ns: int | None = None) -> Path:
    """Figure 10's program: main calls collision, streaming and communication once per iteration."""
    at = addresses(program)
    traces = []
    for rank in range(ranks):
        trace = RankTrace(rank, ranks, maps=f"{BASE:x}-{BASE + 0x10000:x} r-xp 00000000 08:01 1 {program}\n")
        trace.started_realtime_ns = time.time_ns() if started_ns is None else started_ns

        def inside(name: str, ticks: int, put: Any = None, trace: RankTrace = trace) -> None:
            trace.function(FUNCTION_ENTER, at[name])
            trace.now += ticks
            if put is not None:
                put()
            trace.function(FUNCTION_EXIT, at[name])

        def exchange(trace: RankTrace = trace, rank: int = rank) -> None:
            trace.put(SEND, "MPI_Send", (rank + 1) % ranks, 132, ticks=20)
            trace.put(SEND, "MPI_Send", (rank + 1) % ranks, 8, ticks=5)
            trace.put(COLLECTIVE, "MPI_Allreduce", -1, 64, ticks=15)

        trace.function(FUNCTION_ENTER, at["main"])
        trace.now += 1
        trace.put(PLAIN, "MPI_Init", ticks=50)
        for _ in range(STEPS):
            inside("collision", 100)
            inside("streaming", 60)
            inside("communication", 10, exchange)
        trace.function(FUNCTION_EXIT, at["main"])
        traces.append(trace)
    return write_run(folder, traces)


def paths(tree: CallTree) -> dict[str, TreeNode]:
    """Nodes by their path of labels, without the root."""
    names: list[str] = []
    found = {}
    for node in tree.nodes:
        above = names[node.parent] if node.parent > 0 else ""
        names.append(f"{above}/{node.label}")
        if node.parent >= 0:
            assert names[-1] not in found
            found[names[-1]] = node
    return found


def test_figure_10(tmp_path: Path, program: Path) -> None:
    tree = call_tree(load_profile(lbm_run(tmp_path / "lbm.cw", program), 0), 0)
    found = paths(tree)
    talk = "/main/communication"
    assert {path: node.count for path, node in found.items()} == {
        "/main": 1,
        "/main/MPI_Init": 1,
        "/main/collision": STEPS,
        "/main/streaming": STEPS,
        talk: STEPS,
        f"{talk}/MPI_Send": 2 * STEPS,
        f"{talk}/MPI_Send/MPI_Send(0,1,8)": STEPS,
        f"{talk}/MPI_Send/MPI_Send(0,1,132)": STEPS,
        f"{talk}/MPI_Allreduce": STEPS,
    }
    assert {node.label: node.source for node in found.values() if node.kind == "function"} == {
        name: f"flow.c:{line}" for name, line in LINES.items()
    }
    assert found[talk].inclusive_ns == pytest.approx(STEPS * 50)
    assert found[talk].exclusive_ns == pytest.approx(STEPS * 10)
    assert found["/main"].inclusive_ns == pytest.approx(51 + STEPS * 210)
    assert tree.warnings == ()
    assert tree.title == "flow <x>, rank 0"


def test_ranks_are_summed_and_their_messages_stay_apart(tmp_path: Path, program: Path) -> None:
    tree = call_tree(load_profile(lbm_run(tmp_path / "lbm.cw", program, 3), EVERY_RANK))
    found = paths(tree)
    assert found["/main"].count == 3
    assert found["/main/collision"].count == 3 * STEPS
    messages = {node.label: node.count for node in found.values() if node.kind == "message"}
    assert messages == {
        f"MPI_Send({rank},{(rank + 1) % 3},{size})": STEPS for rank in range(3) for size in (8, 132)
    }
    assert tree.ranks == (0, 1, 2)


@pytest.mark.parametrize(("started_ns", "word"), [(1_700_000_000_000_000_000, "changed"), (None, "gone")])
def test_a_program_that_is_not_the_one_that_ran_gives_no_names(
    tmp_path: Path, program: Path, started_ns: int | None, word: str
) -> None:
    copy = tmp_path / "flow"
    copy.write_bytes(program.read_bytes())
    folder = lbm_run(tmp_path / "lbm.cw", copy, 1, started_ns)
    if word == "gone":
        copy.unlink()
    tree = call_tree(load_profile(folder, EVERY_RANK))
    labels = [node.label for node in tree.nodes if node.kind == "function"]
    assert len(labels) == 4
    assert all(re.fullmatch(r"flow\+0x[0-9a-f]+", label) for label in labels)
    assert [word in warning for warning in tree.warnings] == [True]


def test_a_run_without_functions_says_how_to_get_them(tmp_path: Path) -> None:
    trace = RankTrace(0, 1)
    trace.put(SEND, "MPI_Send", 0, 8)
    tree = call_tree(load_profile(write_run(tmp_path / "a.cw", [trace]), EVERY_RANK))
    assert list(paths(tree)) == ["/MPI_Send", "/MPI_Send/MPI_Send(0,0,8)"]
    assert "-finstrument-functions" in tree.warnings[0]


# ---- cutting and merging ---------------------------------------------------------------------------------


def node(parent: int, label: str, count: int, time_ns: float, self_ns: float = 0.0, **more: Any) -> TreeNode:
    """A function, or what `more` says."""
    plain = TreeNode(parent, "function", label, "f.c", 1, "/bin/f", count, 0, 0, time_ns, self_ns)
    return replace(plain, **more)


def tree_of(*nodes: TreeNode) -> CallTree:
    return CallTree("made up", (0,), (node(-1, "made up", 1, nodes[0].inclusive_ns, kind="root"), *nodes), ())


RECURSIVE = tree_of(
    node(0, "main", 1, 100, 10),
    node(1, "a", 2, 60, 20),
    node(2, "b", 4, 40, 10),
    node(3, "a", 8, 30, 30, recursive=3),
    node(1, "b", 1, 30, 30),
)


def test_merging_counts_a_time_once() -> None:
    graph = merged(RECURSIVE)
    by_label = {each.label: each for each in graph.nodes}
    assert {label: each.count for label, each in by_label.items()} == {
        "made up": 1,
        "main": 1,
        "a": 10,
        "b": 5,
    }
    assert by_label["a"].inclusive_ns == 60
    assert by_label["a"].exclusive_ns == 50
    assert by_label["b"].inclusive_ns == 70
    labels = [each.label for each in graph.nodes]
    edges = {(labels[e.caller], labels[e.callee]): (e.count, e.time_ns) for e in graph.edges}
    assert edges == {
        ("made up", "main"): (1, 100),
        ("main", "a"): (2, 60),
        ("a", "b"): (4, 40),
        ("b", "a"): (5, 30),
        ("a", "a"): (3, 0),
        ("main", "b"): (1, 30),
    }


def test_small_and_deep_parts_are_cut() -> None:
    tree = tree_of(
        node(0, "main", 1, 1000, 0),
        node(1, "large", 1, 900, 900),
        node(1, "small", 50, 5, 5),
        node(1, "tiny", 7, 1, 1),
        node(2, "below", 1, 800, 800),
    )
    assert list(paths(pruned(tree, "time", depth=2))) == ["/main", "/main/large", "/main/small", "/main/tiny"]
    cut = paths(pruned(tree, "time", min_share=0.01))
    assert list(cut) == ["/main", "/main/large", "/main/large/below", "/main/2 small callees"]
    assert (cut["/main/2 small callees"].count, cut["/main/2 small callees"].inclusive_ns) == (57, 6)
    by_count = paths(pruned(tree, "count", min_share=0.2))
    assert list(by_count) == ["/main", "/main/small", "/main/2 small callees"]
    everything = paths(pruned(tree, "count"))
    assert {path: each.count for path, each in everything.items()} == {
        path: each.count for path, each in paths(tree).items()
    }


def test_a_picture_of_a_huge_tree_is_cut() -> None:
    nodes = [node(0, "main", 1, 4000.0)] + [node(1, f"f{i}", 1, float(i)) for i in range(1, 900)]
    cut = fitted(tree_of(*nodes), "time", 100)
    assert 30 <= len(cut.nodes) <= 100
    assert "f899" in {each.label for each in cut.nodes}
    assert "leaves out the smallest of 901 nodes" in cut.warnings[-1]
    assert fitted(RECURSIVE, "time", 100) is RECURSIVE


# ---- layout ----------------------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[float, float]], list[tuple[int, int]]]:
    size = draw(st.integers(1, 16))
    sizes = draw(st.lists(st.tuples(st.floats(20, 300), st.floats(20, 90)), min_size=size, max_size=size))
    ends = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    return sizes, draw(st.lists(ends, max_size=3 * size, unique=True))


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_boxes_never_overlap_and_edges_run_forward(
    drawn: tuple[list[tuple[float, float]], list[tuple[int, int]]],
) -> None:
    sizes, edges = drawn
    placed = layered(sizes, edges, 50, 10)
    assert placed == layered(sizes, edges, 50, 10)
    boxes = [
        (x, y - height / 2, x + width, y + height / 2)
        for (x, y), (width, height) in zip(placed.places, sizes, strict=True)
    ]
    for index, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0
        assert top >= -0.01
        assert right <= placed.width + 0.01
        assert bottom <= placed.height + 0.01
        for l2, t2, r2, b2 in boxes[:index]:
            assert right <= l2 or r2 <= left or bottom <= t2 - 9.9 or b2 <= top - 9.9
    for (start, end), turned in zip(edges, placed.turned, strict=True):
        if start != end:
            first, last = (end, start) if turned else (start, end)
            assert boxes[first][2] + 49.9 <= boxes[last][0]
        else:
            assert not turned


def test_a_tree_is_drawn_without_crossings_and_parents_stand_between_their_children() -> None:
    #      0 -> 1 -> 3, 4, 5 and 0 -> 2 -> 6
    edges = [(0, 1), (0, 2), (1, 3), (1, 4), (1, 5), (2, 6)]
    places = layered([(50.0, 20.0)] * 7, edges, 40, 10).places
    heights = [y for _, y in places]
    assert heights[3] < heights[4] < heights[5] < heights[6]
    assert heights[1] == pytest.approx(heights[4], abs=1)
    assert heights[2] == pytest.approx(heights[6], abs=1)
    assert heights[1] < heights[0] < heights[2]


def test_long_names_are_shortened_from_inside() -> None:
    name = "lbm::for_each<std::vector<std::array<double, 19ul>>, lbm::Box>::apply"
    assert short_name(name, 80) == name
    assert short_name(name, 46) == "lbm::for_each<std::vector<…>, lbm::Box>::apply"
    assert short_name(name, 40) == "lbm::for_each<…>::apply"
    assert len(short_name("x" * 200, 46)) == 46


# ---- forms -----------------------------------------------------------------------------------------------


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_picture_says_what_the_figure_says(tmp_path: Path, program: Path) -> None:
    tree = call_tree(load_profile(lbm_run(tmp_path / "lbm.cw", program), 0), 0)
    for graph in (as_graph(tree), merged(tree)):
        said = texts(picture(graph, "count"))
        assert {"collision", "communication", "MPI_Send(0,1,132)", "MPI_Allreduce"} <= set(said)
        assert any(text.startswith("flow.c:5  self") for text in said)
        assert said.count("10\N{MULTIPLICATION SIGN}") == 6
        assert said.count("20\N{MULTIPLICATION SIGN}") == 1
        assert "500 ns" in texts(picture(graph, "time"))
    widths = {
        float(width)
        for width in re.findall(r'<path [^>]*stroke-width="([\d.]+)"', picture(as_graph(tree), "time"))
    }
    assert max(widths) > 5 > 2 > min(widths)  # heavy edges are thicker


def test_an_unknown_time_of_messages_is_left_out() -> None:
    """A receive that was posted, and completed elsewhere, has no time of its own."""
    tree = tree_of(
        node(0, "main", 1, 100, 10),
        node(1, "MPI_Irecv", 4, 90, 90, kind="procedure"),
        node(2, "MPI_Irecv(1,0,8)", 4, 0, 0, kind="message"),
    )
    page_text = part_of_page(tree, merged(tree), as_graph(tree), "time")
    for text in (picture(as_graph(tree), "time"), dot_text(as_graph(tree), "time"), page_text):
        assert "MPI_Irecv(1,0,8)" in text
        assert "90 ns" in text
        assert not re.search(r"(?<!self )\b0 ns", text)
    assert picture(as_graph(tree), "count").count("4\N{MULTIPLICATION SIGN}") == 2


def test_cycles_and_self_calls_are_drawn() -> None:
    svg = picture(merged(RECURSIVE), "count")
    assert {"main", "a", "b", "3\N{MULTIPLICATION SIGN}", "5\N{MULTIPLICATION SIGN}"} <= set(texts(svg))


def test_names_are_escaped_everywhere(tmp_path: Path) -> None:
    tree = tree_of(node(0, 'f<A, "b">::operator&&', 1, 5))
    assert 'f<A, "b">::operator&&' in texts(picture(as_graph(tree), "count"))
    dot = dot_text(as_graph(tree), "count")
    assert '"f<A, \\"b\\">::operator&&\\nf.c:1"' in dot


def test_every_form_of_the_command(tmp_path: Path, program: Path) -> None:
    profile = lbm_run(tmp_path / "lbm.cw", program)
    files = [tmp_path / name for name in ("g.svg", "g.html", "g.dot")]
    done = corewise(
        "call-graph", profile, "--rank", 0, "--svg", files[0], "--html", files[1], "--dot", files[2]
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("flow <x>, rank 0")
    assert any(re.search(r"10. communication  flow.c:5 .*%", line) for line in lines)
    assert any("MPI_Send(0,1,132)" in line for line in lines)
    assert "communication" in texts(files[0].read_text())
    html = files[1].read_text()
    assert "MPI_Send(0,1,132)" in html
    assert "<details open>" in html
    assert not re.search(r"""(src|href)\s*=(?!"data:)|url\(|@import|https?://(?!www\.w3\.org)""", html)
    dot = files[2].read_text()
    assert dot.startswith("digraph calls {")
    assert '"communication\\nflow.c:5"' in dot
    found = document("call-graph", profile, "--rank", 0, "--merge", "--weight", "time")
    labels = [row["label"] for row in found["rows"]]
    edges = {(labels[e["caller"]], labels[e["callee"]]): e for e in found["edges"]}
    assert edges["main", "streaming"]["count"] == STEPS
    assert edges["main", "streaming"]["time_ns"] == pytest.approx(STEPS * 60)
    assert (found["name"], found["ranks"], found["merged"], found["warnings"]) == (
        "call-graph",
        [0],
        True,
        [],
    )


def test_wrong_input_is_one_line(tmp_path: Path, program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile = lbm_run(tmp_path / "lbm.cw", program)
    for arguments, words in [
        ((tmp_path / "none.cw",), ["none.cw", "allowed"]),
        ((profile, "--rank", 7), ["field 'rank': found 7", "allowed: all", "0, 1"]),
        ((profile, "--rank", "x"), ["--rank", "found 'x'"]),
        ((profile, "--weight", "bytes"), ["--weight", "count or time"]),
        ((profile, "--min-share", "150%"), ["--min-share", "150%"]),
        ((profile, "--svg", tmp_path / "no" / "g.svg"), ["g.svg"]),
    ]:
        status = execute(["call-graph", *map(str, arguments)])
        assert_one_line_error(subprocess.CompletedProcess([], status, *capsys.readouterr()), *words)
    with pytest.raises(InputError, match="rank"):
        call_tree(load_profile(profile, 9), 9)

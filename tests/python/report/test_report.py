"""`corewise report`: what the terminal, the JSON object and the page say about made-up runs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import trace_writer as tw
from toy_tuning import HOSTS

from corewise._core import Machine
from corewise.analysis.placement.comparison import study_placements
from corewise.analysis.placement.links import link_loads
from corewise.cli.main import execute
from corewise.data.profile import load_profile
from corewise.report import svg
from corewise.report.terminal import library_text


def _out(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = execute(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_terminal_report_reads_top_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", size=4)
    status, out, _ = _out(["report", str(folder), "--machine", "ring:8"], capsys)
    assert status == 0
    wanted = [
        "./flow <x>",
        "4 ranks, openmpi 5.0.0, on testhost",
        "finished: all 4 ranks reached the end of MPI_Finalize",
        "findings",
        "of the run is computing; MPI takes",
        "bytes sent: row sends, column receives",
        "what was sent arrived: 4 pairs agree",
        "12 messages, 11.7 KiB between 4 pairs",
        "degree of match 1.000",
        "MPI_Recv",
        "where MPI is called from",
        "ranks: slowest over mean time in MPI",
        "message sizes",
        "placement on ring",
    ]
    found = [out.find(text) for text in wanted]
    assert -1 not in found, dict(zip(wanted, found, strict=True))
    assert found == sorted(found)
    assert re.search(r"call .*of MPI .*of run .*calls", out)


def test_collectives_by_corewise_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", size=2)
    page_file = tmp_path / "ring.html"
    status, out, _ = _out(["report", str(folder), "--html", str(page_file)], capsys)
    assert (status, "by corewise" in out, "by corewise" in page_file.read_text()) == (0, False, False)
    assert json.loads(_out(["report", str(folder), "--json"], capsys)[1])["accelerate"] == []
    head = "format,corewise-accelerate\nversion,1\nprocedure,outcome,why,calls\n"
    table = "MPI_Bcast,passed,the table leaves it to the MPI,10\n"
    rows = f"{head}MPI_Allreduce,taken,,1200\nMPI_Allreduce,passed,wrong arguments,1\n{table}"
    (folder / "accelerate.0.csv").write_text(rows)
    (folder / "accelerate.1.csv").write_text(f"{rows}MPI_Bcast,passed,an earlier call failed,7\n")
    status, out, _ = _out(["report", str(folder), "--html", str(page_file)], capsys)
    assert status == 0
    shown = out[out.index("collectives by corewise") :]
    assert re.search(r"call\W+taken\W+passed on\W+why", shown)
    assert re.search(r"MPI_Allreduce\W+2 400\W+2\W+wrong arguments", shown)
    assert re.search(
        r"MPI_Bcast\W+0\W+27\W+the table leaves it to the MPI \(20\); an earlier call failed", shown
    )
    text = page_file.read_text()
    assert "<h2>Collectives by corewise</h2>" in text and "an earlier call failed (7)" in text
    first, second = json.loads(_out(["report", str(folder), "--json"], capsys)[1])["accelerate"]
    wrong = [{"why": "wrong arguments", "calls": 2}]
    assert first == {"procedure": "MPI_Allreduce", "taken": 2400, "passed_on": 2, "reasons": wrong}
    assert (second["passed_on"], len(second["reasons"])) == (27, 2)


def test_counts_that_are_wrong_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", size=2)
    (folder / "accelerate.1.csv").write_text("format,corewise-accelerate\nversion,9\n")
    status, out, err = _out(["report", str(folder)], capsys)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "accelerate.1.csv: field 'version'" in err


def test_more_ranks_than_units_leave_only_the_placement_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", size=4)
    page_file = tmp_path / "ring.html"
    status, out, _ = _out(["report", str(folder), "-m", "core:2", "--html", str(page_file)], capsys)
    assert status == 0
    assert "what was sent arrived: 4 pairs agree" in out
    reason = "4 ranks are not placed:"
    assert reason in out and "2 units" in out
    assert reason in page_file.read_text(encoding="utf-8")
    status, out, _ = _out(["report", str(folder), "-m", "core:2", "--json"], capsys)
    assert (status, json.loads(out)["placement"]) == (0, None)
    assert json.loads(out)["placement_note"].startswith(reason)


def test_a_killed_run_is_reported_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ranks = [tw.RankTrace(rank, 3) for rank in range(3)]
    for rank in ranks:
        for _ in range(500):
            rank.put(tw.SEND, "MPI_Send", 0, 8)
    ranks[2].state = tw.RUNNING
    folder = tw.write_run(tmp_path / "killed.cw", ranks)
    status, out, _ = _out(["report", str(folder)], capsys)
    assert status == 0
    assert "did not finish: rank 2 ended without MPI_Finalize; all 1 500 records up to then are here" in out


@pytest.mark.parametrize("width", [80, 100, 140])
def test_narrow_terminals_give_up_columns_not_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    folder = tw.ring_run(tmp_path / "ring.cw", size=8)
    (folder / "rank-00007.cwt").write_text("damaged")  # a long warning
    status, out, _ = _out(["report", str(folder), "--machine", "pack:2 l3:2 core:4"], capsys)
    assert status == 0
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= width
    lines = out.splitlines()
    for name in ("MPI_Allreduce", "MPI_Recv", "MPI_Finalize"):
        assert sum(bool(re.match(f"│ {name} ", line)) for line in lines) == 1
    for title in ("time per MPI call", "where MPI is called from", "message sizes"):
        assert title in lines
    assert [line for line in lines if line != line.rstrip()] == []
    # What wraps stays below its beginning.
    start = next(number for number, line in enumerate(lines) if line.startswith("! "))
    end = next(number for number in range(start, len(lines)) if lines[number][:1] not in ("!", " "))
    warnings = " ".join(line[2:] for line in lines[start:end])
    assert "not a corewise trace (it does not start with CWTRACE)" in warnings
    start = lines.index("units of rank 0, 1, ... in full:") + 1 if width == 80 else 0
    if start:
        assert lines[start].split()[0] == "best"
        study = study_placements(load_profile(folder).pattern(), Machine.from_synthetic("pack:2 l3:2 core:4"))
        full = " ".join(study.machine.units[unit].name for unit in study.best.unit_of_rank)
        assert full in " ".join(" ".join(lines[start:]).split())


def test_a_program_of_collectives_has_nothing_to_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranks = [tw.RankTrace(rank, 4) for rank in range(4)]
    for rank in ranks:
        rank.put(tw.COLLECTIVE, "MPI_Allreduce", tw.NO_PEER, 64)
    folder = tw.write_run(tmp_path / "sum.cw", ranks)
    arguments = ["report", str(folder), "--machine", "ring:8"]
    html = tmp_path / "sum.html"
    status, out, _ = _out([*arguments, "--html", str(html)], capsys)
    said = "no point-to-point messages: nothing to place; 384 bytes of collectives are not considered"
    assert status == 0
    assert f": {said}" in out
    assert "optimal" not in out
    assert said in html.read_text(encoding="utf-8")
    document = json.loads(_out([*arguments, "--json"], capsys)[1])
    assert (document["placement"], document["placement_note"]) == (None, said)


def test_collectives_beside_messages_are_said_not_to_be_placed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", size=4)
    _, out, _ = _out(["report", str(folder), "--machine", "ring:8"], capsys)
    assert "! 384 bytes of collectives are not in the placement" in out


def test_a_name_whose_volumes_do_not_fit_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ranks = [tw.RankTrace(rank, 4) for rank in range(4)]
    for rank in ranks:
        rank.put(tw.SEND, "MPI_Send", (rank.rank + 1) % 4, 100_000)
        rank.put(tw.SEND, "MPI_Send", (rank.rank + 2) % 4, 200)
    folder, html = str(tw.write_run(tmp_path / "mixed.cw", ranks)), tmp_path / "mixed.html"
    _, out, _ = _out(["report", folder, "--html", str(html)], capsys)
    name = "dissemination of 4 (degree of match 1.000, volumes do not fit)"
    assert name in out
    assert f'<div class="name">{name}</div>' in html.read_text(encoding="utf-8")
    document = json.loads(_out(["report", folder, "--json"], capsys)[1])
    assert document["pattern"]["label"] == name


def test_starting_and_stopping_is_left_out_where_it_was_not_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranks = [tw.RankTrace(rank, 2) for rank in range(2)]
    for rank in ranks:
        rank.put(tw.SEND, "MPI_Send", 1 - rank.rank, 8)
    folder, html = str(tw.write_run(tmp_path / "some.cw", ranks)), tmp_path / "some.html"
    _, out, _ = _out(["report", folder, "--html", str(html)], capsys)
    assert "wall " in out
    assert "starting and stopping" not in out + html.read_text(encoding="utf-8")


def test_superposed_patterns_are_named_alike_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size = 12
    ranks = [tw.RankTrace(rank, size) for rank in range(size)]
    for rank in ranks:
        rank.put(tw.SEND, "MPI_Send", (rank.rank + 1) % size, 10_000)  # much: neither name convinces alone
        if rank.rank:
            rank.put(tw.SEND, "MPI_Send", 0, 7000)
            ranks[0].put(tw.SEND, "MPI_Send", rank.rank, 7000)
    folder, html = str(tw.write_run(tmp_path / "both.cw", ranks)), tmp_path / "both.html"
    _, out, _ = _out(["report", folder, "--html", str(html)], capsys)
    name = json.loads(_out(["report", folder, "--json"], capsys)[1])["pattern"]["label"]
    assert len(re.findall(r"\([\d.]+ %\)", name)) == 2
    assert name in out
    assert f'<div class="name">{name}</div>' in html.read_text(encoding="utf-8")


def test_a_librarys_long_version_is_one_line() -> None:
    assert library_text("MPICH Version:      4.2.0\nMPICH Release date: today\nMPICH ABI: 16") == (
        "MPICH Version: 4.2.0"
    )
    assert library_text("Open MPI v5.0.0, package: x") == "Open MPI v5.0.0"
    assert library_text("") == ""


def test_an_empty_profile_is_said_loudly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tw.write_run(tmp_path / "idle.cw", [tw.RankTrace(0, 1)])
    status, out, err = _out(["report", str(folder), "--html", str(tmp_path / "idle.html")], capsys)
    assert status == 0
    assert "0 events seen" in out
    assert "0 events seen" in err
    assert "0 events seen" in (tmp_path / "idle.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.cw"], "found nothing (no such folder), allowed: a profile folder"),
        (["silent.cw"], "0 events seen"),
        (["ring.cw", "--top", "0"], "--top: found 0"),
        (["ring.cw", "--machine", "nosuch"], "machine 'nosuch' is unknown"),
        (["ring.cw", "--html", "/"], "/: found a folder, allowed: a file to write"),
        (["ring.cw", "--ranks", "0"], "--ranks: found '0' without --html"),
        (["ring.cw", "--from", "2s", "--until", "1s", "--html", "x.html"], "a time after --from 2s"),
    ],
    ids=["missing", "silent", "top", "no machine", "no file", "no page", "no time"],
)
def test_wrong_input_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    tw.ring_run(tmp_path / "ring.cw")
    (tmp_path / "silent.cw").mkdir()
    tw.write_meta(tmp_path / "silent.cw")
    status, out, err = _out(["report", str(tmp_path / arguments[0]), *arguments[1:]], capsys)
    assert status == 2
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_the_json_object_carries_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", size=4, rounds=2, message=100)
    status, out, _ = _out(["report", str(folder), "--json", "--machine", "ring:8", "--top", "3"], capsys)
    assert status == 0
    document = json.loads(out)
    assert document["name"] == "report"
    assert document["machine"] == Machine.from_synthetic("ring:8").name
    assert len(document["rows"]) == 3
    assert document["rows"][0]["procedure"] == "MPI_Recv"
    assert (document["ranks"], document["finished"], document["bytes"], document["messages"]) == (
        4,
        True,
        800,
        8,
    )
    assert document["matrix"]["sent"][0] == {"from": 0, "to": 1, "bytes": 200, "messages": 2}
    assert document["pattern"]["degree"] == 1.0
    assert [row["which"] for row in document["placement"]["rows"]] == ["best", "identity", "random", "worst"]
    assert document["consistency"]["differing"] == []
    assert [row["rank"] for row in document["rank_rows"]] == [0, 1, 2, 3]


class _Page(HTMLParser):
    """Collects a page's elements and checks that they nest."""

    void = frozenset({"meta", "link", "br", "img", "rect", "path", "line", "circle", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.void or (tag in ("rect", "line") and "data-tip" in dict(attrs)):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text += data


def _page(folder: Path, *options: str) -> tuple[str, _Page]:
    file = folder.parent / "page.html"
    assert execute(["report", str(folder), "--html", str(file), *options]) == 0
    text = file.read_text(encoding="utf-8")
    parsed = _Page()
    parsed.feed(text)
    assert parsed.open == []
    return text, parsed


def test_the_page_is_whole_and_needs_nothing_else(tmp_path: Path) -> None:
    text, parsed = _page(tw.ring_run(tmp_path / "ring.cw", size=4), "-m", "ring:8")
    assert "./flow <x>" in parsed.text  # escaped in the source, right on the page
    assert "<x>" not in text
    for tag, attributes in parsed.found:
        assert tag not in ("iframe", "img", "object", "embed")
        for name in ("src", "href", "action", "data", "xlink:href"):
            assert not attributes.get(name) or str(attributes[name]).startswith("data:")
    assert not re.search(r"https?://|@import|url\((?!['\"]?data:)|fetch\(|XMLHttpRequest", text)
    assert "prefers-color-scheme: dark" in text


def test_the_same_profile_gives_the_same_page(tmp_path: Path) -> None:
    folder = tw.ring_run(tmp_path / "ring.cw", size=4)
    texts = [_page(folder, "-m", "ring:8")[0] for _ in range(2)]
    one, two = (re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", text) for text in texts)
    assert one == two


def test_a_report_without_a_machine_has_no_placement(tmp_path: Path) -> None:
    _, parsed = _page(tw.ring_run(tmp_path / "ring.cw"))
    assert "Placement" not in parsed.text


@pytest.mark.parametrize("machine", ["ring:8", "mesh:3x2 core:2", "pack:2 l3:2 core:2", "flat:6"])
def test_every_machine_is_drawn_with_all_ranks_and_links(tmp_path: Path, machine: str) -> None:
    profile = load_profile(tw.ring_run(tmp_path / "ring.cw", size=4))
    drawn = Machine.from_synthetic(machine)
    loads = link_loads(study_placements(profile.pattern(), drawn))
    picture = svg.machine(drawn, loads, max(max(load.busy_ns) for load in loads))
    assert picture.count("<g data-placement=") == 4
    assert picture.count('class="link') == 4 * len(drawn.links)
    for rank in range(4):
        assert picture.count(f">rank {rank}<") == 4
    box = [float(value) for value in re.search(r'viewBox="([^"]+)"', picture)[1].split()]  # type: ignore[index]
    for x, y in re.findall(r'<text class="rank" x="([\d.-]+)" y="([\d.-]+)"', picture):
        assert 0 < float(x) < box[2]
        assert 0 < float(y) < box[3]


def test_loads_on_links_are_those_of_the_table(tmp_path: Path) -> None:
    profile = load_profile(tw.ring_run(tmp_path / "ring.cw", size=4))
    study = study_placements(profile.pattern(), Machine.from_synthetic("ring:8"))
    for row, loads in zip(study.rows, link_loads(study), strict=True):
        assert max(loads.busy_ns) == pytest.approx(row.bottleneck_ns)


def test_the_page_says_whether_a_tuning_lacks_the_mpi_or_the_ranks(tmp_path: Path) -> None:
    """The tuning knows collectives on 2 and 4 ranks; the run's are on 3."""
    tuning = tmp_path / "host.csv"
    tuning.write_text(HOSTS)
    folder, page = tw.ring_run(tmp_path / "ring.cw", size=3), tmp_path / "page.html"
    tw.write_meta(folder, mpi={"name": "none"})
    assert execute(["report", str(folder), "--html", str(page)]) == 0
    assert "There is no tuning of this MPI here" in page.read_text()
    assert execute(["report", str(folder), "--html", str(page), "--accelerate-tuning", str(tuning)]) == 0
    text = page.read_text()
    assert "There is no tuning of this MPI here" not in text
    assert "it knows blocking collectives on 2, 4 ranks, and these are on 3" in text


def test_the_machine_tab_says_what_is_proven(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert execute(["patterns", "make", "ring", "ranks=4", "-o", str(tmp_path / "ring.json")]) == 0
    words = ["place", str(tmp_path / "ring.json"), "-m", "ring:4", "--html", str(page)]
    assert execute(words) == 0
    for words_of in ("best (proven)", "random (median)", "identity (rank order)", "worst (proven)"):
        assert f"<td>{words_of}</td>" in page.read_text()

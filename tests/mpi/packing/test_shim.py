"""What reaches the MPI behind the packing library, counted by a library between the two (``packing/shim.c``).

``packing/shim_program.c`` sends, receives and packs strided ints and checks every one of them; the shim says
under which types the messages went on, and how often a type's description was asked for. A library that
passed everything through, or read types anew for each message, would give the program the same answers.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import packing_runs
import pytest
from conftest import ROOT, YIELD_ENV
from installed_tool import corewise
from packing_runs import MPI_NAMES, SOURCES

SECTIONS = (
    *("blocking", "posted", "persistent", "exchanges", "packs"),
    *("bottom", "contiguous", "types", "turns", "many"),
)
"""In the order of shim_program.c, which numbers them from 1."""
TIMES, TYPES, MANY = 8, 8, 20000
BYTES, RUN = 1024, 16  # of a strided message, as the program has them
LEAK_KILOBYTES = 40000  # a plan of 512 places kept 19 000 times is more than that
Counts = Mapping[str, int]
"""By PROCEDURE/KIND, of all ranks."""


def read_counts(stem: Path, ranks: int = 2) -> dict[str, Counter[str]]:
    """What the shims have written, by section."""
    found: dict[str, Counter[str]] = {}
    for rank in range(ranks):
        for line in stem.with_name(f"{stem.name}.{rank}").read_text().splitlines():
            section, _, rest = line.partition(" ")
            what, _, count = rest.rpartition(" ")
            found.setdefault(SECTIONS[int(section) - 1], Counter())[what] += int(count)
    return found


@cache
def run(name: str, packing: str, *sections: str) -> tuple[dict[str, Counter[str]], str]:
    """Counts by section under COREWISE_PACKING=`packing`, '' for no library; and what the program printed."""
    ours = packing_runs.packing_environment(name, packing) if packing else {}
    libraries = [*([ours["LD_PRELOAD"]] if ours else []), str(packing_runs.shim(name))]
    with tempfile.TemporaryDirectory(prefix="corewise-shim-") as folder:
        stem = Path(folder) / "counts"
        words = {**ours, "LD_PRELOAD": ":".join(libraries), "COREWISE_SHIM_OUT": str(stem)}
        program = str(packing_runs.program(name, SOURCES / "shim_program.c"))
        said = packing_runs.launched(name, [(2, [*packing_runs.with_variables(words), program, *sections])])
        assert said[-1] == "ok"
        return read_counts(stem), said[0]


def always(name: str) -> dict[str, Counter[str]]:
    """Everything that may be packed, is."""
    return run(name, "always", *SECTIONS[:-1])[0]


def without(name: str) -> dict[str, Counter[str]]:
    """The same program without the library."""
    return run(name, "", *SECTIONS[:-1])[0]


def kinds(counts: Counter[str], *procedures: str) -> Counts:
    """Messages, packs and unpacks in a section, of one procedure or of all that are not about types."""
    others = ("MPI_Type", "attribute")
    return {
        what: count
        for what, count in counts.items()
        if not what.startswith(others) and (not procedures or what.split("/")[0] in procedures)
    }


def asked(counts: Counter[str], what: str) -> int:
    """How often types were asked for their envelopes, or contents."""
    return sum(count for procedure, count in counts.items() if procedure.endswith(f"/{what}"))


PACKED = ("mpich", "mpich_abi")
"""Where messages are packed; Open MPI's own engine uses our loops instead, and messages stay as they are."""


def test_calls_of_open_mpi_are_not_touched() -> None:
    found, plain = always("openmpi"), without("openmpi")
    for section in SECTIONS[:-3]:
        assert kinds(found[section]) == kinds(plain[section]), section


@pytest.mark.parametrize("name", PACKED)
def test_strided_messages_go_on_as_packed_ones(name: str) -> None:
    """All of them, by every kind of call, sent and received; contiguous ones from where they lie."""
    counts = always(name)
    assert kinds(counts["blocking"]) == {"MPI_Send/packed": TIMES, "MPI_Recv/packed": TIMES}
    assert kinds(counts["posted"]) == {"MPI_Isend/packed": 2 * TIMES, "MPI_Irecv/packed": 2 * TIMES}
    assert kinds(counts["persistent"]) == {"MPI_Send_init/packed": 2, "MPI_Recv_init/packed": 2}
    exchanges = ("MPI_Sendrecv out", "MPI_Sendrecv", "MPI_Sendrecv_replace")
    assert kinds(counts["exchanges"]) == {f"{each}/packed": 2 * TIMES for each in exchanges}
    # A derived type in one run goes on as its bytes.
    sends = {"MPI_Send/packed": TIMES, "MPI_Send/predefined": TIMES}
    assert kinds(counts["contiguous"]) == {**sends, "MPI_Recv/packed": 2 * TIMES}


@pytest.mark.parametrize("name", PACKED)
def test_packing_and_unpacking_do_not_reach_the_mpi(name: str) -> None:
    assert kinds(always(name)["packs"]) == {}
    assert kinds(without(name)["packs"]) == {"MPI_Pack/derived": 2 * TIMES, "MPI_Unpack/derived": 2 * TIMES}


@pytest.mark.parametrize("name", PACKED)
def test_absolute_addresses_are_packed_by_us(name: str) -> None:
    """From MPI_BOTTOM: a struct of lists of places; sent, received, packed, unpacked."""
    assert kinds(always(name)["bottom"]) == {"MPI_Send/packed": TIMES, "MPI_Recv/packed": TIMES}
    assert kinds(without(name)["bottom"])["MPI_Send/derived"] == TIMES


@pytest.mark.parametrize("name", MPI_NAMES)
def test_a_type_is_read_through_its_envelope_once(name: str) -> None:
    """However many messages follow; and once more where a handle means another type."""
    counts = always(name)
    for section in ("blocking", "posted", "persistent", "exchanges", "packs"):
        assert asked(counts[section], "contents") == 2, section  # one type, on either rank
        assert asked(counts[section], "envelope") == asked(counts["blocking"], "envelope"), section
    # Each of them is used as often as there are types; the program's checks say that the right one was meant.
    assert asked(counts["types"], "contents") == 2 * TYPES
    assert asked(counts["types"], "envelope") <= (TYPES + 1) * asked(counts["blocking"], "envelope")


@pytest.mark.parametrize("name", PACKED)
def test_types_of_one_slot_are_known_in_turns(name: str) -> None:
    """Their handles hash alike; neither is looked up again because the other was used."""
    counts = always(name)
    assert asked(counts["turns"], "contents") == 2 * 2
    assert asked(counts["turns"], "envelope") <= 2 * asked(counts["blocking"], "envelope")


@pytest.mark.parametrize("name", MPI_NAMES)
def test_a_plan_lives_on_its_type_and_is_freed_with_it(name: str) -> None:
    """An attribute for every committed type, deleted when the type is freed; memory does not grow."""
    types = always(name)["types"]
    assert types["attribute/set"] == types["attribute/deleted"] == 2 * (TYPES + 1)
    counts, said = run(name, "always", "many")
    assert counts["many"]["attribute/set"] == counts["many"]["attribute/deleted"] == 2 * (MANY + 1)
    assert asked(counts["many"], "contents") == 2 * MANY
    # Open MPI packs by its own engine, which uses our loops.
    assert kinds(counts["many"]) == ({} if name in PACKED else {"MPI_Pack/derived": 2 * MANY})
    assert int(said.split()[1]) < LEAK_KILOBYTES


@pytest.mark.parametrize("name", PACKED)
def test_the_table_decides(name: str) -> None:
    """By use, size and run; a type is read at its second message. What is not packed goes on as it came."""
    uses = {"send": "MPI_Send", "receive": "MPI_Recv", "pack": "MPI_Pack", "unpack": "MPI_Unpack"}
    sections = ("blocking", "packs", "bottom")

    def under(crossing: str, *taken: str) -> Counter[str]:
        found = run(name, ";".join(f"{use}={crossing}" for use in taken), *sections)[0]
        return Counter(kinds(found["blocking"])) + Counter(kinds(found["packs"]))

    here = Counter(kinds(without(name)["blocking"])) + Counter(kinds(without(name)["packs"]))
    for crossing in (f"{BYTES - 1}:{RUN}", f"{BYTES}:{RUN - 1}"):
        assert under(crossing, *uses) == here
    for use in uses:
        found = under(f"{BYTES}:{RUN}", use)
        for other, call in uses.items():
            left, every = found[f"{call}/derived"], here[f"{call}/derived"]
            assert left <= 2 if other == use else left == every, (use, call)


@pytest.mark.parametrize("name", PACKED)
def test_posted_messages_are_judged_by_their_side(name: str) -> None:
    """One that replaces what is sent, by what is received."""
    sides = {"send": {"MPI_Isend"}, "receive": {"MPI_Irecv", "MPI_Sendrecv_replace"}}
    for use, packed in sides.items():
        found = run(name, f"{use}={BYTES}:{RUN}", "posted", "exchanges")[0]
        seen = {**kinds(found["posted"]), **kinds(found["exchanges"])}
        assert {call for call in set.union(*sides.values()) if f"{call}/packed" in seen} == packed


@pytest.mark.parametrize("name", MPI_NAMES[:2])
def test_packing_is_off_unless_it_is_asked_for(name: str, tmp_path: Path) -> None:
    """`corewise run` loads no such library; with --packing and a table it does, and that shows."""
    mpi, program = packing_runs.library(name), packing_runs.program(name, SOURCES / "shim_program.c")
    page = (ROOT / "docs" / "formats" / "packing-tuning.md").read_text()
    (tmp_path / "table.csv").write_text(page.split("```")[1].removeprefix("csv").lstrip())
    asked_for = ("--packing", "--packing-tuning", tmp_path / "table.csv")
    for options, own in (((), []), (asked_for, ["libcorewise-packing.so"])):
        stem, profile = tmp_path / f"counts{len(options)}", tmp_path / f"profile{len(options)}"
        env = {**os.environ, **mpi.env, **YIELD_ENV[name], "COREWISE_SHIM_OUT": str(stem)}
        behind = f'export LD_PRELOAD="$LD_PRELOAD:{packing_runs.shim(name)}"; exec {program} blocking'
        loaded = ["/bin/sh", "-c", f'echo "$LD_PRELOAD" > {stem}.preload; {behind}']
        done = corewise("run", "-n", 2, "--mpi", mpi.prefix, *options, "-o", profile, "--", *loaded, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        preload = [Path(each).name for each in Path(f"{stem}.preload").read_text().strip().split(":")]
        assert preload == ["libcorewise-preload.so", *own]
        counts = kinds(read_counts(stem)["blocking"], "MPI_Send", "MPI_Recv")
        if own and name == "mpich":
            assert counts["MPI_Send/packed"] >= TIMES - 1 and counts["MPI_Recv/packed"] >= TIMES - 1
        else:
            assert counts == {"MPI_Send/derived": TIMES, "MPI_Recv/derived": TIMES}

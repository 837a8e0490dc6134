"""What Slurm, PRRTE and Hydra say of an allocation is read as they mean it, and nonsense is refused.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corewise.base.nodelists import counts, node_names
from corewise.errors import InputError
from corewise.mpi.allocation import Node, host_file, read_allocation

JOB = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NODELIST": "a[09-11],b",
    "SLURM_JOB_CPUS_PER_NODE": "8(x3),4",
    "SLURM_TASKS_PER_NODE": "2(x3),1",
}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", "a"),
        ("a[1-3,5],b07", "a1 a2 a3 a5 b07"),
        ("n[098-101]", "n098 n099 n100 n101"),
        ("r[0-1]c[1,3]-ib", "r0c1-ib r0c3-ib r1c1-ib r1c3-ib"),
        ("node-1.cluster.example", "node-1.cluster.example"),
    ],
)
def test_lists_of_nodes(text: str, names: str) -> None:
    assert node_names(text) == tuple(names.split())


@pytest.mark.parametrize(
    "text",
    ["", ",", "a,", "a[", "a]", "a[]", "a[1", "a[3-1]", "a[1-]", "a[[1]]", "a[1]b[", "a b", "a,a",
     "a[0-999999]", "-a", "a;b"],
)  # fmt: skip
def test_what_is_no_list_of_nodes(text: str) -> None:
    with pytest.raises(InputError, match=r"^SLURM_JOB_NODELIST: found .*, allowed: "):
        node_names(text, "SLURM_JOB_NODELIST")


@given(st.text(alphabet="ab[],-019.()x", max_size=20))
def test_any_text_is_names_or_one_error(text: str) -> None:
    try:
        names = node_names(text)
    except InputError:
        return
    assert names and len(set(names)) == len(names)
    assert node_names(",".join(names)) == names


NAMES = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.integers(0, 400), st.integers(0, 30)),
    min_size=1, max_size=5, unique_by=lambda each: (each[0], each[1]),
)  # fmt: skip


@given(NAMES)
def test_ranges_are_their_names(groups: list[tuple[str, int, int, int]]) -> None:
    """As Slurm writes them: numbers of one width."""
    wanted: list[str] = []
    pieces: list[str] = []
    for letters, width, first, more in groups:
        # A letter for the width keeps names of different widths apart.
        stem = f"{letters}{'wxyz'[width - 1]}"
        last = first + more
        wanted += [f"{stem}{number:0{width}d}" for number in range(first, last + 1)]
        pieces.append(f"{stem}[{first:0{width}d}-{last:0{width}d}]")
    assert node_names(",".join(pieces)) == tuple(wanted)


def test_counts() -> None:
    assert counts("2(x3),1") == (2, 2, 2, 1)
    for text in ("", "0", "2(x0)", "2x3", "-1", "2(x99999999)", "1(x65536),1"):
        with pytest.raises(InputError, match="counts such as"):
            counts(text)


def test_a_job_of_slurm() -> None:
    found = read_allocation(JOB)
    assert found is not None and found.giver == "Slurm" and found.slots == 7
    assert found.nodes == (Node("a09", 2, 8), Node("a10", 2, 8), Node("a11", 2, 8), Node("b", 1, 4))
    assert found.words("mpich") == ["-hosts", "a09:2,a10:2,a11:2,b:1"]
    assert found.words("openmpi") == ["--host", "a09:2,a10:2,a11:2,b:1"]
    assert "4 nodes of Slurm, 7 slots: a09 (2 slots, 8 CPUs)" in found.text()


def test_without_tasks_cpus_are_slots() -> None:
    job = {key: value for key, value in JOB.items() if "TASKS" not in key}
    found = read_allocation(job | {"SLURM_CPUS_PER_TASK": "3"})
    assert found is not None and [node.slots for node in found.nodes] == [2, 2, 2, 1]


def test_no_allocation() -> None:
    assert read_allocation({"PATH": "/bin"}) is None
    assert read_allocation({"SLURM_CONF": "x", "SLURM_NODELIST": "a"}) is None


def test_counts_for_other_nodes_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"SLURM_TASKS_PER_NODE: found '2\(x3\)', allowed: counts for 4 nodes"
    ):
        read_allocation(JOB | {"SLURM_TASKS_PER_NODE": "2(x3)"})


def test_host_files(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# two nodes\nb slots=3 max_slots=4\na\nroot@a\n")
    assert host_file(file, "openmpi") == (Node("b", 3), Node("a", 2))
    file.write_text("b:3 ifname=eth0\na # one\n\n")
    assert host_file(file, "mpich") == (Node("b", 3), Node("a", 1))


@pytest.mark.parametrize(
    ("family", "text"),
    [("openmpi", "a slots=none"), ("openmpi", "a slots"), ("openmpi", "a cores=2"), ("mpich", "a:0"),
     ("mpich", "a:"), ("mpich", ":2"), ("openmpi", "a,b"), ("mpich", "a\nb:x")],
)  # fmt: skip
def test_a_wrong_line_is_named(family: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text(text)
    with pytest.raises(InputError, match=rf"^{file}: field 'line {len(text.splitlines())}': found "):
        host_file(file, family)


def test_a_missing_or_an_empty_host_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_allocation({"HYDRA_HOST_FILE": str(tmp_path / "none")})
    (tmp_path / "empty").write_text("# nothing\n")
    with pytest.raises(InputError, match="found no node"):
        read_allocation({"HYDRA_HOST_FILE": str(tmp_path / "empty")})


def test_a_host_file_picks_among_the_nodes_of_a_job(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("b:2\na10:1\n")
    found = read_allocation(JOB | {"HYDRA_HOST_FILE": str(file)}, "mpich")
    assert found is not None and found.giver == "Hydra"
    assert found.nodes == (Node("b", 2, 4), Node("a10", 1, 8))
    other = read_allocation(JOB | {"HYDRA_HOST_FILE": str(file)}, "openmpi")
    assert other is not None and other.giver == "Slurm"
    file.write_text("c\n")
    with pytest.raises(InputError, match="found node 'c', allowed: those of the job: a09, a10"):
        read_allocation(JOB | {"HYDRA_HOST_FILE": str(file)}, "mpich")

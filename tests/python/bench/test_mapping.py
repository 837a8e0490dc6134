"""bench/mapping's peers: problems, J and validity by hand, the rows' form, contestants at tiny size."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from corewise import InputError, _core

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "bench" / "mapping"
PEERS = ROOT / "build" / "peers" / "bin" / "python"
"""Where bench/mapping/README.md installs the wheels of others."""
ROW = {"id", "what", "unit", "ours", "rival", "theirs", "floor", "ratio", "spread", "n"}


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the folder, as the driver sees it."""
    if not FOLDER.is_dir():
        pytest.skip("capability: bench/mapping of the source tree")
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)


def has_wheel(module: str) -> bool:
    """Whether the peers' own environment is there and has it."""
    if not PEERS.exists():
        return False
    find = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([str(PEERS), "-c", find], check=False).returncode == 0


def test_cost_and_validity_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unordered pairs, leaf first; a doubled or absent unit is no mapping."""
    module = load("peers_problem", monkeypatch)
    problem = module.Problem(4, "2:2", "1:10", {(0, 1): 5, (1, 2): 7, (0, 3): 2})
    assert problem.cost([0, 1, 2, 3]) == 5 * 1 + 7 * 10 + 2 * 10
    assert problem.cost([0, 2, 3, 1]) == 5 * 10 + 7 * 1 + 2 * 1
    assert problem.is_valid([3, 2, 1, 0])
    assert not problem.is_valid([0, 0, 1, 2])
    assert not problem.is_valid([0, 1, 2, 4])
    assert not problem.is_valid([0, 1, 2])


def test_problem_files_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is read; the halo's known identity cost holds."""
    module = load("peers_problem", monkeypatch)
    problem = module.cases(tiny=True)["halo-4x2x2"]
    problem.write(tmp_path / "p.txt")
    assert module.Problem.read(tmp_path / "p.txt") == problem
    assert problem.cost(list(range(16))) == 147320
    first, peers, weights = problem.lists()
    assert len(first) == 17
    assert first[-1] == len(peers) == len(weights) == 2 * len(problem.pairs)


def test_an_invalid_mapping_never_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that doubles ranks up would look cheaper than the optimum: it gets no cost at all."""
    problems = load("peers_problem", monkeypatch)
    peers = load("peers", monkeypatch)
    problem = problems.Problem(4, "2:2", "1:10", {(0, 1): 5, (1, 2): 7})
    ours, invalid, mixed = peers.Outcome(), peers.Outcome(), peers.Outcome()
    ours.add(problem, 0.5, [0, 1, 2, 3])
    invalid.add(problem, 0.1, [0, 0, 0, 0])
    mixed.add(problem, 0.2, [0, 0, 0, 0])
    mixed.add(problem, 0.2, [2, 1, 0, 3])
    rows = peers.rival_rows("case", ("1", ours), "bad", {"fast": invalid})
    assert [row["theirs"] for row in rows] == [None, None]
    assert [row["ratio"] for row in rows] == [None, None]
    assert rows[0]["rival_invalid"] == "1 of 1"
    cost, time = peers.rival_rows("case", ("1", ours), "some", {"fast": invalid, "strong": mixed})
    assert cost["rival"] == "some strong"
    assert cost["theirs"] == 5 * 10 + 7 * 1
    assert cost["ratio"] == pytest.approx(57 / 75)
    assert time["ratio"] == pytest.approx(0.2 / 0.5)
    assert cost["rival_invalid"] == "2 of 3"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder laid out as a build folder: corewise through its module, Scotch where it is."""
    if not FOLDER.is_dir():
        pytest.skip("capability: bench/mapping of the source tree")
    folder = tmp_path_factory.mktemp("build") / "bench" / "mapping"
    folder.mkdir(parents=True)
    ours = folder / "bench_multilevel"
    script = [
        f"#!{sys.executable}",
        "import sys, time",
        f"sys.path.insert(0, {str(FOLDER)!r})",
        "from corewise import _core",
        "from peers_problem import Problem",
        "problem = Problem.read(sys.argv[1])",
        "low, high = zip(*problem.pairs)",
        "import numpy",
        "rows = numpy.zeros((problem.ranks, problem.ranks), 'uint64')",
        "rows[low, high] = list(problem.pairs.values())",
        "pattern = _core.Pattern.from_dense('case', rows)",
        "begin = time.process_time()",
        "distances = _core.tree_distances(problem.hierarchy, problem.distances)",
        "searcher = _core.Searcher(_core.Machine.from_synthetic(f'core:{len(distances)}'))",
        "found = searcher.search(pattern, objective='distance', distances=distances,",
        "    seed=int(sys.argv[3]), method='multilevel', effort=int(sys.argv[2]))",
        "print(time.process_time() - begin, *found.unit_of_rank)",
    ]
    ours.write_text("\n".join(script) + "\n")
    ours.chmod(0o755)
    compiler = shutil.which("cc")
    if compiler is not None:
        command = [compiler, "-O2", "-I/usr/include/scotch", str(FOLDER / "scotch_mapping.c"), "-o"]
        libraries = ["-lscotch", "-lscotcherr", "-lm"]
        subprocess.run([*command, str(folder / "bench_scotch"), *libraries], check=False, capture_output=True)
    return folder.parents[1]


@pytest.fixture(scope="module")
def result(programs: Path) -> dict[str, object]:
    """The driver as a user runs it, at tiny size."""
    command = [sys.executable, str(FOLDER / "peers.py"), "--build", str(programs), "--tiny", "--seeds", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_rows_have_the_form_of_benchmark_rows(result: dict[str, object]) -> None:
    """One object; every row complete; contestants that are absent are named."""
    rows = result["rows"]
    assert isinstance(rows, list)
    assert isinstance(result["absent"], list)
    tools = {"scotch", "sharedmap", "kahip"} - set(result["absent"])
    assert len(rows) == 2 * 2 * 2 * len(tools)
    for row in rows:
        assert set(row) >= ROW
        assert row["n"] == 2
        assert row["ours"] > 0
        if row["unit"] == "J" and row["ratio"] is not None:
            assert row["ratio"] >= 1.0, row


def test_scotch_is_met_on_its_own_ground(programs: Path, result: dict[str, object]) -> None:
    """On a halo that fits, both are valid and both reach the optimum (proven in the test below)."""
    if not (programs / "bench/mapping/bench_scotch").exists():
        pytest.skip("capability: scotch (Debian package libscotch-dev) and a C compiler")
    rows = result["rows"]
    assert isinstance(rows, list)
    costs = {row["id"]: row for row in rows if row["unit"] == "J" and "scotch" in row["id"]}
    assert costs["J/halo-4x2x2/effort-1/scotch"]["theirs"] == 147320
    assert costs["J/halo-4x2x2/effort-1/scotch"]["ours"] == 147320
    assert costs["J/halo-4x2x2/effort-1/scotch"]["rival_invalid"] == "0 of 4"


@pytest.mark.parametrize(("tool", "module"), [("sharedmap", "chszlablib"), ("kahip", "kahip")])
def test_wheels_map_or_are_refused(
    tool: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wheel answers with a unit per rank; whether it is valid is for the driver to say."""
    if not has_wheel(module):
        pytest.skip(f"capability: {tool} (the wheel {module} in build/peers)")
    problems = load("peers_problem", monkeypatch)
    peers = load("peers", monkeypatch)
    problem = problems.cases(tiny=True)["halo-4x2x2"]
    problem.write(tmp_path / "p.txt")
    command = (str(PEERS), str(FOLDER / f"{tool}_mapping.py"))
    cpu_s, units = peers.Contestant(tool, "fast", command).run(tmp_path / "p.txt", 1)
    assert cpu_s > 0
    assert len(units) == 16
    assert not problem.is_valid(units) or problem.cost(units) >= 147320


def pattern_of(name: str, rows: list[list[int]]) -> _core.Pattern:
    """From dense bytes."""
    return _core.Pattern.from_dense(name, np.array(rows, dtype=np.uint64))


def by_distance(
    distances: NDArray[np.float64], pattern: _core.Pattern, should_stop: Callable[[], bool] | None = None
) -> _core.SearchResult:
    """The least weighted distance where only distances are known."""
    searcher = _core.Searcher(_core.Machine.from_synthetic(f"core:{len(distances)}"))
    return searcher.search(pattern, objective="distance", distances=distances, should_stop=should_stop)


def test_the_halo_of_sixteen_is_proven() -> None:
    """Two levels, 4 x 4 units: the cost that all tools find is the least there is."""
    problem_pairs: list[list[int]] = [[0] * 16 for _ in range(16)]
    for a in range(16):
        for b in range(a + 1, 16):
            apart = [abs(a // 4 - b // 4), abs(a // 2 % 2 - b // 2 % 2), abs(a % 2 - b % 2)]
            if max(apart) == 1:
                problem_pairs[a][b] = (0, 1024, 32, 1)[sum(apart)]
    pattern = pattern_of("halo", problem_pairs)
    distances = _core.tree_distances("4:4", "1:10")
    found = by_distance(distances, pattern)
    assert found.method == "branch-and-bound"
    assert found.proven_optimal
    assert found.cost == found.bound == 147320
    assert _core.weighted_distance(distances, pattern, found.unit_of_rank) == found.cost


def test_distances_of_machines_and_their_errors() -> None:
    """Latency or hops; arrays are checked with the field that is wrong."""
    ring = _core.Machine.from_synthetic("ring:6")
    hops = _core.machine_distances(ring, "hops")
    assert hops[0].tolist() == [0, 1, 2, 3, 2, 1]
    assert _core.machine_distances(ring).shape == (6, 6)
    pattern = pattern_of("two", [[0, 3], [4, 0]])
    found = _core.Searcher(ring).search(pattern, objective="distance")
    assert found.cost == pytest.approx(7 * _core.machine_distances(ring)[0, 1])
    with pytest.raises(InputError, match="field 'kind': found 'miles'"):
        _core.machine_distances(ring, "miles")
    with pytest.raises(InputError, match="as in the other direction"):
        by_distance(np.array([[0.0, 1.0], [2.0, 0.0]]), pattern)
    with pytest.raises(InputError, match=r"field 'distances': found 1 x 2, allowed: a square array"):
        by_distance(np.zeros((1, 2)), pattern)
    with pytest.raises(InputError, match="field 'distances': found 3 units, allowed: 6"):
        _core.Searcher(ring).search(pattern, objective="distance", distances=np.zeros((3, 3)))
    with pytest.raises(InputError, match="field 'method': found 'guess'"):
        _core.Searcher(ring).search(pattern, objective="distance", method="guess")
    with pytest.raises(InputError, match=r"unit_of_rank\[1\]': found 0"):
        _core.weighted_distance(ring, pattern, [0, 0])


def test_a_proof_can_be_stopped_from_outside() -> None:
    """`should_stop` is asked; what is known then is a bound."""
    rng = np.random.default_rng(3)
    pattern = pattern_of("random", rng.integers(0, 20, (16, 16)).tolist())
    mesh = _core.machine_distances(_core.Machine.from_synthetic("mesh:4x4"), "hops")
    asked: list[int] = []

    def should_stop() -> bool:
        asked.append(1)
        return len(asked) > 2

    found = by_distance(mesh, pattern, should_stop=should_stop)
    assert not found.proven_optimal
    assert len(asked) == 3
    assert 0 < found.bound <= found.cost
    assert sorted(found.unit_of_rank) == list(range(16))

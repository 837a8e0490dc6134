"""The recogniser from Python: naming is invariant under relabelling, and `corewise patterns name` says it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corewise._core import Pattern, generate, name_pattern, name_phases, sequence_text
from corewise.analysis.pattern import name_templates, summarise_pattern
from corewise.cli.main import execute
from corewise.data.patterns import save_pattern

EXACT = [
    ("ring", {"ranks": "11"}),
    ("halo_1d", {"ranks": "16", "periodic": "no"}),
    ("halo_2d", {"ranks": "30", "dims": "6x5", "periodic": "no"}),
    ("halo_2d", {"ranks": "25", "stencil": "faces+edges"}),
    ("halo_3d", {"ranks": "36", "dims": "4x3x3", "periodic": "no", "stencil": "faces+edges+corners"}),
    ("wavefront", {"ranks": "36", "octants": "1"}),
    ("hypercube", {"ranks": "16"}),
    ("dissemination", {"ranks": "27"}),
    ("binomial_tree", {"ranks": "16", "root": "5"}),
    ("k_ary_tree", {"ranks": "20", "arity": "3", "direction": "to_root"}),
    ("transpose", {"ranks": "36", "groups": "rows"}),
    ("transpose", {"ranks": "64", "groups": "both"}),
    ("manager_worker", {"ranks": "16", "manager": "7"}),
    ("all_to_all", {"ranks": "8"}),
]


def renumbered(pattern: Pattern, order: list[int]) -> Pattern:
    senders, receivers, size_bytes, messages = pattern.coordinates()
    to = np.array(order, np.int32)
    return Pattern.from_coordinates(
        pattern.name, pattern.ranks, to[senders], to[receivers], size_bytes, messages
    )


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(EXACT), st.randoms(use_true_random=False))
def test_the_degree_of_an_exact_pattern_does_not_depend_on_the_numbering(
    case: tuple[str, dict[str, str]], random: object
) -> None:
    family, parameters = case
    pattern = generate(family, parameters)
    order = list(range(pattern.ranks))
    random.shuffle(order)  # type: ignore[attr-defined]
    moved = renumbered(pattern, order)
    naming = name_pattern(moved, 1)
    assert len(naming.components) == 1
    component = naming.components[0]
    assert component.match.degree == 1.0, component.match.label
    assert naming.rest_bytes == 0
    # Under the positions that are handed back the template's pairs are the matrix's.
    positions = component.positions or list(range(pattern.ranks))
    assert sorted(positions) == list(range(pattern.ranks))
    remade = generate(component.match.family, component.match.parameters).matrix() > 0
    assert np.array_equal(renumbered(moved, positions).matrix() > 0, remade)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 10**6), st.sampled_from([16, 36, 64]), st.integers(2, 6))
def test_shares_and_rest_are_all_bytes(seed: int, ranks: int, degree: int) -> None:
    pattern = generate("random", {"ranks": str(ranks), "degree": str(degree), "seed": str(seed)})
    naming = name_pattern(pattern)
    explained = sum(component.bytes for component in naming.components)
    assert explained + naming.rest_bytes == naming.total_bytes == int(pattern.matrix().sum())


def test_phases_are_named_and_folded() -> None:
    halo = generate("halo_2d", {"ranks": "16", "dims": "4x4"})
    tree = generate("binomial_tree", {"ranks": "16"})
    phases = []
    for _ in range(3):
        for part in (halo, tree):
            phases += [(phase.name, *phase.coordinates()) for phase in part.phases]
    steps = name_phases(Pattern.from_phases("run", 16, phases))
    assert [step.times for step in steps] == [3]
    assert [part.label for part in steps[0].parts][-1] == "binomial tree from root 0, spans halving"
    assert sequence_text(steps).startswith("3 x (2D halo 4x4, periodic, faces")
    assert steps[0].phases == len(phases)


def test_the_summary_names_relabelled_ranks() -> None:
    pattern = generate("halo_3d", {"ranks": "36", "dims": "4x3x3", "periodic": "no"})
    order = [7 * rank % 36 if rank % 2 == 0 else (7 * rank + 12) % 36 for rank in range(36)]
    order = sorted(range(36), key=lambda rank: (order[rank], rank))
    summary = summarise_pattern(renumbered(pattern, order))
    assert summary.label.startswith("3D halo 4x3x3, open, faces, ranks relabelled (degree of match 1.000")
    assert summary.best is not None
    assert summary.best.dims == [4, 3, 3]


def test_the_summary_decomposes_only_what_no_template_names() -> None:
    def both(work_bytes: int) -> Pattern:
        parts = [
            generate("halo_3d", {"ranks": "64", "face_bytes": "4000"}),
            generate("manager_worker", {"ranks": "64", "bytes": str(work_bytes)}),
        ]
        phases = [(phase.name, *phase.coordinates()) for part in parts for phase in part.phases]
        return Pattern.from_phases("both", 64, phases)

    halo = summarise_pattern(both(1000))
    assert len(halo.naming.components) == 1
    assert halo.label.startswith("3D halo 4x4x4, periodic, faces (degree of match 0.8")
    mixed = summarise_pattern(both(10_000))
    assert {one.match.family for one in mixed.naming.components} == {"halo_3d", "manager_worker"}
    assert mixed.best is not None


def test_equals_are_reported() -> None:
    named = name_templates(generate("halo_3d", {"ranks": "8", "dims": "2x2x2", "stencil": "faces"}))
    assert any("hypercube" in match.label for match in named.equals)
    assert all(match.degree == 1.0 for match in named.equals)


def superposed(file: Path) -> None:
    parts = [
        generate("halo_3d", {"ranks": "64", "face_bytes": "65536"}),
        generate("binomial_tree", {"ranks": "64", "bytes": "20000"}),
    ]
    phases = [(phase.name, *phase.coordinates()) for part in parts for phase in part.phases]
    save_pattern(Pattern.from_phases("both", 64, phases), file)


def test_name_tells_components_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "both.json"
    superposed(file)
    assert execute(["patterns", "name", str(file), "--json", "--phases"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = document["rows"]
    assert [row["family"] for row in rows] == ["halo_3d", "binomial_tree"]
    assert rows[0]["dims"] == [4, 4, 4]
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert document["summary"]["rest_bytes"] == 0
    assert "binomial tree from root 0" in document["summary"]["sequence"]
    assert execute(["patterns", "name", str(file)]) == 0
    out = capsys.readouterr().out
    assert "3D halo 4x4x4" in out
    assert "as they are" in out
    assert execute(["patterns", "name", str(file), "--components", "1", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 1


def test_the_relabelling_is_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pattern = generate("halo_2d", {"ranks": "30", "dims": "6x5", "periodic": "no"})
    order = np.random.default_rng(5).permutation(30).tolist()
    file, saved = tmp_path / "halo.csv", tmp_path / "positions.json"
    save_pattern(renumbered(pattern, order), file)
    assert execute(["patterns", "name", str(file), "--save-relabelling", str(saved)]) == 0
    assert "ranks relabelled" in capsys.readouterr().out
    document = json.loads(saved.read_text())
    assert (document["format"], document["ranks"]) == ("corewise-relabelling", 30)
    positions = document["components"][0]["positions"]
    moved = renumbered(renumbered(pattern, order), positions).matrix() > 0
    assert np.array_equal(moved, pattern.matrix() > 0)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["missing.json"], ["missing.json", "cannot be read"]),
        (["{file}", "--save-relabelling", "/nowhere/at/all/p.json"], ["cannot be written"]),
        (["{file}", "--components", "0"], ["components"]),
    ],
)
def test_wrong_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    file = tmp_path / "both.json"
    superposed(file)
    assert execute(["patterns", "name", *[one.format(file=file) for one in arguments]]) == 2
    error = capsys.readouterr().err
    assert all(word in error for word in words), error

"""Patterns through NumPy and through files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corewise import InputError
from corewise._core import Pattern, generate, generators, headline, recognise
from corewise.data.patterns import load_pattern, load_pattern_or_profile, save_pattern

BYTES = np.array([[0, 5, 0], [7, 0, 0], [2**40, 0, 3]], dtype=np.uint64)


def test_dense_matrix_comes_back_and_belongs_to_the_caller() -> None:
    pattern = Pattern.from_dense("given", BYTES)
    matrix = pattern.matrix()
    assert matrix.dtype == np.uint64
    assert np.array_equal(matrix, BYTES)
    matrix[:] = 0
    assert np.array_equal(pattern.matrix(), BYTES)


def test_coordinates_are_summed_and_sorted() -> None:
    senders, receivers = np.array([1, 0, 1], np.int32), np.array([0, 1, 0], np.int32)
    size_bytes, messages = np.array([10, 20, 30], np.uint64), np.array([1, 2, 4], np.uint64)
    pattern = Pattern.from_coordinates("given", 2, senders, receivers, size_bytes, messages)
    assert [column.tolist() for column in pattern.coordinates()] == [[0, 1], [1, 0], [20, 40], [2, 5]]
    assert [str(column.dtype) for column in pattern.coordinates()] == ["int32", "int32", "uint64", "uint64"]
    assert pattern.message_matrix().tolist() == [[0, 2], [5, 0]]


def test_phases_keep_their_order_and_can_be_summed() -> None:
    one = np.array([0], np.int32), np.array([1], np.int32), np.array([8], np.uint64), np.array([1], np.uint64)
    pattern = Pattern.from_phases("given", 2, [("second", *one), ("first", *one)])
    assert [phase.name for phase in pattern.phases] == ["second", "first"]
    assert [phase.coordinates()[2].tolist() for phase in pattern.phases] == [[8], [8]]
    assert len(pattern.summed().phases) == 1
    assert pattern.summed().matrix().tolist() == [[0, 16], [0, 0]]


def test_empty_pattern_has_empty_arrays() -> None:
    pattern = Pattern.from_dense("silent", np.zeros((3, 3), np.uint64))
    assert [column.shape for column in pattern.coordinates()] == [(0,)] * 4
    assert recognise(pattern) == []
    assert headline([]) == "none"


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Pattern.from_dense("m", np.zeros((2, 3), np.uint64)), ["2 rows and 3 columns", "square"]),
        (lambda: Pattern.from_dense("m", np.zeros((0, 0), np.uint64)), ["square"]),
        (
            lambda: Pattern.from_coordinates(
                "m", 2, np.array([0], np.int32), np.array([2], np.int32), *[np.ones(1, np.uint64)] * 2
            ),
            ["2"],
        ),
        (
            lambda: Pattern.from_coordinates(
                "m", 2, np.array([0, 1], np.int32), np.array([1], np.int32), *[np.ones(1, np.uint64)] * 2
            ),
            ["differ in length"],
        ),
    ],
)
def test_wrong_arrays(make: object, words: list[str]) -> None:
    assert callable(make)
    with pytest.raises(InputError) as error:
        make()
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.parametrize("suffix", [".json", ".csv", ".mtx"])
def test_files_round_trip(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"given{suffix}"
    save_pattern(Pattern.from_dense("given", BYTES), file)
    assert np.array_equal(load_pattern(file).matrix(), BYTES)
    assert np.array_equal(load_pattern_or_profile(file).matrix(), BYTES)


def test_json_keeps_the_phases(tmp_path: Path) -> None:
    pattern = generate("recursive_doubling", {"ranks": "8"})
    save_pattern(pattern, tmp_path / "p.json")
    again = load_pattern(tmp_path / "p.json")
    assert [phase.name for phase in again.phases] == [phase.name for phase in pattern.phases]
    assert len(again.phases) == 3


def test_wrong_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found suffix '\.txt'.*\.json, \.csv, \.mtx"):
        save_pattern(Pattern.from_dense("given", BYTES), tmp_path / "p.txt")
    with pytest.raises(InputError, match="cannot be written"):
        save_pattern(Pattern.from_dense("given", BYTES), tmp_path / "no" / "p.json")
    with pytest.raises(InputError, match=r"p\.json: cannot be read: No such file"):
        load_pattern(tmp_path / "p.json")


def test_every_generator_makes_its_default() -> None:
    made = {family.name: family for family in generators()}
    assert {"ring", "halo_1d", "halo_2d", "halo_3d", "wavefront", "all_to_all", "transpose"} <= set(made)
    for name, family in made.items():
        if name == "file":
            continue
        pattern = generate(name, {one.name: one.fallback for one in family.parameters})
        assert pattern.ranks == generate(name, {}).ranks
        assert pattern.matrix().sum() > 0, name


def test_recogniser_names_a_made_halo_and_remakes_it() -> None:
    asked = {"ranks": "24", "dims": "3x4x2", "periodic": "no", "stencil": "faces+edges+corners"}
    pattern = generate("halo_3d", asked)
    best = recognise(pattern)[0]
    assert (best.family, best.dims, best.degree) == ("halo_3d", [3, 4, 2], 1.0)
    assert headline(recognise(pattern)) == best.label
    remade = generate(best.family, best.parameters).matrix() > 0
    assert np.array_equal(remade, pattern.matrix() > 0)


def test_unknown_generator_and_parameter() -> None:
    with pytest.raises(InputError, match="ring"):
        generate("rings", {})
    with pytest.raises(InputError, match="ranks"):
        generate("ring", {"rank": "8"})

"""What a study of sensitivity varies, and what it finds.

A variant is the machine with one parameter, or two, halved or doubled; what it does to the findings is an
`Outcome`. Nothing here simulates.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from corewise import _core, _lab
from corewise.analysis.result import Row, summarise
from corewise.data.published import DataSet
from corewise.errors import InputError

_GUESSED = ("assumed", "inferred", "chosen", "hypothesis", "estimate")
_FLAG = "0 or 1"
_NO_MEASURE = ("", "lines", "SPEs")


@dataclass(frozen=True)
class Parameter:
    """A parameter of the simulated Cell (``cell::ParameterRow``).

    Attributes
    ----------
    name, unit, source : str
        The source says whether it is published, fitted or assumed.
    value, least, most : float
        Its own, and the range that the core allows.
    """

    name: str
    unit: str
    value: float
    least: float
    most: float
    source: str

    @property
    def assumed(self) -> bool:
        """No measurement of it was found: it was assumed, or inferred from something else."""
        return any(word in self.source for word in _GUESSED)

    @property
    def fitted(self) -> bool:
        """It was fitted to published values."""
        return "fitted" in self.source or "calibrated" in self.source

    def changes(self) -> Iterator[Change]:
        """Halved and doubled, in range; a flag is turned over; zero has neither."""
        if self.unit == _FLAG:
            yield Change(self.name, "other", 1 - self.value)
            return
        for word, factor in (("half", 0.5), ("double", 2.0)):
            value = min(max(self.value * factor, self.least), self.most)
            value = float(int(value)) if self.value == int(self.value) else value
            if value != self.value:
                yield Change(self.name, word, value)


@dataclass(frozen=True)
class Change:
    """One parameter of a variant: ``half``, ``double``, or, of a flag, ``other``."""

    parameter: str
    word: str
    value: float

    def __str__(self) -> str:
        return f"{self.parameter} {self.word}"


Variant = tuple[Change, ...]
"""No change is the machine as it is."""
Errors = Mapping[tuple[str, DataSet], float]
"""(paper, set) -> mean error of the published numbers."""


@dataclass(frozen=True)
class Outcome:
    """What holds on a variant.

    Attributes
    ----------
    holds : mapping of str to bool
        Finding -> whether it holds.
    errors : mapping
        (paper, set) -> mean error of the published numbers.
    """

    holds: Mapping[str, bool]
    errors: Errors


@dataclass(frozen=True)
class Finding:
    """A statement, or a published number, of a paper."""

    paper: str
    id: str
    what: str

    @property
    def name(self) -> str:
        """Unique among the papers."""
        return f"{self.paper} {self.id}"


@dataclass(frozen=True)
class Sensitivity:
    """Everything that was found.

    Attributes
    ----------
    parameters : tuple of Parameter
        Those that were varied.
    findings : tuple of Finding
    outcomes : mapping of Variant to Outcome
        The machine as it is, ``()``, is among them.
    failed : mapping of Variant to str
        Variants on which the programs did not run, and why: a limit too small for them.
    """

    parameters: tuple[Parameter, ...]
    findings: tuple[Finding, ...]
    outcomes: Mapping[Variant, Outcome]
    failed: Mapping[Variant, str] = field(default_factory=dict)

    @property
    def base(self) -> Outcome:
        """The machine as it is."""
        return self.outcomes[()]

    def turned(self, variant: Variant, to: bool) -> list[Finding]:
        """Findings that hold (or fail) on a variant and not on the machine as it is."""
        holds = self.outcomes[variant].holds
        return [
            each for each in self.findings if holds[each.name] is to and self.base.holds[each.name] is not to
        ]

    def hang(self) -> dict[Finding, list[Variant]]:
        """Findings that hold, and fail on some variant, with those variants."""
        hanging: dict[Finding, list[Variant]] = {}
        for variant in self.outcomes:
            for finding in self.turned(variant, False):
                hanging.setdefault(finding, []).append(variant)
        return {each: hanging[each] for each in self.findings if each in hanging}


def parameters_of(machine: _core.Machine) -> tuple[Parameter, ...]:
    """All parameters of a Cell that have a measure; counts of what there is and seeds have none."""
    return tuple(
        Parameter(name, unit, value, least, most, source)
        for name, unit, value, least, most, _, source in _lab.cell_parameters(machine)
        if unit not in _NO_MEASURE
    )


def chosen_parameters(
    all_of_them: Sequence[Parameter], names: Sequence[str], fitted: bool
) -> tuple[Parameter, ...]:
    """Those named, or all assumed ones, with `fitted` the fitted ones too."""
    known = {each.name: each for each in all_of_them}
    for name in names:
        if name not in known:
            raise InputError(f"option '--parameter': found '{name}', allowed: {', '.join(known)}")
    if names:
        return tuple(known[name] for name in dict.fromkeys(names))
    return tuple(each for each in all_of_them if each.assumed or (fitted and each.fitted))


def variants_of(parameters: Sequence[Parameter], pairs: bool) -> tuple[Variant, ...]:
    """The machine as it is; every parameter changed by itself; with `pairs` every two of them together."""
    single = [change for each in parameters for change in each.changes()]
    alone: list[Variant] = [(), *((change,) for change in single)]
    together = [(one, other) for one, other in combinations(single, 2) if one.parameter != other.parameter]
    return tuple([*alone, *together] if pairs else alone)


def outcome_of(rows: Mapping[str, Iterable[Row]]) -> tuple[Outcome, tuple[Finding, ...]]:
    """What the papers' rows say: paper -> rows."""
    holds: dict[str, bool] = {}
    findings: list[Finding] = []
    errors: dict[tuple[str, DataSet], float] = {}
    sets: tuple[DataSet, ...] = ("C", "H")
    for paper, given in rows.items():
        each_row = list(given)
        for row in each_row:
            if row.verdict is None:
                continue
            finding = Finding(paper, row.id, row.what)
            findings.append(finding)
            holds[finding.name] = row.verdict == "holds"
        for name in sets:
            errors[paper, name] = summarise(each_row, name).mean
    return Outcome(holds, errors), tuple(findings)


# ---- as values of JSON -----------------------------------------------------------------------------------


def outcome_json(outcome: Outcome, findings: Sequence[Finding]) -> dict[str, Any]:
    """An outcome with its findings; a mean of no numbers is null."""
    return {
        "holds": dict(outcome.holds),
        "errors": [
            [paper, name, None if math.isnan(error) else float(error)]
            for (paper, name), error in outcome.errors.items()
        ],
        "findings": [[each.paper, each.id, each.what] for each in findings],
    }


def outcome_of_json(result: Mapping[str, Any]) -> tuple[Outcome, tuple[Finding, ...]]:
    """What `outcome_json` was made from."""
    errors = {(paper, name): math.nan if error is None else error for paper, name, error in result["errors"]}
    return Outcome(result["holds"], errors), tuple(Finding(*each) for each in result["findings"])


def is_variant_result(variant: Sequence[object], value: object) -> bool:
    """Whether a value that was read can be what became of a variant."""
    if not isinstance(value, dict):
        return False
    if variant and value.keys() == {"failed"}:
        return isinstance(value["failed"], str)
    if value.keys() != {"holds", "errors", "findings"} or not isinstance(value["holds"], dict):
        return False
    errors, findings = value["errors"], value["findings"]
    return (
        all(type(each) is bool for each in value["holds"].values())
        and _are_rows(errors, (str, str, float | None))
        and _are_rows(findings, (str, str, str))
        and all(each[1] in ("C", "H") for each in errors)
        and {f"{paper} {id}" for paper, id, _ in findings} == value["holds"].keys()
    )


def _are_rows(rows: object, kinds: tuple[Any, ...]) -> bool:
    """Whether a value is a list of lists of these kinds."""
    return isinstance(rows, list) and all(
        isinstance(row, list) and len(row) == len(kinds) and all(map(isinstance, row, kinds)) for row in rows
    )

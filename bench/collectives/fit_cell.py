"""Fits the simulated Cell's free software costs to set C of paper 001, one parameter to one published value.

A parameter is fitted by bisection with those before it fixed, in an order in which none changes an earlier
fit by more than rounding; a second round says so. Held-out values are neither read nor printed here (they
are in `corewise paper collectives`). Nothing is written: the fitted values go into src/cell/parameters.cpp by
hand, and their rows then name what they were fitted to.

Usage: .venv/bin/python bench/collectives/fit_cell.py [--memory NAME] [--set NAME=VALUE ...]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from corewise.analysis.selection import Configuration
from corewise.data.machines import load_cell
from corewise.data.published import published_as
from corewise.papers.collectives.cases import MACHINE, Case, Memory, run_case
from corewise.papers.collectives.data import (
    KB,
    MB,
    MEMORIES,
    PAIRWISE_EXCHANGE,
    SMALL_BYTES,
    good_choice,
    good_reduce,
)
from corewise.papers.collectives.rows import size_of

ROUNDS = 2


@dataclass(frozen=True)
class Fit:
    """One parameter and what it is fitted to: ``parameter`` makes ``id`` of ``bytes`` on 8 right."""

    parameter: str
    low: int
    high: int
    id: str
    collective: str
    bytes: int

    @property
    def chosen(self) -> Configuration:
        """The algorithm that the published value was measured with."""
        if self.collective == "barrier":
            return PAIRWISE_EXCHANGE
        return (good_choice if self.collective == "broadcast" else good_reduce)(8, self.bytes)

    @property
    def published_us(self) -> float:
        """Of set C."""
        values = published_as(self.id)
        if self.collective == "barrier":
            return values[0].value
        return next(each.value for each in values if each.set == "C" and size_of(each) == self.bytes)


FITS = (
    Fit("spu_code_percent", 50, 400, "K1", "barrier", 0),
    Fit("spu_library_call_cycles", 0, 4000, "D1", "broadcast", SMALL_BYTES),
    Fit("spu_operator_line_cycles", 8, 480, "E1", "reduce", MB),
    Fit("spu_operator_set_up_cycles", 0, 6000, "E1", "reduce", SMALL_BYTES),
)
CHECKED = (
    Fit("", 0, 0, "D1", "broadcast", 32 * KB),
    Fit("", 0, 0, "D1", "broadcast", MB),
)
"""Set C too, with nothing fitted to them here."""


def time_us(fit: Fit, parameters: dict[str, float], memory: Memory) -> float:
    """Latency on 8 ranks."""
    machine = load_cell(MACHINE, parameters)
    place = MEMORIES[0] if fit.collective == "barrier" else memory
    return run_case(machine, Case(fit.collective, 8, fit.bytes, fit.chosen, place)).latency_us


def fitted(fit: Fit, parameters: dict[str, float], memory: Memory) -> int:
    """The whole number that comes nearest to the published time; times grow with every parameter."""

    def over(value: int) -> float:
        return time_us(fit, {**parameters, fit.parameter: value}, memory) - fit.published_us

    low, high = fit.low, fit.high
    while high - low > 1:
        middle = (low + high) // 2
        if over(middle) < 0:
            low = middle
        else:
            high = middle
    return min((low, high), key=lambda value: abs(over(value)))


def main() -> None:
    """Fits, and prints what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--memory", choices=MEMORIES, default=MEMORIES[0])
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="not fitted")
    asked = parser.parse_args()
    parameters = {name: float(value) for name, value in (each.split("=") for each in asked.set)}
    for turn in range(ROUNDS):
        for fit in FITS:
            if fit.parameter not in dict(each.split("=") for each in asked.set):
                parameters[fit.parameter] = fitted(fit, parameters, asked.memory)
            print(f"round {turn + 1}: {fit.parameter} {parameters[fit.parameter]:g}")
    for fit in (*FITS, *CHECKED):
        ours = time_us(fit, parameters, asked.memory)
        error = 100 * (ours / fit.published_us - 1)
        what = f"{fit.id} {fit.collective} {fit.bytes}"
        print(f"{what}: published {fit.published_us}, {ours:.4g} us, {error:+.1f} %")


if __name__ == "__main__":
    main()

"""A communication pattern as a Python program sees it, and what may stand for one.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from corewise import _core
from corewise.analysis.pattern import PatternSummary, summarise_pattern
from corewise.api import display
from corewise.data.patterns import load_pattern_or_profile
from corewise.data.quantities import bytes_text
from corewise.errors import InputError


@dataclass(frozen=True, repr=False)
class Pattern:
    """Who sends how many bytes to whom.

    Attributes
    ----------
    core : corewise._core.Pattern
        The pattern as the rooms below take it, with its phases.
    """

    core: _core.Pattern

    @property
    def ranks(self) -> int:
        """How many ranks there are."""
        return self.core.ranks

    @cached_property
    def summary(self) -> PatternSummary:
        """Totals, and the templates that the pattern resembles."""
        return summarise_pattern(self.core)

    @property
    def label(self) -> str:
        """What the pattern is, in words."""
        return self.summary.label

    def matrix(self) -> NDArray[np.uint64]:
        """Bytes from the rank of the row to that of the column, all phases summed.

        Returns
        -------
        ndarray of uint64, shape (ranks, ranks)
        """
        return self.core.matrix()

    def __repr__(self) -> str:
        found = self.summary
        amount = f"{found.messages} messages, {bytes_text(found.bytes)}"
        return f"<corewise.Pattern {self.label}: {self.ranks} ranks, {amount}>"

    def _repr_html_(self) -> str:
        return display.paragraph(repr(self)[1:-1])


PatternLike: TypeAlias = "Pattern | _core.Pattern | NDArray[Any] | str | Path"
"""What may stand for a pattern: a matrix of bytes, shape (ranks, ranks), or the name of a file or profile."""


def as_pattern(given: PatternLike) -> _core.Pattern:
    """The pattern that is meant.

    Raises
    ------
    InputError
        An array that is no square matrix of whole bytes, or a file that is none.
    """
    if isinstance(given, Pattern):
        return given.core
    if isinstance(given, _core.Pattern):
        return given
    if isinstance(given, (str, Path)):
        return load_pattern_or_profile(given)
    return _of_matrix(np.asarray(given))


def _of_matrix(given: NDArray[Any]) -> _core.Pattern:
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.dtype.kind not in "iuf":
        found = f"an array of {given.dtype}, shape {given.shape}"
    elif given.dtype.kind != "u" and not ((given >= 0) & (given == np.floor(given))).all():
        found = "a negative number or a fraction of a byte"
    else:
        return _core.Pattern.from_dense("matrix", np.ascontiguousarray(given, dtype=np.uint64))
    raise InputError(f"pattern: found {found}, allowed: a square matrix of bytes, shape (ranks, ranks)")

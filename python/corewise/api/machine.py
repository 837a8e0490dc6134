"""A machine as a Python program sees it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corewise import _core
from corewise.api import display
from corewise.data.machines import load_machine
from corewise.plots.machines import drawing


@dataclass(frozen=True, repr=False)
class Machine:
    """Units where ranks can run, and the links between them.

    Attributes
    ----------
    core : corewise._core.Machine
        The machine as the rooms below take it: links, stops, routes.
    """

    core: _core.Machine

    @property
    def name(self) -> str:
        """Its name."""
        return self.core.name

    @property
    def units(self) -> tuple[str, ...]:
        """The names of its units; a placement counts them from 0."""
        return tuple(unit.name for unit in self.core.units)

    def hops(self) -> NDArray[np.int32]:
        """Links on the way from the unit of the row to that of the column.

        Returns
        -------
        ndarray of int32, shape (units, units)
            0 on the diagonal.
        """
        return self.core.hops()

    def drawing(self, unit_of_rank: Sequence[int] | NDArray[np.int64] = ()) -> str:
        """The machine as text of at most 100 columns, with the ranks that a placement puts on it."""
        ranks = {int(unit): rank for rank, unit in enumerate(unit_of_rank)}
        return display.terminal_text(drawing(self.core, ranks))

    def __repr__(self) -> str:
        return f"<corewise.Machine {self.name}: {len(self.units)} units, {len(self.core.links)} links>"

    def _repr_html_(self) -> str:
        return display.paragraph(repr(self)[1:-1]) + display.preformatted(self.drawing())


def machine(reference: str | Machine) -> Machine:
    """The machine that a text names.

    Parameters
    ----------
    reference : str or Machine
        A bundled name (``cell-be``), a ``.toml``, ``.json`` or hwloc ``.xml`` file, ``host``, or a text
        such as ``"pack:2 l3:4 core:8"``. A machine is given back as it is.

    Raises
    ------
    InputError
        There is no such machine, or its file is wrong.
    """
    return reference if isinstance(reference, Machine) else Machine(load_machine(reference))

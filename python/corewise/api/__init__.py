"""What a Python program uses: `load`, `advise`, `machine`, `place`, `simulate`, and what they give.

NumPy goes in and comes out; nothing prints, and nothing is kept between two calls. Each object shows itself
in a notebook. The functions that do the work are in the layers below; these are their front.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.api.advising import Advised, advise
from corewise.api.machine import Machine, machine
from corewise.api.pattern import Pattern
from corewise.api.placing import Placing, place
from corewise.api.profile import Found, Profile, Waits, load
from corewise.api.simulated import Simulated, simulate

__all__ = [
    "Advised",
    "Found",
    "Machine",
    "Pattern",
    "Placing",
    "Profile",
    "Simulated",
    "Waits",
    "advise",
    "load",
    "machine",
    "place",
    "simulate",
]

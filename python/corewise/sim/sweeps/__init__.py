"""Sweeps of many independent simulations, by any `concurrent.futures.Executor`.

A `Sweep` is a text that all its jobs share and a list of jobs. `run` hands the jobs to an executor, takes
results as they come, keeps them in a file so that an interrupted sweep goes on from there, and returns them
in the order of the jobs. Invariant: the results depend on the sweep alone, not on who did it, how many did
it, or in how many parts.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.base.executors import KINDS, Workers, workers_of
from corewise.sim.sweeps.partial import Partial, beside
from corewise.sim.sweeps.sweep import Sweep, run

__all__ = ["KINDS", "Partial", "Sweep", "Workers", "beside", "run", "workers_of"]

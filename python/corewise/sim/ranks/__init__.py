"""MPI programs whose ranks run on a simulated machine: compiling them, running them, what a run gave.

``compile_program`` stands for a compiler, ``run_program`` for a launcher. The ranks run in a process of their
own (room simmpi's executable), which a crash of the program ends without harm.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.base import late

with late.imports():
    from corewise.sim.ranks.compiler import compile_program
    from corewise.sim.ranks.result import RankRun
    from corewise.sim.ranks.run import SETTINGS, RunOptions, run_program, tasks_per_unit

__all__ = ["SETTINGS", "RankRun", "RunOptions", "compile_program", "run_program", "tasks_per_unit"]

"""What the benches of messages ask for on the command line.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import argparse

import racing

from corewise.bench.pack.runs import Setting, settings_of
from corewise.errors import InputError


def asked(text: str | None, rounds: int) -> tuple[argparse.Namespace, list[Setting]]:
    """The arguments, and the MPIs of ``--mpi``; one that is not there ends the program with status 2.

    Parameters
    ----------
    text, rounds : as `racing.options` takes them.
    """
    parser = racing.options(text, rounds)
    parser.add_argument("--mpi", default="both", help="both, openmpi, mpich, a prefix or a launcher")
    arguments = parser.parse_args()
    try:
        return arguments, settings_of(arguments.mpi)
    except InputError as error:
        parser.error(str(error))

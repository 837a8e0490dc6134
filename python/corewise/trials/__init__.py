"""Times placements and launches: `time(candidates, backend, rounds)`, in simulation or on this host.

SPDX-License-Identifier: BSD-3-Clause
"""

from corewise.trials.timing import Backend, Candidate, time

__all__ = ["Backend", "Candidate", "time"]

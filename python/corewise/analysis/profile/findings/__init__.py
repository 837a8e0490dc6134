"""Findings: what a run shows in three to six sentences, each with its evidence and what to do next.

`find_out(path)` reads a profile and gives its `Findings`; `look_at` and `findings_of` do the two halves.

SPDX-License-Identifier: BSD-3-Clause
"""

from corewise.analysis.profile.findings.efficiency import Efficiency
from corewise.analysis.profile.findings.finding import KINDS, Finding, Findings
from corewise.analysis.profile.findings.run import Run
from corewise.analysis.profile.findings.study import find_out, findings_of, look_at

__all__ = ["KINDS", "Efficiency", "Finding", "Findings", "Run", "find_out", "findings_of", "look_at"]

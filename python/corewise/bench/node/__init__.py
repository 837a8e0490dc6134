"""`corewise bench node`.

SPDX-License-Identifier: BSD-3-Clause
"""

ALL = "all"
CASES = ("transpose", "shares", "contention", "noise")

"""`corewise bench mapping`.

SPDX-License-Identifier: BSD-3-Clause
"""

CASES = ("ring", "instances", "machines", "trees", "contended", "orders", "reference")
ALL = "all"

"""`corewise bench collectives`.

SPDX-License-Identifier: BSD-3-Clause
"""

"""`corewise bench pack`.

SPDX-License-Identifier: BSD-3-Clause
"""

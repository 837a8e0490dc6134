"""`corewise bench sim`.

SPDX-License-Identifier: BSD-3-Clause
"""

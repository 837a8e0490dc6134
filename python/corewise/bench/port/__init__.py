"""`corewise bench port`.

SPDX-License-Identifier: BSD-3-Clause
"""

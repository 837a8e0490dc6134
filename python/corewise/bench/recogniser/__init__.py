"""`corewise bench recogniser`.

SPDX-License-Identifier: BSD-3-Clause
"""

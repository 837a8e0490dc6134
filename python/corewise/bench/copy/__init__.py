"""`corewise bench copy`.

SPDX-License-Identifier: BSD-3-Clause
"""

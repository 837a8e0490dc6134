"""Functions and source lines behind code addresses.

SPDX-License-Identifier: BSD-3-Clause
"""

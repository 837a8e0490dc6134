"""Levers: what can be changed about a launch, a module each, with `predict`, `apply` and `verify`.

SPDX-License-Identifier: BSD-3-Clause
"""

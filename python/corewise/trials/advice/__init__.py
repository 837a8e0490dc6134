"""Advice: records a program once, predicts every lever, runs the promising ones, and confirms the best.

SPDX-License-Identifier: BSD-3-Clause
"""

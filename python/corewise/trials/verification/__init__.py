"""Prediction held against measurement.

SPDX-License-Identifier: BSD-3-Clause
"""

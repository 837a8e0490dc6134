"""`corewise bench fft`.

SPDX-License-Identifier: BSD-3-Clause
"""

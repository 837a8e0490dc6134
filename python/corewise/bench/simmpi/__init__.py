"""`corewise bench simmpi`: MPI messages simulated per second, beside SimGrid's SMPI.

SPDX-License-Identifier: BSD-3-Clause
"""

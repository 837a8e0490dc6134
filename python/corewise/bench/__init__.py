"""What `corewise bench` measures: a folder per question, and what the questions share.

``rows`` and ``rounds`` make rows of rounds, ``programs`` compiles the contestants of ``bench/``, ``peers``
says how to get who is absent, ``views`` makes tables, ``history`` compares the results of several versions.

SPDX-License-Identifier: BSD-3-Clause
"""

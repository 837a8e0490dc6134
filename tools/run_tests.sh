#!/usr/bin/env bash
# Runs every test of a built tree: the C++ rooms, the Python tests, the tests on real MPIs. All three run even
# where an earlier one fails; JUnit files go to build/results/release/, the closing line sums them.
# SPDX-License-Identifier: BSD-3-Clause
set -uo pipefail
cd "$(dirname "$0")/.."

bin="$PWD/.venv/bin"
export PATH="$bin:$PATH"
status=0

tools/run_ctest.sh release || status=1
results=build/results/release
# A file's tests stay in one process, so its programs are built once; two files run side by side.
side_by_side=(-q -n "${JOBS:-2}" --dist loadfile)
"$bin/python" -m pytest tests/python "${side_by_side[@]}" --junitxml "$results/pytest-python.xml" || status=1
"$bin/python" -m pytest tests/mpi "${side_by_side[@]}" --junitxml "$results/pytest-mpi.xml" || status=1

"$bin/python" tools/summarise.py build/results/release || status=1
exit "$status"

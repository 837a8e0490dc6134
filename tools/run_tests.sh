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
# Files run side by side; a file's tests stay in one process, so its programs are built once. A short MPI run waits
# for its launcher half of the time: one process more than there are cores.
jobs="${JOBS:-2}"
together=(-q --dist loadfile)
"$bin/python" -m pytest tests/python "${together[@]}" -n "$jobs" --junitxml "$results/pytest-python.xml" || status=1
"$bin/python" -m pytest tests/mpi "${together[@]}" -n $((jobs + 1)) --junitxml "$results/pytest-mpi.xml" || status=1

"$bin/python" tools/checks/summarise.py build/results/release || status=1
exit "$status"

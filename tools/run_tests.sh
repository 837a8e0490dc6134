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
for suite in python mpi; do
    [ -d "tests/$suite" ] || continue
    "$bin/python" -m pytest "tests/$suite" -q --junitxml "build/results/release/pytest-$suite.xml" || status=1
done

"$bin/python" tools/summarise.py build/results/release || status=1
exit "$status"

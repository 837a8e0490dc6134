#!/usr/bin/env bash
# Runs every test of a built tree: the C++ rooms, the Python tests, the tests on real MPIs. All three run even
# where an earlier one fails; JUnit files go to build/results/release/, the closing line sums them.
#   tests.sh            all of it
#   tests.sh long       the long tests (tests/conftest.py, tests/cpp/effort.hpp), all of them
#   tests.sh skipped    only what the last run skipped for a missing capability, after something was installed
# SPDX-License-Identifier: BSD-3-Clause
set -uo pipefail
cd "$(dirname "$0")/../.."

export PATH="$PWD/.venv/bin:$PATH"
results=build/results/release
jobs="${JOBS:-2}"
status=0

everything() {
    tools/run/ctest.sh release || status=1
    tools/run/pytest.sh python "$jobs" tests/python || status=1
    # A short MPI run waits for its launcher half of the time: one process more than there are cores.
    tools/run/pytest.sh mpi $((jobs + 1)) tests/mpi || status=1
}

long() {
    mkdir -p "$results/long"
    COREWISE_LONG_TESTS=1 ctest --preset release --parallel "$jobs" --timeout 1200 -R '^(lab|shm)$' \
        --output-junit "$PWD/$results/long/ctest.xml" || status=1
    tools/run/pytest.sh long $((jobs + 1)) tests/python tests/mpi -m long_test --long all || status=1
}

skipped() {
    local list
    list="$(mktemp)"
    python tools/checks/skipped.py "$results" >"$list" || status=1
    if [ -s "$list" ]; then tools/run/pytest.sh skipped "$jobs" "@$list" || status=1; fi
    rm -f "$list"
}

mkdir -p "$results"
"${1:-everything}"
python tools/checks/summarise.py "$results" || status=1
exit "$status"

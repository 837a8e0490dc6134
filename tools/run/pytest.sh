#!/usr/bin/env bash
# pytest.sh NAME PROCESSES ARGUMENTS...: pytest in so many processes, JUnit to build/results/release/pytest-NAME.xml.
# Files run side by side, those marked first_test first; a file's tests stay in one process, so that its programs are
# built once.
# LONG says which long tests run (tests/conftest.py).
# SPDX-License-Identifier: BSD-3-Clause
set -euo pipefail
cd "$(dirname "$0")/../.."
name="$1" processes="$2"
shift 2
exec .venv/bin/python -m pytest -q --dist loadfile --no-loadscope-reorder -n "$processes" \
    --long "${LONG:-none}" --junitxml "build/results/release/pytest-$name.xml" "$@"

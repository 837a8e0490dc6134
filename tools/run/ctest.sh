#!/usr/bin/env bash
# Runs ctest on one preset's build, with one JUnit file per test program beside ctest's own.
# Usage: tools/run/ctest.sh PRESET [ctest arguments...]
# SPDX-License-Identifier: BSD-3-Clause
set -euo pipefail
cd "$(dirname "$0")/../.."

preset="$1"
shift
results="$PWD/build/results/$preset"
# GoogleTest never overwrites a result: an old file would be read as this run's.
rm -rf "$results"
mkdir -p "$results/cpp"
GTEST_OUTPUT="xml:$results/cpp/" "$PWD/.venv/bin/ctest" --preset "$preset" --parallel "${JOBS:-2}" --timeout 1200 \
    --no-tests=error --output-junit "$results/ctest.xml" "$@"

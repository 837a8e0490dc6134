#!/usr/bin/env bash
# The fuzzer of what reads bytes (tests/fuzz): a program of libFuzzer for each target, built with clang under the address
# and the undefined behaviour sanitizer, run from the inputs in tests/fuzz/corpus. Fails on the first input that breaks a
# promise, which is kept in build/fuzz/found; inputs that reached new code are kept in build/fuzz/grown/TARGET.
# Wants clang and its runtime (Debian: clang-14 libclang-rt-14-dev).
# Usage: tools/run/fuzz.sh [SECONDS [TARGET...]]: so many seconds for each target, of all or of those named; 0: only the
# corpus. COREWISE_FUZZ_CXX names another clang++.
# SPDX-License-Identifier: BSD-3-Clause
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds="${1:-20}"
targets=("${@:2}")
export PATH="$PWD/.venv/bin:$PATH"  # cmake and ninja
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"

find_clang() {
    local name
    for name in "${COREWISE_FUZZ_CXX:-}" clang++ clang++-{20..14}; do
        if [ -n "$name" ] && command -v "$name" >/dev/null; then
            echo "$name"
            return 0
        fi
    done
    echo "fuzz.sh: no clang++ found, wanted: clang 14 or later with libFuzzer (Debian: clang-14 libclang-rt-14-dev)" >&2
    return 1
}

# The largest machine that a text may ask for takes 24 s under the sanitizers.
run() {  # run TARGET: libFuzzer's own summary tells how many inputs it tried
    local grown="build/fuzz/grown/$1" limits=(-seed=1 -max_len=16384 -timeout=60 -rss_limit_mb=2048)
    mkdir -p "$grown" build/fuzz/found
    cp -n "tests/fuzz/corpus/$1"/* "$grown"
    limits+=(-artifact_prefix="build/fuzz/found/$1-" -print_final_stats=1)
    if [ "$1" = datatypes ]; then limits+=(-max_len=256); fi
    if [ "$seconds" = 0 ]; then limits+=(-runs=0); else limits+=(-max_total_time="$seconds"); fi
    echo "fuzz.sh: $1" >&2
    "build/fuzz/tests/fuzz/fuzz_$1" "${limits[@]}" "$grown"
}

if [ "${#targets[@]}" = 0 ]; then
    mapfile -t targets < <(cd tests/fuzz/corpus && printf '%s\n' *)
fi
for target in "${targets[@]}"; do
    if [ ! -d "tests/fuzz/corpus/$target" ]; then
        echo "fuzz.sh: target is '$target', allowed: $(cd tests/fuzz/corpus && echo *)" >&2
        exit 2
    fi
done
mkdir -p build/fuzz
exec 9>build/fuzz/lock
flock 9  # one at a time
cmake --preset fuzz -DCMAKE_CXX_COMPILER="$(find_clang)" -DPython_EXECUTABLE="$PWD/.venv/bin/python" >/dev/null
cmake --build --preset fuzz --target "${targets[@]/#/fuzz_}" -- --quiet >&2
for target in "${targets[@]}"; do run "$target"; done

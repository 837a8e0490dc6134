#!/usr/bin/env bash
# The fuzzer of datatypes and their simplification (tests/fuzz), built with clang under the address and the undefined
# behaviour sanitizer, run for some seconds from the seeds in tests/fuzz/seeds. Fails on the first input that breaks a
# promise, which is kept under build/fuzz. Wants clang and its runtime (Debian: clang-14 libclang-rt-14-dev).
# Usage: tools/run/fuzz.sh [SECONDS]; 0: only the seeds. COREWISE_FUZZ_CXX names another clang++.
# SPDX-License-Identifier: BSD-3-Clause
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds="${1:-20}"
built=build/fuzz/fuzz_simplify
sources=(tests/fuzz/fuzz_simplify.cpp src/kernels/packing/{layout,simplification}/*.cpp)

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

up_to_date() {
    [ -x "$built" ] && [ -z "$(find src/kernels src/base tests/fuzz tests/cpp/kernels -name '*.[ch]pp' -newer "$built")" ]
}

mkdir -p build/fuzz
if ! up_to_date; then
    "$(find_clang)" -std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
        -fno-sanitize-recover=all -Isrc "${sources[@]}" -o "$built.new"
    mv "$built.new" "$built"
fi
corpus="$(mktemp -d)"
trap 'rm -rf "$corpus"' EXIT
cp -r tests/fuzz/seeds/. "$corpus"
limits=(-seed=1 -max_len=256 -timeout=20 -rss_limit_mb=2048 -artifact_prefix=build/fuzz/ -print_final_stats=1)
if [ "$seconds" = 0 ]; then
    "$built" "${limits[@]}" -runs=0 "$corpus"
else
    "$built" "${limits[@]}" -max_total_time="$seconds" "$corpus"
fi

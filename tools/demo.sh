#!/usr/bin/env bash
# The demo: profile a real MPI program, check its matrix against the program's own count, name the pattern, find the
# best placement on the Cell and write report.html. Called by `make demo`; everything lands in build/demo/.
# SPDX-License-Identifier: BSD-3-Clause
set -euo pipefail

corewise=.venv/bin/corewise
python=.venv/bin/python
out=build/demo
mpi=${DEMO_MPI:-openmpi}

rm -rf "$out"
mkdir -p "$out"

step() { printf '\n== %s\n' "$1"; }

step "Profile a lattice-Boltzmann flow on 8 ranks under $mpi, unchanged"
"$corewise" run -n 8 --mpi "build/mpi/$mpi" -o "$out/lbm.cw" -- \
  "build/apps/$mpi/lbm" --size 32x32x32 --steps 50 --dims 2x2x2 --count-file "$out/counted.csv"

step "Does the profile hold the bytes that the program itself counted?"
"$python" tools/compare_counts.py "$out/lbm.cw" "$out/counted.csv"

step "Who talks to whom, which pattern it is, and the best placement on the Cell Broadband Engine"
"$corewise" report "$out/lbm.cw" --machine cell-be --html "$out/report.html"

step "The same flow in slabs: a ring, which rank order lays across the Cell; its best placement, for later use"
"$corewise" run -n 8 --mpi "build/mpi/$mpi" -o "$out/slabs.cw" -- \
  "build/apps/$mpi/lbm" --size 32x32x32 --steps 50 --dims 8x1x1 --count-file "$out/counted_slabs.csv"
"$corewise" place "$out/slabs.cw" --machine cell-be -o "$out/placement.json"

cp "$out/report.html" report.html
printf '\nThe page: report.html. Next: corewise --help\n'
if [ ! -e .venv/.stamp-package ]; then
    printf 'This corewise was compiled in a hurry, without optimisation and without its simulators (replay, simrun,\n'
    printf 'collective, paper, the Cell); `make package` builds the usual one.\n'
fi

#!/usr/bin/env bash
# Makes a release in dist/: a wheel that records without a compiler, an sdist, and checks of both. Called by `make release`.
#   1. the preloads for the usual MPIs' ABIs (tools/prebuild.py) and the manual pages (tools/manpages.py)
#   2. the wheel; auditwheel says which Linux it runs on, and puts in the libraries that it needs
#   3. the sdist
#   4. the wheel in an empty environment on a machine without a compiler: the first hour (tools/run/first_hour.py)
# SPDX-License-Identifier: BSD-3-Clause
set -euo pipefail
cd "$(dirname "$0")/.."

bin="$PWD/.venv/bin"
work=build/release-wheel
mkdir -p "$work"
export PATH="$bin:$PATH"
step() { printf '\n== %s\n' "$1"; }

step "Tools and MPIs"
"$bin/python" -m pip install --quiet -r tools/release/tools.txt
prefixes=()
while read -r requirement; do
    prefix="$work/mpi/${requirement//==/-}"
    if [ ! -x "$prefix/bin/mpiexec" ]; then
        "$bin/python" -m pip install --quiet --no-deps --ignore-installed --no-warn-script-location \
            --prefix "$prefix" "$requirement"
    fi
    prefixes+=("$prefix")
done < <(grep -v '^#' tools/release/mpis.txt)
# Those packages have no Fortran; the system's MPIs have.
for launcher in mpiexec.openmpi mpiexec.mpich; do
    if found="$(command -v "$launcher")"; then prefixes+=("$found"); fi
done

step "Preloads for their ABIs"
"$bin/python" tools/prebuild.py "$work/prebuilt" "${prefixes[@]}"

step "Manual pages"
rm -rf "$work/man"
"$bin/python" tools/manpages.py "$work/man"

step "Wheel"
rm -rf "$work/raw" dist
# By the environment: the pip that comes with Python 3.10 takes no settings of a build. What headers say of themselves
# in errors is not to name this folder; a tree that was configured before would not take the flag.
SKBUILD_CMAKE_DEFINE="COREWISE_PREBUILT=$PWD/$work/prebuilt;COREWISE_MAN=$PWD/$work/man" \
    SKBUILD_BUILD_DIR="$work/tree" CXXFLAGS="-fmacro-prefix-map=$PWD=." \
    "$bin/python" tools/run/progress.py --log "$work/wheel.log" "building the wheel" -- \
    "$bin/python" -m pip wheel --verbose --no-deps --no-build-isolation --wheel-dir "$work/raw" .
auditwheel show "$work"/raw/*.whl
# The MPI is the user's: its place in the preloads is filled in when it is known (python/corewise/mpi/prebuilt.py).
auditwheel repair --exclude 'libcorewise-stands-for-*' --wheel-dir dist "$work"/raw/*.whl
"$bin/python" tools/checks/wheel.py dist/*.whl

step "Sdist"
"$bin/python" -m build --sdist --no-isolation --outdir dist . >"$work/sdist.log" 2>&1 || { tail -40 "$work/sdist.log"; exit 1; }
twine check --strict dist/*

step "The wheel in an empty environment, without a compiler"
# Outside of this folder: corewise finds MPIs in the build/mpi of a folder above.
hour="$(mktemp -d)"
trap 'rm -rf "$hour"' EXIT
tools/run/bare.sh --without-compiler "$bin/python" tools/run/first_hour.py --wheel dist/*.whl --work "$hour/hour" \
    --page docs/first-hour.md

ls -l dist

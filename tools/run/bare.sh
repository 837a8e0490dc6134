#!/usr/bin/env bash
# bare.sh [--without-compiler] COMMAND...: runs a command as on a user's fresh machine, where no MPI, Fortran compiler or
# browser of the system can be found, and no C or C++ compiler either where that is asked for. In a mount namespace of its own /usr and /etc are overlays without them; nothing outside changes.
# Exit status 3, before the command starts, where they cannot be hidden.
# SPDX-License-Identifier: BSD-3-Clause
set -euo pipefail

commands=(mpiexec mpirun mpicc mpicxx mpic++ mpif90 mpifort ompi_info orterun prterun mpichversion hydra_pmi_proxy
    gfortran f95 f77 flang chromium chromium-browser google-chrome firefox hpcc lmp pw.x)
# What carries their names, and what is of no use without them.
patterns=('/usr/bin/mpi'{exec,run,cc,cxx,c++,CC,f77,f90,fort,chversion,vars}'*' '/usr/bin/ompi*' '/usr/bin/orte*' '/usr/bin/prte*' '/usr/bin/hydra_*' '/usr/bin/*gfortran*'
    '/usr/bin/f77' '/usr/bin/f95' '/usr/bin/flang*' '/usr/bin/chromium*' '/usr/bin/google-chrome*' '/usr/bin/firefox*'
    '/usr/bin/hpcc' '/usr/bin/lmp' '/usr/bin/pw.x' '/usr/lib/*/openmpi' '/usr/lib/*/mpich' '/usr/lib/*/libmpi*'
    '/usr/lib/*/libmpich*' '/usr/lib/*/pkgconfig/mpi*' '/usr/lib/*/pkgconfig/ompi*' '/usr/lib/openmpi' '/usr/lib/mpich'
    '/usr/include/*/mpi*' '/usr/lib/gcc/*/*/f951' '/usr/lib/chromium' '/usr/lib/firefox*'
    '/usr/lib/python3/dist-packages/mpi4py*' '/etc/alternatives/mpi*' '/etc/alternatives/f77' '/etc/alternatives/f95'
    '/etc/alternatives/libmpi*' '/etc/openmpi' '/etc/mpich')

compilers=(gcc g++ cc c++ cpp c89 c99 clang clang++ ccache)
compiler_patterns=('/usr/bin/*gcc*' '/usr/bin/*g++*' '/usr/bin/cc' '/usr/bin/c++' '/usr/bin/cpp*' '/usr/bin/*-cpp*'
    '/usr/bin/c89*' '/usr/bin/c99*' '/usr/bin/clang*' '/usr/bin/ccache' '/usr/lib/ccache' '/usr/lib/gcc/*/*/cc1*'
    '/usr/local/bin/gcc*' '/usr/local/bin/g++*' '/usr/local/bin/clang*' '/etc/alternatives/cc' '/etc/alternatives/c++'
    '/etc/alternatives/cpp')

cannot() {
    printf 'bare.sh: %s\n' "$*" >&2
    exit 3
}

if [ -z "${COREWISE_BARE:-}" ]; then
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(--map-root-user)
    unshare "${as_root[@]}" --mount true 2>/dev/null || cannot "this host grants no mount namespace"
    COREWISE_BARE="$(mktemp -d)"
    trap 'rmdir "$COREWISE_BARE"' EXIT
    export COREWISE_BARE
    status=0
    unshare "${as_root[@]}" --mount -- "$0" "$@" || status=$?
    exit "$status"
fi
if [ "${1:-}" = --without-compiler ]; then
    shift
    commands+=("${compilers[@]}")
    patterns+=("${compiler_patterns[@]}")
fi
layers="$COREWISE_BARE"
unset COREWISE_BARE

mount -t tmpfs tmpfs "$layers" || cannot "no memory can be mounted"
for tree in usr etc; do
    mkdir -p "$layers/$tree" "$layers/$tree.work"
    mount -t overlay overlay -o "lowerdir=/$tree,upperdir=$layers/$tree,workdir=$layers/$tree.work" "/$tree" ||
        cannot "/$tree cannot be overlaid"
done
for pattern in "${patterns[@]}"; do
    # shellcheck disable=SC2086  # a pattern stands for the names that match it
    rm -rf $pattern || cannot "$pattern cannot be hidden"
done
for command in "${commands[@]}"; do
    ! command -v "$command" >/dev/null || cannot "$command is still found: $(command -v "$command")"
done
"$@"

# The front door: everything that is built lies under .venv/ and build/, nothing needs root.
#
#   make         the tool (.venv/bin/corewise), both MPIs (build/mpi/), the C++ rooms and tests (build/release/)
#   make apps    the bundled MPI programs, for each MPI (build/apps/MPI/PROGRAM)
#   make demo    profile a real MPI program, name its pattern, find its best placement
#   make test    every test but the long ones; results in build/results/
#   make test-long  the long tests: further MPIs, modes and seeds of what `make test` shows
#   make fuzz TIME=60 [TARGETS="rank_file ..."]  libFuzzer on what reads bytes, so many seconds a target (clang)
#   make release a wheel that needs no compiler, an sdist and the man pages, checked and tried, in dist/
#   make docs    the documentation as a site, in build/docs/html; warnings are errors
#   make format  rewrite sources in the house's format
#   make lint    format, lint, types, layers, inventory (make -k lint shows all that is wrong at once)
#   make clean   remove build/;  make distclean removes .venv/ too
#
# SPDX-License-Identifier: BSD-3-Clause

PYTHON ?= python3
JOBS ?= 2
DEMO_MPI ?= openmpi
GTEST_FLAGS ?=
TARGETS ?=
TIME ?= 60

VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
STAMPS := build/stamps
MPI_STAMPS := $(STAMPS)/mpi-openmpi $(STAMPS)/mpi-mpich
CPP_FILES := $(shell find src apps bench tests -name '*.[ch]pp' -o -name '*.[ch]' 2>/dev/null)
PACKAGE_FILES := pyproject.toml CMakeLists.txt $(shell find cmake src python machines tuning apps bench -type f \
	-not -name '*.pyc' -not -name '*.md' 2>/dev/null)
APPS := $(foreach mpi,openmpi mpich,$(foreach app,lbm md pingpong ring sweep sweep3d,build/apps/$(mpi)/$(app)))
APP_FILES := $(shell find apps -name '*.[ch]pp' 2>/dev/null)
PYTHON_FOLDERS := $(wildcard python tools tests bench)

export PATH := $(BIN):$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export CC CXX DEMO_MPI
# A Python that the caller uses for something else must not leak into ours.
unexport PYTHONHOME PYTHONPATH

.DELETE_ON_ERROR:
.PHONY: all build package mpi cpp apps demo demo-parts test test-long fuzz release docs format lint clean distclean \
	lint-python lint-types lint-imports lint-cpp lint-together lint-layers lint-folders lint-functions lint-inventory

all: build apps
build: package mpi cpp
package: $(VENV)/.stamp-package
mpi: $(MPI_STAMPS)

# --- set-up -------------------------------------------------------------------------------------------

$(VENV)/bin/python:
	@$(PYTHON) tools/checks/host.py --compiler "$(CXX)"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.stamp-tools: tools/requirements-dev.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -r tools/requirements-dev.txt
	@touch $@

# Only these: `make demo` needs no tool of the tests.
$(VENV)/.stamp-build: tools/build-tools.txt | $(VENV)/bin/python
	@echo "installing the build tools"
	@$(BIN)/python -m pip install --quiet --no-compile -r tools/build-tools.txt
	@touch $@

# The rooms are compiled once for the package and for the tests (`make cpp`).
$(VENV)/.stamp-package: $(PACKAGE_FILES) $(VENV)/.stamp-build
	@SKBUILD_BUILD_DIR=build/release SKBUILD_CMAKE_DEFINE="COREWISE_UNITY=OFF" \
		$(BIN)/python tools/run/progress.py --log build/package.log "compiling corewise" -- \
		$(BIN)/python -m pip install --verbose --no-build-isolation .
	@touch $@

# `make demo` where nothing is built yet: what takes least to build. Folders are compiled at once, without
# optimisation (the results are the same, long searches are slower) and without the simulators (corewise._lab), and Python
# compiles a module when it is first used. The next `make` puts the usual package in its place.
$(VENV)/.stamp-demo: $(PACKAGE_FILES) $(VENV)/.stamp-build
	@SKBUILD_BUILD_DIR=build/demo-package SKBUILD_CMAKE_DEFINE="COREWISE_QUICK=ON" \
		$(BIN)/python tools/run/progress.py --log build/package.log "compiling corewise" -- \
		$(BIN)/python -m pip install --verbose --no-build-isolation --no-compile --no-deps .
	@touch $@

$(VENV)/.stamp-dependencies: pyproject.toml $(VENV)/.stamp-build
	@$(BIN)/python tools/run/dependencies.py pyproject.toml | \
		$(BIN)/python -m pip install --quiet --no-compile -r /dev/stdin
	@touch $@

# Each MPI lies in its own prefix: in one, the second would overwrite the first one's mpiexec.
$(STAMPS)/mpi-%: tools/requirements-mpi.txt | $(VENV)/bin/python
	@mkdir -p $(STAMPS) build/mpi
	rm -rf build/mpi/$*
	$(BIN)/python -m pip install --quiet --no-deps --ignore-installed --no-warn-script-location \
		--prefix build/mpi/$* "$$(grep '^$*==' tools/requirements-mpi.txt)"
	@touch $@

build/gtest/location: tools/fetch_googletest.py | $(VENV)/.stamp-tools
	$(BIN)/python tools/fetch_googletest.py --cmake $(BIN)/cmake --unearth $(BIN)/unearth $(GTEST_FLAGS) build/gtest

# --- C++ ----------------------------------------------------------------------------------------------

# Any preset: make cpp-asan-ubsan, cpp-tsan, cpp-dev; only some targets with TARGETS="test_shm ...".
cpp: cpp-release
cpp-%: build/gtest/location
	$(BIN)/cmake --preset $* -DPython_EXECUTABLE=$(BIN)/python \
		-DCOREWISE_GTEST_SOURCE="$$(cat build/gtest/location)" > /dev/null
	$(BIN)/cmake --build --preset $* $(if $(TARGETS),--target $(TARGETS))

# A program's files are compiled at once: what takes longest is to read the headers.
apps: $(APPS)
.SECONDEXPANSION:
$(APPS): build/apps/%: $(APP_FILES) | $(STAMPS)/mpi-$$(firstword $$(subst /, ,$$*))
	@mkdir -p $(@D)
	for source in apps/$(*F)/*.cpp; do echo "#include \"$$source\""; done | \
		build/mpi/$(*D)/bin/mpicxx -O2 -std=c++20 -I. -x c++ - -o $@

# --- what one does with it ----------------------------------------------------------------------------

# Beside another goal, or where the package is there already, the demo takes the package.
ifeq ($(MAKECMDGOALS)$(wildcard $(VENV)/.stamp-package),demo)
DEMO_PACKAGE := $(VENV)/.stamp-demo $(VENV)/.stamp-dependencies
else
DEMO_PACKAGE := package
endif
demo: $(VENV)/bin/python
	@$(MAKE) --no-print-directory -j2 DEMO_PACKAGE="$(DEMO_PACKAGE)" demo-parts
	tools/demo.sh

# While one waits for packages, the other compiles.
demo-parts: build/apps/$(DEMO_MPI)/lbm $(DEMO_PACKAGE)

test: build apps
	tools/run/tests.sh

test-long: build apps
	tools/run/tests.sh long

fuzz: $(VENV)/.stamp-build
	tools/run/fuzz.sh $(TIME) $(TARGETS)

release: package
	tools/release.sh

$(VENV)/.stamp-docs: tools/requirements-docs.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -r tools/requirements-docs.txt
	@touch $@

docs: package $(VENV)/.stamp-docs
	$(BIN)/python tools/docs/stage.py build/docs/source
	$(BIN)/python -m sphinx -q -W --keep-going -c tools/docs -b html build/docs/source build/docs/html
	@echo "build/docs/html/index.html"

format: $(VENV)/.stamp-tools
	$(BIN)/ruff check --quiet --fix-only $(PYTHON_FOLDERS)
	$(BIN)/ruff format --quiet $(PYTHON_FOLDERS)
	@$(BIN)/clang-format -i $(CPP_FILES)

lint: lint-python lint-types lint-imports lint-cpp lint-together lint-layers lint-circles lint-folders lint-functions lint-inventory

lint-python: $(VENV)/.stamp-tools
	$(BIN)/ruff check $(PYTHON_FOLDERS)
	$(BIN)/ruff format --check $(PYTHON_FOLDERS)

# The types of the extension modules are built with them; mypy takes them from the installed package.
lint-types: $(VENV)/.stamp-package $(VENV)/.stamp-tools
	@mkdir -p build/stubs/corewise
	@cp $(foreach module,_core _lab,$(VENV)/lib/python3*/site-packages/corewise/$(module).pyi) build/stubs/corewise/
	$(BIN)/mypy

lint-imports: $(VENV)/.stamp-package $(VENV)/.stamp-tools
	cd python && $(BIN)/lint-imports --config ../pyproject.toml --no-cache

lint-cpp: $(VENV)/.stamp-tools
	@$(BIN)/clang-format --dry-run -Werror $(CPP_FILES)

lint-together: $(VENV)/.stamp-build
	@$(BIN)/python tools/checks/together.py --cmake $(BIN)/cmake build/together

lint-layers: $(VENV)/bin/python
	$(BIN)/python tools/checks/layers.py

lint-circles: $(VENV)/bin/python
	$(BIN)/python tools/checks/circles.py

lint-folders: $(VENV)/bin/python
	$(BIN)/python tools/checks/folders.py

lint-functions: $(VENV)/bin/python
	$(BIN)/python tools/checks/functions.py

lint-inventory: $(VENV)/.stamp-tools
	$(BIN)/python tools/checks/inventory.py

clean:
	rm -rf build

distclean: clean
	rm -rf $(VENV)

# The commands of this project; CMakePresets.json has the builds that they use.
SHELL := /bin/bash
.DELETE_ON_ERROR:
# Evaluated when a recipe runs, because set-up may have created .venv before it.
PYTHON = $(shell tools/setup.sh --python)
export PYTHONPATH := $(CURDIR)/python$(if $(PYTHONPATH),:$(PYTHONPATH))
# Open MPI refuses to run as root unless two variables are set. Containers often have only that user.
ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
endif
# Ninja starts more compilers than there are cores, which slows each unit down. This build uses one compiler per core.
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc)

.PHONY: help demo docs test test-all set-up build sanitize format gpu-test gpu-sanitize gpu-bench gpu-kit clean
help:
	@echo 'make demo         install what is missing, build, run the lid-driven cavity, compare it with the reference'
	@echo 'make test         install what is missing, build, run the tests that need no GPU: some minutes'
	@echo 'make test-all     all of them, in every combination and under the sanitizers: hours; goes on where it was stopped;'
	@echo '                  tools/test_all.py PART... a part, --list says which there are'
	@echo 'make set-up       install what is missing'
	@echo 'make build        build the preset host: library, tests, Python module, benchmarks'
	@echo 'make sanitize     run the C++ tests in the presets asan and tsan: the parts of test-all that begin so'
	@echo 'make docs         build the pages as a site in build/site, with a reference; check its links'
	@echo 'make format       lay out C++ and Python as .clang-format and ruff have it'
	@echo 'make gpu-test     build the preset cuda and run every test on the GPUs of this machine; needs no network'
	@echo 'make gpu-sanitize build the preset cuda and run C++ tests under compute-sanitizer; tools/gpu_sanitize.sh NAME... a part'
	@echo 'make gpu-bench    build the preset cuda and measure what bench/results holds of GPUs; tools/gpu_bench.sh NAME... a part'
	@echo 'make gpu-kit      build here what a GPU machine runs, and fill gpu-kit/ with it and with what that machine lacks'
	@echo 'make clean        remove what was built; .venv and results/ stay'

set-up:
	@tools/setup.sh

build: set-up
	cmake --preset host -DPython_EXECUTABLE=$(PYTHON)
	cmake --build --preset host

# Builds only the engine and lattice Boltzmann, without other solvers and tests.
demo: set-up
	cmake --preset host -DPython_EXECUTABLE=$(PYTHON)
	cmake --build --preset host --target demo
	$(PYTHON) -m slipstream run cases/cavity.toml --overwrite
	@echo
	@echo 'The demo worked. Open results/cavity/report.html, or results/cavity/fields.vtkhdf in ParaView.'
	@echo 'Next: bin/slipstream run cases/sphere.toml; README.md lists what a case file and a program can do.'

test: build
	$(PYTHON) tools/test_all.py --quick

test-all: build
	$(PYTHON) tools/test_all.py

sanitize: build
	$(PYTHON) tools/test_all.py asan tsan

docs:
	@tools/setup.sh site
	$(PYTHON) -m mkdocs build --strict --config-file tools/mkdocs.yml
	@echo 'Open build/site/index.html.'

format:
	@tools/setup.sh ci
	git ls-files '*.cpp' '*.hpp' '*.cu' | xargs clang-format -i
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

gpu-test:
	tools/gpu_test.sh

gpu-sanitize:
	tools/gpu_sanitize.sh

gpu-bench:
	tools/gpu_bench.sh

gpu-kit:
	tools/gpu_kit.sh

clean:
	rm -rf build {python/slipstream,bench/slipstream_bench}/{*.so,_*.pyi}

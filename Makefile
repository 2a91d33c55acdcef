# Thin: every target is one line of cmake, ninja or a script. `make help` lists them.
BUILD ?= build
JOBS ?= $(shell nproc)
.DEFAULT_GOAL := build
.PHONY: help deps build test test-asan test-tsan bench demo lint format clean install

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

deps:  ## install the Debian packages that are missing
	@cmake/deps.sh

$(BUILD)/build.ninja: CMakeLists.txt cmake/*.cmake | deps
	@cmake -S . -B $(BUILD) -G Ninja $(CMAKE_FLAGS)

build: deps $(BUILD)/build.ninja  ## build everything into build/
	@ninja -C $(BUILD) -j $(JOBS)

test: build  ## all tests, the real programs included
	@cd $(BUILD) && ctest --output-on-failure --timeout 900 -j $(JOBS)

test-asan:  ## all tests with address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory test BUILD=build-asan CMAKE_FLAGS=-DQUELL_ASAN=ON

test-tsan:  ## all tests with the thread sanitizer
	@$(MAKE) --no-print-directory test BUILD=build-tsan CMAKE_FLAGS=-DQUELL_TSAN=ON

bench: build  ## measure quell beside its limits (figures: benchmarks/README.md)
	@benchmarks/run.sh $(BUILD)

demo: build  ## a tree of real work on an embedded cluster, cancelled half-way
	@docs/demo/demo.sh $(BUILD)/bin

lint: deps $(BUILD)/build.ninja  ## formatting, shell and Python syntax, file lengths, no sleeps in tests
	@cmake/lint.sh $(BUILD)

format: deps  ## format all C++ files
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format -i

install: build  ## install into PREFIX (default /usr/local)
	@cmake --install $(BUILD) --prefix $(or $(PREFIX),/usr/local)

clean:  ## remove the build folders
	@rm -rf build build-asan build-tsan

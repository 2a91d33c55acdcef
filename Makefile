# Thin: every target is one line of cmake, ninja or a script. `make help` lists them.
BUILD ?= build
JOBS ?= $(shell nproc)
# Most tests wait more than they compute.
TEST_JOBS ?= $(shell expr $(JOBS) + 1)
.DEFAULT_GOAL := build
.PHONY: help deps build everything test headers fuzz-short sim model test-asan test-tsan fuzz fuzz-corpus bench bench-compare soak demo lint tidy format clean install

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

deps:  ## install the Debian packages that are missing
	@cmake/deps.sh

$(BUILD)/build.ninja: CMakeLists.txt cmake/*.cmake | deps
	@cmake -S . -B $(BUILD) -G Ninja $(CMAKE_FLAGS)

build: deps $(BUILD)/build.ninja  ## build the programs into build/bin
	@ninja -C $(BUILD) -j $(JOBS) programs

everything: deps $(BUILD)/build.ninja
	@ninja -C $(BUILD) -j $(JOBS)

test: everything  ## all tests, the real programs included
	@ninja -C $(BUILD) -j $(JOBS) mutants verifiers
	@rm -f $(BUILD)/peers/skipped
	@cd $(BUILD) && { ctest --output-on-failure --timeout 900 -j $(TEST_JOBS); code=$$?; \
	  [ ! -e peers/skipped ] || echo "not tested, because npm could not install the programs:" $$(sort -u peers/skipped); exit $$code; }

# Waits are longer, since everything takes longer; what a sanitizer says fails the test (system tests read the logs).
test-asan:  ## all tests with address and undefined-behaviour sanitizers
	@QUELL_TEST_PATIENCE=4 ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 \
	  $(MAKE) --no-print-directory test BUILD=build-asan CMAKE_FLAGS=-DQUELL_ASAN=ON

test-tsan:  ## all tests with the thread sanitizer
	@QUELL_TEST_PATIENCE=6 TSAN_OPTIONS=suppressions=$(CURDIR)/cmake/tsan.supp:second_deadlock_stack=1 \
	  $(MAKE) --no-print-directory test BUILD=build-tsan CMAKE_FLAGS=-DQUELL_TSAN=ON

# Both compile, so neither is a test with a time limit.
headers: deps $(BUILD)/build.ninja  ## compile every header alone
	@ninja -C $(BUILD) -j $(JOBS) headers_alone

fuzz-short: deps  ## build the fuzzers (clang) and run each for a few seconds, always with the same seed
	@tests/fuzz/fuzz.sh build $(BUILD)/fuzz && tests/fuzz/fuzz.sh short $(BUILD)/fuzz

fuzz: deps  ## fuzz every target for FUZZ_SECONDS (600) each; findings in build/fuzz/found
	@tests/fuzz/fuzz.sh build $(BUILD)/fuzz && tests/fuzz/fuzz.sh long $(BUILD)/fuzz

fuzz-corpus: everything  ## write the seeds, and keep what fuzzing found new
	@$(BUILD)/tests/fuzz/fuzz_replay --write-seeds tests/fuzz/corpus
	@tests/fuzz/fuzz.sh build $(BUILD)/fuzz && tests/fuzz/fuzz.sh minimise $(BUILD)/fuzz

SEEDS ?= 20000
sim: deps $(BUILD)/build.ninja  ## play SEEDS (20000) fresh scenarios of the simulated cluster
	@ninja -C $(BUILD) -j $(JOBS) sim
	@QUELL_SIM_SEED=$${QUELL_SIM_SEED:-clock} QUELL_SIM_SEEDS=$(SEEDS) python3 tests/simulation/run_simulation.py $(BUILD)/tests/simulation/sim

model: deps  ## the protocol's models, searched exhaustively with SPIN at larger sizes (minutes, 4 GB)
	@tests/model/check_code_names.py . && tests/model/run_model.py full

bench: everything  ## measure quell beside its limits (figures: benchmarks/README.md)
	@benchmarks/run.sh $(BUILD)

bench-compare: everything  ## measure this build and that of BASE=commit in turn; says what became worse (FIGURES="...")
	@benchmarks/compare.sh $(BUILD) $(or $(BASE),$(error say which commit to compare with: make bench-compare BASE=main)) $(FIGURES)

soak: everything  ## 20 minutes of random load, faults and cancels, then an audit (QUELL_SOAK_SECONDS, QUELL_SOAK_SEED)
	@QUELL_BIN=$(abspath $(BUILD))/bin QUELL_FAULTS=$(abspath $(BUILD))/tests/system PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/system/soak.py

demo: build  ## a tree of real work on an embedded cluster, cancelled half-way
	@docs/demo/demo.sh $(BUILD)/bin

lint: deps $(BUILD)/build.ninja  ## formatting, shell and Python syntax, file lengths, no sleeps in tests; clang-tidy on the core
	@cmake/lint.sh $(BUILD)
	@cmake/tidy.sh protocol controller storage

tidy: deps  ## clang-tidy on all of the product (minutes)
	@cmake/tidy.sh

format: deps  ## format all C++ files
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format -i

install: build  ## install into PREFIX (default /usr/local)
	@cmake --install $(BUILD) --prefix $(or $(PREFIX),/usr/local)

clean:  ## remove the build folders
	@rm -rf build build-asan build-tsan

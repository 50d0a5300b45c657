# The short words for everything one does here. Each installs what it needs and is missing.
#
#   make demo      build, and run a sweep of real training runs: examples/digits
#   make test      build with sanitizers and run all tests
#   make lint      formatting, clang-tidy, Python; make format repairs the first
#   make soak      long simulation, long kill tests, fuzzers: an hour or more
#   make bench     the figures of docs/benchmarks.md
#   make install   PREFIX=/usr/local, DESTDIR= for packagers
#
# Builds lie in build/NAME, NAME being a preset of CMakePresets.json.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
# Debian's own Python: one of another origin, earlier on PATH, lacks the packages installed here.
export PATH := /usr/bin:$(PATH)

.PHONY: all demo test lint format soak bench install clean release dev

all: release

release:
	@tools/install-dependencies build
	cmake --preset release
	cmake --build --preset release --target seedbed -j $(JOBS)

dev:
	@tools/install-dependencies build test
	cmake --preset dev
	cmake --build --preset dev --target seedbed_tests -j $(JOBS)

demo: release
	@tools/install-dependencies demo
	examples/digits/demo build/release/bin/seedbed build/demo

test: release dev
	@tools/install-dependencies demo
	ctest --preset dev -j 2

lint:
	@tools/install-dependencies build lint
	@mkdir -p build
	cmake -S . -B build/lint -G Ninja -DCMAKE_BUILD_TYPE=Debug -DSEEDBED_BENCH=ON >build/lint.log || \
	  { cat build/lint.log; exit 1; }
	tools/lint --build build/lint --jobs $(JOBS)

format:
	@tools/install-dependencies lint
	git ls-files -co --exclude-standard '*.cc' '*.h' | xargs clang-format-14 -i

soak: release dev
	@tools/install-dependencies demo fuzz
	cmake --build --preset release -j $(JOBS)
	tools/soak

bench:
	@tools/install-dependencies build bench
	cmake --preset release -DSEEDBED_BENCH=ON
	cmake --build --preset release -j $(JOBS)
	bench/run build/release

install: release
	cmake --build --preset release --target seedbed_manual
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build

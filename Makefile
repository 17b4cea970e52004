# arraylab: build, demonstrate, test. Everything a target needs is installed or built by it.
CARGO ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
DEMO_DIR := $(TARGET_DIR)/demo
STATIC_TARGET := x86_64-unknown-linux-gnu

REPORTS_DIR := $(TARGET_DIR)/reports

.PHONY: dist-ublk all validate reports demo docs test test-long test-vm random-vm smoke-vm lint format clippy dist clients ublk wheel test-python

all:
	$(CARGO) build --release --locked --bin arraylab

# The FlashSystem 840 plan on its twin, 2 simulated seconds a case; the last line on stdout is the report.
demo: all
	@rm -rf $(DEMO_DIR)
	@$(TARGET_DIR)/release/arraylab run flashsystem-840 --target twin:flashsystem-840 --out $(DEMO_DIR) \
	    --stage seq-read --stage seq-write --stage peak-4k --stage block-size --stage read-share \
	    --set runtime=2
	@$(TARGET_DIR)/release/arraylab report $(DEMO_DIR) --out $(DEMO_DIR)/report.html

# The five published tests on their twins, each with its report, and a gallery page over them. What is shortened stands in
# the reports and in the table. The figures are kept in the binary, for `arraylab rate`.
reports: all
	@scripts/make-reports.sh $(TARGET_DIR)/release/arraylab $(REPORTS_DIR) crates/report/reference/twins.jsonl

# Published rows beside what the twins give. Prints a line of JSON for each array, set and quantity; fails where
# docs/validation.md or what the reports say of it differs (`make validate UPDATE=1` writes both anew).
validate: all
	@scripts/validate.sh $(TARGET_DIR)/release/arraylab $(if $(UPDATE),--update)

# docs/ as a book with sidebar and search: target/book/index.html. mdBook is built once from the registry, in minutes, so this
# is no part of `make test`; that links lead somewhere is tested by crate house.
docs:
	@scripts/make-docs.sh "$$(CARGO=$(CARGO) scripts/install-mdbook.sh)" $(TARGET_DIR)

clients:
	@scripts/install-test-clients.sh

lint: format clippy

format:
	$(CARGO) fmt --all -- --check

clippy:
	$(CARGO) clippy --workspace --all-targets --locked --features serve/long-tests -- -D warnings

# Long counts (kills, fuzzing, hours of load) run at a tenth here and in full in test-long. Binaries run side by side, and clippy,
# the Python package and the virtual machine beside them.
test: clients format
	@CARGO=$(CARGO) scripts/run-tests.py --computing "clippy=make --no-print-directory clippy" \
	    --tolerant "python=scripts/test-python.sh" --tolerant "machine=make --no-print-directory smoke-vm"

test-long: lint
	@scripts/install-test-clients.sh --long
	@ARRAYLAB_LONG=1 CARGO=$(CARGO) scripts/run-tests.py --tolerant "python=scripts/test-python.sh" -- --features serve/long-tests
	@CARGO=$(CARGO) scripts/check-ublk.sh
	@$(MAKE) --no-print-directory test-vm VM_LIMIT_S=7200 VM_LONG=--long
	@$(MAKE) --no-print-directory random-vm

# The tests of vm/ in a virtual machine with a real kernel, with the static binary; BINARY=path tests another one.
RANDOM_COMBINATIONS ?= 60
VM_LIMIT_S ?= 5400
# Machines at once: a machine uses little more than one processor.
VM_JOBS ?= 2
test-vm:
	@binary="$(BINARY)"; [ -n "$$binary" ] || binary=$$(CARGO=$(CARGO) vm/build-binary.sh) && \
	    vm/run.py --binary "$$binary" --random $(RANDOM_COMBINATIONS) --limit $(VM_LIMIT_S) --jobs $(VM_JOBS) $(VM_LONG) \
	    --state $(TARGET_DIR)/vm

# Random combinations of its guard in number, in parts: stopped and started again, it goes on with the part that was not done.
COMBINATIONS ?= 500
FIRST_SEED ?= 1
random-vm:
	@binary="$(BINARY)"; [ -n "$$binary" ] || binary=$$(CARGO=$(CARGO) vm/build-binary.sh) && \
	    vm/random-parts.py --binary "$$binary" --count $(COMBINATIONS) --seed $(FIRST_SEED) --state $(TARGET_DIR)/vm-random

# The part of it that `make test` runs, with the binary of the tests: its glibc is the machine's, both being Debian's. Its limit is
# for a hang; two idle cores need a fraction of it.
smoke-vm:
	@scripts/build-test-binary.sh
	@vm/run.py --binary $(or $(BINARY),$(TARGET_DIR)/debug/arraylab) --smoke --limit 900 --state $(TARGET_DIR)/vm-smoke

# What only a build with block devices has (`serve --ublk`): built, linted and tested; fio on a device where there is a driver.
ublk:
	@CARGO=$(CARGO) scripts/check-ublk.sh

# As dist, with served arrays as block devices (`serve --ublk`); needs libclang (Debian: libclang-dev) to be built.
dist-ublk:
	@scripts/install-libclang.sh
	RUSTFLAGS="-C target-feature=+crt-static" $(CARGO) build --release --locked --target $(STATIC_TARGET) \
	    -p arraylab --features arraylab/ublk
	@mkdir -p dist
	@cp $(TARGET_DIR)/$(STATIC_TARGET)/release/arraylab dist/arraylab-ublk
	@scripts/check-static.sh dist/arraylab-ublk

# The Python package with the command in it, and the archive of its sources.
wheel:
	@scripts/python/make-wheel.sh dist

test-python:
	@scripts/test-python.sh

# One static binary for test hosts without anything installed.
dist:
	RUSTFLAGS="-C target-feature=+crt-static" $(CARGO) build --release --locked --target $(STATIC_TARGET)
	@mkdir -p dist
	@cp $(TARGET_DIR)/$(STATIC_TARGET)/release/arraylab dist/arraylab
	@scripts/check-static.sh dist/arraylab

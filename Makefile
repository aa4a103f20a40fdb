# Two commands on a fresh machine: `make demo` and `make test`. What they need is installed by scripts/setup.

CARGO ?= cargo
PREFIX ?= /usr/local
DESTDIR ?=
SEEDS ?= 100
FIRST ?= 1
TARGET = $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)

.PHONY: help build demo test bench faults soak check install dist clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the release binary
	$(CARGO) build --release

demo: ## dump and restore a sample shop on throw-away servers
	scripts/demo

test: ## every test, on every server that is to be had here
	scripts/test

bench: ## rdump beside mydumper and mariadb-dump, on tables of 400 MB and more
	scripts/bench

faults: ## every fault over every transport on every server, with 500 MB
	RDUMP_TEST_FAULTS=full scripts/test --test it faults::

soak: ## SEEDS schedules of faults, from seed FIRST on: each gives a whole dump or a sentence
	RDUMP_SOAK_SEEDS=$(SEEDS) RDUMP_SOAK_FIRST=$(FIRST) scripts/test --test it soak::

check: ## formatting, lints, documentation and the rooms' imports
	$(CARGO) fmt --check
	$(CARGO) clippy --release --all-targets -- -D warnings
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --release --no-deps --quiet
	$(CARGO) test --release --quiet --test it rooms::

install: build ## put rdump, its manual and completions into PREFIX (/usr/local), under DESTDIR
	scripts/install $(TARGET)/release/rdump $(DESTDIR)$(PREFIX)

dist: ## a release binary, a .deb and checksums in $(TARGET)/dist
	$(CARGO) build --profile release-lto
	scripts/dist $(TARGET)/release-lto/rdump $(TARGET)/dist

clean: ## remove everything that was built, and the servers
	scripts/dev-server all remove
	$(CARGO) clean

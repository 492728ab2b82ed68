# The only entry: `make` lists the targets.
.PHONY: help all build install uninstall installcheck deb pgxn demo test test-core test-regress test-backend test-e2e torture bench bench-full house lint format clean
.SILENT:

PG_CONFIG ?= pg_config

help: ## this list
	LC_ALL=C sed -nE 's/^([a-z0-9-]+):.*## (.*)/make \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

# what PGXN's client makes first
all: build

build: ## compile the extension for the server of PG_CONFIG=... (default: pg_config on the PATH)
	scripts/build $(PG_CONFIG)

install: ## build, then copy the extension into the server of PG_CONFIG=...
	scripts/install $(PG_CONFIG)

uninstall: ## remove what install put there
	scripts/uninstall $(PG_CONFIG)

installcheck: ## the SQL tests on the running server that PGHOST and PGPORT name
	scripts/installcheck $(PG_CONFIG)

deb: ## Debian packages of the committed tree in target/deb; CHECK=check tries them, in a clean Debian too
	scripts/deb $(CHECK)

pgxn: ## the committed tree as a zip for the PostgreSQL Extension Network, in target/
	scripts/pgxn

demo: ## the tour: install what is missing, start a private server, train and predict; KEEP=1 leaves the server running
	scripts/demo

test: ## every test, on PostgreSQL 15 to 18; PG=15 (16, 17, 18) for one
	scripts/test core regress backend e2e

test-core: ## the solver's own tests, no server
	scripts/test core

test-regress: ## SQL tests with expected output
	scripts/test regress

test-backend: ## tests that run inside a server process
	scripts/test backend

test-e2e: ## tests with several connections: cancel, concurrency, real data sets
	scripts/test e2e

torture: ## faults, limits, memory, hostile input, many users and soak for four hours, or MINUTES=n; writes docs/reliability.md
	scripts/torture $(MINUTES)

bench: ## ours and peers side by side, small sizes and few repeats, writes bench/results.md; CASE=name for one
	scripts/bench quick $(CASE)

bench-full: ## the same with more rows, settings and repeats (an hour and a half)
	scripts/bench full $(CASE)

house: ## figures of how the parts of the code hang together: refused combinations, names, fields, lines
	scripts/house

lint: ## formatting, clippy, rustdoc, dependency policy, scripts, packages, llms.txt
	scripts/lint

format: ## put Rust and Python files into the form that lint wants, write llms.txt and the crates' part of debian/copyright
	scripts/format

clean: ## remove target/: builds, server trees, environments
	scripts/clean

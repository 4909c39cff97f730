# `make` lists what there is. The work is in scripts/.
.DEFAULT_GOAL := help
.PHONY: help demo install example unit test bench fuzz lint fmt testbed-up testbed-down clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## build everything and look at it: a small project, no cluster needed (ONCE=1: the tour by itself)
	@scripts/demo $(if $(ONCE),--once)

install: ## build lilt and put it into ~/.local/bin (PREFIX=/usr/local: another place)
	@scripts/install

example: ## run lilt in one of the projects of examples/ on the current cluster (NAME=myapp; DO=ci, down …; ARGS=…)
	@scripts/example "$(NAME)" $(or $(DO),up) $(ARGS)

unit: ## the quick tests: no root, no test bed
	@scripts/test unit

test: ## everything, on a real cluster and in a real browser (Debian, as root; installs what is missing)
	@scripts/test

bench: ## the table of figures
	@scripts/bench

fuzz: ## look for texts that break a Tiltfile's load or the API (nightly Rust and cargo-fuzz; SECONDS_EACH=60)
	@scripts/fuzz $(SECONDS_EACH)

lint: ## formatting, lints, types
	@scripts/lint

fmt: ## format the sources
	@cargo fmt --all
	@npm --prefix web run --silent format

testbed-up: ## start the test bed: Kubernetes, Docker, registry (see testbed/README.md)
	@testbed/testbed up

testbed-down: ## stop it
	@testbed/testbed down

clean: ## remove what was built; the test bed's cache stays
	@cargo clean
	@rm -rf web/dist web/node_modules web/test-results

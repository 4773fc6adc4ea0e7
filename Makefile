# Everything a newcomer needs; `make` alone lists it.
SHELL := /bin/bash
CARGO ?= cargo

.PHONY: help run build test payloads s3 check fmt sim bench clean

help: ## list these targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 17

run: build ## build it and start it with a small live example
	./examples/live.sh

build: ## the release binary, target/release/signaller
	$(CARGO) build --release -p cli

test: check payloads s3 ## everything: format, lints, tidy, all tests
	$(CARGO) nextest run --workspace
	$(CARGO) test --workspace --doc --quiet

# Of this version: GitHub's own examples, which a test takes through the webhook door.
PAYLOADS := @octokit/webhooks-examples@7.6.1
payloads: ## fetch the example payloads that GitHub publishes; the tests need them
	@test -e target/npm/$(PAYLOADS) || { command -v npm >/dev/null || apt-get install -y npm \
	  || { echo "npm is missing: GitHub's example payloads come with it"; exit 1; }; \
	  npm install --prefix target/npm --ignore-scripts --no-save --no-package-lock --no-audit --no-fund $(PAYLOADS) \
	  && mkdir -p $(dir target/npm/$(PAYLOADS)) && touch target/npm/$(PAYLOADS); }

# A server that speaks S3, in a folder of its own.
MOTO := 5.1.22
s3: ## fetch the S3 server that the tests of blobs run against
	@test -e target/moto/$(MOTO) || { command -v python3 >/dev/null || apt-get install -y python3-venv \
	  || { echo "python3 is missing: the S3 server of the tests is written in it"; exit 1; }; \
	  python3 -m venv target/moto && target/moto/bin/pip install --quiet 'moto[server,s3]==$(MOTO)' && touch target/moto/$(MOTO); }

check: tools ## format, lints with warnings as errors, and the order of the house
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(CARGO) nextest run --workspace -E 'binary(tidy)'

fmt: ## format the code
	$(CARGO) fmt --all

# How long `make sim` goes on, and from which seed.
MINUTES ?= 10
sim: ## run the simulator for MINUTES=10, with fresh seeds
	$(CARGO) run --release -p sim --example sim -- --minutes $(MINUTES)

bench: build ## measure this machine
	./target/release/signaller bench

.PHONY: tools
tools:
	@command -v $(CARGO) >/dev/null || { echo "Rust is missing: install it from https://rustup.rs"; exit 1; }
	@$(CARGO) nextest --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-nextest
	@command -v cc >/dev/null || { echo "a C compiler is missing: apt-get install build-essential"; exit 1; }
	@command -v python3 >/dev/null || apt-get install -y python3 || { echo "python3 is missing: the example worker is written in it"; exit 1; }

clean: ## remove what was built
	$(CARGO) clean

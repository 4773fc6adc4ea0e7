# Everything a newcomer needs; `make` alone lists it.
SHELL := /bin/bash
CARGO ?= cargo
# A package of Debian's; its lists may be missing, or name what is no longer there.
install = { apt-get install -y $(1) || { apt-get update && apt-get install -y $(1); }; }

.PHONY: help run build test payloads s3 sdk sdk-python sdk-typescript sdk-types check fmt sim bench clean

help: ## list these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24

run: build ## build it and start it with a small live example
	./examples/live.sh

build: ## the release binary, target/release/signaller
	$(CARGO) build --release -p cli

test: check payloads s3 ## everything: format, lints, tidy, all tests
	$(CARGO) nextest run --workspace
	$(CARGO) test --workspace --doc --quiet
	$(MAKE) --no-print-directory sdk languages

# Of this version: GitHub's own examples, which a test takes through the webhook door.
PAYLOADS := @octokit/webhooks-examples@7.6.1
payloads: ## fetch the example payloads that GitHub publishes; the tests need them
	@test -e target/npm/$(PAYLOADS) || { command -v npm >/dev/null || $(call install,npm) \
	  || { echo "npm is missing: GitHub's example payloads come with it"; exit 1; }; \
	  npm install --prefix target/npm --ignore-scripts --no-save --no-package-lock --no-audit --no-fund $(PAYLOADS) \
	  && mkdir -p $(dir target/npm/$(PAYLOADS)) && touch target/npm/$(PAYLOADS); }

# A server that speaks S3, in a folder of its own.
MOTO := 5.1.22
s3: ## fetch the S3 server that the tests of blobs run against
	@command -v curl >/dev/null || $(call install,curl) || { echo "curl is missing: tests of blobs make their buckets with it"; exit 1; }
	@test -e target/moto/$(MOTO) || { python3 -m venv --clear target/moto 2>/dev/null || { $(call install,python3-venv) \
	  && python3 -m venv --clear target/moto; } || { echo "python3-venv is missing: the S3 server of the tests is written in Python"; exit 1; }; \
	  target/moto/bin/pip install --quiet --disable-pip-version-check 'moto[server,s3]==$(MOTO)' && touch target/moto/$(MOTO); }

# The binary that the SDKs are tested against; it is built if it is not there.
SIGNALLER_BIN ?= $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/debug/signaller
sdk-python sdk-typescript typescript languages sdk-types: export SIGNALLER_BIN := $(SIGNALLER_BIN)
sdk: sdk-python sdk-typescript ## the SDKs: types, lints, and their tests against the debug binary

$(SIGNALLER_BIN):
	$(CARGO) build -p cli

PYTHON_TOOLS := mypy==1.18.2 redis==8.1.0 ruff==0.14.5
PYTHON_MADE := $(CURDIR)/target/sdk/python
sdk-python: $(SIGNALLER_BIN) ## the SDK for Python
	@test -e "$(PYTHON_MADE)/$(PYTHON_TOOLS)" || { python3 -m pip --version >/dev/null 2>&1 || $(call install,python3-pip) \
	  || { echo "pip is missing: the tools that check the Python SDK come with it"; exit 1; }; \
	  python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --upgrade --target $(PYTHON_MADE) $(PYTHON_TOOLS) \
	  && touch "$(PYTHON_MADE)/$(PYTHON_TOOLS)"; }
	cd sdk/python && export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=src:..:$(PYTHON_MADE) && python3 -m ruff check --no-cache --quiet . ../generate \
	  && python3 -m ruff format --no-cache --quiet --check . ../generate && python3 -m mypy --cache-dir $(PYTHON_MADE)/.mypy src tests ../generate \
	  && python3 -m unittest

# Beside the sources, which stay as they are; from Node 20 on, which comes with npm if the system's own is older.
TYPESCRIPT_MADE := target/sdk/typescript
NODE := $(shell node -e 'process.exit(+!"".toWellFormed)' 2>/dev/null && echo node || echo npx --yes node@20)
.PHONY: typescript
typescript: $(SIGNALLER_BIN)
	@command -v npm >/dev/null || $(call install,npm) || { echo "npm is missing: what the TypeScript SDK is built with comes with it"; exit 1; }
	@mkdir -p $(TYPESCRIPT_MADE) && rm -rf $(addprefix $(TYPESCRIPT_MADE)/,src test scripts examples dist)
	@cd sdk/typescript && cp -r README.md package.json package-lock.json tsconfig.json src test scripts examples $(CURDIR)/$(TYPESCRIPT_MADE)
	@cd $(TYPESCRIPT_MADE) && { cmp -s package-lock.json node_modules/.installed || { npm ci --ignore-scripts --no-audit --no-fund \
	  && cp package-lock.json node_modules/.installed; }; }

sdk-typescript: typescript ## the SDK for TypeScript
	cd $(TYPESCRIPT_MADE) && npx tsc && SIGNALLER_ROOT=$(CURDIR) $(NODE) --test --test-concurrency=2 --test-reporter=dot dist/test/*.test.js \
	  && env -u SIGNALLER_BIN $(SIGNALLER_BIN) worker-check -- $(NODE) dist/examples/check-worker.js

# One workflow whose nodes run in Python, TypeScript, Bash and over Redis.
.PHONY: languages
languages: sdk-python sdk-typescript ## run examples/languages, whose nodes are done in four ways at once
	@mkdir -p $(TYPESCRIPT_MADE)/languages && cp examples/languages/worker.mts $(TYPESCRIPT_MADE)/languages
	cd $(TYPESCRIPT_MADE) && npx tsc --strict --target es2023 --module nodenext --types node --skipLibCheck --lib es2023,es2024.string --rootDir . --outDir dist languages/worker.mts
	said=$$(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=sdk/python/src:$(PYTHON_MADE) TYPESCRIPT_WORKER=$(TYPESCRIPT_MADE)/dist/languages/worker.mjs \
	  NODE=$$($(NODE) -p process.execPath) ./examples/languages/run.sh) && echo "$$said" && grep -qF '{"longest": "SIGNALLER!", "words": 7}' <<< "$$said"

sdk-types: typescript ## make the types of the SDKs anew, from what the debug binary says of its API
	cd $(TYPESCRIPT_MADE) && { npx tsc >&2; $(NODE) dist/scripts/generate.js $(CURDIR)/sdk/typescript/src/api.ts; } \
	  | PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(CURDIR)/sdk python3 -m generate

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
	@command -v redis-server >/dev/null || $(call install,redis-server) || { echo "redis-server is missing: the tests of the Redis bridge start one"; exit 1; }
	@command -v python3 >/dev/null || $(call install,python3) || { echo "python3 is missing: the example worker is written in it"; exit 1; }

clean: ## remove what was built
	$(CARGO) clean

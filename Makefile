# The commands for working on wyrmling; `make` lists them.
#
# Needs Python 3.11 or newer and a C compiler. Rust is fetched into ./.rust by scripts/ensure-rust.sh
# if it is missing; all else goes into ./.venv and ./target. One release build serves demo, test and
# bench. Crates are those of Cargo.lock (--locked).

VENV   := .venv
PYTHON ?=
python := $(VENV)/bin/python
module := python/wyrmling/_core.abi3.so
rust   := sh scripts/ensure-rust.sh
title  := @printf '\n== %s\n'

# The caller's Python settings are removed, and pyo3's build script is told which Python to ask: cargo
# would build everything anew whenever it changed.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE CONDA_PREFIX
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PYO3_PYTHON := $(CURDIR)/$(python)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_USER := 0
ifdef CI
export CARGO_INCREMENTAL := 0
endif

# Where make has the option, parallel jobs print their output one after the other.
sync := $(if $(filter output-sync,$(.FEATURES)),--output-sync)

.DEFAULT_GOAL := help

.PHONY: help
help: ## List what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile
	@printf '\n  PYTHON=/path/to/python3 chooses the Python; 3.11 or newer is needed.\n'

.PHONY: build
build: $(module) ## Build the native module, for .venv/bin/python to import

.PHONY: demo
demo: $(module) ## Train a recommender whose loss is written in Python, and show it at work
	@$(python) -m wyrmling demo

.PHONY: test
test: $(VENV)/.dev-tools ## All that has to pass before a change lands
	@$(MAKE) --no-print-directory --jobs=2 $(sync) $(module) lint test-rust test-python
	@printf '\nEverything passed: format, lint, types, Rust tests, benches built, stubs, Python tests.\n'

# NumPy 1.26 is there for Python 3.11 and 3.12.
.PHONY: test-oldest
test-oldest: $(module) ## Test recommenders with the oldest NumPy that pyproject.toml allows
	@$(python) -m venv --clear .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet 'numpy==1.26.*' 'pandas<3' hypothesis polars pytest \
		pytest-xdist scipy tqdm waitress
	PYTHONPATH=python .venv-oldest/bin/python -m pytest -q -n 2 tests/recommend tests/evaluation \
		tests/serving tests/source/values/test_float32_arrays.py

.PHONY: bench
bench: $(module) ## Measure: the Rust benches, then side by side with the peers installed in .venv
	$(rust) cargo bench --locked
	$(rust) $(python) benches/compare.py --hand

# rustc links with lld on this platform, which can put alike functions side by side: compression then
# finds more of what they share, and the wheel is smaller by a thirtieth. Functions that are the same
# are linked once. maturin takes either the arguments in pyproject.toml or those given here.
rustc_args = $(shell $(python) -c "import tomllib; \
	print(*tomllib.load(open('pyproject.toml', 'rb'))['tool']['maturin']['rustc-args'])")
ifeq ($(shell uname -sm),Linux x86_64)
link_args := -C link-arg=-Wl,--bp-compression-sort=both,--icf=all
endif

.PHONY: wheel
wheel: $(VENV)/.dev-tools ## Build the wheel into dist/, check it, and run the demo from it
	@rm -rf dist
	$(rust) $(python) -m maturin build --release --out dist -- $(rustc_args) $(link_args)
	$(python) scripts/search_table.py dist
	$(python) scripts/compress_wheel.py dist
	$(python) scripts/check_wheel.py dist

# rustfmt does not find files that a macro declares: they are named to it.
listed := $(wildcard src/rules/*/*.rs)

.PHONY: fmt
fmt: $(VENV)/.dev-tools ## Format all code
	$(rust) -c rustfmt cargo fmt -- $(listed)
	$(python) -m ruff check --quiet --fix-only .
	$(python) -m ruff format .

.PHONY: lint
lint: lint-rust lint-python ## Format, lint and types, without tests

.PHONY: audit
audit: ## Compare the crates in Cargo.lock with known faults, and their licences with deny.toml
	@$(rust) sh scripts/audit.sh

.PHONY: check-api
check-api: ## Hold the crate's API against that of BASE, a tag or commit, by semantic versioning
	@$(rust) sh scripts/check-api.sh $(BASE)

# Checkers, which take minutes to an hour: before a release, and after changes to unsafe code or locks.
# NAME=soundness runs the tests of that name only.

.PHONY: check-locks
check-locks: ## Run the tables' locks in many orders of threads (shuttle)
	$(rust) cargo test --locked --release --manifest-path tests/model/Cargo.toml --target-dir target/model

.PHONY: check-address check-memory
check-address: ## Rust tests under AddressSanitizer: memory that is not ours
check-memory: ## Rust tests under valgrind, which has to be installed; very slow
check-address check-memory:
	$(rust) sh scripts/check.sh $(@:check-%=%) $(NAME)

.PHONY: mutants
mutants: $(VENV)/.made ## Change the code in places that Rust tests should notice; FILE=src/table/record.rs
	$(rust) nice -n 19 $(python) scripts/mutants.py $(FILE)

.PHONY: random-programs
random-programs: $(module) ## Random Python functions in all modes against plain Python; COUNT=100000
	$(python) tests/source/random_programs.py --count $(or $(COUNT),100000)

.PHONY: clean
clean: ## Remove all that make made
	rm -rf target $(VENV) .rust dist .mypy_cache .pytest_cache .ruff_cache .hypothesis $(module)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The parts of `make test`. The release build keeps one core busy for minutes; meanwhile the parts that
# need no native module run on the other.

# The venv comes first although rustfmt needs none: pyo3's build script, run by clippy, asks it.
.PHONY: lint-rust
lint-rust: $(VENV)/.dev-tools
	$(title) 'rustfmt'
	$(rust) -c 'rustfmt clippy' cargo fmt --check -- $(listed)
	$(title) 'clippy, with and without Python and linear algebra'
	$(rust) cargo clippy --locked --features python --all-targets --quiet -- -D warnings
	$(rust) cargo clippy --locked --quiet -- -D warnings
	$(rust) cargo clippy --locked --no-default-features --quiet -- -D warnings
	$(title) 'rustdoc'
	RUSTDOCFLAGS='-D warnings' $(rust) cargo doc --locked --no-deps --document-private-items --quiet

.PHONY: lint-python
lint-python: $(VENV)/.dev-tools
	$(title) 'ruff'
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	$(title) 'mypy'
	$(python) -m mypy

# The feature python is off by default, so no libpython is needed. The benches are built in the
# tests' profile, which shares their dependencies; `make bench` builds them as released. The examples
# are tests too; the crate among them has a directory of its own, since a library that is a module for Python
# too has one name whatever its features are.
.PHONY: test-rust
test-rust:
	$(title) 'Rust tests and benches'
	$(rust) cargo test --locked --tests --benches --no-run
	$(rust) cargo test --locked --tests
	$(rust) cargo test --locked --doc
	$(rust) cargo test --locked --manifest-path examples/rust-model/Cargo.toml --target-dir target/rust-model --lib

.PHONY: test-python
test-python: $(VENV)/.dev-tools $(module)
	$(title) 'stubtest'
	$(python) -m mypy.stubtest wyrmling._core --allowlist scripts/stubtest-allowlist.txt
	$(title) 'Python tests'
	$(python) -m pytest --numprocesses=auto --dist=worksteal

# The files that the commands above need.

# A .venv whose Python is gone, or that was made in another directory (and would import from
# there), is made anew.
ifeq ($(shell test -x $(python) && grep -sF '$(CURDIR)/$(VENV)' $(VENV)/pyvenv.cfg),)
.PHONY: $(VENV)/.made
endif
$(VENV)/.made:
	$(title) 'Setting up $(VENV)'
	@$(rust) true
	@found=$$(PYTHON='$(PYTHON)' sh scripts/find-python.sh) && echo "with $$found" && \
	  "$$found" -m venv --clear $(VENV) && touch $@

install = $(python) scripts/requirements.py $(1) > $(VENV)/requirements.txt && \
  { $(python) -m pip install --quiet -r $(VENV)/requirements.txt || \
    { echo 'pip could not install the above; what it needs is in $(VENV)/requirements.txt.'; \
      echo 'Behind a proxy or a mirror set https_proxy or PIP_INDEX_URL, and run make again.'; \
      exit 1; }; } && touch $@

$(VENV)/.build-tools: $(VENV)/.made pyproject.toml
	@echo 'Installing what builds and runs the package'
	@$(call install,build)

$(VENV)/.dev-tools: $(VENV)/.build-tools
	@echo 'Installing what tests and lints the package'
	@$(call install,dev)

$(module): $(VENV)/.build-tools Cargo.toml $(wildcard Cargo.lock) $(shell find src)
	$(title) 'Building the native module (some minutes the first time)'
	PIP_QUIET=1 $(rust) $(python) -m maturin develop --release
	@touch $@

#!/bin/sh
# Holds the crate's public API against that of an earlier tag or commit, by semantic versioning.
#
#   sh scripts/check-api.sh v0.1.0
#
# Needs cargo-semver-checks, which resolves the crates of both versions itself and knows no --locked. The
# feature python is left out: it needs libpython, and is no part of the crate's API.

set -eu

cd "$(dirname -- "$0")/.."

if [ $# -ne 1 ]; then
    echo "BASE is missing, expected a tag or commit: make check-api BASE=v0.1.0" >&2
    exit 1
fi
if ! cargo semver-checks --version >/dev/null 2>&1; then
    echo "'make check-api' needs cargo-semver-checks: cargo install --locked cargo-semver-checks" >&2
    exit 1
fi
cargo semver-checks --default-features --baseline-rev "$1"

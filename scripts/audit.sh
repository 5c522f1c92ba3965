#!/bin/sh
# Holds the crates of Cargo.lock against deny.toml (licences, sources, versions), then against the
# known faults in RustSec's advisory database, which is fetched from github.com.
#
#   sh scripts/audit.sh
#
# Fails where something is found, and where it could not look: it says which. Needs cargo-deny.

set -u

say() { printf '%s\n' "$*" >&2; }

cd "$(dirname -- "$0")/.." || exit 1

if ! cargo deny --version >/dev/null 2>&1; then
    say "'make audit' needs cargo-deny, which is not installed: cargo install --locked cargo-deny,"
    say "or one of the ways at https://embarkstudios.github.io/cargo-deny/. Nothing was compared."
    exit 1
fi

cargo deny check bans licenses sources || exit 1

if ! answer=$(cargo deny fetch db 2>&1); then
    say "$answer"
    say ""
    say "Not compared with known faults: the advisory database could not be fetched (the reason is"
    say "above). Licences, sources and versions are as deny.toml wants them. Run this where"
    say "https://github.com/RustSec/advisory-db can be reached; behind a proxy set https_proxy."
    exit 1
fi
cargo deny check advisories

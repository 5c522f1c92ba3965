#!/bin/sh
# Mutation testing: crate cargo-mutants changes the code in one place after another, and the Rust
# tests have to notice. `sh scripts/mutants.sh --file src/table/record.rs` takes one file, and all
# arguments of `cargo mutants` besides, such as `--shard 0/20` or `--re is_bounded`. Without any it
# takes a twentieth of what moves numbers: a mutant costs a build and the tests, half a minute and more.
#
# It changes a copy of the tree, of which it makes one at a time, and is as nice as can be. What it
# compiles is kept in target/mutants. What is left of a run is in target/mutants.out: what was missed
# is in missed.txt. Much of that is right: code for Python alone, and what makes programs faster and
# changes no number.
set -eu
command -v cargo-mutants >/dev/null || {
  echo 'mutants.sh needs cargo-mutants: cargo install --locked cargo-mutants' >&2
  exit 1
}
if [ $# -eq 0 ]; then
  for folder in optim train rank table exec ir graph; do
    set -- "$@" --file "src/$folder/**/*.rs"
  done
  set -- "$@" --shard 0/20
fi
CARGO_TARGET_DIR=$PWD/target/mutants
export CARGO_TARGET_DIR
# Given to all calls of cargo, so that no other test binary is linked for each mutant.
exec nice -n 19 cargo mutants --output target --jobs 1 --test-tool cargo --no-times \
  --cargo-arg=--locked --cargo-arg=--lib --cargo-arg=--test=rust --no-shuffle "$@"

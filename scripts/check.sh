#!/bin/sh
# Runs the Rust tests under a checker of memory: `sh scripts/check.sh address|memory [name of
# tests]`. They take minutes to an hour, so no other target of make needs them.
#
# address  AddressSanitizer: reads and writes outside of memory, or after it was freed.
# memory   valgrind's memcheck: the same, and memory that was never written; slower by far. It does
#          not know AVX-512.
#
# The sanitizer comes with stable Rust, behind a flag that is not stable: hence RUSTC_BOOTSTRAP.
# Tests that ask for more memory than there is must get an error, as they do without it.
#
# Checkers of threads are of no use here. ThreadSanitizer, helgrind and drd see neither the locks of a
# standard library that was not compiled for them (that takes its source, and a nightly Rust) nor
# through rayon, and report hundreds of races where a lock is. The tables' locks are modelled instead
# (`make check-locks`), and rows are moved by atomics, one by one or as table::moves argues.
set -eu
checker=$1
name=${2:-}
host=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_TARGET_DIR="target/check-$checker" RUST_BACKTRACE=0
case $checker in
address)
  export RUSTC_BOOTSTRAP=1 RUSTFLAGS='-Zsanitizer=address'
  export ASAN_OPTIONS='allocator_may_return_null=1:detect_leaks=0'
  ;;
memory)
  runner=CARGO_TARGET_$(echo "$host" | tr 'a-z-' 'A-Z_')_RUNNER
  export "$runner=valgrind --quiet --error-exitcode=9"
  export WYRMLING_SIMD="${WYRMLING_SIMD:-avx2}"
  ;;
*)
  echo "check.sh: address or memory, not '$checker'" >&2
  exit 2
  ;;
esac
cargo test --locked --no-default-features --target "$host" --lib --test rust -- $name

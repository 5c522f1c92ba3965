#!/bin/sh
# Runs the Rust tests under a checker of memory or threads: `sh scripts/check.sh address|thread|memory
# [name of tests]`. They take minutes to an hour, so no other target of make needs them.
#
# address  AddressSanitizer: reads and writes outside of memory, or after it was freed.
# thread   ThreadSanitizer: races. Rows are moved by loops over atomics there, for it knows nothing
#          of vector instructions in asm!.
# memory   valgrind's memcheck: as the first, and memory that was never written; slower by far. It
#          does not know AVX-512.
#
# The sanitizers come with stable Rust, behind flags that are not stable: hence RUSTC_BOOTSTRAP.
# Tests that ask for more memory than there is must get an error, as they do without a sanitizer.
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
thread)
  export RUSTC_BOOTSTRAP=1
  export RUSTFLAGS='-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer --cfg wyrmling_atomic_moves'
  export TSAN_OPTIONS='allocator_may_return_null=1'
  ;;
memory)
  runner=CARGO_TARGET_$(echo "$host" | tr 'a-z-' 'A-Z_')_RUNNER
  export "$runner=valgrind --quiet --error-exitcode=9"
  export WYRMLING_SIMD="${WYRMLING_SIMD:-avx2}"
  ;;
*)
  echo "check.sh: address, thread or memory, not '$checker'" >&2
  exit 2
  ;;
esac
cargo test --locked --no-default-features --target "$host" --lib --test rust -- $name

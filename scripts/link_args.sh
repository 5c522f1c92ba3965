#!/bin/sh
# Prints what to tell rustc to link the wheel's module with: if the linker can (LLD, which Rust
# brings for x86-64 Linux), functions and data stand beside those that they resemble, which
# compresses better by a thirtieth, and functions of the same instructions are one. Prints
# nothing if it cannot.

set -u

option='-Clink-arg=-Wl,--bp-compression-sort=both,--icf=all'
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
if echo | rustc --crate-type cdylib "$option" -o "$scratch/probe" - >/dev/null 2>&1; then
    echo "$option"
fi

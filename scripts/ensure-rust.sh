#!/bin/sh
# Runs a command with a Rust that can build wyrmling; fetches one first where there is none.
#
#   sh scripts/ensure-rust.sh [-c "rustfmt clippy"] COMMAND [ARGUMENT...]
#
# A Rust will do if it is not older than Cargo.toml's rust-version and, with -c, has those
# components. It is looked for in .rust of this directory, then in PATH, then in the user's cargo
# directory, then (where the rustup in PATH was set up under another HOME) in the .rustup beside
# that, then as rustup's stable toolchain. The first that will do is used as it is. If none does,
# rustup fetches the rust-version into .rust, with which all is linted, tested and weighed, where a
# later one may have lints of its own: nothing outside of this directory changes, neither the user's
# own Rust nor a shell's start-up files. If that fails, the reason and the ways on are printed and
# the command is not run.

set -u

say() { printf '%s\n' "$*" >&2; }

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
wanted=$(sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' "$root/Cargo.toml")
ours=$root/.rust
cargo_home=${CARGO_HOME:-${HOME:-/nonexistent}/.cargo}
timeout=10

components=
if [ "${1:-}" = -c ]; then
    components=$2
    shift 2
fi
if [ -z "$wanted" ] || [ $# -eq 0 ]; then
    say "usage: ensure-rust.sh [-c COMPONENTS] COMMAND [ARGUMENT...], beside a Cargo.toml with a rust-version"
    exit 2
fi

# The version of the rustc that would run now; nothing if it cannot run.
current() {
    RUSTUP_AUTO_INSTALL=0 cargo --version >/dev/null 2>&1 || return 0
    RUSTUP_AUTO_INSTALL=0 rustc --version 2>/dev/null | sed -n 's/^rustc \([0-9]*\.[0-9]*\).*/\1/p'
}

too_old=
lacking=
will_do() {
    have=$(current)
    [ -n "$have" ] || return 1
    wanted_minor=${wanted#*.}
    if [ "${have%%.*}" -gt "${wanted%%.*}" ] || [ "${have#*.}" -ge "${wanted_minor%%.*}" ]; then
        has_components && return 0
        lacking=$have
        return 1
    fi
    too_old=$have
    return 1
}

has_components() {
    for component in $components; do
        RUSTUP_AUTO_INSTALL=0 cargo "${component#rust}" --version >/dev/null 2>&1 || return 1
    done
}

has_rustup() { command -v rustup >/dev/null 2>&1; }

use_ours() {
    PATH=$ours/cargo/bin:$PATH
    CARGO_HOME=$ours/cargo
    RUSTUP_HOME=$ours/rustup
    RUSTUP_TOOLCHAIN=$wanted
    export PATH CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN
}

# The Rust that was fetched for this directory, if it will do.
find_ours() {
    [ -x "$ours/cargo/bin/cargo" ] && (use_ours && will_do) && use_ours
}

find_rust() {
    find_ours && return 0
    will_do && return 0
    if [ -x "$cargo_home/bin/cargo" ]; then
        PATH=$cargo_home/bin:$PATH
        export PATH
        will_do && return 0
    fi
    has_rustup || return 1
    if [ -z "${RUSTUP_HOME:-}" ]; then
        beside=$(dirname -- "$(dirname -- "$(dirname -- "$(command -v rustup)")")")/.rustup
        if [ -d "$beside/toolchains" ]; then
            RUSTUP_HOME=$beside
            export RUSTUP_HOME
            will_do && return 0
            unset RUSTUP_HOME
        fi
    fi
    if [ -z "${RUSTUP_TOOLCHAIN:-}" ]; then
        RUSTUP_TOOLCHAIN=stable
        export RUSTUP_TOOLCHAIN
        will_do && return 0
        unset RUSTUP_TOOLCHAIN
    fi
    return 1
}

# download ADDRESS FILE: quick to give up where nothing answers.
download() {
    if command -v curl >/dev/null 2>&1; then
        curl --proto '=https' --tlsv1.2 -fsSL --connect-timeout $timeout --max-time 60 -o "$2" "$1" >&2
    elif command -v wget >/dev/null 2>&1; then
        wget --https-only -nv --tries=1 --timeout=$timeout -O "$2" "$1" >&2
    else
        say "neither curl nor wget is installed"
        return 1
    fi
}

fetch_rust() {
    scratch=$(mktemp -d) || return 1
    trap 'rm -rf "$scratch"' EXIT
    extra=
    for component in $components; do extra="$extra -c $component"; done
    say "Fetching it with rustup (https://rustup.rs) into $ours."
    say "Nothing else changes; 'make clean' removes it again."
    download https://sh.rustup.rs "$scratch/rustup.sh" || return 1
    (
        use_ours
        unset RUSTUP_TOOLCHAIN
        RUSTUP_INIT_SKIP_PATH_CHECK=yes
        export RUSTUP_INIT_SKIP_PATH_CHECK
        # shellcheck disable=SC2086 # $extra is a list of plain words.
        sh "$scratch/rustup.sh" -y --no-modify-path --profile minimal --default-toolchain "$wanted" $extra >&2
    ) || return 1
    rm -rf "$scratch"
    trap - EXIT
    find_ours
}

how_to_go_on() {
    say ""
    say "Rust could not be fetched (the reason is above). Ways on:"
    say "  - behind a proxy: set https_proxy, then run the same command again;"
    [ -z "$lacking" ] || say "  - add to the Rust that is here: rustup component add $components" \
        "(Debian: apt install rustfmt rust-clippy);"
    say "  - install Rust $wanted or newer another way: https://rustup.rs, or your system's packages"
    say "    (a recent Debian or Ubuntu: apt install rustup && rustup default stable;"
    say "    Fedora: dnf install cargo clippy rustfmt; macOS: brew install rust), see that"
    say "    'cargo --version' answers, then run the same command again;"
    say "  - already installed elsewhere: put its cargo first in PATH, and for a rustup set up under"
    say "    another home directory set RUSTUP_HOME to that .rustup directory as well;"
    say "  - without Rust: 'make wheel' on a machine that has it, then 'pip install' that wheel here."
}

if ! command -v cc >/dev/null 2>&1; then
    say "wyrmling needs a C compiler (Rust links with it), and there is no 'cc' in PATH."
    say "Debian or Ubuntu: apt install build-essential; Fedora: dnf install gcc; macOS: xcode-select --install"
    exit 1
fi

if ! find_rust; then
    if [ -n "$lacking" ]; then
        say "Rust $lacking, which is here, lacks some of: $components."
    elif [ -n "$too_old" ]; then
        say "wyrmling needs Rust $wanted or newer; the one found is $too_old."
    else
        say "wyrmling needs Rust $wanted or newer; no cargo that works was found in PATH or $cargo_home/bin."
    fi
    if ! fetch_rust; then
        how_to_go_on
        exit 1
    fi
    say "Rust $(current) is ready."
fi

# cargo starts as many jobs as there are cores; the job slots of a `make -j` are not for it.
unset MAKEFLAGS MFLAGS
exec "$@"
